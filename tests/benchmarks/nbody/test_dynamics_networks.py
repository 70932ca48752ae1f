"""Networks of body dynamics: what each may depend on, what it knows of the physics, and that it
learns.
"""

from __future__ import annotations

import sys
import tempfile
from functools import partial

import pytest
import torch
from torch import Tensor
from torch_geometric.nn.conv import MessagePassing

from benchmarks.baselines.parts import built
from benchmarks.nbody.baseline import Dynamics
from benchmarks.nbody.bodies import LAWS, Bodies, Samples, Scales, literal
from benchmarks.nbody.graph import GraphNetwork, Round, edges
from benchmarks.nbody.networks import BodyMLP, Factorized, FiLM
from benchmarks.nbody.sequence import BodyMamba, BodyTransformer, both_ways, placed
from vnlib.fit import FitConfig, GradientLearner, fit

SCALES = Scales(displacement=2.0, velocity=0.5, relative_velocity=0.8, acceleration=3.0)
SMALL: dict[str, tuple[type[Dynamics], dict[str, object]]] = {
    "mlp": (BodyMLP, {"width": 16}),
    "film": (FiLM, {"width": 16}),
    "factorized_pairwise": (Factorized, {"width": 8}),
    "factorized_relative": (Factorized, {"width": 8, "relative_velocity": 1.0}),
    "factorized_dense": (Factorized, {"width": 8, "structure": "dense"}),
    "gnn": (GraphNetwork, {"width": 12, "rounds": 1}),
    "gnn_2": (GraphNetwork, {"width": 12}),
    "transformer": (BodyTransformer, {"d_model": 16, "heads": 2, "width": 16}),
    "transformer_state": (
        BodyTransformer,
        {"d_model": 16, "heads": 2, "width": 16, "reading": "state"},
    ),
    "mamba": (BodyMamba, {"d_model": 16}),
    "mamba_state": (BodyMamba, {"d_model": 16, "reading": "state"}),
}
every_model = pytest.mark.parametrize("name", SMALL)
EQUIVARIANT = ("factorized_pairwise", "factorized_relative", "gnn", "gnn_2", "transformer_state")
ORDERED = sorted(SMALL.keys() - EQUIVARIANT)
# The others read positions in the box too.
SHIFTABLE = tuple(name for name in SMALL if not name.startswith(("transformer", "mamba")))


def small(name: str, *, seed: int = 0, **options: object) -> Dynamics:
    family, own = SMALL[name]
    return built(family, scales=SCALES, seed=seed, **own | options).double()


def some(present: list[list[int]], forces: list[list[int]], *, seed: int = 0) -> Bodies:
    rng = torch.Generator().manual_seed(seed)
    position, velocity = torch.randn(2, len(present), 5, 2, generator=rng, dtype=torch.float64)
    there = torch.tensor(present, dtype=torch.bool)
    return Bodies(position, velocity, there, torch.tensor(forces, dtype=torch.float64))


@pytest.fixture
def bodies() -> Bodies:
    """Mixed numbers of bodies, absent ones also before others, and any forces, none included."""
    present = [[1, 1, 1, 1, 1], [1, 1, 1, 1, 0], [1, 1, 1, 0, 0], [0, 1, 1, 0, 1], [0, 0, 0, 1, 0]]
    return some(present, [[1, 0, 0, 0], [1, 1, 0, 1], [1, 1, 1, 1], [0, 0, 1, 0], [0, 0, 0, 0]])


def reordered(bodies: Bodies, order: Tensor) -> Bodies:
    return Bodies(*(part[:, order] for part in bodies[:3]), bodies.forces)


def under(bodies: Bodies, *laws: str) -> Bodies:
    return bodies._replace(
        forces=torch.tensor([[float(law in laws) for law in LAWS]]).double().expand(5, -1)
    )


def loss(model: Dynamics, bodies: Bodies) -> Tensor:
    truth = torch.randn(bodies.position.shape, generator=torch.Generator().manual_seed(3)).to(
        bodies.position
    )
    return model.loss(*bodies, truth, generator=torch.Generator())


@every_model
@pytest.mark.parametrize("garbage", [torch.nan, torch.inf, -1e30])
def test_what_absent_bodies_hold_does_not_matter(name, garbage, bodies):
    model, away = small(name), ~bodies.present[..., None]
    filled = bodies._replace(
        position=bodies.position.masked_fill(away, garbage),
        velocity=bodies.velocity.masked_fill(away, garbage),
    )
    for train in (True, False):
        with torch.set_grad_enabled(train):
            model.train(train)
            assert torch.equal(model(filled), model(bodies))
            assert torch.equal(model(filled)[~bodies.present], torch.zeros(9, 2).double())
    loss(model, filled).backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


@every_model
def test_states_do_not_depend_on_their_companions(name, bodies):
    model = small(name)
    alone = [model(Bodies(*(part[row : row + 1] for part in bodies))) for row in range(5)]
    torch.testing.assert_close(torch.cat(alone), model(bodies))


@every_model
def test_a_state_without_bodies_is_no_trouble(name, bodies):
    empty = bodies._replace(
        present=bodies.present & torch.tensor([[True], [False], [True], [True], [True]])
    )
    model = small(name)
    assert model(empty).isfinite().all() and not model(empty)[1].any()
    loss(model, empty).backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


@every_model
def test_every_weight_has_a_gradient(name, bodies):
    model = small(name)
    loss(model, bodies).backward()
    for label, p in model.named_parameters():
        assert p.grad is not None and p.grad.isfinite().all() and p.grad.any(), label


@every_model
def test_one_seed_gives_the_same_bits_and_leaves_the_global_random_state(name, bodies):
    before = torch.get_rng_state()
    first, other = small(name), small(name, seed=1)
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(7)  # a global state that differs must not reach the weights
    assert torch.equal(small(name)(bodies), first(bodies))
    assert not torch.equal(other(bodies), first(bodies))


@every_model
def test_forces_matter_and_others_do_too(name, bodies):
    model = small(name)
    found = model(under(bodies, "gravity"))
    assert not torch.allclose(model(under(bodies, "gravity", "drag")), found)
    moved = bodies.position.clone()
    moved[0, 4] += 1.0
    after = model(under(bodies, "gravity")._replace(position=moved))
    assert ((after - found)[0].abs().amax(-1) > 1e-6).all()  # each body is told of the last one
    assert torch.equal(after[1:], found[1:])


@pytest.mark.parametrize("name", EQUIVARIANT)
def test_bodies_are_exchangeable(name, bodies):
    model, order = small(name), torch.tensor([3, 0, 4, 1, 2])
    torch.testing.assert_close(model(reordered(bodies, order)), model(bodies)[:, order])


@pytest.mark.parametrize("name", ORDERED)
def test_the_others_depend_on_the_order_of_bodies(name, bodies):
    model, order = small(name), torch.tensor([3, 0, 4, 1, 2])
    assert not torch.allclose(model(reordered(bodies, order)), model(bodies)[:, order])


@every_model
def test_who_reads_relative_positions_alone_does_not_see_a_shift(name, bodies):
    model = small(name)
    shifted = model(bodies._replace(position=bodies.position + 1.5))
    assert torch.allclose(shifted, model(bodies)) is (name in SHIFTABLE)


def test_the_mlp_is_a_function_of_22_numbers(bodies):
    model = small("mlp")
    found = model.net(literal(bodies, SCALES)) * SCALES.acceleration
    torch.testing.assert_close(model(bodies)[bodies.present], found[bodies.present])


FIRST = {
    "mlp": ("net.0.",),
    "film": ("hidden.0.",),
    "factorized_pairwise": tuple(
        f"{kind}.{law}.0." for kind in ("pair_nets", "self_nets") for law in range(4)
    ),
    "factorized_dense": tuple(f"nets.{law}.0." for law in range(4)),
    "gnn_2": ("rounds.0.along.", "rounds.1.along."),
    "transformer": ("embed.",),
    "mamba": ("embed.",),
}


@pytest.mark.parametrize("name", FIRST)
def test_gain_widens_the_first_maps_and_no_other(name):
    plain, wide = (small(name, gain=gain).state_dict() for gain in (1.0, 3.0))
    assert sum(label.startswith(FIRST[name]) for label in plain) == 2 * len(FIRST[name])
    for label, p in plain.items():
        torch.testing.assert_close(
            wide[label], (3 if label.startswith(FIRST[name]) else 1) * p, rtol=1e-6, atol=0
        )


def test_film_scales_and_shifts_what_the_state_gives(bodies):
    model = small("film", layers=1)
    with torch.no_grad():
        model.code[-1].weight.zero_()
        gamma, beta = model.code[-1].bias.view(2, 16)
    h = (1 + gamma) * model.hidden[0](literal(bodies, SCALES)[..., :18]) + beta
    wanted = model.readout(h * h.sigmoid()) * SCALES.acceleration
    torch.testing.assert_close(model(bodies)[bodies.present], wanted[bodies.present])
    # Without weights, the code says nothing: forces have no other way in.
    torch.testing.assert_close(
        model(under(bodies, "spring")), model(under(bodies, "drag", "lorentz"))
    )


@pytest.mark.parametrize("name", ["factorized_pairwise", "factorized_relative", "factorized_dense"])
def test_factorized_is_the_sum_over_the_forces_that_act(name, bodies):
    model = small(name)
    alone = {law: model(under(bodies, law)) for law in LAWS}
    torch.testing.assert_close(
        model(under(bodies, "spring", "lorentz")), alone["spring"] + alone["lorentz"]
    )
    torch.testing.assert_close(model(under(bodies, *LAWS)), sum(alone.values()))
    assert not model(under(bodies)).any()


@pytest.mark.parametrize("name", ["factorized_pairwise", "factorized_dense"])
def test_a_force_that_does_not_act_meets_no_network(name, bodies):
    model = small(name)
    found = model(under(bodies, "gravity", "lorentz"))
    loss(model, under(bodies, "gravity", "lorentz")).backward()
    for nets in (
        getattr(model, kind) for kind in ("nets", "pair_nets", "self_nets") if hasattr(model, kind)
    ):
        assert [all(p.grad is not None for p in net.parameters()) for net in nets] == [
            True,
            False,
            False,
            True,
        ]
        with torch.no_grad():
            for p in nets[1].parameters():
                p.fill_(torch.nan)
    assert torch.equal(model(under(bodies, "gravity", "lorentz")), found)


def test_pairs_add_up_in_the_factorized_network(bodies):
    model, both = small("factorized_pairwise"), under(bodies, "gravity", "spring")

    def pulled(*others: int) -> Tensor:
        there = torch.zeros(5, 5, dtype=torch.bool)
        there[:, [0, *others]] = True
        return model(both._replace(present=there))[:, 0]

    torch.testing.assert_close(
        pulled(1, 2, 3) - pulled(), sum(pulled(j) - pulled() for j in (1, 2, 3))
    )
    model = small("factorized_dense")
    assert not torch.allclose(
        pulled(1, 2, 3) - pulled(), sum(pulled(j) - pulled() for j in (1, 2, 3))
    )


def test_factorized_sees_relative_velocities_only_if_told_to(bodies):
    faster = bodies.velocity.clone()
    faster[:, 4] += 1.0  # the fifth body is there in the first state
    for name, sees in (("factorized_pairwise", False), ("factorized_relative", True)):
        model = small(name)
        change = model(bodies._replace(velocity=faster)) - model(bodies)
        assert bool(change[0, :4].any()) is sees and change[0, 4].any()


def test_the_graph_joins_all_that_are_there(bodies):
    found = set(zip(*edges(bodies.present).tolist(), strict=True))
    there = bodies.present
    wanted = {
        (5 * b + j, 5 * b + i)
        for b in range(5)
        for i in range(5)
        for j in range(5)
        if i != j and there[b, i] and there[b, j]
    }
    assert found == wanted and edges(bodies.present).shape[1] == len(wanted)


def test_messages_are_what_the_definition_says_pair_by_pair(bodies):
    model, silu = small("gnn"), torch.nn.functional.silu
    p, v = bodies.position / SCALES.displacement, bodies.velocity
    one = model.rounds[0]
    for b, i in bodies.present.nonzero().tolist():
        h = {
            j: model.embed(torch.cat([v[b, j] / SCALES.velocity, bodies.forces[b]]))
            for j in range(5)
            if bodies.present[b, j]
        }
        total = torch.zeros(12).double()
        for j in h.keys() - {i}:
            e = torch.cat([p[b, j] - p[b, i], (v[b, j] - v[b, i]) / SCALES.relative_velocity])
            total += silu(one.deepen(silu(one.receive(h[i]) + one.send(h[j]) + one.along(e))))
        out = model.readout(h[i] + one.update_node(torch.cat([h[i], total])))
        torch.testing.assert_close(model(bodies)[b, i], SCALES.acceleration * out)


def test_code_that_is_generated_leaves_no_file(bodies, tmp_path, monkeypatch):
    known = small("gnn_2")(bodies)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.delitem(sys.modules, Round.propagate.__module__)  # as in a new process
    monkeypatch.setattr(Round, "propagate", MessagePassing.propagate)
    again = small("gnn_2")
    assert str(tmp_path) in Round.propagate.__code__.co_filename
    assert torch.equal(again(bodies), known)
    assert list(tmp_path.rglob("*")) == []


def test_both_ways_end_with_absent_bodies():
    present = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [0, 1, 0, 1, 1]], dtype=torch.bool)
    forth, back = both_ways(present)
    assert forth.tolist() == [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4], [1, 3, 4, 0, 2]]
    assert back.tolist() == [[4, 3, 2, 1, 0], [2, 1, 0, 3, 4], [4, 3, 1, 0, 2]]
    tokens = torch.arange(15.0).view(3, 5, 1)
    assert torch.equal(placed(placed(tokens, back), back.argsort(1)), tokens)


def test_mamba_reads_absent_places_last_wherever_they_are():
    """Where the empty places lie does not matter, only the order of those that are there."""
    model = small("mamba_state")
    first = some([[1, 1, 1, 0, 0]], [[1, 1, 0, 0]])
    order = torch.tensor([3, 0, 1, 4, 2])
    torch.testing.assert_close(model(reordered(first, order)), model(first)[:, order])


@pytest.mark.parametrize("d_state", [1, 4])
def test_the_scan_token_by_token_is_mambas_own(d_state):
    block = small("mamba", d_state=d_state).blocks.blocks.layers[0].mixer
    rng = torch.Generator().manual_seed(0)
    x, delta, B, C = (
        torch.rand(3, 5, n, generator=rng).double() for n in (16, 16, d_state, d_state)
    )
    A, D = -torch.rand(16, d_state, generator=rng).double(), torch.rand(16, generator=rng).double()
    torch.testing.assert_close(
        block.selective_scan_seq(x, delta, A, B, C, D), block.selective_scan(x, delta, A, B, C, D)
    )


@every_model
def test_a_few_updates_halve_the_error_of_no_acceleration(name):
    rng = torch.Generator().manual_seed(0)
    n = 96
    position, velocity = (
        2 * torch.randn(n, 5, 2, generator=rng),
        0.5 * torch.randn(n, 5, 2, generator=rng),
    )
    present = torch.arange(5) < torch.tensor([5, 4, 3]).repeat(n // 3)[:, None]
    forces = torch.eye(4)[torch.arange(n) % 2 + 2]
    turned = torch.stack([velocity[..., 1], -velocity[..., 0]], -1)
    acceleration = (
        6 * torch.where(forces[:, 2, None, None] > 0, -velocity, turned) * present[..., None]
    )
    samples = Samples(position, velocity, present, forces, acceleration)
    model = small(name, **{"gain": 1.5}).float()

    @torch.no_grad()
    def error() -> float:
        return float((model(samples.bodies) - acceleration)[present].square().mean())

    config = FitConfig(steps=40, batch_size=32, eval_every=40)
    fit(GradientLearner(model, lr=1e-2), samples, config, seed=0, validate=error)
    assert error() < 0.5 * float(acceleration[present].square().mean())


BAD = [
    *(
        (name, option, value)
        for name in SMALL
        for option, value in (("gain", 0.0), ("layers", 0), ("width", 2.5))
    ),
    ("film", "code_width", 0),
    ("factorized_dense", "structure", "sparse"),
    ("factorized_pairwise", "relative_velocity", -1.0),
    ("gnn", "rounds", 0),
    *(("transformer", option, 0) for option in ("d_model", "heads")),
    ("transformer", "heads", 3),
    ("transformer", "reading", "words"),
    *(("mamba", option, 0) for option in ("d_model", "d_state", "expand")),
    ("mamba", "reading", "words"),
]


@pytest.mark.parametrize(("name", "option", "value"), BAD)
def test_bad_options_are_named(name, option, value):
    make = partial(small, name, **{option: value})
    lacks = (name.startswith("gnn") and option == "layers") or (
        name.startswith("mamba") and option == "width"
    )
    message = f"has no option {option}" if lacks else f"^{option} must .*{value!r}"
    with pytest.raises(ValueError, match=message):
        make()
