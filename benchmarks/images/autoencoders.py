"""Autoencoders of images, trained, kept at a chosen error, and searched at test time (VN Sec. 4.4,
Fig. 5).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass

import torch

from benchmarks.baselines.parts import n_parameters
from benchmarks.images.networks import ImageAutoencoder, built
from benchmarks.images.pictures import Draw, Images, Snapshot, Trained
from vnlib import checks
from vnlib.fit import FitConfig, GradientLearner, Training, fit

SEARCH_RATES = (0.03, 0.1, 0.3)  # of the r.m.s. nonzero code entry, for the search of a code
CHOOSERS = 100  # validation images that choose among them


@dataclass(frozen=True)
class Stage:
    """An autoencoder after some of its steps, with its validation error."""

    steps: int
    error: float
    model: ImageAutoencoder


def autoencoder(
    train: Images,
    validation: Images,
    training: Training,
    *,
    target: float | None = None,
    evaluations: int = 40,
    path: int = 20,
    search_steps: int = 100,
    **options: object,
) -> Trained:
    """An autoencoder that is kept where its validation error is nearest to `target`, or least
    (None).

    The error of whole, clean validation images is measured `evaluations` times (see
    `evaluated_steps`), and the model kept at each. "own" is the one whose error is nearest to the
    target, as a ratio. "searched" starts from own's code of the very image and improves the code by
    `search_steps` steps (see `searched`); 0 leaves this reading out. No checkpoints: they would
    hold one model, and training takes about a minute.

    facts: parameters; steps of own; best, the least validation error of all; used, units
    of the code that any validation image uses; matched, own's error over the target, where there is
    one; search_rate.

    Parameters
    ----------
    path
        How many of them the result's path is thinned to, own always among them.
    **options
        Those of `ImageAutoencoder`.

    Raises
    ------
    ValueError
        For options out of range.
    """
    if target is not None:
        checks.number("target", target, above=0)
    checks.number("path", path, low=1, integer=True)
    checks.number("search_steps", search_steps, low=0, integer=True)
    model = built(pixels=train.shape[1], seed=training.seed, **options).to(train.device)
    stages = stages_of(model, train, validation, training, evaluations=evaluations)
    best = min(stage.error for stage in stages)
    own = min(stages, key=lambda stage: abs(math.log(stage.error / (target or best))))
    kept = own.model

    facts = {
        "parameters": n_parameters(kept),
        "steps": own.steps,
        "best": best,
        "used": int((codes(kept, validation) != 0).any(0).sum()),
    }
    if target is not None:
        facts["matched"] = own.error / target
    readings: dict[str, Draw] = {"own": draw_of(kept)}
    if search_steps:
        rate = search_rate(kept, validation[:CHOOSERS], search_steps)
        facts["search_rate"] = rate
        readings["searched"] = lambda x: searched(kept, x, steps=search_steps, lr=rate)
    return Trained(
        readings,
        active=lambda x: (codes(kept, x) != 0).sum(1)[None],
        path=[Snapshot(stage.error, draw_of(stage.model)) for stage in thinned(stages, path, own)],
        curve=[stage.error for stage in stages],
        facts=facts,
    )


def stages_of(
    model: ImageAutoencoder,
    train: Images,
    validation: Images,
    training: Training,
    *,
    evaluations: int,
) -> list[Stage]:
    """The model at all evaluations of its training, in order."""
    due = set(evaluated_steps(training.steps, evaluations))
    stages: list[Stage] = []
    done, error = 0, math.inf

    def validate() -> float:
        # `fit` asks after every step; between two evaluations it gets the last answer again.
        nonlocal done, error
        done += 1
        if done in due:
            error = float((draw_of(model)(validation) - validation).square().mean())
            stages.append(Stage(done, error, deepcopy(model)))
        return error

    config = FitConfig(steps=training.steps, batch_size=training.batch_size, eval_every=1)
    fit(
        GradientLearner(model, lr=training.lr),
        (train,),
        config,
        seed=training.seed,
        validate=validate,
    )
    return stages


def evaluated_steps(steps: int, evaluations: int) -> list[int]:
    """After how many steps the error is measured: `steps` times the squares of 1/evaluations,
    2/evaluations, ..., 1.

    The error falls fast at first and slowly later; equal steps of the square root of time keep the
    ratio of two successive errors near one all along. Fewer than `evaluations` where steps are few.

    Raises
    ------
    ValueError
        Unless both are positive integers.
    """
    checks.number("steps", steps, low=1, integer=True)
    checks.number("evaluations", evaluations, low=1, integer=True)
    return sorted({math.ceil(steps * i**2 / evaluations**2) for i in range(1, evaluations + 1)})


def thinned(stages: Sequence[Stage], n: int, own: Stage) -> list[Stage]:
    """At most n stages, the first and the last and evenly between, the nearest of them replaced by
    `own`.
    """
    n, at = min(n, len(stages)), stages.index(own)
    picked = [round((len(stages) - 1) * i / max(1, n - 1)) for i in range(n)]
    nearest = min(picked, key=lambda i: abs(i - at))
    return [stages[at if i == nearest else i] for i in picked]


@torch.no_grad()
def codes(model: ImageAutoencoder, x: Images) -> torch.Tensor:
    """The codes (batch, latent) of images."""
    return model.encode(x)


def draw_of(model: ImageAutoencoder) -> Draw:
    """What the model draws of images, as a function."""
    return torch.no_grad()(model.forward)


def searched(model: ImageAutoencoder, x: Images, *, steps: int, lr: float) -> Images:
    """The best drawings on the way of `steps` Adam steps on the codes, for each image its own.

    The search starts from the encoder's codes and minimises the squared error of each image, with
    the decoder frozen; after each step a k-sparse code is cut to its k largest entries again. So it
    gives up the encoder, and asks what the decoder can draw. Never worse than the model's own
    drawing.
    """
    z = codes(model, x).requires_grad_()
    adam = torch.optim.Adam([z], lr=lr)
    best, drawing = x.new_full((len(x),), math.inf), torch.zeros_like(x)
    for step in range(steps + 1):
        with torch.enable_grad():
            drawn = model.decode(z)
            errors = (drawn - x).square().sum(1)
            # A sum, so that no image sees the others. The gradient is of the codes alone.
            (z.grad,) = torch.autograd.grad(errors.sum(), z)
        better = errors.detach() < best
        best = torch.where(better, errors.detach(), best)
        drawing = torch.where(better[:, None], drawn.detach(), drawing)
        if step < steps:
            adam.step()
            with torch.no_grad():
                z.copy_(model.sparse(z))
    return drawing


def search_rate(model: ImageAutoencoder, validation: Images, steps: int) -> float:
    """The rate for `searched` with the least error on validation images, of `SEARCH_RATES` in units
    of the codes.
    """
    z = codes(model, validation)
    unit = float(z[z != 0].square().mean().sqrt())
    rates = [rate * unit for rate in SEARCH_RATES]
    return min(
        rates,
        key=lambda lr: float(
            (searched(model, validation, steps=steps, lr=lr) - validation).square().sum()
        ),
    )
