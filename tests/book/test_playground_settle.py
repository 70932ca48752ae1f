"""The playground's scripts without a page, in node: they compute what vnlib does, and trust no link."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
import torch
from playground_cases import DATA
from scipy.fft import dctn, idctn

from benchmarks.images import opponents, playground
from vnlib.settle import SettleConfig

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")


def in_node(script: str, given: object) -> dict:
    """Run a script that has settle.js as `S`, models.js as `M`, state.js as `L` and the input as
    `given`, and makes `out`.
    """
    files = {"S": "settle", "M": "models", "L": "state"}
    required = "".join(
        f"const {name} = require({json.dumps(str(DATA / f'{file}.js'))});"
        for name, file in files.items()
    )
    whole = f"""
      {required}
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


# --- The other models -----------------------------------------------------------------------------


@needs_node
@pytest.mark.parametrize("backwards", [False, True])
def test_the_cosine_transform_is_that_of_scipy(backwards):
    x = np.random.default_rng(0).normal(size=(9, 9))
    script = """
      const x = Float64Array.from(given.x);
      const out = { x: M.transform(M.cosines(9), x, given.backwards) };
    """
    out = in_node(script, {"x": x.ravel().tolist(), "backwards": backwards})
    wanted = (idctn if backwards else dctn)(x, norm="ortho")
    np.testing.assert_allclose(out["x"], wanted.ravel(), atol=1e-12)


@needs_node
def test_node_draws_what_the_opponents_draw(shipped):
    x, k = shipped[1][:5] - shipped[1][5:10], torch.tensor([0, 1, 7, 40, 256])
    script = """
      (0, eval)(given.text);
      const models = M.read(vnOpponents), out = {};
      for (const [name, draw] of Object.entries(models))
        out[name] = given.x.map((x, i) => [...draw(Float64Array.from(x), given.k[i])]);
    """
    text = (DATA / "opponents.js").read_text()
    out = in_node(script, {"text": text, "x": x.tolist(), "k": k.tolist()})
    wanted = opponents.read(DATA).draw(x, k)
    assert list(out) == list(wanted)
    for name, drawn in wanted.items():
        np.testing.assert_allclose(out[name], drawn, atol=1e-9)


# --- Links ----------------------------------------------------------------------------------------

LIMITS = {"d": 6, "digits": 12, "atoms": 9, "sparsity": [-2, 3, 0.25]}
PLAIN = {"picks": [[1, 8]], "picture": None, "seen": [1] * 6, "sparsity": 0}
PLAIN |= {"removed": [], "doubled": [], "signed": False, "known": False, "again": False}


@needs_node
@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"picks": [[-1, 8], [1, 0], [-1, 11]]},
        {"picks": None, "picture": [0, 0, 1, -2, 0.2, 0]},
        {"picks": None, "picture": [0.0] * 6},
        {"seen": [0, 1, 1, 0, 0, 1], "sparsity": -1.75, "signed": True},
        {"removed": [8, 0], "doubled": [3], "again": True, "known": True, "sparsity": 3},
    ],
)
def test_a_state_comes_back_from_its_link(changed):
    state = PLAIN | changed
    script = """
      const picture = given[0].picture && Float64Array.from(given[0].picture);
      const link = L.encode({ ...given[0], picture });
      const out = { link, state: L.decode(link, given[1]) };
    """
    out = in_node(script, [state, LIMITS])
    assert out["state"] == state and re.fullmatch(r"[\w.=&-]+", out["link"])


@needs_node
@pytest.mark.parametrize(
    "link",
    [
        "",
        "digits=8",
        "vn=2&digits=8",
        "vn=1",
        "vn=1&digits=",
        "vn=1&digits=12",
        "vn=1&digits=8&digits=8",
        "vn=1&digits=8&picture=_6",
        "vn=1&digits=8=8",
        "vn=1&digits=8&constructor=1",
        "vn=1&digits=8&__proto__=1",
        "vn=1&digits=" + ".".join(["1"] * 21),
        "vn=1&digits=<img src=x onerror=alert(1)>",
        "vn=1&picture=_5",
        "vn=1&picture=_7",
        "vn=1&picture=_zzzz",
        "vn=1&picture=_-6",
        "vn=1&picture=zzzz._5",
        "vn=1&picture=1e99._5",
        "vn=1&digits=8&covered=",
        "vn=1&digits=8&covered=3.2",
        "vn=1&digits=8&covered=3.0.3",
        "vn=1&digits=8&covered=7.-1",
        "vn=1&digits=8&covered=zzzz",
        "vn=1&digits=8&sparsity=3.25",
        "vn=1&digits=8&sparsity=0.1",
        "vn=1&digits=8&sparsity=1e9",
        "vn=1&digits=8&sparsity=NaN",
        "vn=1&digits=8&removed=9",
        "vn=1&digits=8&removed=1.1",
        "vn=1&digits=8&removed=1&doubled=1",
        "vn=1&digits=8&signed=true",
        "vn=1&digits=8" + "&" * 20_000,
    ],
)
def test_a_link_of_another_form_is_refused_whole(link):
    assert in_node("const out = { state: L.decode(given[0], given[1]) };", [link, LIMITS]) == {
        "state": None
    }
