"""What `vnlib` offers by name: it is there, it is the thing itself, and it costs nothing before."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import vnlib


def test_every_name_is_there_and_comes_from_where_it_is_defined():
    for name in vnlib.__all__:
        found = getattr(vnlib, name)
        assert found.__name__ == name and found.__module__.startswith("vnlib.")
    assert len(set(vnlib.__all__)) == len(vnlib.__all__) and set(vnlib.__all__) <= set(dir(vnlib))


def test_type_checkers_see_the_same_names():
    tree = ast.parse(Path(vnlib.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    seen = {alias.name: node.module for node in tree.body for alias in node.names}
    assert seen == vnlib._HOME and sorted(seen) == sorted(vnlib.__all__)


def test_another_name_is_none():
    with pytest.raises(AttributeError, match="no attribute 'Network'"):
        _ = vnlib.Network
    assert not hasattr(vnlib, "__wrapped__")


def test_importing_it_loads_nothing_heavy():
    code = "import sys, vnlib; print(sorted({'torch', 'numba', 'sklearn', 'xarray'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
