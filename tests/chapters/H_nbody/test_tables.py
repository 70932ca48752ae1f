"""Tables and numbers of the page, and what they show of bodies that drop out, feedback and rollouts,
on made-up results.
"""

from __future__ import annotations

import numpy as np
import pytest

from chapters.H_nbody import claims, tables

BETAS = claims.ZERO, claims.DEFAULT


def test_growth_has_a_row_for_every_model(shared):
    frame = tables.growth_table(shared).frame
    assert frame.loc["GNN", "moves"] == "ID up"
    assert np.allclose(
        frame.loc["GNN", [("ID grows by", "low"), ("ID grows by", "high")]].astype(float), 100
    )
    assert frame.loc["VN_TOKEN_3", "moves"] == "both down" and len(frame) == shared.sizes["model"]
    assert tables.growth_table(shared, relative=True).frame.loc["VN_TOKEN_3", "moves"] == "hardly"


def test_variants_of_one_reading(results):
    frame = tables.feedback_table(results, "token").frame
    assert (
        frame[("OOD", "median")]["β = 0"] == 1 and frame["revived", "median"]["β = 0, revived"] == 4
    )
    assert "Not computed" in tables.feedback_table(results.sel(model=["token"]), "gated").data


def test_the_summary_holds_growth_and_drift(shared):
    frame = tables.summary_table(shared).frame.xs("median", axis=1, level=-1)
    # Forces with three bodies have a quarter of the power; the GNN's error on single forces grows
    # from 0.01 to 1.
    assert np.allclose(frame.loc["VN_TOKEN_3"], 0.25) and np.allclose(frame.loc["GNN"], [100, 1, 1])
    assert "RANDOM" not in frame.index and "RBF_TOKENS" not in frame.index


def test_the_numbers_of_the_prose(shared, results):
    results["ood_error"].loc[{"variant": "inverted"}] = 0.2
    results["fact_active_top"].loc[{"variant": "beta 0"}] = 2.0
    found = tables.numbers(shared, results)
    found = {key.removeprefix("appH-"): text for key, text in found.items()}
    assert (found["vn-id"], found["vn-ood"], found["gnn-id"]) == ("0.25", "0.25", "100")
    assert (found["token-ood"], found["token-falls"], found["token-id"]) == ("0.10", "3", "1.0")
    assert (found["token-revived"], found["token-both"], found["token-competes"]) == (
        "4",
        "1.0",
        "3",
    )
    assert (found["gated-split"], found["gated-inverted"]) == ("1.0", "2.0")
    assert (found["top-none-token"], found["dead-least"], found["dead-atoms"]) == ("2.0", "0", "0")
    assert found["worst-fit"] == "0.010" and found["nearest-tokens"] == "2 of 2"
    assert found["nearest-literal"].startswith("0 ")
    assert tables.none_if_zero("0 of 6") == "none of the 6"
    assert tables.none_if_zero("2 of 6") == "2 of 6"
    assert (found["drift-tokens"], found["drift-factorized"]) == ("0.25", "1.0")
    assert (found["step-factorized"], found["panels"]) == ("0.010", "2")
    shared["drift"].loc[{"model": "vn_literal_3"}] = 0.25
    assert [
        float(claims.behind(claims.drift(shared).median("seed"), s).median()) for s in (0.1, 1)
    ] == pytest.approx([0.4, 4])


def test_the_plane_holds_medians_over_sets(shared):
    found = claims.plane(shared).sel(model="gnn", seed=0)
    np.testing.assert_allclose(found["id"], [0.01, 0.1, 1.0])
    np.testing.assert_allclose(found["ood"], 1.0)
    np.testing.assert_allclose(found["pool"], [0.01, 0.1, 1.0])  # three of five sets are single
    relative = claims.plane(shared, relative=True)
    np.testing.assert_allclose(relative.sel(model="random").to_array(), 1)
    np.testing.assert_allclose(relative["id"].sel(model="gnn", seed=1), [0.0025, 0.05, 1.0])


def test_growth_tells_weaker_forces_from_worse_predictions(shared):
    moved = claims.growth(claims.plane(shared)).isel(seed=0)
    np.testing.assert_allclose(moved["ood"].sel(model="vn_token_3"), -np.log10(4))
    gnn = moved.sel(model="gnn")
    np.testing.assert_allclose([gnn["id"], gnn["ood"]], [2, 0], atol=1e-12)
    moved = claims.growth(claims.plane(shared, relative=True)).isel(seed=0)
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
    assert tables.direction(ids, oods) == said


def test_models_go_where_their_errors_go(shared):
    ways = tables.directions(shared), tables.directions(shared, relative=True)
    assert [one.sel(model="gnn") for one in ways] == ["ID up", "ID up"]
    assert [one.sel(model="vn_token_3") for one in ways] == ["both down", "hardly"]


def test_a_change_is_that_of_one_variant_to_another_in_each_run(results):
    results["ood_error"].loc[{"variant": "inverted"}] = 0.2
    alone, revived = claims.change(results, *BETAS), claims.change(results, *claims.ANEW)
    np.testing.assert_allclose(alone, -1)
    np.testing.assert_allclose(revived, 0, atol=1e-12)
    np.testing.assert_allclose(claims.change(results, *BETAS, "id_error"), 0, atol=1e-12)
    np.testing.assert_allclose(claims.change(results, claims.DEFAULT, "split"), 0, atol=1e-12)
    np.testing.assert_allclose(claims.change(results, claims.DEFAULT, "inverted"), np.log10(2))


def test_ranks_of_one_step_errors_and_drifts(shared):
    error = claims.one_step(shared)
    assert error["panel"].values.tolist() == ["gravity", "gravity+drag"]
    np.testing.assert_allclose(error.sel(model="gnn").isel(seed=0), [0.0025, 0.25])
    for number, model in enumerate(shared["model"].values, 1):
        for name in ("mse", "drift"):
            shared[name].loc[{"model": model}] = number
    np.testing.assert_allclose(tables.rank_correlations(shared), 1)
    shared["drift"] = 1 / shared["drift"]
    np.testing.assert_allclose(tables.rank_correlations(shared), -1)
