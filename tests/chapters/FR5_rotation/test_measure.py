"""The decoder of angles, and the test of blend against rotation, on models whose answer is
known.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import xarray as xr
from torch import nn

from chapters.FR5_rotation import measure
from chapters.FR5_rotation.baselines import RotationDecoder

GAP = (160.0, 200.0)
SIDE = 12
LAST = ["output", "target"]


def images_at(angle: np.ndarray) -> np.ndarray:
    """A spot that goes round the centre: turned images without interpolation."""
    phase, place = np.deg2rad(angle)[:, None, None], np.arange(SIDE) - (SIDE - 1) / 2
    x, y = place[None, None], place[None, :, None]
    return np.exp(-0.5 * ((x - 3.5 * np.cos(phase)) ** 2 + (y - 3.5 * np.sin(phase)) ** 2)).astype(
        np.float32
    )


def turn(n: int = 72) -> xr.Dataset:
    angle = np.arange(n) * 360 / n
    phase = np.deg2rad(angle)
    split = np.where((angle >= GAP[0]) & (angle <= GAP[1]), "ood", "train").astype("<U7")
    split[[0, 1]], split[[2, 3]] = "val", "id_test"
    code = np.stack([np.cos(phase), np.sin(phase)], 1).astype(np.float32)
    return xr.Dataset(
        {
            "code": (("rotation", "code"), code),
            "image": (("rotation", "y", "x"), images_at(angle)),
            "angle": ("rotation", angle),
            "split": ("rotation", split),
        }
    )


class Known(nn.Module):
    """Draws what a function of the angle [degrees] says."""

    def __init__(self, draw) -> None:
        super().__init__()
        self.draw, self.relu, self.unused = draw, nn.ReLU(), nn.Parameter(torch.zeros(1))
        self.relu2 = nn.ReLU()

    def forward(self, x):
        self.relu2(self.relu(x))
        angle = np.rad2deg(np.arctan2(x[:, 1].numpy(), x[:, 0].numpy())) % 360
        return torch.from_numpy(self.draw(angle))


def blended(angle: np.ndarray) -> np.ndarray:
    """The truth outside the gap, and inside a blend of its ends in proportion to the angle."""
    low, high = images_at(np.array(GAP))
    w = ((angle - GAP[0]) / (GAP[1] - GAP[0]))[:, None, None]
    inside = ((w > 0) & (w < 1)).astype(np.float32)
    return (inside * (low + w * (high - low)) + (1 - inside) * images_at(angle)).astype(np.float32)


def report(draw) -> xr.Dataset:
    ends, others = images_at(np.array(GAP)), images_at(np.array([90, 270]))
    return measure.report(
        Known(draw), turn(), turn(), ends=ends, others=others, gap=GAP, n_shown=3, pictures=True
    )


def test_a_model_that_blends_is_found_out():
    r = report(blended)
    line = (r["gap_angle"] - GAP[0]) / (GAP[1] - GAP[0])
    np.testing.assert_allclose(r["weight"], line, atol=1e-4)
    assert float(r["rest_blend"].max()) < 1e-10
    np.testing.assert_allclose(r["rest_truth"], r["blend_error"], atol=1e-7)
    assert float(r["rest_rotation"].sel(gap_angle=180)) > 1e-3
    assert float(r["rest_null"].min()) > 1e-3
    assert float(r["mse_id"]) == pytest.approx(0, abs=1e-9) and float(r["mse_ood"]) > 1e-3


def test_a_model_that_turns_is_found_out():
    r = report(images_at)
    assert float(r["rest_truth"].max()) < 1e-9 and float(r["rest_rotation"].max()) < 1e-9
    np.testing.assert_allclose(r["nearest_angle"], r["gap_angle"])
    assert float(r["rest_blend"].sel(gap_angle=180)) > 1e-3
    # On a circle the two components are free to turn together; their distance from the origin is
    # not.
    drawn, true = (
        np.hypot(*r["ring"].sel(layer=name).transpose("component", "angle").values) for name in LAST
    )
    np.testing.assert_allclose(drawn, true, atol=3e-3)
    np.testing.assert_allclose(r["ring_step"].sel(layer=LAST), 1, atol=0.02)


def test_lines_of_reference_are_those_of_the_data():
    r, ds = report(images_at), turn()
    np.testing.assert_allclose(
        r["error_zero_baseline"], np.square(ds["image"].values).mean((1, 2)), rtol=1e-5
    )
    mean = ds["image"].values[(ds["split"] == "train").values].mean(0)
    np.testing.assert_allclose(
        r["error_mean"], np.square(ds["image"].values - mean).mean((1, 2)), rtol=1e-4
    )
    assert r.sizes["shown"] == 3 and r["drawn_image"].notnull().all()


def test_a_blend_is_convex_and_the_best_one():
    rng = torch.Generator().manual_seed(0)
    ends = torch.rand(2, 4, 4, generator=rng)
    some = torch.stack([ends[0], ends[1], 0.3 * ends[0] + 0.7 * ends[1], 3 * ends[1] - 2 * ends[0]])
    weight, rest = measure.blend(some, ends)
    torch.testing.assert_close(weight, torch.tensor([0.0, 1.0, 0.7, 1.0]), atol=1e-5, rtol=0)
    assert rest[:3].max() < 1e-10 and rest[3] > 0
    other = torch.rand(1, 4, 4, generator=rng)
    weight, rest = measure.blend(other, ends)
    grid = torch.linspace(0, 1, 101)[:, None, None]
    tried = (other - (1 - grid) * ends[0] - grid * ends[1]).square().mean((1, 2))
    assert float(rest) <= float(tried.min()) + 1e-7


def test_a_circle_is_a_ring_with_even_steps():
    t = torch.linspace(0, 2 * torch.pi, 73)[:-1]
    plane = torch.stack([3 * t.cos(), 3 * t.sin(), torch.zeros_like(t)], 1)
    crossing = (t > 2) & (t < 3)
    twice = torch.stack([(2 * t).cos(), (2 * t).sin()], 1)
    found = measure.ring([plane, twice], crossing)
    torch.testing.assert_close(found["ring_share"], torch.ones(2, dtype=torch.float64))
    torch.testing.assert_close(
        found["ring_step"], torch.ones(2, dtype=torch.float64), atol=1e-5, rtol=0
    )
    torch.testing.assert_close(
        found["ring_winding"], torch.tensor([1.0, 2.0], dtype=torch.float64), atol=1e-4, rtol=0
    )
    torch.testing.assert_close(
        found["ring"].norm(dim=-1), torch.ones(2, 72, dtype=torch.float64), atol=1e-4, rtol=0
    )


def test_a_step_is_long_where_the_layer_hurries():
    t = torch.linspace(0, 2 * torch.pi, 73)[:-1]
    crossing = torch.zeros(72, dtype=torch.bool)
    crossing[30:34] = True
    steps = torch.where(crossing, 3.0, 1.0)
    phase = 2 * torch.pi * torch.cat([torch.zeros(1), steps.cumsum(0)[:-1]]) / steps.sum()
    assert len(t) == len(phase)
    found = measure.ring([torch.stack([phase.cos(), phase.sin()], 1)], crossing)
    assert float(found["ring_step"]) == pytest.approx(3, rel=0.02)


def test_the_parameters_number_as_published():
    """FR App. F.2: 413,185 with 128 channels, two inputs and 28 x 28 pixels."""
    model = RotationDecoder(n_inputs=2, image_shape=(28, 28))
    assert sum(p.numel() for p in model.parameters()) == 413_185


def test_the_loss_is_squared_and_absolute_error_and_leaves_evaluation_on():
    torch.manual_seed(0)
    model = RotationDecoder(n_inputs=2, image_shape=(8, 8), width=4, l1=0.5)
    x, y = torch.randn(6, 2), torch.rand(6, 8, 8)
    loss = model.loss(x, y, generator=torch.Generator())
    assert not model.layers.training
    model.layers.train()
    with torch.no_grad():
        drawn = model.layers(x).squeeze(1)
    assert float(loss.detach()) == pytest.approx(
        float(F.mse_loss(drawn, y) + 0.5 * (drawn - y).abs().mean()), rel=1e-5
    )


def test_an_image_does_not_depend_on_its_companions():
    torch.manual_seed(0)
    model = RotationDecoder(n_inputs=2, image_shape=(8, 8), width=4)
    x = torch.randn(5, 2)
    model.loss(x, torch.rand(5, 8, 8), generator=torch.Generator())
    torch.testing.assert_close(model(x)[:1], model(x[:1]))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"width": 5}, "width"),
        ({"width": 0}, "width"),
        ({"l1": -1.0}, "l1"),
        ({"l1": math.inf}, "l1"),
        ({"image_shape": (9, 8)}, "image_shape"),
    ],
)
def test_bad_options_are_named(options, named):
    with pytest.raises(ValueError, match=named):
        RotationDecoder(**({"n_inputs": 2, "image_shape": (8, 8)} | options))


def test_wrong_shapes_are_refused():
    model = RotationDecoder(n_inputs=2, image_shape=(8, 8), width=4)
    with pytest.raises(ValueError, match="y must have"):
        model.loss(torch.zeros(3, 2), torch.zeros(3, 1, 8, 8), generator=torch.Generator())
    with pytest.raises(ValueError, match="x must have"):
        model(torch.zeros(3, 3))
