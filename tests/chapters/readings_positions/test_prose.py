"""What the page's sentences claim of the shipped results, beside the numbers in them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from benchmarks.readings.arrays import Arrays
from benchmarks.readings.choices import readings
from benchmarks.readings.curve import curve, deciding, falls_apart, shares
from chapters.readings_positions import composition, failure, low_rank, stripes
from vnlib.book import paths, store

PAPER = paths.ROOT / "results" / "paper"
AS_IN_FIG_2 = "sigma 2, code bump, atoms full, sparsity low, readout fitted"
FILES = ("readings_positions", "FR1_failure", "FR3_low_rank", "FR4_stripes")
pytestmark = pytest.mark.skipif(
    not all((PAPER / f"{name}.nc").exists() for name in FILES), reason="no shipped results"
)


def shipped(name: str) -> xr.Dataset:
    return store.read(PAPER / f"{name}.nc")


def frame(found: xr.Dataset) -> pd.DataFrame:
    """Readings that can be tested: margin, verdict and options."""
    table = found.drop_vars("drawn").to_dataframe().dropna(subset=["margin"])
    return table.assign(right=table["margin"] > 0)


@pytest.fixture(scope="module")
def composed() -> dict[str, xr.Dataset]:
    runs = shipped("readings_positions")
    return {
        one.id: curve(one, composition.gathered(runs, one.choices))
        for one in composition.STATEMENTS
    }


def test_the_network_is_below_cnn_and_mlp_in_nearly_all_readings(composed):
    ood = frame(composed["VN-F2c lowest OOD"])
    assert ood[ood["choice_rivals"] == "CNN and MLP"]["right"].mean() > 0.98


@pytest.mark.parametrize(
    "name", ["VN-F2c strongest ID", "VN-F2c lowest OOD", "VN-F2c factorised limited"]
)
def test_it_beats_the_factorised_decoder_by_atoms_and_a_fitted_readout(composed, name):
    found = frame(composed[name])
    if "choice_rivals" in found:
        found = found[found["choice_rivals"] != "CNN and MLP"]
    median = found["choice_seeds"] == "median"
    for ahead in (found[found["right"] & median], found[found["low"] > 0]):
        assert len(ahead)
        assert ahead["choice_atoms"].str.startswith("32 an axis").all()
        assert ahead["choice_readout"].str.startswith("fitted").all()
        assert not ahead["choice_which"].str.contains("2D").any()
    assert shares(composed["VN-F2c factorised limited"])["right"] < 0.2
    others = found[found["right"] & ~found.index.isin(_exact(found).index)]
    assert (others["choice_sigma"] == "1 px").all() and (others["choice_code"] == "bump code").all()
    assert not (others["choice_seeds"] == "median").any()


def _exact(found: pd.DataFrame) -> pd.DataFrame:
    """Readings of networks per axis with an atom for every position and a readout fitted to codes."""
    per_axis = ~found["choice_which"].str.contains("2D")
    full = found["choice_atoms"].str.startswith("32 an axis")
    return found[per_axis & full & found["choice_readout"].str.startswith("fitted")]


def test_from_one_start_the_factorised_decoder_does_not_learn():
    runs = shipped("readings_positions").sel(decoder="factorised: sigma 1, code bump")
    of_zero = {k: np.sort(runs[f"mse_{k}"] / runs[f"zero_baseline_{k}"]) for k in ("id", "ood")}
    assert of_zero["id"][-2] < 1e-6 and 0.1 < of_zero["id"][-1] < 0.2
    assert of_zero["ood"][-2] < 1e-6 and of_zero["ood"][-1] > 1000
    train = np.sort(runs["mse_train"] / runs["zero_baseline_id"])
    assert train[-2] < 1e-6 and 0.2 < train[-1] < 0.3


def test_the_failure_is_robust_and_its_kernel_is_not():
    r = failure.gathered(shipped("FR1_failure"))
    fails, several, sums, kernel = (curve(one, r) for one in failure.STATEMENTS)
    assert min(shares(one)["right"] for one in (fails, several, sums)) > 0.8
    assert not any(falls_apart(fails).values())
    errors = frame(fails)
    assert errors[errors["choice_error"].str.startswith("half of a zero")]["right"].all()
    wrong = errors[~errors["right"]]
    by_ssim = wrong["choice_error"].str.contains("SSIM")
    assert (by_ssim & wrong["choice_network"].str.startswith("MLP")).mean() > 0.6
    assert shares(kernel)["right"] < 0.5
    table = frame(kernel).groupby("choice_kernel")["right"].mean()
    assert table["binary"] < 0.2 and table["sum of two Gaussians"] > 0.5
    by_network = frame(kernel).groupby("choice_network")["right"].mean()
    ramps = by_network.index.str.contains("ramp")
    assert (by_network[ramps] == 0).all() and by_network["CNN, one-hot code"] > 0.5
    assert [*deciding(kernel)][:2] == ["network", "kernel"]


def test_low_rank_composes_by_peaks_and_from_half_way_on():
    r = low_rank.gathered(shipped("FR3_low_rank"))
    found = {one.id: curve(one, r) for one in low_rank.STATEMENTS}
    composes = frame(found["FR-3 composes"])
    by = composes.groupby("choice_measure")["right"].mean()
    assert by["peaks within 1 px"] == 1 and set(by.index) == {
        "peaks within 1 px",
        "mean squared error",
    }
    assert [*deciding(found["FR-3 composes"])][:3] == ["point", "seeds", "measure"]
    square = composes[composes["choice_measure"] == "mean squared error"]
    worst = square["choice_seeds"] == "worst seed"
    late = square["choice_point"] != "after a tenth"
    assert (square["right"] == (~worst & late)).all()
    assert shares(found["FR-3 fails"])["right"] > 0.9
    assert shares(found["FR-3 both lowest"])["right"] < 0.1
    assert shares(found["FR-3 both lowest"])["sure"] == 0


def test_what_stripes_teach_depends_on_the_network():
    r = stripes.gathered(shipped("FR4_stripes"))
    places, _, bumps, alone = (curve(one, r) for one in stripes.STATEMENTS)
    assert shares(alone)["right"] == 1
    by = frame(places).groupby("choice_network")["right"].mean()
    assert by["CNN, corner, ramp code"] == 0
    assert next(iter(deciding(bumps))) == "network"
    drawn = frame(bumps).groupby("choice_drawn")["right"].mean()
    assert drawn["hit, at 0.8"] > 0.8 > 0.6 > drawn.drop("hit, at 0.8").max()


def test_the_third_power_is_in_no_reading_sure():
    r = stripes.needed(shipped("FR4_stripes"))
    cubic, linear = (curve(one, r) for one in stripes.LAWS)
    assert shares(cubic)["right"] < 0.1 and shares(cubic)["sure"] == 0
    assert shares(linear)["right"] > 0.9
    arrays = Arrays(r)
    exponents = [float(stripes.exponent(arrays, one, "bumps")) for one in readings(stripes.LAWS[0])]
    known = np.array(exponents)[np.isfinite(exponents)]
    assert np.median(known) < 3
    most = [bool(stripes.at_once(arrays, one) > 0.5) for one in readings(stripes.LAWS[1])]
    assert np.mean(most) > 0.5


def test_with_three_layers_vector_networks_are_ahead_by_medians_in_some_of_their_kinds():
    """In Fig. 2; in appendix F with 16 active atoms or with top-down inference, and not otherwise."""
    errors = (shipped(name)["mse_ood"].median("seed") for name in ("fig2_spatial", "F_spatial"))
    fig2, own = (one - one.sel(model="factorised") for one in errors)
    assert fig2.sel(model="vn_axes_3") < 0
    assert (own.sel(model=["vn_3_16", "vn_3_down", "vn_3_mix"]) < 0).all()
    assert (own.sel(model=["vn_3_8", "vn_3_4"]) > 0).all()


def test_the_network_for_both_axes_differs_from_fig_2_by_its_sign_alone():
    here = shipped("readings_positions")
    here = here.sel(decoder=f"vn_plane: {AS_IN_FIG_2}")
    there = shipped("fig2_spatial")
    full = there.sel(model="vn_full")
    own, other = (json.loads(str(one["run_settings"].values[0])) for one in (here, full))
    assert own["training"]["options"].pop("nonnegative")
    assert not other["training"]["options"].pop("nonnegative")
    assert own["training"] == other["training"]
    assert other["task"].items() - own["task"].items() == {("split_seed", 0)}
    error = {
        name: float((one["mse_ood"] / one["zero_baseline_ood"]).median())
        for name, one in (
            ("here", here),
            ("there", full),
            ("default", there.sel(model="factorised_default")),
        )
    }
    assert error["here"] / error["there"] == pytest.approx(1000, rel=0.1)
    assert error["there"] < error["default"] < error["here"]
