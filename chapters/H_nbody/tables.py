"""Force composition in full, in tables, and the numbers of the prose.

`shared` are the results of VN Fig. 4; `results` those of the ablation, over model (the reading of
the input), variant and seed.
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.stats import rankdata

from benchmarks.nbody.figures import error as errors
from benchmarks.nbody.figures import in_order, inside_and_out
from chapters.H_nbody import claims
from chapters.H_nbody.claims import change, drift, growth, plane
from vnlib.plots.frames import label
from vnlib.plots.statistics import ahead, extremes, short, sides, texts
from vnlib.plots.tables import Table, if_computed, spreads

OVER_MODELS = {
    "input_core_dims": [["model"]],
    "output_core_dims": [["model"]],
    "kwargs": {"axis": -1},
}
WAYS = "ID up; both up; OOD up; ID down, OOD up; ID down; both down; OOD down; ID up, OOD down"


def directions(shared: xr.Dataset, *, relative: bool = False) -> xr.DataArray:
    """Which way each model moves in the plane; medians over seeds."""
    moved = growth(plane(shared, relative=relative)).median("seed")
    return xr.apply_ufunc(np.vectorize(direction), moved["id"], moved["ood"])


def direction(ids: float, oods: float) -> str:
    """The nearest of eight directions, of log10 of the growth along both axes, or "hardly"."""
    if np.hypot(ids, oods) <= claims.STILL:
        return "hardly"
    return WAYS.split("; ")[int(np.rint(np.arctan2(oods, ids) / (np.pi / 4))) % 8]


def summary_table(shared: xr.Dataset) -> Table:
    """Growth of errors as bodies drop out, and drift at the end, of models of the paper."""
    one = shared.sel(model=in_order(shared, ("vn", "printed")))
    moved = 10 ** growth(plane(one))
    columns = {
        "ID error, three bodies over five": moved["id"],
        "mixtures, three over five": moved["ood"],
        "drift at the end [box²]": drift(one).isel(step=-1).median("panel"),
    }
    return Table(spreads(columns, "model"), name="models of the paper")


def growth_table(shared: xr.Dataset, *, relative: bool = False) -> Table:
    """Medians over force sets with five bodies, and their growth to three."""
    points = plane(shared, relative=relative)
    five, moved = points.sel(bodies=5), 10 ** growth(points)
    columns = {
        "ID, N = 5": five["id"],
        "OOD, N = 5": five["ood"],
        "all 15 sets": five["pool"],
        "ID grows by": moved["id"],
        "OOD grows by": moved["ood"],
        "all grow by": moved["pool"],
        "moves": directions(shared, relative=relative),
    }
    return Table(spreads(columns, "model"), name="growth of errors as bodies drop out")


@if_computed
def feedback_table(results: xr.Dataset, model: str) -> Table:
    """All variants of one reading: errors, and atoms that are dead, drawn anew, used."""
    one, whole = results.sel(model=model), ("dead", "revived", "used")
    columns = {
        "ID validation": one["criterion"],
        "ID test": one["id_error"],
        "OOD": one["ood_error"],
        "OOD [(box/s²)²]": one["ood_mse"],
        **{name: one[f"fact_{name}"] for name in whole},
    }
    name = f"variants of {label(results, model)}"
    found = spreads(columns, "variant").rename(index=lambda one: one.replace("beta", "β ="))
    return Table(found, dict.fromkeys(whole, "{:.0f}"), name=name)


def rank_correlations(shared: xr.Dataset) -> xr.DataArray:
    """Spearman's coefficient of one-step error and final drift over models (seed, panel)."""
    both = claims.one_step(shared), drift(shared).isel(step=-1)
    error, last = (xr.apply_ufunc(rankdata, one, **OVER_MODELS) for one in both)
    return xr.corr(error, last, "model")


def numbers(shared: xr.Dataset, results: xr.Dataset) -> dict[str, str]:
    """What the prose says of the shipped results."""
    return _of_fig4(shared) | _of_ablation(results)


def _of_fig4(shared: xr.Dataset) -> dict[str, str]:
    moved, followed = 10 ** growth(plane(shared)), drift(shared)
    last, ranks = followed.isel(step=-1), extremes(rank_correlations(shared))
    points = plane(shared, relative=True)
    grown, below = 10 ** growth(points), points["pool"] / points["id"]
    error = claims.one_step(shared).median("panel")
    shares, shown = {"early": 0.1, "late": 1}, claims.READINGS | {"factorized": "factorized"}
    sizes = {
        "vn": moved[["id", "ood"]].sel(model=claims.LITERAL),
        "gnn-id": moved["id"].sel(model="gnn"),
        "random-ood": moved["ood"].sel(model="random"),
        "relative-vn-ood": grown["ood"].sel(model=claims.LITERAL),
        "below-factorized": below.sel(model="factorized", bodies=4),
        "drift": {key: last.sel(model=model).median("panel") for key, model in shown.items()},
        "rank": {"low": ranks["least"], "high": ranks["most"]},
        "step-factorized": error.sel(model="factorized"),
        "step-vn": error.sel(model=claims.LITERAL),
        "worst-fit": inside_and_out(errors(shared, relative=True))[0].sel(model=claims.LITERAL),
        "behind": {key: claims.behind(followed, at).median("panel") for key, at in shares.items()},
    }
    sizes_of = {"panels": "panel", "ranked": "model", "seeds": "seed"}
    counts = {key: shared.sizes[dim] for key, dim in sizes_of.items()}
    six = last.sel(model=list(claims.SIX))
    for key, model in claims.READINGS.items():
        counts[f"nearest-{key}"] = ahead(sides(last.sel(model=model, drop=True) / six).max("model"))
    none = {
        f"nearest-{key}-panels": none_if_zero(counts[f"nearest-{key}"]) for key in claims.READINGS
    }
    return texts("appH", sizes) | texts("appH", counts | none, "{:.0f}".format)


def none_if_zero(count: str) -> str:
    """How many of all, as a sentence says it: none rather than 0."""
    return count.replace("0 of", "none of the", 1) if count.startswith("0 of") else count


def _of_ablation(results: xr.Dataset) -> dict[str, str]:
    gain = change(results, claims.ZERO, claims.DEFAULT)
    both = change(results, *claims.ANEW) - gain
    changes = {
        "id": change(results, claims.ZERO, claims.DEFAULT, "id_error"),
        "ood": gain,
        "split": change(results, claims.DEFAULT, "split"),
        "inverted": change(results, claims.DEFAULT, "inverted"),
    }
    sizes = (10 ** xr.Dataset(changes)).assign(both=both)
    revived = results["fact_revived"].sel(variant=list(claims.ANEW)).max(("variant", "seed"))
    counts = {"falls": (gain < 0).sum("seed"), "competes": (both > 0).sum("seed")}
    counts = xr.Dataset(counts | {"revived": revived})
    found = {"appH-seeds-feedback": str(results.sizes["seed"])} | _of_upper_layers(results)
    for values, form in ((sizes, short), (counts, _rounded)):
        found |= texts("appH", values.to_array("of").transpose("model", "of", ...), form)
    return found


def _rounded(count: float) -> str:
    """A count with two digits: 263 is 260."""
    return f"{float(f'{count:.2g}'):.0f}"


def _of_upper_layers(results: xr.Dataset) -> dict[str, str]:
    """How many atoms of the top layer are active without feedback and with the most, and how many of
    the inverted network no state uses.
    """
    plain = results.sel(variant=(results["kind"] == "plain") & ~results["revive"].astype(bool))
    ends = {"none": plain["beta"].argmin("variant"), "most": plain["beta"].argmax("variant")}
    top = {key: plain["fact_active_top"].isel(variant=int(at)) for key, at in ends.items()}
    dead = results["fact_dead"].sel(variant="inverted")
    atoms = dead + results["fact_used"].sel(variant="inverted")
    counts = {"least": dead.min(), "atoms": atoms.max()}
    return texts("appH-top", top) | texts("appH-dead", counts, "{:.0f}".format)
