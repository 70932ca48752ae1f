"""The rules of FR-2 and FR-A on made-up results: each part holds on the claimed pattern and fails
without it.
"""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from judging import failing, judged

LAYERS = ["input", "layer1", "layer2", "layer3", "output"]
# At the input, the first and the last hidden layer, the output: after training, and before.
MEASURES = {
    "F": [(1.0, 0.9, 0.7, 0.6), (1.0, 0.98, 0.97, 0.97)],
    "probe": [(1.0, 0.95, 0.9, 0.9), (1.0, 1.0, 1.0, 1.0)],
    "probe_ood": [(1.0, 0.5, 0.5, 0.5), (1.0, 0.95, 0.95, 0.95)],
    "spread_in": [(0.0, 0.1, 0.5, 0.5), (0.0, 0.03, 0.03, 0.03)],
    "spread_out": [(0.0, 0.05, 0.1, 0.1), (0.0, 0.03, 0.03, 0.03)],
    "volume_in": [(0.0, 0.0, 0.5, 0.5), (0.0, 0.0, 0.0, 0.0)],
    "volume_out": [(0.0, 0.0, 0.2, 0.2), (0.0, 0.0, 0.0, 0.0)],
    "one_factor": [(1.0, 0.8, 0.1, 0.1), (1.0, 0.9, 0.9, 0.9)],
    "terms": [(2.0, 3.0, 6.0, 5.0), (2.0, 2.2, 2.2, 2.2)],
    "units": [(1.0, 1.0, 1.0, 1.0), (1.0, 1.0, 1.0, 1.0)],
}
TRAINED, RANDOM = ({name: both[i] for name, both in MEASURES.items()} for i in (0, 1))
COMPOSES = {"F": (1.0, 0.99, 0.99, 1.0), "terms": (2.0, 2.2, 2.2, 1.0), "ood": 1e-6}
SQUEEZED = {"F": (1.0, 0.9, 0.4, 0.6), "volume_in": (0.0, 0.0, -0.5, -0.5)}
SQUEEZED |= {"terms": (2.0, 3.0, 6.0, 9.0), "ood": 0.009}
# Hidden layers, and what differs from `TRAINED`. Shallow ramp networks drop at once, deep ones
# slowly.
MODELS = {
    "perfect": (0, {"F": (1.0, 0, 0, 1.0), "one_factor": (1.0, 0, 0, 0.2), "terms": (2, 0, 0, 1)}),
    "table": (0, {"terms": (2.0, 0, 0, 2.0)}),
    "cnn_bump_2": (2, {"ood": 0.004}),
    "cnn_bump_3": (3, {"F": (1.0, 0.9, 0.68, 0.6), "terms": (2.0, 3.0, 6.0, 6.0), "ood": 0.005}),
    "cnn_ramp_2": (2, {"F": (1.0, 0.55, 0.5, 0.6), "terms": (2.0, 3.0, 6.0, 8.0)}),
    "cnn_ramp_3": (3, {"F": (1.0, 0.95, 0.5, 0.6), "terms": (2.0, 3.0, 6.0, 8.0)}),
    **{
        f"mlp_{code}": (int(code[-1]), SQUEEZED)
        for code in ("bump_2", "bump_3", "ramp_2", "ramp_3")
    },
    "vn_full": (1, RANDOM | COMPOSES),
    "vn_axes_1": (1, RANDOM | COMPOSES),
}


def model(hidden: int, values: dict) -> xr.Dataset:
    """Two seeds, of which only the first is measured before training; layers in between lie on a
    straight line from the first to the last.
    """
    weights = ["trained", "untrained"]
    ds = xr.Dataset(coords={"layer": LAYERS, "weights": weights, "seed": [0, 1]})
    for measure in TRAINED:
        table = np.full((len(LAYERS), 2, 2), np.nan)
        for index, one in enumerate((TRAINED | values, RANDOM)):
            first, early, late, output = one[measure]
            between = np.linspace(early, late, hidden)[:, None] if hidden != 1 else late
            table[0, index], table[1 : hidden + 1, index], table[-1, index] = first, between, output
        table[:, 1, 1] = np.nan
        ds[measure] = (("layer", "weights", "seed"), table)
    for split, usual in (("train", 1e-4), ("ood", 0.008)):
        ds[f"mse_{split}"] = (("weights", "seed"), np.full((2, 2), values.get(split, usual)))
    for split in ("id", "ood"):
        ds[f"zero_baseline_{split}"] = ("seed", np.full(2, 0.004))
    return ds


def results(*changes: tuple[str, str, object]) -> xr.Dataset:
    """The pattern that the claims describe; `changes`: beginning of the models' names, measure, its
    values, of which None stays as it is.
    """
    rows = []
    for name, (hidden, values) in MODELS.items():
        own = dict(values)
        for start, measure, new in changes:
            if name.startswith(start):
                old = (TRAINED | own).get(measure)
                if isinstance(new, tuple):
                    new = tuple(a if b is None else b for a, b in zip(old, new, strict=True))
                own[measure] = new
        rows.append(model(hidden, own).expand_dims(model=[name]))
    return xr.concat(rows, "model")


def both(measure: str, values: tuple) -> list[tuple]:
    return [("cnn", measure, values), ("mlp", measure, values)]


@pytest.mark.parametrize("claim", ["FR-2", "FR-A"])
def test_the_claimed_pattern_is_reproduced(claim):
    assert failing(claim, results()) == ([], [])


# The claim, whether with controls, the part that fails, and what is changed for that.
CHANGES = [
    ("FR-2", False, 0, [("mlp_ramp", "F", (None, 0.99, 0.97, None))]),
    ("FR-2", False, 1, [("cnn_ramp", "probe", (None, 1.0, 0.99, None))]),
    ("FR-2", False, 2, [("cnn_bump", "spread_in", (None, 0.4, 0.5, None))]),
    ("FR-2", False, 3, [("cnn_ramp_2", "F", (None, 0.95, 0.9, None))]),
    ("FR-2", False, 4, [("mlp", "volume_in", (None, 0.0, 0.5, None))]),
    ("FR-2", False, 5, [("mlp", "F", (None, 0.9, 0.9, None))]),
    ("FR-2", True, 0, both("F", (None, 0.96, 0.96, None))),
    ("FR-2", True, 1, both("probe_ood", (None, 1.0, 0.94, None))),
    ("FR-2", True, 2, both("spread_out", (None, 0.1, 0.5, None))),
    ("FR-2", True, 3, both("F", (None, None, None, 0.97))),
    ("FR-2", True, 4, both("F", (None, 0.6, 0.6, None))),
    ("FR-2", True, 5, [("vn_full", "F", (None, 0.5, 0.5, None))]),
    ("FR-A", False, 0, [("cnn_bump_2", "terms", (2.5, None, None, None))]),
    ("FR-A", False, 1, [("mlp_bump", "terms", (None, None, 1.9, None))]),
    ("FR-A", False, 2, [("cnn_ramp", "one_factor", (None, 1.0, 0.98, None))]),
    ("FR-A", True, 0, [("perfect", "terms", (None, None, None, 6.0))]),
    ("FR-A", True, 1, [("perfect", "one_factor", (None, None, None, 0.1))]),
    ("FR-A", True, 2, [("table", "terms", (None, None, None, 1.0))]),
    ("FR-A", True, 3, both("terms", (None, None, None, 5.0))),
]


@pytest.mark.parametrize(("claim", "controls", "part", "changes"), CHANGES)
def test_each_part_can_fail(claim, controls, part, changes):
    assert part in failing(claim, results(*changes))[controls]


@pytest.mark.parametrize("claim", ["FR-2", "FR-A"])
def test_networks_that_draw_nothing_do_not_count_as_having_learned(claim):
    row = judged(claim, results(("cnn", "train", 0.003), ("mlp", "train", 0.003)))
    assert row["verdict"] == "not testable" and "learned to draw" in row["missing"]


LACKING = [
    ("FR-2", "mlp_ramp_2", "mlp_ramp"),
    ("FR-2", "perfect", "the model perfect"),
    ("FR-2", "vn_full", "two of the models vn"),
    ("FR-A", "table", "the model table"),
]


@pytest.mark.parametrize(("claim", "lacking", "said"), LACKING)
def test_what_lacks_is_named(claim, lacking, said):
    row = judged(claim, results().drop_sel(model=[lacking]))
    assert row["verdict"] == "not testable" and said in row["missing"]
