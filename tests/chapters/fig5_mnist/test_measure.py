"""The study of image composition, on models whose errors are known; and the registry of its
models.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
import xarray as xr

from benchmarks.images.models import FAMILIES, train_images
from benchmarks.images.pictures import Snapshot, Trained
from chapters.fig5_mnist import measure as images

SIDE, SETS, N = 4, ("plain", "bright", "odd"), 5


@pytest.fixture(scope="module")
def tests() -> xr.Dataset:
    """Images of growing power: the samples of each set are its pattern times 1 to 5, in another
    order.
    """
    pattern = np.random.default_rng(0).normal(size=(len(SETS), 1, SIDE, SIDE))
    order = np.array([3.0, 1.0, 5.0, 2.0, 4.0])[:, None, None]
    return xr.Dataset(
        {"image": (("set", "sample", "y", "x"), (pattern * order).astype(np.float32))},
        {"set": list(SETS)},
    )


@pytest.fixture(scope="module")
def held() -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(1).normal(size=(7, SIDE**2)).astype(np.float32))


def offset(by: float) -> Trained:
    """A model that draws every pixel off by as much."""
    return Trained({"own": lambda x: x + by})


def test_pixels_are_rows():
    found = images.pixels(np.arange(12.0).reshape(2, 2, 3))
    assert found.dtype == torch.float32 and found.tolist() == [list(range(6)), list(range(6, 12))]


def test_an_offset_is_its_square(tests, held):
    report = images.measure(held, offset(0.5), tests=tests)
    assert np.allclose(report["mse"].sel(reading="own"), 0.25, rtol=1e-5) and report[
        "criterion"
    ] == pytest.approx(0.25)
    assert report["mse"].sel(reading=["top", "searched"]).isnull().all()
    assert list(report["set"].values) == list(SETS)
    assert not {"case", "drawn", "truth", "active", "path_mse"} & set(report)


def test_the_zero_image_has_the_error_of_the_baseline(tests, held):
    report = images.measure(held, Trained({"own": torch.zeros_like}), tests=tests)
    power = (tests["image"].astype(float) ** 2).mean(("sample", "y", "x"))
    assert np.allclose(report["zero_baseline"].sel(set=list(SETS)), power, rtol=1e-6)
    assert np.allclose(report["mse"].sel(reading="own"), report["zero_baseline"], rtol=1e-6)


def test_readings_are_told_apart_and_few_images_are_searched(tests, held):
    asked = []

    def searched(x):
        asked.append(len(x))
        return x + 3

    model = Trained({"own": lambda x: x + 1, "top": lambda x: x + 2, "searched": searched})
    report = images.measure(held, model, tests=tests, few=2)
    assert np.allclose(
        report["mse"].transpose("reading", "set"), [[1] * 3, [4] * 3, [9] * 3], rtol=1e-5
    )
    assert list(report["reading"].values) == list(images.READINGS) and asked == [2] * 3


def test_units_are_counted_per_layer(tests, held):
    def active(x):
        return torch.stack([(x > 0).sum(1), torch.full((len(x),), 3)])

    report = images.measure(held, Trained({"own": lambda x: x}, active=active), tests=tests)
    assert list(report["layer"].values) == [1, 2] and (report["active"].sel(layer=2) == 3).all()
    positive = (tests["image"] > 0).sum(("y", "x")).mean("sample")
    assert np.allclose(report["active"].sel(layer=1, set=list(SETS)), positive)


def test_details_show_the_image_of_median_power(tests, held):
    report = images.measure(held, offset(0.5), tests=tests, details=True)
    for name in SETS:
        assert np.array_equal(report["truth"].sel(set=name), tests["image"].sel(set=name)[0]), (
            "3 of 1, ..., 5"
        )
    assert np.allclose(report["drawn"].sel(reading="own"), report["truth"] + 0.5)
    assert report["drawn"].sel(reading="top").isnull().all()
    assert report["case"].dims == ("set", "sample") and np.allclose(report["case"], 0.25, rtol=1e-5)


def test_of_an_even_number_the_lower_median_is_shown(tests, held):
    report = images.measure(held, offset(0), tests=tests.isel(sample=[0, 1, 2, 4]), details=True)
    assert np.array_equal(report["truth"].sel(set="odd"), tests["image"].sel(set="odd")[0]), (
        "3 of 1, 3, 4, 5"
    )


def test_the_path_is_measured_stage_by_stage(tests, held):
    path = [Snapshot(error, lambda x, by=by: x + by) for error, by in ((0.9, 2.0), (0.2, 1.0))]
    report = images.measure(held, Trained({"own": lambda x: x}, path=path), tests=tests)
    assert report["path_error"].values.tolist() == [0.9, 0.2]
    assert np.allclose(report["path_mse"].transpose("stage", "set"), [[4] * 3, [1] * 3], rtol=1e-5)
    assert "path_mse" not in images.measure(
        held, Trained({"own": lambda x: x}, path=path[:1]), tests=tests
    )


@pytest.mark.parametrize(
    ("curve", "wanted"), [(range(20), range(1, 20, 2)), ([3.0, 2.0], [3.0] * 5 + [2.0] * 5)]
)
def test_the_curve_is_read_at_tenths(held, curve, wanted):
    report = images.measure(
        held, Trained({"own": lambda x: x}, curve=list(curve), facts={"parameters": 7})
    )
    assert report["curve"].values.tolist() == list(wanted) and report["fact_parameters"] == 7
    assert "mse" not in report, "tuning sees no test"


@pytest.mark.parametrize(
    ("readings", "few", "message"),
    [
        (
            {"own": None, "guess": None},
            1,
            r"each reading must be one of 'own', 'top', 'searched', got 'guess'",
        ),
        ({"top": None}, 1, r"readings must hold 'own', got 'top'"),
        ({"own": None}, 0, r"few must be an integer >= 1, got 0"),
    ],
)
def test_what_cannot_be_studied_is_refused(held, readings, few, message):
    with pytest.raises(ValueError, match=message):
        images.measure(held, Trained(readings), few=few)


# --- The registry ---------------------------------------------------------------------------------

VN = {"atoms": [4], "sparsity": [0.1]}
OPTIONS = {
    "vn": VN,
    "autoencoder": {"hidden": [6], "latent": 3, "search_steps": 2},
    "dictionary_learning": {"atoms": 4, "sparsity": 0.1},
    "pca": {"k": 2},
    "pca_adaptive": {"k": 2},
    "dct": {"k": 2},
    "untrained": VN,
    "zero_baseline": {},
}


def trained(held, tmp_path, family: str, *, seed: int = 0) -> Trained:
    train = torch.from_numpy(np.random.default_rng(2).normal(size=(40, SIDE**2)).astype(np.float32))
    return train_images(
        train,
        held,
        family=family,
        options=OPTIONS[family],
        lr=1e-2,
        steps=3,
        batch_size=16,
        seed=seed,
        workdir=tmp_path,
    )


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_families_train_and_repeat(tests, held, tmp_path, family):
    one, again = (
        images.measure(
            held, trained(held, tmp_path / part, family), tests=tests, few=3, details=True
        )
        for part in "ab"
    )
    xr.testing.assert_identical(one, again)
    assert np.isfinite(one["mse"].sel(reading="own")).all() and one["fact_parameters"] >= 0
    assert one["active"].sizes["layer"] == 1


@pytest.mark.parametrize("family", ["autoencoder", "vn"])
def test_another_seed_is_another_model(held, tmp_path, family):
    one, other = (
        trained(held, tmp_path / str(seed), family, seed=seed).readings["own"](held)
        for seed in (0, 1)
    )
    assert not torch.allclose(one, other, atol=1e-4)


def test_an_unknown_family_is_refused(held, tmp_path):
    with pytest.raises(ValueError, match=r"family must be one of 'vn', .*, got 'gan'"):
        train_images(
            held,
            held,
            family="gan",
            options={},
            lr=1,
            steps=1,
            batch_size=1,
            seed=0,
            workdir=tmp_path,
        )
