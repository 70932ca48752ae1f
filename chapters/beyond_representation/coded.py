"""Trained models as what each of their layers says of an input, and what they draw from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vnlib import checks, seeding
from vnlib.fit import GradientLearner, Training, fit

Rows = Float[Tensor, "batch d"]
Layers = Mapping[str, Tensor]


@dataclass(frozen=True)
class Coded:
    """A trained model.

    Parameters
    ----------
    layers
        `layers(x)`: the codes of inputs, (batch, units) or (batch, body, units), by name, in the
        order of the pass.
    draw
        `draw(x)`: what it makes of them.
    code
        The name of the layer that counts as its code: a network's first code, a bottleneck, or the
        last layer before a linear readout.
    facts
        What else is known of the model.
    """

    layers: Callable[[Any], Layers]
    draw: Callable[[Any], Tensor]
    code: str
    facts: Mapping[str, float] = field(default_factory=dict)


def heard(model: nn.Module, taps: Mapping[str, nn.Module], x: Any) -> dict[str, Tensor]:
    """What modules of a model read while it looks at x, by the names of `taps`; channels and places
    are flattened.
    """
    found: dict[str, Tensor] = {}
    handles = [
        module.register_forward_pre_hook(
            lambda _, args, name=name: found.__setitem__(name, args[0].detach())
        )
        for name, module in taps.items()
    ]
    try:
        with torch.no_grad():
            model(x)
    finally:
        for handle in handles:
            handle.remove()
    return {name: found[name] for name in taps}


def of_module(
    model: nn.Module, taps: Mapping[str, nn.Module], code: str, *, bodies: bool = False
) -> Coded:
    """A module as it is, with the layers that `taps` read."""

    def layers(x: Any) -> Layers:
        return {name: z if bodies else z.flatten(1) for name, z in heard(model, taps, x).items()}

    parameters = float(sum(p.numel() for p in model.parameters()))
    return Coded(layers, torch.no_grad()(model.forward), code, {"parameters": parameters})


def hidden(layers: nn.Module, *, begin: int = 1) -> dict[str, nn.Module]:
    """The linear maps and convolutions of a network but the first: each reads a hidden layer."""
    maps = [m for m in layers.modules() if isinstance(m, nn.Linear | nn.ConvTranspose2d)]
    return {f"hidden {number}": module for number, module in enumerate(maps[1:], begin)}


def with_supports(layers: Layers) -> dict[str, Tensor]:
    """Layers, and which entries of the codes among them are not 0."""
    codes = {name: z for name, z in layers.items() if name.startswith("code")}
    supports = {name.replace("code", "support"): (z != 0).to(z) for name, z in codes.items()}
    return {**layers, **supports}


def learned(
    model: nn.Module, data: tuple[Tensor, ...], training: Training, error: Callable[[], float]
) -> None:
    """Train a module by back-propagation and keep its best step; zero steps leave it as it is."""
    if training.steps:
        fit(
            GradientLearner(model, lr=training.lr),
            data,
            training.config(20),
            seed=training.seed,
            validate=error,
            checkpoint=training.workdir / "fit.safetensors",
        )


def projection(inputs: int, k: int, *, seed: int) -> Float[Tensor, "inputs k"]:
    """k random directions of unit length on average."""
    checks.number("k", k, low=1, integer=True)
    return torch.randn(inputs, k, generator=seeding.generator(seed, "projection")) / inputs**0.5


def linear_readout(
    x: Rows,
    y: Float[Tensor, "batch ..."],
    layers: Callable[[Any], Layers],
    code: str,
    *,
    offset: bool = True,
) -> Coded:
    """The code `layers(x)[code]` and the linear map from it that draws y best (least squares, least
    norm).
    """

    def rows(z: Tensor) -> Tensor:
        return torch.cat([z, torch.ones_like(z[..., :1])], -1) if offset else z

    seen = rows(layers(x)[code]).double()
    # pinv, not lstsq: codes may have dependent entries.
    map_ = (torch.linalg.pinv(seen, rtol=1e-6) @ y.flatten(1).double()).to(y)

    def draw(some: Any) -> Tensor:
        z = rows(layers(some)[code])
        return (z @ map_).unflatten(-1, y.shape[1:])

    return Coded(layers, draw, code)
