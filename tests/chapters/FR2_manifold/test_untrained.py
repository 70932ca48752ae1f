"""Networks before training: the same measures as those of the study, for every seed."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from chapters.FR2_manifold import study, untrained
from chapters.FR2_manifold.claims import RANDOM
from vnlib.book import chapter, paths, store
from vnlib.book.store.variables import described

NETWORK = {"family": "mlp", "options": {"hidden": [8, 8]}}
TASK = {"grid": 10, "sigma": 1.0, "hold_out": "square"}


def opened(**given) -> chapter.Chapter:
    one = chapter.spec("FR2_manifold")
    return chapter.Chapter(one, one.check({"device": "cpu", "hold_out": "square", **given}))


def test_measures_are_those_of_the_study(tmp_path):
    axes = {"model": "mlp", "seed": 2}
    training = NETWORK | {"steps": 2, "draws": 40, "lr": 1e-2, "batch_size": 8}
    whole = {"margin": 1, "folds": 3, "samples": [[4, 5]], "polarity": "dark", "plane": False}
    whole |= TASK | {"encoding": "ramp", "full": True, "training": training}
    given = {"task": TASK | {"encoding": "ramp"}, "network": NETWORK}
    known = study.run(opened(), axes, whole, tmp_path).sel(weights="untrained")
    found = untrained.run(opened(), axes, given, tmp_path)
    for name in RANDOM:
        xr.testing.assert_allclose(found[f"random_{name}"], known[name].drop_vars("weights"))
    assert described(found, study.VARIABLES)["random_F"].attrs["units"] == "1"
    other = untrained.run(opened(), axes | {"seed": 3}, given, tmp_path)
    assert not other["random_F"].equals(found["random_F"]), "every seed has its own start"


def test_those_that_draw_are_asked_for_with_their_seeds_and_each_start_once(monkeypatch):
    asked = []

    def grid(self, run, axes, *_, part, **__):
        asked.append((part, axes["model"], axes["seed"]))
        coords = axes | {"layer": ["input"]}
        ones = xr.DataArray(np.ones([len(one) for one in coords.values()]), coords)
        return xr.Dataset(dict.fromkeys(untrained.MEASURES, ones) | {"run_date": ones})

    monkeypatch.setattr(chapter.Chapter, "grid", grid)
    names = ["cnn_bump_4", "longer_cnn_bump_4", "cnn_ramp_4", "mlp_bump_2", "vn_full"]
    failed = xr.DataArray(np.zeros((5, 3)), {"model": names, "seed": [0, 1, 2]})
    failed.loc[{"model": "mlp_bump_2"}] = 1
    failed = failed.where((failed["model"] == "cnn_ramp_4") | (failed["seed"] < 2))
    trained = xr.Dataset({"failed": failed})
    found = untrained.results(opened(profile="paper", models=names), trained)
    assert asked == [
        ("untrained", ["cnn_bump_4"], [0, 1]),
        ("untrained", ["cnn_ramp_4"], [0, 1, 2]),
    ]
    assert found["random_F"].sel(model="cnn_ramp_4").notnull().all() and "run_date" not in found
    assert found["random_F"].sel(model=["mlp_bump_2", "vn_full"]).isnull().all()
    longer = untrained.results(opened(profile="paper", models=names[1:2]), trained)
    assert asked[-1][1] == names[1:2] and longer["random_F"].notnull().any()


def test_settings_are_those_of_the_training():
    axes, paper = {"model": "cnn_ramp_8", "seed": 1}, opened(profile="paper")
    found, known = untrained.settings(paper, axes), study.settings(paper, axes)
    assert found["task"] == {name: known[name] for name in found["task"]}
    assert found["network"] == {name: known["training"][name] for name in found["network"]}


@pytest.mark.parametrize("name", RANDOM)
def test_the_first_seed_of_shallow_networks_says_what_the_study_stored(name):
    """Which ran on a GPU; there deep ones lost digits to the rounding of its convolutions."""
    folder = paths.RESULTS / "paper"
    stored = store.read(folder / "FR2_manifold.nc").sel(weights="untrained", seed=0)
    own = store.read(folder / "FR2_manifold.untrained.nc")[f"random_{name}"].sel(seed=0)
    apart = abs(own - stored[name].sel(model=own["model"]))
    depth = xr.DataArray([int(m.split("_")[-1]) for m in own["model"].values], dims="model")
    shallow = depth <= 4
    assert own.notnull().sum() > 50 and apart[shallow.values].max() < 2e-4
    inside = apart.sel(layer=[n for n in own["layer"].values if n.startswith("layer")])
    assert 1e-3 < inside[~shallow.values].max() < 0.02
