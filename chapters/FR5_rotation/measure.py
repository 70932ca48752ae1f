"""What a decoder of angles draws between the angles that it saw: another angle, or a blend (FR
App. F.2).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor, nn

from benchmarks.spatial import geometry
from vnlib.evaluate import predict

LAYERS = ("layer1", "layer2", "output", "target")


def blend(
    images: Float[Tensor, "n y x"], ends: Float[Tensor, "2 y x"]
) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """The best convex blend (1 - w) A + w B of two images for each of `images`: w, and the mean
    squared rest.
    """
    between = ends[1] - ends[0]
    weight = ((images - ends[0]) * between).sum((1, 2)) / between.square().sum().clamp_min(1e-12)
    weight = weight.clamp(0, 1)
    rest = images - ends[0] - weight[:, None, None] * between
    return weight, rest.square().mean((1, 2))


@torch.no_grad()
def report(
    model: nn.Module,
    seen: xr.Dataset,
    turn: xr.Dataset,
    *,
    ends: Float[np.ndarray, "2 y x"],
    others: Float[np.ndarray, "2 y x"],
    gap: tuple[float, float],
    n_shown: int,
    pictures: bool,
) -> xr.Dataset:
    """Errors per set and per angle, what a blend of the images at the gap's ends explains in it,
    and the layers' rings.

    Along `gap_angle`, mean squared differences of the output: `rest_blend` to the best blend of
    `ends`, whose share of the second is `weight`; `rest_null` to the best blend of `others`;
    `rest_rotation` to the nearest true image in the gap, which has one free number too, its angle
    `nearest_angle`; `rest_truth` to the true image; `rest_mean` to the mean training image.
    `blend_error`: of the blend that is linear in the angle, to the truth.

    Parameters
    ----------
    seen
        The data that the model was trained, selected and tested on: `angle`, `code`, `image` and
        `split` along `rotation`.
    turn
        The same at evenly spaced angles of a whole turn.
    ends
        The true images at the ends of the gap.
    others
        Two images elsewhere, whose blend is the null.
    n_shown
        Images kept between the ends of the gap.
    pictures
        Whether images and rings are kept; they are NaN otherwise.
    """
    device = next(model.parameters()).device
    drawn = _drawn(model, seen, device)
    error = np.square(drawn.numpy().astype(np.float64) - seen["image"].values).mean((1, 2))
    found: dict[str, tuple] = {"n_parameters": ((), sum(p.numel() for p in model.parameters()))}
    for name, split in (("train", "train"), ("val", "val"), ("id", "id_test"), ("ood", "ood")):
        found[f"mse_{name}"] = ((), error[(seen["split"] == split).values].mean())

    angle, truth = turn["angle"].values, torch.from_numpy(turn["image"].values)
    mean = torch.from_numpy(seen["image"].values[(seen["split"] == "train").values].mean(0))
    drawn = _drawn(model, turn, device)
    guesses = {"model": drawn, "mean": mean, "zero_baseline": torch.zeros_like(mean)}
    for name, images in guesses.items():
        found[f"error_{name}"] = ("angle", (images - truth).square().mean((1, 2)))

    inside = (angle > gap[0]) & (angle < gap[1])
    out, true = drawn[inside], truth[inside]
    share = torch.from_numpy((angle[inside] - gap[0]) / (gap[1] - gap[0])).float()
    along = _explained(out, true, mean, torch.from_numpy(ends), torch.from_numpy(others), share)
    along["nearest_angle"] = angle[inside][along["nearest_angle"]]
    found |= {name: ("gap_angle", value) for name, value in along.items()}

    z = geometry.activations(model, torch.from_numpy(turn["code"].values).to(device))
    z = {name: value.cpu() for name, value in z.items()} | {"target": truth.flatten(1)}
    crossing = inside | np.roll(inside, -1)  # steps with an end in the gap
    shape = ring([z[name] for name in LAYERS], torch.from_numpy(crossing))
    shown = np.linspace(0, np.count_nonzero(inside) - 1, n_shown).round().astype(int)
    kept = {
        "drawn_image": (("shown", "y", "x"), out[shown]),
        "true_image": (("shown", "y", "x"), true[shown]),
        "end_image": (("end", "y", "x"), ends),
        "ring": (("layer", "angle", "component"), shape.pop("ring")),
    }
    keep = 1.0 if pictures else np.nan
    for name, (dims, values) in kept.items():
        found[name] = (dims, np.asarray(values, np.float32).round(3) * keep)
    found |= {name: ("layer", value) for name, value in shape.items()}
    return xr.Dataset(
        {name: (dims, np.asarray(values)) for name, (dims, values) in found.items()},
        {
            "angle": angle,
            "gap_angle": angle[inside],
            "shown": angle[inside][shown],
            "layer": list(LAYERS),
            "end": ["low", "high"],
        },
    )


def _explained(
    drawn: Float[Tensor, "n y x"],
    true: Float[Tensor, "n y x"],
    mean: Float[Tensor, "y x"],
    ends: Float[Tensor, "2 y x"],
    others: Float[Tensor, "2 y x"],
    share: Float[Tensor, " n"],
) -> dict[str, Tensor]:
    """What is left of each drawn image without its best explanations (see `report`).

    `nearest_angle` is the number of the nearest true image; share: how far in the gap each is.
    """
    weight, rest = blend(drawn, ends)
    distance = (drawn[:, None] - true[None]).square().mean((2, 3))
    in_proportion = ends[0] + share[:, None, None] * (ends[1] - ends[0])
    return {
        "weight": weight,
        "rest_blend": rest,
        "rest_null": blend(drawn, others)[1],
        "rest_rotation": distance.min(1).values,
        "nearest_angle": distance.argmin(1),
        "rest_truth": distance.diagonal(),
        "rest_mean": (drawn - mean).square().mean((1, 2)),
        "blend_error": (in_proportion - true).square().mean((1, 2)),
    }


def ring(layers: Sequence[Float[Tensor, "angles _units"]], crossing: Tensor) -> dict[str, Tensor]:
    """What a whole turn looks like in each layer; `crossing` marks the steps i -> i + 1 that lie in
    the gap.

    `ring` (layer, angle, component): the first two principal components, of unit variance in sum.
    `ring_share`: their share of the variance. `ring_step`: median length of a step in the gap over
    the median outside. `ring_winding`: how often the two components go round the origin.
    """
    found: dict[str, list] = {"ring": [], "ring_share": [], "ring_step": [], "ring_winding": []}
    for z in layers:
        z = z.double() - z.double().mean(0)
        energy, vectors = torch.linalg.eigh(z @ z.T)  # there are fewer angles than units
        plane = vectors[:, -2:].flip(1) * energy[-2:].flip(0).clamp_min(0).sqrt()
        # A sign of its own for each component would differ from machine to machine.
        plane = plane * plane.gather(0, plane.abs().argmax(0, keepdim=True)).sign()
        total = energy.sum()
        step = (z.roll(-1, 0) - z).norm(dim=1)
        phase = torch.atan2(plane[:, 1], plane[:, 0])
        turned = torch.remainder(phase.roll(-1) - phase + torch.pi, 2 * torch.pi) - torch.pi
        found["ring"].append(plane / (total / len(z)).sqrt())
        found["ring_share"].append(energy[-2:].sum() / total)
        found["ring_step"].append(step[crossing].median() / step[~crossing].median())
        found["ring_winding"].append((turned.sum() / (2 * torch.pi)).abs())
    return {name: torch.stack(values) for name, values in found.items()}


def _drawn(model: nn.Module, data: xr.Dataset, device: torch.device) -> Float[Tensor, "n y x"]:
    return predict(model, torch.from_numpy(data["code"].values).to(device)).cpu()
