"""Hard caps and ReLU messages: settles from several starts on small stacks, with the cases in
which they change nothing.
"""

from __future__ import annotations

import numpy as np
import torch

from chapters.C_inference import limits as study
from chapters.C_inference.measure import Task
from vnlib.layer import Layer
from vnlib.learning.rules import unit_columns
from vnlib.prox import L1, NonNegativeL1, TopK
from vnlib.seeding import generator
from vnlib.settle import SettleConfig

OPTIONS = {"random": 1, "scale": 0.3, "seed": 0}


def stack(*, penalty: object = None, positive: bool = False, easy: bool = False) -> Task:
    def draw(d: int, K: int, name: str) -> torch.Tensor:
        W = torch.randn(d, K, generator=generator(0, name), dtype=torch.float64)
        return torch.linalg.qr(W).Q if easy else unit_columns(W.abs() if positive else W)

    penalty = penalty or L1(sparsity=0.1)
    x = torch.randn(3, 12, generator=generator(0, "x"), dtype=torch.float64)
    below = Layer(draw(12, 5, "V"), draw(6, 5, "U"), penalty)
    return Task((below, Layer(draw(6, 4, "W"), None, penalty)), 0.5, x.abs() if positive else x)


def test_a_cap_is_put_on_the_top_layer_alone():
    one = stack()
    hard = study.capped(one, 2, study.MomentumTopK)
    assert hard.layers[0] == one.layers[0]
    assert isinstance(hard.layers[1].penalty, TopK) and hard.layers[1].penalty.k == 2
    assert (
        hard.layers[1].penalty.accelerable and not TopK(penalty=L1(sparsity=0.1), k=2).accelerable
    )


def test_a_cap_that_binds_nobody_leaves_one_end():
    found = study.hard_cap([stack(easy=True)], k=4, sweeps=300, caps_from=[0, 3], **OPTIONS).isel(
        cap_depth=0
    )
    assert float(found["cap_height"].max()) < 1e-8 and float(found["late_height"].max()) < 1e-8
    assert float(found["cap_overlap"]) == 1 and float(found["cap_distance"]) < 1e-4
    assert float(found["cap_rest"]) == 1


def test_a_cap_that_binds_leaves_several():
    found = study.hard_cap([stack()], k=1, sweeps=200, caps_from=[0], **OPTIONS).isel(cap_depth=0)
    heights = found["cap_height"]
    assert np.allclose(heights.min(("schedule", "multistart_solver", "multistart")), 0)
    assert float(heights.max()) > 1e-6
    assert 0 <= float(found["cap_overlap"]) < 1


def test_momentum_changes_no_end_where_the_cap_does_not_bind():
    found = study.momentum_under_a_cap(stack(easy=True), k=4, sweeps=200, window=50)
    assert float(abs(found["cap_end"]).max()) < 1e-8 and float(found["switched"].max()) == 0
    assert (
        float(found["cap_path"].min()) >= 0
        and float(found["cap_path"].isel(cap_sweep=-1).max()) < 1e-8
    )


def test_relu_does_nothing_to_positive_messages():
    one = stack(penalty=NonNegativeL1(sparsity=0.05), positive=True)
    found = study.relu_messages(one, betas=[0.5], sweeps=150, kept=6, **OPTIONS)
    same, relu = (found["relu_change"].sel(activation=a) for a in ("identity", "relu"))
    assert np.allclose(same, relu)
    assert float(found["relu_rises"].max()) == 0


def test_relu_messages_are_told_from_identity_ones():
    found = study.relu_messages(stack(), betas=[0.5, 2.0], sweeps=150, kept=6, **OPTIONS)
    same, relu = (found["relu_change"].sel(activation=a) for a in ("identity", "relu"))
    assert not np.allclose(same, relu)
    assert float(found["relu_rises"].sel(activation="identity").max()) == 0
    assert found["relu_spread"].dims == (
        "beta",
        "schedule",
        "multistart_solver",
        "multistart",
        "sample",
    )
    assert 0 <= float(found["relu_rest"].min()) <= 1


def test_rest_is_judged_by_one_more_step():
    one = stack()
    still = one.settler(SettleConfig(method="line_search", max_sweeps=500, tol=0))(one.x)
    early = one.settler(SettleConfig(method="ista", max_sweeps=3, tol=0))(one.x)
    assert (
        study._at_rest(one, {("sweep", "restart", 0): still, ("sweep", "restart", 1): early}) == 0.5
    )
