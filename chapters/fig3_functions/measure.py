"""Signals drawn and filled in by one trained model (VN Fig. 3, Tables 5 and 6, App. G).

A model is a `benchmarks.functions.imputers.Completer`. Two ways to fill in hidden samples: "paper"
is the paper's protocol, zeros where hidden, for a Vector Network five rounds of imputation; "aware"
is inference that knows the mask, with what it must choose chosen per mask on the validation
signals. Errors are mean squares over samples, so that 1 is the mean power of training signals where
these are normalised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from benchmarks.functions.imputers import Completer
from chapters.fig3_functions import signatures

SETS = ("id", "easy", "hard")
WAYS = ("paper", "aware")
TAIL = "forecast_25"  # the mask of Fig. 3c, whose waveforms and failure signatures are kept
BATCH = 240

Fill = Callable[[Tensor, Tensor], Tensor]
Masks = Mapping[str, Mapping[str, np.ndarray]]


def study(
    data: xr.Dataset,
    masks: Masks,
    model: Completer,
    *,
    tests: bool = True,
    details: bool = False,
    per_kind: int = 4,
    device: torch.device | str = "cpu",
) -> xr.Dataset:
    """All that is measured of one model. What a model cannot do is NaN.

    Without tests: `mse_val`, `hidden_val` (way, mask), `criterion`: the mean of `hidden_val` over
    masks in the way the model is chosen by (the paper's where it has one), `curve` (check): the
    validation error in training at tenths of the updates, `fact_...` of the model.

    With tests, over set: `mse`; `mse_kind` (kind); `hidden` and `observed_error` (way, mask);
    `blank` and `blank_hidden` (mask), the errors of the zero prediction; the failure signatures of
    `studies.signatures`, of reconstructions (`band_...`, `spread`, ...) and of the tail hidden by
    forecast_25 (`tail_...`, `seen_error`; way); of the data, `train_count` (kind), `test_count`
    (kind) and `repeated`, the test signals that are training signals.

    With details: `error_hard` (case), `hidden_hard` (way, mask, case) of every Hard signal; for
    `per_kind` signals of each kind, every second sample: `truth`, `drawn` (example, time), `filled`
    (way, example, time) under forecast_25.

    Parameters
    ----------
    data
        Value (signal, time), set and kind (signal), with the sets val, id, easy and hard.
    masks
        For every mask and set, which samples are observed, bool (signal, time).
    tests
        False looks at validation signals only, as tuning must.
    details
        Keep single Hard signals.
    """
    x = {name: _signals(data, name, device) for name in ("val", *(SETS if tests else ()))}
    seen = {
        m: {name: torch.from_numpy(by[name]).to(device) for name in x} for m, by in masks.items()
    }
    drawn = (
        {name: _batched(model.reconstruct, signals) for name, signals in x.items()}
        if model.reconstruct
        else {}
    )
    ways = WAYS if tests else ("paper" if model.paper else "aware",)
    filled = {way: _filled(model, way, x, seen) if way in ways else {} for way in WAYS}
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
    whole = xr.merge(parts, compat="no_conflicts", join="outer")
    for variable in whole.data_vars.values():
        variable.attrs.setdefault("units", "1")
    return whole


def square_error(drawn: Tensor, x: Tensor, where: Tensor | None = None) -> Tensor:
    """Mean squared error of each signal, over the samples `where` is True (None: over all)."""
    error = (drawn.double() - x).square()
    if where is None:
        return error.mean(1)
    return torch.where(where, error, 0.0).sum(1) / where.sum(1)


def _signals(data: xr.Dataset, name: str, device: torch.device | str) -> Tensor:
    return torch.from_numpy(data["value"].values[data["set"].values == name]).to(device)


@torch.no_grad()
def _batched(fill: Callable[..., Tensor], *signals: Tensor) -> Tensor:
    return torch.cat([fill(*part) for part in zip(*(s.split(BATCH) for s in signals), strict=True)])


def _filled(model: Completer, way: str, x: dict, seen: dict) -> dict[str, dict[str, Tensor]]:
    """Whole signals as the model gives them, by mask and set; empty where the model lacks the
    way.
    """
    if getattr(model, way) is None:
        return {}
    if way == "paper":
        fills: dict[str, Fill] = dict.fromkeys(seen, model.paper)
    else:
        fills = {m: model.aware(x["val"], by["val"]) for m, by in seen.items()}
    return {
        m: {name: _batched(fills[m], x[name], by[name]) for name in x} for m, by in seen.items()
    }


def _validation(model: Completer, x: dict, seen: dict, drawn: dict, filled: dict) -> xr.Dataset:
    hidden = xr.DataArray(
        np.full((len(WAYS), len(seen)), np.nan),
        {"way": list(WAYS), "mask": list(seen)},
        ("way", "mask"),
    )
    for way, by_mask in filled.items():
        for mask, by_set in by_mask.items():
            error = square_error(by_set["val"], x["val"], ~seen[mask]["val"])
            hidden.loc[{"way": way, "mask": mask}] = float(error.mean())
    way = "paper" if model.paper else "aware"
    values = {
        "mse_val": _mean(drawn, x, "val"),
        "criterion": float(hidden.sel(way=way).mean(skipna=False)),
    }
    curve = np.full(10, np.nan)
    if model.curve:
        # Training may have fewer checks than tenths (few updates): the last value so far.
        at = np.ceil(np.arange(1, 11) * len(model.curve) / 10).astype(int) - 1
        curve = np.asarray(model.curve)[at]
    facts = {f"fact_{name}": value for name, value in model.facts.items()}
    return xr.Dataset(
        {"hidden_val": hidden, "curve": ("check", curve)} | values | facts,
        {"check": np.arange(1, 11) / 10},
    )


def _mean(drawn: dict, x: dict, name: str) -> float:
    return float(square_error(drawn[name], x[name]).mean()) if name in drawn else np.nan


def _task(data: xr.Dataset) -> xr.Dataset:
    kind, of = data["kind"].values.astype(str), data["set"].values.astype(str)
    kinds = list(dict.fromkeys(kind))
    train = {row.tobytes() for row in data["value"].values[of == "train"]}
    counts = {
        name: [int(((of == name) & (kind == k)).sum()) for k in kinds] for name in ("train", *SETS)
    }
    repeated = [
        sum(row.tobytes() in train for row in data["value"].values[of == name]) for name in SETS
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
    shape = (len(WAYS), len(seen), len(SETS))
    hidden, visible = np.full(shape, np.nan), np.full(shape, np.nan)
    for w, way in enumerate(WAYS):
        for m, mask in enumerate(filled[way]):
            for s, name in enumerate(SETS):
                shown, whole = seen[mask][name], filled[way][mask][name]
                hidden[w, m, s] = float(square_error(whole, x[name], ~shown).mean())
                visible[w, m, s] = float(square_error(whole, x[name], shown).mean())
    blank = {name: torch.zeros_like(x[name]) for name in SETS}
    blanks = [
        [float(square_error(blank[n], x[n], ~by[n]).mean()) for n in SETS] for by in seen.values()
    ]
    cell = ("way", "mask", "set")
    return xr.Dataset(
        {
            "mse": ("set", [_mean(drawn, x, name) for name in SETS]),
            "mse_kind": ("kind", mse_kind),
            "hidden": (cell, hidden),
            "observed_error": (cell, visible),
            "blank": ("set", [_mean(blank, x, name) for name in SETS]),
            "blank_hidden": (("mask", "set"), blanks),
        },
        {"way": list(WAYS), "mask": list(seen), "set": list(SETS), "kind": all_kinds},
    )


def _signatures(x: dict, seen: dict, drawn: dict, filled: dict) -> xr.Dataset:
    """The failure signatures of reconstructions, over set, and of the tail that forecast_25 hides,
    over way and set.
    """
    over_sets = []
    for name in SETS:
        found = [signatures.report(x[name], drawn[name])] if drawn else []
        for way in (w for w in WAYS if TAIL in filled[w]):
            run = signatures.hidden_run(x[name], filled[way][TAIL][name], seen[TAIL][name])
            # Names that begin with run_ belong to the store of results.
            run = {name.replace("run_", "tail_"): value for name, value in run.items()}
            found.append(signatures.dataset(run).expand_dims(way=[way]))
        over_sets.append(
            xr.merge(found, compat="no_conflicts", join="outer").expand_dims(set=[name])
        )
    return xr.concat(over_sets, "set")


def _singles(x: Tensor, seen: dict, drawn: dict, filled: dict) -> xr.Dataset:
    hidden = np.full((len(WAYS), len(seen), len(x)), np.nan, np.float32)
    for w, way in enumerate(WAYS):
        for m, mask in enumerate(filled[way]):
            hidden[w, m] = square_error(filled[way][mask]["hard"], x, ~seen[mask]["hard"]).cpu()
    whole = (
        square_error(drawn["hard"], x).float().cpu().numpy()
        if drawn
        else np.full(len(x), np.nan, np.float32)
    )
    coords = {"way": list(WAYS), "mask": list(seen), "case": np.arange(len(x))}
    return xr.Dataset(
        {"error_hard": ("case", whole), "hidden_hard": (("way", "mask", "case"), hidden)}, coords
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
    shown = [filled[way][TAIL]["hard"] if TAIL in filled[way] else nothing for way in WAYS]
    found = {
        "truth": (("example", "time"), coarse(x[rows])),
        "drawn": (("example", "time"), coarse(drawn.get("hard", nothing)[rows])),
        "filled": (("way", "example", "time"), np.stack([coarse(one[rows]) for one in shown])),
    }
    names = [f"{kinds[row]} {row}" for row in rows]
    coords = {"way": list(WAYS), "example": names, "time": data["time"].values[::2]}
    return xr.Dataset(found, coords)


def coarse(x: Tensor, step: float = 1 / 256) -> np.ndarray:
    """Every second sample on a grid of `step`, which files keep in a third of the space; for
    pictures only.
    """
    return ((x[:, ::2] / step).round() * step).float().cpu().numpy()
