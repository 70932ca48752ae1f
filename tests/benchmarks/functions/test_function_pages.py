"""Tables 5 and 6: from results of which all is known, and the same on all pages that show them."""

from __future__ import annotations

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest
import xarray as xr

from benchmarks.functions import figures, tables
from benchmarks.functions.names import ELEVEN, MASKS, SETS, VN
from chapters.fig3_functions import tables as fig3
from chapters.G_functions import tables as app_g
from vnlib.book import paths, store

CONTROLS = {
    "deep_ae_masked": "masked",
    "zero_baseline": "control",
    "hold_last": "control",
    "linear": "control",
}


@pytest.fixture
def results() -> xr.Dataset:
    """Seeds 1, 2 and 6 times an error of each model: the median is twice it, the mean three times."""
    models = [*ELEVEN, *CONTROLS]
    own = xr.DataArray(np.arange(1.0, len(models) + 1), {"model": models})
    seeds = xr.DataArray([1.0, 2.0, 6.0], {"seed": [0, 1, 2]})
    places = [
        xr.DataArray(np.ones(len(v)), {k: list(v)}) for k, v in {"mask": MASKS, "set": SETS}.items()
    ]
    filled, told = own.isin(own[:11]), own.isin(own[11:]) | own["model"].isin(["vn_1"])
    both = xr.concat([(own * seeds).where(filled), (own * seeds).where(told)], "protocol")
    hidden = both.assign_coords(protocol=["zero_filled", "mask_aware"]) * places[0] * places[1]
    zero = 20.0 + 0 * own * seeds
    return xr.Dataset(
        {"mse": (own * seeds * places[1]).where(own["model"] != "hold_last"), "hidden": hidden,
         "fact_parameters": 100 * own * seeds, "fact_active": own * seeds, "zero_baseline": zero * places[1], "zero_baseline_hidden": zero * places[0] * places[1]}
    ).assign_coords(label=("model", [m.upper() for m in models]),
                    group=("model", ["vn"] * 3 + ["printed"] * 8 + list(CONTROLS.values())))  # fmt: skip


def test_a_model_that_leads_on_all_sets_is_named_once():
    one = dict.fromkeys(tables.SETS, "rSLDS")
    assert tables.leading(one) == "rSLDS on ID, Easy and Hard signals"
    other = tables.leading(one | {"hard": "Mamba"})
    assert other == "rSLDS on ID signals, of rSLDS on Easy and of Mamba on Hard ones"


def test_table_5_holds_medians_and_intervals_of_what_draws(results):
    frame = tables.reconstruction(results).frame
    assert frame.loc["VN_3", "ID"].tolist() == [4, 2, 12, 3]
    assert frame.loc[
        "VN_3", [("parameters", "median"), ("atoms in use", "median"), ("failed", "")]
    ].tolist() == [400, 4, "1 of 3 [1 to 91 %]"], "one seed leaves 12 of 20"
    assert "HOLD_LAST" not in frame.index and frame.index[-1] == "LINEAR"


def test_table_6_has_the_models_of_a_protocol(results):
    frame = tables.masked(results, "mask_aware", ["block_128"]).frame
    assert frame.index.tolist() == [
        "VN_1",
        "DEEP_AE_MASKED",
        "ZERO_BASELINE",
        "HOLD_LAST",
        "LINEAR",
    ]
    assert frame["a block", "Hard"].loc["VN_1"].tolist() == [2, 1, 6, 3]


def test_as_printed_the_masked_problem_is_solved_and_others_see_zeros(results):
    """Five rounds stand below, as rows of their own, and are nobody's result."""
    results["hidden"].loc[{"protocol": "mask_aware", "model": "vn_1"}] *= 0.5
    frame = tables.masked(results, "printed", ["block_128"]).frame["a block", "Hard"]["median"]
    assert frame.index.tolist()[:2] == ["VN_1", "NEURAL_ODE"], "other depths were not asked"
    assert frame.index.tolist()[-3:] == [f"VN_{n}, five rounds" for n in (1, 3, 5)]
    assert frame[["VN_1", "VN_1, five rounds", "NEURAL_ODE"]].tolist() == [1, 2, 8]
    assert float(tables.cells(results, ["vn_1"], "printed").max()) == 1


def test_winners_are_those_of_the_medians(results):
    results["hidden"].loc[{"model": "mamba", "mask": "random_30", "seed": [0, 1]}] = 0.5
    frame = tables.winners(results).frame
    lead = frame.loc[("random 30 %", "Easy"), "as printed"].tolist()
    assert lead == ["MAMBA", 0.5, "tied"], "the third seed has more than others"
    assert frame.loc[("a block", "ID"), "as printed"].tolist() == ["VN_1", 2, "surely"]
    assert frame.loc[("a block", "ID"), "told the mask"].tolist() == ["VN_1", 2, "surely"]
    none = tables.winners(results.sel(model=["deep_ae", "linear"])).frame.loc[("a block", "ID")]
    assert none["told the mask, the paper's eleven"].tolist()[0] == ""


def test_who_is_ahead_is_sure_by_pairs_of_seeds_and_against_each_other(results):
    """Seeds share a factor, which pairs take out: all leads are sure, though intervals overlap."""
    standing = tables.standing(results, ["vn_1"], ["rnn", "mamba"], "zero_filled")
    assert (standing == -1).all() and standing.size == 12
    assert (tables.standing(results, ["rnn"], ["vn_1", "mamba"], "zero_filled") == 1).all()
    results["hidden"].loc[{"model": "rnn", "mask": "block_128", "set": "hard", "seed": 2}] = 0.1
    standing = tables.standing(results, ["vn_1"], ["rnn", "mamba"], "zero_filled")
    assert standing.sel(mask="block_128", set="hard") == 0, "tied with one of the two"
    own = tables.standing(results, ["vn_1"], ["vn_1"], "zero_filled")
    assert (own == -1).all(), "no rival of itself"
    ratio = tables.paired(results, ["vn_1"], ["vn_3"], "zero_filled")
    assert ratio.values.tolist() == [0.5] * 3


@pytest.mark.parametrize("draw", [figures.reconstruction, figures.by_set, figures.by_mask])
def test_figures_name_every_model_and_say_so_where_there_is_none(results, draw):
    figure = draw(results)
    figure.canvas.draw()
    names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert names[:2] == ["VN_1", "VN_3"] and "DEEP_AE_MASKED" in names
    assert "asked for" in draw(results.sel(model=["zero_baseline"])).axes[0].texts[0].get_text()
    plt.close("all")


def test_pages_that_state_the_same_quantity_say_the_same():
    """Fig. 3 and App. G glue the same counts under their own keys, and call the same functions for
    what both of them show.
    """
    folder = paths.ROOT / "results" / "paper"
    shared, own = (store.read(folder / f"{name}.nc") for name in ("fig3_functions", "G_functions"))
    pages = {"fig3": fig3.numbers(shared), "appG": app_g.numbers(shared, own)}
    for name, text in tables.counts(shared, "any").items():
        key = name.removeprefix("any-")
        assert {pages[page][f"{page}-{key}"] for page in pages} == {text}, key
    # The learning and inference that both pages tell, each in its own table.
    cells = fig3.ablation_table(shared).frame
    told = app_g.ablation_table(shared).frame["our error over theirs", "median"]
    names = ("VN-1L", "VN-1L, atoms not learned")
    ours, theirs = (cells[name, "solved", "median"] for name in names)
    ratio = told["VN-1L, solved: learning", "VN-1L, atoms not learned, solved"]
    assert (ours / theirs).median() == pytest.approx(ratio, rel=0.05), "pairs, and medians"
    assert pages["fig3"]["fig3-learned"].startswith(f"{ratio:.2f} [")
    assert pages["fig3"]["fig3-learned"] == pages["appG"]["appG-learned-fig3"]


def test_every_place_that_names_a_winner_names_the_same():
    """Medians decide in the table of winners, in what is bold, in the survivors and in the counts
    of both pages.
    """
    folder = paths.ROOT / "results" / "paper"
    shared, own = (store.read(folder / f"{name}.nc") for name in ("fig3_functions", "G_functions"))
    named, names = tables.winners(shared).frame, shared["label"].to_series()
    every = {
        "as printed": ("printed", ELEVEN),
        "told the mask": ("mask_aware", names.index),
        "told the mask, the paper's eleven": ("mask_aware", ELEVEN),
    }
    for said, (protocol, models) in every.items():
        shown = tables.masked(shared, protocol).frame
        shown = shown.loc[[names[m] for m in models if names[m] in shown.index]]
        for mask, set_ in named.index:
            best = named.loc[(mask, set_), (said, "model")]
            assert shown[mask, set_, "median"].idxmin() == best, (said, mask, set_)
            least = shown[mask, set_, "median"].min()
            assert named.loc[(mask, set_), (said, "error")] == pytest.approx(least)
    survivors = app_g.survivors(shared).frame["column minimum here"]
    for (model, mask), told in survivors.items():
        column = named.loc[mask]["as printed", "model"]
        assert told == (", ".join(column.index[column == model]) or "none")
    lead = named["told the mask"]
    won = (lead["model"].isin([names[m] for m in VN]) & (lead["lead"] == "surely")).sum()
    pages = {"fig3": fig3.numbers(shared), "appG": app_g.numbers(shared, own)}
    told = {pages[page][f"{page}-told-won-all"] for page in pages}
    assert len(told) == 1 and told.pop().startswith(f"{won} ")


@pytest.mark.parametrize("call", ["shared_tables.reconstruction", "shared_tables.winners"])
def test_both_pages_show_tables_of_the_kit(call):
    kit = "\nfrom benchmarks.functions import tables as shared_tables\n"
    for name in ("fig3_functions", "G_functions"):
        notebook = nbformat.read(paths.notebook(name), as_version=4)
        cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
        assert any(f"{call}(" in text for text in cells), name
        assert any(kit in f"\n{text}" for text in cells), name
