"""What one part decides: factors of errors after a change of one part alone, and factorials.

A change is of one part if networks before and after it have the same number of atoms, sparsity,
input, training and readout but for the part that is named. What changes more is named for all that
it changes. Factors are of one condition each, paired by seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, product

import numpy as np
import xarray as xr

from chapters.summary import errors
from chapters.summary.errors import OOD, ROUNDS, SOLVED, Found
from chapters.summary.rows import picker

PARTS = (
    "learning",
    "input",
    "inference",
    "sparsity",
    "readout",
    "dictionary",
    "number of atoms",
    "number of coefficients",
)
SEVERAL = " + "


@dataclass(frozen=True)
class Change:
    """Models before and after a change of the parts named; what is selected of each of them."""

    chapter: str
    parts: tuple[str, ...]
    says: str
    before: Mapping[str, str]
    after: Mapping[str, str]

    @property
    def part(self) -> str:
        """All that is changed, in one text."""
        return SEVERAL.join(self.parts)


def _model(chapter: str, says: str, *parts: str) -> Callable[..., Change]:
    """A change from one model of a chapter to another."""

    def change(before: str, after: str, **where: str) -> Change:
        return Change(chapter, parts, says, {"model": before, **where}, {"model": after, **where})

    return change


def _way(chapter: str, says: str, *parts: str, **ways: tuple[str, str]) -> Callable[..., Change]:
    """A change of what is done with one model."""

    def change(model: str) -> Change:
        before, after = ({axis: way[n] for axis, way in ways.items()} for n in (0, 1))
        return Change(chapter, parts, says, {"model": model, **before}, {"model": model, **after})

    return change


# Where the masked problem is solved, sparsity is chosen for each mask.
_solved = _way(
    "fig3_functions", "masked problem solved", "inference", "sparsity", look=(ROUNDS, SOLVED)
)
_passes = partial(_way, "fig4_nbody", inference=("joint", "passes"))
_pass = _passes("one force per pass", "input", "readout")
_search = _way("fig5_mnist", "code searched", "inference", reading=("own", "searched"))
_sizes = ("number of atoms", "sparsity")
_ways = (("five rounds", ROUNDS, ()), ("solved", SOLVED, ("sparsity",)))

CHANGES: Mapping[str, Sequence[Change]] = {
    "positions": [
        _model("fig2_spatial", "random atoms, full 2D", "learning")("vn_full", "random_full"),
        _model("fig2_spatial", "random atoms, per axis", "learning")("vn_axes_1", "random_axes_1"),
        _model("F_spatial", "readout not consolidated", "learning")("full", "full_plain"),
        _model("F_spatial", "the image as input", "input")("full", "image_full"),
        _model("fig2_spatial", "flat readout", "readout", *_sizes, "learning")(
            "vn_full", "vn_flat"
        ),
        _model(
            "fig2_spatial",
            "linear code, back-prop.",
            "inference",
            "learning",
            "number of atoms",
        )("vn_full", "bilinear_linear"),
    ],
    "signals": [
        *(
            _model("fig3_functions", f"training signals as atoms, {said}", "learning", *more)(
                "vn_1", "vn_untrained", look=look
            )
            for said, look, more in _ways
        ),
        *(_solved(model) for model in ("vn_1", "vn_3", "vn_5")),
        *(
            _model(
                "fig3_functions", f"fixed atoms, {said}", "dictionary", "number of atoms", *more
            )("vn_1", "fourier", look=look)
            for said, look, more in _ways
        ),
    ],
    "forces": [
        *(
            _model("fig4_nbody", f"{said}, ridge", "input")(
                "linear_literal", after, inference="joint"
            )
            for said, after in (
                ("gated features", "linear_gated"),
                ("tokens of pairs", "linear_tokens"),
            )
        ),
        *(_pass(model) for model in ("vn_literal_1", "vn_literal_3", "mlp", "gnn", "film")),
        *(
            _model("fig4_nbody", f"{said}, VN-3L", "input", *_sizes, "learning", *more)(
                "vn_literal_3", after, inference="joint"
            )
            for said, after, more in (
                ("gated features", "vn_gated_3", ()),
                ("tokens of pairs", "vn_token_3", ("readout",)),  # a sum over the tokens' codes
            )
        ),
    ],
    "digits": [
        _model("fig5_mnist", "training digits as atoms", "learning")(
            "vn_1", "vn_untrained", reading="own"
        ),
        _model("fig5_mnist", "scikit-learn's rule", "learning")(
            "vn_1", "dictionary_learning", reading="own"
        ),
        *(_search(model) for model in ("ae", "ksparse")),
        _model("fig5_mnist", "65 largest, one pass, back-prop.", "inference", "learning")(
            "vn_1", "ksparse_linear", reading="own"
        ),
        _model("fig5_mnist", "65 largest cosines", "dictionary", "number of atoms", "inference")(
            "vn_1", "dct_count", reading="own"
        ),
        _model(
            "fig5_mnist",
            "cosines, same ID error",
            "dictionary",
            *_sizes,
            "number of coefficients",
        )("vn_1", "dct", reading="own"),
    ],
}

READS = {
    "positions": errors.drawn,
    "signals": errors.hidden,
    "forces": errors.mixtures,
    "digits": errors.images,
}
UNSEEN = {
    "positions": {"look": OOD},
    "signals": {},
    "forces": {"look": OOD},
    "digits": {"look": "error"},
}
"""Benchmark -> what its errors out of distribution are selected by, besides conditions."""


def unseen(benchmark: str, values: xr.DataArray) -> xr.DataArray:
    """Values on what training never showed (condition, ...)."""
    where = {axis: value for axis, value in UNSEEN[benchmark].items() if axis in values.dims}
    values = values.sel(where, drop=True)
    inside = (values["condition"] == errors.SINGLE) | values["condition"].str.startswith("ID")
    return values.sel(condition=~inside)


def changes(found: Found) -> dict[tuple[str, str, str], xr.DataArray]:
    """(Benchmark, parts, change) -> log factors of OOD errors (condition, seed), as far as both
    models are stored.
    """
    factors = {}
    for benchmark, every in CHANGES.items():
        for one in every:
            pick = picker(found[one.chapter], READS[benchmark])
            before, after = pick(**one.before), pick(**one.after)
            if before is not None and after is not None:
                ratio = np.log(after) - np.log(before)
                said = one.says
                if one.before["model"] == one.after["model"]:
                    said = f"{before['label'].item()}: {said}"
                factors[benchmark, one.part, said] = unseen(benchmark, ratio)
    return factors


# --- factorials -----------------------------------------------------------------------------------


def main_and_interactions(values: xr.DataArray, factors: Sequence[str]) -> dict[str, xr.DataArray]:
    """Main effects and interactions of two factors at a time, as logarithms.

    The first level of a factor is its reference. A main effect is the mean over all other factors
    of the difference of a level from it; an interaction, how much larger that difference is at a
    level of another factor than at its reference.

    Parameters
    ----------
    values
        Logarithms of errors, over the factors and whatever else.
    """

    def from_reference(of: xr.DataArray, dim: str, level: object) -> xr.DataArray:
        return of.sel({dim: level}, drop=True) - of.isel({dim: 0}, drop=True)

    levels = {dim: values[dim].values.tolist()[1:] for dim in factors}
    effects = {}
    for dim in factors:
        mean = values.mean([other for other in factors if other != dim])
        for level in levels[dim]:
            effects[f"{dim}: {level}"] = from_reference(mean, dim, level)
    for one, two in combinations(factors, 2):
        mean = values.mean([other for other in factors if other not in (one, two)])
        for first, second in product(levels[one], levels[two]):
            both = from_reference(from_reference(mean, one, first), two, second)
            effects[f"{first} × {second}"] = both
    return effects


def _cells(values: xr.DataArray, **factors: tuple[str, Mapping[object, str]]) -> xr.DataArray:
    """Errors with the dimensions that are factors, and their levels, as readers know them: factor
    -> dimension, and what its levels are called, the reference first.
    """
    for factor, (dim, levels) in factors.items():
        values = values.sel({dim: list(levels)}).rename({dim: factor})
        values = values.drop_vars(["label", "group", "benchmark"], errors="ignore")
        values = values.assign_coords({factor: list(levels.values())})
    return values


# Factors of which a level changes several parts: autoencoders of another code have another encoder, as
# many units as atoms, and another end of training.
SOLVING, CODING = "inference + sparsity", "code + encoder + training"
_ATOMS = ("model", {"vn_1": "learned", "vn_untrained": "training signals"})


def _signals(found: Found) -> xr.DataArray:
    ways = {ROUNDS: "five rounds", SOLVED: "solved"}
    values = errors.hidden(found["fig3_functions"])
    # Where the masked problem is solved, sparsity is chosen for each mask.
    return _cells(values, learning=_ATOMS, **{SOLVING: ("look", ways)})


def _sparsity(found: Found) -> xr.DataArray:
    values = errors.conditions(found["G_functions"]["sweep_hidden"])
    ways = {"rounds": "five rounds", "limit": "solved"}
    steps = {one: f"{one:g} λ" for one in (1.0, 0.1, 2.0)}
    return _cells(values, learning=_ATOMS, inference=("solver", ways), sparsity=("factor", steps))


def _depth(found: Found) -> xr.DataArray:
    every, used = errors.drawn(found["F_spatial"]), (4, 8, 16)
    rows = {
        f"{depth} layers" if depth > 1 else "1 layer": xr.concat(
            [every.sel(model=f"vn_{depth}_{k}").reset_coords(drop=True) for k in used], "k"
        )
        for depth in (1, 2, 3)
    }
    values = xr.concat(rows.values(), "depth").assign_coords(depth=list(rows))
    return values.assign_coords(k=[f"{k} coefficients" for k in used])


def _searched(found: Found) -> xr.DataArray:
    ways = {"own": "encoder", "searched": "searched"}
    codes = {"ae": "dense", "ksparse": "65 largest"}
    values = errors.images(found["fig5_mnist"])
    return _cells(values, inference=("reading", ways), **{CODING: ("model", codes)})


FACTORIALS: Mapping[str, tuple[str, tuple[str, ...], Callable[[Found], xr.DataArray]]] = {
    "signals: atoms, inference": ("signals", ("learning", SOLVING), _signals),
    "signals, recipe of App. G: atoms, inference, sparsity": (
        "signals",
        ("learning", "inference", "sparsity"),
        _sparsity,
    ),
    "positions: layers, coefficients": ("positions", ("depth", "k"), _depth),
    "digits, autoencoders: inference, code": ("digits", ("inference", CODING), _searched),
}
"""Name -> its benchmark, its factors, which name all parts that they change, and what gives the errors
of all cells.
"""


def factorials(found: Found) -> dict[tuple[str, str], xr.DataArray]:
    """(Factorial, effect) -> logarithms of factors of OOD errors (condition, seed), of those whose
    cells are all stored.
    """
    told = {}
    for name, (benchmark, factors, cells) in FACTORIALS.items():
        try:
            values = unseen(benchmark, cells(found))
        except (KeyError, TypeError):  # a smaller profile has not all cells
            continue
        for effect, one in main_and_interactions(np.log(values), factors).items():
            told[name, effect] = one
    return told
