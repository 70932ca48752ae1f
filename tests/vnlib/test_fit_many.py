"""Trainings side by side become what each becomes alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest
import torch
from fit_cases import batch_sizes
from torch import nn

from vnlib.checkpoint import History
from vnlib.fit import FitConfig, GradientLearner, fit
from vnlib.fit_many import side_by_side

RATES, SEEDS = (0.01, 0.01, 0.003), (4, 5, 6)
X = torch.randn(50, 6, generator=torch.Generator().manual_seed(0))
DATA = (X, torch.sin(X[:, :2]))
HELD = torch.randn(20, 6, generator=torch.Generator().manual_seed(1))
CONFIG = FitConfig(steps=40, batch_size=16, eval_every=5, checkpoint_every=10)


class Small(nn.Module):
    def __init__(self, width: int, slope: float = 1.0, noise: float = 0.0) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, width), nn.Tanh(), nn.Linear(width, 2))
        self.slope, self.noise = slope, noise

    def loss(self, x: torch.Tensor, y: torch.Tensor, *, generator: torch.Generator) -> torch.Tensor:
        if self.noise:
            x = x + self.noise * torch.randn(x.shape, generator=generator)
        return (self.slope * self.net(x) - y).square().mean()


def models(**options: float) -> list[Small]:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return [Small(**{"width": 8} | options) for _ in SEEDS]


@torch.no_grad()
def error(model: Small) -> float:
    return float((model.slope * model.net(HELD) - torch.sin(HELD[:, :2])).square().mean())


Calls = Sequence[Callable[[], History]]
Found = tuple[list[Small], list[History]]


def trainings(
    found: Sequence[Small],
    config: FitConfig = CONFIG,
    folder: Path | None = None,
    judge: Callable[[Small], float] = error,
    weight_decay: float = 0.01,
) -> Calls:
    def one(r: int, model: Small) -> History:
        learner = GradientLearner(model, lr=RATES[r], weight_decay=weight_decay)
        file = folder and folder / f"{r}.safetensors"
        check = partial(judge, model)
        return fit(learner, DATA, config, seed=SEEDS[r], validate=check, checkpoint=file)

    return [partial(one, r, model) for r, model in enumerate(found)]


def alone(calls: Calls) -> list[History]:
    return [call() for call in calls]


def together(calls: Calls) -> list[History]:
    return [history for _, history in sorted(side_by_side(calls), key=lambda pair: pair[0])]


def both(change: Callable[[], list[Small]] = models, **options: object) -> tuple[Found, Found]:
    found = []
    for way in (alone, together):
        made = change()
        found.append((made, way(trainings(made, **options))))
    return found[0], found[1]


def same(one: Found, two: Found) -> None:
    for a, b in zip(one[0], two[0], strict=True):
        for p, q in zip(a.parameters(), b.parameters(), strict=True):
            torch.testing.assert_close(p, q, rtol=1e-4, atol=1e-5)
    for a, b in zip(one[1], two[1], strict=True):
        assert a.train == pytest.approx(b.train, rel=1e-4)
        assert a.validation == pytest.approx(b.validation, rel=1e-4)
        assert a.best_step == b.best_step


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    return batch_sizes(monkeypatch)


@pytest.mark.parametrize("keep", ["best", "last"])
def test_each_becomes_what_it_becomes_alone(sizes: list[int], keep: str):
    same(*both(config=FitConfig(steps=23, batch_size=16, eval_every=5, keep=keep)))
    assert sizes == [3]


def frozen() -> list[Small]:
    found = models()
    for model in found:
        model.net[0].requires_grad_(False)
    return found


def test_what_is_frozen_stays(sizes: list[int]):
    same(*both(frozen, weight_decay=0.5))
    assert sizes == [3]
    start, end = frozen(), frozen()
    together(trainings(end))
    assert all(
        torch.equal(a.net[0].weight, b.net[0].weight) for a, b in zip(start, end, strict=True)
    )


def two_kinds(**options: float) -> list[Small]:
    return [*models()[:2], *models(**options)[2:]]


@pytest.mark.parametrize("options", [{"width": 9}, {"slope": 2.0}])
def test_only_models_of_one_architecture_train_together(sizes: list[int], options: dict):
    """Numbers that are no parameters tell models apart, too."""
    same(*both(partial(two_kinds, **options)))
    assert sizes == [2]


def test_each_has_its_weight_decay(sizes: list[int]):
    plain, decayed = models(), models()
    together([*trainings(plain), *trainings(decayed, weight_decay=0.9)])
    assert sizes == [6]
    expected = models()
    alone(trainings(expected, weight_decay=0.9))
    same((expected, []), (decayed, []))


def test_calls_may_train_several_times_or_never(sizes: list[int]):
    """The second training goes on with the moments of the first."""
    config = FitConfig(steps=10, batch_size=16, keep="last")

    def twice(model: Small) -> list[float]:
        learner, train = GradientLearner(model, lr=0.01), []
        for seed in (1, 2):
            train += fit(learner, DATA, config, seed=seed).train
        return train

    calls: list[Callable[[], object]] = [lambda: "none", *(partial(twice, m) for m in models())]
    found = dict(side_by_side(calls))
    assert found[0] == "none" and sizes == [3, 3]
    for number, model in enumerate(models(), 1):
        assert found[number] == pytest.approx(twice(model), rel=1e-4)


def dying(after: int) -> Callable[[Small], float]:
    calls = []

    def judge(model: Small) -> float:
        calls.append(1)
        if len(calls) > after:
            raise KeyboardInterrupt
        return error(model)

    return judge


def test_a_killed_group_goes_on_to_the_same_bits(tmp_path: Path, sizes: list[int]):
    whole, again = models(), models()
    histories = together(trainings(whole))
    with pytest.raises(KeyboardInterrupt):
        together(trainings(models(), folder=tmp_path, judge=dying(3 * 5)))
    resumed = together(trainings(again, folder=tmp_path))
    assert sizes == [3, 3, 3]
    for a, b in zip(whole, again, strict=True):
        assert all(map(torch.equal, a.parameters(), b.parameters()))
    assert [h.train for h in resumed] == [h.train for h in histories]


def test_those_that_go_on_from_other_steps_go_on_by_themselves(tmp_path: Path, sizes: list[int]):
    with pytest.raises(KeyboardInterrupt):
        together(trainings(models(), folder=tmp_path, judge=dying(3 * 5)))
    (tmp_path / "1.safetensors").unlink()
    made = models()
    histories = together(trainings(made, folder=tmp_path))
    assert sizes == [3, 2]
    expected = models()
    same((expected, alone(trainings(expected))), (made, histories))


def test_single_runs_go_on_from_its_checkpoints(tmp_path: Path):
    with pytest.raises(KeyboardInterrupt):
        together(trainings(models(), folder=tmp_path, judge=dying(3 * 5)))
    made, expected = models(), models()
    resumed = alone(trainings(made, folder=tmp_path))
    same((made, resumed), (expected, together(trainings(expected))))


def test_noise_is_refused_since_it_would_be_another_than_alone():
    noisy = models(noise=0.1)
    with pytest.raises(RuntimeError, match="random"):
        together(trainings(noisy))


def test_what_a_call_or_a_training_raises_passes_through():
    with pytest.raises(ZeroDivisionError):
        list(side_by_side([*trainings(models()), lambda: 1 / 0]))
    lost = models()
    lost[1].net[0].weight.data.fill_(torch.nan)
    with pytest.raises(FloatingPointError, match="the loss became nan at step 1"):
        together(trainings(lost))


def test_one_with_buffers_trains_alone(sizes: list[int]):
    """A loss may change them, and then they are not the model's own."""

    def normed() -> list[Small]:
        found = models()
        for model in found:
            model.net.append(nn.BatchNorm1d(2))
        return found

    one, two = both(normed)
    assert sizes == []
    same(one, two)
    assert all(int(model.net[3].num_batches_tracked) for model in two[0])


def test_what_a_training_alone_raises_is_raised_where_it_was_asked_for():
    def call() -> str:
        model = models()[0]
        model.net[0].weight.data.fill_(torch.nan)
        try:
            trainings([model])[0]()
        except FloatingPointError as error:
            return str(error)
        return ""

    assert "loss became nan" in dict(side_by_side([call]))[0]
