"""What a settle costs: operations against what the mathematics asks for, exponents of known laws,
equal weights.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from benchmarks.starts.operations import operations
from chapters.J_cost import measure as cost
from vnlib.book import store

SMALL = {"steps": 1, "sweeps": 3, "tol": 1e-3}


def size(d=16, K=32, B=8, depth=1):
    return cost.Size(d=d, K=K, B=B, depth=depth)


@pytest.mark.parametrize(("d", "K", "B"), [(32, 16, 4), (64, 32, 5), (16, 30, 1)])
def test_a_sweep_of_codes_costs_one_product_with_the_gram_matrix(d, K, B):
    """2 d > K: a code (B, K) times V'V (K, K), two operations per product."""
    assert cost.one_sweep(size(d, K, B), seed=0) == 2 * B * K * K


@pytest.mark.parametrize(("d", "K", "B"), [(8, 16, 4), (10, 64, 3)])
def test_where_the_gram_matrix_is_larger_a_sweep_goes_through_the_input(d, K, B):
    """2 d <= K: V a, then V' of it."""
    assert cost.one_sweep(size(d, K, B), seed=0) == 2 * 2 * B * d * K


def test_every_further_layer_costs_the_same():
    counts = [cost.one_sweep(size(16, 16, 8, depth), seed=0) for depth in (2, 3, 4)]
    assert counts[2] - counts[1] == counts[1] - counts[0] > 0


@pytest.mark.parametrize(
    ("vary", "sizes", "base", "power"),
    [
        ("K", [16, 32, 64], {"d": 64, "B": 8}, 2),
        ("d", [32, 64, 128], {"K": 32, "B": 8}, 0),
        ("d", [4, 8, 16], {"K": 64, "B": 8}, 1),
        ("B", [4, 8, 16], {"d": 16, "K": 24}, 1),
    ],
)
def test_exponents_of_a_sweep(vary, sizes, base, power):
    counts = [
        cost.one_sweep(cost.Size(**{"depth": 1, **base, vary: value}), seed=0) for value in sizes
    ]
    assert cost.exponent(np.array(sizes), np.array(counts, float)) == pytest.approx(power, abs=1e-9)


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_the_feed_forward_network_has_as_many_weights(depth):
    one = size(64, 96, 1, depth)
    network = cost.vector_network(one, seed=0, steps=0, tol=1, device="cpu")
    assert one.weights == sum(p.numel() for p in [*network.V, *network.U])
    other = sum(p.numel() for p in cost.feed_forward(one, seed=0).parameters())
    assert other == pytest.approx(one.weights, rel=0.03)


def test_a_forward_pass_costs_two_operations_per_weight_and_sample():
    one = size(24, 32, 7, 3)
    found = cost.tasks(one, seed=0, **SMALL)
    weights = sum(p.numel() for p in cost.feed_forward(one, seed=0).parameters())
    assert operations(found["forward"]) == 2 * one.B * weights
    # Gradients of weights: as many again; of layers' inputs: all but the first, whose input needs
    # none.
    first = one.d * one.width
    assert operations(found["backward"]) == 2 * one.B * (3 * weights - first)


@pytest.mark.parametrize("power", [0.0, 0.5, 2.0])
def test_exponents_of_power_laws(power):
    n = np.array([10, 20, 80])
    assert cost.exponent(n, 7.0 * n**power) == pytest.approx(power)
    assert cost.exponent(n, np.array([np.nan, 7 * 20**power, 7 * 80**power])) == pytest.approx(
        power
    )


@pytest.mark.parametrize("values", [[np.nan, np.nan, 3.0], [0.0, 0.0, 1.0]])
def test_no_exponent_of_less_than_two_points(values):
    assert np.isnan(cost.exponent(np.array([1, 2, 3]), np.array(values)))


def test_scaling_returns_what_it_promises_and_counts_the_same_twice():
    base = {"K": 32, "B": 8, "depth": 1}
    one, two = (cost.scaling("d", [16, 32], base, seed=1, repeats=2, **SMALL) for _ in range(2))
    assert dict(one.sizes) == {"task": len(cost.TASKS), "place": 2, "repeat": 2}
    for name in ("operations", "needed", "weights", "other_weights", "operations_exponent"):
        assert np.array_equal(one[name], two[name], equal_nan=True), name
    assert bool((one["time"] > 0).all())
    assert one["operations"].notnull().all()
    assert one["weights"].values.tolist() == [16 * 32, 32 * 32]
    assert one["device_peak"].isnull().all()


def test_axes_of_different_length_fit_into_one_file(tmp_path):
    sizes = {"d": [16, 24, 32], "depth": [1, 2]}

    def run(axes, settings, workdir):
        base = {"d": 16, "K": 16, "B": 4, "depth": 1}
        return cost.scaling(axes["vary"], sizes[axes["vary"]], base, seed=0, repeats=1, **SMALL)

    path = tmp_path / "cost.nc"
    merged = store.grid(
        run, {"vary": list(sizes)}, path=path, settings=lambda axes: {}, title="t", progress=False
    ).dataset
    assert merged["size"].sel(vary="d").values.tolist() == [16, 24, 32]
    assert np.array_equal(merged["size"].sel(vary="depth"), [1, 2, np.nan], equal_nan=True)


@pytest.mark.parametrize("depth", [1, 2])
def test_all_ways_settle_to_the_same_energy(depth):
    found = cost.tasks(size(16, 24, 6, depth), seed=2, **SMALL)
    settled, other = found["settle"]().energy, found["line_search"]().energy
    assert torch.allclose(settled, other, rtol=2e-3)


def test_operations_in_compiled_loops_are_counted_too():
    """By torch: V'x of 8 samples, which are filled up to 16, and V a for the energy."""
    base, one = {"K": 32, "B": 8, "depth": 1}, size(16)
    found = cost.scaling("d", [16, 24], base, seed=1, repeats=1, **SMALL)["operations"]
    settle = cost.tasks(one, seed=1, **SMALL)["settle"]
    settle()  # makes V'V, once
    assert operations(settle) == 2 * (16 + 8) * 16 * 32 < found.sel(task="settle", place=0)


def test_planted_samples_have_unit_size_and_follow_the_seed():
    one = size(32, 64, 1)
    x = cost.planted(one, 50, seed=3)
    assert float(x.square().sum(1).mean()) == pytest.approx(1.0, rel=1e-5)
    assert torch.equal(x, cost.planted(one, 50, seed=3))
    assert not torch.equal(x, cost.planted(one, 50, seed=4))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vary": "width"}, "vary must be one of"),
        ({"sizes": [16]}, "at least two different"),
        ({"sizes": [16, 16]}, "at least two different"),
        ({"repeats": 0}, "repeats must be"),
        ({"sizes": [16, 0]}, "d must be"),
    ],
)
def test_bad_arguments_are_refused(change, message):
    good = {
        "vary": "d",
        "sizes": [16, 32],
        "base": {"K": 32, "B": 8, "depth": 1},
        "seed": 0,
        "repeats": 1,
    }
    with pytest.raises(ValueError, match=message):
        cost.scaling(**(good | SMALL | change))
