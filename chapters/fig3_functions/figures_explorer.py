"""What a reader may explore of Fig. 3: a Hard signal, and how two models draw or complete it."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from vnlib.plots.statistics import confidence, over_seeds, percent

FIRST = {"left": "vn_1", "right": "transformer", "given": "zero_filled"}
SIDES = {"left": "first model", "right": "second model"}
GIVEN = {
    "whole": "whole",
    "zero_filled": "¾, zeros or five rounds",
    "mask_aware": "¾, mask told or solved",
}
TAIL = "forecast_25"
HIDDEN = 0.75  # from there on signals are hidden, s
FIT = 1.6  # from the middle to the border, over the largest value of the signal


def explorer(results: xr.Dataset) -> dict[str, Any]:
    """The signal, two drawings of the seed that has them, and errors of all seeds on this signal."""
    models = results["model"].values.tolist()
    names = [str(one) for one in results["label"].values]
    examples = results["example"].values.tolist()
    one, signal = kept(results)
    errors = [over_seeds(on_signals(results, examples)), over_seeds(on_all(results))]
    level = percent(confidence(results.sizes["seed"]))
    return {
        "title": "Pick a signal, and what is given of it",
        "note": "Where the end of Hard signals is hidden, no model leaves less than half of the zero baseline's "
        "error. Signals are of kinds that no model was trained on. Grey: the last quarter, which is hidden unless "
        "the whole signal is given; errors are those there, or on the whole signal, in units of the "
        f"mean power of ID signals: median over n seeds [{level} interval]. Lines are of the first seed; beyond the frame they run along it.",
        "choices": [
            {"key": "example", "label": "signal", "values": examples, "as": "list", "first": loudest(signal)}
            | {"names": [", no. ".join(one.rsplit(" ", 1)) for one in examples]},
            {"key": "given", "label": "given", "values": [*GIVEN], "as": "list"}
            | {"names": [*GIVEN.values()], "first": [*GIVEN].index(FIRST["given"])},
            *(
                {"key": key, "label": said, "values": models, "names": names, "as": "list"}
                | {"first": models.index(FIRST[key]) if FIRST[key] in models else 0}
                for key, said in SIDES.items()
            ),
        ],
        "views": [
            {
                "show": "curve", "title": "The signal, and what two models make of it",
                "x": "time [s]", "y": "signal [r.m.s. of training]", "fit": FIT,
                "shade": [HIDDEN, float(results["time"][-1])],
                "series": [
                    {"name": "signal", "values": signal, "dash": "1 3"},
                    *({"name": f"{{{key}}}", "hue": key, "values": drawings(one), "by": {"model": key}} | look
                      for key, look in zip(SIDES, ({}, {"dash": "6 3"}), strict=True)),
                ],
            },
            {
                "show": "table", "title": "{example}, given {given}",
                "columns": ["error on this signal", "error on all Hard signals"], "values": errors,
                "rows": [{"name": f"{{{key}}}", "hue": key, "by": {"model": key}} for key in SIDES],
            },
        ],
    }  # fmt: skip


def kept(results: xr.Dataset) -> tuple[xr.Dataset, xr.DataArray]:
    """The seed whose drawings are kept, and the signals (example, time), the same for all models."""
    there = results["truth"].notnull().all(("example", "time")).transpose("seed", "model").values
    seed, model = np.argwhere(there)[0]
    one = results.isel(seed=int(seed))
    return one, one["truth"].isel(model=int(model), drop=True)


def loudest(signal: xr.DataArray) -> int:
    """Which signal has the most power in its hidden part."""
    hidden = signal.where(signal["time"] >= HIDDEN)
    return int((hidden**2).mean("time").argmax("example"))


def drawings(one: xr.Dataset) -> xr.DataArray:
    """What is drawn (model, given, example, time) of a whole signal and of one without its end."""
    filled = one["filled"].rename(protocol="given").transpose("model", "given", ...)
    whole = one["drawn"].expand_dims(given=["whole"], axis=1)
    return xr.concat([whole, filled], "given").sel(given=[*GIVEN])


def on_signals(results: xr.Dataset, examples: list[str]) -> xr.DataArray:
    """Errors (model, seed, given, example) on the signals that are drawn."""
    cases = {"case": [int(one.rsplit(" ", 1)[1]) for one in examples]}
    hidden = results["hidden_hard"].sel(mask=TAIL, drop=True).rename(protocol="given")
    whole = results["error_hard"].expand_dims(given=["whole"])
    found = xr.concat([whole.sel(cases), hidden.sel(cases)], "given").sel(given=[*GIVEN])
    return found.rename(case="example").assign_coords(example=examples)


def on_all(results: xr.Dataset) -> xr.DataArray:
    """Errors (model, seed, given) on all Hard signals."""
    hidden = results["hidden"].sel(mask=TAIL, set="hard", drop=True).rename(protocol="given")
    whole = results["mse"].sel(set="hard", drop=True).expand_dims(given=["whole"])
    return xr.concat([whole, hidden], "given").sel(given=[*GIVEN])
