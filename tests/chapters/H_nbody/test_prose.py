"""What the page says of the shipped results, between the numbers that it quotes from them."""

from __future__ import annotations

import json

import pytest
import xarray as xr

from benchmarks.baselines.longer import once
from benchmarks.nbody.figures import in_order
from chapters.fig4_nbody import tables as fig4
from chapters.H_nbody import claims, study, tables
from vnlib.book import chapter, paths, store
from vnlib.plots.statistics import median, over_seeds

MIXTURES = ["gravity+lorentz", "spring+drag", "gravity+spring+drag+lorentz"]


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
    assert going(shipped, "both down") == networks | {"random"}
    assert going(shipped, "ID up") == {"gnn", "transformer", "mamba", "factorized"}
    assert going(shipped, "ID up, OOD down") == {"mlp", "film"}
    moved = over_seeds(10 ** claims.growth(claims.plane(shipped))["ood"].sel(model=[*claims.SIX]))
    assert (moved["high"] < 1).to_series().to_dict() == {m: m != "factorized" for m in claims.SIX}
    assert moved["low"].sel(model="factorized") > 1


def test_relative_errors(shipped):
    still = {"vn_literal_1", "vn_literal_3", "vn_gated_3", "random"}
    assert going(shipped, "hardly", relative=True) == still
    assert going(shipped, "ID up, OOD down", relative=True) == {"vn_token_1", "vn_token_3"}
    assert going(shipped, "ID up", relative=True) == {*claims.SIX}
    assert going(shipped, "both down", relative=True) == {"vn_gated_1"}


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
    assert told["appH-nearest-literal-panels"] == "none of the 6"


def test_fewer_than_two_atoms_of_the_top_layer_are_active_and_fewer_with_feedback(
    shipped, ablation
):
    told = tables.numbers(shipped, ablation)
    for reading in ("literal", "gated", "token"):
        none, most = (
            float(told[f"appH-top-{key}-{reading}"].split()[0]) for key in ("none", "most")
        )
        assert most < none < 2


def test_six_models_end_near_the_truth_on_all_mixtures(shipped):
    last = (
        shipped["drift"]
        .sel(panel=MIXTURES)
        .isel(step=-1)
        .median("start")
        .median("seed")
        .max("panel")
    )
    near = {str(m) for m in last["model"].values[(last < 0.1).values]}
    assert near == {
        "factorized",
        "factorized_dense",
        "token_mlp",
        "rbf_tokens",
        "vn_token_1",
        "vn_token_3",
    }


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
    inverted = over_seeds(10 ** claims.change(ablation, claims.DEFAULT, "inverted"))
    worse = inverted["low"]
    assert (inverted["median"].sel(model=["literal", "token"]) > 10).all(), "more than tenfold"
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
    fit = fig4.fits(shipped).sel(model=claims.LITERAL)
    assert float(over_seeds(fit)["low"]) > claims.FITS
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


def test_captions_of_dropped_bodies(shipped):
    moved = {
        relative: median(10 ** claims.growth(claims.plane(shipped, relative=relative)))
        for relative in (False, True)
    }
    six, networks = list(claims.SIX), [m for m in shipped["model"].values if m.startswith("vn_")]
    absolute = moved[False].sel(model=six)
    assert (absolute["id"] > 1).all() and (absolute["id"] > 5).sum() == 4, "most many times"
    assert {m for m in six if absolute["ood"].sel(model=m) > 1} == {"factorized"}
    relative = moved[True]["id"].sel(model=six)
    assert float(relative.min()) == pytest.approx(4.8, abs=0.05)
    assert float(relative.max()) == pytest.approx(250, abs=5)
    for axis in ("id", "ood"):
        own = moved[True][axis].sel(model=networks)
        assert own.min() > 0.5 and own.max() < 1.75
        assert (moved[False][axis].sel(model=networks) < 1).all()


def test_captions_of_feedback(ablation):
    inside, outside = ablation["id_error"], ablation["ood_error"]
    assert float(median(inside.sel(model="literal")).min()) > 0.25
    literal = median(outside.sel(model="literal")).to_series()
    fed = outside.sel(model="literal", variant=["beta 0.05", "beta 0.1"])
    less = median(fed / outside.sel(model="literal", variant="beta 0", drop=True))
    assert less.min() > 0.75 and less.max() < 0.85, "by a fifth"
    assert {*literal[literal > 1].index} == {"split", "inverted"}
    gated = median(
        outside.sel(model="gated") / outside.sel(model="gated", variant="beta 0.02", drop=True)
    )
    raised = gated.sel(variant=["split", "inverted"])
    assert (raised > 1.1).all() and raised.max() < 1.36, "by up to a third"
    for error in (inside, outside):
        one = error.sel(model="token")
        none, default = (one.sel(variant=v, drop=True) for v in ("beta 0", "beta 0.02"))
        less = median(one.sel(variant=["beta 0.05", "beta 0.1"]) / none)
        assert less.min() > 0.55 and less.max() < 0.65, "three fifths"
        assert float(median(one.sel(variant="inverted", drop=True) / default)) > 10


def test_what_split_and_inverted_coupling_do_depends_on_the_length_of_training(ablation):
    def factor(name: str, model: str, variant: str) -> float:
        one = ablation[name].sel(model=model)
        default = one.sel(variant="beta 0.02", drop=True)
        return float(median(one.sel(variant=variant, drop=True) / default))

    for model, variant, low, high in (
        ("literal", "split", 2, 6),
        ("literal", "inverted", 0, 0.2),
        ("token", "inverted", 0.8, 1.25),
    ):
        change = factor("longer_ood_error", model, variant) / factor("ood_error", model, variant)
        assert low < change < high, (model, variant)
    assert f"{factor('longer_ood_error', 'literal', 'inverted'):.2g}" == "1.7"


def test_captions_of_rollouts(shipped):
    followed = median(claims.drift(shipped)).sel(panel=MIXTURES)
    drawn = ["vn_token_3", "vn_gated_3", "vn_literal_3", *claims.SIX, "random"]
    most = followed.max("step").sel(model=drawn) < 0.1
    assert {m for m in drawn if most.sel(model=m).all()} == {"vn_token_3", "factorized"}
    assert most.sel(model="vn_gated_3").values.tolist() == [False, False, True]
    others = [m for m in drawn if m not in ("vn_token_3", "factorized", "vn_gated_3")]
    assert not most.sel(model=others).any()
    last = followed.isel(step=-1)
    near = {m for m in last["model"].values if (last.sel(model=m) < 0.1).all()}
    tokens = {"vn_token_1", "vn_token_3", "token_mlp", "rbf_tokens"}
    assert near == tokens | {"factorized", "factorized_dense"}
    far = [m for m in last["model"].values if m not in near]
    assert float(last.sel(model=far, panel="gravity+lorentz").min()) > 1.6


def test_caption_of_energy(shipped):
    off = abs(shipped["energy"] - shipped["energy_true"]).isel(step=-1)
    off = median(off.median("start"))
    mixture = off.sel(panel="gravity+lorentz")
    drawn = ["vn_token_3", "vn_gated_3", "vn_literal_3", *claims.SIX, "random"]
    assert {m for m in drawn if mixture.sel(model=m) < 0.105} == {"vn_token_3", "factorized"}
    others = mixture.sel(model=[m for m in drawn if m not in ("vn_token_3", "factorized")])
    assert others.min() > 10 * mixture.sel(model="vn_token_3"), "a decade or more above"
    for panel in ("gravity", "gravity+lorentz"):
        one = off.sel(panel=panel)
        for model in ("vn_gated_3", "vn_literal_3"):
            assert one.sel(model=model) > one.sel(model="random")
