"""The claim of VN App. C: whatever the schedule, the settle comes to the same point."""

from __future__ import annotations

import xarray as xr

from vnlib.book.evidence import part
from vnlib.book.ledger import Decision, claim

DISTANCE, HEIGHT = 1e-3, 1e-6  # of the codes, and of F above its minimum; both relative
SAVES = 2.0  # momentum must save this factor of layer steps


@claim(
    id="VN-C",
    source="VN App. C",
    figure="appC-same-point",
    statement="Sweeps, staggered and fully recurrent schedules, plain and accelerated proximal "
    "steps, and cold, warm, resumed and random starts settle to the same fixed point; steps of "
    "1/L descend, and a sweep that raises the energy can be taken back.",
)
def same_point(r: xr.Dataset) -> Decision:
    """Ends of all settles, what safeguards change, and what momentum and earlier codes save."""
    names = ("end_distance", "end_height", "start_distance", "start_end")
    distance, height, start_distance, start_height = (float(r[name].max()) for name in names)
    rises, capped, relu = (float(r[name].max()) for name in ("rises", "cap_height", "relu_spread"))
    rejecting = r[["guard_rises", "guard_distance"]].sel(safeguard="reject").max()
    guard = {name: float(value) for name, value in rejecting.items()}
    resumed = float(r["resumed"].all())
    starts = {"start_distance": start_distance, "start_height": start_height, "resumed": resumed}
    sweeps, warm = (r[name].sel(level=1e-3).median("seed") for name in ("needed", "start_needed"))
    saved = float((sweeps.sel(solver="ista") / sweeps.drop_sel(solver="ista")).min())
    earlier = float((warm.sel(start="cold") / warm.sel(start="earlier codes")).min())
    meet = distance <= DISTANCE and height <= HEIGHT
    starts_meet = start_distance <= DISTANCE and start_height <= HEIGHT and resumed == 1
    safe = guard["guard_rises"] == 0 and guard["guard_distance"] <= DISTANCE
    parts = [
        part("all schedules and methods end in one point", meet, distance=distance, height=height),
        part("so do all starts; resuming changes no bit", starts_meet, **starts),
        part("plain steps of 1/L never raise F", rises == 0, rises=rises),
        part("accept/reject never raises F, and changes no end", safe, **guard),
    ]
    controls = [
        *parts,
        part("with a hard top-k, too, one energy", capped <= HEIGHT, capped_height=capped),
        part("with ReLU messages, too, one point", relu <= DISTANCE, relu_distance=relu),
        part("momentum halves the sweeps", saved >= SAVES, saved_by_momentum=saved),
        part("earlier codes save sweeps", earlier > 1, saved_by_earlier_codes=earlier),
    ]
    return Decision(parts, controls)
