"""What a failing model draws, in numbers: bands of frequency, collapse, and the hidden run (VN
App. G.3, Figs. 6-8).

The paper names how models fail by looking at a few drawings. Here x (signal, time) are true signals
and `drawn` what a model makes of them. All ratios are of sums over signals, so that a faint signal
counts as little as it does in a mean squared error. 1 is what a perfect drawing gives for `kept`,
`gain`, `spread`, `bend`, `variety`, `correlation` and `power`, 0 for `missed` and all errors; 0/0
is NaN.
"""

from __future__ import annotations

import torch
import xarray as xr
from jaxtyping import Bool, Float
from torch import Tensor

# Cycles per signal; a band holds its upper edge.
BANDS = {"0": 0.0, "0-2": 2.0, "2-5": 5.0, "5-10": 10.0, "10-20": 20.0, "20+": float("inf")}
PLACES = 8


def dataset(values: dict[str, Tensor]) -> xr.Dataset:
    """The values of `bands`, `collapse` and `hidden_run` by their dimensions: none, band or
    place.
    """
    dims = {len(BANDS): ("band",), PLACES: ("place",)}
    entries = {k: (dims[len(v)] if v.ndim else (), v.cpu().numpy()) for k, v in values.items()}
    places = torch.arange(1, PLACES + 1).numpy()
    coords = {"band": list(BANDS), "place": places}
    used = {dim for entry in entries.values() for dim in entry[0]}
    return xr.Dataset(entries, {name: value for name, value in coords.items() if name in used})


def spectrum(
    x: Float[Tensor, "signal time"],
) -> tuple[Float[Tensor, "signal k"], Float[Tensor, " k"]]:
    """Real amplitudes whose squares sum to the mean square of each signal, and their frequencies
    [cycles per signal].

    The signal is continued by its mirror image, so that a ramp has no jump from its end to its
    start, which would put power into all bands; this is the cosine transform (DCT-II), at
    frequencies 0, 1/2, 1, ...
    """
    n = x.shape[1]
    k = torch.arange(n, device=x.device)
    both = torch.fft.rfft(torch.cat([x, x.flip(1)], 1).double(), dim=1)[:, :n]
    # The mirror's axis lies half a sample before the first one.
    turned = (both * torch.exp(-0.5j * torch.pi * k / n)).real / (2 * n)
    return turned * torch.where(k > 0, 2**0.5, 1.0), k / 2


def bands(
    x: Float[Tensor, "signal time"], drawn: Float[Tensor, "signal time"]
) -> dict[str, Float[Tensor, " band"]]:
    """Per band of frequency: kept = <d^2>/<x^2>, gain = <d x>/<x^2>, missed = <(d - x)^2>/<x^2> and
    power = <x^2>,

    with x and d the amplitudes of the truth and the drawing. A model that only loses detail has
    kept = gain < 1 above some frequency; noise has kept > 0 at gain 0.

    Raises
    ------
    ValueError
        For unequal shapes.
    """
    _same_shape("drawn", drawn, x)
    (truth, frequency), (other, _) = spectrum(x), spectrum(drawn)
    edges = torch.tensor(list(BANDS.values())[:-1], device=x.device, dtype=frequency.dtype)
    band = torch.bucketize(frequency, edges)

    def total(values: Tensor) -> Tensor:
        return torch.zeros(len(BANDS), dtype=values.dtype, device=x.device).index_add(
            0, band, values.mean(0)
        )

    power = total(truth**2)
    sums = {
        "kept": total(other**2),
        "gain": total(other * truth),
        "missed": total((other - truth) ** 2),
    }
    return {f"band_{name}": value / power for name, value in sums.items()} | {"band_power": power}


def collapse(
    x: Float[Tensor, "signal time"], drawn: Float[Tensor, "signal time"]
) -> dict[str, Float[Tensor, ""]]:
    """How much of the truth's shape is left in a drawing.

    spread: its power around its own mean, relative to the truth's; 0 for a constant. bend: the same
    around its best straight line; 0 for a line. variety: around the mean drawing of the set; 0 if
    all signals are drawn alike. correlation: of each drawing with its signal, mean over signals; 0
    where one of them does not vary.

    Raises
    ------
    ValueError
        For unequal shapes.
    """
    _same_shape("drawn", drawn, x)
    x, drawn = x.double(), drawn.double()

    def ratio(of: Tensor, to: Tensor) -> Tensor:
        return of.square().sum() / to.square().sum()

    flat, around = (v - v.mean(1, keepdim=True) for v in (x, drawn))
    norms = flat.norm(dim=1) * around.norm(dim=1)
    cosine = torch.where(norms > 1e-9, (flat * around).sum(1) / norms.clamp_min(1e-9), 0.0)
    return {
        "spread": ratio(around, flat),
        "bend": ratio(_off_line(drawn), _off_line(x)),
        "variety": ratio(drawn - drawn.mean(0), x - x.mean(0)),
        "correlation": cosine.mean(),
    }


def hidden_run(
    x: Float[Tensor, "signal time"],
    filled: Float[Tensor, "signal time"],
    shown: Bool[Tensor, "signal time"],
) -> dict[str, Tensor]:
    """What a model draws where every signal hides one run of samples (the forecast and block
    masks).

    Along the run in eighths (place): tail_error, the mean squared error; tail_truth and tail_drawn,
    the mean squares of truth and drawing. In one number: tail_power, drawn over true power;
    tail_growth, the slope of error over true power against the position 0..1 in the run; tail_jump,
    the mean square of the step from the last true sample before the run to the first drawn one;
    seen_error, the mean squared error of `filled` where the signal is shown.

    Raises
    ------
    ValueError
        For unequal shapes, and where some signal does not hide one run of the same length >= 8.
    """
    _same_shape("filled", filled, x)
    _same_shape("shown", shown, x)
    rows, width = _runs(shown)
    if width < PLACES:
        raise ValueError(f"shown must hide a run of at least {PLACES} samples, got {width}")
    x, filled = x.double(), filled.double()
    truth, other = x.gather(1, rows), filled.gather(1, rows)

    def along(values: Tensor) -> Tensor:
        return torch.stack([part.mean() for part in values.tensor_split(PLACES, dim=1)])

    error, power, drawn = along((other - truth) ** 2), along(truth**2), along(other**2)
    place = (torch.arange(PLACES, dtype=x.dtype, device=x.device) + 0.5) / PLACES
    centred, relative = place - place.mean(), error / power
    begins = rows[:, 0]
    before = x.gather(1, (begins - 1).clamp_min(0)[:, None])[:, 0]
    has_before = begins > 0
    return {
        "tail_error": error,
        "tail_truth": power,
        "tail_drawn": drawn,
        "tail_power": drawn.sum() / power.sum(),
        "tail_growth": (centred * relative).sum() / centred.square().sum(),
        "tail_jump": (other[:, 0] - before)[has_before].square().mean(),
        "seen_error": (filled - x)[shown].square().mean(),
    }


def _runs(shown: Tensor) -> tuple[Tensor, int]:
    """The positions of each signal's hidden run (signal, width), and its width."""
    width = int((~shown[0]).sum()) if len(shown) else 0
    begins = (~shown).int().argmax(1, keepdim=True)
    rows = begins + torch.arange(max(width, 1), device=shown.device)
    inside = rows.clamp_max(shown.shape[1] - 1)
    if not width or bool(((~shown).sum(1) != width).any()) or bool(shown.gather(1, inside).any()):
        raise ValueError(
            "shown must hide one run of samples, equally long for every signal; use a "
            "forecast or block mask"
        )
    return rows, width


def _off_line(values: Tensor) -> Tensor:
    """Values (signal, time) without their best straight line."""
    time = torch.linspace(-1, 1, values.shape[1], dtype=values.dtype, device=values.device)
    line = torch.stack([torch.ones_like(time) / len(time) ** 0.5, time / time.norm()])
    return values - values @ line.T @ line


def _same_shape(name: str, value: Tensor, x: Tensor) -> None:
    if x.ndim != 2 or value.shape != x.shape:
        raise ValueError(
            f"{name} must have the shape of x, (signal, time) = {tuple(x.shape)}, got "
            f"{tuple(value.shape)}"
        )
