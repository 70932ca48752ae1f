"""What it takes to train any model of force composition, and what comes out (VN Fig. 4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from benchmarks.nbody.bodies import LAWS, Accelerations, Bodies, Samples

Predict = Callable[[Bodies], Accelerations]
Device = torch.device | str


@dataclass(frozen=True)
class Trained:
    """A trained model.

    Parameters
    ----------
    predict
        Accelerations in box/s^2 of any bodies.
    follow
        Where given, makes a predictor for one rollout, which is called with the same bodies again
        and again and may start from what it last found.
    curve
        The validation error at the evaluations of training.
    facts
        What else is known of the model.
    """

    predict: Predict
    follow: Callable[[], Predict] | None = None
    curve: Sequence[float] = ()
    facts: Mapping[str, float] = field(default_factory=dict)


def relative_errors(predict: Predict, samples: Samples) -> Float[Tensor, " law"]:
    """Mean squared error of accelerations over their mean square, for each law where it acts alone
    (float64).

    Their mean is what models of force composition are chosen by, on validation samples, so that
    weak forces count as much as strong ones.

    Raises
    ------
    ValueError
        Where a law never acts alone.
    """
    found = predict(samples.bodies)
    errors = []
    for law, name in enumerate(LAWS):
        rows = (samples.forces[:, law] != 0) & (samples.forces.sum(1) == 1)
        here = samples.present[rows]
        truth, given = samples.acceleration[rows][here].double(), found[rows][here].double()
        if not len(truth):
            raise ValueError(f"samples must hold states of every single law, got none of {name}")
        errors.append((given - truth).square().mean() / truth.square().mean())
    return torch.stack(errors)
