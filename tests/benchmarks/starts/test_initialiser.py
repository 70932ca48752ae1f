"""Learned starts: unrolled sweeps against the settle itself, training, and what must not change."""

from __future__ import annotations

from functools import partial

import pytest
import torch

from benchmarks.starts.initialiser import Dense, Lista, Stack, StepSizes, multiply_adds, schedule
from benchmarks.starts.training import LOSSES, Examples, RateSearch, train
from vnlib.layer import Layer
from vnlib.learning.rules import unit_columns
from vnlib.prox import L0, L1, NonNegativeL1, TopK
from vnlib.settle import SettleConfig, Settler

# Fewer atoms than inputs: the energies are strictly convex and settle fast.
D, ATOMS, MESSAGES = 12, (10, 8, 6), (9, 7)
PENALTIES = {"l1": L1(sparsity=0.05), "nonnegative": NonNegativeL1(sparsity=0.05)}


def draws(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def stack(depth: int = 3, penalty: str = "l1", top_k: int | None = None) -> Stack:
    layers, d = [], D
    for index in range(depth):
        last, soft = index + 1 == depth, PENALTIES[penalty]
        U = None if last else unit_columns(draws(MESSAGES[index], ATOMS[index], seed=index + 9))
        V = unit_columns(draws(d, ATOMS[index], seed=index + 1))
        layers.append(Layer(V, U, TopK(penalty=soft, k=top_k) if last and top_k else soft))
        d = MESSAGES[index] if not last else d
    return Stack(tuple(layers), 0.3 if depth > 1 else 0.0)


def ista(of: Stack, x: torch.Tensor, sweeps: int) -> tuple[torch.Tensor, ...]:
    config = SettleConfig(method="ista", max_sweeps=sweeps, tol=0)
    return Settler(of.layers, feedback=of.feedback, config=config)(x).codes


def lowest(of: Stack, x: torch.Tensor, start=None, tol: float = 1e-11) -> tuple[torch.Tensor, ...]:
    config = SettleConfig(
        method="line_search", criterion="gap", tol=tol, max_sweeps=2000, check_every=10
    )
    return Settler(of.layers, feedback=of.feedback, config=config)(x, start).codes


def examples(of: Stack) -> Examples:
    x, held = draws(80, D, seed=3), draws(30, D, seed=4)
    return Examples(x, lowest(of, x, tol=1e-4), held, lowest(of, held, tol=1e-4))


TRAINING = RateSearch(steps=60, batch_size=40)
RATE = (1e-2,)


# --- untrained: sweeps of ISTA ---


@pytest.mark.parametrize("kind", (Lista, StepSizes))
@pytest.mark.parametrize("sweeps", (1, 4))
@pytest.mark.parametrize(
    ("depth", "penalty", "top_k"),
    (
        (1, "l1", None),
        (2, "l1", None),
        (3, "l1", None),
        (3, "nonnegative", None),
        (1, "l1", 3),
        (3, "l1", 2),
    ),
)
def test_untrained_it_is_so_many_sweeps_of_ista(kind, sweeps, depth, penalty, top_k):
    of, x = stack(depth, penalty, top_k), draws(6, D)
    for guess, wanted in zip(kind(of, sweeps=sweeps)(x), ista(of, x, sweeps), strict=True):
        assert bool((wanted != 0).any())
        torch.testing.assert_close(guess, wanted, rtol=1e-12, atol=1e-13)
        assert torch.equal(guess != 0, wanted != 0)


def test_one_step_of_one_layer_is_a_threshold_of_correlations():
    of, x = stack(1), draws(6, D)
    V = of.layers[0].V
    lip = 1.0001 * float(torch.linalg.matrix_norm(V, 2)) ** 2
    wanted = torch.sign(x @ V) * (x @ V).abs().sub(0.05).clamp_min(0) / lip
    torch.testing.assert_close(Lista(of, sweeps=1)(x)[0], wanted)


def test_the_schedule_goes_up_and_down():
    assert schedule(1, 2) == [(0, False)] * 2
    first = [(0, False), (1, False), (2, False), (1, True), (0, True)]
    assert schedule(3, 2) == [*first, (0, True), (1, True), (2, False), (1, True), (0, True)]


# --- the settle after it ends where it always does ---


@pytest.mark.parametrize("depth", (1, 3))
def test_a_start_does_not_move_the_fixed_point(depth):
    of, x = stack(depth), draws(8, D, seed=6)
    cold = lowest(of, x)
    model, _ = train(partial(Lista, of, sweeps=2), examples(of), TRAINING, rates=RATE, seed=0)
    wild = Dense(of, threshold=0.0, seed=1)
    with torch.no_grad():
        for guess in (model(x), wild(x)):
            assert float((guess[0] - cold[0]).norm()) > 1e-2  # it does start elsewhere
            for a, b in zip(lowest(of, x, guess), cold, strict=True):
                torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


# --- training ---


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", (Lista, StepSizes))
def test_training_lowers_the_energy_of_guesses(kind, loss):
    of = stack(2)
    model, facts = train(
        partial(kind, of, sweeps=2), examples(of), TRAINING, rates=RATE, loss=loss, seed=0
    )
    plain = examples(of).excess(of, kind(of, sweeps=2))
    assert facts["untrained"] == pytest.approx(plain)
    assert facts["excess"] < 0.9 * plain
    assert facts["excess"] == pytest.approx(examples(of).excess(of, model))


def test_one_seed_one_result():
    of = stack(2)
    make = partial(Dense, of, hidden=(9,), seed=5)
    one, again, other = (
        train(make, examples(of), TRAINING, rates=RATE, seed=seed)[0](draws(3, D))
        for seed in (0, 0, 1)
    )
    assert all(torch.equal(a, b) for a, b in zip(one, again, strict=True))
    assert not torch.equal(one[0], other[0])


def test_validation_chooses_the_rate_and_keeps_what_is_better_untrained():
    of = stack(1)
    chosen = train(
        partial(Lista, of, sweeps=2),
        examples(of),
        TRAINING,
        rates=(1e-9, 1e-2, 10.0),
        seed=0,
    )[1]
    assert chosen["rate"] == 1e-2
    hopeless, facts = train(
        partial(Lista, of, sweeps=2),
        examples(of),
        RateSearch(steps=4, batch_size=40),
        rates=(1e3,),
        seed=0,
    )
    assert facts["rate"] != facts["rate"] and facts["excess"] == facts["untrained"]
    torch.testing.assert_close(
        hopeless(draws(4, D))[0], ista(of, draws(4, D), 2)[0], rtol=1e-12, atol=1e-13
    )


def test_without_updates_nothing_changes():
    of = stack(1)
    model, facts = train(
        partial(Lista, of, sweeps=3), examples(of), RateSearch(steps=0), rates=RATE, seed=0
    )
    torch.testing.assert_close(
        model(draws(4, D))[0], ista(of, draws(4, D), 3)[0], rtol=1e-12, atol=1e-13
    )
    assert facts["excess"] == facts["untrained"] > 0


def test_what_settles_is_left_alone_by_training():
    of = stack(1)
    before = of.layers[0].V.clone()
    train(partial(Lista, of, sweeps=2), examples(of), TRAINING, rates=RATE, seed=0)
    assert torch.equal(of.layers[0].V, before) and not of.layers[0].V.requires_grad


# --- costs ---


def test_multiply_adds_are_counted_by_hand():
    one = stack(1)  # 12 inputs, 10 atoms: products on codes are the cheaper ones
    assert multiply_adds(one) == 10 * 10
    wide = Stack((Layer(unit_columns(draws(4, 30)), None, PENALTIES["l1"]),), 0.0)
    assert multiply_adds(wide) == 2 * 4 * 30
    assert Lista(one, sweeps=3).multiply_adds() == 12 * 10 + 2 * 10 * 10
    two = stack(2)
    assert multiply_adds(two) == 2 * 10 * 10 + 8 * 8 + 3 * 10 * 8
    # Up: x, then the message; down: Hessian and target.
    assert Lista(two, sweeps=1).multiply_adds() == 12 * 10 + 10 * 8 + (10 * 10 + 10 * 8)
    assert Dense(two, hidden=(5,), seed=0).multiply_adds() == 12 * 5 + 5 * 18


# --- errors ---


def test_stacks_that_cannot_be_unrolled():
    V, U = unit_columns(draws(D, 5)), unit_columns(draws(4, 5))
    with pytest.raises(ValueError, match=r"layer 1 has L0"):
        Stack((Layer(V, None, L0(sparsity=0.1)),), 0.0)
    with pytest.raises(ValueError, match=r"sparsity of layer 1 must be .* > 0"):
        Stack((Layer(V, None, L1(sparsity=0)),), 0.0)
    with pytest.raises(ValueError, match="dictionary B"):
        Stack((Layer(V, U, L1(sparsity=0.1), U),), 0.0)
    with pytest.raises(ValueError, match=r"feedback must be .* > 0"):
        Stack(stack(2).layers, 0.0)


@pytest.mark.parametrize(
    ("make", "says"),
    (
        (lambda: Lista(stack(1), sweeps=0), "sweeps must be an integer >= 1"),
        (lambda: Dense(stack(1), hidden=(0,), seed=0), "each of hidden"),
        (lambda: Dense(stack(1), threshold=-1, seed=0), "threshold"),
        (lambda: RateSearch(steps=-1), "steps"),
        (lambda: RateSearch(steps=1, selection_share=0), "selection_share"),
        (lambda: RateSearch(steps=1, evaluations=0), "evaluations"),
        (lambda: Lista(stack(1), sweeps=1)(draws(3, D + 1)), "x must have shape"),
        (lambda: Dense(stack(1), seed=0)(draws(3, D) * torch.nan), "x holds"),
        (
            lambda: train(
                partial(Lista, stack(1), sweeps=1),
                examples(stack(1)),
                TRAINING,
                rates=RATE,
                loss="l1",
                seed=0,
            ),
            "loss",
        ),
    ),
)
def test_bad_arguments_are_named(make, says):
    with pytest.raises(ValueError, match=says):
        make()
