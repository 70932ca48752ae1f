"""Models that fill in signals, by name: what they look at, and that the same seed gives the same."""

from __future__ import annotations

import pytest
import torch

from benchmarks.functions.imputer import best_of
from benchmarks.functions.imputers import fit_imputer
from data_gen import signals

LENGTH = 64
TRAINING = {"lr": 1e-3, "steps": 2, "batch_size": 16, "seed": 0}
DATA = signals.make(signals.SignalConfig(length=LENGTH, n_train=64, n_val=8, n_test=12))
OBSERVED = {
    name: signals.observed("block_128", n, LENGTH, seed=i)
    for i, (name, n) in enumerate({"val": 8, "hard": 12}.items())
}


def held(name):
    return torch.from_numpy(signals.subset(DATA, name)["value"].values)


def made(tmp_path, family, **options):
    return fit_imputer(
        held("train"), held("val"), family=family, options=options, workdir=tmp_path, **TRAINING
    )


def test_what_must_be_chosen_is_chosen_on_the_signals_given():
    x = torch.arange(12.0).reshape(3, 4)
    observed = torch.zeros_like(x, dtype=torch.bool)
    fill = best_of((0.0, 2.0, 1.0), lambda add: lambda x, seen: x + 1 - add, x, observed)
    assert torch.equal(fill(x, observed), x)
    assert (
        best_of((5.0, 1.0, 7.0), lambda by: lambda x, seen: x / (by > 1), x, observed)(x, observed)
        .isfinite()
        .all()
    ), "what gives NaN is never chosen"
    for choices in ((), (0.0,)):
        with pytest.raises(ValueError, match="choices must hold one whose error is a number"):
            best_of(choices, lambda by: lambda x, seen: 0 * x / by, x, observed)


@pytest.mark.parametrize(
    ("family", "options", "protocols"),
    [
        ("vn", {"atoms": 12, "sparsity": [0.1]}, {"zero_filled", "mask_aware"}),
        (
            "vn",
            {"atoms": 8, "sparsity": [0.1, 0.02], "interface": 4, "sweeps": 5},
            {"zero_filled", "mask_aware"},
        ),
        ("fourier", {"sparsity": 0.1}, {"zero_filled", "mask_aware"}),
        ("autoencoder", {"hidden": [8], "latent": 4}, {"zero_filled"}),
        ("autoencoder", {"hidden": [8], "latent": 4, "masked": True}, {"mask_aware"}),
        (
            "rslds",
            {"latent": 2, "states": 2, "sweeps": 2, "signals": 32},
            {"zero_filled", "mask_aware"},
        ),
        ("pca", {"rank": 4}, {"mask_aware"}),
        ("gaussian", {}, {"mask_aware"}),
        ("nearest", {"k": 2}, {"mask_aware"}),
        ("exemplars", {"atoms": 16, "starts": 2}, {"mask_aware"}),
    ],
)
def test_models_look_at_observed_samples_only_and_repeat(tmp_path, family, options, protocols):
    model, again = (made(tmp_path / part, family, **options) for part in "ab")
    x, val = held("hard"), held("val")
    seen, seen_val = (torch.from_numpy(OBSERVED[name]) for name in ("hard", "val"))
    other = torch.where(seen, x, torch.full_like(x, 7.0))
    for protocol in ("zero_filled", "mask_aware"):
        fills = [getattr(m, protocol) for m in (model, again)]
        assert (fills[0] is not None) == (protocol in protocols)
        if protocol in protocols:
            one, two = (f(val, seen_val) if protocol == "mask_aware" else f for f in fills)
            with torch.no_grad():
                filled = one(x, seen)
                assert filled.shape == x.shape and torch.isfinite(filled).all()
                assert torch.equal(filled, two(x, seen)), "the same seed, the same bits"
                assert torch.equal(filled[~seen], one(other, seen)[~seen])


def test_zero_updates_leave_training_signals_as_atoms(tmp_path):
    train, val = held("train"), held("val")
    unlearned = fit_imputer(
        train,
        val,
        family="vn",
        options={"atoms": 64, "sparsity": [1e-4]},
        workdir=tmp_path,
        **TRAINING | {"steps": 0},
    )
    error = (unlearned.reconstruct(train) - train).square().mean()
    assert error < 1e-4 and not unlearned.curve, "every training signal is an atom"


def test_an_unknown_family_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"family must be one of 'vn', .*, got 'wavelets'"):
        made(tmp_path, "wavelets")
