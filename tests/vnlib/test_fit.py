"""The training loop: a run that was interrupted, or killed, ends with the bits of one that was
not.
"""

from __future__ import annotations

import itertools
import math
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

import vnlib
from benchmarks.spatial import registry
from benchmarks.spatial.decoders import build_vn
from benchmarks.spatial.vector_networks import SpatialLearner
from vnlib import checkpoint, fit, seeding
from vnlib.fit import FitConfig, GradientLearner
from vnlib.learning.learner import LocalLearner
from vnlib.network import VectorNetwork, VNConfig
from vnlib.settle import SettleConfig

SIDE = 3
CONFIG = FitConfig(steps=20, batch_size=8, eval_every=4, checkpoint_every=3)


# --- what is trained: one small learner of each kind ---


class WithBuffers(nn.Module):
    """A model with state that no gradient moves: the running statistics of a batch norm."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.norm, self.linear = nn.BatchNorm1d(2 * SIDE), nn.Linear(2 * SIDE, SIDE**2)
        with torch.no_grad():
            self.linear.weight.copy_(draw(SIDE**2, 2 * SIDE, seed=seed))
            self.linear.bias.zero_()

    def loss(self, x, y, *, generator):
        return (self.linear(self.norm(x)).view_as(y) - y).square().mean()


def draw(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


X, Y = draw(20, 2 * SIDE, seed=1), draw(20, SIDE, SIDE, seed=2)


def make_learner(kind: str, seed: int = 0):
    """A fresh learner, its data, and its validation."""
    if kind in ("mlp", "vae"):
        options = {"hidden": (8,)} | ({"latent": 3} if kind == "vae" else {})
        model = registry.build(
            kind, n_inputs=2 * SIDE, image_shape=(SIDE, SIDE), seed=seed, **options
        )
        return (
            GradientLearner(model, lr=1e-2),
            (X, Y),
            lambda: float((model(X) - Y).square().mean().detach()),
        )
    if kind == "buffers":
        model = WithBuffers(seed)
        return (
            GradientLearner(model, lr=1e-2),
            (X, Y),
            lambda: float(model.norm.running_mean.norm()),
        )
    quick = SettleConfig(max_sweeps=5, tol=0)
    if kind == "local":
        sizes = {"n_inputs": 2 * SIDE, "atoms": (8, 5), "interface": (4,), "sparsity": (0.1, 0.05)}
        network = VectorNetwork(VNConfig(settle=quick, **sizes), seed=seed)
        return LocalLearner(network, lr=3e-2), (X,), lambda: float(network.settle(X).energy.mean())
    model = build_vn(
        n_inputs=2 * SIDE, image_shape=(SIDE, SIDE), streams="axes", n_atoms=4, sweeps=5, seed=seed
    )
    return SpatialLearner(model, lr=3e-2), (X, Y), lambda: float((model(X) - Y).square().mean())


KINDS = ("mlp", "vae", "buffers", "local", "spatial")
every_kind = pytest.mark.parametrize("kind", KINDS)


def run(
    kind: str,
    *,
    seed: int = 0,
    config: FitConfig = CONFIG,
    checkpoint=None,
    stop_after: int | None = None,
):
    """Train; returns everything that training left behind.

    `stop_after` updates it is interrupted.
    """
    learner, data, validate = make_learner(kind)
    if stop_after is not None:
        inner, calls = learner.step, itertools.count()

        def step(*args, **kwargs):
            if next(calls) == stop_after:
                raise KeyboardInterrupt
            return inner(*args, **kwargs)

        learner.step = step
    history = fit.fit(learner, data, config, seed=seed, validate=validate, checkpoint=checkpoint)
    return learner.state() | {
        "train": torch.tensor(history.train, dtype=torch.float64),
        "validation": torch.tensor(history.validation, dtype=torch.float64),
        "best": torch.tensor([history.best_step, history.best_value], dtype=torch.float64),
    }


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


class Counter:
    """A learner whose model is the number of its updates, and which writes down what it was
    given.
    """

    def __init__(self, losses=None) -> None:
        self.count, self.losses = torch.zeros(1), losses
        self.scales, self.batches, self.seeds = [], [], []

    def step(self, batch, *, scale, generator):
        self.count += 1
        self.scales.append(scale)
        self.batches.append(batch)
        self.seeds.append(generator.initial_seed())
        return 1.0 if self.losses is None else self.losses[int(self.count) - 1]

    def state(self):
        return {"model.count": self.count}


def count(values, *, checkpoint=None, losses=None, n=10, seed=0, **config):
    """Train a counter whose validations give `values` in turn."""
    learner, values = Counter(losses), iter(values)
    options = {"batch_size": 4, "eval_every": 1} | config
    data = (torch.arange(n), 100.0 + torch.arange(n))
    history = fit.fit(
        learner,
        data,
        FitConfig(**options),
        seed=seed,
        validate=lambda: next(values),
        checkpoint=checkpoint,
    )
    return learner, history


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


@pytest.mark.parametrize("options", [{}, {"keep": "last", "patience": 2}])
def test_what_is_chosen_by_validation_needs_one(options):
    with pytest.raises(ValueError, match="validate must be given unless keep is 'last'"):
        fit.fit(Counter(), (torch.arange(4),), FitConfig(steps=2, **options), seed=0)


def test_only_two_states_can_be_kept():
    with pytest.raises(ValueError, match="keep must be one of 'best', 'last', got 'first'"):
        FitConfig(steps=1, keep="first")


def test_checkpoints_from_before_the_choice_are_read():
    assert "keep" not in FitConfig(steps=1).described()
    assert FitConfig(steps=1, keep="last").described()["keep"] == "last"


# --- interrupted runs ---


@every_kind
def test_checkpoints_change_nothing(kind, tmp_path):
    path = tmp_path / "deep" / "er" / "fit.safetensors"
    plain = run(kind)
    assert same(run(kind, checkpoint=path), plain)
    assert [p.name for p in path.parent.iterdir()] == ["fit.safetensors"]
    assert len(plain["train"]) == 20 and len(plain["validation"]) == 5


@every_kind
@pytest.mark.parametrize("stop_after", [2, 6, 13])
def test_a_resumed_run_ends_with_the_same_bits(kind, stop_after, tmp_path):
    path, whole = tmp_path / "fit.safetensors", run(kind)
    with pytest.raises(KeyboardInterrupt):
        run(kind, checkpoint=path, stop_after=stop_after)
    assert path.exists() == (stop_after >= 3)
    # 20 updates in all; those of the last checkpoint are not made again.
    with pytest.raises(KeyboardInterrupt):
        run(kind, checkpoint=path, stop_after=19 - 3 * (stop_after // 3))
    assert same(run(kind, checkpoint=path), whole)


@every_kind
def test_the_end_is_not_trained_again(kind, tmp_path):
    path, config = (
        tmp_path / "fit.safetensors",
        FitConfig(steps=8, batch_size=8, eval_every=4, checkpoint_every=8),
    )
    whole = run(kind, config=config, checkpoint=path)
    assert same(run(kind, config=config, checkpoint=path, stop_after=0), whole)


def test_a_run_that_lost_patience_resumes_to_the_same_end(tmp_path):
    options = {
        "steps": 30,
        "patience": 3,
        "checkpoint_every": 4,
        "checkpoint": tmp_path / "fit.safetensors",
    }
    values = [5.0, 4.0, 4.5, 3.0, 3.1, 3.2, 3.3, 2.0]
    learner, history = count(values, **options)
    assert (len(history.train), history.best_step, learner.count.item()) == (7, 4, 4)
    again, resumed = count(values[4:], **options)
    assert again.scales == learner.scales[4:]
    assert resumed == history and again.count.item() == 4


def test_a_crash_while_saving_leaves_the_last_checkpoint(tmp_path, monkeypatch):
    path, whole, saves = tmp_path / "fit.safetensors", run("vae"), itertools.count()

    def half(tensors, file, metadata):
        save_file(tensors, file, metadata=metadata)
        if next(saves) == 2:
            Path(file).write_bytes(Path(file).read_bytes()[:1000])
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint, "save_file", half)
    with pytest.raises(KeyboardInterrupt):
        run("vae", checkpoint=path)
    monkeypatch.undo()
    assert len(load_file(path)["train"]) == 6
    assert same(run("vae", checkpoint=path), whole)


# --- killed runs ---

KILL_KINDS = ("spatial", "vae", "local")
KILL_CONFIG = FitConfig(steps=60, batch_size=8, eval_every=4, checkpoint_every=1)


def main(folder: Path) -> None:
    """In a process of its own, which may fork: each kind is trained by a child, saved after each
    update, and killed some time after the first; prints how many were not at their end.
    """
    torch.set_num_threads(1)
    rng, kills = random.Random(0), 0
    for kind in KILL_KINDS:
        checkpoint = folder / f"{kind}.safetensors"
        if not (child := os.fork()):
            run(kind, config=KILL_CONFIG, checkpoint=checkpoint)
            os._exit(0)
        while not checkpoint.exists():
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.15))
        os.kill(child, signal.SIGKILL)
        kills += os.WIFSIGNALED(os.waitpid(child, 0)[1])
    print(kills)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
def test_killed_runs_end_with_the_same_bits(tmp_path):
    environment = os.environ | {"PYTHONPATH": str(Path(vnlib.__file__).parents[1])}
    command = [sys.executable, __file__, str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0, "the runs end too soon to be killed"
    for kind in KILL_KINDS:
        resumed = run(kind, config=KILL_CONFIG, checkpoint=tmp_path / f"{kind}.safetensors")
        assert same(resumed, run(kind, config=KILL_CONFIG)), kind


# --- checkpoints that are not this run's ---


def test_checkpoints_that_cannot_be_read_are_named_and_kept(tmp_path):
    path = tmp_path / "fit.safetensors"
    count(itertools.repeat(1.0), steps=3, checkpoint_every=1, checkpoint=path)
    good = path.read_bytes()
    for bad in (
        b"",
        b"\x00" * 100,
        b"no checkpoint",
        good[: len(good) // 2],
        good[:-1],
        good + b"\x00",
    ):
        path.write_bytes(bad)
        with pytest.raises(
            ValueError, match=r"fit\.safetensors is not a readable checkpoint .*delete it"
        ):
            count(itertools.repeat(1.0), steps=3, checkpoint_every=1, checkpoint=path)
        assert path.read_bytes() == bad
    path.unlink()
    path.mkdir()
    with pytest.raises(ValueError, match=r"fit\.safetensors is not a readable checkpoint"):
        count(itertools.repeat(1.0), steps=3, checkpoint_every=1, checkpoint=path)


@pytest.mark.parametrize(
    "change",
    [
        {"steps": 6},
        {"batch_size": 5},
        {"lr_floor": 0.5},
        {"eval_every": 2},
        {"patience": 4},
        {"checkpoint_every": 3},
        {"seed": 1},
        {"n": 11},
    ],
)
def test_a_checkpoint_of_other_settings_is_refused(change, tmp_path):
    path, options = tmp_path / "fit.safetensors", {"steps": 5, "checkpoint_every": 1}
    count(itertools.repeat(1.0), checkpoint=path, **options)
    before = path.read_bytes()
    with pytest.raises(
        ValueError, match=r"fit\.safetensors belongs to a run with other settings; delete it"
    ):
        count(itertools.repeat(1.0), checkpoint=path, **(options | change))
    assert path.read_bytes() == before


def test_a_checkpoint_of_another_model_is_refused(tmp_path):
    for kind, other in itertools.permutations(("mlp", "vae", "local"), 2):
        path = tmp_path / f"{kind}-{other}"
        run(kind, checkpoint=path)
        with pytest.raises(
            ValueError, match=f"{kind}-{other} belongs to a run with other settings"
        ):
            run(other, checkpoint=path)


def test_a_foreign_file_is_refused(tmp_path):
    path = tmp_path / "fit.safetensors"
    save_file({"weights": torch.zeros(3)}, path)
    with pytest.raises(ValueError, match="belongs to a run with other settings"):
        run("mlp", checkpoint=path)


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


def test_patience_counts_validations_without_improvement():
    values = [5.0, 4.0, 4.5, 4.2, 1.0, 1.0]
    assert len(count(values, steps=6, patience=2)[1].validation) == 4
    assert len(count(values, steps=6, patience=3)[1].validation) == 6
    assert len(count(values, steps=6)[1].validation) == 6
    learner, history = count(values, steps=60, eval_every=10, patience=2)
    assert len(history.train) == 40 and learner.count.item() == history.best_step == 20


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
        ({"patience": 0}, r"patience must be an integer >= 1, got 0"),
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


if __name__ == "__main__":
    main(Path(sys.argv[1]))
