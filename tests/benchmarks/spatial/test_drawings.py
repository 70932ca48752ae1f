"""One run of each model, made again for its drawings, in a file of its own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from benchmarks.spatial import drawings
from chapters.fig2_spatial import drawings as fig2
from chapters.fig2_spatial import study
from vnlib.book import chapter, store

SEEDS = {"mlp": 3, "vn_full": 5}
STORED = {"training": {"steps": 2}}


def opened(folder: Path, **given: object) -> chapter.Chapter:
    one = chapter.spec("fig2_spatial")
    given = {"device": "cpu", "results_dir": str(folder), "profile": "smoke", **given}
    return chapter.Chapter(one, one.check(given))


def stored() -> xr.Dataset:
    axes = {"model": [*SEEDS], "seed": [0, 3, 5]}
    texts = np.full((2, 3), json.dumps(STORED), dtype=object)
    return xr.Dataset({"run_settings": (("model", "seed"), texts)}, axes)


def made(chapter, axes, settings, workdir) -> xr.Dataset:
    """A drawing as bright as its seed, of two positions."""
    assert settings == STORED
    image = xr.DataArray(np.full((2, 3, 3), axes["seed"] / 4), dims=("position", "y", "x"))
    found = xr.Dataset({"mse": ("position", [0.5, 0.25]), "image": image})
    return found.assign_coords({f"position_{axis}": ("position", [0, 1]) for axis in "xy"})


def test_runs_are_made_again_with_their_seed_and_kept_in_hundredths(tmp_path):
    one = opened(tmp_path)
    found = drawings.results(one, stored(), made, SEEDS, variables=study.VARIABLES)
    assert found["drawing"].dtype == np.int8 and found["drawing"].attrs["units"] == "0.01"
    assert found["drawing"].max(("position", "y", "x")).values.tolist() == [75, 100], "cut at 1"
    assert found["drawn_seed"].values.tolist() == [3, 5]
    assert found["drawing_mse"].sel(model="mlp").values.tolist() == [0.5, 0.25]
    file = tmp_path / "smoke" / "fig2_spatial.drawings.nc"
    assert store.read(file)["drawing"].equals(found["drawing"])


def test_with_some_seeds_alone_nothing_is_drawn(tmp_path):
    one = opened(tmp_path, seeds=[1])
    assert drawings.results(one, stored(), made, SEEDS, variables=study.VARIABLES) is None
    assert not [*tmp_path.rglob("*.nc")]


@pytest.mark.parametrize("model", ["bilinear_linear", "vn_full"])
def test_a_run_of_fig_2_made_again_errs_as_the_first_time(model, tmp_path):
    one, axes = opened(tmp_path), {"model": model, "seed": 0}
    settings = study.settings(one, axes, 0)
    settings["training"] |= {"steps": 5, "consolidation": 5 if model == "vn_full" else 0}
    settings["task"]["grid"], settings["samples"] = 12, [40]
    first = study.run(one, axes, settings, tmp_path / "a")
    again = fig2.run(one, axes, settings, tmp_path / "b")
    np.testing.assert_array_equal(again["mse"], first["mse"])
    np.testing.assert_array_equal(again["image"][40], first["sample_image"][0])
    assert again["image"].sizes == {"position": 144, "y": 12, "x": 12}
