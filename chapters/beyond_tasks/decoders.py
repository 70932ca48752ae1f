"""Decoders of positions with a common face: what they draw, and what they have at every pixel
before they draw it. All that are trained see the same number of samples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from benchmarks.baselines.parts import n_parameters
from benchmarks.spatial.additive import AdditiveDecoder
from benchmarks.spatial.baseline import Baseline
from benchmarks.spatial.closed_form import OuterProduct, ridge
from benchmarks.spatial.curves import Watch
from benchmarks.spatial.decoders import Pair, mean_squared_error, train_decoder
from benchmarks.spatial.factorised import FactorisedDecoder
from benchmarks.spatial.settling import late_gain
from benchmarks.spatial.vector_networks import ReadoutLearner, SpatialVN
from chapters.beyond_tasks.transformer import PixelTransformer
from vnlib import checks
from vnlib.fit import FitConfig, fit

Codes = Float[Tensor, "positions d"]
Images = Float[Tensor, "positions y x"]
Maps = list[Float[Tensor, "positions _channels y x"]]

READOUTS = ("affine", "pairs", "profiles")  # of the ridge regressions
FAMILIES = ("outer", "ridge")  # that nobody trains
OWN = {"pixel_transformer": PixelTransformer}  # that no other chapter trains
EVALUATIONS = 10
FIRST = 0.2  # share of a Vector Network's updates that settle codes; the others see settled ones


@dataclass(frozen=True)
class Decoder:
    """What a decoder makes of codes.

    Parameters
    ----------
    draw
        Codes to images.
    located
        Codes to the maps of all hidden layers that have units for every pixel, or for every row and
        column, repeated along the other axis; empty for a decoder without such layers.
    hidden
        Codes to what the last step of the decoder reads (positions, units).
    parameters
        Their number.
    gain
        By what share the least validation error fell over the last fifth of the updates; NaN where
        nothing was trained.
    """

    draw: Callable[[Codes], Images]
    located: Callable[[Codes], Maps]
    hidden: Callable[[Codes], Tensor]
    parameters: int = 0
    gain: float = float("nan")


def made(
    train: Pair,
    validation: Pair,
    *,
    family: str,
    options: Mapping[str, Any],
    seed: int,
    workdir: Path,
    **training: Any,
) -> Decoder:
    """A decoder fitted to (codes, images) of training positions, at its best on validation ones.

    Parameters
    ----------
    family
        One of `FAMILIES`, of `OWN`, or of those of `train_decoder`.
    **training
        What `trained` takes; closed forms take none.

    Raises
    ------
    ValueError
        For an unknown family or option.
    """
    if family == "outer":
        model = OuterProduct(n_inputs=train[0].shape[1], image_shape=tuple(train[1].shape[1:]))
        return Decoder(model.forward, lambda x: [_halves(x)], lambda x: x)
    if family == "ridge":
        return _ridge(train, validation, **options)
    return trained(
        train, validation, family=family, options=options, seed=seed, workdir=workdir, **training
    )


def trained(
    train: Pair,
    validation: Pair,
    *,
    family: str,
    options: Mapping[str, Any],
    lr: float,
    updates: int,
    batch_size: int,
    seed: int,
    workdir: Path,
    weight_decay: float = 0.01,
) -> Decoder:
    """A decoder trained by `updates` batches, whichever its family.

    A Vector Network spends `FIRST` of them on dictionary and readouts and the others on its
    readouts, with codes settled once, as in `train_decoder`; both count.
    """
    own: dict[str, Any] = {"family": OWN.get(family, family)}
    own |= {"options": options, "lr": lr, "seed": seed}
    own |= {"batch_size": batch_size, "workdir": workdir}
    if family != "vn":
        watch = Watch(mean_squared_error, {}, steps=updates, evaluations=EVALUATIONS)
        model = train_decoder(
            train, validation, steps=updates, weight_decay=weight_decay, watch=watch, **own
        )
    else:
        first = max(1, round(FIRST * updates))
        model = train_decoder(train, validation, steps=first, **own)
        watch = _readouts(model, train, validation, lr, max(1, updates - first), batch_size, seed)
    parameters = n_parameters(model) or sum(p.numel() for p in model.parameters())
    return Decoder(
        torch.no_grad()(model.forward),
        lambda x: located(model, x),
        lambda x: hidden(model, x),
        parameters,
        float(late_gain(watch.curves())),
    )


@torch.no_grad()
def located(model: Baseline | SpatialVN, x: Codes) -> Maps:
    """Hidden layers of a trained decoder with units for every pixel, in the order of the pass."""
    if isinstance(model, SpatialVN) and model.readout == "flat":
        return []
    shape = model.image_shape
    if isinstance(model, (SpatialVN, FactorisedDecoder)):  # a product of rows and columns
        rows, columns = model.streams(x)
        rows = rows[:, :, :, None].expand(-1, -1, -1, shape[1])
        return [torch.cat([rows, columns[:, :, None, :].expand(-1, -1, shape[0], -1)], 1)]
    if isinstance(model, AdditiveDecoder):  # a sum of an image of x and one of y
        of_x, of_y = x.chunk(2, 1)
        return [torch.stack([model.f(of_x), model.g(of_y)], 1).unflatten(2, shape)]
    found = [_map(z, shape) for z in _activations(model, x)]
    return [one for one in found if one is not None]


@torch.no_grad()
def hidden(model: Baseline | SpatialVN, x: Codes) -> Float[Tensor, "positions _units"]:
    """What the last step of a trained decoder reads: profiles of a product, terms of a sum, or the
    last layer.
    """
    if isinstance(model, SpatialVN) and model.readout == "flat":
        return model.codes(x)[0]
    if isinstance(model, (SpatialVN, FactorisedDecoder)):
        return torch.cat([one.flatten(1) for one in model.streams(x)], 1)
    if isinstance(model, AdditiveDecoder):
        return located(model, x)[0].flatten(1)
    return _activations(model, x)[-1].flatten(1)


def _activations(model: nn.Module, x: Codes) -> list[Tensor]:
    """What all ReLUs, PReLUs and layers of attention give out, in the order of the pass."""
    seen: list[Tensor] = []

    def keep(_: nn.Module, __: tuple, out: Tensor) -> None:
        seen.append(out)

    kinds = (nn.ReLU, nn.PReLU, nn.TransformerEncoderLayer)
    found = [one for one in model.modules() if isinstance(one, kinds)]
    handles = [module.register_forward_hook(keep) for module in found]
    try:
        model(x)
    finally:
        for handle in handles:
            handle.remove()
    return seen


def _map(z: Tensor, shape: tuple[int, int]) -> Tensor | None:
    """A layer as maps of image size; None for one that has no units for every pixel."""
    if z.ndim == 3:  # position, pixel, unit
        return z.movedim(2, 1).unflatten(2, shape)
    return z if z.shape[2:] == shape else None


def _readouts(
    model: SpatialVN,
    train: Pair,
    validation: Pair,
    lr: float,
    updates: int,
    batch_size: int,
    seed: int,
) -> Watch:
    """Go on with the readouts alone, on codes settled once."""
    codes, held = model.codes(train[0]), model.codes(validation[0])
    watch = Watch(lambda *_: 0.0, {}, steps=updates, evaluations=EVALUATIONS)

    def validate() -> float:
        error = float((model.render(held) - validation[1]).square().mean())
        watch.note(model, error)
        return error

    config = FitConfig(steps=updates, batch_size=batch_size, eval_every=watch.every, lr_floor=1e-3)
    data = (*codes, train[1])
    fit(ReadoutLearner(model, lr=lr), data, config, seed=seed + 1, validate=validate)
    return watch


def _ridge(train: Pair, validation: Pair, *, readout: str) -> Decoder:
    checks.choice("readout", readout, READOUTS)
    fitted, _ = ridge(_double(train), _double(validation), readout=readout)

    def draw(x: Codes) -> Images:
        return torch.from_numpy(fitted(x.numpy().astype(np.float64)))

    def summands(x: Codes) -> Maps:
        """The image of a sum: what each half adds to the image of an empty code."""
        half = x.shape[1] // 2
        parts = [x.clone(), x.clone()]
        parts[0][:, half:], parts[1][:, :half] = 0, 0
        empty = draw(torch.zeros_like(x[:1]))
        return [torch.stack([draw(part) - empty for part in parts], 1)]

    def factors(x: Codes) -> Maps:
        """The profiles of a product of two, up to a number for each image."""
        image = draw(x)
        scale = image.sum((1, 2)).abs().clamp_min(1e-12).sqrt()[:, None]
        rows, columns = image.sum(2) / scale, image.sum(1) / scale
        return [_halves(torch.cat([columns, rows], 1))]

    places = {"affine": summands, "pairs": lambda _: [], "profiles": factors}[readout]
    return Decoder(draw, places, lambda x: x)


def _double(pair: Pair) -> tuple[np.ndarray, np.ndarray]:
    codes, images = (one.numpy().astype(np.float64) for one in pair)
    return codes, images


def _halves(x: Codes) -> Float[Tensor, "positions 2 y x"]:
    """A code of two profiles as bands: that of x along the columns, that of y along the rows."""
    of_x, of_y = x.chunk(2, 1)
    columns = of_x[:, None, :].expand(-1, of_y.shape[1], -1)
    return torch.stack([columns, of_y[:, :, None].expand(-1, -1, of_x.shape[1])], 1)
