"""Numbers over seeds are medians with their intervals: what tables, figures and the numbers of the
prose say of seeds in any other way stands below, with its reason.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from vnlib.book import paths

FILES = sorted(
    path.relative_to(paths.SOURCE).as_posix()
    for kind in ("tables", "figures")
    for path in paths.SOURCE.glob(f"[bc]*/*/{kind}*.py")
)
OVER = {"mean", "median", "min", "max", "std", "quantile"}
MIDDLES = {"median", "middle", "middles", "medians"}  # functions that give medians alone
SHARE = "a share of runs"
WORST = "the worst case, named so"
CONSTANT = "the same for all seeds"
SORTED = "chooses or orders by the median; what is shown has its interval"
COUNTED = "counts medians, or names the least"
TABLED = "a median of the prose, which a table shows with its interval"
NETWORKS = "medians over networks; the page leads to figures of every seed"
# Pages whose prose has medians alone, and says where their intervals stand -> the label there.
BESIDE = {
    "FR5_rotation": "fr5-numbers",
    "J_cost": "appJ-ratios",
    "summary": "summary-numbers",
}
# File and function of a table -> why it says something else of seeds.
TABLES = {
    (
        "chapters/best_positions/tables.py",
        "data",
    ): "a number of positions, which seeds share but for one or two",
    ("benchmarks/functions/tables.py", "cells"): SORTED,
    ("benchmarks/functions/tables.py", "counts"): COUNTED,
    ("benchmarks/spatial/tables.py", "unsettled"): COUNTED,
    ("chapters/FR5_rotation/tables.py", "numbers"): TABLED,
    ("chapters/J_cost/tables.py", "numbers"): TABLED,
    ("chapters/summary/tables.py", "numbers"): TABLED,
    ("chapters/C_inference/tables.py", "numbers"): f"{SORTED}; {WORST}",
    ("chapters/C_inference/tables_speed.py", "_by_depth"): f"{WORST}; appendix J has the interval",
    ("chapters/D_learning/tables.py", "numbers"): SORTED,
    ("chapters/E_theory/tables.py", "numbers"): WORST,
    ("chapters/FR1_failure/tables.py", "numbers"): WORST,
    ("chapters/FR2_manifold/tables.py", "numbers"): NETWORKS,
    ("chapters/FR3_low_rank/tables.py", "order"): "in how many evaluations medians are in order",
    ("chapters/FR3_low_rank/tables.py", "numbers"): CONSTANT,
    ("chapters/FR4_stripes/tables.py", "amounts"): CONSTANT,
    ("chapters/FR4_stripes/tables.py", "by_diet"): CONSTANT,
    ("chapters/FR4_stripes/tables.py", "numbers"): SHARE,
    ("chapters/FR5_rotation/tables.py", "models"): CONSTANT,
    ("chapters/F_spatial/tables.py", "spread_of_seeds"): "the spread itself, named so",
    ("chapters/H_nbody/tables.py", "_of_ablation"): WORST,
    ("chapters/H_nbody/tables.py", "directions"): "a word for the direction of medians",
    ("chapters/I_mnist/tables.py", "numbers"): f"{SORTED}; {COUNTED}; {WORST}",
    ("chapters/I_mnist/tables.py", "rest_table"): WORST,
    ("chapters/I_mnist/tables.py", "selectivity_table"): SHARE,
    ("chapters/best_digits/tables.py", "costs"): CONSTANT,
    ("chapters/beyond_continual/tables.py", "numbers"): COUNTED,
    ("chapters/beyond_initialiser/tables.py", "cheapest"): SORTED,
    ("chapters/beyond_initialiser/tables.py", "gains"): SORTED,
    ("chapters/beyond_initialiser/tables.py", "numbers"): f"{SORTED}; {WORST}",
    ("chapters/beyond_initialiser/tables.py", "outside_table"): SORTED,
    ("chapters/beyond_initialiser/tables.py", "tail_table"): SORTED,
    ("chapters/beyond_representation/tables.py", "medians"): SORTED,
    ("chapters/beyond_representation/tables.py", "numbers"): f"{SORTED}; {COUNTED}",
    ("chapters/beyond_representation/tables.py", "alone"): "of one seed at a time",
    ("chapters/beyond_definitions/tables.py", "layers"): CONSTANT,
    ("chapters/beyond_tasks/tables.py", "_longer"): f"{SHARE}; {COUNTED}",
    ("chapters/beyond_tasks/tables.py", "composing"): COUNTED,
    ("chapters/beyond_tasks/tables.py", "longer"): SHARE,
    ("chapters/beyond_tasks/tables.py", "numbers"): CONSTANT,
    ("chapters/beyond_tasks/tables.py", "of_tasks"): CONSTANT,
    ("chapters/beyond_tasks/tables.py", "training"): SHARE,
    ("chapters/fig3_functions/tables.py", "numbers"): SORTED,
    ("chapters/fig4_nbody/tables.py", "cells"): COUNTED,
    ("chapters/fig4_nbody/tables.py", "numbers"): COUNTED,
    ("chapters/fig5_mnist/tables.py", "numbers"): f"{SORTED}; {COUNTED}",
}
# File and function of a figure -> why means, ranges or deviations over seeds stand in it.
FIGURES = {
    ("chapters/A_predictive_coding/figures.py", "inferred"): "sorted sizes of units, no errors",
    ("chapters/C_inference/figures.py", "steps"): SHARE,
    ("chapters/E_theory/figures_example.py", "example"): SHARE,
    ("chapters/E_theory/figures_recovery.py", "diagram"): SHARE,
}


def statistics(source: str) -> Iterator[tuple[str, str, bool]]:
    """The functions of a module that reduce seeds: name, how, and whether to anything but a median,
    a least or a largest value.
    """
    for part in ast.parse(source).body:
        for call in (node for node in ast.walk(part) if isinstance(node, ast.Call)):
            name, how = getattr(part, "name", ""), getattr(call.func, "attr", "")
            said = [*call.args, *(one.value for one in call.keywords)]
            values = [n.value for one in said for n in ast.walk(one) if isinstance(n, ast.Constant)]
            if how in OVER and "seed" in values:
                yield name, how, how in {"mean", "std", "quantile"}
            elif getattr(call.func, "id", "") in MIDDLES:
                yield name, "median", False
            for one in call.keywords:
                bar = one.value
                if one.arg == "errorbar" and getattr(bar, "value", "some") is not None:
                    yield name, "errorbar", True


def told(kind: str) -> set[tuple[str, str]]:
    """Where tables, or figures, say what is no median with an interval."""
    found = set()
    for path in (path for path in FILES if Path(path).name.startswith(kind)):
        for name, _, other in statistics((paths.SOURCE / path).read_text(encoding="utf-8")):
            if other or kind == "tables":
                found.add((path, name))
    return found


@pytest.mark.parametrize(("kind", "known"), [("tables", TABLES), ("figures", FIGURES)])
def test_what_is_said_of_seeds_is_a_median_with_its_interval_or_has_a_reason(kind, known):
    found = told(kind)
    assert found - set(known) == set(), "say these by `spreads`, or give a reason here"
    assert set(known) - found == set(), "reasons for what is no more there"


@pytest.mark.parametrize(("page", "label"), BESIDE.items())
def test_prose_with_medians_alone_leads_to_their_intervals(page, label):
    cells = json.loads((paths.SOURCE / f"chapters/{page}/{page}.ipynb").read_text("utf-8"))["cells"]
    prose = "".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    named = [c["metadata"].get("mystnb", {}).get("figure", {}).get("name") for c in cells]
    assert re.search(rf"interval[^.]*\(#{label}\)", prose), "says where the intervals stand"
    assert label in named or f"({label})=" in prose, "which there is"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('r.mean("seed")', [("f", "mean", True)]),
        ('r.std(("seed", "x"))', [("f", "std", True)]),
        ('r.median(dim="seed")', [("f", "median", False)]),
        ("median(r)", [("f", "median", False)]),
        ("middles(r)", [("f", "median", False)]),
        ('sns.lineplot(r, errorbar="sd")', [("f", "errorbar", True)]),
        ('sns.lineplot(r, errorbar=("pi", 100))', [("f", "errorbar", True)]),
        ("sns.lineplot(r, errorbar=None)", []),
        ('r.mean("set")', []),
        ("spreads({'error': r}, 'model')", []),
    ],
)
def test_the_search_finds_what_it_looks_for(line, found):
    assert list(statistics(f"def f(r):\n    return {line}\n")) == found


def test_both_kinds_of_files_are_searched():
    assert len(FILES) > 60 and "benchmarks/spatial/figures.py" in FILES
