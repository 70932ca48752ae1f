"""Images drawn by one trained model, over sets in and out of distribution (VN Fig. 5).

Errors are mean squares per pixel, in units of ink squared: an image without ink is 0, full ink 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from benchmarks.images.pictures import Images, Trained
from vnlib import checks

READINGS = ("own", "top", "searched")
EVALUATIONS = 10  # of the validation error in training that are kept


def pixels(images: np.ndarray | xr.DataArray, device: torch.device | str = "cpu") -> Images:
    """Images (batch, y, x) as float32 rows, as models see them."""
    return (
        torch.from_numpy(np.ascontiguousarray(np.asarray(images), np.float32)).flatten(1).to(device)
    )


def measure(
    validation: Images,
    model: Trained,
    *,
    tests: xr.Dataset | None = None,
    few: int = 200,
    details: bool = False,
    device: torch.device | str = "cpu",
) -> xr.Dataset:
    """All that is measured of one model.

    Always: `criterion`, the error of "own" on validation images; `curve` (evaluation), the
    validation error at tenths of the evaluations in training; `fact_...` of the model.

    With tests: `mse` (reading, set), NaN for readings that the model lacks; `zero_baseline` (set),
    the mean square of the images, which is the error of the zero image; `active` (layer, set), mean
    nonzero units per image, layers counted from 1; for a model with a path of at least two stages
    `path_error` (stage), on validation images, and `path_mse` (stage, set). With details also
    `case` (set, sample), the error of "own" for every image, and `truth` (set, y, x) and `drawn`
    (reading, set, y, x): the image of each set whose own mean square is the lower median of the
    set.

    Parameters
    ----------
    validation
        Images in distribution, which select.
    tests
        `image` (set, sample, y, x); None while settings are chosen, which must not see them.
    few
        How many images of each set the reading "searched" is measured on, the first ones, since it
        optimises a code for each.
    details
        Errors of single images, and pictures.

    Raises
    ------
    ValueError
        For a model without the reading "own" or with one not in `READINGS`, and unless few >= 1.
    """
    for name in model.readings:
        checks.choice("each reading", name, READINGS)
    if "own" not in model.readings:
        raise ValueError(
            f"readings must hold 'own', got {', '.join(map(repr, model.readings)) or 'none'}"
        )
    checks.number("few", few, low=1, integer=True)
    parts = [_validation(validation, model)]
    if tests is not None:
        sets = {
            str(name): pixels(tests["image"].sel(set=name), device) for name in tests["set"].values
        }
        axis = xr.DataArray(list(sets), dims="set", name="set")
        errors = xr.concat([_errors(x, model, few) for x in sets.values()], axis)
        parts += [errors if details else errors.drop_vars("case"), _path(sets, model)]
        if details:
            parts.append(_pictures(sets, model, tests["image"].shape[2:]))
    return xr.merge(parts, compat="no_conflicts", join="outer")


def _validation(held: Images, model: Trained) -> xr.Dataset:
    curve = np.full(EVALUATIONS, np.nan)
    if model.curve:
        # Training may have fewer evaluations than tenths (few steps): the last value so far.
        at = np.ceil(np.arange(1, EVALUATIONS + 1) * len(model.curve) / EVALUATIONS).astype(int) - 1
        curve = np.asarray(model.curve)[at]
    values = {
        "criterion": float(_squares(model.readings["own"](held), held).mean()),
        "curve": ("evaluation", curve),
    }
    facts = {f"fact_{name}": float(value) for name, value in model.facts.items()}
    return xr.Dataset(values | facts, {"evaluation": np.arange(1, EVALUATIONS + 1) / EVALUATIONS})


def _errors(x: Images, model: Trained, few: int) -> xr.Dataset:
    """Errors and active units of one set.

    All that concerns it is asked at once: a settle may be remembered.
    """
    mse = dict.fromkeys(READINGS, np.nan)
    for name, draw in model.readings.items():
        asked = x[:few] if name == "searched" else x
        squares = _squares(draw(asked), asked)
        mse[name] = float(squares.mean())
        if name == "own":
            case = squares.float().cpu().numpy()
            units = model.active(x).double().mean(1).cpu().numpy() if model.active else np.zeros(0)
    values = {
        "mse": ("reading", list(mse.values())),
        "zero_baseline": float(x.double().square().mean()),
        "case": ("sample", case),
    }
    if len(units):
        values["active"] = ("layer", units)
    return xr.Dataset(
        values,
        {"reading": list(mse)} | ({"layer": np.arange(1, len(units) + 1)} if len(units) else {}),
    )


def _path(sets: Mapping[str, Images], model: Trained) -> xr.Dataset:
    """Errors of the model along its training; nothing without a path of at least two stages."""
    if len(model.path) < 2:
        return xr.Dataset()
    mse = [
        [float(_squares(stage.draw(x), x).mean()) for x in sets.values()] for stage in model.path
    ]
    return xr.Dataset(
        {
            "path_error": ("stage", [stage.error for stage in model.path]),
            "path_mse": (("stage", "set"), mse),
        },
        {"stage": np.arange(len(model.path)), "set": list(sets)},
    )


def _pictures(sets: Mapping[str, Images], model: Trained, size: Sequence[int]) -> xr.Dataset:
    """The median image of every set, and how it is drawn."""
    shown = torch.stack([x[_median(x)] for x in sets.values()])
    drawn = np.full((len(READINGS), *shown.shape), np.nan, np.float32)
    for name, draw in model.readings.items():
        drawn[READINGS.index(name)] = draw(shown).cpu().numpy()
    return xr.Dataset(
        {
            "truth": (("set", "y", "x"), shown.cpu().numpy().reshape(len(sets), *size)),
            "drawn": (("reading", "set", "y", "x"), drawn.reshape(*drawn.shape[:2], *size)),
        },
        {"set": list(sets), "reading": list(READINGS)},
    )


def _squares(drawn: Images, x: Images) -> Float[Tensor, " batch"]:
    """Mean squared error of every image, summed in float64."""
    return (drawn.double() - x.double()).square().mean(1)


def _median(x: Images) -> int:
    """Which image has the median mean square, the lower one of an even number."""
    return int(x.double().square().mean(1).argsort(stable=True)[(len(x) - 1) // 2])
