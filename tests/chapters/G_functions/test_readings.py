"""Readings and rounds of imputation: against the library's own imputation, and where the answer is
known.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
import xarray as xr

from benchmarks.functions.dictionaries import with_sparsity
from benchmarks.functions.samples import by_set, observed
from chapters.G_functions import readings, rounds, study
from data_gen import signals
from vnlib import masked
from vnlib.network import VectorNetwork, VNConfig
from vnlib.settle import SettleConfig

EXACT = SettleConfig(method="line_search", tol=1e-7, max_sweeps=2000)
ROUGH = SettleConfig(method="line_search", tol=1e-5, max_sweeps=150)
TRAINING = {
    "interface": 6,
    "feedback": 0.3,
    "lr": 5e-3,
    "interface_lr": 3e-3,
    "batch_size": 32,
    "sweeps": 5,
}


@pytest.fixture(scope="module")
def x() -> dict:
    data = signals.make(signals.SignalConfig(length=32, n_train=64, n_val=12, n_test=12))
    return by_set(data)


@pytest.fixture(scope="module")
def seen(x) -> dict:
    seeds = {name: seed for seed, name in enumerate(rounds.SETS)}
    return observed(x, ["forecast_25", "block_128"], seeds)


def network(
    x: dict, depth: int = 1, rule: str = "subspace", steps: int = 0, seed: int = 0
) -> VectorNetwork:
    sparsity = (0.13, 0.02, 0.03)[:depth]
    return study.trained(
        x, n_atoms=16, sparsity=sparsity, rule=rule, steps=steps, seed=seed, **TRAINING
    )


def identity(sparsity: float) -> VectorNetwork:
    """A layer whose atoms are the samples themselves: its codes are the signal, shrunk."""
    made = VectorNetwork(VNConfig(n_inputs=8, atoms=(8,), sparsity=(sparsity,)), seed=0)
    made.V[0].copy_(torch.eye(8))
    return made


@pytest.mark.parametrize("warm", [True, False])
def test_a_walk_is_the_imputation_of_the_library(x, seen, warm):
    one, shown = network(x, 3), seen["forecast_25"]["id"]
    way = rounds.walk(one, x["id"], shown, 4, config=ROUGH, warm=warm)
    library = masked.impute(one, x["id"], shown, 4, warm=warm, config=ROUGH)
    torch.testing.assert_close(way.completed, library.completed)
    torch.testing.assert_close(way.objective, library.objective)
    torch.testing.assert_close(way.step * 32**0.5, library.change)


def test_rounds_lower_the_objective_and_lead_to_the_masked_problem(x, seen):
    one, shown = network(x), seen["forecast_25"]["id"]
    way = rounds.walk(one, x["id"], shown, 20, config=EXACT)
    assert float(way.objective.diff(dim=0).max()) <= 1e-4
    settled = masked.masked_settle(one, x["id"], shown, config=EXACT)
    end = rounds.evaluated(one, settled, x["id"], shown.float())
    gap = rounds.relative_gap(way.objective, end["objective"])
    assert float(gap[0].max()) > 0.01
    assert float(gap[-1].max()) < 1e-3


def test_an_observed_sample_stays_lambda_away():
    """With atoms of one sample each the answer is known: the code is the signal shrunk by lambda, 0
    where hidden.
    """
    one, x = identity(0.5), torch.tensor([[3.0, -2, 1, 0.2, 4, 4, 4, 4]])
    shown = (torch.arange(8) < 4)[None]
    end = rounds.evaluated(one, masked.masked_settle(one, x, shown, config=EXACT), x, shown.float())
    assert float(end["largest"]) == pytest.approx(0.5, abs=1e-4)
    assert float(end["hidden"]) == pytest.approx(16, abs=1e-3)
    assert float(end["rms"]) == pytest.approx(((3 * 0.25 + 0.04) / 4) ** 0.5, abs=1e-4)
    least = 3 * 0.5 * 0.25 + 0.02 + 0.5 * (2.5 + 1.5 + 0.5)
    assert float(end["objective"]) == pytest.approx(least, abs=1e-3)


def test_falling_lambdas_are_used_in_the_first_rounds_only(x, seen):
    one, shown = network(x), seen["forecast_25"]["id"]
    plain = rounds.walk(one, x["id"], shown, 2, config=EXACT)
    same = rounds.walk(one, x["id"], shown, 2, config=EXACT, factors=(1.0, 1.0))
    large = rounds.walk(one, x["id"], shown, 2, config=EXACT, factors=(1e6,))
    assert torch.equal(plain.completed, same.completed)
    assert float(large.hidden[0].mean()) == pytest.approx(
        float(x["id"][~shown].square().mean()), rel=1e-5
    )
    # A first round without codes fills in nothing: the second is another first round.
    torch.testing.assert_close(large.hidden[1], plain.hidden[0], rtol=1e-3, atol=1e-4)


def test_other_lambdas_leave_the_network_and_its_weights_as_they_are(x):
    one = network(x, 3)
    before = {name: tensor.clone() for name, tensor in one.state_dict().items()}
    other = with_sparsity(one, 2.0)
    for mine, its, own in zip(one.layers, other.layers, one.config.sparsity, strict=True):
        assert its.penalty.sparsity == pytest.approx(2 * mine.penalty.sparsity)
        assert mine.penalty.sparsity == pytest.approx(
            own * float(one.input_scale[one.config.sparsity.index(own)])
        )
    assert rounds.same_weights(one, before)
    other.V[0][0, 0] += 1
    assert not rounds.same_weights(one, before), "both have the same weights, not copies"


def test_without_updates_the_atoms_are_training_signals(x):
    one = network(x)
    directions = x["train"] / x["train"].norm(dim=1, keepdim=True)
    torch.testing.assert_close((directions @ one.V[0]).amax(0), torch.ones(16))
    assert not torch.equal(network(x, steps=3).V[0], one.V[0])
    assert torch.equal(network(x, steps=3).V[0], network(x, steps=3).V[0])


def test_the_readings_of_one_layer_are_one_and_of_an_isometry_close(x):
    one = readings.unmasked(network(x), x, ROUGH)
    np.testing.assert_array_equal(one["mse"].sel(reading="first"), one["mse"].sel(reading="top"))
    found = readings.unmasked(network(x, 3, "isometry"), x, ROUGH)
    silent = network(x, 3)
    silent.V[2].zero_()
    lost = readings.unmasked(silent, x, ROUGH)
    assert (found["mse"].sel(reading="top") < lost["mse"].sel(reading="top")).all()
    # A top layer that says nothing leaves the zero baseline.
    zero = [float(x[name].square().mean()) for name in rounds.SETS]
    np.testing.assert_allclose(lost["mse"].sel(reading="top"), zero, rtol=1e-5)
    np.testing.assert_allclose(lost["explained"].sel(layer=3), 0, atol=1e-6)


def test_means_are_taken_by_set():
    values = torch.arange(8.0)
    np.testing.assert_allclose(rounds.means(values), [0.5, 2.5, 4.5, 6.5])
    np.testing.assert_allclose(rounds.means(values.expand(3, 8)), [[0.5, 2.5, 4.5, 6.5]] * 3)


def test_controls_hold_the_zero_baseline(x, seen):
    found = readings.controls(x, seen)
    hidden = x["easy"][~seen["block_128"]["easy"]].square().mean()
    assert float(
        found["hidden_rule"].sel(rule="zero_baseline", mask="block_128", set="easy")
    ) == pytest.approx(float(hidden))


def test_a_study_has_all_dimensions_and_changes_no_weight(x, seen):
    one = network(x, 3, steps=2)
    found = readings.measured(
        x,
        seen,
        one,
        rounds=2,
        curve=3,
        curve_masks=["forecast_25"],
        continuation=[2.0],
        factors=[0.5, 1.0],
        config=SettleConfig(max_sweeps=20, tol=1e-4),
    )
    wanted = {
        "set": 4,
        "layer": 3,
        "mask": 2,
        "reading": 2,
        "solver": 2,
        "round": 3,
        "early": 2,
        "factor": 2,
        "rule": 3,
    }
    assert dict(found.sizes) == wanted
    assert int(found["unchanged"]) == 1
    assert list(found["mask"].values) == list(seen)
    assert bool(found["curve_hidden"].sel(mask="block_128").isnull().all())
    np.testing.assert_allclose(
        found["curve_hidden"].sel(mask="forecast_25", round=2),
        found["hidden"].sel(mask="forecast_25", reading="first", solver="rounds"),
        rtol=1e-5,
    )
    first = found["hidden"].sel(reading="first", drop=True)
    xr.testing.assert_equal(
        found["sweep_hidden"].sel(factor=1.0, drop=True).rename("hidden"), first
    )
    assert (found["sweep_active"].sel(factor=0.5) >= found["sweep_active"].sel(factor=1.0)).all()


def test_bad_input(x, seen):
    one, shown = network(x), seen["forecast_25"]["id"]
    with pytest.raises(ValueError, match="rounds must be"):
        rounds.walk(one, x["id"], shown, 0, config=EXACT)
    with pytest.raises(ValueError, match="factor must be"):
        with_sparsity(one, 0.0)
