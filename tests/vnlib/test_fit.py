"""The training loop: what it keeps, its order, its randomness, what it refuses."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from fit_cases import (
    Counter,
    count,
    every_kind,
    make_learner,
    run,
    same,
)
from torch import nn

from vnlib import fit, seeding
from vnlib.fit import FitConfig, GradientLearner

# --- what is kept ---


@pytest.mark.parametrize(("keep", "kept"), [("best", 2), ("last", 4)])
def test_the_best_or_the_last_step_is_kept(keep, kept):
    learner, history = count([3.0, 1.0, 1.0, 2.0], steps=4, keep=keep)
    assert learner.count.item() == kept
    assert history.validation == [3.0, 1.0, 1.0, 2.0] and history.best_step == 2


def test_the_last_step_needs_no_validation(tmp_path):
    learner, data, path = Counter(), (torch.arange(10),), tmp_path / "fit.safetensors"
    config = FitConfig(steps=7, batch_size=4, keep="last", checkpoint_every=3)
    history = fit.fit(learner, data, config, seed=0, checkpoint=path)
    assert learner.count.item() == 7 and history.validation == [] and len(history.train) == 7
    resumed = Counter()  # from step 6
    assert fit.fit(resumed, data, config, seed=0, checkpoint=path) == history
    assert resumed.count.item() == 7 and resumed.scales == learner.scales[6:]


def test_what_is_chosen_by_validation_needs_one():
    with pytest.raises(ValueError, match="validate must be given unless keep is 'last'"):
        fit.fit(Counter(), (torch.arange(4),), FitConfig(steps=2), seed=0)


def test_only_two_states_can_be_kept():
    with pytest.raises(ValueError, match="keep must be one of 'best', 'last', got 'first'"):
        FitConfig(steps=1, keep="first")


def test_checkpoints_from_before_the_choice_are_read():
    assert "keep" not in FitConfig(steps=1).run(0, 1)
    assert '"keep": "last"' in FitConfig(steps=1, keep="last").run(0, 1)


# --- randomness ---


@every_kind
def test_the_seed_fixes_every_bit(kind):
    assert same(run(kind, seed=3), run(kind, seed=3))
    assert not torch.equal(run(kind, seed=3)["train"], run(kind, seed=4)["train"])


def test_global_random_state_is_neither_read_nor_changed():
    torch.manual_seed(1)
    state, first = torch.get_rng_state(), run("vae")
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(2)
    assert same(run("vae"), first)


def test_streams_differ_and_are_the_same_in_every_process():
    # Fixed numbers: Python's own hash would change from process to process.
    assert seeding.derive(0, "epoch", 1) == seeding.derive(0, "epoch", 1) == 3808558412218152728
    streams = [(0,), (1,), (0, "a"), (0, "b"), (0, "a", 1), (0, "a1"), (0, "a", "1"), (1, "a")]
    derived = {seeding.derive(*stream) for stream in streams}
    assert len(derived) == len(streams) and all(0 <= value < 2**63 for value in derived)
    first, again = (torch.rand(3, generator=seeding.generator(5, "x")) for _ in range(2))
    assert torch.equal(first, again)


# --- the loop ---


def test_every_epoch_sees_every_sample_once_in_a_new_order():
    learner, _ = count(itertools.repeat(1.0), steps=9)
    assert [len(batch[0]) for batch in learner.batches] == [4, 4, 2] * 3
    for rows, partner in learner.batches:
        assert torch.equal(partner, 100.0 + rows)
    epochs = [
        torch.cat([rows for rows, _ in learner.batches[i : i + 3]]).tolist() for i in (0, 3, 6)
    ]
    assert all(sorted(epoch) == list(range(10)) for epoch in epochs)
    assert len(set(map(tuple, epochs))) == 3
    assert len(set(learner.seeds)) == 9


def test_the_learning_rate_falls_as_a_cosine_to_its_floor():
    learner, _ = count(itertools.repeat(1.0), steps=50, lr_floor=0.1)
    expected = [0.1 + 0.9 * (1 + math.cos(math.pi * i / 50)) / 2 for i in range(50)]
    assert learner.scales == pytest.approx(expected)
    assert learner.scales[0] == 1 and learner.scales[-1] < 0.102


def test_gradient_learner_is_adamw():
    learner, data, _ = make_learner("mlp")
    twin, _, _ = make_learner("mlp")
    oracle = torch.optim.AdamW(twin.model.parameters(), lr=1e-2, weight_decay=0.01)
    for scale in (1.0, 0.5, 0.25):
        loss = learner.step(data, scale=scale, generator=torch.Generator())
        oracle.param_groups[0]["lr"] = scale * 1e-2
        oracle.zero_grad()
        expected = twin.model.loss(*data, generator=torch.Generator())
        expected.backward()
        oracle.step()
        assert loss == expected.item()
    for a, b in zip(learner.model.parameters(), twin.model.parameters(), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("kind", ["mlp", "vae", "local", "spatial"])
def test_training_lowers_the_loss(kind):
    ended = run(kind, config=FitConfig(steps=150, batch_size=20))
    assert ended["train"][-10:].mean() < 0.9 * ended["train"][:5].mean()


def test_the_best_state_is_restored():
    learner, history = count([5.0, 2.0, 3.0, 2.0, 4.0], steps=5)
    assert learner.count.item() == history.best_step == 2  # the first of two equal ones
    assert history.best_value == 2.0
    assert history.validation == [5.0, 2.0, 3.0, 2.0, 4.0]
    assert history.train == [1.0] * 5


def test_the_last_update_is_validated_too():
    learner, history = count([5.0, 4.0, 3.0], steps=5, eval_every=2)
    assert history.validation == [5.0, 4.0, 3.0] and learner.count.item() == 5


@pytest.mark.parametrize("loss", [math.nan, math.inf])
def test_a_loss_that_is_no_number_stops_training(loss):
    with pytest.raises(
        FloatingPointError, match=f"the loss became {loss} at step 3; lower the learning rate"
    ):
        count(itertools.repeat(1.0), steps=5, losses=[1.0, 1.0, loss, 1.0, 1.0])


def test_a_validation_that_is_no_number_stops_training():
    """It would otherwise never improve, and the untrained model would be handed back as the
    best.
    """
    with pytest.raises(FloatingPointError, match="the validation error became nan at step 2"):
        count([1.0, math.nan], steps=5)


def test_progress_is_shown_only_when_asked_for(capsys):
    count(itertools.repeat(1.0), steps=3)
    assert capsys.readouterr() == ("", "")
    fit.fit(
        Counter(),
        (torch.zeros(4),),
        FitConfig(steps=3),
        seed=0,
        validate=lambda: 1.0,
        progress=True,
        title="bumps",
    )
    assert "bumps" in capsys.readouterr().err


# --- bad input ---


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, r"steps must be an integer >= 1, got 0"),
        ({"batch_size": 0}, r"batch_size must be an integer >= 1, got 0"),
        ({"batch_size": 2.5}, r"batch_size must be an integer >= 1, got 2.5"),
        ({"eval_every": 0}, r"eval_every must be an integer >= 1, got 0"),
        ({"checkpoint_every": -1}, r"checkpoint_every must be an integer >= 1, got -1"),
        ({"lr_floor": 1.5}, r"lr_floor must be a finite number >= 0 and <= 1, got 1.5"),
    ],
)
def test_bad_settings_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        FitConfig(**({"steps": 10} | options))


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((), r"got lengths \[\]"),
        ((0,), r"got lengths \[0\]"),
        ((3, 4), r"one length > 0, got lengths \[3, 4\]"),
    ],
)
def test_bad_data_are_named(sizes, message):
    data = [torch.zeros(n, 2) for n in sizes]
    with pytest.raises(ValueError, match=message):
        fit.fit(Counter(), data, FitConfig(steps=1), seed=0, validate=lambda: 1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lr": 0.0}, r"lr must be a finite number > 0, got 0.0"),
        ({"lr": math.nan}, r"lr must be a finite number > 0, got nan"),
        ({"lr": 0.1, "weight_decay": -1}, r"weight_decay must be a finite number >= 0, got -1"),
    ],
)
def test_bad_optimisers_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        GradientLearner(nn.Linear(2, 2), **options)
