"""What the page says of the shipped results, between its numbers."""

from __future__ import annotations

import numpy as np
import pytest

from chapters.FR4_stripes.claims import ALONE, FEW, MOST, STRIPES, middle, sizes, zero_baseline
from chapters.FR4_stripes.scaling import laws
from vnlib.book import paths, store


@pytest.fixture(scope="module")
def results():
    return store.read(paths.RESULTS / "paper" / "FR4_stripes.nc")


def test_stripes_give_the_place_and_100_bumps_the_form(results):
    assert middle(results, "hit_ood", "cnn", STRIPES) > 0.95
    crosses = middle(results, "cross_share_ood", "cnn", STRIPES)
    assert crosses < 0.5, "more often like a bump than like a cross"
    for model in ("cnn", "cnn_square"):
        assert middle(results, "bump_hit_ood", model, FEW) > 0.9
        error = middle(results, "mse_ood", model, FEW) / zero_baseline(results, model)
        assert error < 0.5, "well below a zero image's"


def test_bumps_alone_do_not_make_the_cnn_compose(results):
    for diet in (ALONE, MOST):
        assert middle(results, "hit_ood", "cnn", diet) < 0.2
    assert middle(results, "mse_ood", "cnn", MOST) > zero_baseline(results, "cnn")


def test_a_product_readout_needs_no_stripes(results):
    for model in ("vn_axes", "vn_joint", "factorised"):
        assert middle(results, "bump_hit_ood", model, ALONE) > 0.95
    assert middle(results, "bump_hit_ood", "vn_flat", ALONE) < 0.05


def test_stripes_alone_suffice_for_decoders_that_can_draw_one(results):
    for model in ("vn_axes_const", "factorised"):
        assert middle(results, "bump_hit_ood", model, STRIPES) > 0.95
    for model in ("vn_axes", "vn_flat"):
        assert middle(results, "bump_hit_ood", model, STRIPES) == 0


def test_the_data_grow_like_the_stripes(results):
    sides = sizes(results)
    found = laws(results, models=list(sides), sides=list(sides.values())).sel(target=0.8)
    place = found.sel(kind="stripes", measure="hit")
    assert float(place["exponent"]) == pytest.approx(1), "as the stripes themselves do"
    assert float(found["reached"].sel(kind="bumps").max()) == 0
    drawn = found.sel(kind="stripes", measure="bump_hit")
    assert float(drawn["low"]) < 1 < float(drawn["high"])


def test_the_volume_is_not_smoother_in_every_seed(results):
    layers = [name for name in results["layer"].values if name.startswith("layer")]
    rough = results["volume_rough"].sel(model="cnn", layer=layers).mean("layer")
    smoother = rough.sel(diet=FEW) < rough.sel(diet=MOST)
    assert not np.all(smoother) or not np.all(rough.sel(diet=FEW) < rough.sel(diet=ALONE))
