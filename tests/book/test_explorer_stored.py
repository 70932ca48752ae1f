"""What the explorers of the chapters offer is what the result files say, read and counted in another way."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import xarray as xr
from explorer_cases import told
from scipy.stats.mstats import median_cihs as interval

from benchmarks.spatial import figures_explorer as kit
from chapters.FR3_low_rank import figures_explorer
from vnlib.book import paths
from vnlib.plots import statistics


def stored(name: str) -> xr.Dataset:
    return xr.open_dataset(paths.RESULTS / "paper" / f"{name}.nc")


def views(name: str, show: str) -> list[dict[str, Any]]:
    return [one for one in told(name)["views"] if one["show"] == show]


def names(name: str, key: str) -> dict[Any, str]:
    """The values of a choice, and what they are called."""
    (one,) = (one for one in told(name)["choices"] if one["key"] == key)
    return dict(zip(one["values"], one["names"], strict=True))


def row(statistics: xr.Dataset, **at: Any) -> list[float]:
    one = statistics.sel(at)
    return [float(one[name]) for name in ("median", "low", "high", "n")]


def bump(sigma: float, grid: int) -> np.ndarray:
    """exp(-r^2 / 2 sigma^2) around every position, x fastest."""
    at = np.arange(grid)
    profile = np.exp(-((at[:, None] - at) ** 2) / (2 * sigma**2))
    return np.einsum("ai,bj->abij", profile, profile).reshape(grid**2, grid, grid)


def everywhere(name: str, stored_errors: xr.DataArray, sigma: float) -> int:
    """The target at every position is the formula, and the drawings there have the stored errors, which
    are over (model, position), or less where what is drawn beyond 0 and 1 is cut off: of how many models.
    """
    target, drawn, _, *_ = views(name, "image")
    grid = round(stored_errors.sizes["position"] ** 0.5)
    true = bump(sigma, grid)
    np.testing.assert_allclose(target["values"], true, atol=1e-6)
    drawings = stored(f"{name}.drawings")
    at = {"hold_out": "square"} if "hold_out" in drawn["values"].dims else {}
    drawings = drawings.sel(hold_out="square") if "hold_out" in drawings.dims else drawings
    (table,) = views(name, "table")
    own = table["values"][table["columns"].index("mean squared error of the drawing")]
    for model in drawings["model"].values:
        images = drawn["values"].sel(at).sel(model=model).values
        found = np.sqrt(np.square(images - true).mean((1, 2)))
        wanted = np.sqrt(stored_errors.sel(model=model).values)
        assert (found < wanted + 0.016).all() and np.median(abs(found - wanted)) < 0.01, model
        np.testing.assert_allclose(
            np.sqrt(own["median"].sel(at).sel(model=model)), wanted, atol=0.01
        )
        said = row(own, model=model, position=7, **at)
        assert said[0] == drawings["drawing_mse"].sel(model=model)[7] and np.isnan(said[3])
    return drawings.sizes["model"]


def test_positions_of_fig_2():
    ds, (left, _) = stored("fig2_spatial"), views("fig2_spatial", "map")
    _, drawn, _ = views("fig2_spatial", "image")
    (table,) = views("fig2_spatial", "table")
    ds = ds.sel(model=[one for one in ds["model"].values if not one.endswith("_longer")])
    middle = {
        model: int(np.argsort(ds["mse_ood"].sel(model=model).values)[7])  # of sixteen seeds
        for model in ds["model"].values
    }
    errors = [ds["mse"].sel(model=model)[seed] for model, seed in middle.items()]
    errors = xr.concat(errors, "model", coords="minimal", compat="override")
    assert everywhere("fig2_spatial", errors.assign_coords(model=[*middle]), 2.0) == len(middle)
    for model in ("cnn4", "vn_full", "mlp"):
        one = ds.sel(model=model)
        for place in (98, 406):
            image = drawn["values"].sel(model=model, position=place)
            kept = one["sample_image"].isel(seed=middle[model]).sel(sample=place)
            np.testing.assert_allclose(image, kept.clip(0, 1), atol=0.016)  # of both steps
            seeds = np.sort(one["mse"].values[:, place])
            assert left["values"].sel(model=model, position=place) == np.median(seeds)
            said = row(table["values"][0], model=model, position=place)
            assert said == pytest.approx([np.median(seeds), *interval(seeds), 16])
    np.testing.assert_array_equal(left["outline"].values == 1, ds["split"].values == "ood")
    assert not left["marks"] and "at the dots alone" not in told("fig2_spatial")["note"]
    place = int(np.flatnonzero((ds["position_x"] == 10) & (ds["position_y"] == 18))[0])
    assert names("fig2_spatial", "position")[place] == "(10, 18), held out"
    assert names("fig2_spatial", "left")["cnn4"] == "CNN, 4 blocks"


def test_positions_of_fr_fig_1():
    ds, (left, _) = stored("FR1_failure").sel(hold_out="square"), views("FR1_failure", "map")
    _, drawn, _ = views("FR1_failure", "image")
    errors = ds["mse"].sel(seed=0)
    assert everywhere("FR1_failure", errors, 1.0) >= 9
    kept = ds["shown_image"].isel(seed=0)
    made = stored("FR1_failure.drawings")["model"].values
    others = [model for model in ds["model"].values if model not in made]
    for model in others:
        image = drawn["values"].sel(model=model, position=575)
        np.testing.assert_array_equal(image, kept.sel(model=model, panel="output", sample=575))
        assert drawn["values"].sel(model=model, position=7).isnull().all()
    for model in ("cnn_bump", "factorised"):
        seeds = ds["mse"].sel(model=model).values[:, 575]
        np.testing.assert_allclose(
            left["values"].sel(model=model, position=575), np.nanmedian(seeds), rtol=1e-6
        )
    assert left["outline"].sum() == (ds["held_out"].isel(model=3, seed=0) == 1).sum() > 200
    assert (575 in left["marks"]) is bool(others)
    few = "Of other models they are stored at the dots alone."
    assert (few in told("FR1_failure")["note"]) is bool(others)


@pytest.mark.parametrize("name", ["fig2_spatial", "FR1_failure", "FR3_low_rank"])
def test_a_caption_says_what_a_reader_needs_and_the_page_the_rest(name):
    note, page = told(name)["note"], paths.notebook(name).read_text(encoding="utf-8")
    assert len(note) < 620, "five lines, and one for the hand"
    assert "trained again" in note and not any(
        label in note for label in stored(name)["label"].values[3:]
    )
    (said,) = re.findall(r"- \*\*Drawings to explore\*\*.+?(?=\\n\",\n +\"- )", page, re.DOTALL)
    assert f"steps of {kit.SHOWN} and cut at 0 and 1" in said and f"within {kit.CLOSE}" in said


def test_which_networks_of_fr_fig_3_err_otherwise_when_trained_again():
    ds, drawings = stored("FR3_low_rank"), stored("FR3_low_rank.drawings")
    found, note = kit.apart(ds, drawings), told("FR3_low_rank")["note"]
    differ = sum(most >= kit.CLOSE for most in found.values())
    assert 0 < differ < len(found) == ds.sizes["model"]
    assert all("NVIDIA" in one for one in ds["run_hardware"].sel(seed=0, hold_out="square").values)
    assert "NVIDIA" not in drawings.attrs["hardware"]
    assert f"had, errors of {differ} of {ds.sizes['model']} models differ, by up to " in note
    assert f" {statistics.short(max(found.values()))} r.m.s.: the table has both." in note


@pytest.mark.parametrize("name", ["fig2_spatial", "FR1_failure"])
def test_the_first_view_shows_what_the_caption_says_is_found(name):
    note, (left, right) = told(name)["note"], views(name, "map")
    assert "far more than outside it" in note and "nearly alike" in note
    first = {one["key"]: one["first"] for one in told(name)["choices"]}
    held = left["outline"].values == 1
    for view, (least, most) in ((left, (100, 1000)), (right, (1, 3))):
        key = view["by"]["model"]
        model = [*names(name, key)][first[key]]
        errors = view["values"].sel(model=model).values
        assert least < np.median(errors[held]) / np.median(errors[~held]) < most


@pytest.mark.parametrize("name", ["fig2_spatial", "FR1_failure"])
def test_a_network_that_errs_elsewhere_than_the_stored_one_is_not_shown(name):
    ds, drawings = stored(name).load(), stored(f"{name}.drawings").load()
    if "hold_out" in ds.dims:
        ds, drawings = ds.sel(hold_out="square"), drawings.sel(hold_out="square")
    assert kit.again(ds, drawings) == drawings["model"].values.tolist()
    one = drawings["model"].values[2]
    drawings["drawing_mse"].loc[{"model": one, "position": 300}] += 0.01
    assert kit.again(ds, drawings) == [m for m in drawings["model"].values if m != one]
    assert kit.again(ds, None) == []


def test_networks_that_err_elsewhere_are_shown_with_their_errors_where_that_is_said():
    ds = stored("FR3_low_rank").load()
    drawings = stored("FR3_low_rank.drawings").load().sel(model=["factorised"])
    other = drawings.assign_coords(model=["none"])
    drawings = xr.concat([drawings, other], "model")
    mse = ds["mse"].sel(model="none", seed=0, hold_out="square")
    drawings["drawing_mse"].loc[{"model": "none"}] = (np.sqrt(mse) + 0.05) ** 2
    assert kit.again(ds, drawings) == ["factorised"]
    assert kit.apart(ds, drawings)["none"] == pytest.approx(0.05, abs=1e-6)
    found = figures_explorer.explorer(ds, drawings)
    said = (
        f"had, errors of 1 of {ds.sizes['model']} models differ, by up to 0.050 r.m.s.: the table"
    )
    assert said in found["note"]
    assert (
        "With the corner held out and of other models they are stored at the dots alone."
        in (found["note"])
    )
    assert found["note"] != told("FR3_low_rank")["note"]
    (table,) = (one for one in found["views"] if one["show"] == "table")
    columns = dict(zip(table["columns"], table["values"], strict=True))
    at = {"model": "none", "hold_out": "square", "position": 7}
    own, first = columns["mean squared error of the drawing"], columns["mean squared error there"]
    assert row(first, **at)[0] == pytest.approx(float(mse[7]))
    assert row(own, **at)[0] == pytest.approx((float(mse[7]) ** 0.5 + 0.05) ** 2)
    image = next(one for one in found["views"] if one["title"] == "drawn by {right}")["values"]
    assert image.sel(at).notnull().all()


def test_the_weight_of_a_penalty_in_fr_fig_3():
    ds = stored("FR3_low_rank")
    weights = {model: float(text) for model, text in names("FR3_low_rank", "left").items()}
    assert weights == {"none": 0, "variance_low": 0.001, "variance": 0.01, "variance_high": 0.1}
    target, drawn, _, x, _, y, _ = views("FR3_low_rank", "image")
    np.testing.assert_allclose(target["values"], bump(1.5, 32), atol=1e-6)
    at = {"model": "variance_low", "hold_out": "square"}
    one = ds.sel(at).isel(seed=0)
    made = stored("FR3_low_rank.drawings")["model"].values.tolist()
    assert set(kit.apart(ds, stored("FR3_low_rank.drawings"))) == set(made) >= {"factorised"}
    for model in ds["model"].values:
        images, few = (
            drawn["values"].sel(model=model, hold_out=region)
            for region in ("square", "large_corner")
        )
        assert images.notnull().all() if model in made else images.sel(position=7).isnull().all()
        assert few.sel(position=7).isnull().all()
        kept = ds["sample_image"].sel(model=model, hold_out="large_corner", sample=132)[0]
        np.testing.assert_array_equal(few.sel(position=132), kept.astype("float32"))
    whole = drawn["values"].sel(model="factorised", hold_out="square")
    np.testing.assert_allclose(whole, bump(1.5, 32), atol=0.016)
    for view, axis, places in ((x, "x", [4, 4, 0]), (y, "y", [4, 0, 4])):
        map_ = one["embedding"].sel(axis=axis, token_shown=4).values
        found = view["values"].sel(at).sel(token=4)
        np.testing.assert_allclose(found, map_ / np.abs(map_).max(), rtol=1e-6)
        key, tokens = view["by"]["token"]  # of positions (4, 4), (4, 0) and (0, 4)
        assert key == "position" and [tokens[n] for n in (132, 4, 128)] == places
        assert view["values"]["token"].values.tolist() == [4, 14, 23]
    (table,) = views("FR3_low_rank", "table")
    left = ds.sel(model="variance", hold_out="square")
    assert float(left["mse_id"].max() / left["zero_baseline_id"].max()) < 0.5, "all have learned"
    shares = np.sort((left["mse_ood"] / left["zero_baseline_ood"]).values)
    said = row(table["values"][1], model="variance", hold_out="square")
    np.testing.assert_allclose(said, [np.median(shares), *interval(shares), 8])


def test_the_number_of_bumps_in_fr_fig_4():
    ds, (bump, cross, stripes, bumps) = stored("FR4_stripes"), views("FR4_stripes", "image")
    at = {"sample": "20, 18"}
    pictures = ds["picture"].isel(seed=0).sel(at)
    assert list(names("FR4_stripes", "amount").values()) == ["0", "25", "50", "100", "all"]
    for view, diet in ((stripes, "stripes+25"), (bumps, "bumps+25")):
        amount = diet.split("+")[1]
        dark = view["values"].sel(at).sel(model="cnn", amount=amount)
        np.testing.assert_allclose(dark, 1 - pictures.sel(model="cnn", diet=diet), atol=1e-6)
        bright = view["values"].sel(at).sel(model="vn_joint", amount=amount)
        np.testing.assert_array_equal(bright, pictures.sel(model="vn_joint", diet=diet))
    assert bumps["values"].sel(amount="0").isnull().all(), "nobody is trained on nothing"
    for view, kind in ((stripes, "stripes"), (bumps, "bumps")):
        for amount in ("25", "50", "100", "all"):
            own = ds.sel(diet=f"{kind}+{amount}", model=view["values"]["model"])
            drawn = view["values"].sel(amount=amount).notnull().all(("sample", "v", "u"))
            trained = own["mse_ood"].notnull().any("seed")
            np.testing.assert_array_equal(drawn, trained)
            assert (
                trained.all()
                or "not trained" in view["missing"]
                or "other numbers" in view["missing"]
            )
    one, form = bump["values"].sel(at), cross["values"].sel(at)
    assert one.values[18, 20] == 1 and one.values[19, 21] == pytest.approx(np.exp(-1))
    assert form.values[18, 20] == 2 and form.values[18, 0] == pytest.approx(1)
    first, second = views("FR4_stripes", "table")
    for table, diet in ((first, "stripes+100"), (second, "bumps+100")):
        for number, name in enumerate(("hit_ood", "bump_hit_ood", "cross_share_ood", "mse_ood")):
            values = ds[name].sel(model="cnn", diet=diet).dropna("seed").values
            said = row(table["values"][number], model="cnn", amount="100")
            assert said[0] == np.median(values) and said[3] == len(values) == 5


def test_the_angle_in_fr_fig_9():
    ds, (true, drawn, _, low, high) = stored("FR5_rotation"), views("FR5_rotation", "image")
    one, at = ds.isel(seed=0), {"digit": 4, "shown": 180.0}
    image = drawn["values"].sel(model="cnn_8", **at)
    np.testing.assert_array_equal(image, one["drawn_image"].sel(model="cnn_8", **at))
    np.testing.assert_array_equal(
        true["values"].sel(at), one["true_image"].sel(model="cnn_4", **at)
    )
    for view, end in ((low, "low"), (high, "high")):
        wanted = one["end_image"].sel(model="cnn", digit=4, end=end)
        np.testing.assert_array_equal(view["values"].sel(digit=4), wanted)
    there = drawn["values"].notnull().all(("shown", "y", "x"))
    others = there.sel(digit=[digit for digit in there["digit"].values if digit != 4])
    assert there.sel(digit=4).all() and others.sel(model=["cnn", "cnn_4"]).all()
    assert not others.sel(model=["cnn_8", "mlp"]).any() and "digit 4 alone" in drawn["missing"]
    (curve,), (table,) = views("FR5_rotation", "curve"), views("FR5_rotation", "table")
    errors = np.sort(ds["error_model"].sel(model="cnn", digit=4, angle=180.0).values)
    wanted = [np.median(errors), *interval(errors), 8]
    np.testing.assert_allclose(row(table["values"][0], model="cnn", **at), wanted, rtol=1e-6)
    line = curve["series"][2]["values"]
    np.testing.assert_allclose(row(line, model="cnn", digit=4, angle=180.0), wanted, rtol=1e-6)
    zero = curve["series"][1]["values"].sel(digit=4, angle=10.0)
    assert zero == ds["error_zero_baseline"].sel(model="cnn", digit=4, angle=10.0)[0]


def test_fig_3_starts_with_a_signal_whose_hidden_part_is_no_zero():
    ds, choices = stored("fig3_functions"), told("fig3_functions")["choices"]
    (choice,) = (one for one in choices if one["key"] == "example")
    truth = ds.isel(seed=0).sel(model="vn_1")["truth"].transpose("example", "time").values
    power = np.mean(truth[:, ds["time"].values >= 0.75] ** 2, axis=1)
    assert power[choice["first"]] == power.max() > 10 * np.quantile(power, 0.25)


def test_signals_of_fig_3():
    ds, (curve,) = stored("fig3_functions"), views("fig3_functions", "curve")
    example, (signal, left, _) = "exp*sin+gauss 8", curve["series"]
    one = ds.isel(seed=0).sel(model="vn_1", example=example)
    np.testing.assert_array_equal(signal["values"].sel(example=example), one["truth"])
    kinds = {"whole": one["drawn"]} | {
        protocol: one["filled"].sel(protocol=protocol) for protocol in ("zero_filled", "mask_aware")
    }
    (table,) = views("fig3_functions", "table")
    on_this, on_all = table["values"]
    for given, wanted in kinds.items():
        line = left["values"].sel(model="vn_1", example=example, given=given)
        np.testing.assert_array_equal(line, wanted)
        whole = given == "whole"
        mask = {} if whole else {"mask": "forecast_25", "protocol": given}
        every = ds["mse" if whole else "hidden"].sel(model="vn_1", set="hard", **mask).values
        single = ds["error_hard" if whole else "hidden_hard"].sel(model="vn_1", case=8, **mask)
        assert row(on_all, model="vn_1", given=given)[0] == np.median(every)
        said = row(on_this, model="vn_1", given=given, example=example)
        assert said[0] == pytest.approx(float(single[0]))
    # What is drawn is what the errors are of.
    tail = ds["time"].values >= 0.75
    error = np.mean((kinds["mask_aware"] - one["truth"]).values[tail] ** 2)
    assert row(on_this, model="vn_1", given="mask_aware", example=example)[0] == pytest.approx(
        error, rel=0.1
    )


def test_bodies_of_appendix_h():
    ds, (true, path, _) = stored("fig4_nbody"), views("H_nbody", "paths")
    at = {"scene": "spring+drag", "start": 3}
    wanted = ds["path"].isel(seed=0, start=3).sel(model="gnn", scene="spring+drag")
    np.testing.assert_array_equal(path["values"].sel(at).sel(model="gnn"), wanted)
    begun = ds["path"].isel(seed=0, step=0).sel(scene=true["values"]["scene"], model="gnn")
    np.testing.assert_allclose(true["values"].isel(step=0), begun, atol=0.01)
    ends = ((wanted - true["values"].sel(at)) ** 2).sum("axis").mean("body")
    (curve,), (table,) = views("H_nbody", "curve"), views("H_nbody", "table")
    drift = curve["series"][0]["values"].sel(at).sel(model="gnn")
    np.testing.assert_allclose(drift.values[5:], ends.values[5:], rtol=0.1, atol=0.01)
    last = ds["drift"].sel(model="gnn", panel="spring+drag").isel(step=-1).values
    middle = np.sort(np.median(np.where(np.isnan(last), np.inf, last), 1))
    said = row(table["values"][0], model="gnn", scene="spring+drag")
    # Between the first two of eight in order (Hettmansperger and Sheather 1986).
    inner = 7 * 0.675 / (1 + 6 * 0.675)  # 0.675: (254 - 0.95 * 256) / (254 - 238)
    low, high = ((1 - inner) * middle[i] + inner * middle[j] for i, j in ((0, 1), (7, 6)))
    np.testing.assert_allclose(said, [middle[3:5].mean(), low, high, 8], rtol=1e-6)


def test_supports_of_appendix_e():
    ds, (pairs, common) = stored("E_theory"), views("E_theory", "cells")
    for number, name in names("E_theory", "cell").items():
        mu, count = ds["coherence"].values[number % 8], ds["active"].values[number // 8]
        assert name == f"coherence {mu:.3g}, {count} planted"
        covered = count < ds["bound"].sel(family="pairs", coherence=mu)[0]
        assert bool(pairs["outline"].sel(cell=number)) is bool(covered)
        for view, family in ((pairs, "pairs"), (common, "common")):
            at = {"family": family, "coherence": mu, "active": count}
            found = view["values"].sel(cell=number)
            assert found.sel(rule="exact") == ds["recovered"].sel(at).sel(rule="exact").median()


def test_the_race_of_appendix_c():
    ds, (curve,) = stored("C_inference"), views("C_inference", "curve")
    at = {"depth": 3, "beta": 0.1, "schedule": "staggered", "solver": "fista", "sweep": 94}
    heights = np.sort(ds["height"].sel(at).values)
    wanted = [heights[2], heights[0], heights[4], 5]
    assert row(curve["series"][-1]["values"], **at) == wanted
    (table,) = views("C_inference", "table")
    assert row(table["values"][0], **at) == wanted
    del at["schedule"]
    active = np.median(ds["active"].sel(at).sel(layer=1).values)
    assert row(table["values"][1], **at)[0] == active
    assert names("C_inference", "sweep")[1000] == "1,000"
