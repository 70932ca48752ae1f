"""Models whose codes are looked at, trained: of positions, of signals and images, and of bodies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.baselines.parts import built
from benchmarks.baselines.parts import built as built_reconstructor
from benchmarks.functions.transformer import TransformerReconstructor
from benchmarks.images.controls import principal_axes
from benchmarks.images.networks import built as built_autoencoder
from benchmarks.images.vector_networks import settle_in_batches, train_network
from benchmarks.nbody.bodies import Bodies, Samples, gated, literal, scales_of, tokens
from benchmarks.nbody.dynamics import NETWORKS, predictor
from benchmarks.nbody.forces import relative_errors
from benchmarks.nbody.vector_networks import BodyNetwork, vector_network
from benchmarks.spatial.decoders import build_vn, mean_squared_error, train_decoder
from benchmarks.spatial.registry import BASELINES
from benchmarks.spatial.registry import build as built_decoder
from chapters.beyond_representation.coded import (
    Coded,
    Layers,
    Rows,
    hidden,
    learned,
    linear_readout,
    of_module,
    projection,
    with_supports,
)
from vnlib import checks
from vnlib.fit import Training

BODY_NETWORKS = ("mlp", "film")  # whose layers see one body at a time


# --- Positions drawn as images --------------------------------------------------------------------


def decoder(
    train: tuple[Tensor, Tensor],
    validation: tuple[Tensor, Tensor],
    training: Training,
    *,
    family: str,
    consolidation: int = 0,
    **options: Any,
) -> Coded:
    """A model of `benchmarks.spatial.decoders`, or, with zero steps, the same before training.

    Families besides: "linear", the input itself and the best linear map to images (least squares);
    "product", the products of the two halves of the input, which for bumps are the image: a code
    that needs no drawing. The halves of a "factorised" decoder never meet; its last layer is that
    of y alone.
    """
    checks.choice("family", family, ("vn", *BASELINES, "linear", "product"))
    if family == "linear":
        return linear_readout(*train, lambda x: {"input": x}, "input")
    if family == "product":

        def product(x: Rows) -> Tensor:
            column, row = x.chunk(2, 1)
            return row[:, :, None] * column[:, None]

        return Coded(lambda x: {"input": x, "code 1": product(x).flatten(1)}, product, "code 1")
    sizes = {"n_inputs": train[0].shape[1], "image_shape": tuple(train[1].shape[1:])}
    if training.steps:
        model = train_decoder(
            train,
            validation,
            family=family,
            options=options,
            lr=training.lr,
            steps=training.steps,
            batch_size=training.batch_size,
            seed=training.seed,
            workdir=training.workdir,
            consolidation=consolidation,
        )
    else:
        build = build_vn if family == "vn" else lambda **all_: built_decoder(family, **all_)
        model = build(**sizes, seed=training.seed, **options)
    if family == "vn":
        return _spatial_network(model, {"validation": mean_squared_error(model, validation)})
    if family == "bilinear":
        return of_module(model, {"code 1": model.Q}, "code 1")
    taps = hidden(model)
    return of_module(model, taps, list(taps)[-1])


def _spatial_network(model: Any, facts: Mapping[str, float]) -> Coded:
    """Codes of all streams of a `SpatialVN` side by side; its images are read from those of the
    top.
    """

    def layers(x: Rows) -> Layers:
        streams = [state.codes for state in model.settle(x)]
        return with_supports(
            {
                f"code {number}": torch.cat(parts, 1)
                for number, parts in enumerate(zip(*streams, strict=True), 1)
            }
        )

    depth = len(model.networks[0].V)
    return Coded(layers, torch.no_grad()(model.forward), f"code {depth}", facts)


# --- Signals and images, drawn again --------------------------------------------------------------


def autocoder(
    train: Rows, validation: Rows, training: Training, *, family: str, **options: Any
) -> Coded:
    """A model that draws its own input.

    Zero steps leave a model as it starts.

    Parameters
    ----------
    family
        "vn" (options of `train_network`), "autoencoder" (of `ImageAutoencoder`), "transformer" (of
        `TransformerReconstructor`), "identity", "pca" with k axes, or "projection" on k random
        directions, from which a linear map (least squares) draws.
    """
    checks.choice(
        "family", family, ("vn", "autoencoder", "transformer", "identity", "pca", "projection")
    )
    if family == "vn":
        network, curve = train_network(train, validation, training, **options)

        def layers(x: Rows) -> Layers:
            codes = settle_in_batches(network, x).codes
            return with_supports({f"code {number}": code for number, code in enumerate(codes, 1)})

        facts = {"validation": curve[-1]} if curve else {}
        return Coded(
            layers, lambda x: network.reconstruct(settle_in_batches(network, x)), "code 1", facts
        )
    if family == "identity":
        return Coded(lambda x: {"input": x}, lambda x: x, "input")
    if family == "pca":
        mean, axes = principal_axes(train)
        axes = axes[:, : options["k"]]
        return Coded(
            lambda x: {"code 1": (x - mean) @ axes},
            lambda x: mean + (x - mean) @ axes @ axes.T,
            "code 1",
        )
    if family == "projection":
        onto = projection(train.shape[1], options["k"], seed=training.seed).to(train)
        return linear_readout(train, train, lambda x: {"code 1": x @ onto}, "code 1")
    if family == "autoencoder":
        model = built_autoencoder(pixels=train.shape[1], seed=training.seed, **options)
        before = hidden(model.encoder)
        maps = hidden(model.decoder, begin=len(before) + 1)
        first = next(m for m in model.decoder.modules() if isinstance(m, nn.Linear))
        taps, code = {**before, "code 1": first, **maps}, "code 1"
    else:
        model = built_reconstructor(
            TransformerReconstructor, length=train.shape[1], seed=training.seed, **options
        )
        blocks = {f"hidden {number}": block for number, block in enumerate(model.layers.layers)}
        taps, code = {**blocks, f"hidden {len(blocks)}": model.readout}, f"hidden {len(blocks)}"
    model = model.to(train.device)

    @torch.no_grad()
    def error() -> float:
        return float((model(validation) - validation).square().mean())

    learned(model, (train,), training, error)
    coded = of_module(model, taps, code)
    if getattr(model, "k", None) is None:
        return coded
    plain = coded.layers
    return Coded(lambda x: with_supports(plain(x)), coded.draw, code, coded.facts)


# --- Bodies and their accelerations ---------------------------------------------------------------

FEATURES = {"literal": literal, "gated": gated}


def dynamics(
    train: Samples, validation: Samples, training: Training, *, family: str, **options: Any
) -> Coded:
    """A model of forces; all its codes are (batch, body, units).

    Parameters
    ----------
    family
        "vn" (options of `vector_network`), one of `BODY_NETWORKS`, or a ridge-free linear readout
        (least squares) of what a body reads, "literal", "gated" or "tokens": the sum of the body's
        tokens.
    """
    scales = scales_of(train)
    checks.choice("family", family, ("vn", *BODY_NETWORKS, *FEATURES, "tokens"))
    if family == "vn":
        model = vector_network(train, validation, training, **options).predict.__self__
        if not isinstance(model, BodyNetwork):
            raise TypeError(
                f"the network must predict by a BodyNetwork, got {type(model).__name__}"
            )
        sizes = model.coder.sizes

        def layers(bodies: Bodies) -> Layers:
            parts = model.codes(bodies).split(sizes, -1)
            return with_supports({f"code {number}": part for number, part in enumerate(parts, 1)})

        return Coded(layers, model.predict, f"code {len(sizes)}")
    if family in BODY_NETWORKS:
        net = built(NETWORKS[family], scales=scales, seed=training.seed, **options)
        predict = predictor(net)
        learned(net, train, training, lambda: float(relative_errors(predict, validation).mean()))
        # All maps but the first read a hidden layer; the network that reads the forces of FiLM is
        # left out.
        if family == "mlp":
            taps = hidden(net.net)
        else:
            taps = {f"hidden {n}": m for n, m in enumerate([*net.hidden[1:], net.readout], 1)}
        return of_module(net, taps, list(taps)[-1], bodies=True)

    def read(bodies: Bodies) -> Tensor:
        if family == "tokens":
            return tokens(bodies, scales).sum(3).flatten(2)
        return FEATURES[family](bodies, scales)

    present = train.present
    linear = linear_readout(
        read(train.bodies)[present],
        train.acceleration[present],
        lambda x: {"input": x},
        "input",
        offset=False,
    )
    return Coded(
        lambda bodies: {"input": read(bodies)}, lambda bodies: linear.draw(read(bodies)), "input"
    )
