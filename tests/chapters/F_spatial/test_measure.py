"""Spatial decoding in full: streams that are copies or not, pairs of bumps, and what superposes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from chapters.F_spatial import measure
from data_gen import bumps

GRID = 16
DATA = bumps.make(bumps.BumpConfig(grid=GRID, sigma=1.0))


class Product(nn.Module):
    """The exact decoder of bump codes: the code of y times the code of x, linear in each half."""

    rank = 1

    def __init__(self) -> None:
        super().__init__()
        self.unused = nn.Parameter(torch.zeros(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[:, GRID:, None] * x[:, None, :GRID]


class Linear(nn.Module):
    """A linear map of the code: stripes where a bump should be."""

    def __init__(self) -> None:
        super().__init__()
        self.unused = nn.Parameter(torch.zeros(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 0.5 * (x[:, GRID:, None] + x[:, None, :GRID])


def draw(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# --- streams ---


def test_copies_are_alike_whatever_their_size_and_sign():
    rows, columns = draw(5, 1, 7, seed=0), draw(5, 1, 9, seed=1)
    scale = torch.tensor([1.0, -2.0, 0.5])[None, :, None]
    found = measure.streams(rows * scale, columns.expand(-1, 3, -1))
    for name in ("stream_similarity", "stream_similarity_x", "stream_similarity_y"):
        assert float(found[name]) == pytest.approx(1)
    assert float(found["stream_share"]) == pytest.approx(0.5**2 / 2**2)


def test_similarity_is_the_cosine_of_the_images():
    rows, columns = draw(4, 3, 7, seed=2), draw(4, 3, 9, seed=3)
    images = torch.einsum("brh,brw->brhw", rows, columns).flatten(2)
    cosines = [
        torch.cosine_similarity(images[:, r], images[:, s]).abs().mean()
        for r, s in ((0, 1), (0, 2), (1, 2))
    ]
    assert float(measure.streams(rows, columns)["stream_similarity"]) == pytest.approx(
        float(sum(cosines) / 3)
    )


def test_agreement_along_one_axis_makes_a_rank_one_image_of_streams_that_are_no_copies():
    rows, columns = (
        draw(5, 1, 7, seed=0).expand(-1, 2, -1),
        torch.eye(9, dtype=torch.float64)[:2].expand(5, -1, -1),
    )
    assert (torch.linalg.matrix_rank(torch.einsum("brh,brw->bhw", rows, columns)) == 1).all()
    found = measure.streams(rows, columns)
    assert (
        float(found["stream_similarity"]) == pytest.approx(0) == float(found["stream_similarity_x"])
    )
    assert float(found["stream_similarity_y"]) == pytest.approx(1)


def test_one_stream_has_nothing_to_be_compared_with():
    with pytest.raises(ValueError, match="rows must hold at least 2 streams to compare, got 1"):
        measure.streams(draw(5, 1, 7, seed=0), draw(5, 1, 7, seed=0))


# --- reports ---


def test_a_report_keeps_maps_and_images_only_where_asked():
    plain = measure.report(Product(), DATA)
    assert float(plain["mse_ood"]) < 1e-12 and float(plain["hit_ood"]) == 1
    assert not set(plain.variables) & {
        "mse",
        "held_out",
        "sample_image",
        "sample",
        "stream_similarity",
    }
    full = measure.report(Linear(), DATA, maps=True, shown=20)
    assert np.array_equal(full["held_out"].values == 1, DATA["split"].values == "ood")
    held_out = full["mse"].values[full["held_out"].values == 1]
    assert held_out.mean() == pytest.approx(float(full["mse_ood"]), rel=1e-5)
    assert np.array_equal(full["sample_target"].values, DATA["image"].values[20])
    expected = Linear()(torch.from_numpy(DATA["code"].values[[20]]))[0]
    assert np.allclose(full["sample_image"].values, expected.numpy())


def test_streams_are_reported_where_there_are_several():
    model = Product()
    model.rank = 2
    model.streams = lambda x: (
        x[:, None, GRID:].expand(-1, 2, -1),
        x[:, None, :GRID].expand(-1, 2, -1),
    )
    assert float(measure.report(model, DATA)["stream_similarity"]) == pytest.approx(1, abs=1e-5)


# --- two bumps ---


def pairs(n: int = 20, distance: float = 8, seed: int = 0) -> np.ndarray:
    return measure.distant_pairs(DATA, n, distance=distance, seed=seed)


def test_pairs_are_trained_positions_far_apart_on_both_axes():
    found = pairs()
    assert found.shape == (20, 2) and len({tuple(sorted(p)) for p in found.tolist()}) == 20
    assert (DATA["split"].values[found] == "train").all()
    for name in ("position_x", "position_y"):
        assert (np.abs(np.diff(DATA[name].values[found], axis=1)) >= 8).all()
    assert np.array_equal(found, pairs()) and not np.array_equal(found, pairs(seed=1))


def test_every_pair_that_there_is_can_be_asked_for():
    x, y = DATA["position_x"].values, DATA["position_y"].values
    train = np.flatnonzero(DATA["split"].values == "train")
    n = sum(abs(x[i] - x[j]) >= 8 and abs(y[i] - y[j]) >= 8 for i in train for j in train if i < j)
    assert len(pairs(n)) == n
    with pytest.raises(
        ValueError, match=f"n must be at most {n}, the pairs 8 px apart, got {n + 1}"
    ):
        pairs(n + 1)


def test_a_product_draws_the_crossings_as_brightly_as_the_bumps():
    found, chosen = measure.two_bumps(Product(), DATA, pairs()), pairs()
    assert float(found["two_single_mse"]) < 1e-12
    assert float(found["two_real"]) == pytest.approx(1, abs=1e-3) == float(found["two_ghost"])
    # The crossings are two bumps again, far from the others: as much energy as the target.
    image = DATA["image"].values.astype(np.float64)
    x, y = DATA["position_x"].values[chosen], DATA["position_y"].values[chosen]
    crossings = image[GRID * y[:, 0] + x[:, 1]] + image[GRID * y[:, 1] + x[:, 0]]
    assert float(found["two_mse"]) == pytest.approx(np.square(crossings).mean(), rel=1e-4)
    target = image[chosen[:, 0]] + image[chosen[:, 1]]
    assert float(found["two_zero_baseline"]) == pytest.approx(np.square(target).mean(), rel=1e-5)
    assert float(found["two_additivity"]) == pytest.approx(
        np.square(crossings).sum() / np.square(target).sum(), rel=1e-4
    )
    assert np.allclose(found["two_target"], target[0]) and found["two_image"].shape == (GRID, GRID)


def test_a_linear_map_superposes_and_draws_no_bump():
    found = measure.two_bumps(Linear(), DATA, pairs())
    assert float(found["two_additivity"]) < 1e-12
    assert float(found["two_mse"]) == pytest.approx(float(found["two_single_mse"]))
    assert float(found["two_mse"]) > float(found["two_zero_baseline"])
