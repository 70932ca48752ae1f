"""Errors along training: when they are noted, that a checkpoint keeps them, and settled runs."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import xarray as xr

from benchmarks.spatial.curves import Watch
from benchmarks.spatial.decoders import mean_squared_error, train_decoder

CODES = torch.randn(24, 4, generator=torch.Generator().manual_seed(0))
IMAGES = CODES[:, :, None] * CODES[:, None, :]
TRAIN, VALIDATION, HELD_OUT = ((CODES[rows], IMAGES[rows]) for rows in torch.arange(24).chunk(3))
OPTIONS = {"options": {"hidden": [8]}, "lr": 1e-2, "batch_size": 4, "seed": 0}


def watched(workdir, steps=10, evaluations=4):
    watch = Watch(mean_squared_error, {"ood": HELD_OUT}, steps=steps, evaluations=evaluations)
    model = train_decoder(
        TRAIN, VALIDATION, family="mlp", steps=steps, watch=watch, workdir=workdir, **OPTIONS
    )
    return model, watch.curves()


def test_errors_are_noted_in_equal_distances_and_at_the_end(tmp_path):
    model, curves = watched(tmp_path)
    assert curves["curve_step"].values.tolist() == [3, 6, 9, 10]
    least = int(curves["curve_val"].values.argmin())
    kept = [mean_squared_error(model, pair) for pair in (VALIDATION, HELD_OUT)]
    assert [float(curves[f"curve_{name}"][least]) for name in ("val", "ood")] == kept


def test_places_without_an_evaluation_are_nan(tmp_path):
    _, curves = watched(tmp_path, steps=6)
    assert curves["curve_step"].values[:3].tolist() == [2, 4, 6]
    assert np.isnan(curves.to_array()[:, 3]).all() and not np.isnan(curves.to_array()[:, :3]).any()


def test_a_killed_run_goes_on_with_its_curve(tmp_path, monkeypatch):
    whole = watched(tmp_path / "a", steps=2000, evaluations=8)[1]
    note, calls = Watch.note, []

    def killed(self, model, val):
        calls.append(val)
        if len(calls) == 6:
            raise KeyboardInterrupt
        note(self, model, val)

    monkeypatch.setattr(Watch, "note", killed)
    with pytest.raises(KeyboardInterrupt):
        watched(tmp_path / "b", steps=2000, evaluations=8)
    monkeypatch.setattr(Watch, "note", note)
    xr.testing.assert_identical(watched(tmp_path / "b", steps=2000, evaluations=8)[1], whole)


def phases(workdir, consolidation=7):
    own = {"options": {"streams": "joint", "n_atoms": 4}, "lr": 1e-2, "batch_size": 4, "seed": 0}
    length = {"steps": 5, "consolidation": consolidation}
    watch = Watch(mean_squared_error, {"ood": HELD_OUT}, **length, evaluations=6)
    given = own | length | {"family": "vn", "watch": watch, "workdir": workdir}
    return train_decoder(TRAIN, VALIDATION, **given), watch


def test_a_vector_network_is_watched_in_both_phases(tmp_path):
    model, watch = phases(tmp_path)
    curves = watch.curves().dropna("checkpoint")
    assert curves["curve_step"].values.tolist() == [3, 5, 8, 11, 12]
    least = int(curves["curve_val"][2:].values.argmin())
    kept = [mean_squared_error(model, pair) for pair in (VALIDATION, HELD_OUT)]
    noted = [float(curves[f"curve_{name}"][2 + least]) for name in ("val", "ood")]
    assert noted == pytest.approx(kept, rel=1e-6)


def test_a_vector_network_becomes_what_it_becomes_unwatched_at_the_same_evaluations(
    tmp_path, monkeypatch
):
    watched_one, _ = phases(tmp_path / "watched")
    monkeypatch.setattr(Watch, "note", lambda *_: None)
    other, _ = phases(tmp_path / "other")
    for one, two in zip(watched_one.parameters(), other.parameters(), strict=True):
        assert torch.equal(one, two)


def test_a_killed_vector_network_goes_on_with_its_curve(tmp_path, monkeypatch):
    """Killed after its first phase: that one's errors are in its checkpoint."""
    whole = phases(tmp_path / "a")[1].curves()
    note, calls = Watch.note, []

    def killed(self, *given):
        calls.append(given)
        if len(calls) == 3:
            raise KeyboardInterrupt
        note(self, *given)

    monkeypatch.setattr(Watch, "note", killed)
    with pytest.raises(KeyboardInterrupt):
        phases(tmp_path / "b")
    monkeypatch.setattr(Watch, "note", note)
    xr.testing.assert_identical(phases(tmp_path / "b")[1].curves(), whole)


@pytest.mark.parametrize("bad", [{"steps": 0}, {"evaluations": 0}])
def test_numbers_below_one_are_refused(bad):
    with pytest.raises(ValueError, match=f"{next(iter(bad))} must be"):
        Watch(mean_squared_error, {}, **({"steps": 1, "evaluations": 1} | bad))
