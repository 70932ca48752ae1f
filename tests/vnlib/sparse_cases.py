"""Random dictionaries, and signals of a few of their atoms."""

from __future__ import annotations

import torch

from vnlib.learning.rules import unit_columns


def draw(*shape: int, seed: int, dtype=torch.float64) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def dictionary(d=15, atoms=30, *, seed=0, tilt=0.0) -> torch.Tensor:
    """Random unit atoms; `tilt` adds a common direction, which makes them coherent."""
    return unit_columns(draw(d, atoms, seed=seed) + tilt)


def planted(
    V: torch.Tensor, batch: int, active: int, *, seed: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes with `active` coefficients between 1 and 2 in size, and the signals they make."""
    on = draw(batch, V.shape[1], seed=seed).topk(active, dim=1).indices
    values = draw(batch, active, seed=seed + 1)
    values = values.sign() * (1 + values.abs() / 4).clamp_max(2)
    code = torch.zeros(batch, V.shape[1], dtype=V.dtype).scatter(1, on, values)
    return code, code @ V.T
