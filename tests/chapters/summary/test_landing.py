"""The landing page says what the summary says, and states no order that one condition decides."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from chapters.summary import errors, figures_short, orders
from vnlib.book import paths, store
from vnlib.plots.statistics import median

FOLDER = paths.RESULTS / "paper"
FILES = [name for names in errors.READ.values() for name in names]
shipped = pytest.mark.skipif(
    not all((FOLDER / f"{name}.nc").exists() for name in FILES), reason="no shipped results"
)
ORDERS = {  # what the page says of who errs less -> the orders that it rests on
    "on digits the cosines (DCT), whose codes are longer, err least of the four, on this set and on "
    "all others never trained on": ("glance",),
}
COMPARES = r"\b(less|least|fewest|best|better|worse|first|last|ahead|before|behind|beats?)\b"
NO_ORDER = ("Its first test comes", "and the last value seen")  # words of comparison without one
DEPTH = (  # said of one condition each, and tested by itself (`tests/book/test_pages.py`)
    "with codes of at most 16 active atoms two layers surely have less error than one, also after "
    "twice the updates",
    "errs less where an end of a Hard signal is hidden",
)


def words(text: str) -> str:
    """A text in one line."""
    return re.sub(r"\s+", " ", text)


def landing() -> str:
    """What the page says of results, without code, descriptions of pictures, and what follows."""
    text = (paths.SOURCE / "book" / "intro.md").read_text(encoding="utf-8")
    told = text[text.index("## The claim") : text.index("## What held")]
    return words(re.sub(r"^:(alt|target):.*$", "", told, flags=re.MULTILINE))


def summary() -> str:
    cells = json.loads(paths.notebook("summary").read_text(encoding="utf-8"))["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells)


@pytest.fixture(scope="module")
def tables():
    return errors.tables(errors.read(lambda name: store.read(FOLDER / f"{name}.nc"), range(99)))


def shared(text: str) -> str:
    """The paragraph on what composes, up to where a page leads on."""
    (found,) = re.findall(
        r"Models compose in these benchmarks.*?composition of signals\.", words(text)
    )
    return found


def test_readme_landing_page_and_summary_say_the_same_of_what_composes():
    pages = [
        (paths.SOURCE / name).read_text(encoding="utf-8") for name in ("README.md", "book/intro.md")
    ]
    told = {shared(text) for text in [*pages, summary()]}
    assert len(told) == 1


def test_the_page_compares_models_only_where_an_order_is_tested():
    for sentence in re.split(r"(?<=[.;:]) ", landing()):
        if re.search(COMPARES, sentence) and not any(one in sentence for one in NO_ORDER):
            assert any(said in sentence for said in (*ORDERS, *DEPTH)), sentence
    for said in (*ORDERS, *DEPTH):
        assert said in landing(), said


def test_the_figure_says_the_same_on_both_pages():
    cells = json.loads(paths.notebook("summary").read_text(encoding="utf-8"))["cells"]
    (cell,) = [one for one in cells if one["id"] == "summary-swaps"]
    caption, alt = (cell["metadata"]["mystnb"][key] for key in ("figure", "image"))
    said, _ = caption["caption"].split(". One condition")
    assert said in landing()
    assert f":alt: {alt['alt']}" in (paths.SOURCE / "book" / "intro.md").read_text(encoding="utf-8")


@shipped
@pytest.mark.parametrize("key", sorted({key for keys in ORDERS.values() for key in keys}))
def test_an_order_of_the_landing_page_stays_without_any_one_condition(tables, key):
    order = orders.ORDERS[key]
    ratio = orders.factors(order, tables[order.benchmark])
    assert ratio.size > 3 and (orders.left_out(ratio) > 0).all() and orders.survives(ratio)


@shipped
def test_of_digits_all_sets_have_the_order_its_rows_are_those_shown_and_its_codes_longer(tables):
    _, condition, rows = figures_short.SWAPS["digits"]
    order = orders.ORDERS["glance"]
    assert {*rows} == {*order.low, *order.high}
    standing = orders.standing(order, tables["digits"])
    assert standing.size > 3 and (standing < 0).all()
    rows = tables["digits"]["key"].values.tolist()
    active = tables["digits"]["active"].isel(row=[rows.index("dct"), rows.index("vn_1")])
    ratio = active[0] / active[1]
    assert (ratio > 2).all() and round(float(ratio.sel(condition=condition))) == 4


@shipped
def test_the_end_of_a_hard_signal_no_model_fills_in_well_and_scattered_samples_some_do(tables):
    """What is said of an end is so of both ends, and of all models that are stored."""
    signals = median(tables["signals"])
    ends = signals.sel(condition=["Hard: last quarter", "Hard: last half"])
    assert float(ends.min()) > 0.6
    assert float(signals.sel(condition="Hard: random 30 %").min()) < 0.01


@shipped
def test_the_picture_takes_the_masked_problem_solved(tables):
    """Main reading: Vector Networks solve, the paper's model is shown zeros."""
    looks = tables["signals"]["look"].values.tolist()
    shown = {key: looks[at] for key, at in figures_short.SWAPS["signals"][2].items()}
    assert {shown["vn_1"], shown["vn_3"]} == {errors.SOLVED} and shown[
        "transformer"
    ] == errors.ROUNDS
    assert orders.ORDERS["printed"].looks == (errors.SOLVED, errors.ROUNDS)
    assert np.isfinite(orders.factors(orders.ORDERS["printed"], tables["signals"])).all()
