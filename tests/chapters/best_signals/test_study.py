"""Runs in small, data of each seed's own, and libraries of atoms."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from chapters.best_signals import study
from chapters.best_signals.study import library
from data_gen import signals
from vnlib.book import chapter
from vnlib.book.store.variables import described

SPEC = chapter.spec("best_signals")
SMALL = chapter.Chapter(SPEC, SPEC.check({"device": "cpu"}))
PAPER = chapter.Chapter(SPEC, SPEC.check({"profile": "paper", "device": "cpu"}))


@pytest.mark.parametrize("model", ["vn_2048", "vn_no_fine", "process_rq", "pca", "deep_ae_masked"])
def test_a_run_is_measured_in_all_cells(model, tmp_path):
    settings = study.settings(SMALL, {"model": model, "seed": 0})
    found = study.run(SMALL, {"model": model, "seed": 0}, settings, tmp_path)
    named = described(found, study.VARIABLES)
    assert all(one.attrs["long_name"] for one in named.variables.values())
    few = SPEC.sidecar["models"][model].get("few", False)
    assert found["hidden"].sizes == {"mask": 3 if few else 4, "set": 3, "step": 2, "case": 6}
    assert bool(found["hidden"].notnull().all()) and bool((found["power"] > 0).all())
    assert ("filled" in found) != few
    assert bool(found["curve"].notnull().all()) == (model == "deep_ae_masked")
    assert bool(found["fact_atoms"].notnull().all()) == model.startswith("vn")


def test_each_seed_has_signals_and_masks_of_its_own_and_none_are_the_books():
    each = [study.settings(PAPER, {"model": "vn_2048", "seed": seed}) for seed in range(8)]
    own = {one["data"][name] for one in each for name in ("seed", "test_seed")}
    plain = signals.SignalConfig()
    assert len(own) == 16 and not own & {plain.seed, plain.test_seed}
    masks = {one["mask_seed"] + i for one in each for i in range(4)}
    assert len(masks) == 32, "one for each set and seed"


def test_ingredients_are_given_the_first_few_signals_and_runs_of_hidden_samples():
    few = study.settings(PAPER, {"model": "vn_256", "seed": 0})
    assert few["few"] == 24 and few["masks"] == [*study.RUNS] and not few["picture_masks"]
    whole = study.settings(PAPER, {"model": "vn_2048", "seed": 0})
    assert whole["few"] == 60 and len(whole["masks"]) == 4 and whole["picture_masks"]
    assert few["data"] == whole["data"] and few["mask_seed"] == whole["mask_seed"]


def test_libraries_are_training_signals_or_have_their_norm(tmp_path):
    data = signals.make(signals.SignalConfig(length=64, n_train=96, n_val=4, n_test=4, seed=2))
    train = torch.from_numpy(signals.subset(data, "train")["value"].values)
    how = {"lr": 5e-3, "steps": 3, "batch_size": 16}
    options = {"atoms": 10}
    drawn = library(train, 1, tmp_path, how, options)
    rows = {row.tobytes() for row in train.double().numpy()}
    assert len(drawn) == 10 and all(row.tobytes() in rows for row in drawn) and not options
    norm = float(train.norm(dim=1).square().mean().sqrt())
    for source in ("learned", "fixed"):
        options = {"atoms": 10, "source": source, "sparsity": 0.13, "slots": 2}
        atoms = library(train, 1, tmp_path, how, options)
        np.testing.assert_allclose(np.linalg.norm(atoms, axis=1), norm, rtol=1e-5)
        assert options == {"slots": 2} and (len(atoms) == 10) == (source == "learned")


def test_errors_are_of_hidden_samples_only():
    shown = torch.tensor([[True, False, False], [True, True, False]])
    values = torch.tensor([[9.0, 1.0, 2.0], [9.0, 9.0, 3.0]])
    np.testing.assert_allclose(study.over_hidden(values, shown), [2.5, 9.0])


def test_a_curve_is_kept_at_tenths():
    assert study.tenths([3, 2, 1, 0])[[0, 4, 9]].tolist() == [3, 2, 0]
    assert np.isnan(study.tenths(())).all()
