"""Replicas trained side by side become what each becomes alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from refusals import made, refused
from torch import nn

from vnlib.checkpoint import History
from vnlib.fit import FitConfig, GradientLearner, fit
from vnlib.fit_many import Replicas, fit_many

RATES, SEEDS = (0.01, 0.01, 0.003), (4, 5, 6)
X = torch.randn(50, 6, generator=torch.Generator().manual_seed(0))
DATA = (X, torch.sin(X[:, :2]))
HELD = torch.randn(20, 6, generator=torch.Generator().manual_seed(1))
CONFIG = FitConfig(steps=40, batch_size=16, eval_every=5, checkpoint_every=10)


class Small(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, width), nn.Tanh(), nn.Linear(width, 2))

    def loss(self, x: torch.Tensor, y: torch.Tensor, *, generator: torch.Generator) -> torch.Tensor:
        return (self.net(x) - y).square().mean()


def models(width: int = 8) -> list[Small]:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return [Small(width) for _ in SEEDS]


@torch.no_grad()
def error(model: nn.Module) -> float:
    return float((model.net(HELD) - torch.sin(HELD[:, :2])).square().mean())


def alone(config: FitConfig = CONFIG, folder: Path | None = None) -> tuple[list, list[History]]:
    found, histories = models(), []
    for r, model in enumerate(found):
        learner = GradientLearner(model, lr=RATES[r])
        file = folder and folder / f"{r}.safetensors"
        histories.append(
            fit(
                learner,
                DATA,
                config,
                seed=SEEDS[r],
                validate=lambda m=model: error(m),
                checkpoint=file,
            )
        )
    return found, histories


def together(config: FitConfig = CONFIG, folder: Path | None = None) -> tuple[list, list[History]]:
    found = models()
    replicas = Replicas(found, lr=RATES)
    return found, fit_many(replicas, DATA, config, seeds=SEEDS, validate=error, checkpoint=folder)


def same(one: tuple[list, list[History]], two: tuple[list, list[History]]) -> None:
    for a, b in zip(one[0], two[0], strict=True):
        for p, q in zip(a.parameters(), b.parameters(), strict=True):
            torch.testing.assert_close(p, q, rtol=1e-4, atol=1e-5)
    for a, b in zip(one[1], two[1], strict=True):
        assert a.train == pytest.approx(b.train, rel=1e-4)
        assert a.validation == pytest.approx(b.validation, rel=1e-4)
        assert a.best_step == b.best_step


@pytest.mark.parametrize("keep", ["best", "last"])
def test_each_replica_becomes_what_it_becomes_alone(keep: str):
    config = FitConfig(steps=23, batch_size=16, eval_every=5, keep=keep)
    same(alone(config), together(config))


def test_each_stops_by_its_own_patience():
    """A stopped one keeps its best state and history while the others go on."""
    config = FitConfig(steps=400, batch_size=16, eval_every=2, patience=2)
    one, two = alone(config), together(config)
    assert len({len(history.train) for history in one[1]}) > 1
    same(one, two)


def test_a_killed_run_goes_on_to_the_same_bits(tmp_path: Path):
    whole, calls = together(), []

    def dying(model: nn.Module) -> float:
        calls.append(1)
        if len(calls) > 3 * 5:
            raise KeyboardInterrupt
        return error(model)

    with pytest.raises(KeyboardInterrupt):
        fit_many(
            Replicas(models(), lr=RATES),
            DATA,
            CONFIG,
            seeds=SEEDS,
            validate=dying,
            checkpoint=tmp_path,
        )
    again = together(folder=tmp_path)
    for a, b in zip(whole[0], again[0], strict=True):
        assert all(map(torch.equal, a.parameters(), b.parameters()))
    assert [h.train for h in again[1]] == [h.train for h in whole[1]]


def test_single_runs_go_on_from_its_checkpoints(tmp_path: Path):
    together(folder=tmp_path)
    same(alone(folder=tmp_path), together())


def many(config: FitConfig = CONFIG, seeds: Sequence[int] = SEEDS) -> list[History]:
    return fit_many(Replicas(models(), lr=RATES), DATA, config, seeds=seeds, validate=error)


PATIENT = FitConfig(steps=2, patience=1, keep="last")
test_a_mistake_is_refused = refused(
    {
        "other parameters": (
            made(lambda: Replicas([*models()[:2], *models(9)[:1]], lr=RATES)),
            "equal parameters",
        ),
        "no model": (made(Replicas, [], lr=()), "at least one"),
        "too few rates": (made(lambda: Replicas(models(), lr=RATES[:2])), "lr must be one per"),
        "no rate": (made(lambda: Replicas(models(), lr=(0.1, 0.1, 0.0))), "lr must be"),
        "too few seeds": (made(many, seeds=(1, 2)), "seeds must be one per model, 3", "2"),
        "patience": (made(many, PATIENT), "keep must be 'best' where patience is given"),
    }
)
