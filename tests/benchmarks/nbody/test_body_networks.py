"""Vector Networks of forces: exact codes that follow their input, readings, local learning,
rollouts.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from benchmarks.nbody.bodies import Bodies, Samples, gated, in_passes, literal, scales_of, tokens
from benchmarks.nbody.codes import Coder, Reading
from benchmarks.nbody.forces import relative_errors
from benchmarks.nbody.homotopy import single, stacked
from benchmarks.nbody.readout import ReadoutLearner, read_out
from benchmarks.nbody.swept import SweptCoder
from benchmarks.nbody.vector_networks import BodyNetwork, start, vector_network
from vnlib.fit import Training
from vnlib.layer import Layer
from vnlib.learning.rules import unit_columns
from vnlib.network import VectorNetwork, VNConfig
from vnlib.prox import make_penalty
from vnlib.settle import SettleConfig, duality_gap

TINY = {
    "literal": {"reading": "literal", "atoms": (16,), "sparsity": (0.1,)},
    "gated": {"reading": "gated", "atoms": (16,), "sparsity": (0.05,)},
    "token": {"reading": "token", "atoms": (16,), "sparsity": (0.06,)},
    "deep": {
        "reading": "token",
        "atoms": (16, 8, 8),
        "interface": (8, 8),
        "sparsity": (0.06, 0.1, 0.1),
        "read": "all",
    },
}


def samples(n: int, *, seed: int = 0, bodies: int = 5, forces=None) -> Samples:
    """States whose accelerations are simple: a linear pull, a repulsion, drag and rotation."""
    rng = torch.Generator().manual_seed(seed)
    p, v = 2 * torch.randn(n, 5, 2, generator=rng), torch.randn(n, 5, 2, generator=rng)
    present = (torch.arange(5) < bodies).expand(n, 5)
    acts = (
        torch.eye(4)[torch.arange(n) % 4] if forces is None else torch.tensor(forces).expand(n, 4)
    )
    other = (p[:, None] - p[:, :, None]) * (present[:, None] & present[:, :, None])[..., None]
    each = torch.stack(
        [other.sum(2), -0.3 * other.tanh().sum(2), -v, torch.stack([v[..., 1], -v[..., 0]], -1)], 1
    )
    a = torch.einsum("bf,bfnc->bnc", acts, each) * present[..., None]
    return Samples(p * present[..., None], v * present[..., None], present, acts, a)


TRAIN, HELD = samples(120), samples(40, seed=1)


def trained(tmp_path, name: str, *, steps: int = 60, seed: int = 0, **options):
    training = Training(0.03, steps, 16, seed, tmp_path / f"{name}{seed}{sorted(options)}")
    return vector_network(TRAIN, HELD, training, **(TINY[name] | {"samples": 300} | options))


def stack(depth: int, seed: int = 0) -> list[Layer]:
    rng = torch.Generator().manual_seed(seed)
    sizes, widths, found = (40, 24, 20), (6, 8, 8), []
    for index in range(depth):
        V = unit_columns(torch.randn(widths[index], sizes[index], generator=rng).double())
        U = unit_columns(torch.randn(8, sizes[index], generator=rng).double())
        penalty = make_penalty(sparsity=(0.1, 0.05, 0.03)[index])
        found.append(Layer(V, U if index + 1 < depth else None, penalty))
    return found


def inputs(n: int, seed: int = 3) -> torch.Tensor:
    return torch.randn(n, 6, generator=torch.Generator().manual_seed(seed)).double()


def dense(lasso, at) -> torch.Tensor:
    out = np.zeros((len(at.x), lasso.B.shape[1]))
    lasso.add(at, np.arange(len(at.x)), np.arange(lasso.B.shape[1]), out)
    return torch.from_numpy(out)


# --- exact codes ---


def test_the_path_ends_at_the_minimum_of_one_layer_cold_and_warm():
    layers, x = stack(1), inputs(30)
    lasso = single(layers[0].V, sparsity=0.1)
    at = lasso.begin(30)
    for step in range(4):
        lasso.move(at, (x + 0.3 * step).numpy())
        gap = duality_gap(layers, [dense(lasso, at)], x + 0.3 * step)
        assert gap.max() < 1e-12 and at.count.max() <= 6


@pytest.mark.parametrize("feedback", [0.02, 1.0, 50.0])
def test_a_stack_with_feedback_is_one_lasso(feedback):
    layers, x = stack(3), inputs(20)
    lasso = stacked(layers, feedback)
    at = lasso.begin(20)
    for moved in (x, x + 0.1):
        lasso.move(at, moved.numpy())
        codes = dense(lasso, at).split([40, 24, 20], 1)
        scale = max(1.0, feedback**2)
        assert duality_gap(layers, codes, moved, feedback).max() < 1e-9 * scale
        assert (codes[0] != 0).any() and (feedback > 1 or (codes[2] != 0).any())


def test_atoms_that_depend_on_each_other_do_not_stop_the_path():
    V = unit_columns(torch.randn(3, 10, generator=torch.Generator().manual_seed(0)).double())
    near = unit_columns(
        V + 1e-7 * torch.randn(V.shape, generator=torch.Generator().manual_seed(1)).double()
    )
    V = torch.cat([V, V, -V, near], 1)
    layers, x = [Layer(V, None, make_penalty(sparsity=0.05))], inputs(20)[:, :3]
    lasso = single(V, sparsity=0.05)
    at = lasso.begin(20)
    for moved in (x, -x):
        lasso.move(at, moved.numpy())
        assert duality_gap(layers, [dense(lasso, at)], moved).max() < 1e-6


def test_only_the_inputs_that_are_followed_can_move():
    lasso = single(torch.eye(3), sparsity=0.1)
    with pytest.raises(
        ValueError, match=r"x must have the shape of the inputs that are followed, \(4, 3\)"
    ):
        lasso.move(lasso.begin(4), np.zeros((5, 3)))


def network(
    reading: Reading, feedback: float = 0.0, depth: int = 1, seed: int = 0
) -> VectorNetwork:
    """Atoms that are inputs; learned by nobody."""
    config = VNConfig(
        n_inputs=reading.size,
        atoms=(40, 12, 10)[:depth],
        interface=(10, 8)[: depth - 1],
        sparsity=(0.1, 0.05, 0.05)[:depth],
        feedback=feedback,
        relative_sparsity=True,
    )
    made = VectorNetwork(config, seed=seed)
    kinds = reading(TRAIN.bodies)
    start(made, kinds, [1 / len(kinds)] * len(kinds), seed=seed)
    return made


@pytest.mark.parametrize("reading", ["literal", "gated", "token"])
@pytest.mark.parametrize(("feedback", "depth"), [(0.0, 1), (0.0, 3), (0.1, 3)])
def test_codes_are_those_of_the_settle(reading, feedback, depth):
    """In the token reading block by block, against all atoms in the space of all tokens."""
    reader = Reading(reading, scales_of(TRAIN), relative_velocity=0.3)
    net = network(reader, feedback, depth).double()
    few = mixed(2, bodies=4).bodies
    x = reference_inputs(few, reader)
    config = SettleConfig(
        method="line_search" if feedback else "restart", tol=1e-13, check_every=10, max_sweeps=4000
    )
    wanted = torch.cat(net.settle(x.double(), config=config).codes, 1)
    wanted = wanted.view(2, 5, -1, wanted.shape[1]).sum(2)
    torch.testing.assert_close(Coder(net, reader)(few)[:, :, 0].double(), wanted, atol=5e-3, rtol=0)
    assert Coder(net, reader).stages(reader(few)[0].columns)[0].atoms.size == (
        5 if reading == "token" and not feedback else sum(net.config.atoms) if feedback else 40
    )


def reference_inputs(bodies: Bodies, reader: Reading) -> torch.Tensor:
    """All inputs of every body, zeros too, written down once more."""
    if reader.name == "literal":
        x = literal(bodies, reader.scales, code=reader.code) * bodies.present[..., None]
        return x.flatten(0, 1)
    if reader.name == "gated":
        return gated(bodies, reader.scales).flatten(0, 1)
    found = tokens(
        bodies, reader.scales, relative_velocity=reader.relative_velocity, presence=reader.presence
    )
    space = torch.zeros(*found.shape[:4], 28)
    for law in range(4):
        space[:, :, law, :, 7 * law : 7 * law + 7] = found[:, :, law]
    return space.flatten(0, 1).flatten(0, 2)


def mixed(n: int, **options) -> Samples:
    return samples(n, seed=7, forces=[1.0, 1.0, 0.0, 1.0], **options)


def test_tokens_superpose_exactly_and_the_literal_reading_does_not(tmp_path):
    for name, bound in (("token", 1e-5), ("deep", 1e-5)):
        model, states = trained(tmp_path, name), mixed(10).bodies
        torch.testing.assert_close(
            model.predict(states), in_passes(model.predict, states), atol=bound, rtol=0
        )
    model = trained(tmp_path, "literal")
    assert (model.predict(states) - in_passes(model.predict, states)).abs().max() > 0.1


@pytest.mark.parametrize("name", list(TINY))
def test_a_rollout_is_followed_to_what_predict_says(tmp_path, name):
    options = {"feedback": 0.05} if name == "deep" else {}
    model, states = trained(tmp_path, name, **options), mixed(6, bodies=4).bodies
    follow = model.follow()
    for _ in range(5):
        states = states._replace(position=states.position + 0.05 * states.velocity)
        torch.testing.assert_close(follow(states), model.predict(states), atol=1e-4, rtol=0)
    assert (model.follow()(states)[:, 4] == 0).all()


@pytest.mark.parametrize("name", list(TINY))
def test_the_same_seed_gives_the_same_bits_and_learning_helps(tmp_path, name):
    one, two = (trained(tmp_path / part, name) for part in "ab")
    other = trained(tmp_path, name, seed=1)
    assert torch.equal(one.predict(HELD.bodies), two.predict(HELD.bodies))
    assert not torch.equal(one.predict(HELD.bodies), other.predict(HELD.bodies))
    assert relative_errors(one.predict, HELD).mean() < 0.95
    assert min(one.curve) == pytest.approx(
        float(relative_errors(one.predict, HELD).mean()), rel=1e-4
    )
    assert set(one.facts) == {"parameters", "active", "active_top", "used", "dead", "revived"}
    assert one.facts["used"] + one.facts["dead"] == sum(TINY[name]["atoms"])


def test_each_force_has_its_readout_and_in_mixtures_they_add_up(tmp_path):
    for name in ("literal", "deep"):
        model = trained(tmp_path, name, readout_per_force=True)
        assert model.facts["parameters"] > trained(tmp_path, name).facts["parameters"]
        assert relative_errors(model.predict, HELD).mean() < 1
    # With one code per body, a readout that is the same for every force counts once per force.
    reader = Reading("literal", scales_of(TRAIN))
    net, both = network(reader), mixed(5).bodies
    shared, split = (BodyNetwork(Coder(net, reader), per_force=per) for per in (False, True))
    shared.readouts.normal_(generator=torch.Generator().manual_seed(0))
    split.readouts.copy_(shared.readouts.expand_as(split.readouts))
    torch.testing.assert_close(split.predict(both), 3 * shared.predict(both))
    # With one code per token each readout has tokens of its own.
    reader = Reading("token", scales_of(TRAIN))
    shared, split = (
        BodyNetwork(Coder(network(reader), reader), per_force=per) for per in (False, True)
    )
    split.readouts.copy_(shared.readouts.normal_().expand_as(split.readouts))
    torch.testing.assert_close(split.predict(both), shared.predict(both), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("depth, feedback", [(1, 0.0), (3, 0.0), (3, 0.05)])
def test_codes_of_few_sweeps_come_to_those_of_the_minimum_with_more(depth, feedback):
    reader = Reading("token", scales_of(TRAIN))
    net, bodies = network(reader, feedback, depth), HELD.bodies
    exact = Coder(net, reader)(bodies)
    errors = [
        float((SweptCoder(net, reader, sweeps)(bodies) - exact).square().mean())
        for sweeps in (1, 20, 500)
    ]
    assert errors[0] > 2 * errors[1] > 40 * errors[2], errors
    many = SweptCoder(net, reader, 500)
    assert many.active(bodies) == pytest.approx(Coder(net, reader).active(bodies), rel=0.1)


def test_a_network_of_few_sweeps_is_taught_by_their_codes(tmp_path):
    one = trained(tmp_path, "deep", sweeps=1)
    assert one.facts["active"] != trained(tmp_path, "deep").facts["active"]
    assert relative_errors(one.predict, HELD).mean() < 1
    follow = one.follow()
    assert torch.equal(follow(HELD.bodies), follow(HELD.bodies)), "from 0 each time"
    with pytest.raises(ValueError, match="sweeps must be"):
        trained(tmp_path, "deep", sweeps=0)


def test_the_delta_rule_goes_down_the_squared_error():
    rng = torch.Generator().manual_seed(0)
    codes, forces = torch.randn(6, 5, 7, generator=rng), torch.eye(4)[torch.arange(6) % 4]
    codes[:, :, 6] = 0
    truth, present = torch.randn(6, 5, 2, generator=rng), torch.ones(6, 5, dtype=torch.bool)
    for n in (1, 4):
        readouts = torch.randn(n, 2, 7, generator=rng)
        before, grad = readouts.clone(), readouts.clone().requires_grad_()
        told = codes[:, :, None] if n == 1 else forces[:, None, :, None] * codes[:, :, None]
        (0.5 * (truth - read_out(grad, told)).square().sum()).backward()
        loss = ReadoutLearner(readouts, lr=1e-3).step(
            (codes, forces, present, truth), scale=1.0, generator=rng
        )
        assert loss == pytest.approx(
            float((truth - read_out(before, told)).square().mean()), rel=1e-5
        )
        # The first step of Adam has the sign of the direction.
        moved = readouts - before
        assert (
            torch.equal(moved[..., :6].sign(), -grad.grad[..., :6].sign())
            and (moved[..., 6] == 0).all()
        )


def test_inverted_coupling_is_feedback_turned_round(tmp_path):
    turned = trained(tmp_path, "deep", feedback=0.5, inverted=True)
    told = trained(tmp_path, "deep", feedback=2.0)
    assert torch.equal(turned.predict(HELD.bodies), told.predict(HELD.bodies))


def test_dead_atoms_are_revived_if_asked(tmp_path):
    assert trained(tmp_path, "deep").facts["revived"] == 0
    assert trained(tmp_path, "deep", revive_after=1, passes=20.0).facts["revived"] > 0


def test_few_states_can_teach_the_readout(tmp_path):
    assert relative_errors(trained(tmp_path, "token", states=20).predict, HELD).mean() < 1


def test_no_states_have_no_accelerations(tmp_path):
    model = trained(tmp_path, "token", steps=1)
    assert model.predict(Bodies(*(part[:0] for part in HELD.bodies))).shape == (0, 5, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reading": "images"}, "reading must be one of 'literal', 'gated', 'token', got 'images'"),
        ({"read": "bottom"}, "read must be one of 'top', 'all', got 'bottom'"),
        ({"code": 0}, "code must be a finite number > 0, got 0"),
        ({"relative_velocity": -1}, "relative_velocity must be a finite number >= 0, got -1"),
        ({"presence": -1}, "presence must be a finite number >= 0, got -1"),
        ({"factor": 0}, "factor must be a finite number > 0, got 0"),
        ({"passes": 0}, "passes must be a finite number > 0, got 0"),
        ({"own_share": 2}, "own_share must be a finite number >= 0 and <= 1, got 2"),
        ({"samples": 0}, "samples must be an integer >= 1, got 0"),
        ({"states": 0}, "states must be an integer >= 1, got 0"),
        ({"sparsity": (0,)}, "sparsity of layer 1 must be a finite number > 0, got 0"),
        ({"feedback": -1}, "feedback must be a finite number >= 0, got -1"),
        ({"inverted": True}, "inverted needs feedback > 0 and more than one layer, got 0.0 and 1"),
        ({"interface_rule": "none"}, "interface_rule must be one of"),
        (
            {"atoms": (100_000,)},
            "train must hold at least 4000 inputs of each kind that are not 0, got 150",
        ),
        (
            {"atoms": (16, 5000), "interface": (4,), "sparsity": (0.1, 0.1)},
            "atoms of layer 2 must be at most the",
        ),
    ],
)
def test_bad_options_are_named(tmp_path, options, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        trained(tmp_path, "token", **options)
