"""Vector Networks as decoders: what they compute, how their readouts learn, and bad input."""

from __future__ import annotations

import pytest
import torch

from benchmarks.spatial.decoders import build_vn
from benchmarks.spatial.vector_networks import ReadoutLearner, SpatialLearner, SpatialVN
from vnlib.learning.learner import LocalLearner
from vnlib.learning.rules import unit_columns
from vnlib.network import VNConfig

HEIGHT, WIDTH = 5, 7
KINDS = ({"streams": "axes"}, {"streams": "joint"}, {"streams": "joint", "readout": "flat"})
every_kind = pytest.mark.parametrize("kind", KINDS, ids=("axes", "joint", "flat"))


def draw(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def small(seed: int = 0, **options) -> SpatialVN:
    """A model of images with different sides, in float64."""
    options = {"n_inputs": 12, "n_atoms": 9, "sparsity": 0.05, "sweeps": 15} | options
    return build_vn(image_shape=(HEIGHT, WIDTH), seed=seed, **options).double()


INPUT, TARGET = draw(6, 12, seed=1), draw(6, HEIGHT, WIDTH, seed=2)


# --- what the models compute ---


def test_the_product_readout_draws_q_b_times_u_a():
    model = small(streams="axes")
    b, a = model.codes(INPUT)
    Q, U = model.readouts
    assert Q.shape == (HEIGHT, 9) and U.shape == (WIDTH, 9)
    for i in range(6):
        torch.testing.assert_close(model(INPUT)[i], torch.outer(Q @ b[i], U @ a[i]))


@pytest.mark.parametrize("streams", ["axes", "joint"])
def test_rank_adds_pairs_of_readouts_whose_products_are_summed(streams):
    model = small(streams=streams, rank=3)
    b, a = model.codes(INPUT)
    Q, U = (R.view(3, -1, 9) for R in model.readouts)
    assert Q.shape == (3, HEIGHT, 9) and U.shape == (3, WIDTH, 9)
    for i in range(6):
        torch.testing.assert_close(
            model(INPUT)[i], sum(torch.outer(Q[r] @ b[i], U[r] @ a[i]) for r in range(3))
        )
    rows, columns = model.streams(INPUT)
    torch.testing.assert_close(rows[:, 1], b @ Q[1].T)
    torch.testing.assert_close(columns[:, 2], a @ U[2].T)


def test_a_flat_readout_has_neither_rank_nor_profiles():
    flat = small(streams="joint", readout="flat")
    with pytest.raises(ValueError, match="a flat readout has no profiles"):
        flat.streams(INPUT)
    with pytest.raises(ValueError, match="readout 'flat' needs streams='joint' and rank=1"):
        small(streams="joint", readout="flat", rank=2)
    with pytest.raises(ValueError, match="axis_loss needs readout='product' and rank=1"):
        ReadoutLearner(flat, axis_loss=True)
    with pytest.raises(ValueError, match="axis_loss needs readout='product' and rank=1"):
        ReadoutLearner(small(streams="axes", rank=2), axis_loss=True)


def test_top_down_options_reach_the_settle():
    model = small(streams="axes", depth=2, feedback=0.3, mix=0.5, sweeps=2, steps=4)
    config = model.networks[0].config
    assert config.feedback == 0.3 and config.settle.mix == 0.5
    assert (config.settle.max_sweeps, config.settle.steps) == (2, 4)
    alone = small(streams="axes", depth=2, sweeps=2, steps=4)
    assert not torch.allclose(model.codes(INPUT)[0], alone.codes(INPUT)[0])


def test_the_first_half_of_the_input_moves_columns_and_the_second_rows():
    model = small(streams="axes")
    x_code, y_code = (
        net.settle(half).codes[-1]
        for net, half in zip(model.networks, INPUT.split(6, 1), strict=True)
    )
    b, a = model.codes(INPUT)
    assert torch.equal(a, x_code) and torch.equal(b, y_code)
    other = INPUT.clone()
    other[:, :6] = draw(6, 6, seed=3)
    before, after = model(INPUT), model(other)
    # The profile along a column, image[:, x] up to its size, is what it was; the one along a row is
    # not.
    torch.testing.assert_close(
        torch.linalg.matrix_rank(torch.cat([before, after], dim=2), rtol=1e-9),
        torch.ones(6, dtype=torch.int64),
    )
    assert (torch.linalg.matrix_rank(torch.cat([before, after], dim=1), rtol=1e-9) == 2).any()


def test_the_joint_stream_gives_one_code_for_both_sides():
    model = small(streams="joint")
    b, a = model.codes(INPUT)
    assert b is a and a.shape == (6, 9)
    torch.testing.assert_close(a, model.networks[0].settle(INPUT).codes[-1])


def test_the_flat_readout_is_linear_in_the_code():
    model = small(streams="joint", readout="flat")
    (a,) = model.codes(INPUT)
    torch.testing.assert_close(model(INPUT), (a @ model.readouts[0].T).reshape(6, HEIGHT, WIDTH))


def test_superposed_codes_give_cross_terms_under_the_product_and_none_under_the_flat_readout():
    product, flat = small(streams="axes"), small(streams="joint", readout="flat")
    (b, a), (d, c) = product.codes(INPUT), product.codes(draw(6, 12, seed=4))
    Q, U = product.readouts
    rest = product.render((b + d, a + c)) - product.render((b, a)) - product.render((d, c))
    cross = torch.einsum("by,bx->byx", b @ Q.T, c @ U.T) + torch.einsum(
        "by,bx->byx", d @ Q.T, a @ U.T
    )
    torch.testing.assert_close(rest, cross)
    assert cross.abs().max() > 0.01
    (a,), (c,) = flat.codes(INPUT), flat.codes(draw(6, 12, seed=4))
    torch.testing.assert_close(flat.render((a + c,)), flat.render((a,)) + flat.render((c,)))


@every_kind
@pytest.mark.parametrize("depth", [1, 3])
def test_options_reach_the_networks(kind, depth):
    model = small(depth=depth, top_k=2, nonnegative=True, **kind)
    assert len(model.networks) == (2 if kind["streams"] == "axes" else 1)
    for net in model.networks:
        assert len(net.V) == depth and len(net.U) == depth - 1
        for U in net.U:
            torch.testing.assert_close(
                U.T @ U, torch.eye(9, dtype=torch.float64), rtol=0, atol=1e-5
            )
    for code in model.codes(INPUT.abs()):
        assert (code >= 0).all() and ((code != 0).sum(1) <= 2).all()
    assert model(INPUT.abs()).shape == (6, HEIGHT, WIDTH)
    assert model(INPUT[:1].abs()).shape == (1, HEIGHT, WIDTH)


@every_kind
def test_the_seed_fixes_all_weights_and_no_two_draws_are_alike(kind):
    first, again, other = (small(seed, **kind) for seed in (0, 0, 1))
    assert all(
        torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True)
    )
    assert not any(
        torch.equal(a, b) for a, b in zip(first.parameters(), other.parameters(), strict=True)
    )
    # Neither the two streams nor dictionaries and readouts share their random numbers.
    square = build_vn(n_inputs=12, image_shape=(6, 6), n_atoms=9, seed=0, **kind)
    weights = [unit_columns(W[:6]).abs() for net in square.networks for W in net.V]
    weights += [unit_columns(R[:6]) for R in square.readouts]
    for i, W in enumerate(weights):
        assert not any(torch.allclose(W, other, atol=1e-4) for other in weights[:i])
    assert all((R >= 0).all() for R in square.readouts)


# --- V a: drawing by the dictionary ---

IMAGES = draw(6, HEIGHT, WIDTH, seed=8).exp()


def test_a_dictionary_draws_what_it_makes_of_its_input():
    model = small(n_inputs=HEIGHT * WIDTH, streams="joint", readout="dictionary")
    flat, V = IMAGES.flatten(1), model.networks[0].V[0]
    (a,) = model.codes(flat)
    assert not len(model.readouts) and (a != 0).any()
    torch.testing.assert_close(model(flat), torch.einsum("pk,bk->bp", V, a).view_as(IMAGES))


def test_it_learns_as_it_would_beside_a_flat_readout():
    options = {"n_inputs": HEIGHT * WIDTH, "streams": "joint"}
    flat, own = (small(readout=name, **options) for name in ("flat", "dictionary"))
    before = own.networks[0].V[0].clone()
    batch, losses = (IMAGES.flatten(1), IMAGES), []
    for model in (flat, own):
        learner = SpatialLearner(model, lr=0.03)
        for _ in range(5):
            loss = learner.step(batch, scale=1.0, generator=torch.Generator())
        losses.append(loss.item())
    V = own.networks[0].V[0]
    assert torch.equal(V, flat.networks[0].V[0]) and not torch.equal(V, before)
    assert losses[0] != losses[1], "but each is told its own error"


def test_what_cannot_draw_by_its_dictionary_is_refused():
    options = {"n_inputs": HEIGHT * WIDTH, "streams": "joint", "readout": "dictionary"}
    with pytest.raises(ValueError, match="readout 'dictionary' needs streams='joint' and rank=1"):
        small(**options | {"streams": "axes", "n_inputs": 2 * HEIGHT * WIDTH})
    for wrong in ({"n_inputs": 12}, {"depth": 2}):
        with pytest.raises(
            ValueError, match=r"needs an input of 35 pixels and one layer, got (12|35) inputs and"
        ):
            small(**options | wrong)
    with pytest.raises(ValueError, match="a dictionary readout has no profiles"):
        small(**options).streams(IMAGES.flatten(1))
    with pytest.raises(ValueError, match="axis_loss needs readout='product' and rank=1"):
        ReadoutLearner(small(**options), axis_loss=True)


# --- the delta rule on the readouts ---


@every_kind
def test_readouts_follow_minus_the_gradient_of_the_squared_error(kind):
    model = small(**kind)
    codes, learner = model.codes(INPUT), ReadoutLearner(model)
    leaves = [R.detach().clone().requires_grad_() for R in model.readouts]
    parts = [code @ R.T for code, R in zip(codes, leaves, strict=True)]
    drawn = (
        parts[0].view(6, HEIGHT, WIDTH)
        if len(parts) == 1
        else parts[0][:, :, None] * parts[1][:, None, :]
    )
    (0.5 * (TARGET - drawn).square().sum((1, 2)).mean()).backward()
    loss = learner.step((*codes, TARGET), scale=1.0, generator=torch.Generator())
    assert loss == pytest.approx((TARGET - drawn).square().mean().item())
    for index, leaf in enumerate(leaves):
        # After one step Adam's first moment is a tenth of the direction it was given.
        torch.testing.assert_close(
            learner.state()[f"adam.{index}.first"] / 0.1, -leaf.grad, rtol=1e-9, atol=1e-12
        )
        # And it moves that way, by the learning rate, without renormalising.
        used = (codes[index] != 0).any(0)
        expected = leaf.detach() - 1e-2 * leaf.grad.sign() * used
        torch.testing.assert_close(model.readouts[index].data, expected, rtol=0, atol=1e-5)


def test_the_directions_of_higher_rank_are_gradients_too():
    model = small(streams="axes", rank=2)
    codes, learner = model.codes(INPUT), ReadoutLearner(model)
    leaves = [R.detach().clone().requires_grad_() for R in model.readouts]
    q, u = (code @ R.T for code, R in zip(codes, leaves, strict=True))
    drawn = torch.einsum("brh,brw->bhw", q.view(6, 2, HEIGHT), u.view(6, 2, WIDTH))
    (0.5 * (TARGET - drawn).square().sum((1, 2)).mean()).backward()
    learner.step((*codes, TARGET), scale=1.0, generator=torch.Generator())
    for index, leaf in enumerate(leaves):
        torch.testing.assert_close(
            learner.state()[f"adam.{index}.first"] / 0.1, -leaf.grad, rtol=1e-9, atol=1e-12
        )


def test_an_axis_loss_compares_each_readout_with_its_own_profile():
    model = small(streams="axes")
    codes, learner = model.codes(INPUT), ReadoutLearner(model, axis_loss=True)
    p, q = draw(6, HEIGHT, seed=5).exp(), draw(6, WIDTH, seed=6).exp()
    p, q = p / p.amax(1, keepdim=True), q / q.amax(1, keepdim=True)
    image = p[:, :, None] * q[:, None, :]
    wanted = [
        torch.einsum("bs,bk->sk", target - code @ R.T, code) / 6
        for target, code, R in zip((p, q), codes, model.readouts, strict=True)
    ]
    learner.step((*codes, image), scale=1.0, generator=torch.Generator())
    for index, direction in enumerate(wanted):
        torch.testing.assert_close(learner.state()[f"adam.{index}.first"] / 0.1, direction)


@every_kind
def test_readouts_of_unused_atoms_keep_every_bit(kind):
    model = small(**kind)
    learner = ReadoutLearner(model)
    codes = [code.clone() for code in model.codes(INPUT)]
    for _ in range(3):
        learner.step((*codes, TARGET), scale=1.0, generator=torch.Generator())
    for code in codes:
        code[:, :4] = 0
    before = [R.clone() for R in model.readouts]
    learner.step((*codes, TARGET), scale=1.0, generator=torch.Generator())
    for R, old in zip(model.readouts, before, strict=True):
        assert torch.equal(R[:, :4], old[:, :4]) and not torch.equal(R[:, 4:], old[:, 4:])


@every_kind
def test_the_readout_alone_fits_given_codes(kind):
    model = small(**kind)
    codes, learner = model.codes(INPUT), ReadoutLearner(model, lr=0.05)
    target = small(seed=5, **kind).render(codes)
    losses = [
        learner.step((*codes, target), scale=1.0, generator=torch.Generator()) for _ in range(300)
    ]
    assert losses[-1] < 1e-3 * losses[0]


# --- both together ---


@every_kind
@pytest.mark.parametrize("learn", [True, False])
def test_a_step_is_the_readouts_step_and_the_dictionaries_update(kind, learn):
    model, twin = small(**kind), small(**kind)
    loss = SpatialLearner(model, lr=0.03, learn_dictionary=learn).step(
        (INPUT, TARGET), scale=0.5, generator=torch.Generator()
    )
    settled = twin.settle(INPUT)
    batch = (*twin.readout_codes(settled), TARGET)
    assert loss == ReadoutLearner(twin, lr=0.03).step(batch, scale=0.5, generator=torch.Generator())
    before = [V.clone() for net in twin.networks for V in net.V]
    if learn:
        for net, state in zip(twin.networks, settled, strict=True):
            LocalLearner(net, lr=0.03).update(state, scale=0.5)
        assert not any(
            torch.equal(V, old)
            for V, old in zip((net.V[0] for net in twin.networks), before, strict=True)
        )
    for a, b in zip(model.parameters(), twin.parameters(), strict=True):
        assert torch.equal(a, b)


@every_kind
def test_frozen_dictionaries_keep_every_bit_while_readouts_learn(kind):
    model = small(**kind)
    before = {name: p.clone() for name, p in model.named_parameters()}
    learner = SpatialLearner(model, learn_dictionary=False)
    for _ in range(5):
        learner.step((INPUT, TARGET), scale=1.0, generator=torch.Generator())
    for name, p in model.named_parameters():
        assert torch.equal(p, before[name]) == name.startswith("networks."), name


@every_kind
def test_the_state_holds_every_weight_under_its_own_name(kind):
    model = small(depth=2, **kind)
    learner = SpatialLearner(model)
    state = learner.state()
    held = [t.data_ptr() for name, t in state.items() if name.startswith("model.")]
    assert sorted(held) == sorted(p.data_ptr() for p in model.parameters())
    assert len({t.data_ptr() for t in state.values()}) == len(state)


# --- bad input ---


def test_an_odd_code_cannot_be_split_into_axes():
    with pytest.raises(
        ValueError, match=r"streams='axes' needs a code of two equal halves, got 7 inputs"
    ):
        build_vn(n_inputs=7, image_shape=(3, 3), seed=0, streams="axes")


@every_kind
def test_bad_codes_are_named(kind):
    model = small(**kind)
    with pytest.raises(
        ValueError,
        match=r"x must have shape \(batch, 12\) \(one code per position\), got \(6, 11\)",
    ):
        model(INPUT[:, 1:])
    with pytest.raises(ValueError, match=r"x holds 72 value"):
        model(INPUT * torch.nan)


def test_streams_and_readouts_are_checked_by_the_model_itself():
    network = VNConfig(n_inputs=4, atoms=(5,))
    with pytest.raises(ValueError, match=r"streams must be one of 'axes', 'joint', got 'both'"):
        SpatialVN(network=network, image_shape=(3, 3), streams="both", seed=0)
