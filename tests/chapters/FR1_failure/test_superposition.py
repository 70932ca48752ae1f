"""What a decoder draws: on images whose bumps, mass and sums are known by construction."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import xarray as xr
from torch import nn

from chapters.FR1_failure import superposition as sp

N = 12
AXIS = np.arange(N)


def bump(x: float, y: float, sigma: float = 1.0) -> np.ndarray:
    return np.exp(-((AXIS[None] - x) ** 2 + (AXIS[:, None] - y) ** 2) / (2 * sigma**2))


def plane() -> tuple[np.ndarray, np.ndarray]:
    y, x = np.divmod(np.arange(N * N), N)
    return x, y


def data(polarity: str = "bright") -> xr.Dataset:
    """All positions with one-hot codes; 4 <= x, y <= 8 is held out, and a few of the others are the
    ID test.
    """
    x, y = plane()
    image = np.stack([bump(*place) for place in zip(x, y, strict=True)])
    split = np.where((x >= 4) & (x <= 8) & (y >= 4) & (y <= 8), "ood", "train").astype("<U7")
    split[np.flatnonzero(split == "train")[::10]] = "id_test"
    code = np.concatenate([np.eye(N)[x], np.eye(N)[y]], 1).astype(np.float32)
    return xr.Dataset(
        {
            "code": (("position", "code"), code),
            "image": (
                ("position", "y", "x"),
                (1 - image if polarity == "dark" else image).astype(np.float32),
            ),
            "position_x": ("position", x),
            "position_y": ("position", y),
            "split": ("position", split),
        }
    )


class Additive(nn.Module):
    """Draws a column profile plus a row profile: a sum of a part for x and a part for y,
    exactly.
    """

    def __init__(self, product: bool = False) -> None:
        super().__init__()
        self.profile = nn.Parameter(
            torch.exp(-0.5 * (torch.arange(N)[:, None] - torch.arange(N)) ** 2.0)
        )
        self.product = product

    def forward(self, code: torch.Tensor) -> torch.Tensor:
        column, row = (half @ self.profile for half in code.chunk(2, 1))
        return (
            row[:, :, None] * column[:, None] if self.product else row[:, :, None] + column[:, None]
        )


def test_ink_is_zero_on_the_ground_of_either_polarity():
    image = bump(3, 5)[None]
    np.testing.assert_allclose(
        sp.ink(1 - image, polarity="dark"), sp.ink(image, polarity="bright"), atol=1e-12
    )
    assert sp.ink(1 - image, polarity="dark")[0, 5, 3] == 1  # row y, column x
    with pytest.raises(ValueError, match="polarity must be one of 'bright', 'dark', got 'white'"):
        sp.ink(image, polarity="white")


def test_local_maxima_counts_bumps():
    two = bump(2, 2) + 0.5 * bump(9, 8)
    faint = bump(2, 2) + 0.2 * bump(9, 8)  # below a quarter of the largest
    images = np.stack([bump(5, 5), two, faint, np.zeros((N, N)), 0.04 * bump(3, 3)])
    assert sp.local_maxima(images).tolist() == [1, 2, 1, 0, 0]


def test_mass_shares_do_not_exchange_rows_and_columns():
    x, y = np.array([2]), np.array([9])
    row = np.zeros((1, N, N))
    row[0, 9] = 1  # ink all along row y
    shares = sp.mass_shares(row, x, y, reach=1)
    assert shares["row"] == 1 and shares["column"] == pytest.approx(3 / N)
    assert shares["place"] == pytest.approx(3 / N) and shares["cross"] == pytest.approx(1)
    turned = sp.mass_shares(row.swapaxes(1, 2), x, y, reach=1)
    # column 9 is not near x = 2
    assert turned["row"] == pytest.approx(3 / N) and turned["column"] == 0
    assert np.isnan(sp.mass_shares(np.zeros((1, N, N)), x, y, reach=1)["row"]).all()


@pytest.mark.parametrize("n", [2, 3, 50])
def test_elsewhere_is_a_permutation_without_fixed_points(n):
    other = sp.elsewhere(n, seed=3)
    assert sorted(other) == list(range(n)) and (other != np.arange(n)).all()
    assert (sp.elsewhere(n, seed=3) == other).all()


@pytest.mark.filterwarnings("ignore:All-NaN slice")  # the zero baseline has no shares
def test_perfect_and_zero_outputs_have_the_errors_they_must():
    task = data("dark")
    true = sp.ink(task["image"].values, polarity="dark")
    perfect = sp.drawn_report(true, task, polarity="dark", reach=2, seed=0)
    assert (
        (perfect["error"] == 0).all()
        and (perfect["several"] == 0).all()
        and (perfect["hit"] == 1).all()
    )
    zero = sp.drawn_report(np.zeros_like(true), task, polarity="dark", reach=2, seed=0)
    np.testing.assert_allclose(zero["error"], zero["zero_baseline"])
    # pi sigma^2 / N^2
    np.testing.assert_allclose(zero["zero_baseline"].sel(where="ood"), np.pi / N**2, rtol=1e-3)


def test_memorised_adds_training_images_of_the_same_row_or_column():
    task = data()
    x, y = plane()
    train = task["split"].values == "train"
    found = sp.memorised(task["image"].values, x, y, train)
    here = 5 * N + 6  # x = 6, y = 5
    expected = sum(bump(x[i], y[i]) for i in np.flatnonzero(train) if x[i] == 6) + sum(
        bump(x[i], y[i]) for i in np.flatnonzero(train) if y[i] == 5
    )
    np.testing.assert_allclose(found[here], expected, atol=1e-5)


def test_explained_is_the_r_squared_of_least_squares():
    rng = np.random.default_rng(0)
    image, a, b = rng.normal(size=(3, 4, 5, 5))
    for parts in ((a,), (a, b)):
        found = sp.explained(image, *parts)
        for i in range(4):
            design = np.stack([np.ones(25), *(p[i].ravel() for p in parts)], 1)
            rest = (
                image[i].ravel() - design @ np.linalg.lstsq(design, image[i].ravel(), rcond=None)[0]
            )
            assert found[i] == pytest.approx(1 - rest.var() / image[i].var())


def report(model: nn.Module, show: bool = True) -> xr.Dataset:
    task = data()
    drawn = sp.outputs(model, torch.from_numpy(task["code"].values), polarity="bright")
    return sp.superposition_report(
        model, drawn, task, polarity="bright", seed=0, samples=[0, 78], show=show
    )


def test_averaged_codes_are_those_of_the_training_positions():
    task, model = data(), Additive()
    code = torch.from_numpy(task["code"].values)
    train = code[task["split"].values == "train"]
    x_only, y_only = sp.averaged(model, code, train, polarity="bright")
    mean = train.mean(0)
    one = torch.cat([code[17, :N], mean[N:]])[None]
    other = torch.cat([mean[:N], code[17, N:]])[None]
    np.testing.assert_allclose(x_only[17], model(one).detach()[0], atol=1e-6)
    np.testing.assert_allclose(y_only[17], model(other).detach()[0], atol=1e-6)


def test_an_additive_model_is_the_sum_of_its_parts_and_a_product_is_not():
    additive, product = report(Additive()), report(Additive(product=True))
    assert additive["resembles"].sel(test="averaged") > 0.99
    assert additive["closer"].sel(test="averaged") == 1
    assert additive["resembles_shuffled"].sel(test="averaged") < 0.7
    assert (
        additive["adds"].sel(test="averaged")
        > 0.1
        > 0.01
        > additive["bump_adds"].sel(test="averaged")
    )
    assert product["resembles_bump"] > 0.999 and (product["closer"] == 0).all()
    assert (product["resembles"] < 0.8).all() and (product["adds"] < 1e-6).all()
    assert (product["bump_adds"] > 0.3).all()


def test_images_are_kept_only_where_they_are_asked_for():
    shown = report(Additive())["shown_image"]
    assert shown.notnull().all() and shown.dims == ("panel", "sample", "y", "x")
    assert report(Additive(), show=False)["shown_image"].isnull().all()
