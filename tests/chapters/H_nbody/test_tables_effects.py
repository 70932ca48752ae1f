"""Bodies that drop out, feedback and rollouts in numbers that are known beforehand."""

from __future__ import annotations

import numpy as np
import pytest

from chapters.H_nbody import tables_effects as effects


def test_the_plane_holds_medians_over_sets(shared):
    found = effects.plane(shared).sel(model="gnn", seed=0)
    np.testing.assert_allclose(found["id"], [0.01, 0.1, 1.0])
    np.testing.assert_allclose(found["ood"], 1.0)
    np.testing.assert_allclose(found["pool"], [0.01, 0.1, 1.0])  # three of five sets are single
    relative = effects.plane(shared, relative=True)
    np.testing.assert_allclose(relative.sel(model="random").to_array(), 1)
    np.testing.assert_allclose(relative["id"].sel(model="gnn", seed=1), [0.0025, 0.05, 1.0])


def test_growth_tells_weaker_forces_from_worse_predictions(shared):
    moved = effects.growth(shared).isel(seed=0)
    np.testing.assert_allclose(moved["ood"].sel(model="vn_token_3"), -np.log10(4))
    gnn = moved.sel(model="gnn")
    np.testing.assert_allclose([gnn["id"], gnn["ood"]], [2, 0], atol=1e-12)
    moved = effects.growth(shared, relative=True).isel(seed=0)
    np.testing.assert_allclose(moved["ood"].sel(model="vn_token_3"), 0, atol=1e-12)
    np.testing.assert_allclose(moved["id"].sel(model="gnn"), 2 + np.log10(4))


@pytest.mark.parametrize(
    ("ids", "oods", "said"),
    [
        (0, 2, "OOD up"),
        (1, 1.1, "both up"),
        (1, 0.1, "ID up"),
        (-1, -1, "both down"),
        (0.1, -0.1, "hardly"),
        (-1, 0.05, "ID down"),
        (-0.01, -1, "OOD down"),
        (1, -1, "ID up, OOD down"),
        (-1, 1, "ID down, OOD up"),
    ],
)
def test_directions_have_names(ids, oods, said):
    assert effects.direction(ids, oods) == said


def test_models_go_where_their_errors_go(shared):
    ways = effects.directions(shared), effects.directions(shared, relative=True)
    assert [one["gnn"] for one in ways] == ["ID up", "ID up"]
    assert [one["vn_token_3"] for one in ways] == ["both down", "hardly"]


def test_an_interaction_is_what_two_effects_lack_of_their_sum(results):
    found = effects.interaction(results).isel(model=0)
    np.testing.assert_allclose(found["off"], -1)
    np.testing.assert_allclose(found["on"], 0, atol=1e-12)
    np.testing.assert_allclose(found["both"], 1)
    np.testing.assert_allclose(effects.interaction(results, "id_error")["both"], 0, atol=1e-12)


def test_variants_are_compared_with_the_default(results):
    results["ood_error"].loc[{"variant": "inverted"}] = 0.2
    np.testing.assert_allclose(effects.changed(results, "split"), 0, atol=1e-12)
    np.testing.assert_allclose(effects.changed(results, "inverted"), np.log10(2))


def test_ranks_of_one_step_errors_and_drifts(shared):
    error = effects.one_step(shared)
    assert error["panel"].values.tolist() == ["gravity", "gravity+drag"]
    np.testing.assert_allclose(error.sel(model="gnn").isel(seed=0), [0.0025, 0.25])
    for number, model in enumerate(shared["model"].values, 1):
        for name in ("mse", "drift"):
            shared[name].loc[{"model": model}] = number
    np.testing.assert_allclose(effects.rank_correlations(shared), 1)
    shared["drift"] = 1 / shared["drift"]
    np.testing.assert_allclose(effects.rank_correlations(shared), -1)
