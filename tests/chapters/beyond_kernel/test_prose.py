"""What the words between the numbers of the page claim, on the shipped results."""

from __future__ import annotations

import pytest
import xarray as xr

from chapters.beyond_kernel import figures, tables
from vnlib.book import paths, store
from vnlib.plots.statistics import median, over_seeds

FAILING, COMPOSING = ["cnn", "mlp"], ["broadcast", "factorised"]


@pytest.fixture(scope="module")
def results() -> xr.Dataset:
    return store.read(paths.result_file(paths.RESULTS, "paper", "beyond_kernel"))


def middle(results: xr.Dataset, name: str, part: str, code: str = "bump") -> xr.DataArray:
    return median(figures.over_zero(results, name, part).sel(code=code))


def test_only_the_mlp_is_near_its_linearisation_in_distribution(results):
    trained, linear = middle(results, "mse", "id"), middle(results, "linear", "id")
    assert (linear.sel(model=["cnn", "broadcast", "factorised"]) > 0.5).all()
    assert linear.idxmax("model") == "factorised"
    assert linear.sel(model="mlp") < 2.5 * trained.sel(model="mlp") < 0.5
    assert trained.sel(model=["cnn", *COMPOSING]).max() < 0.1
    has = median(results["explained_linear_id"].sel(code="bump"))
    assert has.sel(model="mlp") > 0.5 > has.drop_sel(model="mlp").max()


def test_every_linearisation_fails_out_of_distribution_and_not_every_decoder(results):
    trained, linear = middle(results, "mse", "ood"), middle(results, "linear", "ood")
    assert linear.min() > 0.9
    assert trained.sel(model=FAILING).min() > 0.5 and trained.sel(model=COMPOSING).max() < 0.05
    assert tables.numbers(results)["beyondkernel-draws-bump-broadcast"] == "5 of 8"


def test_the_linearisation_does_not_tell_what_is_drawn_there(results):
    for name in ("linear", "two_factor"):
        assert median(results[f"explained_{name}_ood"].sel(code="bump")).max() < 0
    for name in ("two_factor", "truth"):
        cnn = over_seeds(results[f"explained_{name}_ood"].sel(code="bump", model="cnn"))
        assert float(cnn["high"]) < 0, name


def test_the_two_factor_kernel_explains_about_a_third_of_a_tangent_kernel_at_most(results):
    most = [results[name].sel(code="bump").max() for name in ("kernel_binary", "after_binary")]
    assert 0.3 < max(most) < 0.35 and all(
        results[n].max() < 0.35 for n in ("kernel_binary", "after_binary")
    )


def test_errors_of_linearisations_never_fall_out_of_distribution(results):
    path = median(figures.over_zero(results, "path", "ood").sel(code="bump"))
    assert path.min() > 0.9


def test_the_factorised_decoders_linearisation_is_settled(results):
    """It is at its least norm long before the last step, so that its failure is not one of steps."""
    path = median(figures.over_zero(results, "path", "train").sel(code="bump", model="factorised"))
    assert abs(float(path[-1] / path[-3]) - 1) < 0.01 and float(path[-1]) > 0.9


def test_whose_best_step_is_the_last(results):
    path = figures.over_zero(results, "path", "val").sel(code="bump")
    last = path["iteration"].where(path.notnull()).max("iteration")
    at_end = (results["steps"].sel(code="bump") == last).sum("seed")
    assert {str(m): int(at_end.sel(model=m)) for m in at_end["model"].values} == {
        "cnn": 8,
        "mlp": 0,
        "broadcast": 4,
        "factorised": 0,
    }


def test_kernels_are_sums_at_the_start_and_move(results):
    start = median(results["kernel_sum"].sel(code="bump"))
    binary = median(results["kernel_binary"].sel(code="bump"))
    assert start.min() > 0.6 and start.sel(model=FAILING).min() > 0.8 and binary.max() < 0.4
    assert median(results["kept"].sel(code="bump")).max() < 0.9
    assert median(results["moved"].sel(code="bump", model=FAILING)).min() > 0.9


def test_the_answer_is_what_intervals_say(results):
    one = results.sel(code="bump")
    ood = {n: over_seeds(figures.over_zero(one, n, "ood")) for n in ("mse", "linear")}
    low, high = (ood["linear"][end].sel(model="factorised") for end in ("low", "high"))
    assert 0.9 < float(low) < 1 < float(high), "undecided against the zero baseline"
    others = ood["linear"].drop_sel(model="factorised")
    assert float(others["low"].min()) > 1, "the others err more than the zero baseline"
    assert float(ood["mse"]["high"].sel(model="factorised")) < 1e-3
    assert float(ood["mse"]["low"].sel(model=FAILING).min()) > 0.5
    assert float(over_seeds(one["explained_linear_ood"])["high"].max()) < 0, "for any decoder"
    assert float(over_seeds(one["moved"].sel(model="cnn"))["low"]) > 1
    near = over_seeds(one["explained_linear_id"])
    assert (
        float(near["low"].sel(model="mlp")) > 0.5 > float(near["high"].drop_sel(model="mlp").max())
    )


def test_tangent_kernels_are_sums_and_not_the_papers(results):
    start = {n: over_seeds(results[f"kernel_{n}"].sel(code="bump")) for n in ("sum", "binary")}
    models = ["cnn", "factorised"]
    assert float(start["sum"]["low"].sel(model=models).min()) > 0.6
    assert float(start["binary"]["high"].sel(model=models).max()) < 0.35


def test_on_another_processor_only_the_broadcast_decoder_ends_elsewhere(results):
    tasks = store.read(paths.result_file(paths.RESULTS, "paper", "beyond_tasks"))
    there = tasks["mse_ood"].sel(task="base", model=results["model"], drop=True)
    factor = results["mse_ood"].sel(code="bump", drop=True) / there
    assert abs(factor.drop_sel(model="broadcast") - 1).max() < 0.1
    assert 2.7 < factor.sel(model="broadcast").max() < 2.8
    machines = [r["run_hardware"].sel(model="broadcast") for r in (results, tasks.sel(task="base"))]
    assert not {*machines[0].values.ravel()} & {*machines[1].values.ravel()}
