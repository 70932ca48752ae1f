"""What a reader may explore of App. H: bodies that follow two models, beside true ones, in motion."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from benchmarks.baselines.longer import once
from benchmarks.nbody.figures import DT, title
from chapters.H_nbody.figures_looks import CAP, EDGE, drawn
from chapters.H_nbody.figures_paths import choose, seen_seed
from vnlib.plots.frames import label, some
from vnlib.plots.statistics import confidence, over_seeds, percent

SIDES = {"left": "first model", "right": "second model"}
FIRST = {"left": "vn_token_3", "right": "gnn"}
SHOWN = 2.8  # box units from the middle to the edge of a panel
LEAST = 1e-8  # box², the border of the plot
SECONDS = 6.0


def explorer(results: xr.Dataset, truth: xr.Dataset) -> dict[str, Any]:
    """Paths of one seed from every first state, how far they are from the truth, and over all seeds
    and first states how far they end.
    """
    every = [str(m) for m in once(results)["model"].values]
    models = some(drawn(results, "path", every))
    seed, scenes = seen_seed(results), [str(s) for s in results["scene"].values]
    steps, starts = results["step"].values, list(range(results.sizes["start"]))
    times = [f"{step * DT:.2f} s" for step in steps]
    one = results.sel(model=models, seed=seed).assign_coords(start=starts)
    paths = one["path"].transpose("model", "scene", "start", "step", "body", "axis")
    true = truth["position"].rename(panel="scene").sel(scene=scenes).assign_coords(start=starts)
    drift = one["drift"].rename(panel="scene").sel(scene=scenes)
    drift = drift.transpose("model", "scene", "start", "step")
    drift = drift.assign_coords(step=steps * DT)
    ends = results["drift"].sel(model=models, panel=scenes).isel(step=-1).rename(panel="scene")
    ends = over_seeds(ends.fillna(np.inf).median("start").clip(max=CAP))
    names = [label(results, m) for m in models]
    level = percent(confidence(results.sizes["seed"]))
    panel = {"show": "paths", "high": SHOWN, "box": EDGE, "unit": "[box]", "until": "step"}
    return {
        "title": "Let bodies follow two models",
        "note": "On all three mixtures only six models end near the truth: both Factorized networks and, on tokens, the Vector Networks, the MLP and the RBF ridge. "
        "Colours: bodies; dashed: the box, of side 5. Paths and their distance from the truth are of "
        "the first seed, positions with eight bits; a body is lost where its numbers stop being finite. The "
        f"true paths are computed anew, by the laws. At the end: median over {len(starts)} first states, then "
        f"over n seeds [{level} interval], at most {CAP:g} box².",
        "choices": [
            *(
                {"key": key, "label": said, "values": models, "names": names, "as": "list"}
                | {"first": models.index(FIRST[key]) if FIRST[key] in models else 0}
                for key, said in SIDES.items()
            ),
            {"key": "scene", "label": "forces", "values": scenes, "as": "list"}
            | {"names": [title(s) for s in scenes], "first": len(scenes) - 1},
            {"key": "start", "label": "first state", "values": starts, "as": "slider"}
            | {"names": [str(s + 1) for s in starts]}
            | {"first": choose(results, truth, scenes[-1]).start},
            {"key": "step", "label": "time", "values": steps.tolist(), "as": "slider"}
            | {"names": times, "first": len(times) - 1, "play": SECONDS},
        ],
        "views": [
            panel | {"title": "the truth", "values": true},
            *(
                panel | {"title": f"{{{key}}}", "values": paths, "by": {"model": key}}
                for key in SIDES
            ),
            {
                "show": "curve", "title": "Distance from the truth",
                "x": "time [s]", "y": "squared distance [box²]", "log": True, "low": LEAST,
                "high": CAP, "marks": "step",
                "series": [
                    {"name": f"{{{key}}}", "hue": key, "values": drift, "by": {"model": key}} | look
                    for key, look in zip(SIDES, ({}, {"dash": "6 3"}), strict=True)
                ],
            },
            {
                "show": "table", "title": "{scene}, after " + times[-1],
                "columns": ["squared distance from the truth [box²]"], "values": [ends],
                "rows": [{"name": f"{{{key}}}", "hue": key, "by": {"model": key}} for key in SIDES],
            },
        ],
    }  # fmt: skip
