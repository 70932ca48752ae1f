"""The embedding network and the description of its maps: factors, penalties and bands with known
answers.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import xarray as xr

from benchmarks.spatial import registry
from chapters.FR3_low_rank import measure
from chapters.FR3_low_rank.baselines import EmbeddingDecoder, spectral_entropy

SIDE = 12


def build(**options) -> EmbeddingDecoder:
    torch.manual_seed(0)
    return EmbeddingDecoder(n_inputs=2 * SIDE, image_shape=(SIDE, SIDE), **options)


def data(side: int = SIDE) -> xr.Dataset:
    """Bumps at all positions, one-hot codes, the upper right quarter held out."""
    place = np.arange(side)
    y, x = (a.ravel() for a in np.meshgrid(place, place, indexing="ij"))
    profile = np.exp(-0.5 * np.square(place - place[:, None]))
    split = np.where((x >= side // 2) & (y >= side // 2), "ood", "train").astype("<U7")
    split[[0, 1]], split[[2, 3]] = "val", "id_test"
    code = np.concatenate([np.eye(side)[x], np.eye(side)[y]], 1).astype(np.float32)
    image = (profile[y][:, :, None] * profile[x][:, None, :]).astype(np.float32)
    named = {"position_x": x, "position_y": y, "split": split}
    named = {name: ("position", values) for name, values in named.items()}
    return xr.Dataset(
        {"code": (("position", "code"), code), "image": (("position", "y", "x"), image), **named}
    )


def test_the_parameters_number_as_published():
    """32 px, rank 32: 64 tokens of 32 (1 + 32 + 32) numbers, and 98 of the CNN (FR App. C)."""
    model = EmbeddingDecoder(n_inputs=64, image_shape=(32, 32))
    assert sum(p.numel() for p in model.parameters()) == 133_218
    assert sum(p.numel() for p in model.cnn.parameters()) == 98


def test_a_map_is_the_sum_of_its_modes():
    model = build(rank=3)
    u, v = (x / x.norm(dim=-1, keepdim=True) for x in (model.u, model.v))
    token = 5
    by_hand = sum(model.s[token, k] * torch.outer(u[token, k], v[token, k]) for k in range(3))
    torch.testing.assert_close(model.embeddings()[token], by_hand)


def test_the_lengths_of_u_and_v_do_not_matter():
    model = build()
    before = model.embeddings().detach().clone()
    with torch.no_grad():
        model.u.mul_(7)
        model.v.mul_(0.1)
    torch.testing.assert_close(model.embeddings(), before)


@pytest.mark.parametrize("options", [{}, {"rank": 1}, {"maps": "free"}, {"maps": "bands"}])
def test_the_channels_are_the_maps_of_the_two_tokens(options):
    model, chosen = build(**options), torch.tensor([[2, 9], [11, 0]])
    x = torch.zeros(2, 2 * SIDE)
    x[torch.arange(2), chosen[:, 0]] = 1
    x[torch.arange(2), SIDE + chosen[:, 1]] = 1
    maps = model.embeddings()
    wanted = torch.stack([maps[chosen[:, 0]], maps[SIDE + chosen[:, 1]]], 1)
    torch.testing.assert_close(model.channels(x), wanted)
    assert model(x).shape == (2, SIDE, SIDE)


def test_bands_are_bands_by_construction_and_others_are_not():
    def own(model):
        share = measure.bands(model.embeddings().detach())
        return torch.cat([share[:SIDE, 0], share[SIDE:, 1]])

    torch.testing.assert_close(own(build(maps="bands")), torch.ones(2 * SIDE))
    assert own(build(maps="free")).median() < 0.3


def test_entropy_counts_modes():
    s = torch.tensor([[1.0, 0, 0, 0], [1, 1, 1, 1], [2, -2, 0, 0]])
    torch.testing.assert_close(
        spectral_entropy(s).exp(), torch.tensor([1.0, 4, 2]), atol=1e-4, rtol=1e-4
    )


@torch.no_grad()
def test_the_penalty_is_that_of_the_equations():
    model = build(rank=4, entropy=0.3, variance=0.2)
    p = model.s.square() / model.s.square().sum(1, keepdim=True)
    entropy = -(p * p.log()).sum()
    # Unbiased variance over the entries of each vector, before it is divided by its length.
    variance = sum(np.var(w.numpy(), axis=-1, ddof=1).sum() for w in (model.u, model.v))
    assert float(model.penalty()) == pytest.approx(0.3 * float(entropy) + 0.2 * variance, rel=1e-4)
    x, y = torch.eye(2 * SIDE)[:3], torch.zeros(3, SIDE, SIDE)
    loss = model.loss(x, y, generator=torch.Generator())
    assert float(loss) == pytest.approx(float(model(x).square().mean() + model.penalty()), rel=1e-5)
    assert float(build().penalty()) == 0


@torch.no_grad()
def test_constant_vectors_cost_no_variance():
    model = build(rank=2, variance=1.0)
    model.u.fill_(0.3)
    model.v.fill_(-0.2)
    assert float(model.penalty()) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"maps": "dense"}, "maps"),
        ({"maps": "free", "rank": 2}, "maps='factors'"),
        ({"maps": "bands", "entropy": 0.1}, "maps='factors'"),
        ({"rank": 0}, "rank"),
        ({"entropy": -1.0}, "entropy"),
        ({"variance": math.nan}, "variance"),
        ({"n_inputs": 5}, "n_inputs"),
    ],
)
def test_bad_options_are_named(options, named):
    with pytest.raises(ValueError, match=named):
        EmbeddingDecoder(**({"n_inputs": 8, "image_shape": (4, 4)} | options))


def test_bands_of_known_maps():
    upright = torch.tensor([1.0, 2, 3]).expand(3, 3)  # varies along x only
    rng = torch.Generator().manual_seed(0)
    noise = torch.randn(2000, 3, 3, generator=rng)
    share = measure.bands(torch.stack([upright, upright.T, torch.ones(3, 3)]))
    assert share[0, 0] == pytest.approx(1) and share[1, 1] == pytest.approx(1)
    # the mean 2 in each row, against 1 + 4 + 9
    assert share[0, 1] == pytest.approx(4 * 9 / (3 * 14))
    torch.testing.assert_close(share[2], torch.ones(2))
    torch.testing.assert_close(
        measure.bands(noise).mean(0), torch.full((2,), 1 / 3), atol=0.02, rtol=0
    )


def test_singular_shares_are_those_of_a_diagonal():
    shares = measure.singular_shares(torch.diag(torch.tensor([1.0, 3, 0]))[None])
    torch.testing.assert_close(shares, torch.tensor([[0.9, 0.1, 0.0]]))


@torch.no_grad()
def test_a_report_of_a_network_and_of_a_decoder_without_maps():
    ds, network = data(), build(entropy=0.1)
    plain = registry.build("factorised", n_inputs=2 * SIDE, image_shape=(SIDE, SIDE), seed=0)
    given = {"samples": [0, 5], "tokens": [1, 7]}
    one = measure.report(network, ds, pictures=True, **given)
    other = measure.report(plain, ds, pictures=False, **given)
    assert set(one.data_vars) == set(other.data_vars)
    assert one.sizes == other.sizes
    maps = network.embeddings().numpy()
    kept = one["embedding"].sel(axis="y", token_shown=7)
    np.testing.assert_allclose(kept, maps[SIDE + 7], atol=1e-3)
    assert np.isfinite(one["mse_ood"]) and np.isfinite(other["mse_ood"])
    assert one["sample_image"].notnull().all() and other["sample_image"].isnull().all()
    assert other["band"].isnull().all() and other["s_rank"].isnull().all()
    counted = spectral_entropy(network.s).exp()
    assert float(one["s_rank"].sel(axis="x")) == pytest.approx(
        float(counted[:SIDE].median()), rel=1e-5
    )


def test_the_volume_of_the_true_images_is_half_pi():
    """Of a bump that the edge does not cut: each derivative has the squared length pi / 2, whatever
    sigma.
    """
    ds = data(24)
    wide = np.exp(-0.5 * np.square((np.arange(24) - np.arange(24)[:, None]) / 2.5))
    x, y = ds["position_x"].values, ds["position_y"].values
    ds["image"] = (
        ("position", "y", "x"),
        (wide[y][:, :, None] * wide[x][:, None, :]).astype(np.float32),
    )
    log_volume = measure._log_volume(torch.from_numpy(ds["image"].values), 24)
    assert float(log_volume[12, 12]) == pytest.approx(math.log10(math.pi / 2), abs=0.05)
