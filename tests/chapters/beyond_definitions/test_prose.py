"""What the words between the numbers of the page claim, on the shipped results."""

from __future__ import annotations

import pytest
import xarray as xr

from vnlib.book import paths, store
from vnlib.plots.statistics import extremes, median, over_seeds, short


@pytest.fixture(scope="module")
def results() -> xr.Dataset:
    return store.read(paths.result_file(paths.RESULTS, "paper", "beyond_definitions"))


def part(name: str) -> xr.Dataset:
    return store.read(paths.result_file(paths.RESULTS, "paper", f"beyond_definitions.{name}"))


def test_a_bump_is_one_product_and_a_ring_is_not():
    targets = part("targets")
    assert targets["exact"].sel(shape="bump") == 1 == targets["near"].sel(shape="bump")
    assert 1 < targets["near"].sel(shape="ring") < targets["exact"].sel(shape="ring")


def test_a_square_held_out_is_a_mixture_of_two():
    diets = part("diets")
    assert diets["parts"].sel(hold_out=["none", "square", "coordinates"]).values.tolist() == [
        1,
        2,
        1,
    ]
    assert diets["distance"].sel(hold_out="square") > 0.1


def test_no_layer_loses_a_factor(results):
    assert results["apart"].min() > 0
    decoders = results.sel(model=["factorised", "cnn", "mlp"])
    assert median(decoders["curved"]).min() > 0.9 and median(decoders["linear"]).min() > 0.9


def test_layers_are_factorised_linearly_up_to_the_first_relu(results):
    both = median(results["of_both"])
    networks = both.sel(model=["cnn", "mlp"])
    assert abs(networks.sel(layer=["code", "before 1"])).max() < 1e-6
    assert networks.sel(layer=["after 1", "after 2", "images"]).min() > 0.01
    for model, relus in (("cnn", 3), ("mlp", 2)):
        rising = [f"after {relu + 1}" for relu in range(relus)]
        assert (both.sel(model=model, layer=[*rising, "images"]).diff("layer") > 0).all()
    product = both.sel(model="factorised")
    assert abs(product.sel(layer=["code", "before 1", "after 1"])).max() < 1e-6
    assert product.sel(layer="images") == both.sel(model="factorised").max() > 0.5


def test_codes_that_are_mixed(results):
    names = ("of_both", "linear", "curved")
    code = xr.Dataset({name: median(results[name].sel(layer="code")) for name in names})
    turned, tangled = (code.sel(model=f"code_{mix}") for mix in ("rotated", "entangled"))
    assert abs(turned["of_both"]) < 1e-6 and turned["linear"] > 0.99
    assert tangled["of_both"] > 0.05 and tangled["linear"] < turned["linear"]
    assert tangled["curved"] > 0.95


def test_who_fails(results):
    ood = median(results["mse_ood"] / results["zero_baseline_ood"])
    assert [short(float(ood.sel(model=model))) for model in ("cnn", "mlp")] == ["0.62", "1.0"]
    assert ood.sel(model="factorised") < 1e-3


def test_the_definitions_do_not_tell_who_composes(results):
    """All seeds: no layer hides x or y, and the factorised decoder mixes as much as who fails."""
    hidden = results.sel(model=["factorised", "cnn", "mlp"]).drop_sel(layer="code")
    for name, least in (("curved", 0.95), ("linear", 0.9)):
        assert float(over_seeds(extremes(hidden[name])["least"])["low"]) > least
    mixed = {m: extremes(hidden["of_both"].sel(model=m))["most"] for m in hidden["model"].values}
    assert mixed["factorised"]["layer"] == "images"
    for model in ("cnn", "mlp"):
        assert float(over_seeds(mixed["factorised"] - mixed[model])["low"]) > -0.01, model
    error = over_seeds(hidden["mse_ood"] / hidden["zero_baseline_ood"])
    assert float(error["high"].sel(model="factorised")) < 1e-3
    assert float(error["low"].sel(model=["cnn", "mlp"]).min()) > 0.5


def test_a_tangled_code_is_read_less_well_by_a_linear_map(results):
    code = results.sel(layer="code")
    turned, tangled = (code.sel(model=f"code_{mix}") for mix in ("rotated", "entangled"))
    assert float(over_seeds(tangled["of_both"])["low"]) > 0.05
    assert float(over_seeds(turned["linear"] - tangled["linear"])["low"]) > 0.05
    assert float(over_seeds(tangled["curved"])["low"]) > 0.95
