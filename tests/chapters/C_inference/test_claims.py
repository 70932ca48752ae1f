"""The rule of VN-C on results made up so that each of its parts is known to hold or to fail."""

from __future__ import annotations

import numpy as np
import xarray as xr
from judging import filled, rules

COORDS = {
    "depth": [1, 2, 3],
    "beta": [0.1, 1.0],
    "schedule": ["sweep", "recurrent"],
    "solver": ["ista", "fista"],
    "start": ["cold", "earlier codes"],
    "start_solver": ["ista", "restart"],
    "level": [1e-3, 1e-6],
    "guard_solver": ["ista", "fista"],
    "safeguard": ["none", "reject"],
    "cap_depth": [1, 3],
    "sample": range(4),
}


def results() -> xr.Dataset:
    """Everything as the paper says."""
    stacks = "depth beta schedule"
    return filled(
        COORDS,
        "seed",
        end_distance=(1e-5, f"{stacks} solver"),
        end_height=(1e-9, f"{stacks} solver"),
        needed=([100, 10], f"{stacks} level solver"),
        rises=(0, stacks),
        start_distance=(1e-5, "start start_solver"),
        start_end=(1e-9, "start start_solver"),
        start_needed=([100, 60], "start_solver level start"),
        resumed=(1, "schedule solver"),
        guard_rises=([0.3, 0], "guard_solver safeguard"),  # what the safeguard is there for
        guard_distance=(1e-5, "guard_solver safeguard"),
        cap_height=(1e-9, "cap_depth sample"),
        relu_spread=(1e-5, "beta sample"),
    )


CELL = {"depth": 3, "beta": 1.0, "schedule": "recurrent", "solver": "fista", "seed": 1}
COLD = {"start": "cold", "start_solver": "ista", "seed": 2}
PLAIN = {"depth": 1, "beta": 0.1, "schedule": "sweep", "seed": 0}
FAST = {"depth": 2, "beta": 0.1, "schedule": "sweep", "solver": "fista", "level": 1e-3}
REJECT = {"safeguard": "reject", "seed": 0}
CASES = [
    ("VN-C", "end_distance", CELL, 2e-3, [0], [0]),
    ("VN-C", "end_height", CELL, 2e-6, [0], [0]),
    ("VN-C", "start_distance", COLD, 2e-3, [1], [1]),
    ("VN-C", "start_end", COLD, 2e-6, [1], [1]),
    ("VN-C", "resumed", {"schedule": "sweep", "solver": "ista", "seed": 0}, 0, [1], [1]),
    ("VN-C", "rises", PLAIN, 1e-4, [2], [2]),
    ("VN-C", "guard_rises", REJECT | {"guard_solver": "fista"}, 1e-4, [3], [3]),
    ("VN-C", "guard_distance", REJECT | {"guard_solver": "ista"}, 2e-3, [3], [3]),
    ("VN-C", "guard_rises", {"safeguard": "none"}, 0.9, [], []),
    ("VN-C", "cap_height", {"cap_depth": 3, "sample": 0, "seed": 0}, 1e-4, [], [4]),
    ("VN-C", "relu_spread", {"beta": 1.0, "sample": 3, "seed": 1}, 2e-3, [], [5]),
    ("VN-C", "needed", FAST, 51, [], [6]),
    ("VN-C", "needed", FAST, np.inf, [], [6]),
    ("VN-C", "start_needed", {"start": "earlier codes", "level": 1e-3}, 101, [], [7]),
]
LACKING = [("VN-C", {"start": ["earlier codes"]}, "start")]
test_as_printed, test_each_part_can_fail, test_what_lacks_is_named = rules(
    {"VN-C": results}, CASES, LACKING
)
