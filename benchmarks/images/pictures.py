"""A trained model of images, whatever it is: what it draws of an image, and what it uses for it (VN
Fig. 5, App. I).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from jaxtyping import Float, Int
from torch import Tensor

Images = Float[Tensor, "batch pixels"]
Draw = Callable[[Images], Images]


@dataclass(frozen=True)
class Snapshot:
    """A model as it was at one evaluation of its training: its validation error, and how it drew."""

    error: float
    draw: Draw


@dataclass(frozen=True)
class Trained:
    """A trained model.

    Parameters
    ----------
    readings
        Ways to draw an image, the model's own first, which is called "own"; others are "top" (a
        Vector Network from the code of its top layer alone) and "searched" (an autoencoder whose
        code is optimised for the very image).
    active
        Nonzero units of each layer of codes, where there are such. layers: how many those are.
    path
        The model along its training, in order, where that is to be measured.
    curve
        The validation error at the evaluations of training.
    facts
        What else is known of the model.
    """

    readings: Mapping[str, Draw]
    active: Callable[[Images], Int[Tensor, "layers batch"]] | None = None
    path: Sequence[Snapshot] = ()
    curve: Sequence[float] = ()
    facts: Mapping[str, float] = field(default_factory=dict)
