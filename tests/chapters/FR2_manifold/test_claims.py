"""The rules of FR-2 and FR-A on made-up results: each part holds on the claimed pattern and fails
without it.
"""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from vnlib.book import ledger as claims

BLANK = 0.004
LAYERS = ["input", "layer1", "layer2", "layer3", "layer4", "factors", "output"]
# Measures along input, hidden layers (first to last), output.
GOOD = {
    "F": (1.0, 0.9, 0.7),
    "probe": (1.0, 0.95, 0.9),
    "probe_ood": (1.0, 0.5, 0.5),
    "spread_in": (0.0, 0.1, 0.5),
    "spread_out": (0.0, 0.05, 0.1),
    "volume_in": (0.0, 0.0, 0.5),
    "volume_out": (0.0, 0.0, 0.2),
    "one_factor": (1.0, 0.8, 0.1),
    "terms": (2.0, 3.0, 6.0),
}
RANDOM = {
    "F": (1.0, 0.98, 0.97),
    "probe": (1.0, 1.0, 1.0),
    "probe_ood": (1.0, 0.95, 0.95),
    "spread_in": (0.0, 0.03, 0.03),
    "spread_out": (0.0, 0.03, 0.03),
    "volume_in": (0.0, 0.0, 0.0),
    "volume_out": (0.0, 0.0, 0.0),
    "one_factor": (1.0, 0.9, 0.9),
    "terms": (2.0, 2.2, 2.2),
}


def model(
    name: str, hidden: int, values: dict[str, tuple], output: dict[str, float], errors: tuple
) -> xr.Dataset:
    """One model, two seeds: each measure runs from its first to its last hidden value on a straight
    line.
    """
    ds = xr.Dataset(coords={"layer": LAYERS, "weights": ["trained", "untrained"], "seed": [0, 1]})
    sets = {"trained": values, "untrained": RANDOM}
    for measure in (*GOOD, "units"):
        table = np.full((7, 2, 2), np.nan)
        for index, weights in enumerate(sets):
            first, early, late = (1.0, 1.0, 1.0) if measure == "units" else sets[weights][measure]
            table[0, index] = first
            table[1 : hidden + 1, index] = (
                np.linspace(early, late, hidden)[:, None] if hidden else 0
            )
            table[6, index] = output.get(measure, late)
        table[:, 1, 1] = np.nan  # random weights are measured for the first seed only
        ds[measure] = (("layer", "weights", "seed"), table)
    for split, value in zip(("train", "ood"), errors, strict=True):
        ds[f"mse_{split}"] = (("weights", "seed"), np.full((2, 2), value))
    for split in ("id", "ood"):
        ds[f"blank_{split}"] = ("seed", np.full(2, BLANK))
    return ds.expand_dims(model=[name])


def results(**changes: dict) -> xr.Dataset:
    """The pattern that the claims describe; `changes`: model or kind -> changed measures,
    "output_..." or errors.
    """

    def made(name: str, hidden: int, values: dict, output: dict, errors: tuple) -> xr.Dataset:
        changed = {
            k: v
            for key, change in changes.items()
            if name.startswith(key)
            for k, v in change.items()
        }
        values = values | {k: v for k, v in changed.items() if k in values}
        output = output | {k[7:]: v for k, v in changed.items() if k.startswith("output_")}
        return model(name, hidden, values, output, changed.get("errors", errors))

    rows = [
        made("perfect", 0, GOOD, {"F": 1.0, "one_factor": 0.2, "terms": 1.0}, (0.0, 0.0)),
        made("table", 0, GOOD, {"terms": 2.0}, (0.0, 0.0)),
    ]
    out = {"F": 0.6, "one_factor": 0.1, "terms": 5.0}
    for index, depth in enumerate((2, 3)):
        step = 0.02 * index
        worse = {"F": (1.0, 0.9, 0.7 - step)}
        # Shallow ramp networks drop at once, deep ones slowly.
        ramp = {"F": (1.0, 0.55 + 0.4 * index, 0.5)}
        fails = (1e-4, 0.004 + 0.001 * index)
        rows += [
            made(f"cnn_bump_{depth}", depth, GOOD | worse, out | {"terms": 5.0 + index}, fails),
            made(f"cnn_ramp_{depth}", depth, GOOD | ramp, out | {"terms": 8.0}, (1e-4, 0.008)),
        ]
        squeezed = {"volume_in": (0.0, 0.0, -0.5), "F": (1.0, 0.9, 0.4)}
        rows += [
            made(f"mlp_{code}_{depth}", depth, GOOD | squeezed, out | {"terms": 9.0}, (1e-4, 0.009))
            for code in ("bump", "ramp")
        ]
    kept = RANDOM | {"F": (1.0, 0.99, 0.99)}
    rows += [
        made(n, 1, kept, {"F": 1.0, "one_factor": 0.2, "terms": 1.0}, (1e-7, 1e-6))
        for n in ("vn_full", "vn_axes_1")
    ]
    return xr.concat(rows, "model", join="outer", coords="minimal", compat="override")


def parts(claim: str, r: xr.Dataset) -> tuple[list[bool], list[bool]]:
    decision = claims.all_claims()[claim].decide(r)
    return [p.holds for p in decision.parts], [p.holds for p in decision.controls]


def test_the_claimed_pattern_is_reproduced():
    for claim in ("FR-2", "FR-A"):
        row = claims.judge(claims.all_claims()[claim], results())
        assert (row["verdict"], row["verdict_controls"]) == ("reproduced", "reproduced"), row


ALIKE = {"F": (1.0, 0.6, 0.6)}


@pytest.mark.parametrize(
    ("claim", "protocol", "index", "changes"),
    [
        ("FR-2", "paper", 0, {"mlp_ramp": {"F": (1.0, 0.99, 0.97)}}),
        ("FR-2", "paper", 1, {"cnn_ramp": {"probe": (1.0, 1.0, 0.99)}}),
        ("FR-2", "paper", 2, {"cnn_bump": {"spread_in": (0.0, 0.4, 0.5)}}),
        ("FR-2", "paper", 3, {"cnn_ramp_2": {"F": (1.0, 0.95, 0.9)}}),
        ("FR-2", "paper", 4, {"mlp": {"volume_in": (0.0, 0.0, 0.5)}}),
        ("FR-2", "paper", 5, {"mlp": {"F": (1.0, 0.9, 0.9)}}),
        ("FR-2", "fair", 0, {"cnn": {"F": (1.0, 0.96, 0.96)}, "mlp": {"F": (1.0, 0.96, 0.96)}}),
        (
            "FR-2",
            "fair",
            1,
            {"cnn": {"probe_ood": (1.0, 1.0, 0.94)}, "mlp": {"probe_ood": (1.0, 1.0, 0.94)}},
        ),
        (
            "FR-2",
            "fair",
            2,
            {"cnn": {"spread_out": (0.0, 0.1, 0.5)}, "mlp": {"spread_out": (0.0, 0.1, 0.5)}},
        ),
        ("FR-2", "fair", 3, {"cnn": {"output_F": 0.97}, "mlp": {"output_F": 0.97}}),
        ("FR-2", "fair", 4, {"cnn": ALIKE, "mlp": ALIKE}),
        ("FR-2", "fair", 5, {"vn_full": {"F": (1.0, 0.5, 0.5)}}),
        ("FR-A", "paper", 0, {"cnn_bump_2": {"terms": (2.5, 3.0, 6.0)}}),
        ("FR-A", "paper", 1, {"mlp_bump": {"terms": (2.0, 3.0, 1.9)}}),
        ("FR-A", "paper", 2, {"cnn_ramp": {"one_factor": (1.0, 1.0, 0.98)}}),
        ("FR-A", "fair", 0, {"perfect": {"output_terms": 6.0}}),
        ("FR-A", "fair", 1, {"perfect": {"output_one_factor": 0.1}}),
        ("FR-A", "fair", 2, {"table": {"output_terms": 1.0}}),
        ("FR-A", "fair", 3, {"cnn": {"output_terms": 5.0}, "mlp": {"output_terms": 5.0}}),
    ],
)
def test_each_part_can_fail(claim, protocol, index, changes):
    assert not parts(claim, results(**changes))[protocol == "fair"][index]


def test_networks_that_draw_nothing_do_not_count_as_having_learned():
    r = results(cnn={"errors": (0.003, 0.005)}, mlp={"errors": (0.003, 0.005)})
    for claim in ("FR-2", "FR-A"):
        row = claims.judge(claims.all_claims()[claim], r)
        assert row["verdict"] == "not testable" and "learned to draw" in row["missing"]


@pytest.mark.parametrize(
    ("claim", "drop"),
    [("FR-2", "mlp_ramp_2"), ("FR-2", "perfect"), ("FR-2", "vn_full"), ("FR-A", "table")],
)
def test_what_lacks_is_named(claim, drop):
    r = results()
    row = claims.judge(
        claims.all_claims()[claim], r.sel(model=[m for m in r["model"].values if m != drop])
    )
    assert row["verdict"] == "not testable"
    assert drop.rsplit("_", 1)[0] in row["missing"]
