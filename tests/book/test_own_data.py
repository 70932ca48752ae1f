"""The page for a reader's own data: its code runs and does what the text says."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch

from book import own_data_peers
from book.site import own_data
from vnlib import estimator, fit, network, settle
from vnlib.book import paths
from vnlib.learning import learner
from vnlib.plots.statistics import short

PAGE = (paths.SOURCE / "book" / "own_data.md").read_text(encoding="utf-8")


def test_the_code_runs_and_does_what_the_text_says(tmp_path, monkeypatch):
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for block in blocks:
        assert max(map(len, block.splitlines())) < 80, "longer lines are cut off on the page"
        exec(compile(block, "own_data.md", "exec"), names)
    x, x_hat = names["x"][:100], names["x_hat"]
    assert [code.shape for code in names["codes"]] == [(100, 64), (100, 32)]
    assert (x - x_hat).square().mean() < 0.1 * (x - x.mean(0)).square().mean()
    assert 0 < names["share"] <= 1 and names["W"].shape == (100, 32, 64)
    assert names["from_top"].shape == x.shape and len(names["active"]) == 2
    assert names["code"].shape == (1797, 64) and names["X_hat"].shape == names["X"].shape
    assert 0.5 < names["explained"] < 1 and 5 < (names["code"] != 0).sum(1).mean() < 15
    assert sum(names["losses"][-3:]) < 0.7 * sum(names["losses"][:3])
    assert names["model"].score(names["X"], names["y"]) > 0.9
    for name, tensor in names["network"].state_dict().items():
        assert torch.equal(names["again"].state_dict()[name], tensor)
    assert {path.name for path in Path().iterdir()} == {"digits.safetensors", "coder.safetensors"}


def test_the_table_of_peers_is_what_its_script_makes(monkeypatch):
    """The same rows and columns, from few samples; the stored numbers are on the page as they are."""
    stored = pd.read_csv(own_data_peers.FILE)
    monkeypatch.setattr(own_data_peers, "ATOMS", 12)
    found = own_data_peers.compare(own_data_peers.signals(150), 4, steps=4)
    assert list(stored) == ["data", *found]
    assert list(stored.groupby("data", sort=False).groups) == list(own_data_peers.ACTIVE)
    for _, rows in stored.groupby("data"):
        assert list(rows["method"]) == list(found["method"])
    assert f":file: {own_data_peers.FILE.name}" in PAGE
    error = found["squared error / variance"].astype(float)
    assert ((error > 0) & (error < 1)).all()
    digits = stored.iloc[:, 2:].map(lambda number: f"{float(f'{number:.2g}'):g}" == f"{number:g}")
    assert digits.all(axis=None), "two digits tell them apart"


def test_what_the_page_says_of_the_peers_is_in_their_table():
    table = pd.read_csv(own_data_peers.FILE).set_index(["data", "method"])
    error, fit_s, coded = (table[name].unstack() for name in table.columns[1:])
    ours = ["VectorNetworkCoder, online", "VectorNetworkCoder, hebb"]
    others = [name for name in error if name not in ours]
    assert (error[ours[0]] <= error[others].min(axis=1)).all()
    faster = coded[others].div(coded[ours[0]], axis=0)
    assert "2 to 14 times" in PAGE
    assert round(faster.min().min()) == 2 and round(faster.max().max()) == 14
    texts, slower = fit_s.loc["tf-idf of docstrings"], "DictionaryLearning, 20 iterations"
    assert f"takes {short(texts[ours[0]])} s, that of" in PAGE.replace("\n", " ")
    assert (
        f"`DictionaryLearning` {short(texts[slower])} s" in PAGE and texts[slower] < texts[ours[0]]
    )
    offset = error.loc["signals with an offset"]
    assert f"{offset[ours[1]]:.2g} of the variance" in PAGE
    assert offset[ours[1]] > offset[others].max()
    assert (
        fit_s.drop("tf-idf of docstrings")[ours].max(axis=1)
        < fit_s.drop("tf-idf of docstrings")[others].min(axis=1)
    ).all()


def test_the_pictures_are_drawn_from_what_is_stored(tmp_path):
    learned = pd.read_csv(own_data_peers.LEARNED)
    assert learned.shape == (own_data_peers.ATOMS, own_data.SIDE**2)
    assert np.allclose(np.linalg.norm(learned, axis=1), 1, atol=0.01)
    (tmp_path / "narrow").mkdir()
    own_data.write(tmp_path, tmp_path / "narrow")
    for name in ("own-data-atoms", "own-data-times"):
        for file in (tmp_path / f"{name}.svg", tmp_path / "narrow" / f"{name}.phone.svg"):
            assert "<svg" in file.read_text(encoding="utf-8")
        assert f"{{figure}} generated/{name}.svg" in PAGE
    table = pd.read_csv(own_data_peers.FILE)
    points = [line.get_xydata()[0] for ax in own_data.times(table).axes for line in ax.lines]
    told = [*table[["fit, s", "squared error / variance"]].to_numpy()]
    told += [*table[["transform, µs a sample", "squared error / variance"]].to_numpy()]
    assert sorted(map(tuple, points)) == sorted(map(tuple, told))
    plt.close("all")


def test_the_shown_atoms_are_those_that_are_learned(monkeypatch):
    monkeypatch.setattr(own_data_peers, "ATOMS", 12)
    found = own_data_peers.learned(own_data_peers.signals(150)[:, :64], steps=4)
    assert found.shape == (12, 64) and list(found) == list(pd.read_csv(own_data_peers.LEARNED))


def test_what_the_page_names_exists():
    for name in ("VectorNetworkCoder", "VNConfig", "SettleConfig", "LocalLearner", "fit"):
        assert f"`{name}`" in PAGE
        assert any(hasattr(module, name) for module in (estimator, fit, learner, network, settle))
