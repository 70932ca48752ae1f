"""The claim of FR App. F.2: between two angles the network blends two images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from benchmarks.baselines.paired import over
from benchmarks.spatial.claims import settled
from vnlib.book.evidence import detail, every, given, one, select, within
from vnlib.book.ledger import Decision, Part, claim

PAPER_DIGIT = 4
HIDDEN_LAYERS = ["layer1", "layer2"]
EXPLANATIONS = ("rest_blend", "rest_truth", "rest_rotation", "rest_null", "rest_mean")


def middle_of_gap(results: xr.Dataset) -> xr.Dataset:
    """What is left of the output by each explanation, mean over the middle half of the gap, where
    a blend and a rotation differ most.
    """
    angle = results["gap_angle"].values
    quarter = (angle[-1] - angle[0]) / 4
    middle = (angle >= angle[0] + quarter) & (angle <= angle[-1] - quarter)
    return results[list(EXPLANATIONS)].isel(gap_angle=np.flatnonzero(middle)).mean("gap_angle")


def _as_printed(r: xr.Dataset, said: str, digits: Sequence[int], share: float) -> list[Part]:
    """What the paper says, for some digits; `share` is what a blend must explain of the outputs."""
    r = select(r, digit=digits)
    rest = middle_of_gap(r)
    # Angles are evenly spaced and lie strictly between the ends of the gap.
    line = xr.DataArray(np.linspace(0, 1, r.sizes["gap_angle"] + 2)[1:-1], dims="gap_angle")
    bend = abs(r["weight"] - line).mean("gap_angle").median("seed")
    steps = r["ring_step"].sel(layer=HIDDEN_LAYERS).median("seed")
    hump = over(r["mse_ood"], r["mse_id"])
    explained = 1 - over(rest["rest_blend"], rest["rest_mean"])
    truth = over(rest["rest_blend"], rest["rest_truth"])
    even = f"{said}: steps of a hidden layer inside the gap over those outside"
    return [
        every(f"{said}: error in the gap over ID test error", ">=", 5, hump=hump),
        every(
            f"{said}: share of the output that the blend explains", ">=", share, explained=explained
        ),
        every(
            f"{said}: rest of the blend over that of the true image",
            "<=",
            0.5,
            blend_to_truth=truth,
        ),
        every(
            f"{said}: mean distance of the blend's weight from proportional", "<=", 0.15, bend=bend
        ),
        within(even, 0.5, 2, ring_step=steps),
    ]


@claim(
    id="FR-5",
    source="FR Fig. 9, App. F.2",
    figure="FR5-blend",
    statement="A network that draws a rotated digit fails inside the left-out angles: there it "
    "draws linear blends of the images at the two ends of the gap, while its layers stay smooth.",
    terms="All are medians over seeds, of ratios within seeds. The "
    "blend is the best convex one of the images at the two ends of the gap; in the middle half of "
    "the gap its rest is its squared distance from the output, and it explains a share of that of "
    "the mean training image. Its weight should be proportional to the angle. A step is the median "
    "distance between neighbouring angles.",
)
def blends_in_the_gap(r: xr.Dataset) -> Decision:
    def to_rival(digits: Sequence[int]) -> xr.DataArray:
        rest = middle_of_gap(select(printed, digit=digits))
        return over(rest["rest_blend"], np.minimum(rest["rest_rotation"], rest["rest_null"]))

    printed, wider = (one(r, model=name) for name in ("cnn", "cnn_4"))
    own, others = [PAPER_DIGIT], [d for d in printed["digit"].values if d != PAPER_DIGIT]
    more = middle_of_gap(select(wider, digit=own))
    to_rotation = over(more["rest_blend"], more["rest_rotation"])
    curves = select(wider[["curve_step", "curve_val"]], digit=own)
    rival = (
        "rest of the blend over that of the best single rotation, and over that of the best blend "
        "of two images a quarter turn away"
    )
    again = "four frequencies in the code: rest of the blend over that of the best rotation"
    wide = "other digits"
    controls = [
        *_as_printed(printed, "digit 4", own, 0.8),
        every(f"digit 4: {rival}", "<", 1, blend_to_rival=to_rival(own)),
        given(
            detail(every(f"digit 4, {again}", "<", 1, **{"cnn_4.blend_to_rotation": to_rotation})),
            settled(curves, "four frequencies"),
        ),
        *map(detail, _as_printed(printed, wide, others, 0.8)),
        detail(every(f"{wide}: {rival}", "<", 1, blend_to_rival=to_rival(others))),
    ]
    return Decision(_as_printed(printed, "digit 4", own, 0.5), controls)
