"""The playground's settle.js alone, in node: its settle equals vnlib's."""

from __future__ import annotations

import json
import shutil
import subprocess

import numpy as np
import pytest
import torch
from playground_cases import DATA

from benchmarks.images import playground
from vnlib.settle import SettleConfig

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")


def in_node(script: str, given: object) -> dict:
    """Run a script that has settle.js as `S` and the input as `given`, and makes `out`."""
    whole = f"""
      const S = require({json.dumps(str(DATA / "settle.js"))});
      const given = JSON.parse(require("fs").readFileSync(0));
      {script}
      const plain = (key, value) => ArrayBuffer.isView(value) ? [...value] : value;
console.log(JSON.stringify(out, plain));
    """
    done = subprocess.run(
        [NODE, "-e", whole], input=json.dumps(given), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


SETTLE = """
  const [atoms, x, mask] = [given.atoms, given.x, given.mask].map((a) => Float64Array.from(a));
  const seen = x.map((value, i) => value * mask[i]);
  const out = S.settle({ H: S.gram(atoms, x.length, mask), drive: S.correlate(atoms, x, mask),
    power: S.dot(seen, seen), ...given.rest }, given.limits || {});
"""


@needs_node
@pytest.mark.parametrize("nonnegative", [False, True])
def test_orthonormal_atoms_are_thresholded(nonnegative):
    x = np.array([2.0, -1.0, 0.3, -0.2, 0.5])
    rest = {"lipschitz": 1.0, "lambda": 0.4, "nonnegative": nonnegative}
    out = in_node(
        SETTLE,
        {"atoms": np.eye(5).ravel().tolist(), "x": x.tolist(), "mask": [1] * 5, "rest": rest},
    )
    wanted = np.sign(x) * np.maximum(np.abs(x) - 0.4, 0)
    wanted = np.maximum(wanted, 0) if nonnegative else wanted
    np.testing.assert_allclose(out["code"], wanted, atol=1e-12)
    energy = 0.5 * ((x - wanted) ** 2).sum() + 0.4 * np.abs(wanted).sum()
    assert out["energy"] == pytest.approx(energy, rel=1e-12) and out["settled"]
    assert out["misfit"] + out["penalty"] == pytest.approx(energy, rel=1e-12)


@needs_node
@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("sweeps", [1, 2, 9, 60, None])
def test_every_sweep_is_that_of_vnlib(nonnegative, sweeps):
    rng = torch.Generator().manual_seed(1)
    V = torch.randn(20, 30, generator=rng, dtype=torch.float64)
    V, x = V / V.norm(dim=0), 2 * torch.randn(20, generator=rng, dtype=torch.float64)
    mask = (torch.rand(20, generator=rng) > 0.3).double()
    network = playground.playground_network(V, sparsity=0.2, nonnegative=nonnegative)
    config = SettleConfig(method="restart", max_sweeps=sweeps, tol=0) if sweeps else None
    wanted = network.settle(x[None], mask=mask[None], config=config)
    lipschitz = 1.0001 * float(torch.linalg.matrix_norm(V, 2)) ** 2
    given = {
        "atoms": V.T.ravel().tolist(),
        "x": x.tolist(),
        "mask": mask.tolist(),
        "rest": {"lipschitz": lipschitz, "lambda": 0.2, "nonnegative": nonnegative},
        "limits": {"maxSweeps": sweeps, "tol": 0} if sweeps else {},
    }
    out = in_node(SETTLE, given)
    np.testing.assert_allclose(
        out["code"], wanted.codes[0][0].numpy(), atol=1e-9 if sweeps else 1e-5
    )
    assert out["energy"] == pytest.approx(float(wanted.energy[0]), rel=1e-9)
    assert out["settled"] is (sweeps is None) and out["sweeps"] == (sweeps or out["sweeps"])


@needs_node
def test_node_reads_the_dictionary_that_vnlib_reads(shipped):
    text = (DATA / "dictionary.js").read_text()
    out = in_node(
        "(0, eval)(given); const out = S.dictionary(vnDictionary.int8, vnDictionary.atoms);", text
    )
    np.testing.assert_allclose(out, shipped[0].V[0].T.ravel().numpy(), rtol=1e-12)
