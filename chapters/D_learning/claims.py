"""The claims of VN App. D: what the slow local rule changes, and what it leaves alone."""

from __future__ import annotations

import xarray as xr

from benchmarks.baselines.longer import lasting
from benchmarks.baselines.paired import over
from vnlib.book.evidence import bounded, compared, detail, part, spearman
from vnlib.book.ledger import Decision, claim

DENSE = ("linear", "whitened", "ReLU")


def main_network(r: xr.Dataset) -> str:
    """The network of the sparsity that the chapter works with."""
    return next(name for name in r["stepped"].values.tolist() if name.startswith("VN"))


def growth(r: xr.Dataset, name: str, variant: str) -> xr.DataArray:
    """Relative growth by an option in every cell of the upkeep table, median over seeds."""
    cells = r[f"upkeep_{name}"]
    return (cells.sel(variant=variant) / cells.sel(variant="as it is") - 1).median("seed")


def ranks(x: xr.DataArray, y: xr.DataArray, dim: str) -> xr.DataArray:
    """Rank correlation of two quantities along a dimension, for every seed."""
    return xr.apply_ufunc(spearman, x, y, input_core_dims=[[dim]] * 2, vectorize=True)


@claim(
    id="VN-Da",
    source="VN App. D, Eqs. 26-30",
    figure="appD-local",
    parts=["longer"],
    statement="The update of an atom is the residual times its own coefficient: exactly zero for "
    "atoms that the batch does not use.",
    terms="Idle atoms are those that no sample of the batch uses. Means are over updates and sizes of "
    "batches; of these, as of growth, medians over seeds.",
)
@lasting
def locality(r: xr.Dataset) -> Decision:
    told, moved = r["local_idle_direction"].max(), r["local_idle_moved"]
    kept = moved.sel(optimiser=["masked Adam", "SGD"]).max()
    adam, idle = moved.sel(optimiser="Adam"), r["local_idle"].sel(optimiser="masked Adam")
    adam, idle = (
        values.mean([d for d in values.dims if d != "seed"]).median("seed")
        for values in (adam, idle.isel(batch_size=-1))
    )
    gain = growth(r, "mse", "without the mask").max()
    saved = "largest growth of test error without the mask in the upkeep table"
    moves = "share of idle atoms that Adam without the mask moves, mean"
    printed = [
        detail(
            part("the update of idle atoms is exactly 0", told == 0, largest_idle_direction=told)
        ),
        detail(part("masked Adam and SGD leave them bit for bit", kept == 0, share_moved=kept)),
        bounded(moves, ">=", 0.9, share_moved_unmasked=adam),
    ]
    controls = [
        bounded("idle share in the largest batch, mean", ">=", 0.05, idle_share_largest_batch=idle),
        bounded(saved, ">=", 0.05, error_without_mask_above=gain),
    ]
    return Decision(printed, printed + controls)


@claim(
    id="VN-Db",
    source="VN App. D; Sec. 3.4",
    figure="appD-overlap",
    parts=["longer"],
    statement="Updates of different samples interfere only through atoms that both use, so sparse "
    "codes limit interference, unlike dense layers.",
    terms="Updates of two test samples overlap by the size of their cosine; a step on one passes "
    "on the change of the other's loss relative to its own. Medians over pairs, then over seeds. The "
    "linear autoencoder with a whitened code computes the same function as the trained one.",
)
@lasting
def interference(r: xr.Dataset) -> Decision:
    vn, size, passed = main_network(r), abs(r["meet_pair_cosine"]), abs(r["passed_on"])
    own, support = size.sel(model=vn), r["meet_pair_overlap"].sel(model=vn)
    low, high = (support.quantile(q, "pair") for q in (0.25, 0.75))
    quarter = own.where(support <= low).median("pair") / own.where(support >= high).median("pair")
    quarter, rises_by = quarter.median("seed"), ranks(support, own, "pair").median("seed")
    size, passed = size.median("pair"), passed.median("arrow").rename(stepped="model")
    overlap, passed = (
        {f"{name}_vs_{m}": over(value.sel(model=vn), value.sel(model=m)) for m in DENSE}
        for name, value in (("overlap", size), ("passed_on", passed))
    )
    white = overlap.pop("overlap_vs_whitened")
    hurt = (r["passed_on"] < 0).mean("arrow")
    own_hurt, others = hurt.sel(stepped=vn), hurt.sel(stepped=list(DENSE))
    rises = "rank correlation of the overlap of updates with that of supports"
    quarters = "overlap in the quarter of pairs whose supports overlap least over that of the most"
    seldom = "share of pairs that a step hurts at most that of any dense model"
    told = {"hurt_share": own_hurt.median("seed"), "hurt_share_dense": others.median("seed").min()}
    printed = [
        bounded(rises, ">=", 0.3, spearman=rises_by),
        bounded(quarters, "<=", 0.5, low_to_high_quarter=quarter),
        bounded("overlap over that in each autoencoder as trained", "<=", 0.5, **overlap),
    ]
    controls = [
        bounded("overlap over that with a whitened code", "<", 1, overlap_vs_whitened=white),
        bounded("what a step passes on over that in each dense model", "<", 1, **passed),
        compared(seldom, over(own_hurt, others), "<=", 1.0, **told),
    ]
    return Decision(printed, printed + controls)


@claim(
    id="VN-Dc",
    source="VN App. D; Sec. 3.4",
    figure="appD-upkeep",
    parts=["longer"],
    statement="Renormalisation, DC removal, a decorrelation step and the re-drawing of dead atoms "
    "keep the dictionary in shape.",
    terms="Medians over seeds of the upkeep table; growth is relative, in the worst cell.",
)
@lasting
def upkeep(r: xr.Dataset) -> Decision:
    dead = r["upkeep_dead"].median("seed").sel(start="chance").isel(upkeep_sparsity=-1)
    dead, redrawn = dead.sel(variant="as it is"), dead.sel(variant="dead atoms re-drawn")
    coherence, error, active = (
        growth(r, name, "decorrelated") for name in ("coherence", "mse", "active")
    )
    dc, centred = (growth(r, "mse", f"DC removed{on}") for on in ("", ", centred data"))
    died = "share of atoms dead at the sparser setting, started by chance"
    apart, costs = "by decorrelation", "growth of test error by DC removal"
    both = [
        bounded(died, ">=", 0.1, dead=dead)
        & bounded("where re-drawn", "<=", 0.02, dead_redrawn=redrawn),
        bounded(f"growth of coherence {apart}", "<", 0, coherence_change=coherence)
        & bounded("of test error", "<=", 0.1, error_decorrelated_above=error),
    ]
    plain = bounded(costs, "<=", 0.1, error_dc_removed_above=dc)
    controls = [
        bounded(f"{costs}, centred samples", "<=", 0.1, error_centred_above=centred),
        bounded(f"growth of active atoms {apart}", "<=", 0.1, active_decorrelated_above=active),
    ]
    return Decision([*both, plain], both + controls)


@claim(
    id="VN-Dd",
    source="VN Eq. 9; App. D, Eq. 27",
    figure="appD-interface",
    parts=["longer"],
    statement="The same residual x coefficient rule learns the interface dictionary U.",
    terms="Two layers, after training, medians over seeds. The strict error is that of the reading from "
    "the top code down. U learns by the literal rule, or by the subspace rule, our addition.",
)
@lasting
def interface(r: xr.Dataset) -> Decision:
    last = r[[f"interface_{name}" for name in ("energy", "mse", "mse_from_top")]].isel(stage=-1)
    energy, strict = last["interface_energy"], last["interface_mse_from_top"]
    ratio = (last / last.sel(rule="frozen")).median("seed")
    literal, ours = ratio.sel(rule="literal"), ratio.sel(rule="subspace")
    told, seen = ours["interface_mse_from_top"], abs(ours["interface_mse"] - 1)
    beside, rank = "over that with a frozen U", ranks(energy, strict, "rule").median("seed")
    errors = {"strict_error_vs_frozen": literal["interface_mse_from_top"]}
    printed = [
        bounded(
            f"energy F, literal rule, {beside}",
            "<",
            1,
            energy_vs_frozen=literal["interface_energy"],
        ),
        bounded(f"strict error, literal rule, {beside}", "<=", 1, **errors),
    ]
    controls = [
        bounded(
            "rank correlation of F and the strict error, all rules", ">", 0, spearman_F_error=rank
        ),
        bounded(f"strict error, subspace rule, {beside}", "<=", 0.75, subspace_error_vs_frozen=told)
        & bounded("change of the error of V a", "<=", 0.05, subspace_seen_change=seen),
    ]
    return Decision(printed, printed + controls)
