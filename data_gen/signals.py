"""Signals over time: four elementary families, their sums, nested and mixed compositions (VN
Sec. 4.2, App. G).

The paper names the families and gives one example of each difficulty; the ranges of all parameters
and the six Hard types are chosen here. Time runs over t = 0..1 s, u = 2 t - 1. U[a, b] is uniform,
+- a fair sign, A ~ U[0.5, 1.5].

Primitives (in distribution)::

    sin     A sin(2 pi (f t + phi)),          f ~ U[1, 8], phi ~ U[0, 1]
    exp     +-A exp(-alpha t),                alpha ~ U[1, 8]
    poly    A p(u), a cubic p with coefficients U[-1, 1], divided by max |p|
    gauss   +-A exp(-(t - c)^2 / 2 sigma^2),  c ~ U[0.15, 0.85], sigma ~ U[0.03, 0.12]

Easy: the six sums of two primitives of different families, "sin+exp" and so on.

Hard, with s a unit sine of f ~ U[1, 4], p a unit cubic, g a unit bump, k and a drawn as said::

    sin(poly)*gauss         A sin(pi k p + phi) times a bump of sigma ~ U[0.1, 0.25],  k ~ U[1, 4]
    sin(gauss)+poly         A sin(pi k g + phi) + poly,  k ~ U[1, 3]
    exp*sin+gauss           exp times s, + gauss
    poly(sin)+exp           A q(s) / max |q(s)| + exp, with a cubic q
    gauss(sin)*poly         exp(-a s^2) times poly,  a ~ U[0.5, 2]
    sin*poly+exp*gauss      sin times p, + exp times g
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from numbers import Integral

import numpy as np
import xarray as xr
from numpy.random import Generator

from data_gen import guards

SETS = ("train", "val", "id", "easy", "hard")
MASKS = ("forecast_25", "forecast_50", "random_30", "block_128")
UNITS = ("normalised", "raw")


@dataclass(frozen=True, kw_only=True)
class SignalConfig:
    """How many signals there are, how long, and from which seeds.

    Kinds take turns, so counts are balanced.

    Parameters
    ----------
    length
        Samples per signal.
    n_train, n_val
        Signals of the training and validation sets.
    n_test
        Signals per test set (id, easy, hard).
    units
        "normalised" divides all sets by the root mean square of the training set, one number; "raw"
        leaves them. seed draws train and val, test_seed the tests.
    """

    length: int = 512
    n_train: int = 8192
    n_val: int = 240
    n_test: int = 240
    units: str = "normalised"
    seed: int = 0
    test_seed: int = 1_000_000

    def __post_init__(self) -> None:
        guards.seeds(seed=self.seed, test_seed=self.test_seed)
        lows = {"length": 16, "n_train": 1, "n_val": 1, "n_test": 1, "seed": 0, "test_seed": 0}
        for name, low in lows.items():
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool) or value < low:
                raise ValueError(f"{name} must be an integer >= {low}, got {value!r}")
            object.__setattr__(self, name, int(value))
        if self.units not in UNITS:
            raise ValueError(
                f"units must be one of {', '.join(map(repr, UNITS))}, got {self.units!r}"
            )
        if self.seed == self.test_seed:
            raise ValueError(
                "test_seed must differ from seed, so that tests are held apart, got "
                f"{self.seed} twice"
            )


def make(config: SignalConfig) -> xr.Dataset:
    """All sets of signals.

    Dimensions: signal, time. Variables: value (signal, time) float32; set (signal), one of `SETS`;
    kind (signal). Coordinate: time [s]. Attributes: scale, the root mean square of the raw training
    set (value times scale is raw where units are normalised); config, as JSON.
    """
    counts = dict.fromkeys(SETS, config.n_test) | {"train": config.n_train, "val": config.n_val}
    values, kinds = zip(
        *(
            draw(
                {"easy": EASY, "hard": HARD}.get(name, PRIMITIVES),
                count,
                length=config.length,
                seed=(config.seed if name in ("train", "val") else config.test_seed, index),
            )
            for index, (name, count) in enumerate(counts.items())
        ),
        strict=True,
    )
    scale = float(np.sqrt(np.mean(values[0] ** 2)))
    whole = np.concatenate(values) / (scale if config.units == "normalised" else 1.0)
    unit = "r.m.s. of the training set" if config.units == "normalised" else "1"
    return xr.Dataset(
        {
            "value": (
                ("signal", "time"),
                whole.astype(np.float32),
                {"units": unit, "long_name": "signal"},
            ),
            "set": ("signal", np.repeat(list(counts), list(counts.values()))),
            "kind": ("signal", np.concatenate(kinds), {"long_name": "family or composition"}),
        },
        {"time": ("time", np.linspace(0, 1, config.length), {"units": "s"})},
        {
            "title": "elementary signals and compositions",
            "scale": scale,
            "config": json.dumps(asdict(config)),
        },
    )


def draw(
    kinds: dict[str, Kind], n: int, *, length: int, seed: int | Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """n raw signals (n, length) in float64 and their kinds (n,), which take turns."""
    rng, t = np.random.default_rng(seed), np.linspace(0, 1, length)
    names = np.array(list(kinds))[np.arange(n) % len(kinds)]
    values = np.empty((n, length))
    for name, kind in kinds.items():
        values[names == name] = kind(rng, int((names == name).sum()), t)
    return values, names


def subset(ds: xr.Dataset, *sets: str) -> xr.Dataset:
    """The signals of `sets` (any of `SETS`), in their order in `ds`.

    Raises
    ------
    ValueError
        For an unknown set.
    """
    for name in sets:
        if name not in SETS:
            raise ValueError(f"sets must be any of {', '.join(SETS)}, got {name!r}")
    return ds.isel(signal=np.flatnonzero(np.isin(ds["set"].values, sets)))


def observed(mask: str, n: int, length: int = 512, *, seed: int = 0) -> np.ndarray:
    """Where n signals are observed under a mask, as bool (n, length).

    forecast_25 and forecast_50 hide the last quarter and half; random_30 hides 30 % of the samples,
    drawn per signal; block_128 hides one run of a quarter of the samples (128 of 512) that begins
    anywhere.

    Raises
    ------
    ValueError
        For an unknown mask.
    """
    guards.seeds(seed=seed)
    if mask not in MASKS:
        raise ValueError(f"mask must be one of {', '.join(map(repr, MASKS))}, got {mask!r}")
    rng, position = np.random.default_rng((seed, MASKS.index(mask))), np.arange(length)
    if mask.startswith("forecast"):
        shown = length - round(length * int(mask[-2:]) / 100)
        return np.broadcast_to(position < shown, (n, length)).copy()
    if mask == "random_30":
        return rng.random((n, length)).argsort(1) >= round(0.3 * length)
    width = length // 4
    start = rng.integers(0, length - width + 1, (n, 1))
    return (position < start) | (position >= start + width)


# --- Kinds: (rng, n, t) -> n signals (n, time) ----------------------------------------------------

Kind = Callable[[Generator, int, np.ndarray], np.ndarray]


def _uniform(rng: Generator, n: int, low: float, high: float) -> np.ndarray:
    return rng.uniform(low, high, (n, 1))


def _amplitude(rng: Generator, n: int, *, signed: bool = False) -> np.ndarray:
    size = _uniform(rng, n, 0.5, 1.5)
    return size * rng.choice([-1.0, 1.0], (n, 1)) if signed else size


def _sine(rng: Generator, n: int, t: np.ndarray, highest: float) -> np.ndarray:
    return np.sin(2 * np.pi * (_uniform(rng, n, 1, highest) * t + _uniform(rng, n, 0, 1)))


def _cubic(rng: Generator, n: int, u: np.ndarray) -> np.ndarray:
    """Cubics of u, (time,) or (n, time), scaled to max `|.|` = 1 over time."""
    c = rng.uniform(-1, 1, (4, n, 1))
    p = c[0] + u * (c[1] + u * (c[2] + u * c[3]))
    return p / np.abs(p).max(1, keepdims=True)


def _bump(
    rng: Generator, n: int, t: np.ndarray, low: float = 0.03, high: float = 0.12
) -> np.ndarray:
    centre, width = _uniform(rng, n, 0.15, 0.85), _uniform(rng, n, low, high)
    return np.exp(-0.5 * ((t - centre) / width) ** 2)


def sin(rng: Generator, n: int, t: np.ndarray) -> np.ndarray:
    """A sin(2 pi (f t + phi))."""
    return _amplitude(rng, n) * _sine(rng, n, t, 8)


def exp(rng: Generator, n: int, t: np.ndarray) -> np.ndarray:
    """+-A exp(-alpha t)."""
    return _amplitude(rng, n, signed=True) * np.exp(-_uniform(rng, n, 1, 8) * t)


def poly(rng: Generator, n: int, t: np.ndarray) -> np.ndarray:
    """A p(u), a bounded cubic."""
    return _amplitude(rng, n) * _cubic(rng, n, 2 * t - 1)


def gauss(rng: Generator, n: int, t: np.ndarray) -> np.ndarray:
    """+-A exp(-(t - c)^2 / 2 sigma^2)."""
    return _amplitude(rng, n, signed=True) * _bump(rng, n, t)


def sin_of_poly(rng: Generator, n: int, t: np.ndarray) -> np.ndarray:
    """A sin(pi k p + phi) times a wide bump."""
    phase = np.pi * _uniform(rng, n, 1, 4) * _cubic(rng, n, 2 * t - 1) + 2 * np.pi * _uniform(
        rng, n, 0, 1
    )
    return _amplitude(rng, n) * np.sin(phase) * _bump(rng, n, t, 0.1, 0.25)


def sin_of_gauss(rng: Generator, n: int, t: np.ndarray) -> np.ndarray:
    """A sin(pi k g + phi) + poly."""
    phase = np.pi * _uniform(rng, n, 1, 3) * _bump(rng, n, t) + 2 * np.pi * _uniform(rng, n, 0, 1)
    return _amplitude(rng, n) * np.sin(phase) + poly(rng, n, t)


def damped_sine(rng: Generator, n: int, t: np.ndarray) -> np.ndarray:
    """exp times s, + gauss."""
    return exp(rng, n, t) * _sine(rng, n, t, 4) + gauss(rng, n, t)


def poly_of_sin(rng: Generator, n: int, t: np.ndarray) -> np.ndarray:
    """A q(s) / max `|q(s)|` + exp."""
    return _amplitude(rng, n) * _cubic(rng, n, _sine(rng, n, t, 4)) + exp(rng, n, t)


def gauss_of_sin(rng: Generator, n: int, t: np.ndarray) -> np.ndarray:
    """exp(-a s^2) times poly."""
    return np.exp(-_uniform(rng, n, 0.5, 2) * _sine(rng, n, t, 4) ** 2) * poly(rng, n, t)


def mixed_products(rng: Generator, n: int, t: np.ndarray) -> np.ndarray:
    """sin times p, + exp times g."""
    return sin(rng, n, t) * _cubic(rng, n, 2 * t - 1) + exp(rng, n, t) * _bump(rng, n, t)


def _sum(first: Kind, second: Kind) -> Kind:
    return lambda rng, n, t: first(rng, n, t) + second(rng, n, t)


PRIMITIVES: dict[str, Kind] = {"sin": sin, "exp": exp, "poly": poly, "gauss": gauss}
EASY: dict[str, Kind] = {
    f"{a}+{b}": _sum(PRIMITIVES[a], PRIMITIVES[b]) for a, b in combinations(PRIMITIVES, 2)
}
HARD: dict[str, Kind] = {
    "sin(poly)*gauss": sin_of_poly,
    "sin(gauss)+poly": sin_of_gauss,
    "exp*sin+gauss": damped_sine,
    "poly(sin)+exp": poly_of_sin,
    "gauss(sin)*poly": gauss_of_sin,
    "sin*poly+exp*gauss": mixed_products,
}
