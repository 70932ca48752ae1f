"""The summary: tables of swaps, sentences and counts, where it is known beforehand what they must
say.
"""

from __future__ import annotations

import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

from chapters.summary import figures
from chapters.summary import figures_swaps as swaps
from chapters.summary import tables as words
from data_gen import digits
from vnlib.book import ledger as claims
from vnlib.book import paths, store

SENTENCES = {
    "positions": words.SPATIAL,
    "signals": words.FUNCTIONS,
    "forces": words.FORCES,
    "digits": words.DIGITS,
}


def spatial(errors: dict[str, float], seeds: int = 3) -> xr.Dataset:
    """Decoders with these OOD errors over a blank image's, ID errors a tenth of it; the blank's are
    0.5 and 0.25.
    """
    ood = np.array([[value * (1 + 0.1 * n) for n in range(seeds)] for value in errors.values()])
    over = ("model", "seed")
    ds = xr.Dataset({"mse_ood": (over, 0.5 * ood), "mse_id": (over, 0.25 * 0.1 * ood)})
    ds["blank_ood"], ds["blank_id"] = (xr.full_like(ds["mse_id"], value) for value in (0.5, 0.25))
    return ds.assign_coords(model=list(errors), seed=range(seeds))


@pytest.fixture
def table() -> xr.Dataset:
    return swaps.spatial(
        spatial({"vn_full": 0.01, "random_full": 0.02, "vn_flat": 0.9, "cnn4": 0.5})
    )


# --- Tables ---------------------------------------------------------------------------------------


def test_errors_are_over_those_of_a_blank_image(table):
    assert table["outside"].isel(row=0).values == pytest.approx([0.01, 0.011, 0.012])
    assert table["inside"].isel(row=0).values == pytest.approx([0.001, 0.0011, 0.0012])


def test_rows_whose_models_are_not_there_are_left_out(table):
    assert list(table["key"].values) == ["vn_full", "random", "flat", "cnn"]
    assert list(table["part"].values) == ["", "dictionary", "readout", ""]
    assert swaps.factors(table).values == pytest.approx([1, 2, 90, 50])


@pytest.mark.parametrize(
    "make", [swaps.spatial, swaps.functions, swaps.forces, lambda ds: swaps.digits(ds, ["add2"])]
)
def test_without_results_there_is_no_table(make):
    assert make(None) is None


def test_without_the_first_model_there_is_no_table():
    assert swaps.spatial(spatial({"vn_flat": 0.9})) is None


def test_results_of_other_chapters_join_with_their_own_seeds(table):
    stripes = spatial({"cnn": 1.2}, seeds=2).expand_dims(diet=["bumps+all"])
    joined = swaps.spatial(spatial({"vn_full": 0.01}), stripes=stripes)
    assert list(joined["key"].values) == ["vn_full", "bumps"]
    assert joined["outside"].isel(row=1).count() == 2 and joined["outside"].isel(row=0).count() == 3


def test_models_that_never_finished_are_left_out():
    results = spatial({"vn_full": 0.01, "cnn4": 0.5})
    results["mse_ood"].loc[{"model": "cnn4"}] = np.nan
    assert list(swaps.spatial(results)["key"].values) == ["vn_full"]


def test_signals_are_geometric_means_over_masks_and_compositions():
    hidden = xr.DataArray(
        [[[[[4.0, 1.0, 16.0], [1.0, 4.0, 4.0]]]]],
        dims=("model", "seed", "protocol", "mask", "set"),
        coords={
            "model": ["vn_1"],
            "seed": [0],
            "protocol": ["zero_filled"],
            "mask": ["a", "b"],
            "set": ["id", "easy", "hard"],
        },
    )
    blank = xr.full_like(hidden.isel(protocol=0, drop=True), 8.0)
    found = swaps.functions(xr.Dataset({"hidden": hidden, "zero_baseline_hidden": blank}))
    assert float(found["inside"].item()) == pytest.approx(2 / 8)
    assert float(found["outside"].item()) == pytest.approx(4 / 8)  # of 2 and 8


def test_forces_are_means_over_single_and_mixed_ones():
    mse = xr.DataArray(
        [[[[[1.0], [3.0], [8.0]], [[1.0], [3.0], [4.0]]]]],
        dims=("model", "seed", "way", "forces", "bodies"),
        coords={
            "model": ["vn_literal_3"],
            "seed": [0],
            "way": ["joint", "passes"],
            "forces": ["gravity", "drag", "gravity+drag"],
            "bodies": [5],
        },
    )
    found = swaps.forces(
        xr.Dataset({"mse": mse, "power": xr.full_like(mse.isel(way=0, drop=True), 4.0)})
    )
    assert list(found["key"].values) == ["vn_3", "passes"]
    assert found["inside"].values.ravel() == pytest.approx([0.5, 0.5])
    assert found["outside"].values.ravel() == pytest.approx([2, 1])


def test_digits_take_the_sets_that_they_are_told():
    mse = xr.DataArray(
        [[[[1.0], [2.0], [8.0], [np.nan]]]],
        dims=("model", "seed", "set", "reading"),
        coords={
            "model": ["vn_1"],
            "seed": [0],
            "set": ["id", "add2", "max2", "RT"],
            "reading": ["own"],
        },
    )
    results = xr.Dataset(
        {"mse": mse, "zero_baseline": xr.full_like(mse.isel(reading=0, drop=True), 8.0)}
    )
    assert float(swaps.digits(results, ["add2", "max2"])["outside"].item()) == pytest.approx(4 / 8)
    assert float(swaps.digits(results, ["add2"])["outside"].item()) == pytest.approx(2 / 8)


def test_only_the_seeds_asked_for():
    results = spatial({"vn_full": 0.01})
    assert list(swaps.only(results, [2, 0, 7])["seed"].values) == [0, 2]
    assert swaps.only(results, [7]) is None and swaps.only(None, [0]) is None


# --- Pictures -------------------------------------------------------------------------------------


def test_a_picture_has_a_row_for_each_model_and_says_its_factor(table):
    fig = figures.swaps(table)
    (ax,) = fig.axes
    assert [label.get_text() for label in ax.get_yticklabels()] == list(table["name"].values)
    said = {text.get_text() for text in ax.texts}
    assert {"×1.0", "×2.0", "×90", "×50", *table["block"].values} <= said
    fig.canvas.draw()
    plt.close(fig)


def test_seeds_beyond_the_axis_are_counted():
    results = spatial({"vn_full": 0.01, "cnn4": 0.5})
    results["mse_ood"].loc[{"model": "cnn4", "seed": 1}] = 1e6
    fig = figures.swaps(swaps.spatial(results))
    assert "1 seed →" in {text.get_text() for text in fig.axes[0].texts}
    plt.close(fig)


def test_a_missing_picture_says_so():
    fig = figures.swaps(None, words.lacking({"fig2_spatial": None}, None))
    assert "no results of fig2_spatial" in fig.axes[0].texts[0].get_text()
    plt.close(fig)


@pytest.mark.parametrize(
    ("factor", "text"),
    [
        (1.0, "×1.0"),
        (0.253, "×0.25"),
        (0.00374, "×0.0037"),
        (13.2, "×13"),
        (1.06e-6, "×1e-6"),
        (19301, "×19,000"),
        (np.nan, ""),
    ],
)
def test_factors_have_two_digits(factor, text):
    assert figures.times(factor) == text


# --- Words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.953, "95 %"),
        (4.95e-5, "0.0049 %"),
        (5e-5, "0.005 %"),
        (1.124, "112 %"),
        (5.2e-11, "5.2e-9 %"),
        (0.1, "10 %"),
    ],
)
def test_shares_have_two_digits(share, text):
    assert words.percent(share).replace("\N{NO-BREAK SPACE}", " ") == text


def test_sentences_take_medians_and_those_without_rows_are_left_out(table):
    asked = (
        "**A.** {flat.out} of {flat.inn}, {flat.times}.",
        "More: {cnn.out}.",
        "**B.** {mlp.out}.",
    )
    assert (
        words.said(table, asked).replace("\N{NO-BREAK SPACE}", " ")
        == "- **A.** 99 % of 9.9 %, ×90. More: 55 %."
    )
    assert words.said(table, asked[2:]) == words.said(None, asked) == words.NOTHING


def row(id: str, chapter: str, holds: list[bool], fair: list[bool] | None) -> dict:
    """A row of the ledger as far as the summary reads it."""
    parts, parts_controls = (
        [claims.Part("x", one) for one in each] if each is not None else None
        for each in (holds, fair)
    )
    return {
        "id": id,
        "source": f"{id[:2]} Fig. 1",
        "chapter": chapter,
        "verdict": claims.verdict(parts) if parts else claims.NOT_TESTABLE,
        "verdict_controls": claims.verdict(parts_controls) if parts_controls else None,
        "parts": [{"says": p.says, "holds": p.holds} for p in parts],
        "parts_controls": [{"says": p.says, "holds": p.holds} for p in parts_controls or []],
    }


ROWS = (
    row("VN-X1", "fig2_spatial", [True, True], [True, False]),
    row("VN-X2", "fig2_spatial", [True], None),
    row("VN-X3", "fig5_mnist", [], None),
    row("FR-X1", "FR3_low_rank", [False, False], [False]),
)


def test_verdicts_are_the_words_of_the_ledger():
    assert words.VERDICTS == (claims.REPRODUCED, claims.PARTLY, claims.NOT, claims.NOT_TESTABLE)


def test_the_summary_counts_claims_and_statements():
    said = words.summary(ROWS)
    assert (
        "2 of 3 claims hold whole, 0 in part, 1 not at all; of the 5 statements that they "
        "consist of, 3 hold." in said
    )
    assert (
        "0 of 2 claims hold whole, 1 in part, 1 not at all; of the 3 statements that they "
        "consist of, 1 hold." in said
    )
    assert "1 no longer do beside fair controls" in said
    assert words.summary([ROWS[2]]) == words.NOTHING


def test_claims_of_a_benchmark_stand_under_their_verdict():
    printed, fair = words.verdicts(ROWS, "positions").splitlines()
    assert (
        re.sub(r"<[^>]*>", "", printed)
        == "- **Claims as printed:** reproduced VN-X1, VN-X2; not reproduced FR-X1."
    )
    assert (
        re.sub(r"<[^>]*>", "", fair)
        == "- **Beside fair controls:** partly VN-X1; not reproduced FR-X1."
    )
    assert 'href="../generated/ledger.html#claim-vn-x1"' in printed
    assert words.verdicts(ROWS, "signals").splitlines()[0] == "- **Claims as printed:** none."


def test_every_claim_of_a_benchmark_chapter_is_in_one_benchmark():
    named = [name for group in words.CHAPTERS.values() for name in group]
    assert len(named) == len(set(named)) and set(named) <= set(paths.chapters())


def test_what_decides_names_the_swap_and_its_factors(table):
    table["inside"] = table["inside"].copy(data=table["inside"].values * [[1], [1], [0.5], [1]])
    found = words.decides({"positions": table, "signals": None})
    assert found.loc["positions", "dictionary"] == "random, frozen **×2.0** (×2.0)"
    assert found.loc["positions", "readout"] == "flat and linear, same VN **×90** (×45)"
    page = words.parts({"positions": table, "signals": None})
    assert "| **dictionary** | random, frozen **×2.0** (×2.0) | – |" in page
    assert found.loc["positions", "learning"] == "–" and set(found.loc["signals"]) == {"–"}


def test_the_page_in_one_table(table):
    lines = words.short(dict.fromkeys(words.SHORT) | {"positions": table}).splitlines()
    assert len(lines) == 2 + len(words.SHORT) and {line.count("|") for line in lines} == {5}
    cells = [cell.strip() for cell in lines[2].split("|")[1:-1]]
    assert cells[0] == "[Positions](#summary-of-positions)"
    assert cells[1:] == ["–", "–", "**Readout**: flat instead of a product ×90"], (
        "no MLP, nothing by hand"
    )
    assert lines[3].endswith("| – | – | – |")


# --- The shipped results --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shipped() -> dict[str, xr.Dataset]:
    folder = paths.RESULTS / "paper"
    names = (
        "fig2_spatial",
        "F_spatial",
        "FR3_low_rank",
        "FR4_stripes",
        "fig3_functions",
        "fig4_nbody",
        "fig5_mnist",
    )
    if not all((folder / f"{name}.nc").exists() for name in names):
        pytest.skip("no such results here")
    read = [store.read(folder / f"{name}.nc") for name in names]
    return {
        "positions": swaps.spatial(*read[:4]),
        "signals": swaps.functions(read[4]),
        "forces": swaps.forces(read[5]),
        "digits": swaps.digits(read[6], [name for name in digits.SETS if name != "id"]),
    }


@pytest.mark.parametrize("benchmark", sorted(SENTENCES))
def test_every_sentence_finds_its_rows_in_the_shipped_results(shipped, benchmark):
    table = shipped[benchmark]
    texts = [*SENTENCES[benchmark], *words.SHORT[benchmark]]
    asked = {key for text in texts for key in re.findall(r"\{(\w+)\.", text)}
    assert asked <= set(table["key"].values)
    said = words.said(table, SENTENCES[benchmark])
    assert "{" not in said and "nan" not in said and said.count("- **") >= 2
    assert "– |" not in words.short(shipped)
    assert len(set(table["key"].values)) == table.sizes["row"]


def test_every_swap_of_one_part_says_what_was_put_in_its_place(shipped):
    found = words.decides(shipped)
    named = {
        (benchmark, part)
        for benchmark in found.index
        for part in found.columns
        if found.loc[benchmark, part] != "–"
    }
    assert named == {
        (name, str(part))
        for name, table in shipped.items()
        for part in table["part"].values
        if part
    }
    assert found.loc["forces", "readout"].startswith(
        "one pass per force, added up; same weights **×"
    )


def test_the_prose_says_what_the_shipped_results_show(shipped):
    """Sentences of the page that are written by hand, each as a number."""
    errors = {
        b: dict(zip(t["key"].values, t["outside"].median("seed").values, strict=True))
        for b, t in shipped.items()
    }
    at, signals, forces, drawn = (
        errors[name] for name in ("positions", "signals", "forces", "digits")
    )
    assert (
        max(at[k] for k in ("vn_full", "axes_1", "axes_3", "random", "linear_pass", "by_hand"))
        < 0.01
    )
    assert min(at[k] for k in ("flat", "cnn", "sparse", "mlp", "image", "free_maps")) > 0.3
    assert at["relu_pass"] > 100 * at["linear_pass"] and at["axes_3"] < 0.01 * min(
        at["by_hand"], at["linear_pass"]
    )
    assert at["penalty"] < 0.1 * at["free_maps"] and at["stripes"] < 0.5 * at["bumps"]
    assert (
        signals["solved"] < 0.5 * signals["vn_1"]
        and 0.8 < signals["vn_1"] / signals["untrained"] < 1.25
    )
    assert max(signals["interpolation"], signals["pca"]) < min(
        signals["vn_1"], signals["vn_3"], signals["solved"]
    )
    for model in ("mlp", "gnn", "transformer", "film"):
        assert forces[f"{model}_passes"] < 0.05 < 0.3 < forces[model]
    assert (
        max(forces["tokens_network"], forces["tokens_rbf"])
        < forces["tokens"]
        < 0.05
        < forces["passes"]
    )
    assert (
        drawn["dct"]
        < drawn["vn_1"]
        < min(drawn["ae"], drawn["ksparse"], drawn["searched"], drawn["untrained"])
    )
    assert drawn["dct"] / drawn["vn_1"] > 0.5 and drawn["ae"] / drawn["vn_1"] < 2
    shared = np.log(drawn["searched"] / drawn["vn_1"]) / np.log(drawn["ae"] / drawn["vn_1"])
    assert 0.35 < shared < 0.65, "what is left to the encoder"
