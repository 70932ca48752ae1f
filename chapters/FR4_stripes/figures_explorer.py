"""What a reader may explore of FR Fig. 4: the number of bumps in training, with stripes and without."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from chapters.FR4_stripes.figures import amount_labels, ideal
from chapters.FR4_stripes.tables import diets_of
from vnlib.plots.frames import label, some
from vnlib.plots.statistics import over_seeds

FIRST = {"model": "cnn", "sample": "20, 18", "amount": "100"}
KINDS = {"stripes": "stripes and {amount} bumps", "bumps": "{amount} bumps only"}
MISSING = {
    "stripes": "With stripes this decoder was trained on other numbers of bumps alone.",
    "bumps": "Without stripes this decoder was not trained on this number of bumps; on none there is "
    "nothing to learn.",
}
COLUMNS = {
    "hit_ood": "share of hits",
    "bump_hit_ood": "share of hits with a bump",
    "cross_share_ood": "share more like a cross",
    "mse_ood": "mean squared error",
}
NOTE = (
    "With stripes the CNN finds nearly all held-out places, however many bumps it saw; with bumps alone it "
    "finds few. "
    "Pictures are of the first seed, with eight bits a pixel; ink beyond 0 and 1 is drawn as these. "
    "Bump and cross are computed from their width, {:g} px. Numbers are of all held-out positions, "
    "median over n seeds [95 % interval, of up to five seeds their range]; a hit with a bump is one in "
    "an image that is more like a bump than like a cross."
)


def explorer(results: xr.Dataset) -> dict[str, Any]:
    """What a decoder draws after stripes with so many bumps, and after these bumps alone, beside the
    bump and the cross; below, numbers over all held-out positions.
    """
    models = some([m for m in results["model"].values.tolist() if diets_of(results, m)])
    results = results.sel(model=models)
    steps, samples = amount_labels(results, models), results["sample"].values.tolist()
    drawn, sigma = ink(results), width(results)
    forms = [ideal(results, one, sigma) for one in samples]

    def true(form: str) -> xr.DataArray:
        pictures = np.stack([one[form] for one in forms])
        return xr.DataArray(pictures, {"sample": samples}, ("sample", "v", "u"))

    image = {"show": "image", "low": 0.0, "high": 1.0, "up": True}
    table = {"show": "table", "columns": [*COLUMNS.values()], "rows": [{"name": "{model}"}]}
    found = {
        kind: {name: over_seeds(of_kind(results[name], kind, steps)) for name in COLUMNS}
        for kind in KINDS
    }
    return {
        "title": "Add bumps to the training, with stripes or without",
        "note": NOTE.format(sigma),
        "choices": [
            _choice("model", "decoder", models, [label(results, m) for m in models]),
            _choice("sample", "position", samples, [f"({one})" for one in samples]),
            _choice("amount", "bumps in training", steps, steps) | {"as": "slider"},
        ],
        "views": [
            image | {"title": "bump at {sample}", "values": true("bumps"), "key": "ink"},
            image | {"title": "cross at {sample}", "values": true("stripes")},
            *(
                image
                | {"title": f"after {title}", "values": of_kind(drawn, kind, steps)}
                | {"missing": MISSING[kind]}
                for kind, title in KINDS.items()
            ),
            *(
                table | {"title": f"After {title}", "values": [*found[kind].values()]}
                for kind, title in KINDS.items()
            ),
        ],
    }


def _choice(key: str, said: str, values: list, names: list[str]) -> dict[str, Any]:
    first = values.index(FIRST[key]) if FIRST[key] in values else 0
    told = {"key": key, "label": said, "values": values, "names": names}
    return told | {"as": "list", "first": first}


def of_kind(values: xr.DataArray, kind: str, steps: Sequence[str]) -> xr.DataArray:
    """Values of the diets of a kind by their `amount` of bumps; NaN where there was none."""
    own = values.reindex(diet=[f"{kind}+{step}" for step in steps])
    return own.rename(diet="amount").assign_coords(amount=list(steps))


def ink(results: xr.Dataset) -> xr.DataArray:
    """The pictures of the first seed as ink: dark images inverted."""
    drawn = results["picture"].isel(seed=0, drop=True)
    return xr.where(results["polarity"] == "dark", 1 - drawn, drawn).transpose(*drawn.dims)


def width(results: xr.Dataset) -> float:
    """The width of bumps and stripes in px, by the settings that the runs keep."""
    kept = [json.loads(one) for one in results["run_settings"].values.ravel().tolist() if one]
    (sigma,) = {float(one["data"]["sigma"]) for one in kept}
    return sigma
