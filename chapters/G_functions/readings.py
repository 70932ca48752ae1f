"""A Vector Network of signals, read from its first and from its top code, whole and masked (VN
Tables 5, 6, App. G).

Signals come by set ("train", "val", "id", "easy", "hard") as (signal, time), `seen` by mask and set
as bool, True where a signal is observed. Errors are mean squares, in units of the mean power of
training signals where these are normalised. All choices are made on "val".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float, Shaped
from torch import Tensor

from benchmarks.functions import completion
from chapters.G_functions import rounds as imputation
from vnlib import checks, masked
from vnlib.fit import FitConfig, fit
from vnlib.learning.learner import LocalLearner
from vnlib.network import VectorNetwork
from vnlib.settle import SettleConfig, Settled

SETS = ("val", "id", "easy", "hard")
SOLVERS = ("rounds", "limit")
READINGS = ("first", "top")
RULES = {
    "subspace": "subspace",
    "frozen": "frozen",
    "literal": "atomic_hebb",
    "isometry": "subspace",
}

Signals = Mapping[str, Float[Tensor, "signal time"]]
Seen = Mapping[str, Mapping[str, Tensor]]


def trained(
    x: Signals,
    *,
    n_atoms: int,
    sparsity: Sequence[float],
    rule: str,
    interface: int,
    feedback: float,
    lr: float,
    interface_lr: float,
    steps: int,
    batch_size: int,
    sweeps: int,
    seed: int,
    checkpoint: Path | None = None,
) -> VectorNetwork:
    """A network whose atoms start as training signals and learn for `steps` updates (0: they stay
    what they are).

    The updates with the least reconstruction error on "val" are kept.

    Parameters
    ----------
    sparsity
        Relative lambda per layer.
    rule
        How U learns, one of `RULES`; "isometry" has messages as wide as the code, which need not be
        learned, the others `interface` numbers.
    sweeps
        Of each settle in training.

    Raises
    ------
    ValueError
        For an unknown rule.
    """
    checks.choice("rule", rule, RULES)
    depth = len(sparsity)
    width = n_atoms if rule == "isometry" else interface
    network = VectorNetwork.for_data(
        x["train"],
        atoms=(n_atoms,) * depth,
        interface=(width,) * (depth - 1),
        sparsity=tuple(sparsity),
        feedback=feedback,
        interface_rule=RULES[rule],
        seed=seed,
    )
    if not steps:
        return network
    quick = SettleConfig.training(max_sweeps=sweeps)
    epoch = -(-len(x["train"]) // batch_size)
    learner = LocalLearner(
        network, lr=lr, interface_lr=interface_lr, settle=quick, revive_after=epoch
    )

    def error() -> float:
        drawn = network.reconstruct(network.settle(x["val"], config=SettleConfig(max_sweeps=60)))
        return float((drawn - x["val"]).square().mean())

    config = FitConfig(steps=steps, batch_size=batch_size, eval_every=max(1, steps // 5))
    fit(learner, (x["train"],), config, seed=seed, validate=error, checkpoint=checkpoint)
    return network


def study(
    x: Signals,
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
    parts = [whole(network, x, config), hidden(network, x, seen, rounds, config), controls(x, seen)]
    own = first_code(*parts[:2])
    if curve:
        way = followed(network, x, seen, curve, rounds, curve_masks, continuation, config)
        parts.append(way.reindex(mask=list(seen)))
    if factors:
        parts.append(sweep(network, x, seen, rounds, factors, config, own))
    unchanged = xr.Dataset({"unchanged": int(imputation.same_weights(network, before))})
    found = xr.merge([*parts, unchanged], compat="no_conflicts")
    for variable in found.data_vars.values():
        variable.attrs.setdefault("units", "1")
    return found


@torch.no_grad()
def whole(network: VectorNetwork, x: Signals, config: SettleConfig) -> xr.Dataset:
    """Whole signals: `mse` of both readings, and per layer what the code does.

    active: atoms in use per signal. explained: share of the power of x_l that V_l a_l explains.
    message: r.m.s. norm of x_l. unused: atoms that no signal of any set uses. coherence: the
    largest `|v_j . v_k|`.
    """
    every = together(x)
    settled = network.settle(every, config=config)
    mse = [by_set((drawn - every).square().mean(1)) for drawn in both(network, settled, config)]
    active, explained, message, unused, coherence = [], [], [], [], []
    for V, code, read in zip(network.V, settled.codes, settled.inputs, strict=True):
        power = read.square().sum(1)
        active.append(by_set((code != 0).float().sum(1)))
        explained.append(
            1 - by_set((read - code @ V.T).square().sum(1)) / by_set(power).clip(1e-12)
        )
        message.append(by_set(power) ** 0.5)
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


def together(values: Mapping[str, Shaped[Tensor, "signal time"]]) -> Shaped[Tensor, "signals time"]:
    """Equally many signals of each set, one set after the other: one large settle is faster than
    four.
    """
    return torch.cat([values[name] for name in SETS])


def by_set(values: Shaped[Tensor, "*first signals"]) -> np.ndarray:
    """Means over the signals of each set, of values in the order of `together`."""
    return values.double().unflatten(-1, (len(SETS), -1)).mean(-1).cpu().numpy()


def both(
    network: VectorNetwork, settled: Settled, config: SettleConfig
) -> list[Float[Tensor, "signal time"]]:
    """V_1 a_1, and what the top code alone says; they are one for a single layer."""
    first, most = network.reconstruct(settled), min(100, config.max_sweeps)
    return [
        first,
        first if len(network.V) == 1 else network.reconstruct_from_top(settled, max_sweeps=most),
    ]


@torch.no_grad()
def hidden(
    network: VectorNetwork, x: Signals, seen: Seen, rounds: int, config: SettleConfig
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
                found[reading, solver, m] = by_set(error)
    coords = {
        "reading": list(READINGS),
        "solver": list(SOLVERS),
        "mask": list(seen),
        "set": list(SETS),
    }
    return xr.Dataset({"hidden": (tuple(coords), found)}, coords)


def controls(x: Signals, seen: Seen) -> xr.Dataset:
    """The same errors without a model: `blank` (set) of the zero prediction; `hidden_rule` (rule,
    mask, set).
    """
    fills = {
        "zeros": completion.zero_baseline,
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
    blank = [float(x[name].square().mean()) for name in SETS]
    coords = {"rule": list(fills), "mask": list(seen), "set": list(SETS)}
    return xr.Dataset({"blank": ("set", blank), "hidden_rule": (tuple(coords), found)}, coords)


@torch.no_grad()
def followed(
    network: VectorNetwork,
    x: Signals,
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
        way = imputation.walk(network, every, shown, curve, config=config)
        settled = masked.masked_settle(network, every, shown, config=config)
        end = imputation.look(network, settled, every, shown.to(every.dtype))
        least = torch.minimum(end["objective"], way.objective.amin(0))
        lost = torch.full_like(way.objective[:1], torch.nan)
        curves = {
            "hidden": way.hidden,
            "rms": way.rms,
            "largest": way.largest,
            "step": way.step,
            "sweeps": way.sweeps.cumsum(0),
            "gap": imputation.relative_gap(way.objective, least),
            "gain": torch.cat([lost, -way.objective.diff(dim=0)]) / way.objective,
        }
        limits = {
            "hidden": end["hidden"],
            "rms": end["rms"],
            "largest": end["largest"],
            "sweeps": settled.sweeps,
            "gap": imputation.relative_gap(end["objective"], least),
        }
        val = (network, x["val"], seen[mask]["val"], rounds)
        cold = imputation.walk(*val, config=config, warm=False)
        falling = imputation.walk(*val, config=config, factors=continuation)
        values = {
            f"curve_{name}": (("round", "set"), by_set(value)) for name, value in curves.items()
        }
        values |= {f"limit_{name}": ("set", by_set(value)) for name, value in limits.items()}
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


def first_code(whole: xr.Dataset, hidden: xr.Dataset) -> xr.Dataset:
    """What the first code says, of the results of `whole` and `hidden`: sweep_mse, sweep_hidden,
    sweep_active.
    """
    errors = {"sweep_mse": whole["mse"], "sweep_hidden": hidden["hidden"]}
    first = {name: value.sel(reading="first", drop=True) for name, value in errors.items()}
    return xr.Dataset(first | {"sweep_active": whole["active"].sel(layer=1, drop=True)})


def sweep(
    network: VectorNetwork,
    x: Signals,
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
        one = imputation.with_sparsity(network, factor)
        found.append(first_code(whole(one, x, config), hidden(one, x, seen, rounds, config)))
    return xr.concat(found, xr.DataArray(np.asarray(factors, float), dims="factor", name="factor"))


def signals(
    data: xr.Dataset, *, n: int, device: torch.device | str = "cpu"
) -> dict[str, Float[Tensor, "signal time"]]:
    """Signals by set: all of "train", the first n of the others.

    Raises
    ------
    ValueError
        Where a set has fewer.
    """
    found = {}
    for name in ("train", *SETS):
        rows = np.flatnonzero(data["set"].values == name)
        if name != "train":
            checks.number("n", n, low=1, high=len(rows), integer=True)
            rows = rows[:n]
        found[name] = torch.from_numpy(data["value"].values[rows]).to(device)
    return found
