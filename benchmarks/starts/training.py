"""How guesses of settled codes are learned: from such codes, or from the energy (VN Sec. 5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from benchmarks.starts.initialiser import Codes, Initialiser
from vnlib import checks
from vnlib.fit import FitConfig, GradientLearner, fit

LOSSES = ("codes", "energy")


@dataclass(frozen=True, kw_only=True)
class RateSearch:
    """How initialisers are trained: Adam without weight decay, for `steps` updates with a learning
    rate that falls.

    Parameters
    ----------
    rates
        Learning rates to choose from, each tried for the share `trial` of the updates.
    looks
        Checks on validation.
    """

    rates: tuple[float, ...]
    steps: int
    batch_size: int = 256
    trial: float = 0.25
    looks: int = 8

    def __post_init__(self) -> None:
        if not self.rates:
            raise ValueError("rates must hold at least one learning rate, got ()")
        for rate in self.rates:
            checks.number("each of rates", rate, above=0)
        checks.number("steps", self.steps, low=0, integer=True)
        checks.number("batch_size", self.batch_size, low=1, integer=True)
        checks.number("trial", self.trial, above=0, high=1)
        checks.number("looks", self.looks, low=1, integer=True)


@dataclass(frozen=True)
class Examples:
    """Inputs with their settled codes, to train on and to validate with (both in distribution)."""

    x: Float[Tensor, "samples d"]
    codes: Codes
    x_held: Float[Tensor, "held d"]
    codes_held: Codes


def excess(model: Initialiser, x: Float[Tensor, "batch d"], codes: Codes) -> float:
    """How far guesses are above settled codes: mean of F(guess) over mean of F(settled), less 1."""
    with torch.no_grad():
        return (
            float(model.stack.energy(model(x), x).mean() / model.stack.energy(codes, x).mean()) - 1
        )


def train(
    make: Callable[[], Initialiser],
    examples: Examples,
    training: RateSearch,
    *,
    loss: str = "codes",
    seed: int,
) -> tuple[Initialiser, dict[str, float]]:
    """An initialiser trained with the learning rate that validates best, and what is known of it.

    Validation is by `excess`, and the best check of training is kept, which may be the untrained
    network. Facts: rate, excess, and untrained, the excess before. No updates: nothing is changed.

    Parameters
    ----------
    make
        Gives the untrained one, the same at every call.
    loss
        "codes" is the squared distance to the settled codes, each layer relative to the mean square
        of its codes; "energy" is F of the guess and uses no settled codes.
    seed
        Of the order of batches.

    Raises
    ------
    ValueError
        For an unknown loss or examples that do not fit.
    """
    checks.choice("loss", loss, LOSSES)
    model = make()
    before = excess(model, examples.x_held, examples.codes_held)
    facts = {"rate": float("nan"), "excess": before, "untrained": before}
    if not training.steps:
        return model, facts
    rate, trial = training.rates[0], max(1, round(training.trial * training.steps))
    if len(training.rates) > 1:
        found = {
            lr: _fitted(make(), examples, training, loss, lr, trial, seed) for lr in training.rates
        }
        rate = min(found, key=found.get)
    best = _fitted(model, examples, training, loss, rate, training.steps, seed)
    if best >= before:
        return make(), facts
    return model, facts | {"rate": rate, "excess": best}


def _fitted(
    model: Initialiser,
    examples: Examples,
    training: RateSearch,
    loss: str,
    lr: float,
    steps: int,
    seed: int,
) -> float:
    """The excess on validation samples after training; infinite where the rate was too high for
    it.
    """
    config = FitConfig(
        steps=steps,
        batch_size=min(training.batch_size, len(examples.x)),
        eval_every=max(1, steps // training.looks),
    )
    learner = GradientLearner(_Learning(model, loss, examples.codes), lr=lr, weight_decay=0.0)
    data = (examples.x, *examples.codes)
    try:
        history = fit(
            learner,
            data,
            config,
            seed=seed,
            validate=lambda: excess(model, examples.x_held, examples.codes_held),
        )
    except FloatingPointError:
        return float("inf")
    return history.best_value


class _Learning(nn.Module):
    """An initialiser with its loss, as `GradientLearner` wants it."""

    def __init__(self, model: Initialiser, loss: str, codes: Codes) -> None:
        super().__init__()
        self.model, self.kind = model, loss
        self.scales = [float(code.square().sum(1).mean().clamp_min(1e-12)) for code in codes]

    def loss(self, x: Tensor, *codes: Tensor, generator: torch.Generator) -> Tensor:
        guess = self.model(x)
        if self.kind == "energy":
            return self.model.stack.energy(guess, x).mean()
        errors = [
            (a - b).square().sum(1).mean() / s
            for a, b, s in zip(guess, codes, self.scales, strict=True)
        ]
        return torch.stack(errors).mean()
