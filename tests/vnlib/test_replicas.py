"""Vector Networks that learn side by side become what each becomes alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
import torch
from fake_device import DEVICE, elsewhere
from fit_cases import batch_sizes
from learner_cases import draw

from vnlib.checkpoint import History
from vnlib.evaluate import reconstruction_error
from vnlib.fit import FitConfig, fit
from vnlib.fit_many import side_by_side
from vnlib.learning.learner import LocalLearner
from vnlib.learning.online import OnlineDictionaryLearner
from vnlib.learning.replicas import LocalReplicas
from vnlib.network import VectorNetwork
from vnlib.settle import SettleConfig, Settled, Settler
from vnlib.settle.config import mapped
from vnlib.settle.schedule import Run

SEEDS, LAYERS = (3, 4, 5), {"one": (14,), "two": (14, 10)}
DATA = [draw(40, 12, seed=seed, dtype=torch.float64) * (1 + seed) for seed in SEEDS]
CONFIG = FitConfig(steps=7, batch_size=16, eval_every=3, checkpoint_every=2)
SETTLES = {
    "exact": SettleConfig(tol=1e-6),
    "sweeps": SettleConfig.training(max_sweeps=8),
    "fista": SettleConfig(method="fista", tol=1e-3, criterion="energy", max_sweeps=60),
    "line search": SettleConfig(method="line_search", tol=1e-4, check_every=3),
    "staggered": SettleConfig(method="line_search", schedule="staggered", max_sweeps=20),
    "recurrent": SettleConfig(method="restart", schedule="recurrent", tol=1e-3),
    "ista": SettleConfig(method="ista", criterion="energy", max_sweeps=15),
}
KINDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {  # of a network, and of its learner
    "as it is": ({}, {}),
    "absolute lambda": ({"relative_sparsity": False, "sparsity": 0.2}, {}),
    "plain step, all atoms": ({}, {"optimizer": "sgd", "masked": False}),
    "literal, untied": ({"interface_rule": "atomic_hebb", "untied": True}, {}),
    "elastic net": ({"penalty": "elastic_net", "ridge": 0.2}, {}),
    "l0": ({"penalty": "l0", "sparsity": 0.01}, {}),
    "cel0": ({"penalty": "cel0"}, {}),
    "mcp": ({"penalty": "mcp", "gamma": 2.5}, {}),
    "capped": ({"top_k": 3}, {}),
}
Found = tuple[list[VectorNetwork], list[LocalLearner], list[History]]


def learners(
    atoms: Sequence[int], settle: SettleConfig, kind: str = "as it is", **options: Any
) -> list[LocalLearner]:
    """They differ in seed, samples, learning rate and lambda."""
    made, (of_network, of_learner) = [], KINDS[kind]
    for number, (seed, x) in enumerate(zip(SEEDS, DATA, strict=True)):
        given = {"sparsity": 0.05 * (1 + number), "interface": (8,) * (len(atoms) - 1)} | of_network
        network = VectorNetwork.for_data(x, atoms=atoms, seed=seed, settle=settle, **given)
        own = {"lr": 0.01 * (1 + number), "interface_lr": 0.02} | of_learner | options
        made.append(LocalLearner(network, **own))
    return made


def train(
    made: Sequence[LocalLearner],
    *,
    together: bool,
    folder: Path | None = None,
) -> list[History]:
    def one(number: int) -> History:
        learner, x = made[number], DATA[number]
        data = (x.to(learner.network.V[0]), torch.arange(len(x)))
        file = folder and folder / f"{number}.safetensors"
        check = partial(reconstruction_error, learner.network, data[0][:9])
        data = data if learner.codes else data[:1]
        return fit(learner, data, CONFIG, seed=SEEDS[number], validate=check, checkpoint=file)

    calls = [partial(one, number) for number in range(len(made))]
    if not together:
        return [call() for call in calls]
    return [history for _, history in sorted(side_by_side(calls), key=lambda pair: pair[0])]


def same(one: Sequence[LocalLearner], two: Sequence[LocalLearner], rtol: float = 1e-7) -> None:
    for a, b in zip(one, two, strict=True):
        for (name, t), other in zip(a.state().items(), b.state().values(), strict=True):
            torch.testing.assert_close(other, t, rtol=rtol, atol=rtol, msg=name)


def check(made: list[list[LocalLearner]], rtol: float = 1e-7) -> None:
    alone, together = train(made[0], together=False), train(made[1], together=True)
    same(*made, rtol=rtol)
    for a, b in zip(alone, together, strict=True):
        assert b.train == pytest.approx(a.train, rel=rtol)
        assert b.validation == pytest.approx(a.validation, rel=rtol)


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    return batch_sizes(monkeypatch)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("settle", SETTLES)
@pytest.mark.parametrize("depth", LAYERS)
def test_each_becomes_what_it_becomes_alone(sizes: list[int], depth: str, settle: str):
    """From codes that are remembered; kinds of network and of learner begin anew at each step."""
    check([learners(LAYERS[depth], SETTLES[settle], remember=40) for _ in "ab"])
    assert sizes == [3]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_network_and_of_learner(sizes: list[int], kind: str):
    check([learners(LAYERS["two"], SETTLES["fista"], kind) for _ in "ab"])
    assert sizes == [3]


@pytest.mark.filterwarnings("ignore")
def test_each_draws_its_dead_atoms_anew(sizes: list[int]):
    made = [learners((30, 10), SETTLES["sweeps"], revive_after=1) for _ in "ab"]
    check(made)
    drawn = [learner.revived.tolist() for learner in made[1]]
    assert sizes == [3] and all(map(any, drawn)) and len(set(map(str, drawn))) > 1


@pytest.mark.parametrize("settle", ["exact", "line search"])
def test_in_float32_but_for_rounding(settle: str):
    made = [learners((14,), SETTLES[settle]) for _ in "ab"]
    for learner in [*made[0], *made[1]]:
        learner.network.float()
    made = [[LocalLearner(one.network, lr=one.lr) for one in some] for some in made]
    check(made, rtol=2e-4)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("settle", ["exact", "line search"])
def test_a_killed_group_and_single_runs_go_on_from_its_checkpoints(tmp_path: Path, settle: str):
    whole, *others = (learners((14,), SETTLES[settle], remember=40) for _ in "abc")
    train(whole, together=True)
    first, calls = learners((14,), SETTLES[settle], remember=40), []

    def dying(self: LocalLearner, *given: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return step(self, *given, **options)

    step = LocalReplicas.step
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(LocalReplicas, "step", dying)
        train(first, together=True, folder=tmp_path)
    for made, together in zip(others, (True, False), strict=True):
        copied = tmp_path / str(together)
        copied.mkdir()
        for file in tmp_path.glob("*.safetensors"):
            (copied / file.name).write_bytes(file.read_bytes())
        train(made, together=together, folder=copied)
        same(whole, made)


def test_only_learners_of_one_kind_learn_together(sizes: list[int]):
    def mixed() -> list[LocalLearner]:
        found = learners((14,), SETTLES["exact"])
        found[1].masked = False
        return found

    check([mixed(), mixed()])
    assert sizes == [2]
    online = learners((14,), SETTLES["exact"])
    train([OnlineDictionaryLearner(one.network) for one in online], together=True)
    admm = SettleConfig(method="admm", criterion="energy", max_sweeps=500)
    train(learners((14,), admm), together=True)
    for upkeep in ({"decorrelation": 0.3}, {"remove_dc": True}):
        train(learners((14,), SETTLES["exact"], **upkeep), together=True)
    assert sizes == [2]


# --- a settle of replicas ---


def settles(
    depth: str, settle: str, data: Sequence[torch.Tensor] = DATA
) -> tuple[Settled, list[Settled]]:
    made = learners(LAYERS[depth], SETTLES[settle])
    apart = [one.network.settle(x) for one, x in zip(made, data, strict=True)]
    many = LocalReplicas(made)
    return many.network.settle(torch.stack(list(data)), config=many.settle_config), apart


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("settle", SETTLES)
@pytest.mark.parametrize("depth", LAYERS)
def test_the_record_of_a_settle_is_that_of_each(depth: str, settle: str):
    found, apart = settles(depth, settle)
    for number, one in enumerate(apart):
        own = mapped(itemgetter(number), found)
        assert torch.equal(own.sweeps, one.sweeps) and torch.equal(own.converged, one.converged)
        assert own.reasons == one.reasons
        for name in ("codes", "inputs", "energy"):
            torch.testing.assert_close(getattr(own, name), getattr(one, name), rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("settle", ["fista", "line search"])
def test_what_arrives_early_changes_nothing_and_is_not_changed(settle: str):
    """The replica of zeros arrives at the first look."""
    usual, _ = settles("two", settle)
    found, _ = settles("two", settle, [DATA[0], 0 * DATA[1], DATA[2]])
    assert not found.codes[0][1].any() and int(found.sweeps[1].max()) <= 3
    assert len(set(found.sweeps.flatten().tolist())) > 2
    for number in (0, 2):
        for one, two in zip(found.codes, usual.codes, strict=True):
            assert torch.equal(one[number], two[number])


def test_each_has_its_own_step_size():
    """One whose atoms are all alike needs the step 1/K; with that of another it would diverge."""
    made = learners((14,), SETTLES["fista"], "absolute lambda")
    made[2].network.V[0].copy_(made[2].network.V[0][:, :1].expand(-1, 14).clone())
    many = LocalReplicas(made)
    step = many.network.settler(many.settle_config).quadratics[0].lipschitz()
    apart = [float(one.network.settler().quadratics[0].lipschitz()) for one in made]
    assert step.shape == (3, 1, 1) and step.flatten().tolist() == pytest.approx(apart, rel=1e-9)
    assert apart[2] == pytest.approx(14, rel=1e-3) and max(apart[:2]) < 8


def test_given_the_same_codes_the_updates_have_the_same_bits():
    made, again = (learners((14, 10), SETTLES["sweeps"]) for _ in "ab")
    many = LocalReplicas(again)
    settled = many.network.settle(torch.stack(DATA), config=many.settle_config)
    many.update(settled)
    for number, one in enumerate(made):
        one.update(mapped(itemgetter(number), settled))
    same(made, again, rtol=0)


def test_what_replicas_cannot_do_is_refused():
    many = LocalReplicas(learners((14,), SETTLES["line search"]))
    layers, x = many.network.layers, torch.stack(DATA)
    with pytest.raises(ValueError, match=r"x must have shape \(3, batch, 12\).*got \(2, 40, 12\)"):
        Settler(layers)(x[:2])
    for config in ({"method": "admm"}, {"monotone": True, "method": "ista"}):
        with pytest.raises(ValueError, match="without monotone and not by admm"):
            Settler(layers, config=SettleConfig(**config))(x)
    with pytest.raises(ValueError, match="without trace"):
        Settler(layers)(x, trace=True)
    with pytest.raises(ValueError, match="one dictionary per layer"):
        Settler(layers, config=SettleConfig.exact())
    assert Settler(layers).config.method == "line_search"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("depth", "settle"),
    [("one", "fista"), *(("two", one) for one in ("sweeps", "fista", "line search", "recurrent"))],
)
def test_sweeps_of_replicas_do_not_wait_for_the_device(
    monkeypatch: pytest.MonkeyPatch, depth: str, settle: str
):
    """They learn there to the numbers of the CPU, and wait once a look and once for dead atoms."""
    sweep, found = Run.sweep, []
    with elsewhere() as device:

        def sweeping(run: Run, capped: bool) -> None:
            with device.ahead():
                sweep(run, capped)

        monkeypatch.setattr(Run, "sweep", sweeping)
        for where in (torch.device("cpu"), DEVICE):
            made = learners(LAYERS[depth], replace(SETTLES[settle], max_sweeps=20))
            for one in made:
                one.network.to(where)
            options = {"lr": 0.01, "revive_after": 1, "remember": 40}
            many = LocalReplicas([LocalLearner(one.network, **options) for one in made])
            x, numbers = torch.stack(DATA).to(where), torch.arange(40).expand(3, -1).to(where)
            rngs = [torch.Generator() for _ in SEEDS]
            for _ in range(3):
                many.step((x, numbers), scale=1.0, generator=rngs)
            found.append([t.cpu() for t in many.state().values()])
    for one, two in zip(*found, strict=True):
        torch.testing.assert_close(two, one)
