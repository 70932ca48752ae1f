"""What the page says of the shipped results, between the numbers that it quotes from them."""

from __future__ import annotations

import json

import pytest
import xarray as xr
from glued import ends

from benchmarks.baselines.longer import once
from benchmarks.nbody.figures import in_order
from chapters.fig4_nbody import tables as fig4
from chapters.H_nbody import claims, study, tables
from vnlib.book import chapter, paths, store
from vnlib.plots.statistics import median, over_seeds


@pytest.fixture(scope="module")
def shipped() -> xr.Dataset:
    return once(store.read(paths.result_file(paths.RESULTS, "paper", "fig4_nbody")))


@pytest.fixture(scope="module")
def ablation() -> xr.Dataset:
    one = chapter.spec("H_nbody")
    return study.results(chapter.Chapter(one, one.check({"profile": "paper", "device": "cpu"})))


def going(shipped: xr.Dataset, way: str, *, relative: bool = False) -> set[str]:
    """The models of the paper that move this way as bodies drop out."""
    ways = tables.directions(shipped, relative=relative)
    return {m for m in in_order(shipped, ("vn", "printed"), mean=True) if ways.sel(model=m) == way}


def test_which_errors_fall_and_which_grow_as_bodies_drop_out(shipped):
    networks = {f"vn_{kind}_{n}" for kind in ("literal", "gated", "token") for n in (1, 3)}
    assert going(shipped, "both down") == networks - {"vn_literal_1"} | {"random"}
    assert going(shipped, "ID down") == {"vn_literal_1"}
    assert going(shipped, "ID up") == {"gnn", "transformer", "mamba", "factorized"}
    assert going(shipped, "ID up, OOD down") == {"mlp", "film"}


def test_relative_errors(shipped):
    still = {"vn_literal_1", "vn_literal_3", "vn_gated_3", "random"}
    assert going(shipped, "hardly", relative=True) == still
    assert going(shipped, "ID up, OOD down", relative=True) == {"vn_token_1", "vn_token_3"}
    assert going(shipped, "ID up", relative=True) == {*claims.SIX}


def test_no_model_lies_below_the_diagonal(shipped):
    middle = claims.plane(shipped).median("seed")
    assert not (middle["pool"] < middle["id"]).any() and not (middle["ood"] < middle["id"]).any()


def test_by_relative_errors_some_lie_below_the_diagonal(shipped):
    middle = claims.plane(shipped, relative=True).median("seed")
    below = (middle["pool"] < middle["id"]).to_series()
    assert {*below[below].index.get_level_values("model")} == {
        "linear_gated",
        "linear_tokens",
        "vn_gated_1",
        "vn_gated_3",
        "random",
        "factorized",
    }
    four = (middle["pool"] < middle["id"]).sel(model="factorized").to_series()
    assert [*four[four].index] == [4], "with four bodies"
    assert not (middle["pool"] < middle["id"]).sel(model=[*claims.SIX[:-1]]).any()


def test_in_no_reading_has_the_vector_network_the_lowest_error_on_mixtures(shipped):
    ood = claims.plane(shipped).median("seed")["ood"]
    best = ood.sel(model=list(claims.SIX)).min("model")
    assert (ood.sel(model=list(claims.READINGS.values())) > best).all()


def test_what_feedback_is_worth(ablation):
    gain = median(claims.change(ablation, claims.ZERO, claims.DEFAULT))
    assert gain.sel(model="token") < gain.sel(model="literal") < gain.sel(model="gated") < 0
    split = median(claims.change(ablation, claims.DEFAULT, "split"))
    assert split.sel(model="token") < 0 < split.sel(model="gated") < split.sel(model="literal")
    assert (median(claims.change(ablation, claims.DEFAULT, "inverted")) > 0).all()


def test_who_drifts_least(shipped):
    last = median(claims.drift(shipped).isel(step=-1))
    best = {last["model"].values[i] for i in last.argmin("model").values}
    assert best == {"factorized", "token_mlp", "rbf_tokens"}


def test_on_tokens_it_stays_near_and_factorized_nearer(shipped, ablation):
    last = claims.drift(shipped).isel(step=-1).median("panel")
    tokens, factorized = (over_seeds(last.sel(model=m)) for m in ("vn_token_3", "factorized"))
    assert float(factorized["high"]) < float(tokens["low"]) < float(tokens["high"]) < 0.1
    told = tables.numbers(shipped, ablation)
    assert told["appH-nearest-literal"] == "0 of 6", "no panel is tied either"


def test_with_fewer_bodies_the_vector_network_errs_less_but_more_of_the_power(shipped):
    moved = 10 ** claims.growth(claims.plane(shipped))["ood"]
    own, mean = (over_seeds(moved.sel(model=m)) for m in (claims.LITERAL, "random"))
    assert float(mean["high"]) < float(own["low"]) < float(own["high"]) < 1
    relative = claims.growth(claims.plane(shipped, relative=True))["ood"].sel(model=claims.LITERAL)
    spread = over_seeds(relative)
    assert float(spread["low"]) > 0 and float(spread["high"]) < claims.STILL, "no move by the rule"


def test_the_order_of_drifts_is_that_of_errors_after_one_step(shipped):
    assert float(over_seeds(tables.rank_correlations(shipped))["low"].min()) > 0.8


def test_inverted_coupling_is_worse_on_literal_input_and_on_tokens(ablation):
    worse = over_seeds(10 ** claims.change(ablation, claims.DEFAULT, "inverted"))["low"]
    better = over_seeds(10 ** claims.change(ablation, claims.ZERO, claims.DEFAULT))["high"]
    for model in ("literal", "token"):
        assert float(worse.sel(model=model)) > 2 and float(better.sel(model=model)) < 1


def test_upper_layers_idle_and_those_of_the_inverted_network_are_dead(ablation):
    first, *upper = chapter.spec("H_nbody").sidecar["models"]["literal"]["options"]["atoms"]
    one = ablation.sel(variant="inverted")
    assert (one["fact_dead"] == sum(upper)).all() and (one["fact_used"] == first).all()
    assert (one["fact_active_top"] == 0).all()
    top = ablation["fact_active_top"]
    assert upper[-1] == 64 and float(median(top.sel(variant="beta 0")).max()) < 2
    assert (median(top.sel(variant="beta 0.3")) < median(top.sel(variant="beta 0"))).all()


def test_with_the_input_that_the_paper_names_single_forces_are_not_learned(shipped, ablation):
    told = tables.numbers(shipped, ablation)
    assert told["appH-worst-fit"] == fig4.numbers(shipped)["fig4-worst-fit"], (
        "one number on two pages"
    )
    assert ends(told["appH-worst-fit"])[0] > claims.FITS
    answer = next(c for c in cells("H_nbody") if "## The answer" in c)
    assert "Not testable with the input that the paper names" in answer
    assert float(ablation["id_error"].sel(model="literal").min()) > claims.FITS, "of no variant"


def cells(name: str) -> list[str]:
    """The texts of a page."""
    found = json.loads(paths.notebook(name).read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in found if cell["cell_type"] == "markdown"]


def test_factorized_falls_behind_a_little_and_stays_far_ahead(shipped):
    early, late = (
        float(median(claims.behind(claims.drift(shipped), share)).median()) for share in (0.1, 1.0)
    )
    assert early < late < 1e-3
