"""What the words between the numbers of the page claim, on the shipped results."""

from __future__ import annotations

import pandas as pd
import pytest

from chapters.beyond_law import figures, points, relation, tables
from chapters.beyond_tasks import tables as of_tasks
from vnlib.book import paths, store
from vnlib.plots.statistics import over_seeds


def shipped(name: str):
    return store.read(paths.result_file(paths.RESULTS, "paper", name))


@pytest.fixture(scope="module")
def decoders() -> dict[str, pd.DataFrame]:
    return {
        "tasks": points.of_tasks(shipped("beyond_tasks")),
        "manifold": points.of_manifold(shipped("FR2_manifold")),
        "maps": points.of_maps(shipped("FR3_low_rank")),
    }


@pytest.fixture(scope="module")
def found(decoders) -> pd.DataFrame:
    return tables.ranks(decoders).set_index(["set", "measure", "error"])


LAST = ("F", "volume", "terms", "one_factor", "probe")


def test_rendering_has_one_sign(found):
    for error in points.ERRORS:
        row = found.loc[("tasks", "rendering", error)]
        assert row["high"] < 0 and row["within"] < 0 and row["alike"] < 0
    assert found.loc[("maps", "band", "ratio"), "high"] < 0


def test_rendering_orders_better_than_the_papers_measures(found):
    rank = found["rank"].abs()
    assert rank["tasks", "rendering", "ood"] > max(rank["tasks", m, "ood"] for m in LAST)


def test_of_the_ratio_rendering_says_most(found):
    ratio = found.xs("tasks").xs("ratio", level="error")
    assert ratio["rank"].abs().idxmax() == "rendering"
    for measure in LAST:
        assert ratio.loc[measure, "low"] < 0 < ratio.loc[measure, "high"], measure
    assert ratio["families"].max() < 0.1, "a tenth of the variance"


def test_how_much_rendering_explains_in_a_new_family_is_hardly_known(decoders, found):
    ood = found.xs("tasks").xs("ood", level="error")["families"]
    intervals = relation.explained_intervals(decoders["tasks"], tables.PREDICTORS, "ood")
    (low, high), own, (less, more) = intervals
    assert 0 < low < 0.3 and high > 0.6 and low < ood["rendering"] < high
    assert ood["rendering"] < ood["id"] and less < 0 < more, "undecided which explains more"
    assert own[0] > 0.3


def test_the_error_in_distribution_predicts_and_says_nothing_of_the_ratio(found):
    assert found.loc[("tasks", "id", "ood"), "low"] > 0.3
    assert abs(found.loc[("tasks", "id", "ratio"), "rank"]) < 0.25


def test_the_papers_networks(found):
    assert found.loc[("manifold", "volume", "ratio"), "low"] > 0
    assert found.loc[("manifold", "one_factor", "ratio"), "high"] < 0
    assert found.loc[("manifold", "F", "ood"), "high"] < 0
    assert abs(found.loc[("manifold", "F", "ratio"), "rank"]) < 0.3


def test_rank_one_renders_a_ring_that_it_cannot_draw(decoders):
    own = decoders["tasks"].set_index(["condition", "decoder"]).loc["shape_ring"]
    for model in ("vn_axes", "factorised"):
        assert own.loc[model, "rendering"] > 0.9 and own.loc[model, ["id", "ood"]].min() > -1


def test_of_the_ratio_the_sign_turns_in_some_tasks_and_families(decoders):
    tasks = decoders["tasks"]

    def signs(by: str, error: str) -> dict[str, float]:
        found = {name: relation.rank(one, "rendering", error) for name, one in tasks.groupby(by)}
        return {name: rank for name, rank in found.items() if abs(rank) > 0.05}

    assert signs("condition", "ratio")["place_coordinates"] > 0
    assert max(signs("family", "ratio").values()) > 0
    assert max(signs("condition", "ood").values()) < 0


def test_most_that_render_and_err_do_so_in_distribution_too(decoders):
    tasks = decoders["tasks"]
    wrong = tasks[(tasks["rendering"] > 0.9) & (tasks["ood"] > -1)]
    assert (wrong["id"] > -1).mean() > 0.5


def test_whether_little_rendering_composes_is_undecided_and_much_is_not_enough(decoders, found):
    tasks = decoders["tasks"]
    spread = over_seeds(tables.least(tasks, shipped("beyond_tasks")))
    assert float(spread["low"]) < 0.1 < float(spread["high"]), "undecided"
    assert (tasks.loc[tasks["rendering"] > 0.9, "ood"] > -1).sum() > 5
    row = found.loc[("tasks", "rendering", "ood")]
    assert abs(row["rank"]) > max(abs(row["within"]), abs(row["alike"])) > 0.4


def test_the_example_says_the_errors_of_the_chapter_on_tasks(decoders):
    results = shipped("beyond_tasks")
    said = [ax.get_xlabel() for ax in figures.example(results, decoders["tasks"]).axes]
    told = of_tasks.numbers(results)["beyondtasks-ood-base-vn-axes"].split(" [")[0]
    assert said[4] == f"rendering 0.98\nerror {told}"


def test_correlations_have_two_digits():
    assert [tables.signed(one) for one in (-1, -0.9951, 0.914, 1)] == [
        *("-1.0", "-1.0", "+0.91", "+1.0")
    ]
