"""What the words between the numbers of the page claim, on the shipped results."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest
import xarray as xr
from glued import ends, number

from chapters.fig5_mnist import figures_example, tables
from chapters.fig5_mnist.figures import errors_of, inside
from vnlib.book import paths
from vnlib.plots.frames import group
from vnlib.plots.statistics import median, sides


@pytest.fixture(scope="module")
def shipped() -> xr.Dataset:
    return xr.load_dataset(paths.RESULTS / "paper" / "fig5_mnist.nc")


@pytest.fixture(scope="module")
def found(shipped) -> dict[str, str]:
    return tables.numbers(shipped)


def test_the_lower_error_in_all_sets(shipped, found):
    for benchmark, ae in (("digits", "ae"), ("motions", "m_ae")):
        assert float(tables.over_vn(shipped, benchmark).sel(model=ae).min()) > 1
    assert found["fig5-digits-sets"] == "13 of 13"
    assert found["fig5-motions-sets"] == "16 of 16"


def test_the_factor_of_ten_in_one_set_only(shipped, found):
    ratio = median(tables.over_vn(shipped, "digits").sel(model="ae"))
    assert ratio.idxmax() == "sub2"
    most, second = (ends(found[f"fig5-digits-ratio-{name}"]) for name in ("most", "second"))
    assert min(most) > 10 > 3 > max(second)


def test_fixed_cosines_grow_least(shipped):
    growth = median(tables.growth(shipped, "digits")).drop_sel(model="zero_baseline")
    assert str(growth.idxmin("model").item()) == "dct"
    over = tables.geometric_mean(tables.over_vn(shipped, "digits"))
    assert sides(over).sel(model="dct") == -1


def test_every_set_but_that_of_single_digits(shipped):
    share = tables.better_images(shipped, "digits")
    assert float(share.sel(set="id")) < 0.6 < float(share.drop_sel(set="id").min())


def test_searching_helps_and_beats_vn_on_motions_only(shipped, found):
    assert number(found["fig5-motions-searched-ood-m-ae"]) == pytest.approx(0.5, abs=0.05), "halves"
    over = {}
    for benchmark, ae in (("digits", "ae"), ("motions", "m_ae")):
        own = tables.geometric_mean(tables.over_vn(shipped, benchmark).sel(model=ae))
        searched = tables.other_reading(shipped, benchmark, "searched")["ood"].sel(model=ae)
        over[benchmark] = float(median(own * searched))
    assert over["digits"] > 1 > over["motions"]


def test_more_units_draw_single_images_better_than_a_vn(shipped):
    for benchmark, start in (("digits", ""), ("motions", "m_")):
        one = median(errors_of(shipped, benchmark)).sel(set=inside(benchmark))
        assert float(one.sel(model=f"{start}ksparse")) < float(one.sel(model=f"{start}vn_1"))


def test_dictionary_learning_is_level(shipped):
    for benchmark, start in (("digits", ""), ("motions", "m_")):
        mean = median(tables.geometric_mean(tables.over_vn(shipped, benchmark)))
        ratio = float(mean.sel(model=f"{start}dictionary_learning"))
        assert ratio == pytest.approx(1, abs=0.05)


def test_only_autoencoders_did_not_converge(shipped, found):
    gain = median(tables.late_gain(shipped))
    still = gain["model"].values[(gain > tables.UNCONVERGED).values].tolist()
    assert len(still) == int(found["fig5-unconverged"])
    assert not [m for m in still if group(shipped, m) == "vn"]
    assert all("ae" in m.split("_") or "ksparse" in m for m in still)


def test_the_example_says_how_much_of_an_image_is_missed(shipped):
    fig = figures_example.example(shipped)
    one = shipped.sel(model="ae", set="sub2").isel(seed=0)
    missed = float(((one["drawn"].sel(reading="own") - one["truth"]) ** 2).sum())
    share = 100 * missed / float((one["truth"] ** 2).sum())
    labels = [ax.get_xlabel() for ax in fig.axes[10:15]]
    assert fig.axes[10].get_ylabel() == "ID-matched AE" and labels[2] == f"{share:.0f} %"
    assert share > 50 > 10 > float(fig.axes[7].get_xlabel().removesuffix(" %"))
    plt.close(fig)
