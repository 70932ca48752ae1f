"""Tables: numbers in the frame and in the CSV, texts only where they are shown."""

from __future__ import annotations

import io
import re
from html import unescape

import numpy as np
import pandas as pd
import xarray as xr

from vnlib.plots.tables import Table, spreads


def errors() -> xr.DataArray:
    data = np.array([[[1, 2, 3], [10, 20, 30]], [[4, 4, 4], [5, np.nan, 7]]], float)
    coords = {
        "model": ["a", "b"],
        "set": ["id", "ood"],
        "seed": [0, 1, 2],
        "label": ("model", ["A", "B"]),
    }
    return xr.DataArray(data, coords, ("model", "set", "seed"))


def test_a_spread_holds_numbers_named_by_labels():
    frame = spreads({"": errors()}, "model")
    assert frame.index.tolist() == ["A", "B"] and all(dtype.kind == "f" for dtype in frame.dtypes)
    assert frame.loc["A", ("ood", "median")] == 20 and frame.loc["B", ("ood", "high")] == 7


def test_four_columns_are_shown_as_one():
    shown = Table(spreads({"": errors()}, "model")).shown()
    assert shown.columns.tolist() == ["id", "ood"]
    assert shown.loc["A", "id"] == "2.0 [1.0, 3.0]" and shown.loc["B", "id"] == "4.0"
    assert shown.loc["B", "ood"] == "6.0 [5.0, 7.0], n = 2", "fewer seeds than the others"


def cells(frame: pd.DataFrame, **formats: str) -> list[str]:
    html = Table(frame, formats)._repr_mimebundle_()["text/html"]
    return [unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", html)]


def test_a_cell_breaks_before_its_interval_and_its_seeds_and_nowhere_else():
    assert "2.0 [1.0,\xa03.0]" in cells(spreads({"": errors()}, "model"))
    assert "6.0 [5.0,\xa07.0], n\xa0=\xa02" in cells(spreads({"": errors()}, "model"))
    frame = pd.DataFrame({"share": ["80 % [70 %, 90 %]"], "rule": ["a < 1, b = c"]}, ["x"])
    frame["time"], frame["of"] = "4.4 min", "82 [46, 84] %"
    assert cells(frame) == [
        "80\xa0% [70\xa0%,\xa090\xa0%]",
        "a < 1, b = c",
        "4.4\xa0min",
        "82 [46,\xa084]\xa0%",
    ], "words break as they do"


def test_powers_of_ten_are_written_out_and_their_interval_does_not_break():
    small = spreads({"": errors() * 1e-5}, "model")
    assert Table(small).shown().loc["B", "id"] == "4.0 × 10⁻⁵"
    first = "2.0\xa0×\xa010⁻⁵ [1.0\xa0×\xa010⁻⁵,\xa03.0\xa0×\xa010⁻⁵]"
    assert cells(small)[0] == first
    frame = pd.DataFrame({"a": [1.5e7], "b": [1e-9], "said": ["5.4e-3"]}, ["x"])
    assert cells(frame, b="{:.0e}") == ["1.5\xa0×\xa010⁷", "1\xa0×\xa010⁻⁹", "5.4\xa0×\xa010⁻³"]
    assert "1e-09" in Table(frame).csv(), "numbers stay numbers there"


def test_a_quantity_over_seeds_is_said_in_its_own_form():
    shown = Table(spreads({"": errors()}, "model"), {"id": "{:.0f}"}).shown()
    assert shown.loc["A"].tolist() == ["2 [1, 3]", "20 [10, 30]"]


def test_below_a_table_stands_of_how_many_seeds_it_is_and_how_sure_the_interval():
    table = Table(spreads({"": errors()}, "model"))
    note = "Median over 3 seeds [75 % interval of the median]; n: seeds, where fewer; 50 % interval with 2"
    assert table.note() == note and note in table._repr_mimebundle_()["text/html"]
    whole = spreads({"": errors().sel(model=["a"]).pad(seed=(0, 3), mode="edge")}, "model")
    assert Table(whole).note() == "Median over 6 seeds [95 % interval of the median]"
    for plain in (errors().isel(seed=0), errors().isel(seed=[0])):
        assert Table(spreads({"": plain}, "model")).note() == ""


def test_the_csv_holds_the_numbers_in_full():
    frame = spreads({"": errors() / 3}, "model")
    frame["atoms", ""] = [3, 7]
    read = pd.read_csv(io.StringIO(Table(frame).csv()), index_col=0)
    assert read.columns.tolist()[:4] == ["id median", "id low", "id high", "id n"]
    assert read.loc["A", "ood median"] == 20 / 3
    assert read["atoms"].tolist() == [3, 7]


def test_formats_texts_and_gaps():
    frame = pd.DataFrame(
        {"count": [1200, 5], "share": [0.5, np.nan], "who": ["x", "y"]}, index=["a", "b"]
    )
    shown = Table(frame, {"count": "{:,.0f}", "share": lambda v: f"{100 * v:.0f} %"}).shown()
    assert shown["count"].tolist() == ["1,200", "5"] and shown["share"].tolist() == ["50 %", ""]
    assert shown["who"].tolist() == ["x", "y"]


def test_the_least_of_a_column_is_bold_and_what_is_heard_is_named():
    bundle = Table(
        spreads({"": errors()}, "model"), best=["ood"], name="errors by set"
    )._repr_mimebundle_()
    assert (
        bundle["text/html"].count("font-weight: bold") == 1
        and 'aria-label="errors by set"' in bundle["text/html"]
    )
    assert bundle["text/csv"].startswith("model,") and "20.0" in bundle["text/csv"]


def test_a_table_looks_the_same_each_time():
    table = Table(spreads({"": errors()}, "model"))
    assert table._repr_mimebundle_() == table._repr_mimebundle_()


def test_two_header_rows_stay_two():
    frame = spreads({"easy": errors(), "hard": errors() * 2}, "model")
    shown = Table(frame).shown()
    assert shown.columns.tolist() == [
        ("easy", "id"),
        ("easy", "ood"),
        ("hard", "id"),
        ("hard", "ood"),
    ]
    assert shown.loc["A", ("hard", "id")] == "4.0 [2.0, 6.0]"


def test_a_quantity_alone_stands_beside_those_in_groups():
    frame = pd.DataFrame([[1.0, 2.0, 3.0]], columns=[("MSE", "1"), ("MSE", "2"), ("OOD / ID", "")])
    shown = Table(frame).shown()
    assert shown.columns.tolist() == [("MSE", "1"), ("MSE", "2"), ("OOD / ID", "")]
    assert shown.iloc[0].tolist() == ["1.0", "2.0", "3.0"]


def test_quantities_with_and_without_seeds_stand_side_by_side():
    values = errors().sel(set="id")
    shown = Table(spreads({"error": values, "most": values.max("seed")}, "model")).shown()
    assert shown.loc["A"].tolist() == ["2.0 [1.0, 3.0]", "3.0"]
    plain = spreads({"most": values.max("seed"), "least": values.min("seed")}, "model")
    assert plain.columns.tolist() == ["most", "least"] and plain.loc["B"].tolist() == [4, 4]


def test_places_along_several_rows_without_numbers_are_left_out():
    values = {"error": errors(), "parameters": errors().max("seed") * 2}
    frame = spreads(values, "model", "set")
    assert frame.index.names == ["model", "set"] and len(frame) == 4
    assert frame.loc[("B", "ood"), ("error", "low")] == 5
    assert frame.loc[("A", "ood"), ("parameters", "")] == 60
    known = errors().where((errors()["model"] == "a") | (errors()["set"] == "id"))
    left = spreads({"error": known}, "set", "model").index
    assert left.tolist() == [("id", "A"), ("id", "B"), ("ood", "A")]


def test_other_dimensions_are_columns_below_their_title():
    frame = spreads(
        {("MSE", "median"): errors().median("seed"), "": errors().isel(seed=0)}, "model"
    )
    assert frame.columns.tolist()[:2] == [("MSE", "median", "id"), ("MSE", "median", "ood")]
    assert frame.columns.tolist()[2:] == [("id", "", ""), ("ood", "", "")]
    assert frame.loc["B"].tolist() == [4, 6, 4, 5]


def test_places_get_names_that_readers_know_in_their_order():
    names = {"ood": ("elsewhere", "-"), "id": "at home", "no": "nowhere"}
    frame = spreads({"": errors().max("seed")}, "model", set=names)
    assert frame.columns.tolist() == ["elsewhere", "at home"]
    assert frame.loc["A"].tolist() == [30, 3]
    frame = spreads({"": errors().max("seed")}, "model", set="error, {}".format)
    assert frame.columns.tolist() == ["error, id", "error, ood"]
