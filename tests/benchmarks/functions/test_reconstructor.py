"""The interface of signal models: what they read, what they are trained on, and what they
refuse.
"""

from __future__ import annotations

import pytest
import torch
from torch import nn

from benchmarks.baselines.parts import built
from benchmarks.functions.reconstructor import Reconstructor, check_patch, patches, training_masks


class Linear(Reconstructor):
    """All channels, weighed by one matrix."""

    def __init__(self, *, length: int, masked: bool = False) -> None:
        super().__init__(length=length, masked=masked)
        self.weight = nn.Linear(self.n_channels * length, length)

    def render(self, channels):
        return self.weight(channels.flatten(1))


@pytest.fixture(scope="module")
def x() -> torch.Tensor:
    return torch.randn(12, 8, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("masked", [False, True])
def test_hidden_samples_are_never_looked_at(x, masked):
    model = built(Linear, length=8, seed=0, masked=masked)
    observed = torch.arange(8) < 5
    spoilt = torch.where(observed, x, torch.nan)
    observed = observed.expand_as(x)
    assert torch.equal(model(x, observed), model(spoilt, observed))
    zeros = torch.where(observed, x, torch.zeros(()))
    # only a masked model can tell them apart
    assert torch.equal(model(x, observed), model(zeros)) is not masked


def test_channels_are_the_signal_and_the_mask(x):
    observed = torch.rand(x.shape, generator=torch.Generator().manual_seed(1)) > 0.5
    channels = built(Linear, length=8, seed=0, masked=True).channels(x, observed)
    assert torch.equal(channels[:, 0], x * observed) and torch.equal(
        channels[:, 1], observed.float()
    )


def test_the_loss_is_the_error_on_whole_signals(x):
    model = built(Linear, length=8, seed=0)
    rng = torch.Generator().manual_seed(5)
    before = rng.get_state()
    assert model.loss(x, generator=rng).item() == pytest.approx(((model(x) - x) ** 2).mean().item())
    assert torch.equal(rng.get_state(), before)  # nothing is drawn where nothing is hidden
    masked = built(Linear, length=8, seed=0, masked=True)
    observed = training_masks(12, 8, generator=torch.Generator().manual_seed(5))
    wanted = ((masked(x, observed) - x) ** 2).mean().item()
    assert masked.loss(x, generator=torch.Generator().manual_seed(5)).item() == pytest.approx(
        wanted
    )


def test_training_masks_take_turns_and_hide_a_tail_single_samples_and_a_run():
    masks = training_masks(3000, 100, generator=torch.Generator().manual_seed(0))
    tail, single, run = (masks[kind::3] for kind in range(3))
    edges = masks.int().diff(dim=1).abs().sum(1)
    hidden = 1 - masks.float().mean(1)
    assert tail[:, 0].all() and not tail[:, -1].any() and (edges[0::3] == 1).all()
    assert (edges[2::3] <= 2).all() and (edges[1::3] > 5).all()
    for kind, (low, high) in enumerate(((0.1, 0.6), (0.1, 0.5), (0.1, 0.4))):
        share = hidden[kind::3]
        slack = 0.2 if kind == 1 else 0.011  # single samples are hidden by chance, one by one
        assert low - slack <= share.min() < low + 0.02 and high - 0.02 < share.max() <= high + slack
        assert share.mean() == pytest.approx((low + high) / 2, abs=0.02)
    assert len(single.unique(dim=0)) == len(single) and len(run.unique(dim=0)) > 500


def test_patches_are_pieces_of_all_channels():
    channels = torch.arange(24.0).view(1, 2, 12)
    cut = patches(channels, 4)
    assert cut.shape == (1, 3, 8)
    assert cut[0, 1].tolist() == [4, 5, 6, 7, 16, 17, 18, 19]
    assert check_patch(12, 4) == 3
    with pytest.raises(ValueError, match="patch must divide the length 12, got 5"):
        check_patch(12, 5)


def test_weights_follow_the_seed_and_leave_the_global_state_alone():
    before = torch.get_rng_state()
    one, same, other = (built(Linear, length=8, seed=seed).weight.weight for seed in (1, 1, 2))
    assert torch.equal(one, same) and not torch.equal(one, other)
    assert torch.equal(torch.get_rng_state(), before)


def test_bad_input_is_named(x):
    model = built(Linear, length=8, seed=0)
    with pytest.raises(
        ValueError, match=r"x must have the shape \(batch, length=8\), got \(12, 7\)"
    ):
        model(x[:, :7])
    with pytest.raises(
        ValueError, match=r"observed must be bool and have the shape of x, \(12, 8\), got \(8,\)"
    ):
        model(x, torch.ones(8, dtype=torch.bool))
    with pytest.raises(ValueError, match="length must be an integer >= 2, got 1"):
        built(Linear, length=1, seed=0)
    with pytest.raises(ValueError, match="Linear has no option width; it has masked"):
        built(Linear, length=8, seed=0, width=3)
