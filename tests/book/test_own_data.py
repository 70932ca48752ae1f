"""The page for a reader's own data: its code runs and does what the text says."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import torch

from book import own_data_peers
from vnlib import estimator, fit, network, settle
from vnlib.book import paths
from vnlib.learning import learner

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


def test_what_the_page_names_exists():
    for name in ("VectorNetworkCoder", "VNConfig", "SettleConfig", "LocalLearner", "fit"):
        assert f"`{name}`" in PAGE
        assert any(hasattr(module, name) for module in (estimator, fit, learner, network, settle))
