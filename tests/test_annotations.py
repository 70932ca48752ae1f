"""The annotations tell the truth: shapes and types are checked by jaxtyping and beartype while the
library works.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# The hook takes the checker by name only; an int will do where a float is asked for.
HOOK = """
import sys, types, beartype, jaxtyping
checker = sys.modules["checker"] = types.ModuleType("checker")
checker.check = beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))
jaxtyping.install_import_hook(["vnlib", "data_gen"], "checker.check")
"""
WORK = """
import tempfile
from pathlib import Path
import torch
from data_gen import bumps
from benchmarks.spatial.report import decoder_report
from vnlib import greedy, masked, metrics
from benchmarks.spatial.registry import BASELINES
from vnlib.fit import FitConfig, fit
from benchmarks.spatial.decoders import train_decoder
from vnlib.learning.learner import LocalLearner, learn
from vnlib.learning.replicas import LocalReplicas
from vnlib.network import VectorNetwork, VNConfig
from vnlib.prox import PENALTIES
from vnlib.settle import SettleConfig

data = bumps.make(bumps.BumpConfig(grid=28))
pair = tuple(torch.from_numpy(data[name].values[::12]) for name in ("code", "image"))
small = {"cnn": {"width": 4, "depth": 2}, "factorised": {}, "bilinear": {"n_units": 4},
         "conv_autoencoder": {"width": 2}, "coordinate_mlp": {"width": 4},
         "coordconv": {"width": 4, "depth": 2}, "broadcast": {"width": 4, "depth": 2}}
pixels = data["image"].values.reshape(-1, 784)
entangled = data.drop_vars("code").assign(code=(("position", "pixel"), pixels))
models = [(name, small.get(name, {"hidden": (8,)})) for name in BASELINES]
models += [("vn", {"streams": s, "depth": d, "n_atoms": 8, "top_k": 4, "sweeps": 4})
           for s, d in (("axes", 2), ("joint", 1))]
for family, options in models:
    told = (pair[1].flatten(1), pair[1]) if family == "conv_autoencoder" else pair
    readouts = 2 if family in ("vn", "vae", "factorised", "bilinear", "sparse_autoencoder") else 0
    with tempfile.TemporaryDirectory() as folder:
        model = train_decoder(told, told, family=family, options=options, lr=0.01, steps=3,
                              batch_size=16, seed=0, workdir=Path(folder), consolidation=readouts)
        shown = entangled if family == "conv_autoencoder" else data
        decoder_report(model, shown, samples=[0, 5])
for rule in ("subspace", "frozen", "atomic_hebb"):
    config = VNConfig(n_inputs=56, atoms=(8, 6), interface=(5,), sparsity=(0.05, 0.05), top_k=3,
                      interface_rule=rule, settle=SettleConfig.momentum(max_sweeps=20))
    network = VectorNetwork(config, seed=0)
    x = pair[0]
    network.start_from_samples(x, seed=0)
    fit(LocalLearner(network), (x,), FitConfig(steps=3), seed=0, validate=lambda: 1.0)
    config = SettleConfig(method="ista", monotone=True, max_sweeps=20)
    settled = network.settle(x, config=config, trace=True)
    network.settle(x, start=settled.codes)
    network.operator(settled)
    network.reconstruct(settled)
    network.decode(settled.codes[-1])
for penalty in ("l1", "l0"):
    settle = SettleConfig(method="line_search", max_sweeps=9)
    config = VNConfig(n_inputs=56, atoms=(8, 6), interface=(5,), sparsity=(0.05, 0.05), settle=settle,
                      penalty=penalty, relative_sparsity=True, top_k=3)
    twins = [LocalLearner(VectorNetwork(config, seed=seed), lr=0.1) for seed in (0, 1)]
    LocalReplicas(twins).step((torch.stack([x, 2 * x]),), scale=1.0, generator=[None, None])
mask = (x[:4] > 0).float()
masked.impute(network, x[:4], mask, steps=2)
masked.masked_settle(network, x[:4], mask)
V = network.V[0]
greedy.polish(V, x[:4], greedy.orthogonal_matching_pursuit(V, x[:4], k=3))
# Not "cd": numba compiles no function that a checker has wrapped.
for method in ("fista", "line_search", "admm"):
    config = SettleConfig(method=method, criterion="gap")
    one = VectorNetwork(VNConfig(n_inputs=56, atoms=(8,), settle=config), seed=0)
    one.settle(x[:4], start=one.settle(x[:4]))
for kind in PENALTIES:
    options = {"elastic_net": {"ridge": 0.1}, "mcp": {"gamma": 2.0}}.get(kind, {})
    config = VNConfig(n_inputs=56, atoms=(8,), penalty=kind, **options)
    settled = VectorNetwork(config, seed=0).settle(x[:4])
options = {"optimizer": "sgd", "remove_dc": True, "decorrelation": 0.1, "revive_after": 1}
tracked = VectorNetwork.for_data(x, atoms=(8, 6), seed=0, untied=True)
learn(tracked, x, seed=0, steps=3, **options)
for schedule in ("staggered", "recurrent"):
    settled = tracked.settle(x[:4], config=SettleConfig(schedule=schedule, mix=0.5))
metrics.operator_rank(tracked.operator(settled)), metrics.coherence(tracked.V[0])
metrics.jaccard(settled.codes[0] > 0, settled.codes[0] < 0)
deep = {"atoms": (18, 14, 10), "interface": (9, 8), "sparsity": (0.2, 0.1, 0.1), "top_k": 3}
settle = SettleConfig(max_sweeps=3, monotone=True)
three = VectorNetwork(VNConfig(n_inputs=56, settle=settle, **deep), seed=0)
three.decode(three.settle(x[:4]).codes[-1], max_sweeps=3)
"""
# The checks can fail: shapes that do not agree, and a value and a tensor that are none of the kinds
# asked for.
MISTAKES = """
from vnlib import prox
from vnlib.learning import rules
mistakes = (
    lambda: rules.atomic_hebb(torch.zeros(2, 4), torch.zeros(3, 5)),
    lambda: prox.keep_top_k(torch.zeros(2, 4), 1.5),
    lambda: three.reconstruct(x),
)
for mistake in mistakes:
    try:
        mistake()
    except Exception as error:
        print(type(error).__name__)
"""


@pytest.mark.slow
def test_the_library_keeps_to_its_annotations_and_the_checks_can_fail():
    """In a process of its own: the checks work on modules that are not imported yet."""
    code = HOOK + WORK + MISTAKES
    env = os.environ | {"NUMBA_DISABLE_JIT": "1"}  # a few samples do not repay the compilation
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() == ["TypeCheckError"] * 3
