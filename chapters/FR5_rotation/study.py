"""A decoder of angles learns one rotated digit; what it draws in the gap is measured (FR App. F.2)."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path

import numpy as np
import xarray as xr
from jaxtyping import Float

from benchmarks.spatial import curves
from benchmarks.spatial.decoders import as_pair
from chapters.FR5_rotation.baselines import RotationDecoder
from chapters.FR5_rotation.measure import report
from chapters.FR5_rotation.training import train
from data_gen import mnist, rotations
from vnlib.book.chapter import Axes, Chapter, Settings

FAMILIES = {"rotation": RotationDecoder, "mlp": "mlp"}
TRAINED = ("options", "lr", "weight_decay", "passes", "batch_size", "evaluations")
SHARED = ("n_angles", "n_turn", "n_shown", *TRAINED[1:])
UNRELATED = (90, 270)  # angles of the images whose blend is the null

VARIABLES = curves.VARIABLES | {
    "curve_step": ("passes through the training angles", "1"),
    "mse_train": ("mean squared error, training angles", "ink^2"),
    "mse_val": ("mean squared error, ID validation angles", "ink^2"),
    "mse_id": ("mean squared error, ID test angles", "ink^2"),
    "mse_ood": ("mean squared error, angles in the gap", "ink^2"),
    "n_parameters": ("number of parameters", "1"),
    "error_model": ("mean squared error of the drawing", "ink^2"),
    "error_mean": ("mean squared error of the mean training image", "ink^2"),
    "error_zero_baseline": ("mean squared error of a zero image", "ink^2"),
    "weight": ("weight of the later edge image in the best convex blend", "1"),
    "rest_blend": ("mean squared difference of output and best blend of the edge images", "ink^2"),
    "rest_null": ("mean squared difference of output and best blend of unrelated images", "ink^2"),
    "rest_rotation": ("mean squared difference of output and nearest true image", "ink^2"),
    "rest_truth": ("mean squared difference of output and true image", "ink^2"),
    "rest_mean": ("mean squared difference of output and mean training image", "ink^2"),
    "nearest_angle": ("angle of the nearest true image in the gap", "degree"),
    "blend_error": ("mean squared error of the blend in proportion to the angle", "ink^2"),
    "drawn_image": ("drawn image", "ink"),
    "true_image": ("true image", "ink"),
    "end_image": ("true image at an end of the gap", "ink"),
    "ring": ("principal component of a layer over a whole turn, of unit variance in sum", "1"),
    "ring_share": ("share of the variance in the first two principal components", "1"),
    "ring_step": ("median length of a step inside the gap over that outside", "1"),
    "ring_winding": ("turns of the first two principal components around the origin", "1"),
    "data_source": ("where the digit comes from", ""),
    "digit": ("class of the digit", "1"),
    "angle": ("angle of the digit", "degree"),
    "gap_angle": ("angle of the digit, in the gap", "degree"),
    "shown": ("angle of a drawn image", "degree"),
    "layer": ("layer", ""),
    "end": ("end of the gap", ""),
}


def results(chapter: Chapter) -> xr.Dataset:
    """The runs over (model, digit, seed): all of the paper's digit; of the `more_digits` fewer
    models, NaN elsewhere.
    """
    every = chapter.settings
    axes = chapter.axes(digit=every["digits"])
    found = chapter.grid(run, axes, settings, variables=VARIABLES)
    wanted = [name for name in axes["model"] if name in every["more_models"]]
    if not (wanted and every["more_digits"]):
        return found
    others = chapter.grid(
        run,
        {**axes, "model": wanted, "digit": every["more_digits"]},
        settings,
        variables=VARIABLES,
    )
    more = others.drop_vars(["label", "group"])  # of all models in `found`
    return xr.merge([found, more], "no_conflicts", join="outer", combine_attrs="override")


def settings(chapter: Chapter, axes: Axes) -> Settings:
    """What a run depends on besides its axes."""
    every, model = chapter.settings, chapter.models[axes["model"]]
    half = chapter.parameters["gap_width"] / 2
    return {name: every[name] for name in SHARED} | {
        "family": model["family"],
        "n_frequencies": model["n_frequencies"],
        "gap": [180 - half, 180 + half],
        "split_seed": axes["seed"],
        "options": {"width": min(every["width"], model["widest"])} if "widest" in model else {},
        "pictures": axes["seed"] == every["pictured_seed"],
    }


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """One decoder, trained on one digit with one seed, and measured (see `measure.report`)."""
    s, gap = settings, tuple(settings["gap"])
    image, source = digit_image(axes["digit"], chapter.profile == "paper")
    task = partial(rotations.RotationConfig, gap=gap, n_frequencies=s["n_frequencies"])
    seen = rotations.make(image, task(n_angles=s["n_angles"], split_seed=s["split_seed"]))
    sets = ("train", "val", "ood")
    model, along = train(
        {name: as_pair(rotations.subset(seen, name), chapter.device) for name in sets},
        family=FAMILIES[s["family"]],
        seed=axes["seed"],
        **{name: s[name] for name in TRAINED},
    )
    found = report(
        model,
        seen,
        rotations.make(image, task(n_angles=s["n_turn"])),
        gap=gap,
        n_shown=s["n_shown"],
        pictures=s["pictures"],
        ends=rotations.rotated(image, gap),
        others=rotations.rotated(image, UNRELATED),
    )
    return found.merge(along).assign(data_source=source)


@cache
def digit_image(digit: int, real: bool) -> tuple[Float[np.ndarray, "y x"], str]:
    """The first training image of a class, and where it comes from."""
    images = mnist.load("train", allow_fallback=not real)
    first = np.flatnonzero(images["label"].values == digit)[0]
    return images["image"].values[first], images.attrs["source"]
