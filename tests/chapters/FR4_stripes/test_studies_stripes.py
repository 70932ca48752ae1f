"""Diets, shapes and reports of the stripe study, on images whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import xarray as xr
from torch import nn

from chapters.FR4_stripes import measure as study
from data_gen import bumps

CONFIG = bumps.BumpConfig(grid=12, sigma=1.0, hold_out="corner", polarity="dark")
TRAINING = {
    "family": "factorised",
    "options": {"hidden": 8},
    "lr": 1e-2,
    "steps": 4,
    "batch_size": 16,
}


@pytest.fixture(scope="module")
def data() -> xr.Dataset:
    return bumps.make(CONFIG)


@pytest.fixture(scope="module")
def lines() -> xr.Dataset:
    return bumps.stripes(CONFIG)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("stripes+0", (True, 0)),
        ("stripes+25", (True, 25)),
        ("bumps+25", (False, 25)),
        ("bumps+all", (False, 86)),
        ("stripes+2N", (True, 24)),
        ("stripes+0.5N", (True, 6)),
        ("bumps+1000", (False, 86)),
    ],
)
def test_a_diet_is_read_from_its_name(name, expected):
    assert study.diet(name, side=12, available=86) == study.Diet(*expected)


@pytest.mark.parametrize("name", ["crosses+5", "stripes", "bumps+-1", "bumps+N", "stripes+5 "])
def test_a_diet_of_another_form_is_refused(name):
    with pytest.raises(ValueError, match="diet must be 'stripes"):
        study.diet(name, side=12, available=86)


def test_a_diet_of_nothing_is_refused():
    with pytest.raises(ValueError, match="something to train on, got 'bumps\\+0'"):
        study.diet("bumps+0", side=12, available=86)


def test_training_sets_are_nested_and_stay_in_the_training_split(data, lines):
    few, _ = study.training_set(data, lines, study.Diet(False, 10), seed=3)
    more, images = study.training_set(data, lines, study.Diet(True, 30), seed=3)
    assert np.array_equal(more[:10], few) and len(more) == len(images) == 30 + 24
    assert np.array_equal(more[30:], lines["code"].values) and np.array_equal(
        images[30:], lines["image"].values
    )
    train = {row.tobytes() for row in data["code"].values[data["split"].values == "train"]}
    assert len({row.tobytes() for row in more[:30]} & train) == 30, (
        "30 different bumps, all of the training split"
    )
    other, _ = study.training_set(data, lines, study.Diet(False, 10), seed=4)
    assert not np.array_equal(few, other)


def test_the_constant_ends_each_half():
    codes = np.arange(8, dtype=np.float32).reshape(2, 4)
    assert study.with_constant(codes, 0.0) is codes
    assert study.with_constant(codes, 0.5).tolist() == [
        [0, 1, 0.5, 2, 3, 0.5],
        [4, 5, 0.5, 6, 7, 0.5],
    ]


def test_ink_does_not_depend_on_the_polarity(data):
    bright = bumps.make(bumps.BumpConfig(grid=12, sigma=1.0, hold_out="corner"))
    dark = study.ink(data["image"].values, data)
    assert (
        np.allclose(dark, study.ink(bright["image"].values, bright), atol=1e-6) and dark.max() == 1
    )


def drawn(weights, x, y, side=12, sigma=1.0):
    """An image with given weights of (constant, s_x, s_y, s_x s_y)."""
    column, row = (np.exp(-0.5 * ((np.arange(side) - at) / sigma) ** 2) for at in (x, y))
    c = weights
    return (
        c[0] + c[1] * column[None, :] + c[2] * row[:, None] + c[3] * row[:, None] * column[None, :]
    )


def test_the_fit_returns_the_weights_it_was_made_of():
    places, weights = [(3, 8), (11, 0), (5, 5)], [(0.2, 0.7, 0.3, -0.5), (0, 1, 1, 0), (0, 0, 0, 1)]
    images = np.stack([drawn(w, *at) for w, at in zip(weights, places, strict=True)])
    found = study.shapes(images, *np.array(places).T, sigma=1.0)
    assert found["line"] == pytest.approx([0.5, 1, 0], abs=1e-9)
    assert found["product"] == pytest.approx([-0.5, 0, 1], abs=1e-9)
    assert found["like_cross"][1] == pytest.approx(1) and found["like_bump"][2] == pytest.approx(1)
    assert found["like_bump"][1] < 0.7 and found["like_cross"][2] < 0.7
    assert found["cross_mse"][1] == pytest.approx(0, abs=1e-12) and found["cross_mse"][2] > 0.05


def test_an_image_without_contrast_is_like_nothing():
    found = study.shapes(np.full((1, 12, 12), 0.3), np.array([4]), np.array([4]), sigma=1.0)
    assert found["like_cross"] == 0 and found["like_bump"] == 0


class Painter(nn.Module):
    """Draws from the bump code, in the polarity of the task: sums or products of its halves, moved
    by `shift` rows.
    """

    def __init__(self, form: str, shift: int = 0) -> None:
        super().__init__()
        self.form, self.shift, self.unused = form, shift, nn.Parameter(torch.zeros(1))

    def forward(self, x):
        column, row = x.chunk(2, dim=1)
        column, row = column[:, None, :], torch.roll(row, self.shift, dims=1)[:, :, None]
        return 1 - (column * row if self.form == "bump" else column + row)


def test_a_perfect_decoder_of_bumps(data, lines):
    report = study.drawing_report(Painter("bump"), data, lines, constant=0)
    assert (
        report["mse_ood"] < 1e-12
        and report["hit_ood"] == report["bump_hit_ood"] == report["hit_x_ood"] == 1
    )
    assert report["cross_share_ood"] == 0 and report["product_ood"] == pytest.approx(1, abs=1e-5)
    assert report["stripe_mse"] == pytest.approx(
        float(((1 - lines["image"]) ** 2).mean()), rel=1e-5
    ), "blank stripes"


def test_a_decoder_of_crosses_hits_but_draws_no_bump(data, lines):
    report = study.drawing_report(Painter("cross"), data, lines, constant=0)
    assert report["hit_ood"] == 1 and report["bump_hit_ood"] == 0 and report["cross_share_ood"] == 1
    assert report["line_ood"] == pytest.approx(1, abs=1e-5) and report["stripe_mse"] < 1e-12
    assert report["cross_mse_ood"] < 1e-12 < report["mse_ood"]


def test_marginal_accuracy_forgives_a_wrong_row(data, lines):
    report = study.drawing_report(Painter("bump", shift=6), data, lines, constant=0)
    assert report["hit_x_ood"] == 1 and report["hit_y_ood"] == 0 and report["hit_ood"] == 0


def test_pictures_show_the_positions_asked_for(data, lines):
    found = study.pictures(Painter("bump"), data, lines, constant=0, samples=[[2, 7]])
    image = found["picture"].sel(sample="2, 7").values
    assert np.unravel_index(image.argmin(), image.shape) == (7, 2)
    assert np.array_equal(image * 256, np.round(image * 256))


def test_a_study_repeats_to_the_bit_and_keeps_the_order_of_diets(data, lines, tmp_path):
    def run(folder):
        return study.study(
            data,
            lines,
            diets=["stripes+0", "bumps+20", "stripes+1N"],
            training=TRAINING | {"consolidation": 0},
            constant=1.0,
            samples=[[9, 9]],
            layers_of=["bumps+20"],
            units_shown=2,
            targets=[0.5],
            seed=0,
            workdir=tmp_path / folder,
        )

    one, two = run("a"), run("b")
    assert one.identical(two)
    assert list(one["diet"].values) == ["stripes+0", "bumps+20", "stripes+1N"]
    assert one["items"].values.tolist() == [24, 20, 36] and one["bumps"].values.tolist() == [
        0,
        20,
        12,
    ]
    assert one["picture"].dims == ("diet", "sample", "v", "u") and one["most"].values.tolist() == [
        20,
        36,
    ]
    assert np.isnan(one["tuning_rest"].sel(diet="stripes+0")).all(), (
        "only the diets asked for are looked into"
    )
    input_units = one["responding"].sel(diet="bumps+20", layer="input")
    assert input_units == pytest.approx(24 / 26), "the two constants do not respond"


def test_stripes_alone_select_on_themselves(data, lines, tmp_path, monkeypatch):
    seen = []

    def caught(train, held, **options):
        seen.append((train, held))
        return Painter("cross")

    monkeypatch.setattr(study, "train_decoder", caught)
    study.study(
        data,
        lines,
        diets=["stripes+0", "stripes+5"],
        training={},
        constant=0.0,
        samples=[],
        layers_of=[],
        units_shown=1,
        targets=[0.5],
        seed=0,
        workdir=tmp_path,
    )
    (train, held), (_, validation) = seen
    assert held is train
    codes = data["code"].values[data["split"].values == "val"]
    assert np.array_equal(validation[0].numpy(), codes), (
        "with bumps: held-out bumps of the training region"
    )
