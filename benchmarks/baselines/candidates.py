"""The candidate settings that were tried, what each came to, and which was chosen."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pandas as pd
import xarray as xr
from IPython.display import HTML

from vnlib.plots.tables import Table, caption

NOTHING = "Nothing was chosen in this profile: every model takes its first candidate."


def candidates(
    selection: xr.Dataset | None,
    criterion: str | Callable[[xr.Dataset], xr.DataArray] = "criterion",
    *,
    unit: float = 1.0,
    title: str = "validation error",
) -> Table | HTML:
    """What each model's candidates differ in, and what they came to; the chosen one is marked.

    Parameters
    ----------
    selection
        Over (model, candidate); None where nothing was chosen, which a sentence then says.
    criterion
        What was compared: a variable, or a function that finds it.
    unit
        What the criterion is multiplied by.
    title
        Of its column.
    """
    if selection is None:
        return caption(NOTHING)
    values = selection[criterion] if isinstance(criterion, str) else criterion(selection)
    rows = []
    for model in values["model"].values.tolist():
        one = values.sel(model=model)
        tried = [_settings(text) for text in selection["run_settings"].sel(model=model).values]
        differ = [name for name in tried[0] if len({json.dumps(each[name]) for each in tried}) > 1]
        label = str(one["label"].item()) if "label" in one.coords else model
        chosen = int(one.argmin("candidate"))
        for number, each in enumerate(tried):
            said = ", ".join(f"{name} {_text(each[name])}" for name in differ)
            error = unit * float(one.isel(candidate=number))
            rows.append((label, said, error, "chosen" if number == chosen else ""))
    frame = pd.DataFrame(rows, columns=["model", "candidate", title, ""]).set_index("model")
    return Table(frame, name="candidate settings of all models")


def _settings(text: Any) -> dict[str, Any]:
    """Learning rate and options of a run, from its settings as JSON."""
    settings = json.loads(str(text))
    training = settings.get("training", settings)
    found = {key: training[key] for key in ("lr",) if key in training} | training.get("options", {})
    return {"learning rate" if key == "lr" else key: value for key, value in found.items()}


def _text(value: Any) -> str:
    """A number, or numbers in brackets."""
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return f"{value:g}" if isinstance(value, int | float) else str(value)
