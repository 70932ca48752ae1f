"""A training of positions that is watched: how it learns, what it draws, and the errors it notes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from benchmarks.spatial import decoders, positions
from benchmarks.spatial.decoders import mean_squared_error
from data_gen import bumps
from vnlib.fit_many import side_by_side

DATA = bumps.make(bumps.BumpConfig(grid=12, sigma=1.0))
MLP = {"family": "mlp", "options": {"hidden": [16]}, "lr": 1e-2, "steps": 60, "batch_size": 8}


def test_a_training_ends_at_its_best_validation_error_and_notes_that_of_the_hold_out(tmp_path):
    model, found = positions.watched(DATA, "cpu", **MLP, seed=0, workdir=tmp_path)
    best = found.isel(checkpoint=int(found["curve_val"].argmin("checkpoint")))
    for name, split in (("curve_val", "val"), ("curve_ood", "ood")):
        kept = mean_squared_error(model, positions.pair(DATA, split, "cpu"))
        assert kept == pytest.approx(float(best[name]), rel=1e-5)
    assert found["curve_val"][0] > 1.5 * best["curve_val"], "it learns"


def test_the_learning_rate_is_constant(tmp_path):
    """Two trainings of different lengths are alike as far as they go."""
    short, long = (
        positions.watched(DATA, "cpu", **MLP | {"steps": n}, seed=0, workdir=tmp_path / str(n))[1]
        for n in (20, 40)
    )
    at_20 = [float(one["curve_ood"][one["curve_step"] == 20].item()) for one in (short, long)]
    assert at_20[0] == at_20[1]


def test_draws_are_with_replacement_and_each_seed_s_own(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(
        decoders, "fit", lambda learner, data, *_, **__: seen.append(data[0].unique(dim=0))
    )
    for seed, draws in ((0, 50), (1, 50), (0, None)):
        given = MLP | {"draws": draws, "seed": seed, "workdir": tmp_path}
        positions.watched(DATA, "cpu", **given)
    first, other, every = (len(one) for one in seen)
    assert first < 50 < every, "some positions come twice"
    assert not (first == other and torch.equal(seen[0], seen[1]))
    with pytest.raises(ValueError, match="draws must be an integer >= 1, got 0"):
        positions.watched(DATA, "cpu", **MLP | {"draws": 0}, seed=0, workdir=tmp_path)


def test_side_by_side_they_become_what_they_become_alone(tmp_path):
    def call(seed: int, folder: str):
        where = tmp_path / folder / str(seed)
        return positions.watched(DATA, "cpu", **MLP, draws=40, seed=seed, workdir=where)[1]

    together = dict(side_by_side([lambda s=s: call(s, "together") for s in (0, 1)]))
    for seed, found in together.items():
        alone = call(seed, "alone")
        np.testing.assert_allclose(found["curve_ood"], alone["curve_ood"], rtol=1e-3)
    assert not np.allclose(together[0]["curve_val"][:20], together[1]["curve_val"][:20], rtol=1e-2)


@pytest.mark.parametrize("family", ["vn", None])
def test_errors_of_what_is_not_watched_are_nan_at_as_many_places(family, tmp_path):
    options = {"streams": "axes", "n_atoms": 4}
    given = {"options": options, "lr": 1e-2, "steps": 2, "batch_size": 8, "consolidation": 0}
    if family:
        given |= {"family": family, "seed": 0, "workdir": tmp_path}
        found = positions.watched(DATA, "cpu", **given)[1]
    else:
        found = positions.unwatched()
    assert set(found) == {"curve_step", "curve_val", "curve_ood"}
    assert found.sizes == {"checkpoint": positions.CHECKPOINTS}
    assert all(values.isnull().all() for values in found.values())
