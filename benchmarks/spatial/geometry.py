"""The geometry of a layer over the plane of positions (FR Sec. 3.4, App. A.4, A.5 and B).

A layer is z (y, x, units): its activations at every position of a grid, spacing 1 px. What depends
on inner products only (probes, separable spectra) takes the kernel K(z, z') of all positions, x
running fastest, as `gram` gives it. All these measures are blind to an orthogonal map of the units
and to an offset, except the kernel, which sees offsets.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from vnlib import checks, seeding

Metric = Float[Tensor, "y x 2 2"]
Kernel = Float[Tensor, "positions positions"]


@torch.no_grad()
def activations(
    model: nn.Module, x: Float[Tensor, "positions d"], *, batch_size: int = 256
) -> dict[str, Float[Tensor, "positions _units"]]:
    """What every ReLU of a network gives out, flattened, in the order of the pass.

    Keys: "input", "layer1", "layer2", ... and "output", the model's own result.

    Raises
    ------
    ValueError
        For a model without a ReLU module.
    """
    layers = [module for module in model.modules() if isinstance(module, nn.ReLU)]
    if not layers:
        raise ValueError(f"model must have ReLU modules, got {type(model).__name__} without any")
    seen: dict[str, list[Tensor]] = {}

    def keep(module: nn.Module, _: tuple, out: Tensor) -> None:
        seen.setdefault(f"layer{layers.index(module) + 1}", []).append(out.flatten(1).clone())

    handles = [module.register_forward_hook(keep) for module in layers]
    try:
        output = torch.cat([model(part).flatten(1) for part in x.split(batch_size)])
    finally:
        for handle in handles:
            handle.remove()
    return {
        "input": x,
        **{name: torch.cat(parts) for name, parts in seen.items()},
        "output": output,
    }


def on_grid(z: Float[Tensor, "positions units"], side: int) -> Float[Tensor, "y x units"]:
    """Positions, x running fastest, as a square grid of `side` px.

    Raises
    ------
    ValueError
        If they do not fill it.
    """
    if len(z) != side**2:
        raise ValueError(
            f"z must have side^2 = {side**2} rows, one per position of the grid, got {len(z)}"
        )
    return z.unflatten(0, (side, side))


def metric_tensor(z: Float[Tensor, "y x units"]) -> Metric:
    """g = J'J by central differences, one-sided at the edges (FR Eq. 5, App. B.1).

    Index 0 is x, 1 is y; per px^2.
    """
    _grid("z", z)
    by_y, by_x = torch.gradient(z, dim=(0, 1))
    gxx, gxy, gyy = (
        (a * b).sum(-1, dtype=torch.float64) for a, b in ((by_x, by_x), (by_x, by_y), (by_y, by_y))
    )
    return torch.stack([torch.stack([gxx, gxy], -1), torch.stack([gxy, gyy], -1)], -2)


def volume(g: Metric) -> Float[Tensor, "y x"]:
    """sqrt|det g| (FR Eq. 6): the area that a px^2 of positions takes in the layer."""
    return (g[..., 0, 0] * g[..., 1, 1] - g[..., 0, 1] ** 2).abs().sqrt()


def factorisation(g: Metric, where: Bool[Tensor, "y x"] | None = None) -> float:
    """1 - mean|g_xy| / mean(g_xx + g_yy), a ratio of means over the grid or over `where` (FR
    Eq. 7).

    1 where moves along x and along y change a layer in orthogonal directions, 0.5 where in the same
    one. NaN for a layer that does not change.
    """
    where = torch.ones(g.shape[:2], dtype=torch.bool, device=g.device) if where is None else where
    cross, along = g[..., 0, 1].abs()[where].mean(), (g[..., 0, 0] + g[..., 1, 1])[where].mean()
    return float(1 - cross / along)


def anova(z: Float[Tensor, "y x units"]) -> dict[str, float]:
    """Shares of a layer's variance in f(x), in g(y) and in the rest of
    z = mean + f(x) + g(y) + rest.

    The four terms are orthogonal, so the shares, keys "x", "y" and "both", sum to 1; "x" + "y" is
    F_A of FR Eqs. 33 and 35 with the terms of a single factor as A and w = c^2. NaN for a layer
    that does not change.
    """
    _grid("z", z)
    z = z - z.mean((0, 1))
    of_x, of_y, total = z.mean(0), z.mean(1), z.square().sum(dtype=torch.float64)
    shares = [
        len(of_y) * of_x.square().sum(dtype=torch.float64),
        len(of_x) * of_y.square().sum(dtype=torch.float64),
    ]
    x, y = (float(share / total) for share in shares)
    return {"x": x, "y": y, "both": 1 - x - y}


def gram(z: Float[Tensor, "positions units"], *, centred: bool = False) -> Kernel:
    """K = z z' (FR Eq. 34), or that of z less its mean over the positions, in double precision.

    Deviations from the mean are multiplied in the precision of z, which is enough for them and fast
    for wide layers.
    """
    mean = z.mean(0)
    away = z - mean
    kernel = (away @ away.T).double()
    if centred:
        return kernel
    along = (away @ mean).double()
    return kernel + along[:, None] + along + mean.double().square().sum()


def coordinates(kernel: Kernel) -> Float[Tensor, "positions positions"]:
    """Units z with z z' = kernel: any layer, however wide, in as many units as there are positions
    (an isometry).
    """
    _square(kernel)
    values, vectors = torch.linalg.eigh(kernel.double())
    return vectors * values.clamp_min(0).sqrt()


def separable_spectrum(kernel: Kernel, side: int) -> Float[Tensor, " terms"]:
    """The coefficients c_i >= 0 of K = sum_i c_i A_i(x, x') B_i(y, y'), largest first (FR Eqs. 1
    and 31).

    A_i and B_i have unit norm and are orthogonal, so these are the singular values of K with (x,
    x') as rows and (y, y') as columns (its operator Schmidt coefficients); how many are not zero is
    the CP rank for two factors.
    """
    _square(kernel)
    if len(kernel) != side**2:
        raise ValueError(f"kernel must have side^2 = {side**2} rows, got {len(kernel)}")
    terms = kernel.double().unflatten(0, (side, side)).unflatten(2, (side, side))  # y, x, y', x'
    terms = terms.permute(1, 3, 0, 2).reshape(side**2, side**2)
    # The squares are enough for shares of weight, and a third of the cost of an SVD.
    return torch.linalg.eigvalsh(terms @ terms.T).clamp_min(0).sqrt().flip(0)


def map_spectrum(z: Float[Tensor, "y x units"]) -> Float[Tensor, " terms"]:
    """The singular values of the map z(y, x) with x as rows and (y, units) as columns, largest
    first (FR App. A.4).

    How many are not zero is the number of terms f_i(x) G_i(y) that the map needs.
    """
    _grid("z", z)
    rows = z.double().transpose(0, 1).flatten(1)
    return torch.linalg.eigvalsh(rows @ rows.T).clamp_min(0).sqrt().flip(0)


def participation(coefficients: Float[Tensor, " terms"]) -> float:
    """The number of terms in use, (sum w)^2 / sum w^2 with w = c^2: the rank of n equal terms is
    n.
    """
    weight = coefficients.square()
    return float(weight.sum() ** 2 / weight.square().sum())


def probe(
    kernel: Kernel,
    targets: Float[Tensor, "positions targets"],
    *,
    folds: int,
    seed: int,
    ridge: float = 1e-3,
) -> Float[Tensor, " targets"]:
    """R^2 of a linear read-out of each target, at positions that it was not fitted to
    (`folds`-fold, shuffled).

    Ridge regression with an intercept.

    Parameters
    ----------
    ridge
        The penalty in units of the mean eigenvalue of the centred kernel, so that it means the same
        in every layer, whatever its scale and number of units.
    """
    checks.number("folds", folds, low=2, high=len(kernel), integer=True)
    predicted, order = (
        torch.empty_like(targets, dtype=torch.float64),
        torch.randperm(len(kernel), generator=seeding.generator(seed, "probe")),
    )
    for read in order.to(kernel.device).chunk(folds):
        fit = torch.ones(len(kernel), dtype=torch.bool, device=kernel.device)
        fit[read] = False
        predicted[read] = _read_out(kernel, targets, fit.nonzero().squeeze(1), read, ridge)
    return _r_squared(predicted, targets)


def probe_across(
    kernel: Kernel,
    targets: Float[Tensor, "positions targets"],
    fit: Bool[Tensor, " positions"],
    read: Bool[Tensor, " positions"],
    *,
    ridge: float = 1e-3,
) -> Float[Tensor, " targets"]:
    """R^2 at the positions `read` of a linear read-out fitted to the positions `fit`, as in
    `probe`.
    """
    fitted, others = (mask.nonzero().squeeze(1) for mask in (fit, read))
    return _r_squared(_read_out(kernel, targets, fitted, others, ridge), targets[others])


def _read_out(kernel: Kernel, targets: Tensor, fit: Tensor, read: Tensor, ridge: float) -> Tensor:
    """Predictions at `read` of a ridge regression on `fit`, both indices of positions, in its dual
    form.
    """
    _square(kernel)
    checks.number("ridge", ridge, above=0)
    seen, mean = kernel[fit][:, fit].double(), targets[fit].double().mean(0)
    rows = seen.mean(0)
    across = kernel[read][:, fit].double()
    across = across - across.mean(1, keepdim=True) - rows + rows.mean()
    seen = seen - rows - rows[:, None] + rows.mean()
    penalty = ridge * seen.diagonal().mean().clamp_min(1e-30)
    seen.diagonal().add_(penalty)
    return (
        across @ torch.cholesky_solve(targets[fit].double() - mean, torch.linalg.cholesky(seen))
        + mean
    )


def _r_squared(predicted: Tensor, targets: Tensor) -> Tensor:
    targets = targets.double()
    return 1 - (predicted - targets).square().sum(0) / (targets - targets.mean(0)).square().sum(0)


def _grid(name: str, z: Tensor) -> None:
    if z.ndim != 3 or min(z.shape[:2]) < 2:
        raise ValueError(
            f"{name} must have the shape (y, x, units) with y, x >= 2, got {tuple(z.shape)}"
        )


def _square(kernel: Tensor) -> None:
    if kernel.ndim != 2 or kernel.shape[0] != kernel.shape[1]:
        raise ValueError(
            "kernel must have the shape (positions, positions), got "
            f"{tuple(kernel.shape)}; see gram"
        )
