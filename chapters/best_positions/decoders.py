"""What draws images of codes that may be noisy or incomplete: operators on codes as they are given
or settled, least squares, kernels, neighbours, and networks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from sklearn.experimental import enable_iterative_imputer  # noqa: F401 - makes the next import work
from sklearn.impute import IterativeImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.neighbors import KNeighborsRegressor
from torch import Tensor, nn

from benchmarks.baselines.parts import n_parameters
from benchmarks.spatial import operators, slots
from benchmarks.spatial.baseline import Baseline
from benchmarks.spatial.closed_form import ridge
from benchmarks.spatial.curves import Watch
from benchmarks.spatial.decoders import mean_squared_error, train_decoder
from benchmarks.spatial.operators import Codes, Images
from benchmarks.spatial.settling import late_gain
from benchmarks.spatial.slots import Observed
from vnlib import checks, seeding

INPUTS = ("given", "linked", "settled", "imputed")
CLOSED = ("operator", "ridge", "kernel", "neighbours")  # families that nobody trains step by step
EVALUATIONS = 10
FIRST = 0.2  # share of a Vector Network's updates that settle codes; the others see settled ones
NEAR_ONE = 1e-6  # how near 1 an entry may be before its tanh is undone
LENGTHS = tuple(2.0**k for k in range(-2, 6))  # of a kernel, over the r.m.s. distance of codes
PENALTIES = tuple(10.0**k for k in range(-8, 1, 2))
COUNTS = (1, 2, 3, 5, 8, 13)  # of neighbours


@dataclass(frozen=True)
class Sample:
    """Codes (positions, d), where they are observed, and images, in float64."""

    codes: Codes
    observed: Observed
    images: Images


@dataclass(frozen=True)
class Decoder:
    """What draws codes, and what is known of it."""

    draw: Callable[[Codes, Observed], Images]
    facts: Mapping[str, float] = field(default_factory=dict)


class OperatorDecoder(Baseline):
    """The form of `operators.Operator`, to be trained by back-propagation.

    Parameters
    ----------
    terms
        Products of profiles in an image.
    """

    def __init__(self, *, n_inputs: int, image_shape: tuple[int, int], terms: int) -> None:
        super().__init__(n_inputs=n_inputs, image_shape=image_shape)
        checks.number("terms", terms, low=1, integer=True)
        height, width = self.image_shape
        self.rows = nn.Linear(n_inputs, terms * height)
        self.columns = nn.Linear(n_inputs, terms * width)

    def render(self, x: Float[Tensor, "batch d"]) -> Float[Tensor, "batch height width"]:
        height, width = self.image_shape
        rows = self.rows(x).unflatten(1, (-1, height))
        return rows.mT @ self.columns(x).unflatten(1, (-1, width))


def made(
    train: Sample,
    validation: Sample,
    *,
    family: str,
    reads: str,
    options: Mapping[str, Any],
    seed: int,
    workdir: Path,
    **training: Any,
) -> Decoder:
    """A decoder fitted to training positions; what it chooses it chooses on validation ones.

    Parameters
    ----------
    family
        One of `CLOSED`, "operator_trained", or of the families of `train_decoder`.
    reads
        What is made of codes before. "given": nothing. "linked": the inverse of tanh. "settled":
        two slots settle them (`benchmarks.spatial.slots`); `weighed` and `fine` of the options say
        how. "imputed": hidden entries are filled in by regression on the others.
    **training
        lr, steps and batch_size of networks.

    Raises
    ------
    ValueError
        For another way of reading, and for unknown options.
    """
    checks.choice("reads", reads, INPUTS)
    options = dict(options)
    how = {name: options.pop(name) for name in ("weighed", "fine") if name in options}
    features, read, facts = _reading(train, reads, how, seed)
    pairs = (
        (features, train.images),
        (read(validation.codes, validation.observed), validation.images),
    )
    if family in CLOSED:
        draw, more = _closed(family, *pairs, seed=seed, **options)
    else:
        own = {"options": options, "seed": seed, "workdir": workdir}
        draw, more = _network(family, *pairs, **own, **training)
    return Decoder(lambda codes, observed: draw(read(codes, observed)), facts | more)


def _reading(
    train: Sample, reads: str, how: Mapping[str, bool], seed: int
) -> tuple[Codes, Callable[[Codes, Observed], Codes], dict[str, float]]:
    """The codes of training positions as a decoder reads them, those of others, and facts."""
    if reads == "settled":
        found = slots.learned(train.codes, train.observed, train.images)
        noise = np.concatenate([found.of_x.noise, found.of_y.noise])
        facts = {"noise": float(np.sqrt(np.median(noise)))}
        return found.atoms, lambda c, o: found.settled(c, o, **how), facts
    if reads == "imputed":
        missing = np.where(train.observed, train.codes, np.nan)
        filler = IterativeImputer(random_state=seeding.derive(seed, "imputer") % 2**32, max_iter=30)
        filled = filler.fit_transform(missing)
        return filled, lambda c, o: filler.transform(np.where(o, c, np.nan)), {}

    def read(codes: Codes, observed: Observed) -> Codes:
        if reads == "linked":
            codes = np.arctanh(np.clip(codes, NEAR_ONE - 1, 1 - NEAR_ONE))
        if not hidden:
            return codes
        halves = zip(np.split(codes, 2, axis=1), np.split(observed, 2, axis=1), strict=True)
        return np.concatenate([part for pair in halves for part in pair], axis=1)

    hidden = not train.observed.all()
    return read(train.codes, train.observed), read, {}


def _closed(
    family: str,
    train: operators.Pair,
    validation: operators.Pair,
    *,
    seed: int,
    **options: Any,
) -> tuple[Callable[[Codes], Images], dict[str, float]]:
    if family == "operator":
        one = operators.fitted(train, validation, seed=seed, **options)
        numbers = one.rows.size + one.columns.size
        return one, {"terms": one.terms, "penalty": one.penalty, "parameters": numbers}
    if family == "ridge":
        draw, penalty = ridge(train, validation, **options)
        return draw, {"penalty": penalty}
    shape, pixels = train[1].shape[1:], train[1].reshape(len(train[1]), -1)
    found = []
    for regressor, facts in _candidates(family, train[0]):
        regressor.fit(train[0], pixels)
        wrong = regressor.predict(validation[0]).reshape(-1, *shape) - validation[1]
        found.append((float(np.square(wrong).mean()), len(found), regressor, facts))
    _, _, best, facts = min(found)
    return lambda codes: best.predict(codes).reshape(-1, *shape), facts


def _candidates(family: str, codes: Codes) -> list[tuple[Any, dict[str, float]]]:
    if family == "neighbours":
        counts = [count for count in COUNTS if count <= len(codes)]
        return [(KNeighborsRegressor(c, weights="distance"), {"neighbours": c}) for c in counts]
    spread = float(np.sqrt(2 * codes.var(axis=0).sum()))
    return [
        (KernelRidge(kernel="rbf", gamma=0.5 / (spread * length) ** 2, alpha=penalty), facts)
        for length in LENGTHS
        for penalty in PENALTIES
        for facts in [{"length": length, "penalty": penalty}]
    ]


def _network(
    family: str,
    train: operators.Pair,
    validation: operators.Pair,
    *,
    options: Mapping[str, Any],
    lr: float,
    steps: int,
    batch_size: int,
    seed: int,
    workdir: Path,
) -> tuple[Callable[[Codes], Images], dict[str, float]]:
    kind = OperatorDecoder if family == "operator_trained" else family
    later = round((1 - FIRST) * steps) if family == "vn" else 0
    phases = {"steps": steps - later, "consolidation": later}
    watch = Watch(mean_squared_error, {}, evaluations=EVALUATIONS, **phases)
    model = train_decoder(
        (_single(train[0]), _single(train[1])),
        (_single(validation[0]), _single(validation[1])),
        family=kind,
        options=options,
        lr=lr,
        batch_size=batch_size,
        seed=seed,
        workdir=workdir,
        watch=watch,
        **phases,
    )

    @torch.no_grad()
    def draw(codes: Codes) -> Images:
        return model(_single(codes)).double().numpy()

    parameters = n_parameters(model) or sum(p.numel() for p in model.parameters())
    return draw, {"parameters": parameters, "late_gain": float(late_gain(watch.curves()))}


def _single(values: np.ndarray) -> Tensor:
    return torch.from_numpy(values.astype(np.float32))
