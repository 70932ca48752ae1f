"""The claim of VN App. C: whatever the schedule, the settle comes to the same point."""

from __future__ import annotations

import xarray as xr

from benchmarks.baselines.paired import over
from vnlib.book.evidence import bounded, detail, part
from vnlib.book.ledger import Decision, claim

NEAR, LOW = 1e-3, 1e-6  # distance of the codes, and height of F above its minimum; both relative


@claim(
    id="VN-C",
    source="VN App. C",
    figure="appC-same-point",
    statement="Sweeps, staggered and fully recurrent schedules, plain and accelerated proximal "
    "steps, and cold, warm, resumed and random starts settle to the same fixed point; steps of "
    "1/L descend, and a sweep that raises the energy can be taken back.",
    terms="Codes and F are compared, relatively, with a settle to a duality gap of 10⁻¹³: worst of "
    "seeds, digits, 1 to 3 layers, beta 0.1 and 1, ISTA, FISTA, restarts and line search, with l1 "
    "penalties and identity messages if not said otherwise. Sweeps, to within a thousandth of F, are "
    "medians over digits and seeds, of ratios within seeds.",
)
def same_point(r: xr.Dataset) -> Decision:
    resumed, reject = r["resumed"].all(), r.sel(safeguard="reject")
    sweeps, warm = (r[name].sel(level=1e-3) for name in ("needed", "start_needed"))
    saved = over(sweeps.sel(solver="ista"), sweeps.drop_sel(solver="ista")).min()
    earlier = over(warm.sel(start="cold"), warm.sel(start="earlier codes")).min()
    momentum = "sweeps of ISTA over those of every other method, all stacks and schedules"
    codes = "sweeps from zero over those from codes of one pass through the data before"
    printed = [
        bounded("distance of the codes, all schedules", "<=", NEAR, distance=r["end_distance"])
        & bounded("height of F", "<=", LOW, height=r["end_height"]),
        bounded("distance, all starts", "<=", NEAR, start_distance=r["start_distance"])
        & bounded("height of F", "<=", LOW, start_height=r["start_end"])
        & part("30 + 30 sweeps give the bits of 60", resumed, resumed=resumed),
        detail(bounded("share of plain steps of 1/L that raise F", "<=", 0, rises=r["rises"])),
        bounded(
            "share of plain steps that raise F, with accept/reject",
            "<=",
            0,
            guard_rises=reject["guard_rises"],
        )
        & bounded("distance", "<=", NEAR, guard_distance=reject["guard_distance"]),
    ]
    controls = [
        bounded("height of F, hard top-k, all trials", "<=", LOW, capped_height=r["cap_height"]),
        bounded("distance, ReLU messages, all trials", "<=", NEAR, relu_distance=r["relu_spread"]),
        bounded(momentum, ">=", 2, saved_by_momentum=saved),
        bounded(codes, ">", 1, saved_by_earlier_codes=earlier),
    ]
    return Decision(printed, printed + controls)
