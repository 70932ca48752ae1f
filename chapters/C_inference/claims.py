"""The claim of VN App. C: whatever the schedule, the settle comes to the same point."""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr

from vnlib.book.ledger import Decision, Part, claim

DISTANCE, HEIGHT = 1e-3, 1e-6  # of the codes, and of F above its minimum; both relative
SAVES = 2.0  # momentum must save this factor of layer steps


@claim(
    id="VN-C",
    source="VN App. C",
    chapter="C_inference",
    figure="appC-same-point",
    statement="Sweeps, staggered and fully recurrent schedules, plain and accelerated proximal "
    "steps, and cold, warm, resumed and random starts settle to the same fixed point; steps of "
    "1/L descend, and a sweep that raises the energy can be taken back.",
    rule="Against a settle to a relative duality gap of 1e-13; worst over seeds, test digits, "
    "stacks of 1 to 3 layers and beta 0.1 and 1, with l1 penalties and identity messages. (a) "
    "Every schedule with every method (ISTA, FISTA, restarted, line search) ends within 1e-3 of "
    "the codes and 1e-6 of F, relatively. (b) So does every warm and random start, and 30 + 30 "
    "sweeps give the bits of 60. (c) Plain steps of 1/L never raise F, in any schedule. (d) With "
    "accept/reject no method raises F, and all end within 1e-3 of the codes. With controls: (e) with a "
    "hard top-k, too, all trials end within 1e-6 of the lowest F; (f) with ReLU messages, too, "
    "all end within 1e-3 of the same codes; (g) in every stack and schedule, FISTA, restarts and "
    "line search each come within 1e-3 of F in at most half of plain ISTA's sweeps (medians over "
    "digits and seeds); (h) codes from one pass through the data before save sweeps, with every "
    "method (medians).",
)
def same_point(r: xr.Dataset) -> Decision:
    """Ends of all settles, what safeguards change, and what momentum and earlier codes save."""

    def worst(*names: str, of: xr.Dataset = r) -> dict[str, float]:
        return {name: float(of[name].max()) for name in names}

    def near(found: Mapping[str, float], distance: str, height: str) -> bool:
        return found[distance] <= DISTANCE and found[height] <= HEIGHT

    ends, starts = worst("end_distance", "end_height"), worst("start_distance", "start_end")
    guard = worst("guard_rises", "guard_distance", of=r.sel(safeguard="reject"))
    resumed, limits = bool(r["resumed"].all()), worst("rises", "cap_height", "relu_spread")
    sweeps, started = (
        r[name].sel(level=1e-3).median("seed") for name in ("needed", "start_needed")
    )
    saved = float((sweeps.sel(solver="ista") / sweeps.drop_sel(solver="ista")).min())
    warm = float((started.sel(start="cold") / started.sel(start="earlier codes")).min())
    parts = [
        Part(
            "all schedules and methods end in one point",
            near(ends, "end_distance", "end_height"),
            {"distance": ends["end_distance"], "height": ends["end_height"]},
        ),
        Part(
            "so do all starts; resuming changes no bit",
            near(starts, "start_distance", "start_end") and resumed,
            {
                "start_distance": starts["start_distance"],
                "start_height": starts["start_end"],
                "resumed": float(resumed),
            },
        ),
        Part("plain steps of 1/L never raise F", limits["rises"] == 0, {"rises": limits["rises"]}),
        Part(
            "accept/reject never raises F, and changes no end",
            guard["guard_rises"] == 0 and guard["guard_distance"] <= DISTANCE,
            guard,
        ),
    ]
    controls = (
        ("with a hard top-k, too, one energy", "capped_height", limits["cap_height"], HEIGHT),
        ("with ReLU messages, too, one point", "relu_distance", limits["relu_spread"], DISTANCE),
    )
    return Decision(
        parts,
        [
            *parts,
            *(Part(says, value <= most, {key: value}) for says, key, value, most in controls),
            Part("momentum halves the sweeps", saved >= SAVES, {"saved_by_momentum": saved}),
            Part("earlier codes save sweeps", warm > 1, {"saved_by_earlier_codes": warm}),
        ],
    )
