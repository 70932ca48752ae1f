"""Whether two folders hold the same results, whenever and however they were made: `python same.py
EXPECTED FOUND`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import xarray as xr

from vnlib.book import store


def results(path: Path) -> xr.Dataset:
    """The variables of a result file in the order of their labels, without provenance."""
    found = store.read(path)
    found = found.drop_vars([name for name in found.variables if str(name).startswith("run_")])
    return found.sortby(list(found.indexes)).drop_attrs()


def main(expected: Path, found: Path) -> None:
    """Raise AssertionError where a file or a variable differs."""
    files = sorted(path.name for path in expected.glob("*.nc"))
    assert files, f"no results in {expected}"
    assert files == sorted(path.name for path in found.glob("*.nc")), (
        files,
        list(found.glob("*.nc")),
    )
    for name in files:
        xr.testing.assert_identical(results(expected / name), results(found / name))
        print(f"{name}: identical")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
