"""The claim of FR App. F.2: between two angles the network blends two images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from vnlib.book.ledger import Decision, Part, claim

PAPER_DIGIT = 4
INNER = ["layer1", "layer2"]
RESTS = ("rest_blend", "rest_truth", "rest_rotation", "rest_null", "rest_mean")


def _chosen(r: xr.Dataset, model: str) -> xr.Dataset:
    """One model's runs. KeyError names what lacks."""
    if model not in r["model"].values:
        raise KeyError(f"the model(s) {model}")
    if PAPER_DIGIT not in r["digit"].values:
        raise KeyError(f"the digit {PAPER_DIGIT}")
    return r.sel(model=model)


def _middle(r: xr.Dataset) -> dict[str, xr.DataArray]:
    """Per digit: medians over seeds of what is left, on average over the middle half of the gap."""
    angle = r["gap_angle"].values
    quarter = (angle[-1] - angle[0]) / 4
    inner = (angle >= angle[0] + quarter) & (angle <= angle[-1] - quarter)
    return {
        name: r[name].isel(gap_angle=np.flatnonzero(inner)).mean("gap_angle").median("seed")
        for name in RESTS
    }


def _said(name: str, values: xr.DataArray) -> dict[str, float]:
    return {f"{int(digit)}.{name}": float(values.sel(digit=digit)) for digit in values["digit"]}


def _parts(r: xr.Dataset, digits: Sequence[int], share: float) -> list[Part]:
    """What the paper says, for some digits; `share` is what a blend must explain of the outputs."""
    r = r.sel(digit=list(digits))
    hump = (r["mse_ood"] / r["mse_id"]).median("seed")
    rest = _middle(r)
    explained, of_truth = (
        1 - rest["rest_blend"] / rest["rest_mean"],
        rest["rest_blend"] / rest["rest_truth"],
    )
    angle = r["gap_angle"]
    # Angles lie strictly between the ends of the gap, one step away from each.
    step = float(angle[1] - angle[0])
    line = (angle - angle[0] + step) / (angle[-1] - angle[0] + 2 * step)
    bend = abs(r["weight"] - line).mean("gap_angle").median("seed")
    steps = r["ring_step"].sel(layer=INNER).median("seed")
    even = bool(((steps >= 0.5) & (steps <= 2)).all())
    near = bool((of_truth <= 0.5).all())
    straight = bool((bend <= 0.15).all())
    return [
        Part("the error has a hump in the gap", bool((hump >= 5).all()), _said("hump", hump)),
        Part(
            f"a blend of the edge images explains {100 * share:.0f} % of the output",
            bool((explained >= share).all()),
            _said("explained", explained),
        ),
        Part("and is nearer to it than the true image", near, _said("blend_to_truth", of_truth)),
        Part(
            "the weight of the blend grows in proportion to the angle",
            straight,
            _said("bend", bend),
        ),
        Part("the layers cross the gap evenly", even, _said("ring_step", steps.mean("layer"))),
    ]


@claim(
    id="FR-5",
    source="FR Fig. 9, App. F.2",
    chapter="FR5_rotation",
    figure="FR5-blend",
    statement="A network that draws a rotated digit fails inside the left-out angles: there it "
    "draws linear blends of the images at the two ends of the gap, while its layers stay smooth.",
    rule="Digit 4, medians over seeds; the middle is the middle half of the gap: (a) the OOD "
    "error is at least 5x the ID test error; (b) in the middle the best convex blend of the two "
    "edge images explains at least half of the output's squared distance from the mean training "
    "image, and (c) leaves at most half of what the true image leaves; (d) the blend's weight is "
    "within 0.15 of proportional to the angle, on average over the gap; (e) the median step "
    "between neighbouring angles is 0.5 to 2 times as long inside the gap as outside, in both "
    "hidden layers. Fair: the same for every digit of the chapter, with 80 % in (b); (f) for "
    "every digit the blend is nearer than the best single rotation, which has one free number "
    "too, and than the best blend of two images a quarter turn away; (g) so it is for the same "
    "network with four frequencies of the angle in its code.",
)
def _rotation(r: xr.Dataset) -> Decision:
    paper, more = _chosen(r, "cnn"), _middle(_chosen(r, "cnn_4"))
    rest = _middle(paper)
    rival = np.minimum(rest["rest_rotation"], rest["rest_null"])
    fair = [
        *_parts(paper, paper["digit"].values, 0.8),
        Part(
            "the blend is nearer than any rotation or other blend",
            bool((rest["rest_blend"] < rival).all()),
            _said("blend_to_rival", rest["rest_blend"] / rival),
        ),
        Part(
            "and so it is with four frequencies",
            bool((more["rest_blend"] < more["rest_rotation"]).all()),
            _said("cnn_4.blend_to_rotation", more["rest_blend"] / more["rest_rotation"]),
        ),
    ]
    return Decision(_parts(paper, [PAPER_DIGIT], 0.5), fair)
