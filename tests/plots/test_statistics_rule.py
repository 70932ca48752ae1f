"""Numbers over seeds are medians with their intervals: what tables and figures say of seeds in any
other way stands below, with its reason.
"""

from __future__ import annotations

import ast
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
NUMBERS = {"numbers", "_of_fig4", "_of_ablation"}  # prose, whose medians tables show with intervals
SHARE = "a share of runs"
WORST = "the worst case, named so"
CONSTANT = "the same for all seeds"
SORTED = "chooses or orders by the median; what is shown has its interval"
PROSE = "a median of the prose, which a table shows with its interval"
# File and function of a table -> why it says something else of seeds.
TABLES = {
    ("benchmarks/functions/tables.py", "best"): SORTED,
    ("benchmarks/functions/tables.py", "cells"): SORTED,
    ("benchmarks/functions/tables.py", "counts"): PROSE,
    ("chapters/C_inference/tables.py", "numbers"): WORST,
    ("chapters/E_theory/tables.py", "numbers"): WORST,
    ("chapters/FR1_failure/tables.py", "left"): PROSE,
    ("chapters/FR1_failure/tables.py", "numbers"): WORST,
    ("chapters/FR3_low_rank/tables.py", "order"): "in how many evaluations medians are in order",
    ("chapters/FR4_stripes/tables.py", "amounts"): CONSTANT,
    ("chapters/FR4_stripes/tables.py", "by_diet"): CONSTANT,
    ("chapters/FR4_stripes/tables.py", "numbers"): SHARE,
    ("chapters/FR5_rotation/tables.py", "models"): CONSTANT,
    ("chapters/F_spatial/tables.py", "spread_of_seeds"): "the spread itself, named so",
    ("chapters/H_nbody/tables.py", "_of_ablation"): WORST,
    ("chapters/H_nbody/tables.py", "directions"): "a word for the direction of medians",
    ("chapters/I_mnist/tables.py", "rest_table"): WORST,
    ("chapters/I_mnist/tables.py", "selectivity_table"): SHARE,
    ("chapters/beyond_initialiser/tables.py", "cheapest"): SORTED,
    ("chapters/beyond_initialiser/tables.py", "outside_table"): SORTED,
    ("chapters/beyond_initialiser/tables.py", "tail_table"): SORTED,
    ("chapters/beyond_representation/tables.py", "medians"): PROSE,
    ("chapters/beyond_definitions/tables.py", "layers"): CONSTANT,
    ("chapters/beyond_tasks/tables.py", "_longer"): f"{SHARE}; {PROSE}",
    ("chapters/beyond_tasks/tables.py", "composing"): PROSE,
    ("chapters/beyond_tasks/tables.py", "longer"): SHARE,
    ("chapters/beyond_tasks/tables.py", "numbers"): CONSTANT,
    ("chapters/beyond_tasks/tables.py", "of_tasks"): CONSTANT,
    ("chapters/beyond_tasks/tables.py", "training"): SHARE,
    ("chapters/fig2_spatial/tables.py", "left"): PROSE,
    ("chapters/fig4_nbody/tables.py", "cells"): PROSE,
    ("chapters/fig4_nbody/tables.py", "gaps"): PROSE,
    ("chapters/fig4_nbody/tables.py", "kept_in_passes"): PROSE,
}
# File and function of a figure -> why means, ranges or deviations over seeds stand in it.
FIGURES = {
    ("chapters/A_predictive_coding/figures.py", "inferred"): "sorted sizes of units, no errors",
    ("chapters/C_inference/figures.py", "steps"): SHARE,
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
            elif getattr(call.func, "id", "") == "median":
                yield name, "median", False
            for one in call.keywords:
                bar = one.value
                if one.arg == "errorbar" and getattr(bar, "value", "some") is not None:
                    yield name, "errorbar", True


def told(kind: str) -> set[tuple[str, str]]:
    """Where tables, or figures, say what is no median with an interval."""
    found = set()
    for path in (path for path in FILES if Path(path).name.startswith(kind)):
        for name, how, other in statistics((paths.SOURCE / path).read_text(encoding="utf-8")):
            prose = name in NUMBERS and how == "median"
            if other or (kind == "tables" and not prose):
                found.add((path, name))
    return found


@pytest.mark.parametrize(("kind", "known"), [("tables", TABLES), ("figures", FIGURES)])
def test_what_is_said_of_seeds_is_a_median_with_its_interval_or_has_a_reason(kind, known):
    found = told(kind)
    assert found - set(known) == set(), "say these by `spreads`, or give a reason here"
    assert set(known) - found == set(), "reasons for what is no more there"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('r.mean("seed")', [("f", "mean", True)]),
        ('r.std(("seed", "x"))', [("f", "std", True)]),
        ('r.median(dim="seed")', [("f", "median", False)]),
        ("median(r)", [("f", "median", False)]),
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
