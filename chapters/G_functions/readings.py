"""A Vector Network of signals, read from its first and from its top code, whole and masked (VN
Tables 5, 6, App. G).

Signals come by set ("train", "val", "id", "easy", "hard") as (signal, time), `seen` by mask and set
as bool, True where a signal is observed. Errors are mean squares, in units of the mean power of
training signals where these are normalised. All choices are made on "val".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from benchmarks.functions import completion
from benchmarks.functions.dictionaries import with_sparsity
from benchmarks.functions.samples import BySet, Seen
from chapters.G_functions import rounds as imputation
from chapters.G_functions.rounds import SETS, means, together
from vnlib import masked
from vnlib.network import VectorNetwork
from vnlib.settle import SettleConfig, Settled

SOLVERS = ("rounds", "limit")
READINGS = ("first", "top")


def measured(
    x: BySet,
    seen: Seen,
    network: VectorNetwork,
    *,
    rounds: int,
    curve: int = 0,
    curve_masks: Sequence[str] = (),
    continuation: Sequence[float] = (),
    factors: Sequence[float] = (),
    config: SettleConfig,
) -> xr.Dataset:
    """All that is measured of one network.

    Dimensions: set, layer, mask, reading (first, top), solver (rounds, limit), round, factor.
    `unchanged` is 1 if no weight changed in all that.

    Parameters
    ----------
    rounds
        J of the imputation.
    curve
        Rounds that are followed one by one, under `curve_masks`; 0 for none.
    continuation
        Multiples of lambda for the first rounds.
    factors
        Multiples of lambda for which everything that the first code says is measured again.
    config
        Every inference.
    """
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    parts = [
        unmasked(network, x, config),
        hidden(network, x, seen, rounds, config),
        controls(x, seen),
    ]
    own = first_code(*parts[:2])
    if curve:
        walked = imputation.followed(
            network, x, seen, curve, rounds, curve_masks, continuation, config
        )
        parts.append(walked.reindex(mask=list(seen)))
    if factors:
        parts.append(sweep(network, x, seen, rounds, factors, config, own))
    unchanged = xr.Dataset({"unchanged": int(imputation.same_weights(network, before))})
    return xr.merge([*parts, unchanged], compat="no_conflicts")


@torch.no_grad()
def unmasked(network: VectorNetwork, x: BySet, config: SettleConfig) -> xr.Dataset:
    """Whole signals: `mse` of both readings, and per layer what the code does.

    active: atoms in use per signal. explained: share of the power of x_l that V_l a_l explains.
    message: r.m.s. norm of x_l. unused: atoms that no signal of any set uses. coherence: the
    largest `|v_j . v_k|`.
    """
    every = together(x)
    settled = network.settle(every, config=config)
    mse = [means((drawn - every).square().mean(1)) for drawn in both(network, settled, config)]
    active, explained, message, unused, coherence = [], [], [], [], []
    for V, code, read in zip(network.V, settled.codes, settled.inputs, strict=True):
        power = read.square().sum(1)
        active.append(means((code != 0).float().sum(1)))
        explained.append(1 - means((read - code @ V.T).square().sum(1)) / means(power).clip(1e-12))
        message.append(means(power) ** 0.5)
        unused.append(float((code == 0).all(0).sum()))
        coherence.append(float((V.T @ V).abs().fill_diagonal_(0).max()))
    cell = ("layer", "set")
    values = {
        "mse": (("reading", "set"), mse),
        "active": (cell, active),
        "explained": (cell, explained),
        "message": (cell, message),
        "unused": ("layer", unused),
        "coherence": ("layer", coherence),
    }
    coords = {
        "reading": list(READINGS),
        "set": list(SETS),
        "layer": np.arange(1, len(network.V) + 1),
    }
    return xr.Dataset(values, coords)


def both(
    network: VectorNetwork, settled: Settled, config: SettleConfig
) -> list[Float[Tensor, "signal time"]]:
    """V_1 a_1, and what the top code alone says; they are one for a single layer."""
    first, most = network.reconstruct(settled), min(100, config.max_sweeps)
    return [
        first,
        first if len(network.V) == 1 else network.decode(settled.codes[-1], max_sweeps=most),
    ]


@torch.no_grad()
def hidden(
    network: VectorNetwork, x: BySet, seen: Seen, rounds: int, config: SettleConfig
) -> xr.Dataset:
    """Error on `hidden` samples by reading: after J rounds of Alg. 1, and at the minimum of
    Eq. 39.
    """
    every, found = together(x), np.full((len(READINGS), len(SOLVERS), len(seen), len(SETS)), np.nan)
    for m, by_name in enumerate(seen.values()):
        shown = together(by_name)
        ends = (
            masked.impute(network, every, shown, rounds, warm=True, config=config).settled,
            masked.masked_settle(network, every, shown, config=config),
        )
        for solver, settled in enumerate(ends):
            for reading, drawn in enumerate(both(network, settled, config)):
                error = imputation.mean_where((drawn - every).square(), ~shown)
                found[reading, solver, m] = means(error)
    coords = {
        "reading": list(READINGS),
        "solver": list(SOLVERS),
        "mask": list(seen),
        "set": list(SETS),
    }
    return xr.Dataset({"hidden": (tuple(coords), found)}, coords)


def controls(x: BySet, seen: Seen) -> xr.Dataset:
    """The same errors without a model: `zero_baseline` (set), and `hidden_rule` (rule, mask,
    set).
    """
    fills = {
        "zero_baseline": completion.zero_baseline,
        "hold_last": completion.hold_last,
        "interpolate": completion.interpolate,
    }
    found = [
        [
            [
                float(imputation.mean_where((fill(x[s], by[s]) - x[s]).square(), ~by[s]).mean())
                for s in SETS
            ]
            for by in seen.values()
        ]
        for fill in fills.values()
    ]
    zero = [float(x[name].square().mean()) for name in SETS]
    coords = {"rule": list(fills), "mask": list(seen), "set": list(SETS)}
    return xr.Dataset(
        {"zero_baseline": ("set", zero), "hidden_rule": (tuple(coords), found)}, coords
    )


def first_code(unmasked: xr.Dataset, hidden: xr.Dataset) -> xr.Dataset:
    """What the first code says, of the results of `unmasked` and `hidden`: sweep_mse, sweep_hidden,
    sweep_active.
    """
    errors = {"sweep_mse": unmasked["mse"], "sweep_hidden": hidden["hidden"]}
    first = {name: value.sel(reading="first", drop=True) for name, value in errors.items()}
    return xr.Dataset(first | {"sweep_active": unmasked["active"].sel(layer=1, drop=True)})


def sweep(
    network: VectorNetwork,
    x: BySet,
    seen: Seen,
    rounds: int,
    factors: Sequence[float],
    config: SettleConfig,
    own: xr.Dataset,
) -> xr.Dataset:
    """`first_code` with all lambdas multiplied in inference, over factor; `own` is the result of
    factor 1.
    """
    found = []
    for factor in factors:
        if factor == 1:
            found.append(own)
            continue
        one = with_sparsity(network, factor)
        found.append(first_code(unmasked(one, x, config), hidden(one, x, seen, rounds, config)))
    return xr.concat(found, xr.DataArray(np.asarray(factors, float), dims="factor", name="factor"))
