"""A whole run of appendix E at a tiny size, and its settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from chapters.E_theory import study
from vnlib.book import chapter, paths, store
from vnlib.book.store.variables import described

TINY = {
    "n_train": 80,
    "n_test": 20,
    "atoms": [12, 8],
    "interface": [8, 6],
    "top_k": 3,
    "n_ranks": 4,
    "train_steps": 1,
    "samples": 3,
    "counts": [1, 2],
    "counts_learned": [1, 2],
    "coherences": [0.25, 0.5],
    "rate_steps": 20,
    "descent_steps": 5,
    "stack_sweeps": 5,
    "strengths": [0.0],
    "surplus_atoms": [16],
    "mixed": [1],
    "planted": {"d": 12, "K": 16, "samples": 60, "steps": 2},
}


def opened(profile: str = "smoke", **given: object) -> chapter.Chapter:
    spec = chapter.spec("E_theory")
    return chapter.Chapter(spec, spec.check({"profile": profile, "device": "cpu", **given}))


@pytest.fixture(scope="module")
def one():
    tiny = opened("smoke").settings | TINY
    return study.run(opened("smoke"), {"seed": 0}, tiny, Path())


def test_a_run_holds_the_measurements_of_all_theorems(one):
    assert one["recovered"].shape == (2, 2, 3, 2) and one["rank"].shape == (2, 4)
    assert list(one["data"].values) == ["planted", "digits"] and one.sizes["case"] == 5
    assert one["grown_mu"].shape == (1, 1) and int(one["cap"].sel(layer=2)) == 3
    assert (one["rounding"] < 8).all()


def test_all_that_a_run_holds_has_a_name_and_units(one):
    named = described(one, study.VARIABLES)
    assert all(v.attrs["long_name"] for v in named.variables.values())
    assert named["learned_bound"].attrs["long_name"] == "bound with the learned dictionary"


def test_the_settings_of_the_chapter_are_those_of_the_shipped_runs():
    shipped = store.read(paths.RESULTS / "paper" / "E_theory.nc")
    here = {key: value for key, value in opened("paper").settings.items() if key != "seeds"}
    assert set(shipped["run_settings"].values.flat) == {store.netcdf.to_json(here)}
    assert opened("paper", share=0.5).settings["share"] == 0.5
