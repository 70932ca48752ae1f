"""The published training: when the rate falls, how long a gradient may be, what is noted."""

from __future__ import annotations

import pytest
import torch

from benchmarks.spatial import registry
from benchmarks.spatial.decoders import mean_squared_error
from chapters.FR5_rotation.training import LONGEST, PlateauLearner, train

CODES = torch.randn(20, 2, generator=torch.Generator().manual_seed(0))
IMAGES = CODES[:, :, None] * CODES[:, None, :]
SETS = {"train": slice(0, 10), "val": slice(10, 14), "ood": slice(14, 20)}


def learner() -> PlateauLearner:
    model = registry.build("mlp", n_inputs=2, image_shape=(2, 2), seed=0, hidden=[4])
    return PlateauLearner(model, lr=1e-2, weight_decay=0.0)


def test_the_rate_is_halved_after_more_than_five_passes_without_a_gain():
    one, rates = learner(), []
    for n, error in enumerate([3.0, 2.0, *[2.0] * 7]):
        assert one.observe(error) == n + 1
        rates.append(one.lr)
        one.step((CODES, IMAGES), scale=1.0, generator=torch.Generator())
        assert one.optimizer.param_groups[0]["lr"] == one.lr
    assert rates == [1e-2] * 7 + [5e-3] * 2
    for _ in range(200):
        one.observe(2.0)
    assert one.lr == 1e-6


def test_a_gradient_is_shortened_and_a_short_one_left_alone():
    one, generator = learner(), torch.Generator()
    for factor, bounded in ((1e4, True), (1e-4, False)):
        one.step((CODES, factor * IMAGES), scale=1.0, generator=generator)
        gradient = torch.cat([p.grad.flatten() for p in one.model.parameters()])
        assert (gradient.norm().item() == pytest.approx(LONGEST, rel=1e-4)) == bounded


def test_a_decoder_at_its_best_pass_and_its_curve():
    data = {name: (CODES[rows], IMAGES[rows]) for name, rows in SETS.items()}
    model, curves = train(
        data,
        family="mlp",
        options={"hidden": [8]},
        lr=1e-2,
        weight_decay=0.0,
        passes=10,
        batch_size=4,
        seed=0,
        evaluations=10,
    )
    assert curves["curve_step"].values.tolist() == list(range(1, 11))
    least = int(curves["curve_val"].values.argmin())
    for name in ("val", "ood"):
        assert curves[f"curve_{name}"][least] == mean_squared_error(model, data[name])
