"""The table of appendix E, and the numbers of its prose."""

from __future__ import annotations

import xarray as xr

from chapters.E_theory.claims import diagram, mending
from vnlib.plots.statistics import texts
from vnlib.plots.tables import Table, spreads


def measured(r: xr.Dataset) -> Table:
    """The numbers that the text rests on, over seeds."""
    below, above = diagram(r)
    stopped = r.sel(data="digits", solver="ista", sweep=20)
    active = stopped["stopped_active"] / stopped["settled_active"]
    gap = r["largest_gap"].max(["family", "coherence"])
    rows = {
        "V (a + b) − V a − V b, float32, in roundings": r["rounding"].sel(dtype="float32"),
        "V (a + b) − V a − V b, float64, in roundings": r["rounding"].sel(dtype="float64"),
        "the same with a ReLU behind the decoder, relative": r["relu_error"],
        "share of supports found below the bound, worst cell": below,
        "share at or above it, mean of the diagram": above,
        "largest duality gap of the diagram over the energy": gap,
        "coherence of the dictionary learned on digits": r["learned_mu"],
        "overlap of the support of a sum with the union, digits": r["digits_sum_overlap"].median(
            "digits_pair"
        ),
        "active atoms after 20 ISTA sweeps over settled ones, digits": active,
        "error of the update after 20 ISTA sweeps, digits": stopped["stopped_update"],
    }
    for layer in r["layer"].values:
        one = r.sel(layer=layer)
        used = one["active_atoms"].mean("sample") * one["per_atom"] / one["dense"]
        full = (one["rank"] == one["active_atoms"]).mean("sample")
        rows[f"layer {layer}: share of samples with rank = active atoms"] = full
        rows[f"layer {layer}: parameters in use over those of a dense layer"] = used
        rows[f"layer {layer}: parameters of the library over those of a dense layer"] = (
            one["library"] / one["dense"]
        )
    found = xr.Dataset({name: values.reset_coords(drop=True) for name, values in rows.items()})
    frame = spreads({"over seeds": found.to_array("row")}, "row").rename_axis(None)
    return Table(frame, name="numbers of appendix E")


def numbers(r: xr.Dataset) -> dict[str, str]:
    """What the prose says of the results: medians over seeds, or the worst seed."""
    below, above = diagram(r)
    best, _ = mending(r)
    lost = (r["grown_found"].sel(strength=0) - r["grown_found"]).sel(strength=best)
    grown = {word: r.sel(strength=one) for word, one in (("without", 0), ("with", best))}
    noisy = r["noisy_recovered"].sel(multiple=[1, 2, 8])
    percents = {
        "noisy": noisy.assign_coords(multiple=["once", "twice", "eight"]),
        "below": below.min(),
        "above": above,
        "overlap": r["digits_sum_overlap"].median("digits_pair"),
        "rises": r["sweep_rises"].mean("penalty"),
        "rises-most": r["sweep_rises"].sel(counted="summed").max(),
        "named": {word: one["grown_named"].isel(atoms=-1) for word, one in grown.items()},
        "lost": {"needed": lost.isel(atoms=0), "surplus": lost.isel(atoms=-1)},
    }
    return {
        **texts("appE", percents, lambda share: f"{100 * share:.0f}"),
        **texts("appE-error", r["gradient_error"].max(["seed", "kind"])),
        **texts("appE", {"mu": r["learned_mu"], "bound": r["learned_bound"]}),
        "appE-seeds": str(r.sizes["seed"]),
        **texts("appE-strength", best, "{:g}".format),
    }
