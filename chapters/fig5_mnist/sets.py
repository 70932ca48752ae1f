"""The sets of test images of both benchmarks by family, the one in distribution (ID) first."""

from __future__ import annotations

FAMILIES = {
    "digits": {
        "ID": ("id",),
        "add/subtract": ("add2", "sub2", "add3", "addsub4"),
        "max": ("max2", "max3", "max5"),
        "corruption": ("occlude0", "occlude1", "stripes0", "stripes1", "invert", "salt_pepper"),
    },
    "motions": {
        "ID": ("single",),
        "kinds": ("RT", "RS", "TS", "RTS"),
        "steps": ("single_x1.5", "single_x2", "single_x3", "RTS_x1.5", "RTS_x2", "RTS_x3"),
        "digits": ("single_2d", "RTS_2d", "RTS_x2_2d", "single_3d", "RTS_3d", "RTS_x2_3d"),
    },
}
SETS = {
    benchmark: [name for family in families.values() for name in family]
    for benchmark, families in FAMILIES.items()
}
EXTREMES = ("RTS_x3", "RTS_x2_3d")  # the largest motions: of one digit, and of three
