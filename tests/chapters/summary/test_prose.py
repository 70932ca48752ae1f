"""What the page's sentences claim of the shipped results, beside the numbers in them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from chapters.summary import counts, swaps
from vnlib.book import paths, store
from vnlib.plots.statistics import median

FOLDER = paths.RESULTS / "paper"
FILES = [name for names in swaps.READ.values() for name in names]
pytestmark = pytest.mark.skipif(
    not all((FOLDER / f"{name}.nc").exists() for name in FILES), reason="no shipped results"
)


@pytest.fixture(scope="module")
def found():
    return swaps.read(lambda name: store.read(FOLDER / f"{name}.nc"), range(8))


def by_key(table, side: str = "outside") -> SimpleNamespace:
    """The median errors of a benchmark's rows."""
    return SimpleNamespace(**median(table.set_index(row="key")[side]).to_series())


@pytest.fixture(scope="module")
def errors(found):
    """The OOD errors of each benchmark, by key."""
    return {name: by_key(table) for name, table in swaps.tables(found).items()}


@pytest.fixture(scope="module")
def inside(found):
    return {name: by_key(table, "inside") for name, table in swaps.tables(found).items()}


def test_every_row_is_there_once_and_every_part_is_one_of_five(found):
    parts = {"input", "dictionary", "inference", "readout", "learning", ""}
    for name, table in swaps.tables(found).items():
        keys = table["key"].values.tolist()
        assert len(set(keys)) == len(keys) > 10, name
        assert {p for text in table["part"].values for p in text.split(" + ")} <= parts


def test_positions_compose_with_a_product_readout_and_with_it_alone(errors):
    at = errors["positions"]
    assert max(at.vn_full, at.axes_1, at.axes_3, at.random, at.linear_pass, at.by_hand) < 0.01
    assert min(at.flat, at.cnn, at.sparse, at.mlp, at.image, at.free_maps) > 0.3
    assert at.relu_pass > 100 * at.linear_pass
    assert at.axes_3 < 0.01 * min(v for k, v in vars(at).items() if k != "axes_3")
    assert at.penalty < 0.1 * at.free_maps and at.stripes < 0.5 * at.bumps


def test_nobody_fills_in_much_of_a_hidden_stretch(errors, inside):
    at = errors["signals"]
    assert min(vars(at), key=vars(at).get) == "solved_3" and 0.45 < at.solved_3 < 0.55
    assert min(at.transformer, at.mamba) > 0.95 and at.deep_ae > 0.85
    assert 0.9 < at.deep_ae_masked / at.vn_1 < 1.1
    for changed in (at.untrained, at.fixed, at.solved):
        assert 0.9 < changed / at.vn_1 < 1.11
    assert inside["signals"].solved < 0.5 * inside["signals"].vn_1


@pytest.mark.parametrize("left_out", swaps.STRETCHES)
def test_what_is_said_of_signals_does_not_rest_on_one_mask(found, monkeypatch, left_out):
    monkeypatch.setattr(swaps, "STRETCHES", [m for m in swaps.STRETCHES if m != left_out])
    at = by_key(swaps.signals(found))
    assert at.solved_3 < min(at.vn_1, at.solved, at.deep_ae_masked, at.interpolation)
    assert at.vn_1 < min(at.transformer, at.mamba, at.deep_ae)


def test_forces_need_a_sum_or_tokens(errors, inside):
    at = errors["forces"]
    for model in ("mlp", "gnn", "transformer", "film"):
        single, mixed = (getattr(at, name) for name in (f"{model}_passes", model))
        assert getattr(inside["forces"], model) < 0.01 and single < 0.13 < 0.3 < mixed
    assert max(at.tokens_network, at.tokens_rbf) < at.tokens < 0.05 < at.passes
    assert inside["forces"].vn_3 > 0.1


def test_digits_differ_by_a_factor_of_two_or_so(errors, inside):
    at, plain = errors["digits"], inside["digits"]
    assert at.vn_1 < min(at.ae, at.ksparse, at.searched, at.untrained) and at.ae / at.vn_1 < 2
    assert 0.5 < at.dct_matched / at.vn_1 < 1 and 1.9 < at.dct / at.vn_1 < 2.5
    assert 0.8 < (at.untrained / at.vn_1) / (plain.untrained / plain.vn_1) < 1.25
    shared = np.log(at.searched / at.vn_1) / np.log(at.ae / at.vn_1)
    assert 0.35 < shared < 0.65, "what is left to the encoder"


def test_claims_of_other_chapters_hold_as_printed():
    rows = counts.read(FOLDER)
    others = counts.count(counts.claims_of(rows, counts.OTHERS), "as printed")
    assert others["reproduced"] > others["claims"] / 2, "they hold for the most part"
