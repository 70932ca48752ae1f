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

from benchmarks.images import opponents, playground, two_layers
from vnlib.layer import Layer
from vnlib.prox import L1
from vnlib.settle import SettleConfig, Settler
from vnlib.settle.energy import joint_energy

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")


def in_node(script: str, given: object) -> dict:
    """Run a script that has settle.js as `S`, deep.js as `D`, models.js as `M`, state.js as `L` and
    the input as `given`, and makes `out`.
    """
    files = {"S": "settle", "D": "deep", "M": "models", "L": "state"}
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


# --- Two layers -----------------------------------------------------------------------------------

DEEP = """
  (0, eval)(given.text);
  const net = D.read(vnLayers), out = given.cases.map(({ x, mask, rung, factor, limits }) => {
    const seen = Float64Array.from(x, (value, i) => value * mask[i]), grams = S.remembered(net.V1, net.d);
    const problem = { H: grams(Float64Array.from(mask)), drive: S.correlate(net.V1, seen), power: S.dot(seen, seen) };
    const found = D.settle(net, { ...problem, rung, factor }, limits);
    return { ...found, top: D.fromTop(net, found.codes[1]) };
  });
"""


@needs_node
def test_every_sweep_of_two_layers_is_that_of_vnlib(shipped):
    """Up to 1e-9 in every coefficient, with all feedbacks, sparser and denser, under a mask."""
    made, pictures = two_layers.read(DATA), shipped[1]
    half = (torch.arange(784) % 28 >= 14).double()
    x, rungs = pictures[8] - pictures[3], range(len(two_layers.FEEDBACKS))
    cases = [(x, torch.ones(784), rung, 1.0, 7) for rung in rungs]
    cases += [(x, half, 3, 0.5, 1), (x, torch.ones(784), 3, 1.0, None)]
    cases += [(x, half, 6, 2.0, None), (0 * x, half, 3, 1.0, None)]
    names = ("x", "mask", "rung", "factor", "limits")
    given = [
        dict(zip(names, (x.tolist(), mask.tolist(), rung, factor), strict=False))
        | {"limits": {"maxSweeps": sweeps, "tol": 0} if sweeps else {}}
        for x, mask, rung, factor, sweeps in cases
    ]
    text = (DATA / "layers.js").read_text()
    out = in_node(DEEP, {"text": text, "cases": given})
    for found, (x, mask, rung, factor, sweeps) in zip(out, cases, strict=True):
        beta = two_layers.FEEDBACKS[rung]
        network = made.with_feedback(beta, factor=factor)
        config = SettleConfig(method="restart", max_sweeps=sweeps, tol=0) if sweeps else None
        wanted = network.settle(
            x[None], mask=mask.double()[None], config=config, trace=bool(sweeps and beta)
        )
        for code, one in zip(found["codes"], wanted.codes, strict=True):
            np.testing.assert_allclose(code, one[0], atol=1e-9)
        energy = joint_energy(network.layers, wanted.codes, x[None], beta, mask=mask[None])
        assert found["energy"] == pytest.approx(float(energy[0]), rel=1e-9)
        assert found["settled"] is (sweeps is None)
        if not sweeps:
            inverse = Layer(network.U[0], None, L1(sparsity=made.reading))
            target = wanted.codes[1] @ network.V[1].T
            top = Settler([inverse], config=playground.SETTLE)(target).codes[0] @ network.V[0].T
            np.testing.assert_allclose(found["top"], top[0], atol=1e-9)
            decoded = network.decode(wanted.codes[1], sparsity=made.reading, max_sweeps=2_000)
            assert float((decoded - top).norm()) <= 0.02 * float(top.norm())
        if beta:
            assert len(found["path"]) == 1 + min(found["sweeps"], 60)
        if beta and sweeps:
            path = [float(one[0]) for one in wanted.trace.energy]
            assert found["path"][1:] == pytest.approx(path, rel=1e-9)


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

LIMITS = {"d": 6, "digits": 12, "atoms": 9, "feedbacks": 7, "sparsity": [-2, 3, 0.25]}
LIMITS |= {"sweeps": [0, 1, 50]}
PLAIN = {"picks": [[1, 8]], "picture": None, "seen": [1] * 6, "sparsity": 0}
PLAIN |= {"layers": 1, "feedback": None, "sweeps": None, "residual": False, "doubling": False}
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
        {"layers": 2, "feedback": 0},
        {"layers": 2, "feedback": 6, "sweeps": 50, "residual": True},
        {"sweeps": 0, "doubling": True},
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
        "vn=1&digits=8&residual=0",
        "vn=1&digits=8&doubling=",
        "vn=1&digits=8&sweeps=",
        "vn=1&digits=8&sweeps=2",
        "vn=1&digits=8&sweeps=-1",
        "vn=1&digits=8&sweeps=1e1",
        "vn=1&digits=8&sweeps=Infinity",
        "vn=1&digits=8&layers=1",
        "vn=1&digits=8&layers=3",
        "vn=1&digits=8&layers=2&feedback=7",
        "vn=1&digits=8&layers=2&feedback=-1",
        "vn=1&digits=8" + "&" * 20_000,
    ],
)
def test_a_link_of_another_form_is_refused_whole(link):
    assert in_node("const out = { state: L.decode(given[0], given[1]) };", [link, LIMITS]) == {
        "state": None
    }
