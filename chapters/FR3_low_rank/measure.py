"""The embedding network and its penalties (FR Sec. 4.1, App. C): train it, and say what became of
its maps.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr
from jaxtyping import Bool, Float
from torch import Tensor, nn

from benchmarks.spatial import geometry
from benchmarks.spatial.report import decoder_report
from chapters.FR3_low_rank.baselines import EmbeddingDecoder, spectral_entropy
from vnlib import evaluate

LAYERS = ("maps", "output")


@torch.no_grad()
def report(
    model: nn.Module,
    data: xr.Dataset,
    *,
    samples: Sequence[int],
    tokens: Sequence[int],
    pictures: bool,
) -> xr.Dataset:
    """Errors (see `decoder_report`), the maps of the tokens, and the geometry over the
    plane.

    What a decoder without maps lacks is NaN too.

    Parameters
    ----------
    data
        One position per pixel of a square grid, x running fastest, one-hot codes.
    tokens
        Whose maps are kept, of those of x and of y.
    pictures
        Whether images, error and volume maps are kept; they are NaN otherwise, which takes no
        space.
    """
    side = data.sizes["x"]
    found = decoder_report(model, data, samples=list(samples)).drop_vars("active_share")
    x = torch.from_numpy(data["code"].values).to(next(model.parameters()).device)
    layers = {"output": evaluate.predict(model, x)}
    maps = torch.full((x.shape[1], side, side), torch.nan)
    if isinstance(model, EmbeddingDecoder):
        layers["maps"] = torch.cat([model.channels(part) for part in x.split(256)])
        maps = model.embeddings().cpu()
    found = found.assign(_described(model, maps))
    found["embedding"] = (
        ("axis", "token_shown", "y", "x"),
        maps.unflatten(0, (2, side))[:, list(tokens)].numpy(),
    )
    held_out = torch.from_numpy((data["split"].values == "ood").reshape(side, side))
    volumes = {name: _log_volume(z.cpu(), side) for name, z in layers.items()}
    volumes |= {name: torch.full((side, side), torch.nan) for name in LAYERS if name not in volumes}
    found["log_volume"] = (("layer", "y", "x"), np.stack([volumes[name] for name in LAYERS]))
    shift, spread = zip(*(_compared(volumes[name], held_out) for name in LAYERS), strict=True)
    found["volume_shift"], found["volume_spread"] = ("layer", list(shift)), ("layer", list(spread))
    truth = _log_volume(torch.from_numpy(data["image"].values), side)
    found["target_log_volume"] = float(truth[held_out].median())
    for name in ("embedding", "log_volume", "sample_image", "mse"):
        # Rounded, since digits that no one can see do not compress.
        digits = 7 if name == "mse" else 3
        found[name] = found[name].round(digits).astype(np.float32).where(pictures)
    return found.assign_coords(
        axis=["x", "y"],
        token=np.arange(side),
        token_shown=list(tokens),
        layer=list(LAYERS),
        along=["y", "x"],
    )


def _log_volume(z: Float[Tensor, "positions ..."], side: int) -> Float[Tensor, "y x"]:
    grid = geometry.on_grid(z.flatten(1), side)
    return geometry.volume(geometry.metric_tensor(grid)).clamp_min(1e-12).log10()


def bands(maps: Float[Tensor, "tokens height width"]) -> Float[Tensor, "tokens 2"]:
    """The share of each map's energy that does not vary along y (upright bands), and along x (level
    bands).

    1 / height and 1 / width for noise, 1 and 1 for a constant map.
    """
    energy = maps.square().sum((1, 2)).clamp_min(1e-30)
    upright = maps.mean(1).square().sum(1) * maps.shape[1]
    level = maps.mean(2).square().sum(1) * maps.shape[2]
    return torch.stack([upright / energy, level / energy], 1)


def singular_shares(maps: Float[Tensor, "tokens height width"]) -> Float[Tensor, "tokens modes"]:
    """sigma^2 / sum of sigma^2 of each map, largest first."""
    square = torch.linalg.svdvals(maps).square()
    return square / square.sum(1, keepdim=True).clamp_min(1e-30)


def _described(model: nn.Module, maps: Tensor) -> dict[str, tuple]:
    """What became of the maps, per axis: NaN where a decoder has none, or has no factors.

    `spectrum` and `effective_rank` are those of the maps themselves. `s_rank` counts the modes by
    s_k^2, as the penalty does, which is another number since u_k and v_k need not be orthogonal.
    `vector_constant`: the share of u_k and v_k in the constant direction, 1/n for noise, weighted
    by s_k^2. `vector_length`: before they are divided by it.
    """
    half = len(maps) // 2
    shares = (
        singular_shares(maps) if maps.isfinite().all() else torch.full(maps.shape[:2], torch.nan)
    )
    rank = torch.exp(-(shares.clamp_min(1e-12) * shares.clamp_min(1e-12).log()).sum(1))
    per_axis = {
        "spectrum": ("mode", shares.unflatten(0, (2, half)).mean(1)),
        "effective_rank": ("token", rank.unflatten(0, (2, half))),
        "band": ("token", "along", bands(maps).unflatten(0, (2, half))),
    }
    found = {
        name: (("axis", *dims), np.asarray(v, np.float32)) for name, (*dims, v) in per_axis.items()
    }
    s_rank, constant, length = (torch.full((2,), torch.nan) for _ in range(3))
    if isinstance(model, EmbeddingDecoder) and model.maps == "factors":
        p = (model.s.square() / model.s.square().sum(1, keepdim=True)).cpu()
        s_rank = spectral_entropy(model.s).exp().cpu().unflatten(0, (2, half)).median(1).values
        vectors = torch.stack([model.u, model.v]).cpu()  # sides are equal: the grid is square
        lengths = vectors.norm(dim=-1)
        share = vectors.mean(-1).square() * vectors.shape[-1] / lengths.square().clamp_min(1e-30)
        constant = (share * p).sum(-1).unflatten(1, (2, half)).mean((0, 2))
        length = lengths.unflatten(1, (2, half)).transpose(0, 1).flatten(1).median(1).values
    values = {"s_rank": s_rank, "vector_constant": constant, "vector_length": length}
    return found | {name: ("axis", v.numpy()) for name, v in values.items()}


def _compared(
    log_volume: Float[Tensor, "y x"], held_out: Bool[Tensor, "y x"]
) -> tuple[float, float]:
    """Median log10 volume of the held-out positions less that of the others, and its spread over
    the held-out ones.

    Positions within 4 px of the edge are left out: there the bump is cut off, in the true images
    too.
    """
    inner = torch.zeros_like(held_out)
    inner[4:-4, 4:-4] = True
    outside, inside = log_volume[inner & ~held_out], log_volume[inner & held_out]
    return float(inside.median() - outside.median()), float(inside.std())
