"""Tables and numbers of linear and orthogonal factors, where they are known beforehand."""

from __future__ import annotations

import numpy as np
import pytest

from chapters.beyond_representation import figures, tables


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("correlations_table", 2 * len(tables.MEASURES)),
        ("codes_table", 10),
        ("layers_table", 22),
        ("free_table", 3),
        ("supports_table", 3),
    ],
)
def test_tables_have_a_row_for_every_model_layer_or_measure(results, name, rows):
    table = getattr(tables, name)(results)
    assert len(table.frame) == rows and table._repr_mimebundle_()["text/html"]
    assert getattr(tables, name)(results.sel(model=["s_a"], seed=[0])) is not None


def test_codes_supports_and_what_is_free(results):
    codes = tables.codes_table(results).frame
    assert codes[("linearity", "median")]["positions", "S_B"] == 0.5
    supports = tables.supports_table(results).frame
    middle = supports.xs("median", axis=1, level=-1)
    assert middle.loc[("positions", "S_A", "1")].tolist() == [0.25, 1]
    free = tables.free_table(results).frame
    assert free.loc[("functions", "F_D")][::4].tolist() == [1.0, 0.1, 0.0]


def test_rank_correlations_by_hand(results):
    assert tables.rank(tables.medians(results, "spatial"), "condition") == pytest.approx(-1)
    functions = tables.medians(results, "functions")
    # Among functions the code with more linearity has the larger error; overlaps are equal.
    assert tables.rank(functions, "linearity") == pytest.approx(1)
    assert np.isnan(tables.rank(functions, "overlap"))
    # Of all four the control has the least error and most linearity: ranks 1 2 3 4 and 2 3 4 1.
    every = tables.medians(results, "functions", tuple(figures.GROUPS))
    assert tables.rank(every, "linearity") == pytest.approx(-0.2)
    # The control's overlap is the least, the others' are equal: ranks 4 2 2 2 of 1 - overlap, 1 2 3
    # 4 of errors.
    assert tables.rank(every, "overlap") == pytest.approx(-(0.6**0.5))
    assert np.isnan(tables.rank(tables.medians(results, "forces"), "condition"))
    # All errors are twice those where nothing is new.
    assert np.isnan(tables.rank(tables.medians(results, "spatial"), "condition", "gap"))


def test_rank_correlations_are_of_every_seed_by_itself(results):
    found = tables.ranks(tables.alone(results, "spatial"), "condition")
    assert found.dims == ("seed",) and found.values == pytest.approx([-1] * found.size)
    shown = tables.correlations_table(results).frame
    assert ("positions", "error", "low") in shown.columns


def test_the_nearest_code_and_the_least_error(results):
    functions = tables.medians(results, "functions")
    assert tables.nearest(functions) == "f_c" and functions["error_unseen"].idxmin() == "f_a"


def test_the_numbers_of_the_prose(results):
    kinds = ["spatial", "functions", "forces", "digits"] * 2
    made = results.isel(model=[0, 1, 2, 4, 5, 6, 8, 9])
    made = made.assign_coords(
        benchmark=("model", sorted(kinds)), group=("model", ["vn", "backprop"] * 4)
    )
    found = tables.numbers(made)
    assert found["beyondrep-digits-backprop-overlap-most"] == "0.50"
    assert found["beyondrep-digits-least"] == found["beyondrep-digits-nearest"] == "1.0 × 10⁻⁴"


def test_correlations_have_two_digits():
    assert [tables.two_digits(one) for one in (-1, -0.87, 1)] == ["-1.0", "-0.87", "+1.0"]
