"""How guesses of settled codes are learned: from such codes, or from the energy (VN Sec. 5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from benchmarks.starts.initialiser import Codes, Initialiser, Stack
from vnlib import checks
from vnlib.fit import FitConfig, GradientLearner, fit

LOSSES = ("codes", "energy")


@dataclass(frozen=True, kw_only=True)
class RateSearch:
    """How initialisers are trained: Adam without weight decay, for `steps` steps with a learning
    rate that falls.

    Parameters
    ----------
    selection_share
        The share of the steps for which each learning rate is tried.
    evaluations
        Of the validation error.
    """

    steps: int
    batch_size: int = 256
    selection_share: float = 0.25
    evaluations: int = 8

    def __post_init__(self) -> None:
        checks.number("steps", self.steps, low=0, integer=True)
        checks.number("batch_size", self.batch_size, low=1, integer=True)
        checks.number("selection_share", self.selection_share, above=0, high=1)
        checks.number("evaluations", self.evaluations, low=1, integer=True)


@dataclass(frozen=True)
class Examples:
    """Inputs with their settled codes, to train on and to validate with (both in distribution)."""

    x: Float[Tensor, "samples d"]
    codes: Codes
    x_held: Float[Tensor, "held d"]
    codes_held: Codes

    def excess(self, stack: Stack, guess: Callable[[Tensor], Codes]) -> float:
        """How far guesses are above settled codes where they validate: mean of F(guess) over mean
        of F(settled), less 1.
        """
        x = self.x_held
        with torch.no_grad():
            above, lowest = (stack.energy(c, x).mean() for c in (guess(x), self.codes_held))
        return float(above / lowest) - 1


def train(
    make: Callable[[], Initialiser],
    examples: Examples,
    training: RateSearch,
    *,
    rates: Sequence[float],
    loss: str = "codes",
    seed: int,
) -> tuple[Initialiser, dict[str, float]]:
    """An initialiser trained with that of the learning rates that validates best, and what is known
    of it.

    Validation is by `Examples.excess`, and the network of the best evaluation is kept, which may be
    the untrained one. Facts: rate, excess, and untrained, the excess before. No steps: nothing is
    changed.

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
    before = examples.excess(model.stack, model)
    facts = {"rate": float("nan"), "excess": before, "untrained": before}
    if not training.steps:
        return model, facts
    rate, steps = rates[0], max(1, round(training.selection_share * training.steps))
    if len(rates) > 1:
        found = {lr: _fitted(make(), examples, training, loss, lr, steps, seed) for lr in rates}
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
        eval_every=max(1, steps // training.evaluations),
    )
    learner = GradientLearner(_Learning(model, loss, examples.codes), lr=lr, weight_decay=0.0)
    data, excess = (examples.x, *examples.codes), lambda: examples.excess(model.stack, model)
    try:
        return fit(learner, data, config, seed=seed, validate=excess).best_value
    except FloatingPointError:
        return float("inf")


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
