"""The claim of VN App. C: whatever the schedule, the settle comes to the same point."""

from __future__ import annotations

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
    "accept/reject no method raises F, and all end within 1e-3 of the codes. Fair: (e) with a "
    "hard top-k, too, all trials end within 1e-6 of the lowest F; (f) with ReLU messages, too, "
    "all end within 1e-3 of the same codes; (g) in every stack and schedule, FISTA, restarts and "
    "line search each come within 1e-3 of F in at most half of plain ISTA's sweeps (medians over "
    "digits and seeds); (h) codes from one pass through the data before save sweeps, with every "
    "method (medians).",
)
def _same_point(r: xr.Dataset) -> Decision:
    distance, height = float(r["end_distance"].max()), float(r["end_height"].max())
    start_distance, start_height = float(r["start_distance"].max()), float(r["start_end"].max())
    resumed, rises = bool(r["resumed"].all()), float(r["rises"].max())
    guarded = r.sel(safeguard="reject")
    guard_rises, guard_distance = (
        float(guarded["guard_rises"].max()),
        float(guarded["guard_distance"].max()),
    )
    parts = [
        Part(
            "all schedules and methods end in one point",
            distance <= DISTANCE and height <= HEIGHT,
            {"distance": distance, "height": height},
        ),
        Part(
            "so do all starts; resuming changes no bit",
            start_distance <= DISTANCE and start_height <= HEIGHT and resumed,
            {
                "start_distance": start_distance,
                "start_height": start_height,
                "resumed": float(resumed),
            },
        ),
        Part("plain steps of 1/L never raise F", rises == 0, {"rises": rises}),
        Part(
            "accept/reject never raises F, and changes no end",
            guard_rises == 0 and guard_distance <= DISTANCE,
            {"guard_rises": guard_rises, "guard_distance": guard_distance},
        ),
    ]
    capped, relu = float(r["cap_height"].max()), float(r["relu_spread"].max())
    sweeps = r["needed"].sel(level=1e-3).median("seed")
    saved = float((sweeps.sel(solver="ista") / sweeps.drop_sel(solver="ista")).min())
    starts = r["start_needed"].sel(level=1e-3).median("seed")
    warm = float((starts.sel(start="cold") / starts.sel(start="earlier codes")).min())
    fair = [
        *parts,
        Part("with a hard top-k, too, one energy", capped <= HEIGHT, {"capped_height": capped}),
        Part("with ReLU messages, too, one point", relu <= DISTANCE, {"relu_distance": relu}),
        Part("momentum halves the sweeps", saved >= SAVES, {"saved_by_momentum": saved}),
        Part("earlier codes save sweeps", warm > 1, {"saved_by_earlier_codes": warm}),
    ]
    return Decision(parts, fair)
