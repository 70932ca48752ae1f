"""Readings of FR-1, FR-3 and FR-4 on results that are made up."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from benchmarks.readings.arrays import Arrays
from benchmarks.readings.choices import Statement, left_out, readings
from benchmarks.readings.curve import curve
from chapters.readings_positions import common, failure, low_rank, stripes

FAILS, *_ = failure.STATEMENTS
LOW_RANK = {one.id: one for one in low_rank.STATEMENTS}
CUBIC, LINEAR = stripes.LAWS


def read(statement: Statement, **options: str) -> dict:
    return {**statement.book, **options}


# --- FR-1 ---


def drawn(*, failed: int = 0, parameters: float = 307_457) -> xr.Dataset:
    """One network that errs half as much out of distribution as the zero baseline."""
    where = ["train", "id", "ood"]
    values = {"error": [0.05, 0.05, 0.5], "zero_baseline": [1.0] * 3, "hit": [1.0, 1.0, 0.2]}
    values |= {"ssim": [1.0, 1.0, 0.7], "zero_ssim": [0.5] * 3}
    made = xr.Dataset({n: ("where", v) for n, v in values.items()}, {"where": where})
    made = made.assign(failed=failed, n_parameters=parameters)
    return made.expand_dims(model=["cnn_bump"], hold_out=["square"], seed=[0, 1, 2])


@pytest.mark.parametrize(
    ("error", "factor"), [("train", 2.0), ("zero", 1.0), ("ssim", 0.5 / 0.4), ("hit", 1.6)]
)
def test_what_it_is_to_fail(error, factor):
    found = failure.fails(Arrays(drawn()), read(FAILS, error=error))
    assert float(found) == pytest.approx(np.log(factor), abs=1e-9)


def test_runs_that_draw_nothing_count_only_where_all_do():
    learned, every = (read(FAILS, runs=runs) for runs in ("learned", "all"))
    assert np.isnan(failure.fails(Arrays(drawn(failed=1)), learned))
    assert np.isfinite(failure.fails(Arrays(drawn(failed=1)), every))


def test_a_network_that_nobody_ran_is_missing():
    found = curve(FAILS, drawn())
    assert (found["missing"] == "").sum() == 2 * 3 * 4  # runs, seeds and errors of one network
    assert "the results lack the model mlp_bump" in found["missing"].values


def test_parameters_near_the_printed_count_weigh_more():
    assert FAILS.weight(Arrays(drawn()), FAILS.book) > 0.99
    assert FAILS.weight(Arrays(drawn(parameters=138_113)), FAILS.book) < 0.01


# --- FR-3 ---


def penalised(**ood: float) -> xr.Dataset:
    """Errors of the four settings at the reported point and, three times that, at the end."""
    error = xr.DataArray([ood[name] for name in low_rank.FOUR], {"model": [*low_rank.FOUR]})
    shape = {"hold_out": ["square", "large_corner"], "seed": [0, 1, 2]}
    error = error.expand_dims(shape).transpose("model", "hold_out", "seed")
    step = xr.DataArray(np.arange(1.0, 11), dims="checkpoint")
    return xr.Dataset(
        {
            "mse_ood": error,
            "curve_ood": error * 3 * step / 10,
            "curve_step": step + 0 * error,
            "hit_ood": 0 * error + 0.95,
            "mse_id": 0 * error + 0.01,
            "zero_baseline_id": 0 * error + 1,
            "zero_baseline_ood": 0 * error + 1,
        }
    )


def test_points_in_training_are_those_of_the_curve():
    r = low_rank.gathered(penalised(none=0.9, entropy=0.8, variance=0.1, both=0.06))
    both = r["ood"].sel(model="both", point=["reported", "1", "0.5", "0.1"])
    assert both.isel(seed=0, hold_out=0).values == pytest.approx([0.06, 0.18, 0.09, 0.018])


def test_composing_depends_on_the_measure():
    r = low_rank.gathered(penalised(none=0.9, entropy=0.8, variance=0.1, both=0.06))
    expected = {"mse": 0.1 / 0.06, "hit": 0.95 / 0.9}
    for name, factor in expected.items():
        found = low_rank.composes(Arrays(r), read(LOW_RANK["FR-3 composes"], measure=name))
        assert float(found) == pytest.approx(np.log(factor))


@pytest.mark.parametrize("one", low_rank.STATEMENTS, ids=lambda one: one.id)
def test_the_root_of_an_error_is_listed_as_left_out_and_not_asked(one):
    assert not any("rmse" in reading.values() for reading in readings(one))
    assert any("root of an error" in why and count for why, count in left_out(one).items())


def test_the_four_settings_are_ordered():
    r = low_rank.gathered(penalised(none=0.9, entropy=0.6, variance=0.1, both=0.05))
    expected = {"both lowest": 2, "none highest": 1.5, "variance": 3, "entropy": 4 / 3}
    for name, factor in (expected | {"fails": 1.8}).items():
        one = LOW_RANK[f"FR-3 {name}"]
        assert float(one.margin(Arrays(r), one.book)) == pytest.approx(np.log(factor)), name


def test_what_a_difference_gains_is_a_share_of_a_zero_image():
    r = low_rank.gathered(penalised(none=0.9, entropy=0.6, variance=0.2, both=0.05))
    found = low_rank.variance_helps(Arrays(r), read(LOW_RANK["FR-3 variance"], unit="absolute"))
    assert float(found) == pytest.approx(np.log(0.7 * 3))


# --- FR-4 ---


def needed(bumps: float, lines: float, *, last: float = 1.0) -> xr.Dataset:
    """Data that grow like a power of the side; last: a factor for the largest, inf for never."""
    side = np.array([12.0, 16.0, 20.0, 28.0, 40.0])
    need = np.stack([side**bumps, 30 * side**lines])
    need[0, -1] *= last
    where = {"region": ["none", "corner"], "places": ["anywhere", "pixels"]}
    where |= {"measure": ["joint", "marginal", "drawn"], "target": [0.5, 0.8], "seed": [0, 1, 2]}
    names = [f"side_{n:.0f}" for n in side]
    made = xr.DataArray(need, {"kind": ["bumps", "stripes"], "model": names}, ("kind", "model"))
    return stripes.needed(xr.Dataset({"need": made.expand_dims(where)}))


def test_exponents_are_those_of_a_power_law():
    r = Arrays(needed(3.0, 1.0))
    for law, kind, power in ((CUBIC, "bumps", 3), (LINEAR, "stripes", 1)):
        for reading in readings(law)[::7]:
            assert float(stripes.exponent(r, reading, kind)) == pytest.approx(power)
            assert float(law.margin(r, reading)) == pytest.approx(0.5)
            assert law.weight(r, reading) == pytest.approx(1)


def test_a_side_that_never_gets_there_is_left_out_or_makes_a_reading_not_testable():
    r = Arrays(needed(3.0, 1.0, last=np.inf))
    assert np.isnan(stripes.exponent(r, read(CUBIC, sides="all"), "bumps"))
    assert float(stripes.exponent(r, read(CUBIC, sides="reached"), "bumps")) == pytest.approx(3)


def test_a_law_by_construction_is_not_testable():
    r = needed(3.0, 1.0)
    alone = r.assign(need=xr.where(r["need"]["kind"] == "stripes", 2 * r["side"], r["need"]))
    assert np.isnan(LINEAR.margin(Arrays(alone), LINEAR.book))


@pytest.mark.parametrize("some", [{"need": ("model", [1.0, 2.0])}, {}])
def test_laws_need_three_sizes(some):
    few = xr.Dataset(some, {"model": ["side_12", "side_16"]})
    few = few.expand_dims(seed=[0]) if some else few
    found = curve(CUBIC, stripes.needed(few))
    assert (found["missing"] == "the results lack the models of three image sizes").all()


def fed(**values: float) -> xr.Dataset:
    """One network on two diets, all seeds alike."""
    names = ("hit", "bump_hit", "hit_x", "hit_y", "cross_share", "like_cross", "line", "mse")
    given = {f"{name}_ood": values.get(name, 0.9) for name in names} | {"zero_baseline_ood": 1.0}
    where = {"model": ["cnn"], "diet": ["stripes+0", "stripes+100", "bumps+100"], "seed": [0, 1, 2]}
    return stripes.gathered(xr.Dataset(given).expand_dims(where))


def test_what_stripes_teach_is_asked_of_the_right_diet():
    r = fed(hit_y=0.4, line=0.25, mse=0.1, bump_hit=0.2)
    places, crosses, bumps, alone = stripes.STATEMENTS
    for one, options, factor in (
        (places, {}, 0.9 / 0.8),
        (places, {"place": "marginal"}, 0.4 / 0.8),
        (crosses, {"cross": "line"}, 0.25 / 0.5),
        (bumps, {"drawn": "error"}, 0.5 / 0.1),
        (alone, {"failed": "bump_hit"}, 0.5 / 0.2),
    ):
        assert float(one.margin(Arrays(r), read(one, **options))) == pytest.approx(np.log(factor))
    with pytest.raises(KeyError, match=r"the diet stripes\+50"):
        bumps.margin(Arrays(r), read(bumps, bumps="50"))


# --- all ---


def test_the_worst_seed_speaks_against_the_statement():
    values = np.array([1.0, 2.0, 3.0])
    assert float(common.summed(values, {"seeds": "worst"}, high=True)) == 1
    assert float(common.summed(values, {"seeds": "worst"}, high=False)) == 3
