"""The Vector Network: its dictionaries, its scales, both readings of a code, and how it starts from
data.
"""

from __future__ import annotations

import pytest
import torch
from learner_cases import QUICK, THREE, draw, make

from vnlib.learning.learner import learn
from vnlib.learning.rules import unit_columns
from vnlib.metrics import operator_rank
from vnlib.network import VectorNetwork, VNConfig
from vnlib.prox import MCP, ElasticNet, soft_threshold
from vnlib.settle import SettleConfig, Settler


def snapshot(network: VectorNetwork) -> dict[str, torch.Tensor]:
    return {name: p.clone() for name, p in network.named_parameters()}


X = draw(40, 12, seed=77)


# --- construction ---


def test_dictionaries_have_unit_columns_and_the_right_shapes():
    network = make(**THREE)
    assert [tuple(V.shape) for V in network.V] == [(12, 18), (9, 14), (8, 10)]
    assert [tuple(U.shape) for U in network.U] == [(9, 18), (8, 14)]
    for W in network.parameters():
        torch.testing.assert_close(W.norm(dim=0), torch.ones(W.shape[1]))
        assert not W.requires_grad
    assert network.layers[2].U is None


@pytest.mark.parametrize("m", [10, 15])
def test_an_interface_that_is_wide_enough_is_an_isometry(m):
    U = make(n_inputs=6, atoms=(10, 5), interface=(m,), sparsity=(0.1, 0.1)).U[0]
    torch.testing.assert_close(U.T @ U, torch.eye(10), rtol=0, atol=1e-5)


def test_a_narrow_frozen_interface_is_a_tight_frame():
    U = make(
        n_inputs=6, atoms=(30, 5), interface=(12,), sparsity=(0.1, 0.1), interface_rule="frozen"
    ).U[0]
    torch.testing.assert_close(U @ U.T, 30 / 12 * torch.eye(12), rtol=0, atol=1e-3)
    torch.testing.assert_close(U.norm(dim=0), torch.ones(30))
    drawn = make(n_inputs=6, atoms=(30, 5), interface=(12,), sparsity=(0.1, 0.1)).U[0]
    assert (drawn @ drawn.T - 30 / 12 * torch.eye(12)).abs().max() > 0.3


def test_untied_networks_read_the_target_with_a_dictionary_of_their_own():
    options = THREE | {"settle": SettleConfig.momentum()}
    network, tied = make(untied=True, **options), make(**options)
    assert len(network.B) == 2 and len(tied.B) == 0
    for layer, B, U in zip(network.layers, network.B, network.U, strict=False):
        assert layer.B is B and torch.equal(B, U) and B.data_ptr() != U.data_ptr()
    assert network.layers[2].B is None and tied.layers[0].B is None
    assert all(torch.equal(a, b) for a, b in zip(network.U, tied.U, strict=True))
    before, expected = (one.double().settle(X.double()).codes[0] for one in (network, tied))
    torch.testing.assert_close(before, expected, atol=1e-4, rtol=0)
    network.B[0].copy_(network.B[0].flip(0))
    assert not torch.allclose(network.settle(X.double()).codes[0], expected, atol=1e-4)


def test_the_seed_fixes_the_dictionaries():
    first, again, other = (snapshot(make(seed, **THREE)) for seed in (3, 3, 4))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not any(torch.equal(first[name], other[name]) for name in first)
    state = torch.get_rng_state()
    make(**THREE)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_nonnegative_network_starts_with_nonnegative_input_atoms():
    network = make(nonnegative=True, **THREE)
    assert (network.V[0] >= 0).all()
    assert (network.settle(X).codes[2] >= 0).all()


def test_settings_reach_the_layers():
    network = make(top_k=3, **THREE)
    penalties = [layer.penalty for layer in network.layers]
    assert [p.soft.sparsity for p in penalties] == [0.2, 0.05, 0.02]
    assert [getattr(p, "k", None) for p in penalties] == [None, None, 3]
    expected = Settler(network.layers, feedback=0.2, config=QUICK)(X)
    found = network.settle(X)
    assert all(torch.equal(a, b) for a, b in zip(found.codes, expected.codes, strict=True))
    assert (
        network.settle(X, config=SettleConfig(max_sweeps=4, tol=0), trace=True).sweeps.tolist()
        == [4] * 40
    )
    warm = network.settle(X, start=found.codes)
    assert (warm.energy <= found.energy + 1e-5).all()
    rectified = make(top_k=3, activation="relu", **THREE).settle(X)
    assert all((h >= 0).all() for h in rectified.inputs[1:])


# --- relative sparsity ---

RELATIVE = THREE | {"relative_sparsity": True, "sparsity": (0.1, 0.05, 0.05)}
LOW = {"sparsity": (0.01, 0.001, 0.001)}  # of a squared norm
OF_EACH_KIND = [
    {},
    {"penalty": "mcp", "gamma": 3.0},
    {"penalty": "l0"} | LOW,
    {"penalty": "cel0"} | LOW,
]


def started(x: torch.Tensor, **options) -> VectorNetwork:
    network = make(**(RELATIVE | options)).to(x.dtype)
    network.start_from_samples(x, seed=0)
    return network


@pytest.mark.parametrize("options", OF_EACH_KIND)
def test_with_relative_sparsity_codes_grow_with_their_input(options):
    """A power of two, so that scaling is exact in floating point."""
    x = draw(60, 12, seed=30, dtype=torch.float64)
    small, large = started(x, **options), started(4 * x, **options)
    assert torch.equal(large.input_scale, 4 * small.input_scale)
    for a, b in zip(small.settle(x).codes, large.settle(4 * x).codes, strict=True):
        assert (a != 0).any() and torch.equal(4 * a, b)


def test_absolute_sparsity_is_not_scale_free():
    network = make(**THREE)
    assert not torch.allclose(4 * network.settle(X).codes[0], network.settle(4 * X).codes[0])


def test_scales_are_root_mean_square_norms_of_the_inputs():
    network, x = make(**RELATIVE), draw(60, 12, seed=30)
    assert torch.equal(network.input_scale, torch.ones(3)) and "input_scale" in network.state_dict()
    inputs = network.settle(x).inputs
    expected = torch.stack([h.square().sum(1).mean().sqrt() for h in inputs])
    network.track_scale(inputs, rate=0.1)
    torch.testing.assert_close(network.input_scale, 0.9 + 0.1 * expected)
    network.track_scale(inputs)
    torch.testing.assert_close(network.input_scale, expected)
    found = [layer.penalty.sparsity for layer in network.layers]
    assert found == pytest.approx((expected * torch.tensor(RELATIVE["sparsity"])).tolist())


def test_the_start_measures_the_scales():
    network = started(draw(200, 12, seed=31))
    measured = torch.stack(
        [h.square().sum(1).mean().sqrt() for h in network.settle(draw(200, 12, seed=31)).inputs]
    )
    # then there was no feedback yet
    torch.testing.assert_close(network.input_scale, measured, rtol=0.5, atol=0)


def test_every_penalty_reaches_the_layers():
    network = make(penalty="mcp", gamma=2.0, top_k=3, **THREE)
    assert network.layers[0].penalty == MCP(sparsity=0.2, gamma=2.0)
    assert (
        network.layers[2].penalty.penalty == MCP(sparsity=0.02, gamma=2.0)
        and network.layers[2].penalty.k == 3
    )
    elastic = make(penalty="elastic_net", ridge=0.5, **THREE)
    assert elastic.layers[1].penalty == ElasticNet(sparsity=0.05, ridge=0.5)


# --- reading ---


def test_reconstruct_reads_the_first_layer():
    network = make(**THREE)
    settled = network.settle(X)
    torch.testing.assert_close(network.reconstruct(settled), settled.codes[0] @ network.V[0].T)


def isometric(sparsity, *, nonnegative: bool = False) -> VectorNetwork:
    """Three layers whose dictionaries are all square and orthonormal, so that every code has a
    closed form.
    """
    network = make(
        n_inputs=6,
        atoms=(6, 6, 6),
        interface=(6, 6),
        sparsity=sparsity,
        feedback=0.0,
        nonnegative=nonnegative,
        settle=SettleConfig(max_sweeps=100, tol=0),
    ).double()
    for i, V in enumerate(network.V):
        V.copy_(torch.linalg.qr(draw(6, 6, seed=60 + i, dtype=torch.float64)).Q)
    return network


def test_strict_reading_undoes_isometries():
    network, x = isometric((0.0, 0.0, 0.0)), draw(5, 6, seed=9, dtype=torch.float64)
    settled = network.settle(x)
    torch.testing.assert_close(
        network.decode(settled.codes[-1], sparsity=0.0), x, rtol=0, atol=1e-5
    )
    torch.testing.assert_close(network.reconstruct(settled), x, rtol=0, atol=1e-8)


def test_strict_reading_equals_its_closed_form():
    network, x = isometric((0.1, 0.2, 0.3)), draw(5, 6, seed=9, dtype=torch.float64)
    settled = network.settle(x)
    code = settled.codes[2]
    for layer in (1, 0):
        code = soft_threshold((code @ network.V[layer + 1].T) @ network.U[layer], 0.05)
    found = network.decode(settled.codes[-1], sparsity=0.05)
    torch.testing.assert_close(found, code @ network.V[0].T, rtol=0, atol=1e-5)
    assert (found - network.reconstruct(settled)).abs().max() > 0.1


def test_strict_reading_of_a_nonnegative_network_reads_nonnegative_codes():
    network, x = (
        isometric((0.1, 0.2, 0.3), nonnegative=True),
        draw(5, 6, seed=9, dtype=torch.float64),
    )
    settled = network.settle(x)
    code = settled.codes[2]
    for layer in (1, 0):
        code = ((code @ network.V[layer + 1].T) @ network.U[layer] - 0.05).clamp_min(0)
    found = network.decode(settled.codes[-1], sparsity=0.05)
    torch.testing.assert_close(found, code @ network.V[0].T, rtol=0, atol=1e-5)


def test_strict_reading_of_one_layer_is_the_reconstruction():
    network = make(n_inputs=12, atoms=(18,))
    settled = network.settle(X)
    assert torch.equal(network.decode(settled.codes[-1]), network.reconstruct(settled))


def test_the_operator_belongs_to_its_layer_and_its_rank_to_the_code():
    network = make(**THREE)
    settled = network.settle(X)
    for layer in (0, 1):
        W = network.operator(settled, layer)
        expected = network.U[layer] @ torch.diag(settled.codes[layer][7]) @ network.V[layer].T
        torch.testing.assert_close(W[7], expected)
        assert (operator_rank(W) <= (settled.codes[layer] != 0).sum(1)).all()
    for layer in (2, -1):
        with pytest.raises(
            ValueError, match=rf"layer must be one that has an interface U, 0..1, got {layer}"
        ):
            network.operator(settled, layer)


def test_the_top_layer_may_have_an_operator_too():
    network = make(n_inputs=12, atoms=(18,), interface=(5,))
    assert network.operator(network.settle(X)).shape == (40, 5, 12)
    assert torch.equal(
        network.settle(X).codes[0], make(n_inputs=12, atoms=(18,)).settle(X).codes[0]
    )


# --- starting from samples ---


def sources(atoms: torch.Tensor, samples: torch.Tensor) -> list[int]:
    """Which row of `samples` each atom is, normalised."""
    cosine = unit_columns(samples.T).T @ atoms
    torch.testing.assert_close(cosine.max(0).values, torch.ones(atoms.shape[1]), rtol=0, atol=1e-5)
    return cosine.argmax(0).tolist()


def test_atoms_start_as_different_normalised_samples():
    network = make(**THREE)
    x = torch.cat([torch.zeros(5, 12), 3 * X])  # samples without length are passed over
    network.start_from_samples(x, seed=1)
    for V in network.V:
        torch.testing.assert_close(V.norm(dim=0), torch.ones(V.shape[1]))
    picked = sources(network.V[0], x)
    assert len(set(picked)) == 18 and min(picked) >= 5


def test_upper_atoms_start_as_messages_of_other_samples():
    network, x = make(**THREE), draw(600, 12, seed=5)
    network.start_from_samples(x, seed=1)
    below = Settler(network.layers[:1], config=SettleConfig.training(max_sweeps=50))(x)
    picked = sources(network.V[1], below.codes[0] @ network.U[0].T)
    assert len(set(picked)) == 14
    assert not set(picked) & set(sources(network.V[0], x))
    # Data may be sorted: the atoms come from all of them, not from the first ones.
    assert max(picked) > 300 > min(picked)


def test_the_seed_fixes_the_start():
    networks = [make(**THREE) for _ in range(3)]
    for network, seed in zip(networks, (1, 1, 2), strict=True):
        network.start_from_samples(X, seed=seed)
    first, again, other = map(snapshot, networks)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["V.0"], other["V.0"]) and torch.equal(first["U.0"], other["U.0"])


@pytest.mark.parametrize(
    ("x", "options", "message"),
    [
        (X[:17], {}, r"layer 1 needs at least 18 nonzero samples to start from, got 17"),
        (
            X * (torch.arange(40) < 10)[:, None],
            {},
            r"layer 1 needs at least 18 nonzero samples .*got 10",
        ),
        (
            X[:18],
            {"atoms": (18, 30, 10)},
            r"layer 2 needs at least 30 nonzero samples to start from, got 18",
        ),
        (
            X,
            {"sparsity": (100.0, 0.1, 0.1)},
            r"layer 2 needs at least 14 nonzero samples to start from, got 0",
        ),
        (X[:, 1:], {}, r"x must have shape \(batch, 12\) .*got \(40, 11\)"),
        (X / 0, {}, r"x holds 480 value\(s\) that are NaN or infinite"),
        (
            X,
            {"nonnegative": True},
            r"x must be >= 0 to start a nonnegative network, got a minimum of -\d",
        ),
    ],
)
def test_samples_that_cannot_start_a_network_are_named(x, options, message):
    with pytest.raises(ValueError, match=message):
        make(**(THREE | options)).start_from_samples(x, seed=0)


# --- a user's own array ---


def test_five_lines_are_enough():
    x = draw(500, 6, seed=40, dtype=torch.float64) @ draw(6, 20, seed=41, dtype=torch.float64)
    network = VectorNetwork.for_data(x, atoms=(24, 12), seed=0)
    errors = learn(network, x, steps=40, seed=0)
    settled = network.settle(x)
    x_hat = network.reconstruct(settled)

    assert network.config.interface == (12,) and network.V[0].dtype == torch.float64
    assert (x_hat - x).square().mean() < 0.05 * x.square().mean()
    assert (
        len(errors) == 10
        and min(errors)
        < learn(VectorNetwork.for_data(x, atoms=(24, 12), seed=0), x, steps=1, seed=0)[0]
    )


def test_learning_by_one_call_is_repeatable_and_takes_all_options():
    x = draw(100, 12, seed=42)
    options = {
        "sparsity": (0.1, 0.2),
        "interface": (5,),
        "interface_rule": "frozen",
        "relative_sparsity": False,
    }
    networks = [
        VectorNetwork.for_data(x, atoms=[18, 10], seed=seed, **options) for seed in (0, 0, 1)
    ]
    assert (
        networks[0].config.sparsity == (0.1, 0.2) and networks[0].config.interface_rule == "frozen"
    )
    for network, seed in zip(networks, (0, 0, 1), strict=True):
        learn(network, x, steps=4, seed=seed, batch_size=30, optimizer="sgd", lr=0.1)
    first, again, other = map(snapshot, networks)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["V.0"], other["V.0"])


def test_arrays_that_cannot_be_learned_from_are_named():
    x = draw(30, 12, seed=43)
    network = VectorNetwork.for_data(x, atoms=(8,), seed=0)
    with pytest.raises(ValueError, match=r"x must hold at least 2 samples, .*got 1"):
        learn(network, x[:1], seed=0)
    with pytest.raises(ValueError, match=r"x must have shape \(batch, 12\)"):
        learn(network, x[:, 1:], seed=0)
    with pytest.raises(
        ValueError,
        match=r"x must be a dense floating-point tensor, float32 or float64, got Tensor torch\.int64",
    ):
        VectorNetwork.for_data(x.long(), atoms=(8,), seed=0)
    with pytest.raises(
        ValueError, match=r"sparsity must have one entry per layer \(1\), got \(0.1, 0.1\)"
    ):
        VectorNetwork.for_data(x, atoms=(8,), seed=0, sparsity=(0.1, 0.1))


# --- bad input ---

GOOD = {"n_inputs": 12, "atoms": (18, 14), "interface": (9,), "sparsity": (0.1, 0.1)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_inputs": 0}, r"n_inputs must be an integer >= 1, got 0"),
        ({"atoms": ()}, r"atoms must name the number of atoms of at least one layer, got \(\)"),
        ({"atoms": 18}, r"atoms must be a list with one entry per layer, as \[64\], got 18"),
        ({"atoms": (18, 0)}, r"atoms of layer 2 must be an integer >= 1, got 0"),
        ({"atoms": (18, 2.5)}, r"atoms of layer 2 must be an integer >= 1, got 2.5"),
        ({"interface": ()}, r"interface must have 1 or 2 entries for 2 layer\(s\), got \(\)"),
        (
            {"interface": (9, 9, 9)},
            r"interface must have 1 or 2 entries for 2 layer\(s\), got \(9, 9, 9\)",
        ),
        ({"interface": (-1,)}, r"interface of layer 1 must be an integer >= 1, got -1"),
        ({"interface": 9}, r"interface must be a list with one entry per layer, as \[64\], got 9"),
        ({"sparsity": (0.1,)}, r"sparsity must have one entry per layer \(2\), got \(0.1,\)"),
        (
            {"sparsity": 0.1},
            r"sparsity must be a list with one entry per layer, as \[64\], got 0.1",
        ),
        ({"sparsity": (0.1, -0.1)}, r"sparsity of layer 2 must be a finite number >= 0, got -0.1"),
        ({"feedback": float("nan")}, r"feedback must be a finite number >= 0, got nan"),
        ({"top_k": 0}, r"top_k must be an integer >= 1 and <= 14, got 0"),
        ({"top_k": 15}, r"top_k must be an integer >= 1 and <= 14, got 15"),
        ({"activation": "gelu"}, r"activation must be one of 'identity', 'relu', got 'gelu'"),
        ({"penalty": "l2"}, r"penalty must be one of 'l1', .*got 'l2'"),
        ({"penalty": "mcp"}, r"options of kind 'mcp' must be gamma, got none"),
        ({"ridge": 0.1}, r"options of kind 'l1' must be none, got ridge"),
        (
            {"interface_rule": "hebb"},
            r"interface_rule must be one of 'subspace', 'frozen', 'atomic_hebb', got 'hebb'",
        ),
    ],
)
def test_bad_configurations_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        VNConfig(**(GOOD | options))


def test_bad_inputs_are_named():
    network = make(**THREE)
    with pytest.raises(ValueError, match=r"x must have shape \(batch, 12\) .*got \(40, 11\)"):
        network.settle(X[:, 1:])
    with pytest.raises(ValueError, match=r"x holds 1 value\(s\) that are NaN"):
        network.settle(X.index_fill(1, torch.tensor(0), torch.nan)[:1])
