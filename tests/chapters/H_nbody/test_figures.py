"""Bodies that drop out and feedback: what figures and sentences say, where it is known
beforehand.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

from chapters.H_nbody import figures
from chapters.H_nbody import tables as words

FORCES = ["gravity", "spring", "drag", "gravity+spring", "gravity+drag"]
BETAS = (0.0, 0.02, 0.3)


@pytest.fixture
def shared() -> xr.Dataset:
    """A model whose errors follow the power of forces, one that fails with few bodies, and
    predicting the mean.
    """
    models = {
        "vn_token_3": "vn",
        "gnn": "printed",
        "factorized": "printed",
        "random": "printed",
        "rbf_tokens": "control",
    }
    ds = xr.Dataset(
        coords={
            "model": list(models),
            "seed": [0, 1],
            "way": ["joint", "passes"],
            "forces": FORCES,
            "bodies": [5, 4, 3],
            "panel": ["gravity", "gravity+drag"],
            "start": [0, 1, 2],
            "step": [0, 100, 1000],
        }
    )
    ds = ds.assign_coords(
        group=("model", list(models.values())), label=("model", [m.upper() for m in models])
    )
    power = xr.DataArray([4.0, 2.0, 1.0], dims="bodies", coords={"bodies": [5, 4, 3]})
    ds["power"] = power.expand_dims(model=ds["model"], seed=ds["seed"], forces=ds["forces"]).copy()
    ds["mse"] = (0.01 * ds["power"]).expand_dims(way=ds["way"]).copy()
    ds["mse"].loc[{"model": "random"}] = ds["power"].sel(model="random", drop=True)
    ds["mse"].loc[{"model": "gnn", "forces": FORCES[:3]}] = xr.DataArray(
        [0.01, 0.1, 1.0], dims="bodies"
    )
    ds["mse"].loc[{"model": "gnn", "forces": FORCES[3:]}] = 1.0
    ds["mse"].loc[{"way": "passes"}] = 7.0
    ds["drift"] = (
        ds["step"] / 1000
        + 0 * ds["power"].isel(forces=0, bodies=0)
        + 0 * ds["start"]
        + xr.zeros_like(ds["panel"], float)
    ).drop_vars(["forces", "bodies"])
    ds["drift"].loc[{"model": "vn_token_3"}] = 0.25
    return ds


@pytest.fixture
def results() -> xr.Dataset:
    """Feedback and revival each divide the OOD error by ten, and both together by ten as well."""
    plain = [(b, r, "plain") for r in (False, True) for b in BETAS]
    rows = [*plain, (0.02, False, "split"), (0.02, False, "inverted")]
    names = [f"beta {b:g}{', revived' if r else ''}" if k == "plain" else k for b, r, k in rows]
    ds = xr.Dataset(coords={"model": ["token"], "variant": names, "seed": [0, 1, 2]})
    columns = {
        name: ("variant", list(column))
        for name, column in zip(("beta", "revive", "kind"), zip(*rows, strict=True), strict=True)
    }
    ds = ds.assign_coords(label=("model", ["TOKENS"]), **columns)
    for name in (
        "criterion",
        "id_error",
        "ood_error",
        "ood_mse",
        "fact_dead",
        "fact_revived",
        "fact_used",
    ):
        ds[name] = (
            xr.zeros_like(ds["beta"], float)
            + 0 * ds["seed"]
            + xr.zeros_like(ds["model"], float)
            + 0.1
        )
    ds["ood_error"].loc[{"variant": "beta 0"}] = 1.0
    ds["fact_revived"] = ds["fact_revived"].where(~ds["revive"], 4) - 0.1 * ~ds["revive"]
    return ds


def test_the_plane_holds_medians_over_sets(shared):
    found = figures.plane(shared).sel(model="gnn", seed=0)
    np.testing.assert_allclose(found["id"], [0.01, 0.1, 1.0])
    np.testing.assert_allclose(found["ood"], 1.0)
    np.testing.assert_allclose(found["pool"], [0.01, 0.1, 1.0])  # three of five sets are single
    relative = figures.plane(shared, "relative")
    np.testing.assert_allclose(relative.sel(model="random").to_array(), 1)
    np.testing.assert_allclose(relative["id"].sel(model="gnn", seed=1), [0.0025, 0.05, 1.0])


def test_growth_tells_weaker_forces_from_worse_predictions(shared):
    moved = figures.growth(shared).isel(seed=0)
    np.testing.assert_allclose(moved["ood"].sel(model="vn_token_3"), -np.log10(4))
    np.testing.assert_allclose(
        [moved["id"].sel(model="gnn"), moved["ood"].sel(model="gnn")], [2, 0], atol=1e-12
    )
    moved = figures.growth(shared, "relative").isel(seed=0)
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
    assert words.direction(ids, oods) == said


def test_the_table_and_the_sentences_say_so(shared):
    table = words.growth_table(shared)
    assert table.loc["GNN", "moves"] == "ID up" and table.loc["GNN", "ID grows by"] == "1e+02"
    assert table.loc["VN_TOKEN_3", "moves"] == "both down"
    assert words.growth_table(shared, "relative").loc["VN_TOKEN_3", "moves"] == "hardly"
    said = words.dropout(shared)
    assert "hardly: *VN_TOKEN_3*, *FACTORIZED*, *RANDOM*" in said and "the pool: none" in said
    shared["mse"].loc[{"model": "gnn", "forces": FORCES[3:]}] = 0.001
    assert "mixtures alone:** *GNN*" in words.dropout(shared)


def test_an_interaction_is_what_two_effects_lack_of_their_sum(results):
    found = figures.interaction(results).isel(model=0)
    np.testing.assert_allclose(found["off"], -1)
    np.testing.assert_allclose(found["on"], 0, atol=1e-12)
    np.testing.assert_allclose(found["revive"], -1)
    np.testing.assert_allclose(found["both"], 1)
    np.testing.assert_allclose(figures.interaction(results, "id_error")["both"], 0, atol=1e-12)


def test_feedback_in_words(results):
    said = words.feedback(results)
    assert "OOD error × 0.1 (higher in 0 of 3 seeds)" in said and "ID error × 1 " in said
    assert "positive in 3 of 3 seeds" in said and "up to 4 of them" in said
    assert "A readout per force changes nothing." in said
    results["fact_revived"] *= 0
    results["ood_error"].loc[{"variant": "inverted"}] = 0.2
    said = words.feedback(results)
    assert "No atom was ever drawn anew" in said
    assert "The inverted coupling: OOD error × 2 (higher in 3 of 3 seeds)" in said
    assert words.feedback_table(results, "literal") == words.NOTHING
    assert words.feedback_table(results, "token").loc["beta 0", "OOD"] == "1"


def test_rollouts_in_words(shared):
    said = words.rollouts(shared)
    assert "**VN_TOKEN_3** drifts least on 2 of 2 panels, against 2 models" in said
    assert "0.4 after a tenth of the steps and 4 at the end" in said
    assert words.rollouts(shared.drop_vars("drift")) == words.NOTHING


def test_the_summary_holds_growth_and_drift(shared, results):
    said = words.summary(shared, results)
    # Forces with three bodies have a quarter of the power; the GNN's error on single forces grows
    # from 0.01 to 1.
    assert "| VN_TOKEN_3 | 0.25 | 0.25 | 0.25 |" in said and "| GNN | 100 | 1 | 1 |" in said
    assert "TOKENS × 0.1 (in 3 of 3 seeds below 1)" in said
    assert "| GNN | 100 | 1 |  |" in words.summary(shared.drop_vars("drift"), results)


def test_a_page_without_the_paper_s_models_is_drawn_and_said(shared, results):
    for one in (shared, shared.sel(model=["rbf_tokens"]), shared.sel(model=["gnn"])):
        plt.close(figures.body_dropout(one))
        assert words.summary(one, results) and words.dropout(one) and words.rollouts(one)


def test_the_figure_of_feedback_has_a_column_per_reading(results):
    figure = figures.feedback(results)
    assert len(figure.axes) == 2 and figure.axes[0].get_title() == "TOKENS"
    plt.close(figure)
