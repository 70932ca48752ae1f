"""Changes of one part, and factorials, whose effects are known."""

from __future__ import annotations

import tomllib

import numpy as np
import pytest
import xarray as xr

from chapters.summary import effects
from vnlib.book import paths


def test_a_change_is_a_factor_of_each_condition_out_of_distribution(nothing, masked):
    found = effects.changes(nothing | {"fig3_functions": masked})
    key = ("signals", "learning", "training signals as atoms, five rounds")
    assert np.exp(found[key]).values.ravel() == pytest.approx([2] * 8)
    assert not found[key]["condition"].str.startswith("ID").any()
    solved = next(one for name, one in found.items() if name[1] == "inference + sparsity")
    assert np.exp(solved).values.ravel() == pytest.approx([0.25] * 8)


def test_main_effects_and_interactions_are_those_that_were_put_in():
    """log y = 1 a + 2 b - 3 c + 5 a b, with a, b and c of 0 or 1."""
    zero_one = xr.DataArray([0.0, 1.0], dims="level")
    levels = {"a": ["low", "high"], "b": ["few", "many"], "c": ["early", "late"]}
    a, b, c = (zero_one.rename(level=n).assign_coords({n: names}) for n, names in levels.items())
    found = effects.main_and_interactions(a + 2 * b - 3 * c + 5 * a * b, ("a", "b", "c"))
    main = {"a: high": 1 + 5 / 2, "b: many": 2 + 5 / 2, "c: late": -3}
    assert {key: float(one) for key, one in found.items()} == main | {
        "high × many": 5,
        "high × late": 0,
        "many × late": 0,
    }


def test_a_factorial_of_signals_has_no_interaction_where_factors_multiply(nothing, masked):
    found = effects.factorials(nothing | {"fig3_functions": masked})
    name = "signals: atoms, inference"
    assert {key[0] for key in found} == {name}, "the others lack results"
    told = {effect: np.exp(one).values.ravel() for (_, effect), one in found.items()}
    assert told["learning: training signals"] == pytest.approx([2] * 8)
    assert told["inference + sparsity: solved"] == pytest.approx([0.25] * 8)
    assert told["training signals × solved"] == pytest.approx([1] * 8)


def _settings(chapter: str, model: str) -> dict:
    """Of a model, with those that it is like."""
    models = tomllib.loads(paths.sidecar(chapter).read_text(encoding="utf-8"))["models"]
    own = models[model]
    found = _settings(chapter, own["like"]) if "like" in own else {}
    options = found.get("options", {}) | own.get("options", {}) | own.get("changed", {})
    return found | own | {"options": options}


@pytest.mark.parametrize(
    "change",
    [
        one
        for every in effects.CHANGES.values()
        for one in every
        if len(one.parts) == 1 and one.before["model"] != one.after["model"]
    ],
    ids=lambda change: change.says,
)
def test_a_change_of_one_part_keeps_the_sizes_of_the_network(change):
    before, after = (
        _settings(change.chapter, one["model"]) for one in (change.before, change.after)
    )
    if {"atoms", "n_atoms"} & {*before["options"]}:
        for name in ("atoms", "n_atoms", "sparsity", "depth", "top_k", "streams", "readout"):
            wanted, found = (np.ravel(one["options"].get(name, 0)) for one in (before, after))
            assert wanted.tolist() == found.tolist(), name
    # Ridge regression has no sizes but those of its input.
    assert "atoms" in str(before["options"]) or change.part == "input"


def test_what_changes_more_names_the_sizes_that_it_changes():
    for every in effects.CHANGES.values():
        for one in every:
            before, after = (_settings(one.chapter, c["model"]) for c in (one.before, one.after))
            sizes = [
                s["options"].get("n_atoms", s["options"].get("atoms")) for s in (before, after)
            ]
            if None not in sizes and np.ravel(sizes[0]).tolist() != np.ravel(sizes[1]).tolist():
                assert "number of atoms" in one.parts, one.says
            assert {*one.parts} <= {*effects.PARTS}
