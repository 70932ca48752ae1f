"""The faults of `mutation.py` still fit the source, and it tells a caught one from others.

`make mutate` tries all.
"""

from __future__ import annotations

import re
from dataclasses import replace

import mutation
import pytest


@pytest.mark.parametrize("fault", mutation.FAULTS, ids=lambda fault: fault.name)
def test_each_fault_fits_the_source_and_names_tests_that_exist(fault):
    assert mutation.occurrences(fault) == 1 and fault.new != fault.old
    for test in fault.tests:
        file, function = test.split("::")
        source = (mutation.ROOT / "tests" / "vnlib" / file).read_text(encoding="utf-8")
        assert re.search(rf"^def {function}\(", source, re.M), test


def test_names_are_unique_and_unknown_ones_refused():
    assert len({fault.name for fault in mutation.FAULTS}) == len(mutation.FAULTS)
    with pytest.raises(SystemExit, match="no fault is called a typo; there are: "):
        mutation.main(["a typo"])


def test_a_fault_that_does_not_fit_is_refused(tmp_path):
    fault = replace(mutation.FAULTS[0], file="layer.py", old="twice")
    (tmp_path / "layer.py").write_text("twice twice")
    with pytest.raises(ValueError, match="'twice' must stand once in"):
        mutation.attempt(fault, tmp_path)
    assert (tmp_path / "layer.py").read_text() == "twice twice"


@pytest.mark.slow
def test_a_fault_is_caught_but_no_harmless_change_and_no_broken_file(capsys, monkeypatch):
    fault = mutation.FAULTS[0]
    harmless = replace(fault, name="harmless", new=f"{fault.old} + 0")
    broken = replace(fault, name="broken", new="(")
    monkeypatch.setattr(mutation, "FAULTS", (harmless, fault, broken))
    assert mutation.main([]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert ["SURVIVED" in line for line in lines[:3]] == [True, False, True] and lines[
        3
    ] == "2 survived"
