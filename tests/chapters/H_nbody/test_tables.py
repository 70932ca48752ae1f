"""Tables and numbers of the page on made-up results."""

from __future__ import annotations

import numpy as np
import pytest

from chapters.H_nbody import tables


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
    assert frame[("OOD", "median")]["beta 0"] == 1 and frame["revived"]["beta 0, revived"] == 4
    assert "Not computed" in tables.feedback_table(results.sel(model=["token"]), "gated").data


def test_the_summary_holds_growth_and_drift(shared):
    frame = tables.summary_table(shared).frame
    # Forces with three bodies have a quarter of the power; the GNN's error on single forces grows
    # from 0.01 to 1.
    assert np.allclose(frame.loc["VN_TOKEN_3"], 0.25) and np.allclose(frame.loc["GNN"], [100, 1, 1])
    assert "RANDOM" not in frame.index and "RBF_TOKENS" not in frame.index


def test_the_numbers_of_the_prose(shared, results):
    results["ood_error"].loc[{"variant": "inverted"}] = 0.2
    found = tables.numbers(shared, results)
    found = {key.removeprefix("appH-"): text for key, text in found.items()}
    assert (found["vn-id"], found["vn-ood"], found["gnn-id"]) == ("0.250", "0.250", "100")
    assert (found["token-ood"], found["token-falls"], found["token-id"]) == ("0.100", "3", "1.00")
    assert (found["token-revived"], found["token-both"], found["token-competes"]) == (
        "4",
        "1.00",
        "3",
    )
    assert (found["gated-split"], found["gated-inverted"]) == ("1.00", "2.00")
    assert (found["won-tokens"], found["won-literal"]) == ("2", "0"), "of two panels"
    assert (found["drift-tokens"], found["drift-factorized"]) == ("0.250", "1.00")
    assert (found["step-factorized"], found["panels"]) == ("0.010", "2")
    shared["drift"].loc[{"model": "vn_literal_3"}] = 0.25
    assert [float(tables.behind(shared, s).median()) for s in (0.1, 1)] == pytest.approx([0.4, 4])


@pytest.mark.parametrize("lacking", ["factorized", "vn_gated_3"])
def test_no_numbers_where_models_lack(shared, results, lacking):
    assert tables.numbers(shared.drop_sel(model=lacking), results) == {}
    assert tables.numbers(shared, results.drop_sel(model="gated")) == {}
