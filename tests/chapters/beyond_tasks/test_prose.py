"""What the words between the numbers of the page claim, on the shipped results."""

from __future__ import annotations

import pandas as pd
import pytest

from chapters.beyond_tasks import figures, study, tables
from vnlib.book import chapter, paths, store
from vnlib.plots.statistics import median, over_seeds

TOLD = ["vn_axes", "vn_axes_8", "factorised", "factorised_8", "ridge_profiles"]
SHAPES = ["shape_ring", "shape_cross", "shape_corner", "shape_oriented"]


@pytest.fixture(scope="module")
def results():
    return store.read(paths.result_file(paths.RESULTS, "paper", "beyond_tasks"))


@pytest.fixture(scope="module")
def ood(results) -> pd.DataFrame:
    """OOD errors over the zero baseline's, tasks by decoders, medians over seeds."""
    return median(figures.over_zero(results, "ood")).transpose("task", "model").to_pandas()


@pytest.fixture(scope="module")
def inside(results) -> pd.DataFrame:
    return median(figures.over_zero(results, "id")).transpose("task", "model").to_pandas()


def test_conditioning_decides_who_of_the_two_is_ahead(ood, results):
    condition = results["condition"].max(["model", "seed"]).sel(task=list(tables.WIDE))
    assert condition.values.tolist() == sorted(condition.values.tolist())
    narrow, base, wide = (ood.loc[task] for task in tables.WIDE)
    for model in ("vn_axes", "factorised"):
        assert max(narrow[model], base[model]) < 0.1 * wide[model]
    ahead = figures.over_zero(results, "ood").sel(task=list(tables.WIDE))
    ahead = (ahead.sel(model="factorised") < ahead.sel(model="vn_axes")).sum("seed").values
    seeds = results.sizes["seed"]
    assert 0 < ahead[1] < seeds and ahead[0] == seeds - 1 and ahead[2] == seeds


def test_coordinates_never_seen_defeat_product_decoders(ood, results):
    held = ood.loc["place_coordinates"]
    assert held[["vn_axes", "factorised"]].min() > 0.9 * held["cnn"]
    over = figures.over_zero(results, "ood").sel(task="place_coordinates")
    ratio = over_seeds(over.sel(model=["vn_axes", "factorised"]) / over.sel(model="cnn"))
    assert (ratio["low"] < 1).all() and (ratio["high"] > 1).all(), "undecided within seeds"


def test_of_fitted_decoders_ridge_on_profiles_errs_least_at_coordinates_never_seen(ood):
    held = ood.loc["place_coordinates"].drop("outer").dropna().sort_values()
    assert held.index[:2].tolist() == ["ridge_profiles", "broadcast"]


def test_readers_of_halves_err_far_less_on_plain_bumps_than_elsewhere(ood):
    fitted = ["vn_axes", "factorised", "ridge_profiles"]
    mixed = ["code_rotated", "code_entangled"]
    hard = [*SHAPES, *mixed, "place_coordinates"]
    plain = [task for task in figures.TASKS if task not in hard]
    assert (ood.loc[plain, fitted].max() < 0.06).all()
    assert (ood.loc[plain, fitted].median() < 0.01 * ood.loc[hard, fitted].min()).all()


def test_of_the_second_grid_the_coordinate_mlp_errs_least_on_all_tasks_but_one(ood):
    others = ood.loc[list(figures.TASKS)].drop(columns=[*figures.FIRST, "pixel_transformer"])
    assert others.shape[1] == 7 and (others.idxmin(axis=1) == "coordinate_mlp").sum() == 14


def test_errors_rise_with_the_share_held_out_and_of_three_with_the_condition_number(ood):
    shares, widths = (ood.loc[list(which)] for which in (figures.SHARES, figures.WIDTHS))
    assert (shares[list(figures.COMPARED)].diff().iloc[1:] > 0).all(axis=None)
    rise = widths.iloc[2] / widths.iloc[0]
    others = [m for m in figures.COMPARED if m not in ("vn_axes", "vn_axes_8", "factorised")]
    assert rise[["vn_axes", "vn_axes_8", "factorised"]].min() > 100 > 2 > rise[others].max()


def test_who_does_not_draw_held_out_bumps_draws_others_badly_too(results):
    found = {
        part: figures.over_zero(results, part).sel(task="base", model="broadcast")
        for part in ("id", "ood")
    }
    failing = found["ood"] > tables.DRAWS
    assert 0 < failing.sum() < results.sizes["seed"]
    assert found["id"].where(failing).min() > 0.15 > 5 * found["id"].where(~failing).max()
    assert found["id"].max() < 0.5, "and yet had learned to draw"
    longer = figures.over_zero(results, "ood").sel(task="base_longer", model="broadcast")
    assert (longer < tables.DRAWS).sum() == 8


def test_shapes_are_sums_of_two_or_three_products(results):
    terms = results["target_terms"].sel(task=SHAPES)
    assert {*terms.values[terms.notnull().values].tolist()} == {2.0, 3.0}


def test_who_needs_no_halves(ood):
    turned, tangled = ood.loc["code_rotated"], ood.loc["code_entangled"]
    assert turned["vn_full"] < tables.COMPOSES < turned["broadcast"] < 2 * tables.COMPOSES
    assert turned[[*TOLD, "outer"]].min() > 0.1
    assert tangled.min() > 0.1, "nothing composes an entangled code"


def test_rank_decides_on_shapes(ood, inside):
    rank_one = ["vn_axes", "vn_full", "factorised", "ridge_profiles", "outer"]
    for error in (ood, inside):
        assert error.loc["shape_ring", rank_one].min() > 0.1
    closed = ["outer", "ridge_profiles", "ridge_affine", "ridge_pairs"]
    assert ood.loc["shape_ring", closed].min() > 0.1
    assert ood.loc[SHAPES, ["vn_axes_8", "factorised_8"]].to_numpy().max() < tables.COMPOSES
    assert ood.loc[SHAPES, "broadcast"].max() < 0.1 < ood.loc[SHAPES, "cnn"].min()
    assert ood.loc["base", "vn_axes"] < ood.loc["base", "vn_axes_8"]


def test_ridge_on_profiles_errs_least_on_narrow_codes(ood):
    trained = [model for model in ood.columns if model not in ("outer", "ridge_profiles")]
    for task in ("sigma_code_half", "base"):
        assert ood.loc[task, "ridge_profiles"] < ood.loc[task, trained].min()
    assert ood.loc["base", "outer"] < 1e-12 and ood.loc["sigma_code_double", "outer"] > 1


def test_the_full_vn_is_behind_on_plain_codes(ood):
    assert ood.loc["base", "vn_full"] > ood.loc["base", TOLD].max()
    assert ood.loc["code_rotated", "vn_full"] < ood.loc["code_rotated", TOLD].min()


def test_the_sign_makes_the_difference_of_the_full_vn(ood, tmp_path):
    linear = store.read(paths.result_file(paths.RESULTS, "paper", "beyond_representation"))
    there = float(linear["error_unseen"].sel(model="s_vn_full").median())
    assert there < 0.001 and 300 < ood.loc["base", "vn_full"] / there < 1000, "several hundred"
    paper = chapter.Chapter(one := chapter.spec("beyond_tasks"), one.check({"profile": "paper"}))
    signs = {}
    for task in figures.TASKS:
        given = study.settings(paper, {"task": task, "model": "vn_full", "seed": 0})
        signs[task] = given["training"]["options"]["nonnegative"]
    either = {task for task, one in signs.items() if not one}
    assert either == {"code_fourier", "code_rotated", "code_entangled"}
    # Trained again, with nothing but the sign changed.
    given = study.settings(paper, {"task": "base", "model": "vn_full", "seed": 0})
    errors = []
    for options in ({}, {"nonnegative": False}):
        training = given["training"] | {"options": given["training"]["options"] | options}
        found = study.run(
            paper, {"seed": 0}, given | {"training": training}, tmp_path / str(len(errors))
        )
        errors.append(float(figures.over_zero(found, "ood")))
    assert errors[1] < 0.001 and errors[0] > 0.05


def test_the_size_of_the_hold_out(ood):
    large, base = ood.loc["share_60"], ood.loc["base"]
    assert large["vn_axes"] < tables.COMPOSES and base["broadcast"] < 0.02
    assert large["broadcast"] > 0.1 and ood.loc[["share_05", "base", "share_60"], "cnn"].min() > 0.1


def test_what_fails_everywhere(results):
    count = tables.composing(results).sum("task")
    failing = ["cnn", "mlp", "vn_flat", "additive", "ridge_affine", "ridge_pairs", "coordconv"]
    assert not count.sel(model=failing).any()


def test_decoders_with_coordinates_had_not_settled(results):
    gain = results["late_gain"].sel(model=["broadcast", "coordinate_mlp"])
    assert 0.02 < float(gain.median()) < 0.1


def test_some_seeds_of_the_broadcast_decoder_fail_and_others_do_not(results):
    over = figures.over_zero(results, "ood").sel(model="broadcast")
    for task in ("base", "code_rotated", "shape_ring"):
        drawn = (over.sel(task=task).dropna("seed") < tables.DRAWS).mean()
        assert 0.5 < float(drawn) < 1, task


def test_the_pixel_transformer_composes_in_part_and_had_not_settled(results):
    one = results.sel(task="base_longer", model="pixel_transformer")
    over = figures.over_zero(one, "ood")
    assert over.sizes["seed"] == int(over.notnull().sum()) == 8
    told = over_seeds(over)
    assert float(told["low"]) > tables.COMPOSES and float(told["high"]) < 0.5
    assert float(told["low"]) < tables.DRAWS < float(told["high"])
    assert not tables.settled(results).sel(task="base_longer", model="pixel_transformer").any()


def test_four_times_the_updates_change_one_conclusion(results):
    long = [name for name in figures.LONGER if name in results["task"].values]
    before = median(figures.over_zero(results, "ood").sel(task=[figures.LONGER[n] for n in long]))
    after = median(figures.over_zero(results, "ood").sel(task=long))
    crossed = (before.values < tables.COMPOSES) != (after.values < tables.COMPOSES)
    crossed &= after.notnull().values
    (at,) = zip(*crossed.nonzero(), strict=True)
    task, model = (before[dim].values[i] for dim, i in zip(before.dims, at, strict=True))
    assert (len(long), task, model) == (3, "code_rotated", "broadcast")
    failing = after.sel(model=["cnn", "coordconv", "mlp", "vn_flat", "additive"])
    assert failing.min() > 0.2, "none is near to composing"
    done = tables.settled(results).sel(task=long)
    count = done.sum("seed").transpose("task", "model").to_pandas()
    many = ["broadcast", "coordinate_mlp", "vn_axes_8", "factorised_8", "vn_full"]
    assert (count[many].sum() < 0.6 * 3 * 8).all(), "many had not settled"
    crossing = over_seeds(figures.over_zero(results, "ood").sel(task=long))
    crossing = crossing.sel(task="code_rotated_longer", model="broadcast")
    assert float(crossing["low"]) < tables.COMPOSES < float(crossing["high"])
    ratio = median(figures.over_zero(results, "ood").sel(task=long)) / before.values
    assert ratio.sel(model=["cnn", "coordconv", "mlp", "vn_flat", "additive"]).min() > 0.5
