"""Model selection: on validation data alone, with a seed of its own, by candidates that are laid over a model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import xarray as xr

from benchmarks.baselines.twin_runs import with_twins
from vnlib.book import chapter, comparison
from vnlib.book.comparison import with_candidate

SIDECAR = """
title = "Compared"
claims = []
[defaults]
batch_size = 8
[models.one]
label = "One"
group = "printed"
options = { width = 3 }
candidates = [{ lr = 0.1 }, { lr = 0.2, width = 4 }, { lr = 0.3 }]
[models.two]
like = "one"
label = "Two"
group = "control"
[models.four]
like = "one"
label = "Four"
group = "control"
chooses = true
[models.three]
label = "Three"
group = "control"
candidates = [{ lr = 0.5 }]
[profiles]
smoke = { seeds = 1, candidates = 1, selection_seed = 1000 }
fast = { seeds = 2, candidates = 3, selection_seed = 1000 }
paper = { seeds = 3, candidates = 3, selection_seed = 1000 }
"""
TWINS = """
[models.four_longer]
like = "four"
label = "Four, twice the updates"
group = "longer"
chooses = false
[settings]
twin_seeds = 1
"""
VARIABLES = {"error": ("error on test data", "1"), "error_val": ("error on validation data", "1")}
BEST = {"one": 0.2, "two": 0.1, "four": 0.3, "three": 0.5}


def opened(project: Path, profile: str) -> chapter.Chapter:
    given = {"profile": profile, "results_dir": str(project / "results"), "seeds": None}
    common = {"recompute": False, "stale": "keep", "device": "cpu"}
    return chapter.Chapter(chapter.spec("tiny"), given | common)


@pytest.fixture
def compared(project: Path):
    """The results of a profile and the selection behind them; its runs as they are computed."""
    folder = project / "chapters" / "tiny"
    (folder / "tiny.toml").write_text(SIDECAR, encoding="utf-8")
    ran = []

    def make(profile: str, how: Callable = comparison.compared) -> tuple:
        make.chapter = one = opened(project, profile)

        def run(chapter, axes, settings, workdir):
            ran.append((axes["model"], axes["seed"], settings["lr"]))
            val = abs(settings["lr"] - BEST.get(axes["model"], 0.0))
            # Out of distribution another candidate would win: it must not be looked at.
            return xr.Dataset({"error": -settings["lr"], "error_val": val})

        def settings(chapter, axes, candidate, selecting):
            lr, options = with_candidate(chapter.model(axes["model"]), candidate)
            return {"lr": lr, "options": options, "tests": not selecting}

        return how(one, run, settings, VARIABLES, criterion="error_val")

    make.ran = ran
    return make


def test_the_candidate_with_the_least_validation_error_makes_the_reported_runs(compared):
    results, selection = compared("fast")
    assert (
        selection["model"].values.tolist() == ["one", "four"] and selection.sizes["candidate"] == 3
    )
    settings = [json.loads(text) for text in results["run_settings"].isel(seed=0).values]
    assert [one["lr"] for one in settings] == [0.2, 0.2, 0.3, 0.5], (
        "two takes one's choice, four, which is like it, too, chooses for itself; three has none"
    )
    assert settings[0]["options"] == {"width": 4} and settings[0]["tests"]
    assert not json.loads(str(selection["run_settings"].values[0, 0]))["tests"]


def test_the_seed_that_selects_is_never_reported(compared):
    results, _ = compared("fast")
    assert {seed for model, seed, _ in compared.ran[:6]} == {1000}
    assert results["seed"].values.tolist() == [0, 1] and 1000 not in {
        seed for _, seed, _ in compared.ran[6:]
    }


def test_without_candidates_the_first_is_taken(compared):
    results, selection = compared("smoke")
    assert selection is None and {rate for _, _, rate in compared.ran} == {0.1, 0.5}
    assert results.sizes == {"model": 4, "seed": 1}


def test_twins_take_the_choice_of_their_models_at_the_first_seeds(compared, project):
    sidecar = project / "chapters" / "tiny" / "tiny.toml"
    sidecar.write_text(SIDECAR + TWINS, encoding="utf-8")
    results, selection = compared("paper", with_twins)
    assert selection["model"].values.tolist() == ["one", "four"]
    assert results["model"].values.tolist() == [*BEST, "four_longer"], "in their order"
    there = results["error"].notnull().transpose("model", "seed").to_series().unstack("seed")
    assert there.sum(axis=1).to_dict() == dict.fromkeys(BEST, 3) | {"four_longer": 1}
    assert there.loc["four_longer", 0] and results["error"].sel(model="four_longer", seed=0) == -0.3
    assert compared.ran.count(("four", 1000, 0.3)) == 1, "chosen once for both"


def test_labels_and_units_are_in_the_file(compared):
    results, _ = compared("smoke")
    stored = xr.open_dataset(compared.chapter.file(), engine="h5netcdf")
    assert results["label"].values.tolist() == ["One", "Two", "Four", "Three"]
    assert results["group"].values.tolist() == ["printed", *["control"] * 3]
    assert (
        stored["label"].sel(model="two") == "Two" and stored["group"].sel(model="one") == "printed"
    )
    assert all(v.attrs.get("long_name") for v in stored.variables.values())


def test_a_model_is_laid_over_the_one_it_is_like_and_over_the_defaults(compared):
    compared("smoke")
    model = compared.chapter.model("two")
    assert model["label"] == "Two" and model["options"] == {"width": 3} and model["batch_size"] == 8
    assert with_candidate(model, 1) == (0.2, {"width": 4})


def test_a_run_that_gives_what_is_not_declared_is_refused(compared):
    compared("smoke")
    with pytest.raises(ValueError, match="long name and units of wide"):
        comparison.compared(
            compared.chapter, lambda *_: xr.Dataset({"wide": 1.0}), lambda *_: {}, VARIABLES
        )


def test_how_a_model_trains_is_its_section_with_the_sizes_and_shares_of_the_profile(compared):
    compared("fast")
    one = compared.chapter
    one.settings.update(scale=0.5, least=4, selection_share=0.1)
    one.settings["sizes"] = {"net": {"width": 2}, "one": {"depth": 1, "width": 1}}
    one.spec.sidecar["defaults"].update(family="net", steps=20)
    found = comparison.training(one, "one", 1, False)
    assert found == {
        "family": "net",
        "batch_size": 8,
        "options": {"width": 4, "depth": 1},  # the candidate's width, above the sizes
        "lr": 0.2,
        "steps": 10,
    }
    assert comparison.training(one, "one", 0, True) == found | {
        "options": {"width": 1, "depth": 1},
        "lr": 0.1,
        "steps": 4,
    }
