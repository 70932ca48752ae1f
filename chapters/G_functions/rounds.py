"""Imputation in rounds against the masked problem it leads to (VN App. G.4, Eq. 39, Alg. 1).

Signals x are (signal, time), `seen` is bool of the same shape, True where a signal is observed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from benchmarks.functions.dictionaries import with_sparsity
from benchmarks.functions.samples import BySet, Seen
from vnlib import checks, masked
from vnlib.network import VectorNetwork
from vnlib.settle import SettleConfig, Settled, joint_energy

SETS = ("val", "id", "easy", "hard")


@dataclass(frozen=True)
class Walk:
    """What happened in rounds of imputation, per round (round, signal); `settled` and `completed`
    are the last ones.

    Parameters
    ----------
    hidden
        Mean squared error on hidden samples.
    objective
        The masked objective (Eq. 39).
    rms, largest
        Of the residual x - V a on observed samples.
    step
        The r.m.s. change of the completed signal.
    sweeps
        Inner sweeps.
    """

    settled: Settled
    completed: Float[Tensor, "signal time"]
    hidden: Float[Tensor, "round signal"]
    objective: Float[Tensor, "round signal"]
    rms: Float[Tensor, "round signal"]
    largest: Float[Tensor, "round signal"]
    step: Float[Tensor, "round signal"]
    sweeps: Float[Tensor, "round signal"]


@torch.no_grad()
def walk(
    network: VectorNetwork,
    x: Float[Tensor, "signal time"],
    seen: Bool[Tensor, "signal time"],
    rounds: int,
    *,
    config: SettleConfig,
    warm: bool = True,
    factors: Sequence[float] = (),
) -> Walk:
    """`rounds` rounds of Alg. 1, evaluated one by one: z = m x + (1 - m) V a, a = settle(z), from
    z = m x.

    Parameters
    ----------
    warm
        Each round goes on from the last one's codes instead of zero.
    factors
        Multiples of lambda for the first rounds, 1 afterwards.

    Raises
    ------
    ValueError
        For rounds < 1 and what `masked.observed` refuses.
    """
    checks.number("rounds", rounds, low=1, integer=True)
    z, mask = masked.observed(x, seen)
    usual = network.settler(config)
    settled: Settled | None = None
    notes: dict[str, list[Tensor]] = {}
    for index in range(rounds):
        shrunk = index < len(factors) and factors[index] != 1
        settler = with_sparsity(network, factors[index]).settler(config) if shrunk else usual
        settled = settler(z, settled.codes if warm and settled else None)
        drawn = network.reconstruct(settled)
        filled = torch.where(seen, z, drawn)
        now = evaluated(network, settled, x, mask)
        now |= {"step": (filled - z).square().mean(1).sqrt(), "sweeps": settled.sweeps.to(x.dtype)}
        for name, value in now.items():
            notes.setdefault(name, []).append(value)
        z = filled
    return Walk(settled, z, **{name: torch.stack(values) for name, values in notes.items()})


def evaluated(
    network: VectorNetwork,
    settled: Settled,
    x: Float[Tensor, "signal time"],
    mask: Float[Tensor, "signal time"],
) -> dict[str, Float[Tensor, " signal"]]:
    """Per signal: the error where it is hidden, the masked objective, and the residual where it is
    observed.
    """
    error = x - network.reconstruct(settled)
    c = network.config
    return {
        "hidden": mean_where(error.square(), mask == 0),
        "objective": joint_energy(network.layers, settled.codes, x, c.feedback, c.activation, mask),
        "rms": mean_where(error.square(), mask == 1).sqrt(),
        "largest": (mask * error).abs().amax(1),
    }


def mean_where(
    values: Float[Tensor, "signal time"], where: Bool[Tensor, "signal time"]
) -> Float[Tensor, " signal"]:
    """The mean of each signal's values where `where` is True."""
    return torch.where(where, values, 0.0).sum(1) / where.sum(1)


def relative_gap(
    objective: Float[Tensor, "*rounds signal"], least: Float[Tensor, " signal"]
) -> Float[Tensor, "*rounds signal"]:
    """(F - F*) / F*, per signal; F* is never above any F met."""
    return objective / least - 1


def same_weights(network: VectorNetwork, before: dict[str, Tensor]) -> bool:
    """Whether every tensor of a network is, to the bit, what `before` (a cloned state_dict)
    says.
    """
    now = network.state_dict()
    return now.keys() == before.keys() and all(torch.equal(now[name], before[name]) for name in now)


def together(values: Mapping[str, Shaped[Tensor, "signal time"]]) -> Shaped[Tensor, "signals time"]:
    """Equally many signals of each set, one set after the other: one large settle is faster than
    four.
    """
    return torch.cat([values[name] for name in SETS])


def means(values: Shaped[Tensor, "*first signals"]) -> np.ndarray:
    """Means over the signals of each set, of values in the order of `together`."""
    return values.double().unflatten(-1, (len(SETS), -1)).mean(-1).cpu().numpy()


@torch.no_grad()
def followed(
    network: VectorNetwork,
    x: BySet,
    seen: Seen,
    curve: int,
    rounds: int,
    masks: Sequence[str],
    continuation: Sequence[float],
    config: SettleConfig,
) -> xr.Dataset:
    """Imputation round by round, over mask, round and set, and where it leads.

    All are means over signals.

    curve_hidden: error on hidden samples. curve_gap: (F - F*) / F* of the masked objective, F* its
    minimum. curve_gain: share of F that the round won; NaN in the first. curve_rms, curve_largest:
    residual on observed samples, r.m.s. and largest over time. curve_step: r.m.s. change of the
    completed signal. curve_sweeps: inner sweeps so far. `limit_`...: the same at the minimum. For
    "val" alone, over mask: cold_hidden (early, the first J rounds), with codes from zero in every
    round, and falling_hidden, after J rounds of which the first have larger lambdas.

    Raises
    ------
    KeyError
        For a mask that is not in `seen`.
    """
    every, found = together(x), []
    for mask in masks:
        shown = together(seen[mask])
        walked = walk(network, every, shown, curve, config=config)
        settled = masked.masked_settle(network, every, shown, config=config)
        end = evaluated(network, settled, every, shown.to(every.dtype))
        least = torch.minimum(end["objective"], walked.objective.amin(0))
        lost = torch.full_like(walked.objective[:1], torch.nan)
        curves = {
            "hidden": walked.hidden,
            "rms": walked.rms,
            "largest": walked.largest,
            "step": walked.step,
            "sweeps": walked.sweeps.cumsum(0),
            "gap": relative_gap(walked.objective, least),
            "gain": torch.cat([lost, -walked.objective.diff(dim=0)]) / walked.objective,
        }
        limits = {
            "hidden": end["hidden"],
            "rms": end["rms"],
            "largest": end["largest"],
            "sweeps": settled.sweeps,
            "gap": relative_gap(end["objective"], least),
        }
        val = (network, x["val"], seen[mask]["val"], rounds)
        cold = walk(*val, config=config, warm=False)
        falling = walk(*val, config=config, factors=continuation)
        values = {
            f"curve_{name}": (("round", "set"), means(value)) for name, value in curves.items()
        }
        values |= {f"limit_{name}": ("set", means(value)) for name, value in limits.items()}
        values |= {
            "cold_hidden": ("early", cold.hidden.double().mean(1).cpu().numpy()),
            "falling_hidden": float(falling.hidden[-1].mean()),
        }
        found.append(
            xr.Dataset(
                values, {"round": np.arange(1, curve + 1), "early": np.arange(1, rounds + 1)}
            )
        )
    whole = xr.concat(found, xr.DataArray(list(masks), dims="mask", name="mask"))
    return whole.assign_coords(set=list(SETS))
