"""Tables and numbers of force composition on made-up results."""

from __future__ import annotations

import numpy as np
import xarray as xr

from chapters.fig4_nbody import tables


def test_the_numbers_of_the_prose(results):
    found = {key.removeprefix("fig4-"): text for key, text in tables.numbers(results).items()}
    assert (found["fit"], found["trained"], found["worst-fit"]) == ("4", "9", "0.20")
    assert (found["cells"], found["models"]) == ("9", "12")
    all_, none = "9 of 9", "0 of 9"
    assert [found[f"won-{key}"] for key in ("literal", "gated", "tokens")] == [none, none, all_]
    assert [found[f"won-{key}-without"] for key in ("literal", "tokens")] == [all_, all_]
    assert [found[f"less-{key}"] for key in ("mlp", "rbf", "ridge")] == [all_, all_, none]
    assert found["passes-least"] == found["passes-most"] == "0.50"
    assert (found["rise"], found["rise-relative"]) == ("12", "0"), "the relative error is flat"
    assert (found["harder"], found["harder-relative"]) == ("0", "12")
    assert (found["power-three"], found["superpose"]) == ("0.25", "5")
    assert (found["gap-least"], found["gap-most"]) == ("0.0010", "0.40")


def test_tables_hold_every_model(results):
    frame = tables.errors_table(results).frame
    assert frame.index[[0, 3, -1]].tolist() == ["VN_LITERAL_3", "MLP", "RBF_TOKENS"]
    assert np.isclose(frame.loc["MLP", ("MSE", "3 forces", "median")], 0.6)
    assert np.isclose(frame.loc["RANDOM", ("relative MSE", "4 forces", "median")], 1)
    ratio = tables.dropout_table(results).frame.xs("median", axis=1, level=-1).loc["MLP"]
    assert np.allclose(ratio[[("mixtures", "MSE"), ("mixtures", "relative MSE")]], [0.5, 2])


def test_models_that_still_improved_are_named(results):
    frame = tables.unconverged(results).frame
    assert (
        np.isclose(frame.loc["MLP", ("fell by", "median")], 2 / 3)
        and "RBF_TOKENS" not in frame.index
    )
    results["curve"].loc[{"model": "mlp"}] = 0.1
    assert "MLP" not in tables.unconverged(results).frame.index


def test_the_simulator_has_a_row_for_each_measure(results):
    laws = {"law": ["gravity", "drag"], "conserved": ["spring"]}
    made = results.assign_coords(laws)
    made["sim_exact"] = made["model"].isnull() + made["seed"] * 0.0 + (made["law"] == "drag") * 2.0
    for name in ("sim_energy", "sim_energy_worst"):
        made[name] = made["sim_exact"].isel(law=0) + (made["conserved"] == "spring") * 3.0
    for name in ("momentum", "superposition", "order", "boundary"):
        made[f"sim_{name}"] = made["sim_exact"].isel(law=0) + 4.0
    measured = tables.simulator_table(made).frame["measured"]
    assert measured.tolist() == [0, 2, 3, 3, 4, 4, 4, 4]


def test_twice_the_updates_are_compared_with_once(results):
    assert "Not computed" in tables.longer_table(results).data
    twin = results.sel(model=["mlp"]).assign_coords(model=["mlp_longer"])
    mixed = twin["forces"].str.contains(r"\+")
    twin["mse"] = twin["mse"] * xr.where(mixed, 2.0, 0.5)
    frame = tables.longer_table(xr.concat([results, twin], "model")).frame
    assert frame.index.tolist() == ["MLP"]
    assert np.allclose(frame.xs("median", axis=1, level=-1), [[0.5, 2]])
