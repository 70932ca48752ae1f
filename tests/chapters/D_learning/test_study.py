"""A whole run of appendix D at a tiny size, and its settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from chapters.D_learning import study
from vnlib.book import chapter, paths, store
from vnlib.book.store.variables import described

SETTINGS = {
    "data_seed": 0,
    "feedback": 0.1,
    "settle": {"tol": 1e-4},
    "lr": 1e-2,
    "dense_lr": 3e-3,
    "interface_lr": 1e-2,
    "main_sparsity": 0.2,
    "sparsities": [0.2, 0.8],
    "upkeep_sparsities": [0.2],
    "two_layer_sparsity": [0.2, 0.06],
    "absolute": [0.2, 0.2, 0.2],
    "relative": [0.02, 0.02, 0.02],
    "contrasts": [1.0],
    "fall": 0.02,
    "local": {"lr": {"adam": 1e-3, "sgd": 0.1}, "batch_sizes": [1, 8], "updates": 1, "warm_up": 1},
    "variants": {"as it is": {}, "DC removed, centred data": {"remove_dc": True, "centred": True}},
    "n_train": 60,
    "n_test": 12,
    "n_atoms": 16,
    "interface": 8,
    "top_k": 4,
    "steps": 2,
    "batch_size": 16,
    "meeting": {"samples": 6, "sources": 3, "dense_steps": 2},
    "upkeep": {"steps": 2, "batch_size": 8},
    "stages": [0, 1],
    "objectives": {"before": 1, "steps": 1},
    "units_steps": 1,
}


def opened(profile: str = "smoke", **given: object) -> chapter.Chapter:
    spec = chapter.spec("D_learning")
    return chapter.Chapter(spec, spec.check({"profile": profile, "device": "cpu", **given}))


@pytest.fixture(scope="module")
def one():
    return study.run(opened(), {"seed": 0}, SETTINGS, Path())


def test_a_run_holds_all_measurements(one):
    assert list(one["model"].values) == ["VN 0.2", "VN 0.8", "linear", "whitened", "ReLU"]
    assert one["upkeep_mse"].shape == (1, 2, 2) and one.sizes["pair"] == 15
    assert list(one["stage"].values) == [0, 1] and one["units_active"].shape == (2, 1, 3)
    assert (one["shared_residual"].diff("quantile") > 0).all()


def test_all_that_a_run_holds_has_a_name_and_units(one):
    named = described(one, study.VARIABLES)
    assert all(v.attrs["long_name"] for v in named.variables.values())


def settings(**given: object) -> dict:
    return study.settings(opened("paper", **given))


def test_the_settings_of_the_chapter_are_those_of_the_shipped_runs():
    shipped = store.read(paths.RESULTS / "paper" / "D_learning.nc")
    assert set(shipped["run_settings"].values.flat) == {store.netcdf.to_json(settings())}


def test_parameters_overrule_settings_and_messages_stay_narrow():
    changed = settings(n_atoms=64, feedback=0.5)
    assert (changed["n_atoms"], changed["feedback"], changed["interface"]) == (64, 0.5, 32)


def test_twice_the_updates_keep_the_names_of_stages(tmp_path):
    found = study.run_longer(opened(), {"seed": 0}, study.twice(SETTINGS), tmp_path)
    assert found["stage"].values.tolist() == [0, 1] and "objective_change" not in found
    assert {*study.DECIDING} <= {*found}


def test_twice_the_updates_is_all_that_is_other():
    own = study.settings(opened("paper"))
    longer = study.twice(own)
    assert longer["steps"] == 2 * own["steps"] and longer["stages"][-1] == 2 * own["stages"][-1]
    assert longer["meeting"]["dense_steps"] == 2 * own["meeting"]["dense_steps"]
    assert longer["upkeep"] == own["upkeep"] | {"steps": 2 * own["upkeep"]["steps"]}
    rest = {*own} - {"steps", "stages", "meeting", "upkeep", "objectives", "units_steps"}
    assert all(longer[name] == own[name] for name in rest)
