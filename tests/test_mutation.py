"""The faults of `mutation.py` still fit the source, and the tests catch them all."""

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
def test_a_harmless_change_and_a_broken_file_are_not_called_caught(capsys, monkeypatch):
    fault = mutation.FAULTS[0]
    harmless = replace(fault, name="harmless", new=f"{fault.old} + 0")
    broken = replace(fault, name="broken", new="(")
    monkeypatch.setattr(mutation, "FAULTS", (harmless, broken))
    assert mutation.main([]) == 1
    assert capsys.readouterr().out.count("SURVIVED") == 2


@pytest.mark.slow
def test_every_fault_is_caught():
    assert not [fault.name for fault, by, _ in mutation.trial() if by is None]
