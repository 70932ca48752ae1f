"""How far a decoder renders each factor at every pixel, beside the measures that forced rendering
names: factorisation, volume and separable rank.

All are taken over the codes of every whole position. Which of them are held out is known, what
should be drawn there is not, but for the share of each factor in the true image.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from benchmarks.spatial import geometry
from chapters.beyond_tasks.decoders import Codes, Decoder, Images
from vnlib import seeding

Effects = Float[Tensor, "pixels positions 2"]

FOLDS = 5
RIDGE = 1e-3  # in units of the mean variance of a pixel's numbers
TINY = 1e-12  # added to a volume before its logarithm


def measures(
    decoder: Decoder, codes: Codes, images: Images, held_out: Bool[Tensor, " positions"], seed: int
) -> dict[str, float]:
    """All measures of a decoder; `codes` and `images` of every pixel as position, x running
    fastest.

    `rendering` and `readable`, `readable_ood` (see the functions of these names), of the layer
    where each is most, the output among them. Of what the last step reads, and of the output
    (`_output`): `F`; `volume`, mean log10 volume held out less elsewhere; `terms` of the kernel;
    `one_factor`, the share of variance in terms of x alone and of y alone; `probe`, R^2 in the
    hold-out of a linear probe for x and y fitted elsewhere.
    """
    drawn, target = decoder.draw(codes), effects(images)
    layers = [*decoder.located(codes), drawn[:, None]]
    best = {
        "rendering": max(rendering(z) for z in layers),
        "readable": max(readable(z, target, ~held_out, None, seed) for z in layers),
        "readable_ood": max(readable(z, target, ~held_out, held_out, seed) for z in layers),
    }
    last = _geometry(decoder.hidden(codes), held_out)
    output = _geometry(drawn.flatten(1), held_out)
    return best | last | {f"{name}_output": value for name, value in output.items()}


def rendering(maps: Float[Tensor, "positions channels y x"]) -> float:
    """How far each factor is rendered at every pixel.

    At a pixel, v_x is the variance over positions of what its channels owe to x alone, their mean
    over y, v_y that to y alone, and v all of it; each channel is divided by its standard deviation
    over the image before. The measure is 2 min(v_x, v_y) / v, averaged over pixels: 1 where every
    pixel has units of x alone and units of y alone that vary alike, 0 where no pixel knows of one
    of the factors by itself. A pixel whose units do not vary counts as 0.
    """
    z = maps.double()
    z = (z - z.mean(0)) / z.std((0, 2, 3), keepdim=True).clamp_min(TINY)
    plane = geometry.on_grid(z.flatten(1), round(len(z) ** 0.5)).unflatten(2, z.shape[1:])
    of_x, of_y = (plane.mean(dim).square().mean(0).sum(0) for dim in (0, 1))
    whole = plane.square().mean((0, 1)).sum(0)
    varies = whole > TINY * whole.max()
    return float(torch.where(varies, 2 * torch.minimum(of_x, of_y) / whole, 0.0).mean())


def effects(images: Images) -> Effects:
    """The share of x and that of y in every pixel of the true images: the mean over the other one,
    at every position of the plane.
    """
    side = images.shape[-1]
    plane = images.double().flatten(1).unflatten(0, (side, side))  # y, x, pixel
    of_x, of_y = (plane.mean(dim, keepdim=True).expand_as(plane) for dim in (0, 1))
    return torch.stack([of_x, of_y], -1).flatten(0, 1).transpose(0, 1)


def readable(
    maps: Float[Tensor, "positions channels y x"],
    target: Effects,
    fit: Bool[Tensor, " positions"],
    read: Bool[Tensor, " positions"] | None,
    seed: int,
) -> float:
    """How well each factor can be read, linearly, at every pixel from that pixel's own numbers.

    For each pixel a ridge regression of the share of x, and of y, in the true image (`effects`)
    on the channels there. R^2 over positions, averaged over pixels by how much the factor matters
    there (variance of its share), at least 0; the smaller of the two factors.

    Parameters
    ----------
    fit, read
        Positions that the regressions are fitted to, and those that they are read at; without the
        latter, both are folds of the former.
    """
    features = maps.double().flatten(2).permute(2, 0, 1)  # pixel, position, channel
    if read is not None:
        parts = [(fit.nonzero()[:, 0], read.nonzero()[:, 0])]
    else:
        inside = fit.nonzero()[:, 0]
        order = inside[torch.randperm(len(inside), generator=seeding.generator(seed, "folds"))]
        folds = order.chunk(FOLDS)
        parts = [(torch.cat([f for f in folds if f is not one]), one) for one in folds]
    wrong = torch.zeros(2, dtype=torch.float64)
    for rows, others in parts:
        wrong += (_read(features, target, rows, others) - target[:, others]).square().sum((0, 1))
    seen = target[:, torch.cat([others for _, others in parts])]
    around = (seen - seen.mean(1, keepdim=True)).square().sum((0, 1))
    return float((1 - wrong / around).clamp_min(0).min())


def _read(features: Tensor, target: Effects, fit: Tensor, read: Tensor) -> Tensor:
    """Predictions (pixel, position, factor) at `read` of ridge regressions at `fit`."""
    x, t = features[:, fit], target[:, fit]
    middle, level = x.mean(1, keepdim=True), t.mean(1, keepdim=True)
    x = x - middle
    gram = x.mT @ x
    scale = gram.diagonal(dim1=1, dim2=2).mean(1).clamp_min(1e-30)
    eye = torch.eye(gram.shape[1], dtype=gram.dtype)
    weights = torch.linalg.solve(gram + RIDGE * scale[:, None, None] * eye, x.mT @ (t - level))
    return (features[:, read] - middle) @ weights + level


def _geometry(z: Tensor, held_out: Tensor) -> dict[str, float]:
    side = round(len(z) ** 0.5)
    kernel = geometry.gram(z, centred=True)
    z = geometry.coordinates(kernel) if z.shape[1] > len(z) else z.double()
    on_grid = geometry.on_grid(z, side)
    g = geometry.metric_tensor(on_grid)
    volume = torch.log10(geometry.volume(g) + TINY).flatten()
    place = torch.arange(side**2)
    positions = torch.stack([place % side, place // side], 1).double()
    return {
        "F": geometry.factorisation(g),
        "one_factor": 1 - geometry.anova(on_grid)["both"],
        "volume": float(volume[held_out].mean() - volume[~held_out].mean()),
        "terms": geometry.participation(geometry.separable_spectrum(kernel, side)),
        "probe": float(geometry.probe_across(kernel, positions, ~held_out, held_out).mean()),
    }
