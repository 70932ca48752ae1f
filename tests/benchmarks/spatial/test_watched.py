"""A watched training: what it draws, keeps, and says of having settled."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from benchmarks.spatial import positions, watched
from benchmarks.spatial.decoders import mean_squared_error
from data_gen import bumps
from vnlib.fit_many import side_by_side

DATA = bumps.make(bumps.BumpConfig(grid=12, sigma=1.0))
MLP = {"family": "mlp", "options": {"hidden": [16]}, "lr": 1e-2, "steps": 60, "batch_size": 8}


def test_a_training_ends_at_its_best_validation_error_and_keeps_the_way_there(tmp_path):
    model, found = positions.watched(DATA, "cpu", **MLP, seed=0, workdir=tmp_path)
    errors, updates = found["curve_id"].values, found["updates"].values
    kept = mean_squared_error(model, positions.pair(DATA, "val", "cpu"))
    assert kept == pytest.approx(np.nanmin(errors), rel=1e-5)
    assert updates[0] == 3 and np.nanmax(updates) == 60 and np.isnan(updates[20:]).all()
    assert np.isfinite(found["curve_ood"].values).sum() == 20
    assert errors[0] > 1.5 * np.nanmin(errors), "it learns"


def test_the_learning_rate_is_constant(tmp_path):
    """Two trainings of different lengths are alike as far as they go."""
    short, long = (
        positions.watched(DATA, "cpu", **MLP | {"steps": n}, seed=0, workdir=tmp_path / str(n))[1]
        for n in (20, 40)
    )
    at_20 = [float(one["curve_ood"][one["updates"] == 20].item()) for one in (short, long)]
    assert at_20[0] == at_20[1]


def test_what_goes_on_after_a_stop_has_its_beginning(tmp_path, monkeypatch):
    whole = positions.watched(DATA, "cpu", **MLP, seed=0, workdir=tmp_path / "whole")[1]
    monkeypatch.setattr(watched, "FitConfig", lambda **k: CONFIG(**k, checkpoint_every=30))
    mean, calls = watched.mean_squared_error, []

    def stops(*given):
        calls.append(given)
        if len(calls) > 30:  # two sets per evaluation: in the middle of the run
            raise KeyboardInterrupt
        return mean(*given)

    monkeypatch.setattr(watched, "mean_squared_error", stops)
    with pytest.raises(KeyboardInterrupt):
        positions.watched(DATA, "cpu", **MLP, seed=0, workdir=tmp_path / "stopped")
    monkeypatch.setattr(watched, "mean_squared_error", mean)
    assert (tmp_path / "stopped" / "fit.safetensors").exists()
    again = positions.watched(DATA, "cpu", **MLP, seed=0, workdir=tmp_path / "stopped")[1]
    assert again.identical(whole)


CONFIG = watched.FitConfig


def test_draws_are_with_replacement_and_each_seed_s_own(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(
        watched, "fit", lambda learner, data, *_, **__: seen.append(data[0].unique(dim=0))
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
    assert not np.allclose(together[0]["curve_id"][:20], together[1]["curve_id"][:20], rtol=1e-2)


@pytest.mark.parametrize(
    ("errors", "gain", "settled"),
    [
        ([4, 2, 1, 1, 0.5], 0.5, 0),
        ([4, 2, 1, 1, 0.99], 0.01, 1),
        ([4, 2, 1, 0.5, 0.7], 0.0, 1),  # the best is kept, and was there before
        ([4, 2, 1, 1, np.nan], 0.0, 1),
    ],
)
def test_settled_is_who_gains_little_in_the_last_fifth(errors, gain, settled):
    updates = np.array([10, 20, 30, 40, 50.0])
    found = watched.curves({"id": np.array(errors, float), "ood": np.ones(5)}, updates)
    assert float(found["gain"]) == pytest.approx(gain) and int(found["settled"]) == settled


def test_who_is_not_watched_says_nothing():
    found = watched.unwatched("id", "ood")
    assert all(values.isnull().all() for values in found.values())
    curve = watched.curves({"id": np.full(watched.CHECKPOINTS, 1.0)}, np.arange(1.0, 26))
    assert set(found) == {*curve, "curve_ood"}
