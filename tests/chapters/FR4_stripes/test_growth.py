"""Doses, samples and accuracies of the readings of "the data needed", with known answers."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from chapters.FR4_stripes import growth

SIDE = 12


@pytest.mark.parametrize("place", growth.PLACES)
def test_doses_grow_in_equal_ratios(place):
    alone, more = (growth.doses(kind, place, side=SIDE, count=10) for kind in growth.KINDS)
    most = growth.LARGEST[place] * SIDE**2
    assert alone[0] == SIDE / 2 and alone[-1] == more[-1] == round(most)
    assert more[:2] == [0, SIDE / 4] and len(alone) == len(more) == 10
    ratio = (most / alone[0]) ** (1 / 9)
    np.testing.assert_allclose(alone, alone[0] * ratio ** np.arange(10), atol=0.5)


@pytest.mark.parametrize("place", growth.PLACES)
@pytest.mark.parametrize("region", growth.REGIONS)
def test_tested_positions_were_never_trained_on(place, region):
    data = growth.pool(place, 0, side=SIDE, sigma=1.0)
    x, y = data["position_x"].values, data["position_y"].values
    corner = (x >= SIDE / 2) & (y >= SIDE / 2)
    most = growth.doses("bumps", place, side=SIDE, count=2)[-1]
    few, many = (growth.sampled(data, region, dose, seed=3) for dose in (5, most))
    assert len(many.train) == most and few.train.tolist() == many.train[:5].tolist()
    sets = [set(map(int, rows)) for rows in many]
    assert all(sets) and sum(map(len, sets)) == len(set.union(*sets))
    assert corner[many.test].all() == (region == "corner")
    assert corner[many.train].any() == corner[many.val].any() == (region == "none")


def test_more_than_there_are_is_refused():
    data = growth.pool("pixels", 0, side=SIDE, sigma=1.0)
    with pytest.raises(ValueError, match="dose must be at most the 98 positions there are, got 99"):
        growth.sampled(data, "corner", 99, seed=0)


class Drawer(torch.nn.Module):
    """Draws the additive cross or the product of the code's halves, `shift` px aside in x."""

    def __init__(self, product: bool, shift: int) -> None:
        super().__init__()
        self.product, self.shift = product, shift
        self.unused = torch.nn.Parameter(torch.zeros(1))

    def forward(self, codes):
        x, y = codes.chunk(2, 1)
        x, y = x.roll(self.shift, 1)[:, None, :], y[:, :, None]
        return 1 - (x * y if self.product else (x + y) / 2)


@pytest.mark.parametrize(
    ("product", "shift", "wanted"),
    [(True, 0, [1, 1, 1]), (False, 0, [1, 1, 0]), (True, 3, [0, 0.5, 0])],
)
def test_accuracies_of_drawers(product, shift, wanted):
    data = growth.pool("anywhere", 1, side=SIDE, sigma=1.0).isel(position=slice(40))
    found = growth.accuracies(Drawer(product, shift), data)
    assert [found[name] for name in growth.MEASURES] == wanted


def test_items_count_the_stripes_and_every_reading_has_an_accuracy(tmp_path):
    training = {"family": "factorised", "options": {}, "lr": 1e-2, "steps": 300, "batch_size": 16}
    one = growth.report(
        torch.device("cpu"), tmp_path, side=8, sigma=1.0, count=2, seed=0, training=training
    )
    extra = one["dose_items"] - one["dose_bumps"]
    assert (extra.sel(kind="bumps") == 0).all() and (extra.sel(kind="stripes") == 16).all()
    assert one["accuracy"].notnull().all()
    last = one["accuracy"].isel(dose=-1).sel(kind="bumps", measure="joint")
    assert (last > 0.7).all(), "a product readout composes whatever is held out"
