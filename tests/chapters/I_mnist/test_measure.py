"""Which atoms are used, and when: measures against hand-made codes, and a network whose settle is
known.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr

from chapters.I_mnist import atlas as selection_atlas
from chapters.I_mnist import measure as selection
from chapters.I_mnist.settling import SOLVERS, locked, settling, weighted_jaccard
from vnlib.metrics import jaccard
from vnlib.network import VectorNetwork, VNConfig
from vnlib.settle import SettleConfig

SIDE = 4


def images(n: int = 30, seed: int = 0) -> torch.Tensor:
    return torch.rand(n, SIDE * SIDE, generator=torch.Generator().manual_seed(seed)) ** 3


def network(**options) -> VectorNetwork:
    return VectorNetwork.for_data(
        images(60, 1), atoms=(14, 12, 9), interface=(8, 7), sparsity=0.05, seed=0, **options
    )


def orthonormal(sparsity: float = 0.1) -> VectorNetwork:
    """One layer whose code is the soft threshold of the input, after one step."""
    net = VectorNetwork(VNConfig(n_inputs=16, atoms=(16,), sparsity=(sparsity,)), seed=0)
    net.V[0].copy_(torch.eye(16))
    return net


def task(n: int = 30) -> xr.Dataset:
    pixels = np.stack([images(n).numpy(), 2 * images(n, 5).numpy()]).reshape(2, n, SIDE, SIDE)
    ds = xr.Dataset({"image": (("set", "sample", "y", "x"), pixels)}, {"set": ["id", "add2"]})
    return ds.assign(label=("sample", np.arange(n) % 10))


# --- supports ---


def test_overlaps_of_supports():
    a = torch.tensor([[1, 1, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 1, 1]], dtype=torch.bool)
    b = torch.tensor([[1, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0], [1, 1, 1, 1]], dtype=torch.bool)
    assert jaccard(a, b).tolist() == pytest.approx([1 / 3, 1, 0, 1])
    x, y = torch.tensor([[3.0, -1.0, 0.0], [0, 0, 0]]), torch.tensor([[-1.0, 1.0, 2.0], [0, 0, 0]])
    assert weighted_jaccard(x, y).tolist() == pytest.approx([(1 + 1 + 0) / (3 + 1 + 2), 1])


def test_locked_is_where_the_overlap_stays():
    overlap = np.array(
        [[0.2, 1.0, 0.95, 0.1], [0.95, 1.0, 0.5, 0.9], [0.8, 1.0, 0.9, 0.9], [0.9, 1.0, 0.9, 0.2]]
    )
    np.testing.assert_array_equal(locked(overlap, 0.9), [4, 1, 3, 5])
    assert int(locked(overlap[:, 1], 0.9)) == 1


def test_settling_in_one_step_locks_at_once():
    net, x = orthonormal(), images(6)
    found = settling(net, x, sweeps=[1, 2, 5], end=20)
    at = found.sel(solver=["ista", "restart"])
    np.testing.assert_allclose(at["overlap"], 1)
    np.testing.assert_array_equal(at["locked"], 1)
    np.testing.assert_array_equal(at["locked_mean"], 1)
    code = torch.sign(x) * (x.abs() - 0.1).clamp_min(0)
    np.testing.assert_allclose(at["nonzero"], float((code != 0).sum(1).float().mean()), rtol=1e-6)
    np.testing.assert_allclose(at["flips"].sel(sweep=1), at["nonzero"].sel(sweep=1))
    np.testing.assert_allclose(at["flips"].sel(sweep=[2, 5]), 0)
    np.testing.assert_allclose(found["error_end"], float((code - x).square().mean()), rtol=1e-3)
    np.testing.assert_allclose(
        at["error_locked"], at["error_end"].values[:, None] * [1, 1], rtol=1e-3
    )
    np.testing.assert_allclose(found["gap_end"], 0, atol=1e-5)


def test_curves_are_those_of_the_settle_itself():
    net, x = network(feedback=0.2), images(8)
    found = settling(net, x, sweeps=[1, 3, 12], end=300)
    ends = net.settle(x, config=SettleConfig(method="line_search", tol=0, max_sweeps=500)).codes
    for solver in SOLVERS:
        for sweep in (3, 12):
            here = net.settle(x, config=SettleConfig(method=solver, tol=0, max_sweeps=sweep))
            before = net.settle(x, config=SettleConfig(method=solver, tol=0, max_sweeps=sweep - 1))
            at = found.sel(solver=solver, sweep=sweep)
            np.testing.assert_allclose(at["energy"], here.energy.mean(), rtol=1e-5)
            np.testing.assert_allclose(
                at["error"], (net.reconstruct(here) - x).square().mean(), rtol=1e-5
            )
            for layer, (a, b, end) in enumerate(zip(here.codes, before.codes, ends, strict=True)):
                np.testing.assert_allclose(
                    at["flips"][layer], ((a != 0) != (b != 0)).sum(1).float().mean(), atol=0.13
                )
                np.testing.assert_allclose(
                    at["overlap"][layer], jaccard(a != 0, end != 0).mean(), atol=0.03
                )
                np.testing.assert_allclose(
                    at["weighted_overlap"][layer], weighted_jaccard(a, end).mean(), atol=0.01
                )
    assert float(found["energy_rises"].sel(solver="ista")) == 0
    assert float(found["end_certain"].min()) > 0.99 and float(found["end_agreement"].min()) == 1
    never = found["locked_mean"].sel(solver="ista", threshold=0.99)
    assert set(never.values.tolist()) <= {*map(float, range(1, 14))}
    unmet = found["locked_mean"].max("layer") > 12
    np.testing.assert_array_equal(found["error_locked"].isnull(), unmet)


def test_under_a_cap_every_solver_has_an_end_of_its_own():
    net = network(feedback=0.2, top_k=2)
    found = settling(net, images(8), sweeps=[1, 20], end=100)
    assert found["gap_end"].isnull().all()
    assert float(found["nonzero"].sel(layer=3).max()) <= 2
    assert float(found["end_agreement"].sel(solver="line_search").min()) == 1
    restart = net.settle(
        images(8), config=SettleConfig(method="restart", tol=0, max_sweeps=120)
    ).codes[2]
    search = net.settle(
        images(8), config=SettleConfig(method="line_search", tol=0, max_sweeps=120)
    ).codes[2]
    expected = float(jaccard(restart != 0, search != 0).mean())
    np.testing.assert_allclose(
        found["end_agreement"].sel(solver="restart", layer=3), expected, atol=1e-6
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sweeps": [1, 5, 5], "end": 4}, "sweeps must rise"),
        ({"sweeps": [], "end": 4}, "sweeps must rise"),
        ({"sweeps": [0, 5], "end": 4}, "each of sweeps"),
        ({"sweeps": [1, 5], "end": 1}, "end must be"),
    ],
)
def test_sweeps_that_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        settling(orthonormal(), images(2), **options)


# --- budget and sparsity ---


def test_a_budget_by_hand():
    code = torch.tensor([[3.0, 1.0, 0.0, 0.0], [-1.0, 3.0, 0.0, 0.0]])
    found = selection.budget(code)
    assert found["used"] == 0.5 and found["active"] == 2 and found["active_share"] == 0.5
    assert found["effective"] == pytest.approx(2)  # both carry four
    assert found["carrying"] == 2
    np.testing.assert_allclose(found["usage"], [1, 1, 0, 0])
    assert found["hoyer"] == pytest.approx(2 - 4 / 10**0.5)


def test_effective_atoms_count_those_that_carry():
    code = torch.tensor([[8.0, 1.0, 1.0, 0.0]])
    p = np.array([0.8, 0.1, 0.1])
    assert selection.budget(code)["effective"] == pytest.approx(np.exp(-(p * np.log(p)).sum()))
    assert selection.budget(torch.zeros(2, 3))["effective"] == 0


def test_carrying_counts_the_fewest():
    code = torch.tensor([[9.0, 1.0, 0.0], [-5.0, 3.0, 2.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    assert selection.carrying(code).tolist() == [1, 3, 0, 3]
    assert selection.carrying(code, 0.5).tolist() == [1, 1, 0, 2]


def test_hoyer_between_flat_and_single():
    code = torch.tensor(
        [[1.0, -1.0, 1.0, 1.0], [0.0, -7.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [3.0, 4.0, 0.0, 0.0]]
    )
    np.testing.assert_allclose(selection.hoyer(code), [0, 1, 1, 2 - 7 / 5], atol=1e-12)


# --- selectivity ---


def test_information_by_hand():
    labels = torch.tensor([0, 0, 1, 1])
    states = torch.tensor([[1, 0, 1, 1], [1, 1, 1, 0], [0, 0, 1, 0], [0, 1, 1, 0]])
    told, entropy = selection.information(states, labels)
    # The last: a state of one image in four, H = .811, H(state | label) = .5.
    assert told.tolist() == pytest.approx([1, 0, 0, 0.811278 - 0.5], abs=1e-6)
    assert entropy.tolist() == pytest.approx([1, 1, 0, 0.811278], abs=1e-6)


def test_selective_atoms_are_told_from_chance():
    n, rng = 400, torch.Generator().manual_seed(0)
    labels = torch.arange(n) % 10
    selective = (labels[:, None] == torch.arange(10)).float()
    noise = (torch.rand(n, 10, generator=rng) < 0.1).float()
    found = selection.selectivity(torch.cat([selective, noise], 1), labels, shuffles=20, seed=1)
    np.testing.assert_allclose(found["told_atom"][:10], 1, atol=0.06)  # less what chance would say
    np.testing.assert_allclose(found["told_atom"][10:], 0, atol=0.06)
    alone = selection.selectivity(noise, labels, shuffles=20, seed=1)
    assert alone["told"] == pytest.approx(alone["told_shuffled"], abs=0.02)
    assert selection.selectivity(selective, labels, shuffles=5, seed=1)["told"] == pytest.approx(1)
    assert alone["told_shuffled"] <= alone["told_shuffled_most"]


def test_signs_can_tell_what_activity_does_not():
    labels = torch.arange(100) % 2
    code = torch.where(labels == 0, 1.0, -1.0)[:, None] * torch.ones(1, 3)
    code[:10] = 0
    active = selection.selectivity(code, labels, shuffles=5, seed=0)
    signed = selection.selectivity(code, labels, signed=True, shuffles=5, seed=0)
    assert active["told"] < 0.1 < 0.6 < signed["told"]
    rest = selection.selectivity(torch.ones(100, 2), labels, shuffles=5, seed=0)
    assert rest["told"] == 0 and np.isnan(rest["told_atom"]).all()
    again = selection.selectivity(code, labels, shuffles=5, seed=0)
    assert again["told_shuffled"] == active["told_shuffled"]
    with pytest.raises(ValueError, match="shuffles"):
        selection.selectivity(code, labels, shuffles=0, seed=0)


# --- atlas ---


def test_an_atlas_of_atoms_that_are_pixels():
    net, n = orthonormal(0.01), 40
    labels = torch.arange(n) % 2
    code = torch.zeros(n, 16)
    for atom in range(16):  # atom 0 is used by most images, 15 by none
        code[: 2 * (15 - atom), atom] = 0.5 + atom
    code[:, 3] *= -1
    code[0, 3], code[5, 0] = 9.0, 7.0
    x = torch.arange(n)[:, None] * torch.ones(1, 16)
    found = selection_atlas.atlas(net, [code], x, labels, count=4).sel(layer=1)
    assert found["atlas_atom"].values.tolist() == [[0, 1, 2, 3], [6, 7, 8, 9], [12, 13, 14, 15]]
    np.testing.assert_allclose(found["atlas_use"].sel(band="most"), np.array([30, 28, 26, 24]) / n)
    assert float(found["atlas_use"].sel(band="least")[-1]) == 0
    first = found.sel(band="most").isel(place=0)
    np.testing.assert_allclose(first["atlas_profile"][:2], 30 / n)
    assert first["atlas_profile"][2:].isnull().all()
    np.testing.assert_array_equal(first["atlas_drawing"].values.ravel(), np.eye(16)[0])
    np.testing.assert_array_equal(first["atlas_examples"][0], np.full((4, 4), 5))
    signed = found.sel(band="most").isel(place=3)  # negative but once
    np.testing.assert_array_equal(signed["atlas_drawing"].values.ravel(), -np.eye(16)[3])
    np.testing.assert_allclose(signed["atlas_size"], -(23 * 3.5 + 9) / 24, rtol=1e-6)
    # not image 0, where it is positive
    np.testing.assert_array_equal(signed["atlas_examples"][0] > 0, True)
    dead = found.sel(band="least").isel(place=3)
    assert not dead["atlas_examples"].any() and np.abs(dead["atlas_drawing"]).max() == 1
    assert float(dead["atlas_size"]) == 0
    with pytest.raises(ValueError, match="count must be"):
        selection_atlas.atlas(net, [code], x, labels, count=6)


def test_a_layer_is_drawn_as_the_top_of_a_lower_network():
    net, x = network(), images(7)
    settled = net.settle(x)
    torch.testing.assert_close(
        selection_atlas.draw(net, 2, settled.codes[2]), net.decode(settled.codes[2])
    )
    torch.testing.assert_close(
        selection_atlas.draw(net, 0, settled.codes[0]), net.reconstruct(settled)
    )
    lower = VectorNetwork(
        replace(net.config, atoms=(14, 12), interface=(8,), sparsity=(0.05, 0.05)), seed=3
    )
    for name in ("V", "U"):
        for index, mine in enumerate(getattr(lower, name)):
            mine.copy_(getattr(net, name)[index])
    lower.input_scale.copy_(net.input_scale[:2])
    torch.testing.assert_close(
        selection_atlas.draw(net, 1, settled.codes[1]), lower.decode(settled.codes[1])
    )
    with pytest.raises(ValueError, match="layer must be"):
        selection_atlas.draw(net, 3, settled.codes[2])


# --- all of it ---


@pytest.fixture(scope="module")
def found() -> xr.Dataset:
    return selection.measure(
        network(),
        task(),
        images(10, 2),
        curve=[3.0, 2.0],
        sweeps=(1, 4),
        end=30,
        watched=5,
        shuffles=3,
        atoms=2,
    )


def test_a_study_has_all_measures(found):
    assert list(found["layer"].values) == [1, 2, 3] and list(found["set"].values) == ["id", "add2"]
    assert found["usage"].sel(layer=3, set="id").notnull().sum() == 9
    np.testing.assert_array_equal(found["atoms"].sel(set="id"), [14, 12, 9])
    assert found["told"].dims == ("state", "layer") and found["locked"].sizes["set"] == 2
    assert found["atlas_drawing"].shape == (3, 3, 2, SIDE, SIDE)
    # none is empty
    np.testing.assert_array_equal(np.abs(found["atlas_drawing"]).max(("y", "x")), 1)
    assert found["curve"].values.tolist() == [3, 2] and found["scale"].sizes == {"layer": 3}
    np.testing.assert_allclose(
        found["zero_baseline"].sel(set="add2"), (4 * images(30, 5) ** 2).mean(), rtol=1e-6
    )


def test_a_study_settles_to_the_end(found):
    net, x = network(), images(30)
    settled = net.settle(x, config=SettleConfig(method="line_search", tol=1e-7, max_sweeps=2000))
    error = (net.reconstruct(settled) - x).square().mean()
    np.testing.assert_allclose(found["mse"].sel(set="id", reading="own"), error, rtol=1e-3)
    top = net.decode(settled.codes[-1])
    np.testing.assert_allclose(
        found["mse"].sel(set="id", reading="top"), (top - x).square().mean(), rtol=0.02
    )
    active = [float((code != 0).sum(1).float().mean()) for code in settled.codes]
    np.testing.assert_allclose(found["active"].sel(set="id"), active, atol=0.1)
    assert float(found["converged"].min()) == 1


def test_a_study_is_the_same_twice_and_may_go_without_an_atlas(found):
    again = selection.measure(
        network(),
        task(),
        images(10, 2),
        curve=[3.0, 2.0],
        sweeps=(1, 4),
        end=30,
        watched=5,
        shuffles=3,
    )
    assert not [name for name in again if name.startswith("atlas")]
    assert again.identical(found[list(again.data_vars)])


@pytest.mark.parametrize(
    ("options", "message"),
    [({"watched": 31}, "watched must be"), ({"shuffles": 0}, "shuffles must be")],
)
def test_bad_options_of_a_study_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        selection.measure(
            network(), task(), images(3), sweeps=(1, 2), end=2, **({"watched": 2} | options)
        )
    with pytest.raises(ValueError, match="test must hold the set 'id'"):
        selection.measure(network(), task().sel(set=["add2"]), images(3))
