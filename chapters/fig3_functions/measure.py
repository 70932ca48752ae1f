"""Signals drawn and filled in by one trained model (VN Fig. 3, Tables 5 and 6, App. G).

A model is a `benchmarks.functions.imputer.Imputer`. Two protocols fill in hidden samples:
"zero_filled" is the paper's, zeros where hidden, for a Vector Network five rounds of imputation;
"mask_aware" is inference that knows the mask, with what it must choose chosen per mask on the
validation signals. Errors are mean squares over samples, so that 1 is the mean power of training
signals where these are normalised.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from benchmarks.functions.imputer import Imputer
from benchmarks.functions.samples import BySet, Seen
from chapters.fig3_functions import signatures

SETS = ("id", "easy", "hard")
PROTOCOLS = ("zero_filled", "mask_aware")
TAIL = "forecast_25"  # the mask of Fig. 3c, whose waveforms and failure signatures are kept
BATCH = 240


def measured(
    data: xr.Dataset,
    x: BySet,
    seen: Seen,
    model: Imputer,
    *,
    tests: bool = True,
    details: bool = False,
    per_kind: int = 4,
) -> xr.Dataset:
    """All that is measured of one model (`study.VARIABLES` says what); NaN is what it cannot do.

    Parameters
    ----------
    data
        Value (signal, time), set and kind (signal), with the sets val, id, easy and hard.
    x, seen
        The signals by set, and what of them is observed, by mask and set.
    tests
        False looks at validation signals only, as selection must.
    details
        Keep the errors of single Hard signals, and `per_kind` of each kind with their drawings,
        whole and with the last quarter hidden.
    """
    x = {name: x[name] for name in ("val", *(SETS if tests else ()))}
    draw = model.reconstruct
    drawn = {name: _batched(draw, one) for name, one in x.items()} if draw else {}
    protocols = PROTOCOLS if tests else ("zero_filled" if model.zero_filled else "mask_aware",)
    filled = {
        protocol: _filled(model, protocol, x, seen) if protocol in protocols else {}
        for protocol in PROTOCOLS
    }
    parts = [_validation(model, x, seen, drawn, filled)]
    if tests:
        parts += [
            _task(data),
            _errors(data, x, seen, drawn, filled),
            _signatures(x, seen, drawn, filled),
        ]
    if tests and details:
        parts += [
            _singles(x["hard"], seen, drawn, filled),
            _examples(data, x["hard"], drawn, filled, per_kind),
        ]
    return xr.merge(parts, compat="no_conflicts", join="outer")


def square_error(drawn: Tensor, x: Tensor, where: Tensor | None = None) -> Tensor:
    """Mean squared error of each signal, over the samples `where` is True (None: over all)."""
    error = (drawn.double() - x).square()
    if where is None:
        return error.mean(1)
    return torch.where(where, error, 0.0).sum(1) / where.sum(1)


@torch.no_grad()
def _batched(fill: Callable[..., Tensor], *signals: Tensor) -> Tensor:
    return torch.cat([fill(*part) for part in zip(*(s.split(BATCH) for s in signals), strict=True)])


def _filled(model: Imputer, protocol: str, x: dict, seen: dict) -> dict[str, dict[str, Tensor]]:
    """Whole signals as the model gives them, by mask and set; empty where the model lacks the
    protocol.
    """
    if getattr(model, protocol) is None:
        return {}
    if protocol == "zero_filled":
        fills = dict.fromkeys(seen, model.zero_filled)
    else:
        fills = {m: model.mask_aware(x["val"], by["val"]) for m, by in seen.items()}
    return {
        m: {name: _batched(fills[m], x[name], by[name]) for name in x} for m, by in seen.items()
    }


def _validation(model: Imputer, x: dict, seen: dict, drawn: dict, filled: dict) -> xr.Dataset:
    hidden = xr.DataArray(
        np.full((len(PROTOCOLS), len(seen)), np.nan),
        {"protocol": list(PROTOCOLS), "mask": list(seen)},
        ("protocol", "mask"),
    )
    for protocol, by_mask in filled.items():
        for mask, by_set in by_mask.items():
            error = square_error(by_set["val"], x["val"], ~seen[mask]["val"])
            hidden.loc[{"protocol": protocol, "mask": mask}] = float(error.mean())
    protocol = "zero_filled" if model.zero_filled else "mask_aware"
    values = {
        "mse_val": _mean(drawn, x, "val"),
        "criterion": float(hidden.sel(protocol=protocol).mean(skipna=False)),
    }
    curve = np.full(10, np.nan)
    if model.curve:
        # Training may have fewer evaluations than tenths (few updates): the last value so far.
        at = np.ceil(np.arange(1, 11) * len(model.curve) / 10).astype(int) - 1
        curve = np.asarray(model.curve)[at]
    facts = {f"fact_{name}": value for name, value in model.facts.items()}
    return xr.Dataset(
        {"hidden_val": hidden, "curve": ("evaluation", curve)} | values | facts,
        {"evaluation": np.arange(1, 11) / 10},
    )


def _mean(drawn: dict, x: dict, name: str) -> float:
    return float(square_error(drawn[name], x[name]).mean()) if name in drawn else np.nan


def _task(data: xr.Dataset) -> xr.Dataset:
    kind, where = data["kind"].values.astype(str), data["set"].values.astype(str)
    kinds = list(dict.fromkeys(kind))
    train = {row.tobytes() for row in data["value"].values[where == "train"]}
    counts = {
        name: [int(((where == name) & (kind == k)).sum()) for k in kinds]
        for name in ("train", *SETS)
    }
    repeated = [
        sum(row.tobytes() in train for row in data["value"].values[where == name]) for name in SETS
    ]
    return xr.Dataset(
        {
            "train_count": ("kind", counts["train"]),
            "test_count": (("set", "kind"), [counts[name] for name in SETS]),
            "repeated": ("set", repeated),
        },
        {"set": list(SETS), "kind": kinds},
    )


def _errors(data: xr.Dataset, x: dict, seen: dict, drawn: dict, filled: dict) -> xr.Dataset:
    kinds = {name: data["kind"].values[data["set"].values == name].astype(str) for name in SETS}
    all_kinds = list(dict.fromkeys(np.concatenate(list(kinds.values()))))
    mse_kind = np.full(len(all_kinds), np.nan)
    for name in SETS if drawn else ():
        error = square_error(drawn[name], x[name]).cpu().numpy()
        for kind in np.unique(kinds[name]):
            mse_kind[all_kinds.index(kind)] = error[kinds[name] == kind].mean()
    shape = (len(PROTOCOLS), len(seen), len(SETS))
    hidden, visible = np.full(shape, np.nan), np.full(shape, np.nan)
    for w, protocol in enumerate(PROTOCOLS):
        for m, mask in enumerate(filled[protocol]):
            for s, name in enumerate(SETS):
                shown, whole = seen[mask][name], filled[protocol][mask][name]
                hidden[w, m, s] = float(square_error(whole, x[name], ~shown).mean())
                visible[w, m, s] = float(square_error(whole, x[name], shown).mean())
    zero = {name: torch.zeros_like(x[name]) for name in SETS}
    zero_hidden = [
        [float(square_error(zero[n], x[n], ~by[n]).mean()) for n in SETS] for by in seen.values()
    ]
    cell = ("protocol", "mask", "set")
    return xr.Dataset(
        {
            "mse": ("set", [_mean(drawn, x, name) for name in SETS]),
            "mse_kind": ("kind", mse_kind),
            "hidden": (cell, hidden),
            "observed_error": (cell, visible),
            "zero_baseline": ("set", [_mean(zero, x, name) for name in SETS]),
            "zero_baseline_hidden": (("mask", "set"), zero_hidden),
        },
        {"protocol": list(PROTOCOLS), "mask": list(seen), "set": list(SETS), "kind": all_kinds},
    )


def _signatures(x: dict, seen: dict, drawn: dict, filled: dict) -> xr.Dataset:
    """The failure signatures of reconstructions, over set, and of the tail that forecast_25 hides,
    over protocol and set.
    """
    over_sets = []
    for name in SETS:
        found = []
        if drawn:
            pair = (x[name], drawn[name])
            found.append(signatures.dataset(signatures.bands(*pair) | signatures.collapse(*pair)))
        for protocol in (w for w in PROTOCOLS if TAIL in filled[w]):
            tail = signatures.hidden_run(x[name], filled[protocol][TAIL][name], seen[TAIL][name])
            found.append(signatures.dataset(tail).expand_dims(protocol=[protocol]))
        over_sets.append(
            xr.merge(found, compat="no_conflicts", join="outer").expand_dims(set=[name])
        )
    return xr.concat(over_sets, "set")


def _singles(x: Tensor, seen: dict, drawn: dict, filled: dict) -> xr.Dataset:
    hidden = np.full((len(PROTOCOLS), len(seen), len(x)), np.nan, np.float32)
    for w, protocol in enumerate(PROTOCOLS):
        for m, mask in enumerate(filled[protocol]):
            hidden[w, m] = square_error(
                filled[protocol][mask]["hard"], x, ~seen[mask]["hard"]
            ).cpu()
    whole = (
        square_error(drawn["hard"], x).float().cpu().numpy()
        if drawn
        else np.full(len(x), np.nan, np.float32)
    )
    coords = {"protocol": list(PROTOCOLS), "mask": list(seen), "case": np.arange(len(x))}
    return xr.Dataset(
        {"error_hard": ("case", whole), "hidden_hard": (("protocol", "mask", "case"), hidden)},
        coords,
    )


def _examples(data: xr.Dataset, x: Tensor, drawn: dict, filled: dict, per_kind: int) -> xr.Dataset:
    """Waveforms of the first Hard signals of each kind; `example` is the kind and the number of the
    Hard signal.
    """
    kinds = data["kind"].values[data["set"].values == "hard"].astype(str)
    rows = np.concatenate(
        [np.flatnonzero(kinds == kind)[:per_kind] for kind in dict.fromkeys(kinds)]
    )
    nothing = torch.full_like(x, torch.nan)
    shown = [
        filled[protocol][TAIL]["hard"] if TAIL in filled[protocol] else nothing
        for protocol in PROTOCOLS
    ]
    found = {
        "truth": (("example", "time"), coarse(x[rows])),
        "drawn": (("example", "time"), coarse(drawn.get("hard", nothing)[rows])),
        "filled": (("protocol", "example", "time"), np.stack([coarse(one[rows]) for one in shown])),
    }
    names = [f"{kinds[row]} {row}" for row in rows]
    coords = {"protocol": list(PROTOCOLS), "example": names, "time": data["time"].values[::2]}
    return xr.Dataset(found, coords)


def coarse(x: Tensor, step: float = 1 / 256) -> np.ndarray:
    """Every second sample on a grid of `step`, which files keep in a third of the space; for
    pictures only.
    """
    return ((x[:, ::2] / step).round() * step).float().cpu().numpy()
