"""What another device refuses, and where nothing may wait for it: between two looks of a settle at
its energy, and between the steps of a training. The device is that of `fake_device`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from fake_device import DEVICE, elsewhere
from torch import nn

from vnlib.fit import FitConfig, GradientLearner, fit
from vnlib.layer import Layer
from vnlib.learning.learner import LocalLearner
from vnlib.network import VectorNetwork, VNConfig
from vnlib.prox import make_penalty
from vnlib.settle import SettleConfig, Settler
from vnlib.settle.schedule import Run

CPU = torch.device("cpu")


def test_what_a_device_refuses_is_refused():
    with elsewhere():
        here, there = torch.ones(2), torch.ones(2, device=DEVICE)
        for wrong in (
            lambda: here + there,
            lambda: there.numpy(),
            lambda: torch.rand(2, device=DEVICE, generator=torch.Generator()),
            lambda: there[torch.tensor([True, False])] @ here,
        ):
            with pytest.raises((RuntimeError, TypeError)):
                wrong()
        assert (there.cpu() + here).tolist() == [2.0, 2.0] == (there + 1.0).tolist()
        assert type(there.cpu()) is torch.Tensor and there.device == DEVICE


def test_what_waits_is_refused_where_nothing_may():
    with elsewhere() as device:
        there = torch.ones(2, device=DEVICE)
        waiting = [
            there[0].item,
            there.tolist,
            there.nonzero,
            there.cpu,
            lambda: bool(there.all()),
            lambda: int(there[0]),
            lambda: float(there.sum()),
            lambda: there[there > 0],
            lambda: there.masked_select(there > 0),
            lambda: torch.equal(there, there),
            lambda: torch.where(there > 0)[0],
        ]
        for wait in waiting:
            wait()
            with device.ahead(), pytest.raises(RuntimeError, match="waits for the device"):
                wait()
        with device.ahead():
            torch.where(there > 0, there, 0.0).sum()


SWEEPS = {
    "ista": {"method": "ista"},
    "fista": {"method": "fista"},
    "restart": {"method": "restart"},
    "line search": {"method": "line_search"},
    "staggered": {"method": "line_search", "schedule": "staggered"},
    "recurrent": {"method": "line_search", "schedule": "recurrent"},
    "recurrent, one step size": {"method": "restart", "schedule": "recurrent"},
    "several steps, mixed": {"method": "line_search", "steps": 2, "mix": 0.2},
    "duality gap": {"method": "line_search", "criterion": "gap"},
    "capped": {"method": "line_search", "cap_from": 7},
    "concave": {"method": "line_search"},
    "every sweep taken back": {"method": "line_search", "check_every": 1, "monotone": True},
    "alone": {"method": "admm"},
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", SWEEPS)
def test_sweeps_between_two_looks_do_not_wait_for_the_device(
    monkeypatch: pytest.MonkeyPatch, case: str
):
    """From codes at 0, from codes and on from a settle; and the results are those of the CPU."""
    depth = 1 if case == "alone" else 3
    penalty: dict[str, Any] = {"kind": "mcp", "gamma": 3.0} if case == "concave" else {}
    penalty |= {"top_k": 5} if case == "capped" else {}
    given = {"criterion": "energy", "check_every": 5, "max_sweeps": 20, "tol": 1e-3} | SWEEPS[case]
    config, found, sweep = SettleConfig(**given), [], Run.sweep
    rng = torch.Generator().manual_seed(0)
    mats = [torch.nn.functional.normalize(torch.randn(8, 10, generator=rng), dim=0) for _ in "VU"]
    x, seen = torch.randn(9, 8, generator=rng), (torch.rand(9, 8, generator=rng) > 0.2).float()
    with elsewhere() as device:

        def sweeping(run: Run, capped: bool) -> None:
            with device.ahead():
                sweep(run, capped)

        monkeypatch.setattr(Run, "sweep", sweeping)
        for where in (CPU, DEVICE):
            V, U = (one.to(where) for one in mats)
            layers = [
                Layer(V, U if index + 1 < depth else None, make_penalty(sparsity=0.05, **penalty))
                for index in range(depth)
            ]
            settler = Settler(layers, feedback=0.3, config=config)
            mask = None if case == "alone" else seen.to(where)
            first = settler(x.to(where), mask=mask)
            codes = [code + 0.1 for code in first.codes]
            ends = [first, settler(x.to(where), codes, mask=mask), settler(x.to(where), first)]
            found.append([(*(c.cpu() for c in end.codes), end.sweeps.cpu()) for end in ends])
    torch.testing.assert_close(found[1], found[0])


class Line(nn.Module):
    def __init__(self, seen: Callable[[], None]) -> None:
        super().__init__()
        self.seen = seen
        self.weight = nn.Parameter(torch.ones(6, 6))

    def loss(self, x: torch.Tensor, *, generator: torch.Generator) -> torch.Tensor:
        self.seen()
        return (x @ self.weight - x).square().mean()


@pytest.mark.parametrize("rule", ["gradient", "local"])
def test_steps_do_not_wait_for_the_device(rule: str):
    """But for what a settle asks for itself."""
    with elsewhere() as device:
        x = torch.rand(40, 6, generator=torch.Generator().manual_seed(0)).to(DEVICE)
        network = VectorNetwork(VNConfig(n_inputs=6, atoms=(8,)), seed=0).to(DEVICE)
        settled, waits = network.settle(x), []
        network.settle = lambda *_, **__: waits.append(device.waits.total()) or settled
        learner = LocalLearner(network)
        if rule == "gradient":
            learner = GradientLearner(Line(lambda: waits.append(device.waits.total())), lr=1e-2)
            learner.model.to(DEVICE)
        fit(learner, (x,), FitConfig(steps=9, batch_size=20, keep="last"), seed=0)
    assert len(waits) == 9 and len(set(waits)) == 1
