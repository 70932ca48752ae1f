"""The rotated digits in numbers, from the dataset of `study.results`."""

from __future__ import annotations

import xarray as xr

from benchmarks.spatial.settling import late_gain
from chapters.FR5_rotation.claims import PAPER_DIGIT, middle_of_gap
from vnlib.book.evidence import SETTLED
from vnlib.plots.statistics import median, percent, texts
from vnlib.plots.tables import Table, if_computed, spreads

EXPLAINED = {"blend": "a blend", "rotation": "a rotation", "truth": "the true image"}


def explained(results: xr.Dataset, by: str) -> xr.DataArray:
    """Share of the output's squared distance from the mean training image that the best blend, the
    nearest rotation or the true image explains, in the middle half of the gap.
    """
    rest = middle_of_gap(results)
    return 1 - rest[f"rest_{by}"] / rest["rest_mean"]


@if_computed
def models(results: xr.Dataset) -> Table:
    """Errors per model and digit. The late gain is the share of the validation error that the last
    fifth of the updates took away.
    """
    columns = {
        "ID test error": results["mse_id"],
        "error in the gap": results["mse_ood"],
        "late gain": late_gain(results),
        "parameters": results["n_parameters"].max("seed"),
    }
    found = spreads(columns, "model", "digit")
    return Table(found, {"parameters": "{:,.0f}"}, name="errors per model and digit")


@if_computed
def explanations(results: xr.Dataset) -> Table:
    """What explains the outputs, per model and digit."""
    columns = {f"explained by {name}": explained(results, by) for by, name in EXPLAINED.items()}
    return Table(spreads(columns, "model", "digit"), name="explanations per model and digit")


def whole(share: float) -> str:
    """A share in percent, beyond 100 % with two digits."""
    return percent(round(share, 1) if abs(share) >= 1 else share)


def numbers(results: xr.Dataset) -> dict[str, str]:
    """What the prose says of the models: medians over seeds of the paper's digit, and of the other
    digits those of the paper's network.
    """
    blend, rotation = (median(explained(results, by)) for by in ("blend", "rotation"))
    hump = results["mse_ood"] / results["mse_id"]
    own_digit = results.sel(digit=PAPER_DIGIT)
    finer = own_digit["mse_ood"] / own_digit["mse_ood"].sel(model="cnn", drop=True)
    gain = late_gain(own_digit)
    unsettled = {
        name: f"{int((gain.sel(model=name) > SETTLED).sum())} of {int(gain.sel(model=name).count())}"
        for name in ("cnn", "mlp")
    }
    own = {"blend": blend, "rotation": rotation}
    printed = {name: one.sel(model="cnn").drop_sel(digit=PAPER_DIGIT) for name, one in own.items()}
    nearer = printed["blend"] > printed["rotation"]
    first = results.isel(model=0).sel(digit=PAPER_DIGIT)
    gap = first.sel(angle=first["gap_angle"].values).mean("angle")
    guesses = {
        "zero": median(gap["error_zero_baseline"]),
        "mean": median(gap["error_mean"]),
        "blend": median(first["blend_error"].mean("gap_angle")),
    }
    return {
        "fr5-seeds": f"{results['mse_ood'].sel(model='cnn', digit=PAPER_DIGIT).count().item()}",
        **texts("fr5-hump", hump.sel(digit=PAPER_DIGIT)),
        **texts("fr5", {"finer": finer, "unsettled": unsettled}),
        **texts("fr5", {name: one.sel(digit=PAPER_DIGIT) for name, one in own.items()}, whole),
        **texts("fr5-others-low", {n: one.min() for n, one in printed.items()}, percent),
        **texts("fr5-others-high", {n: one.max() for n, one in printed.items()}, percent),
        "fr5-nearer": f"{int(nearer.sum())} of {nearer.size}",
        **texts("fr5-error", guesses),
    }
