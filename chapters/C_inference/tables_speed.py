"""How fast the settle is beside other solvers: tables from the datasets of `speed`."""

from __future__ import annotations

import xarray as xr

from vnlib.plots.statistics import raised, short
from vnlib.plots.tables import Table, frame, spreads

SOLVERS = {
    "vn_auto": "ours: default settle",
    "vn_cd": "ours: coordinate descent",
    "vn_line_search": "ours: line search",
    "vn_restart": "ours: FISTA, restarted",
    "fista": "plain FISTA",
    "sklearn_cd": "scikit-learn, coordinate descent",
    "sklearn_one": "scikit-learn, one by one",
    "sklearn_lars": "scikit-learn, LARS",
    "celer": "celer, one by one",
    "skglm": "skglm, one by one",
    "spams_lars": "SPAMS lasso",
    "spams_lars_cholesky": "SPAMS lasso, Cholesky",
}
OURS = [name for name in SOLVERS if name.startswith("vn_")]
SPAMS = [name for name in SOLVERS if name.startswith("spams_")]
METHODS = {
    "auto": "default settle",
    "cd": "coordinate descent",
    "line_search": "line search",
    "restart": "FISTA, restarted",
}
PLACES = {
    "size": "{}",
    "stack": "{}",
    "layers": "{} layers",
    "k": "{} atoms",
}  # how a place is named
PURSUITS = {
    "vn_omp": "ours",
    "vn_swaps": "ours, with exchanges",
    "spams_omp": "SPAMS",
    "sklearn_omp": "scikit-learn",
}
GAP = 1e-3  # of the targets
PRICED = "784x512x256"  # the size that the text speaks of


def micro(found: xr.Dataset) -> xr.DataArray:
    """Microseconds of the processor per sample; none where a gap was not reached."""
    values = 1e6 * found["cpu"] / found["n_samples"]
    return values.where(found["reached"] == 1) if "reached" in found else values


def targets(
    speed: xr.Dataset, stacks: xr.Dataset, pursuit: xr.Dataset, deep: xr.Dataset | None = None
) -> Table:
    """What the book wants of its solvers at a gap of 1e-3, and whether it is met wherever it was
    measured; `deep`: the times of `J_cost`, whose stacks have dense codes.
    """
    alone, joint, greedy = micro(speed).sel(gap=GAP), micro(stacks).sel(gap=GAP), micro(pursuit)
    own, best = (alone.sel(solver=names).min("solver") for names in (OURS, SPAMS))
    # what does not reach its gap has no time, and misses
    one, all_at_once = (found.fillna(float("inf")) for found in (alone, joint))
    one, all_at_once = one.sel(solver="vn_auto"), all_at_once.sel(solver="auto")
    masked = one["size"].str.match("784x512x.* masked")
    picked = greedy.sel(solver="vn_omp") / greedy.sel(solver="spams_omp")
    rows = {
        "default settle, times of SPAMS' best": _judged(one / best, 0.8),
        "default settle, times of our own best": _judged(one / own, 1.05),
        "default settle of dense stacks, times of line search": _judged(_by_depth(deep), 1.05),
        "784x512 masked, µs per sample": _judged(one[masked], 400),
        "stacks, times faster than line search": _judged(
            joint.sel(solver="line_search") / all_at_once, 3, least=True
        ),
        "orthogonal matching pursuit, times of SPAMS": _judged(picked, 1.2),
    }
    return Table(frame(rows, "target"), name="targets")


def _by_depth(deep: xr.Dataset | None) -> xr.DataArray:
    """Times of line search that the default settle takes, by the number of layers."""
    if deep is None:
        return xr.DataArray([], dims="layers")
    one = deep.sel(vary="depth").dropna("place", subset=["size"])
    over = one["time"].sel(task="settle") / one["time"].sel(task="line_search")
    layers = one["size"].isel(seed=0).astype(int).values
    return over.median(["repeat", "seed"]).rename(place="layers").assign_coords(layers=layers)


def _judged(found: xr.DataArray, bound: float, *, least: bool = False) -> dict[str, str]:
    """The bound, the worst place, in how many it holds, and the verdict."""
    said = {"wanted": f"{'≥' if least else '≤'} {bound:g}"}
    values = found.stack(place=found.dims).dropna("place")
    if not values.size:
        return said | {"worst": "", "where": "", "holds in": "", "verdict": "not measured"}
    worst = values.isel(place=int((-values if least else values).to_numpy().argmax()))
    places = zip(found.dims, worst["place"].item(), strict=True)
    names = [PLACES.get(str(dim), f"{dim} {{}}").format(at) for dim, at in places]
    holds = int((values >= bound if least else values <= bound).sum())
    return said | {
        "worst": short(float(worst)),
        "where": ", ".join(names),
        "holds in": f"{holds} of {values.size}",
        "verdict": "met" if holds == values.size else "missed",
    }


def numbers(
    speed: xr.Dataset, stacks: xr.Dataset, pursuit: xr.Dataset, deep: xr.Dataset | None = None
) -> dict[str, str]:
    """What the page's prose says: the price of a digit by the default settle, and by others."""
    price = micro(speed).sel(gap=GAP, size=PRICED)
    said = {f"appc-price-{n}".replace("_", "-"): price.sel(solver=n) for n in SOLVERS}
    verdicts = list(targets(speed, stacks, pursuit, deep).frame["verdict"])
    texts = {key: short(float(value)) for key, value in said.items()}
    slower = _by_depth(deep).max() if deep is not None else float("nan")
    texts |= {"appc-deep-slower": short(float(slower)), "appc-targets": str(len(verdicts))}
    return texts | {"appc-targets-met": str(verdicts.count("met"))}


def _power(gap: float) -> str:
    """A gap as rows name it: 0.001, 1 × 10⁻⁶."""
    return raised(f"{gap:g}")


def table(speed: xr.Dataset) -> Table:
    """Microseconds per sample of all problems and gaps; empty where the gap was not reached."""
    found = spreads(
        {"": micro(speed).transpose(..., "solver")}, "gap", "size", solver=SOLVERS, gap=_power
    )
    found = found.rename_axis(["gap", "size"])
    return Table(found, name="time per sample")


def wide(found: xr.Dataset | None) -> Table | str:
    """The same where the default settle forms no Gram matrix, and how many atoms are active."""
    if found is None:
        return "More atoms than 8,000 are measured in the profile `paper`."
    found = found.isel(gap=0, drop=True) if "gap" in found.dims else found
    columns = {"µs per sample": micro(found), "active atoms": found["active"]}
    shown = spreads(columns, "size", "solver", solver=SOLVERS)
    return Table(shown, name="time per sample, many atoms")


def calls(speed: xr.Dataset) -> Table:
    """What a call costs by itself, of the solvers that take one sample at a time."""
    overhead = (1e6 * speed["overhead"]).dropna("solver", how="all")
    share = 100 * overhead / micro(speed)
    columns = {
        "µs per call": overhead.median(["size", "gap"]),
        "least share of its time, %": share.min(["size", "gap"]),
        "largest share, %": share.max(["size", "gap"]),
    }
    return Table(spreads(columns, "solver", solver=SOLVERS), name="time of a call by itself")


def layers(stacks: xr.Dataset) -> Table:
    """Several layers: time to a relative gap of F, by the default settle and by sweeps."""
    found = micro(stacks)
    faster = found.sel(solver="line_search") / found.sel(solver="auto")
    columns = {
        "µs per sample": found.transpose(..., "solver"),
        "times faster than line search": faster,
    }
    shown = spreads(columns, "gap", "stack", "feedback", solver=METHODS, gap=_power)
    return Table(shown.rename_axis(["gap", "stack", "feedback"]), name="stacks of layers")


def picks(pursuit: xr.Dataset) -> Table:
    """Orthogonal matching pursuit: time, and what is left unexplained."""
    columns = {"µs per sample": micro(pursuit), "error, % of the power": 100 * pursuit["error"]}
    return Table(spreads(columns, "k", solver=PURSUITS), name="orthogonal matching pursuit")


def memory(found: xr.Dataset) -> Table:
    """What a settle takes: at its peak with the program, by itself, and per sample."""
    columns = {
        "peak, MB": found["peak"] / 1e6,
        "settle alone, MB": found["rise"] / 1e6,
        "per sample, kB": found["per_sample"] / 1e3,
    }
    shown = spreads(columns, "size", "solver", solver=METHODS).rename_axis(["size", "method"])
    return Table(shown, name="memory of the settle")


def cuda(speed: xr.Dataset) -> Table:
    """The solvers on a GPU: time by the clock, and the share of its rate in matrix products."""
    one = speed.where(speed["wall"].notnull())
    columns = {
        "µs per sample": 1e6 * one["wall"] / one["n_samples"],
        "share of the rate of one large product, %": 100 * one["gemm_share"],
    }
    shown = spreads(columns, "gap", "size", "solver", solver=SOLVERS, gap=_power)
    return Table(shown, name="time per sample on a GPU")
