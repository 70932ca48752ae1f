"""What the page's sentences claim of the shipped results, beside the numbers in them."""

from __future__ import annotations

import itertools
import json
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

from benchmarks.functions import names
from benchmarks.functions import tables as functions
from benchmarks.spatial import errors as spatial
from chapters.summary import counts, effects, errors, figures, figures_short, orders
from chapters.summary import tables as numbers
from vnlib.book import paths, store
from vnlib.plots.statistics import median, sides

FOLDER = paths.RESULTS / "paper"
FILES = [name for names in errors.READ.values() for name in names]
pytestmark = pytest.mark.skipif(
    not all((FOLDER / f"{name}.nc").exists() for name in FILES), reason="no shipped results"
)


@pytest.fixture(scope="module")
def found():
    return errors.read(lambda name: store.read(FOLDER / f"{name}.nc"), range(99))


@pytest.fixture(scope="module")
def tables(found):
    return errors.tables(found)


@pytest.fixture(scope="module")
def changed(found) -> dict[str, xr.DataArray]:
    """Median factors of each change (condition)."""
    return {key[-1]: np.exp(median(one)) for key, one in effects.changes(found).items()}


@pytest.fixture(scope="module")
def crossed(found) -> dict[tuple[str, str], xr.DataArray]:
    return {key: np.exp(median(one)) for key, one in effects.factorials(found).items()}


def middle(table: xr.DataArray, key: str, look: str) -> xr.DataArray:
    """Median errors of a row (condition)."""
    return median(table.isel(row=table["key"].values.tolist().index(key)).sel(look=look))


def prose() -> str:
    cells = json.loads(paths.notebook("summary").read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")


def test_every_row_is_there_once(tables):
    for name, table in tables.items():
        keys = table["key"].values.tolist()
        assert len(set(keys)) == len(keys), name


def test_orders_in_the_prose_are_those_that_are_tested():
    """The words before and behind are used of no others."""
    told = set(re.findall(r"summary-order-([\w-]+?)`", prose()))
    assert told <= set(orders.ORDERS) and len(told) > 7
    named = [line for line in prose().splitlines() if re.search(r"\b(before|behind)\b", line)]
    lines = prose().splitlines()
    for line in named:
        if "no order" in line or "error before" in line:
            continue
        at = lines.index(line)
        near = " ".join(lines[max(at - 1, 0) : at + 3])
        assert "summary-order-" in near or "in front of" in near, line


def test_errors_are_those_that_their_own_chapters_state(found, tables):
    """The summary reads results by itself; the chapters' tables must say the same of them."""
    drawn = spatial.middles(found["fig2_spatial"])
    of_zero = drawn["of_zero"].to_series()
    for key, model in (("vn_full", "vn_full"), ("flat", "vn_flat"), ("cnn", "cnn4")):
        own = float(middle(tables["positions"], key, errors.OOD)[0])
        assert own == pytest.approx(of_zero[model], rel=1e-6)
    signals = found["fig3_functions"]
    for look, protocol in ((errors.ROUNDS, "zero_filled"), (errors.SOLVED, "mask_aware")):
        cells = functions.cells(signals, ["vn_1"], protocol).squeeze("model")
        zero = signals["zero_baseline_hidden"].isel(model=0, seed=0)
        own = errors.conditions(cells / zero.sel(set=cells["set"]))
        ours = middle(tables["signals"], "vn_1", look)
        np.testing.assert_allclose(ours, own.sel(condition=ours["condition"]), rtol=1e-6)
    images = errors.images(found["fig5_mnist"]).sel(model="vn_1", reading="own", look="error")
    np.testing.assert_allclose(middle(tables["digits"], "vn_1", "error"), median(images))


def test_positions_compose_with_a_product_readout(tables, changed):
    at = {
        key: float(middle(tables["positions"], key, errors.OOD)[0])
        for key in tables["positions"]["key"].values
    }
    products = ("vn_full", "axes_1", "axes_3", "random", "random_axes", "linear_pass", "by_hand")
    assert max(at[key] for key in products) < 0.01
    assert min(at[key] for key in ("flat", "cnn", "sparse", "mlp", "image", "free_maps")) > 0.3
    assert at["relu_pass"] > 100 * at["linear_pass"]
    assert at["penalty"] < 0.1 * at["free_maps"] and at["stripes"] < 0.5 * at["bumps"]
    assert at["penalty"] < 0.1 and 0.4 < at["stripes"] < 0.6
    maps = store.read(FOLDER / "FR3_low_rank.nc")["band"].sel(model="variance").median("seed")
    assert (maps.max("along") > 0.99).all(), "in bands"
    for learned, random in (("vn_full", "random"), ("axes_1", "random_axes")):
        inside = [
            float(middle(tables["positions"], key, errors.ID)[0]) for key in (learned, random)
        ]
        assert at[random] > 5 * at[learned] and inside[1] > 5 * inside[0], "in and out alike"


def test_signals_depend_on_the_mask(tables, changed):
    table = tables["signals"]
    ends = ["Hard: last quarter", "Hard: last half"]
    for look in (errors.ROUNDS, errors.SOLVED):
        of_ends = median(table.sel(look=look, condition=ends)).dropna("row")
        assert float(of_ends.min()) > 0.6, "nobody fills in much of an end"
    scattered = median(table.sel(look=errors.SOLVED, condition="Hard: random 30 %"))
    least = table["key"].values[int(scattered.fillna(np.inf).argmin("row"))]
    assert least == "interpolation" and float(scattered.min()) < 1e-3
    said = (errors.ROUNDS, errors.ROUNDS)
    best = orders.Order("signals", "", orders.VN, orders.OTHERS, said, orders.HARD, best=True)
    printed = orders.factors(best, table)
    rest = [printed.sel(condition=printed["condition"] != one) for one in printed["condition"]]
    assert min(float(np.exp(one.median())) for one in rest) < 1.06, "and by no clear margin"
    of_ends = np.exp(printed.sel(condition=ends))
    assert float(of_ends.max()) < 1.25 < float(np.exp(printed).max()), (
        "little where an end is hidden"
    )


def test_the_table_of_hidden_signals_is_that_of_the_chapter(found, tables):
    """Every number again from the results of Fig. 3, and what its caption says."""
    results = found["fig3_functions"]
    shown = numbers.hidden_table(tables["signals"]).frame
    assert len(shown) == 2 * len(numbers.HIDDEN) == 10
    models = {"VN-3L": "vn_3", "VN-1L": "vn_1", "VN-1L, training signals as atoms": "vn_untrained"}
    protocols = {"solved": "mask_aware", "five rounds": "zero_filled"}
    over = results["hidden"] / results["zero_baseline_hidden"]
    for (kind, network, inference), row in shown.iterrows():
        own = over.sel(model=models[network], protocol=protocols[inference], set=kind.lower())
        for mask, title in names.MASKS.items():
            values = 100 * np.sort(own.sel(mask=mask).dropna("seed").values)
            told = row[title]
            assert told["n"] == len(values) == 8
            assert told["median"] == pytest.approx(values[3:5].mean())
            assert values[0] <= told["low"] <= told["median"] <= told["high"] <= values[-1]
    middles = shown.xs("median", axis=1, level=1)
    assert middles.loc["Hard", ["last quarter", "last half"]].to_numpy().min() > 70
    assert middles.xs("solved", level=2)["random 30 %"].max() < 2


@pytest.mark.parametrize("where", ["Hard", "Easy"])
def test_panels_of_signals_have_ticks_that_can_be_read(tables, where):
    """Each axis names two errors or more, and no two names touch."""
    fig = figures.by_condition(tables["signals"], where)
    fig.canvas.draw()
    for ax in fig.axes:
        low, high = ax.get_xlim()
        named = [
            text.get_window_extent()
            for at, text in zip(ax.get_xticks(), ax.get_xticklabels(), strict=True)
            if low <= at <= high and text.get_text()
        ]
        assert len(named) > 1, ax.get_title()
        for one, other in itertools.pairwise(sorted(named, key=lambda box: box.x0)):
            assert one.x1 < other.x0, ax.get_title()
        assert not any(text.get_text() for text in ax.get_xticklabels(minor=True))
    plt.close(fig)


def test_inference_and_learning_of_signals_help_in_some_conditions(found, changed, crossed):
    three, one = (changed[f"VN-{depth}L: masked problem solved"] for depth in (3, 1))
    assert float(three.max()) < 1
    end = one["condition"].str.match("Hard: last")
    assert float(one.where(end).min()) > 1.05, "where the end of a Hard signal is hidden it harms"
    easy, scattered = (one["condition"].str.contains(part) for part in ("Easy", "random"))
    assert float(one.where(easy | scattered).max()) < 1
    every = {key[-1]: value for key, value in effects.changes(found).items()}
    surely = sides(np.exp(every["VN-1L: masked problem solved"]))
    assert (surely.where(~(easy | scattered), 0) >= 0).all(), "surely nowhere else"
    for effect in (
        "learning: training signals",
        "inference + sparsity: solved",
        "training signals × solved",
    ):
        factors = crossed["signals: atoms, inference", effect]
        assert float(factors.min()) < 0.95 and float(factors.max()) > 1.05, "not of one sign"
    recipe = "signals, recipe of App. G: atoms, inference, sparsity"
    sparse, solved = (crossed[recipe, name] for name in ("sparsity: 0.1 λ", "inference: solved"))
    scattered = sparse["condition"].str.contains("random")
    assert float((sparse / solved).where(scattered).max()) < 0.5, "sparsity more than the solving"
    assert {*sparse.sortby(sparse)[:2]["condition"].values} == {
        "Easy: random 30 %",
        "Hard: random 30 %",
    }


def test_forces_need_a_sum_or_tokens(tables, changed):
    table = tables["forces"]
    assert float(middle(table, "vn_3", errors.ID)[0]) > 0.1, "it does not fit single forces"
    for model in ("mlp", "gnn", "film"):
        assert float(middle(table, model, errors.ID)[0]) < 0.01
        apart = middle(table, f"{model}_passes", errors.OOD)
        assert float(apart.max()) < 0.05 < 0.3 < float(middle(table, model, errors.OOD).min())
        assert float(apart.sel(condition="3 bodies")) > float(apart.sel(condition="5 bodies"))
    assert all(float(changed[key].max()) < 1 for key in changed if "one force per pass" in key)
    free = ("vn_1", "vn_3", "ridge", "mlp", "gnn", "transformer", "film")
    left = [middle(table, model, errors.OOD) for model in free]
    assert f"{min(float(one.min()) for one in left):.1f}" == "0.5"
    assert f"{max(float(one.max()) for one in left):.1f}" == "1.6"


def test_one_pass_per_force_of_the_transformer_and_mamba_does_with_five_bodies_alone():
    r = store.read(FOLDER / "fig4_nbody.nc").sel(model=["transformer", "mamba"])
    left = (r["mse"].sel(inference="passes") / r["power"]).where(r["forces"].str.contains(r"\+"))
    well = left.mean("forces").median("seed") < 0.05
    assert well.sel(bodies=5).all() and not well.sel(bodies=[4, 3]).any()


def test_digits_differ_by_factors_of_about_two(tables, changed):
    table = tables["digits"]
    learned, plain = (middle(table, key, "error") for key in ("vn_1", "vn_untrained"))
    ratio = plain / learned
    inside = float(ratio.sel(condition=errors.SINGLE))
    outside = float(ratio.drop_sel(condition=errors.SINGLE).median())
    assert 0.8 < outside / inside < 1.25, "learning adds accuracy, not composition"
    encoder = np.exp(orders.factors(orders.ORDERS["autoencoder"], table))
    assert encoder.sortby(encoder)["condition"].values[-1] == "difference"
    assert float(encoder.sortby(encoder)[-2]) < 2.5 and float(encoder.max()) > 10
    units = np.exp(orders.factors(orders.ORDERS["units"], table))
    for ratio in (encoder, units):  # "on every set", "by far less" than ten times
        assert float(ratio.min()) > 1 and float(ratio.drop_sel(condition="difference").max()) < 2.5
    own = {key: middle(table, key, "error") for key in ("vn_1", "vn_3", "ae", "ksparse")}
    assert float((own["ksparse"] / own["vn_1"]).sel(condition=errors.SINGLE)) < 0.98
    half = (
        table.isel(row=table["key"].values.tolist().index(key)).isel(look=0)
        for key in ("vn_3", "ae")
    )
    assert (next(half) > next(half)).sel(condition="half black").all()
    used = table["active"].sel(condition=errors.SINGLE)
    used = dict(zip(table["key"].values, used.values, strict=True))
    assert 3.5 < used["dct"] / used["vn_1"] < 4.5, "four times as many"
    matched = middle(table, "dct", "error") / learned
    assert float(matched.sel(condition=errors.SINGLE)) == pytest.approx(1, abs=0.05)
    (lost,) = np.flatnonzero(orders.factors(orders.ORDERS["few-cosines"], table) < 0)
    assert lost is not None


def test_counts_of_the_prose_are_those_of_the_ledger():
    rows = counts.read(FOLDER)
    told = json.loads((FOLDER / "ledger.json").read_text(encoding="utf-8"))
    asked = [row for row in told["claims"] if not row["definition"]]
    printed, controlled = (counts.count(rows, one) for one in ("as printed", "with controls"))
    assert printed["claims"] == len(asked)
    assert 0.3 < printed["reproduced"] / printed["claims"] < 0.37, "about a third hold whole"
    rest = printed["claims"] - printed["reproduced"]
    assert printed["partly"] + printed["undecided"] > 0.8 * rest, "most others"
    assert controlled["reproduced"] == 0, "no claim holds whole"


def test_what_the_picture_at_a_glance_is_said_to_show(tables):
    """All rows are there; who composes lies far left, hard signals at the zero baseline,
    cosines first of digits, then the Vector Network, and last one whose atoms were not learned.
    """
    left = {}
    for key, (_, condition, rows) in figures_short.SWAPS.items():
        known = tables[key]["key"].values.tolist()
        for row, look in rows.items():
            one = tables[key].isel(row=known.index(row), look=look).sel(condition=condition)
            left[key, row] = float(median(one))
    for key, composes, others in (
        ("positions", ("vn_full", "linear_pass"), ("cnn", "flat")),
        ("forces", ("tokens", "tokens_rbf"), ("gnn", "vn_3")),
    ):
        far = max(left[key, row] for row in composes)
        assert 50 * far < min(left[key, row] for row in others)
    signals, digits = (
        {row: value for (name, row), value in left.items() if name == key}
        for key in ("signals", "digits")
    )
    assert 0.5 < min(signals.values()) < max(signals.values()) < 1.3
    assert sorted(digits, key=lambda row: digits[row]) == ["dct", "vn_1", "ae", "vn_untrained"]
    assert 2.7 < max(digits.values()) / min(digits.values()) < 3, "nearly three times"
