"""Autoencoders of signals: the formulas, the price on the latent, that they learn and fill in."""

from __future__ import annotations

import pytest
import torch

from benchmarks.baselines.parts import built
from benchmarks.functions.reconstructor import training_masks
from benchmarks.functions.signal_autoencoders import DeepAutoencoder
from vnlib.fit import FitConfig, GradientLearner, fit

LENGTH = 32


def small(seed: int = 0, **options: object) -> DeepAutoencoder:
    return built(
        DeepAutoencoder, length=LENGTH, seed=seed, **({"hidden": (24, 12), "latent": 4} | options)
    )


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def signals(n: int, seed: int = 0) -> torch.Tensor:
    """Sines of one frequency with any amplitude and phase: a plane."""
    scores = torch.randn(n, 2, generator=generator(seed))
    t = torch.linspace(0, 6.28, LENGTH)
    return scores @ torch.stack([t.sin(), t.cos()])


def trained(model: DeepAutoencoder, steps: int) -> DeepAutoencoder:
    config, train, held = (
        FitConfig(steps=steps, batch_size=32, eval_every=steps),
        signals(256),
        signals(32, seed=2),
    )

    @torch.no_grad()
    def error() -> float:
        return float((model(held) - held).square().mean())

    fit(GradientLearner(model, lr=5e-3), (train,), config, seed=0, validate=error)
    return model


def by_hand(
    model: DeepAutoencoder, read: torch.Tensor, *, rectify: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Latent and signal from the weights alone."""
    linears = [
        m for part in (model.encoder, model.decoder) for m in part if isinstance(m, torch.nn.Linear)
    ]
    middle, h = len(linears) // 2 - 1, read
    for index, layer in enumerate(linears):
        h = h @ layer.weight.T + layer.bias
        if index == middle:
            z = h = h.relu() if rectify else h
        elif index < len(linears) - 1:
            h = h.relu()
    return z, h


def test_sizes_of_the_two_models_of_the_table():
    def sizes(**options):
        model = built(DeepAutoencoder, length=512, seed=0, **options)
        return [
            m.out_features
            for m in (*model.encoder, *model.decoder)
            if isinstance(m, torch.nn.Linear)
        ]

    assert sizes() == [512, 256, 128, 32, 128, 256, 512, 512]
    assert sizes(latent=128, sparsity=1e-3) == [512, 256, 128, 128, 128, 256, 512, 512]


@pytest.mark.parametrize("sparsity", [0.0, 0.3])
def test_the_signal_is_that_of_the_weights_with_a_linear_or_a_rectified_latent(sparsity):
    model, x = small(sparsity=sparsity), signals(5)
    z, expected = by_hand(model, x, rectify=sparsity > 0)
    torch.testing.assert_close(model(x), expected)
    torch.testing.assert_close(model.encode(x[:, None]), z)
    assert (z.min() >= 0) == (sparsity > 0)
    price = sparsity * z.abs().sum() / len(x) / LENGTH
    torch.testing.assert_close(
        model.loss(x, generator=generator()), (expected - x).square().mean() + price
    )


@pytest.mark.parametrize("sparsity", [0.0, 0.1])
def test_a_masked_model_reads_the_mask_and_is_scored_on_whole_signals(sparsity):
    model, x = small(masked=True, sparsity=sparsity), signals(6)
    seen = training_masks(6, LENGTH, generator=generator(3))
    z, expected = by_hand(model, torch.cat([x * seen, seen.float()], 1), rectify=sparsity > 0)
    torch.testing.assert_close(model(torch.where(seen, x, torch.nan), seen), expected)
    price = sparsity * z.abs().sum() / len(x) / LENGTH
    torch.testing.assert_close(
        model.loss(x, generator=generator(3)), (expected - x).square().mean() + price
    )


def test_an_unmasked_model_reads_zeros_where_hidden():
    model, x = small(), signals(3)
    seen = torch.arange(LENGTH).expand(3, -1) < 20
    torch.testing.assert_close(model(torch.where(seen, x, torch.nan), seen), model(x * seen))


@pytest.mark.parametrize(("masked", "sparsity"), [(False, 0.0), (True, 0.0), (False, 1e-3)])
def test_it_learns(masked, sparsity):
    model, test = trained(small(masked=masked, sparsity=sparsity), 300), signals(64, seed=1)
    seen = torch.arange(LENGTH).expand(64, -1) < 20
    found = model(test, seen if masked else None)
    assert (found - test).square().mean() < 0.15 * test.square().mean()


def test_more_price_means_less_activity():
    def activity(sparsity):
        return trained(small(sparsity=sparsity), 150).encode(signals(64, seed=1)[:, None]).mean()

    assert activity(1.0) < 0.5 * activity(1e-6)


def test_same_seed_same_weights():
    first, again, other = small(1), small(1), small(2)
    assert all(
        torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True)
    )
    assert not torch.equal(first.encoder[0].weight, other.encoder[0].weight)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"latent": 0}, "latent must be an integer >= 1, got 0"),
        ({"hidden": (8, 0)}, "each entry of hidden must be an integer >= 1, got 0"),
        ({"hidden": 8}, "hidden must be a sequence"),
        ({"sparsity": -1.0}, "sparsity must be a finite number >= 0, got -1"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        small(**options)
