"""What the layers of a decoder do over the plane of positions: tuning of single units, volume of
the layer.

FR Sec. 4.2, Fig. 4d-f and 15; the paper shows maps of chosen neurons, here all units of a layer are
counted.
"""

from __future__ import annotations

import numpy as np
import torch
import xarray as xr
from jaxtyping import Bool, Float
from torch import Tensor, nn

from benchmarks.spatial import geometry

DEAD = 1e-12  # variance below which a unit does not respond


def tuning(z: Float[Tensor, "y x units"]) -> dict[str, Float[Tensor, " units"]]:
    """Two-way analysis of variance of each unit's map, map = mean + f(x) + g(y) + rest.

    axis: the larger of the shares of f and g, 1 for a stripe; rest: the share of what no sum of
    stripes gives; variance: of the map. Shares are NaN for units that do not respond.
    """
    z = z - z.mean((0, 1))
    total = z.square().mean((0, 1))
    of_x, of_y = z.mean(0).square().mean(0), z.mean(1).square().mean(0)
    alive = total > DEAD
    safe = torch.where(alive, total, torch.ones_like(total))
    nothing = torch.full_like(total, torch.nan)
    return {
        "axis": torch.where(alive, torch.maximum(of_x, of_y) / safe, nothing),
        "rest": torch.where(alive, (total - of_x - of_y) / safe, nothing),
        "variance": total,
    }


def roughness(log_volume: Float[Tensor, "y x"], inside: Bool[Tensor, "y x"]) -> float:
    """Mean `|difference|` of log10 volume between neighbours that are both inside; NaN where there
    are none.
    """
    found = []
    for dim in (0, 1):
        both = inside.unfold(dim, 2, 1).all(-1)
        found.append(log_volume.diff(dim=dim).abs()[both])
    return float(torch.cat(found).mean())


def layer_report(
    model: nn.Module,
    codes: Float[Tensor, "positions d"],
    ood: Bool[np.ndarray, "y x"],
    *,
    units_shown: int,
) -> xr.Dataset:
    """Tuning and volume of every layer: "input", "layer1", ..., "output".

    Parameters
    ----------
    codes
        Of all positions, x running fastest.
    ood
        The hold-out.

    Returns
    -------
    xr.Dataset
        Per layer the share of variance in the rest term (`tuning_rest`, over the whole layer;
        `tuning_quantile`: 25, 50, 75 % over units), the median share of the better axis
        `tuning_axis`, the share of units that respond; `volume_rough`, `volume_sd` and `volume_gap`
        (median OOD minus ID) of log10 volume; its map `log_volume` (layer, row, column); and
        `unit`, the maps of `units_shown` units, spread evenly over the better half of the ranking
        by variance, scaled to a largest `|value|` of 1.
    """
    side = ood.shape[0]
    hidden = torch.from_numpy(np.ascontiguousarray(ood))
    found: dict[str, list] = {name: [] for name in _REPORTED}
    layers = geometry.activations(model, codes)
    for z in layers.values():
        z = geometry.on_grid(z, side).cpu()
        units = tuning(z)
        alive = units["variance"] > DEAD
        rest, weight = units["rest"][alive], units["variance"][alive]
        quantiles = torch.tensor([0.25, 0.5, 0.75])
        volume = geometry.volume(geometry.metric_tensor(z)).add(1e-12).log10()
        values = {
            "tuning_rest": float((rest * weight).sum() / weight.sum()),
            "tuning_quantile": (
                rest.double().quantile(quantiles.double()) if len(rest) else quantiles * np.nan
            ).numpy(),
            "tuning_axis": float(units["axis"][alive].median()),
            "responding": float(alive.double().mean()),
            "volume_rough": roughness(volume, hidden),
            "volume_sd": float(volume.std()),
            "volume_gap": float(volume[hidden].median() - volume[~hidden].median()),
            "log_volume": volume.numpy(),
            "unit": _shown(z, units["variance"], units_shown),
        }
        for name, value in values.items():
            found[name].append(value)
    data = {n: (("layer", *dims), np.stack(found[n])) for n, dims in _REPORTED.items()}
    for name in ("log_volume", "unit"):
        dims, values = data[name]
        data[name] = (dims, (np.round(values * 256) / 256).astype(np.float32))
    return xr.Dataset(data, {"layer": list(layers), "quantile": [0.25, 0.5, 0.75]})


_REPORTED = {
    "tuning_rest": (),
    "tuning_quantile": ("quantile",),
    "tuning_axis": (),
    "responding": (),
    "volume_rough": (),
    "volume_sd": (),
    "volume_gap": (),
    "log_volume": ("row", "column"),
    "unit": ("neuron", "row", "column"),
}


def _shown(z: Float[Tensor, "y x units"], variance: Float[Tensor, " units"], n: int) -> np.ndarray:
    """Maps of `n` of the units that respond, largest variance first."""
    order = variance.argsort(descending=True, stable=True)
    alive = int((variance > DEAD).sum())
    picked = order[np.linspace(0, max(0, alive // 2 - 1), n).round().astype(int)]
    maps = z[..., picked].permute(2, 0, 1).float()
    return (maps / maps.abs().amax((1, 2), keepdim=True).clamp_min(1e-12)).numpy()
