"""The page "On other machines": made from stored comparisons, which say what was compared."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest
import xarray as xr

from book.site import machines
from vnlib.book import ledger as claims
from vnlib.book import paths, store

PAGE = (paths.SOURCE / "book" / "machines.md").read_text(encoding="utf-8")
SHIPPED = json.loads((paths.RESULTS / machines.NAME).read_text(encoding="utf-8"))["pairs"]
APART = "import numpy, torch, threadpoolctl as t, numba; from numpy._core._multiarray_umath import \
__cpu_features__ as f; print(torch.backends.cpu.get_cpu_capability(), f['X86_V3'], numba.config.CPU_NAME, \
*{one['architecture'] for one in t.threadpool_info() if one['internal_api'] == 'openblas'})"


def stored(path: Path, **values: float) -> Path:
    attrs = {"chapter": path.stem, "profile": path.parent.name, "hardware": "CPU, 2 cores"}
    path.parent.mkdir(parents=True)
    store.write(xr.Dataset(values | {"run_date": "today"}, attrs=attrs), path)
    return path


def statement(**changes: object) -> dict:
    own = {"id": "VN-X.1", "says": "error < 1", "values": [0.5, 0.51], "distance": 0.3}
    return own | {"verdicts": ["holds", "holds"]} | changes


def test_bits_are_compared_and_not_what_a_run_says_of_itself(tmp_path):
    first = stored(tmp_path / "a" / "fast" / "x.nc", error=0.5, loss=1.0, gap=float("nan"))
    second = stored(tmp_path / "b" / "fast" / "x.nc", error=0.5, loss=1.0 + 1e-15, gap=float("nan"))
    found = machines.pair(first, second, "one", "other")
    assert found["equal"] == (2, 3) and found["statements"] == []
    assert (found["chapter"], found["profile"]) == ("x", "fast") and machines.cpu(first) == "CPU"


def test_the_page_tells_each_pair_and_the_statements_of_those_that_differ(tmp_path):
    known = {"chapter": "x", "profile": "fast", "names": ["one", "other"]}
    rows = [
        statement(),
        statement(id="VN-X.2", distance=-1.2, verdicts=["holds", "fails"]),
        statement(id="VN-X.3", distance=None, values=[None, None]),
    ]
    pairs = [known | {"equal": [3, 3], "statements": []}]
    pairs += [known | {"equal": [2, 3], "statements": rows}]
    (tmp_path / "m.json").write_text(json.dumps({"pairs": pairs}))
    page = machines.page(tmp_path / "m.json")
    assert "| [](chapters/x.ipynb), `fast` | one and other | 3 of 3 | 0 of 0 |  |  |" in page
    assert "| [](chapters/x.ipynb), `fast` | one and other | 2 of 3 | 2 of 3 | 0.75 | 1.2 |" in page
    assert page.count("{dropdown}") == 1 and "| VN-X.2: error &lt; 1 | 0.5 | 0.51 | 1.2 |" in page
    assert "holds → fails" in page and "a CPU and a GPU | none measured" in page
    assert machines.page(tmp_path / "none.json") == machines.NONE_YET


def test_folds_are_named_as_the_pages_are_that_the_table_links_to():
    names = re.findall(r"{dropdown} (.*), \w+: ", machines.page(paths.RESULTS / machines.NAME))
    heads = {name: nbformat.read(paths.notebook(name), 4) for name in paths.chapters()}
    titles = {
        cell.source.splitlines()[0].removeprefix("# ")
        for one in heads.values()
        for cell in one.cells
        if cell.source.startswith("# ") and cell.cell_type == "markdown"
    }
    assert len(names) == 3 and set(names) <= titles


def test_what_is_shipped_is_all_that_the_script_compares():
    named = {(one["chapter"], one["profile"], *one["names"]) for one in SHIPPED}
    others = list(machines.SETTINGS)[1:]
    fast = {(name, "fast", machines.PLAIN, other) for name in machines.FAST for other in others}
    assert fast < named
    (paper,) = (one for one in SHIPPED if one["profile"] == "paper")
    assert [paper["chapter"]] == list(machines.SHIPPED)
    shipped = store.read(paths.result_file(paths.RESULTS, "paper", paper["chapter"]))
    assert paper["hardware"][0] == shipped.attrs["hardware"]
    statements = [row for one in SHIPPED for row in one["statements"]]
    known = set(claims.all_claims())
    assert statements and {row["id"].rpartition(".")[0] for row in statements} <= known


def test_the_words_of_the_page_are_true():
    for one in SHIPPED:
        equal, many = one["equal"]
        if "two threads" in one["names"]:
            assert equal == many
            assert machines.same_verdicts(one) == len(one["statements"])
        else:
            assert equal < many
        makers = {name.split()[0] for name in one["hardware"]}
        assert makers == ({"AMD"} if one["profile"] == "fast" else {"AMD", "Intel(R)"})
    assert not any("NVIDIA" in name for one in SHIPPED for name in one["hardware"])
    apart = [one for one in SHIPPED if one["equal"][0] < one["equal"][1]]
    assert all(machines.same_verdicts(one) == len(one["statements"]) for one in SHIPPED)
    far = np.concatenate([machines.distances(one) for one in apart])
    assert 0 < np.mean(far > 1) < 0.2
    rows = [row for one in apart for row in one["statements"] if abs(row["distance"] or 0) > 1]
    assert all(row["verdicts"] == ["holds", "holds"] for row in rows)
    assert any("sweeps" in row["says"] for row in rows)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="AVX is of x86")
def test_every_library_gives_up_its_instructions():
    env = os.environ | machines.SETTINGS["no AVX"]
    said = subprocess.check_output([sys.executable, "-c", APART], env=env, text=True)
    assert said.split() == ["DEFAULT", "False", "nehalem", "Nehalem"]
