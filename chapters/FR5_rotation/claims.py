"""The claim of FR App. F.2: between two angles the network blends two images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from vnlib.book.evidence import of, one
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


def _part(says: str, holds: xr.DataArray, name: str, values: xr.DataArray) -> Part:
    """A statement that must hold for every digit, with a number for each."""
    numbers = {f"{digit}.{name}": value for digit, value in values.to_series().items()}
    return Part(says, bool(holds.all()), numbers)


def _as_printed(r: xr.Dataset, digits: Sequence[int], share: float) -> list[Part]:
    """What the paper says, for some digits; `share` is what a blend must explain of the outputs."""
    r = of(r, digit=digits)
    hump = (r["mse_ood"] / r["mse_id"]).median("seed")
    rest = middle_of_gap(r).median("seed")
    truth = rest["rest_blend"] / rest["rest_truth"]
    explained = 1 - rest["rest_blend"] / rest["rest_mean"]
    # Angles are evenly spaced and lie strictly between the ends of the gap.
    line = xr.DataArray(np.linspace(0, 1, r.sizes["gap_angle"] + 2)[1:-1], dims="gap_angle")
    bend = abs(r["weight"] - line).mean("gap_angle").median("seed")
    steps = r["ring_step"].sel(layer=HIDDEN_LAYERS).median("seed")
    explains = f"a blend of the edge images explains {100 * share:.0f} % of the output"
    in_proportion = "the weight of the blend grows in proportion to the angle"
    even = (steps >= 0.5) & (steps <= 2)
    return [
        _part("the error has a hump in the gap", hump >= 5, "hump", hump),
        _part(explains, explained >= share, "explained", explained),
        _part("and is nearer to it than the true image", truth <= 0.5, "blend_to_truth", truth),
        _part(in_proportion, bend <= 0.15, "bend", bend),
        _part("the layers cross the gap evenly", even, "ring_step", steps.mean("layer")),
    ]


@claim(
    id="FR-5",
    source="FR Fig. 9, App. F.2",
    figure="FR5-blend",
    statement="A network that draws a rotated digit fails inside the left-out angles: there it "
    "draws linear blends of the images at the two ends of the gap, while its layers stay smooth.",
)
def blends_in_the_gap(r: xr.Dataset) -> Decision:
    printed, wider = (one(r, model=name) for name in ("cnn", "cnn_4"))
    rest, more = (middle_of_gap(results).median("seed") for results in (printed, wider))
    to_rival = rest["rest_blend"] / np.minimum(rest["rest_rotation"], rest["rest_null"])
    to_rotation = more["rest_blend"] / more["rest_rotation"]
    nearest = "the blend is nearer than any rotation or other blend"
    also = "and so it is with four frequencies"
    controls = [
        *_as_printed(printed, printed["digit"].values, 0.8),
        _part(nearest, to_rival < 1, "blend_to_rival", to_rival),
        _part(also, to_rotation < 1, "cnn_4.blend_to_rotation", to_rotation),
    ]
    return Decision(_as_printed(printed, [PAPER_DIGIT], 0.5), controls)
