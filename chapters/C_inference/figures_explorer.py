"""What a reader may explore of App. C: a race of two methods of the settle."""

from __future__ import annotations

from typing import Any

import xarray as xr

from chapters.C_inference.figures import SOLVERS
from vnlib.plots.statistics import confidence, over_seeds, percent

FIRST = {"left": "line_search", "right": "ista"}
SIDES = {"left": "first method", "right": "second method"}
LOW, HIGH = 1e-13, 1e1  # heights below are rounding
SECONDS = 6.0


def explorer(results: xr.Dataset) -> dict[str, Any]:
    """Height of the energy above its minimum against sweeps, of all methods and of the two that are
    picked.
    """
    solvers = [s for s in SOLVERS if s in results["solver"].values]
    depths, betas = results["depth"].values.tolist(), results["beta"].values.tolist()
    schedules, sweeps = results["schedule"].values.tolist(), results["sweep"].values.tolist()
    found = over_seeds(results["height"].clip(LOW))
    active = over_seeds(results["active"].isel(layer=0, drop=True))
    along = ["depth", "beta", "schedule", "solver", "sweep"]
    curves = found.transpose(*along)
    others = [
        {"name": SOLVERS[s][0], "key": "all methods", "dash": "1 3"}
        | {"values": curves["median"].sel(solver=s, drop=True)}
        for s in solvers
    ]
    dashes = ({}, {"dash": "6 3"})
    sides = [
        {"name": f"{{{key}}}", "hue": key, "values": curves, "by": {"solver": key}} | dash
        for key, dash in zip(SIDES, dashes, strict=True)
    ]

    def choice(key: str, said: str, values: list, names: list[str], first: int) -> dict[str, Any]:
        told = {"key": key, "label": said, "values": values, "names": names, "as": "list"}
        return told | {"first": first}

    names = [SOLVERS[s][0] for s in solvers]
    level = percent(confidence(results.sizes["seed"]))
    return {
        "title": "A race of two methods",
        "note": "A line search comes down fastest, plain ISTA slowest, in every stack. F: the energy, over its minimum, the median over digits. Dotted: the medians of all methods. Below 10⁻¹³ "
        f"is rounding. Median over n seeds [{level} interval]. A stack of one layer has neither feedback nor a schedule.",
        "choices": [
            *(
                choice(key, said, solvers, names, solvers.index(FIRST[key]) if FIRST[key] in solvers else 0)
                for key, said in SIDES.items()
            ),
            choice("depth", "layers", depths, [str(d) for d in depths], len(depths) - 1),
            choice("beta", "weight of feedback", betas, [f"{b:g}" for b in betas], len(betas) - 1),
            choice("schedule", "schedule", schedules, schedules, 0),
            choice("sweep", "sweeps", sweeps, [f"{s:,}" for s in sweeps], len(sweeps) // 2)
            | {"as": "slider", "play": SECONDS},
        ],
        "views": [
            {
                "show": "curve", "title": "Height of F", "x": "number of sweeps",
                "y": "F above its minimum, relative", "log": True, "log_x": True, "low": LOW,
                "high": HIGH, "marks": "sweep", "series": [*others, *sides],
            },
            {
                "show": "table", "title": "After {sweep} sweeps",
                "columns": ["F above its minimum, relative", "active atoms of layer 1"],
                "rows": [{"name": f"{{{key}}}", "hue": key, "by": {"solver": key}} for key in SIDES],
                "values": [found.transpose(*along), active.transpose("depth", "beta", "solver", "sweep")],
            },
        ],
    }  # fmt: skip
