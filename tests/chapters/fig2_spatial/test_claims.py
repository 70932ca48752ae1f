"""The rules of Fig. 2: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

import judging
import numpy as np
import pytest
import xarray as xr

from vnlib.book.ledger import NOT_TESTABLE

ZERO = 0.02  # error of a zero image: composing means an OOD error of at most 2e-4
SEEDS = 4
# Model -> (ID error, OOD/ID ratio), so that every part of every claim holds.
HOLDS = {
    "cnn2": (1e-3, 12),
    "cnn4": (1e-3, 20),
    "cnn6": (1e-3, 40),
    "vae_low": (1e-3, 10),
    "vae_high": (2e-3, 8),
    "factorised_default": (4e-4, 1.5),
    "factorised": (2e-4, 2),
    "vn_axes_1": (1e-6, 2),
    "vn_axes_2": (1e-6, 1.8),
    "vn_axes_3": (1e-6, 1.6),
    "vn_full": (1e-5, 2.5),
}
HOLDS |= dict.fromkeys(["sparse_autoencoder", "mlp", "bilinear_linear"], (1e-3, 9))
HOLDS |= dict.fromkeys(["bilinear_relu", "random_axes_1", "random_full"], (1e-3, 9))
IDS = ("VN-F2a", "VN-F2b", "VN-F2c", "VN-F2d")


def made_up(**changes: tuple[float, float]) -> xr.Dataset:
    """Results in which everything holds, with other (ID error, ratio) for some models."""
    models = HOLDS | changes
    both = np.array(list(models.values()), float)[..., None]
    mse_id = both[:, 0] * (1 + 0.01 * np.arange(SEEDS))  # no ratio depends on the seed
    x, y = (a.ravel() for a in np.meshgrid(np.arange(28), np.arange(28)))
    held = (x >= 6) & (x <= 22) & (y >= 6) & (y <= 22)
    split = np.full(784, "train", dtype="<U7")
    split[np.flatnonzero(~held)[::10]], split[np.flatnonzero(~held)[1::10]] = "val", "id_test"
    split[held] = "ood"
    dims, places = ("model", "seed"), {"position_x": x, "position_y": y, "split": split}
    errors = {"mse_id": mse_id, "mse_ood": mse_id * both[:, 1]}
    errors["zero_baseline_ood"] = np.full(mse_id.shape, ZERO)
    return xr.Dataset(
        {name: (dims, values) for name, values in errors.items()},
        {"model": list(models), "seed": np.arange(SEEDS)}
        | {name: ("position", values) for name, values in places.items()},
    )


GOOD = (1e-5, 1.2)
# What is changed, and which parts then fail: as printed, and with controls.
CHANGES = [
    *((claim, {}, [], []) for claim in IDS),
    ("VN-F2b", {"cnn4": (1e-3, 4.9)}, [0], [0]),
    ("VN-F2b", {"cnn4": (1e-3, 5)}, [], []),
    ("VN-F2b", {"vae_high": (1e-3, 2)}, [0], [0]),
    ("VN-F2b", {"vn_full": (1e-5, 3.1)}, [2], [2]),
    ("VN-F2b", {"vn_full": (2e-4, 1.1)}, [2], [2]),  # composes, but above 1 % of a zero image
    ("VN-F2b", {"factorised_default": (4e-4, 3.1)}, [1], []),
    ("VN-F2b", {"factorised": (2e-4, 3.1)}, [], [1]),
    ("VN-F2b", {"factorised": (1e-6, 1.2)}, [], [1, 3]),
    ("VN-F2b", {"random_full": GOOD}, [], [3]),
    ("VN-F2b", {"random_axes_1": GOOD}, [], [3]),
    ("VN-F2b", {"bilinear_linear": GOOD}, [], [3]),
    ("VN-F2c", {"mlp": (1e-8, 1e4)}, [0], [0]),
    ("VN-F2c", {"mlp": (1e-9, 1.1)}, [0, 1], [0, 1]),
    ("VN-F2c", {"mlp": (1.2e-6, 1.2)}, [1], [1]),
    ("VN-F2c", {"factorised_default": (4e-4, 3.1)}, [3], []),
    ("VN-F2c", {"cnn2": (1e-3, 9.9)}, [2], [2]),
    ("VN-F2c", {"cnn2": (1e-3, 10)}, [], []),
    ("VN-F2c", {"factorised_default": (2.9e-6, 1.5)}, [3], []),
    ("VN-F2c", {"factorised": (2.9e-6, 1.5)}, [], [3]),
    ("VN-F2c", {"bilinear_linear": (1e-9, 1.1)}, [], [0, 1]),
    ("VN-F2c", {"bilinear_linear": (1e-9, 1e5)}, [], [0]),
    ("VN-F2d", {"cnn4": (1e-3, 11)}, [0], [0]),
    ("VN-F2d", {"cnn2": (1e-3, 40)}, [0], [0]),
    ("VN-F2d", {"vn_axes_3": (1e-6, 2.1)}, [1], [1]),
    # The ratio falls, but only because the ID error rises.
    ("VN-F2d", {"vn_axes_1": (1e-6, 2.0), "vn_axes_3": (1e-5, 1.0)}, [], [1]),
]


@pytest.mark.parametrize(("claim", "changes", "printed", "controls"), CHANGES)
def test_each_part_fails_where_it_should(claim, changes, printed, controls):
    assert judging.failing(claim, made_up(**changes)) == (printed, controls)


@pytest.mark.parametrize(("n_worse", "printed"), [(1, []), (2, [1])])
def test_depth_needs_three_of_four_seeds(n_worse, printed):
    results = made_up()
    results["mse_ood"].loc[{"model": "vn_axes_3", "seed": np.arange(n_worse)}] *= 1.5
    assert judging.failing("VN-F2d", results)[0] == printed


def test_depth_pairs_only_the_seeds_that_both_models_have():
    """A seed of one model alone, as an interrupted run leaves it, says nothing about the pair."""
    results = made_up()
    for name in ("mse_id", "mse_ood"):
        results[name].loc[{"model": ["cnn6", "vn_axes_3"], "seed": [1, 2, 3]}] = np.nan
    assert judging.failing("VN-F2d", results) == ([], [])


SPOILED = [
    (lambda s, x, y: np.where((x == 14) & (y == 14), "train", s), [1]),
    (lambda s, x, y: np.where((x == 0) & (y == 0), "ood", s), [1]),
    (lambda s, x, y: np.where((x == 0) & (y == 0), "spare", s), [0]),
    # The column 14 is never trained.
    (lambda s, x, y: np.where((s != "ood") & (x == 14), "val", s), [2]),
    (lambda s, x, y: np.where(x == 14, "ood", np.where(s == "ood", "spare", s)), [0, 1, 2]),
]


@pytest.mark.parametrize(("spoil", "parts"), SPOILED)
def test_the_task_itself_is_checked(spoil, parts):
    results = made_up()
    places = (results[name].values for name in ("split", "position_x", "position_y"))
    spoiled = results.assign_coords(split=("position", spoil(*places)))
    assert judging.failing("VN-F2a", spoiled) == (parts, [])


@pytest.mark.parametrize("model", ["cnn6", "vn_axes_3", "factorised", "random_full"])
def test_a_missing_model_is_named(model):
    row = judging.judged("VN-F2b", made_up().drop_sel(model=model))
    assert row["verdict"] == NOT_TESTABLE
    assert row["missing"] == f"the results lack the model(s) {model}"


def test_numbers_are_the_medians_the_rule_compares():
    numbers = judging.judged("VN-F2b", made_up())["numbers"]
    assert numbers["cnn4.ratio"] == pytest.approx(20)
    assert numbers["factorised.id"] == pytest.approx(2e-4 * 1.015)  # the median of four seeds
    assert numbers["vn_best.id"] == pytest.approx(1e-6 * 1.015, rel=1e-3)


def test_order_of_models_and_seeds_does_not_matter():
    results = made_up(bilinear_linear=GOOD)
    mixed = results.isel(model=slice(None, None, -1), seed=[2, 0, 3, 1])
    for claim in IDS:
        assert judging.failing(claim, mixed) == judging.failing(claim, results)
