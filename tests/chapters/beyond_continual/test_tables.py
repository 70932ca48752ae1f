"""Tables and numbers about tasks in turn, where they are known beforehand."""

from __future__ import annotations

import numpy as np
import pytest

from chapters.beyond_continual import tables
from vnlib.plots.tables import Table

DIGITS, FORCES = "pairs of digits", "force laws"
MADE = [tables.tasks_table, tables.overlaps_table, tables.data_table, tables.inference_table]


@pytest.mark.parametrize("model", ["vn_1", "ae", "b_vn"])
@pytest.mark.parametrize("make", MADE)
def test_tables_of_one_model_and_one_seed(continual_results, make, model):
    one = continual_results.sel(model=[model], seed=[0], stream=["sequence"])
    if model != "vn_1":
        one = one.drop_vars([name for name in one.data_vars if name.startswith("inference")])
    if model == "b_vn":
        one = one.drop_vars("data_error")
    made = make(one)
    assert made._repr_mimebundle_() if isinstance(made, Table) else "Not computed" in made.data


def test_forgetting_and_errors(continual_results):
    table = tables.tasks_table(continual_results)
    assert table.frame.loc[(DIGITS, "AE"), ("forgotten (×)", "median")] == pytest.approx(3)
    assert table.frame.loc[(FORCES, "TOKENS"), ("error, in turn", "high")] == 1
    assert table.shown().loc[(DIGITS, "PCA"), "error, the last alone"] == ""


def test_overlaps_and_their_correlation(continual_results):
    frame = tables.overlaps_table(continual_results).frame
    assert frame.loc[(FORCES, "TOKENS"), ("cosine", "median")] == pytest.approx(-0.1)
    # 0.5 less a hundredth of the sum of both tasks, which is 4 on average.
    assert frame.loc[(DIGITS, "VN"), ("updates, by units", "low")] == pytest.approx(0.46)
    correlation = frame.loc[(DIGITS, "VN"), "correlation of codes and updates"]
    assert correlation.tolist()[:3] == pytest.approx([-1] * 3) and correlation["n"] == 2
    continual_results["fact_units"].loc[{"model": "ae", "after": 1}] = 3.0
    frame = tables.overlaps_table(continual_results).frame
    assert frame.loc[(DIGITS, "AE"), ("units at the start", "median")] == 3
    assert frame.loc[(DIGITS, "AE"), ("units at the end", "high")] == 7


def test_few_images(continual_results):
    table = tables.data_table(continual_results)
    assert "TOKENS" not in table.frame.index
    assert table.frame.loc["VN", ("single digits, 64", "median")] == pytest.approx(1500 / 64)
    assert table._repr_mimebundle_()["text/html"].count("font-weight: bold") >= 1


def test_sweeps(continual_results):
    table = tables.inference_table(continual_results)
    assert table.frame.loc[("VN", "LISTA"), ("sums of two", "momentum", "median")] == 40
    continual_results["inference_sweeps"][:] = np.inf
    shown = tables.inference_table(continual_results).shown()
    assert "> 60" in shown.loc[("VN", "cold")].tolist()


def test_numbers_follow_from_the_results(continual_results):
    found = tables.numbers(continual_results)
    assert found["beyond-cont-forgotten-ae"] == "3.0"
    assert found["beyond-cont-error-ae-sequence"] == "0.26"
    assert found["beyond-cont-shared-vn-1"] == "0.46" and found["beyond-cont-ratio"] == "30"
    assert found["beyond-cont-ms-cold"] == found["beyond-cont-ms-guess"] == "3.0"
    assert found["beyond-cont-saved"] == "0.25" and found["beyond-cont-seeds"] in ("1", "2", "3")
    assert found["beyond-cont-fewest"] == "64" and found["beyond-cont-lowest-id"] == "VN"
