"""A share of what `robustness.py` tries, and that it would notice what is broken.

The script itself does it all.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from mmap import mmap

import fuzz_files
import fuzz_parameters
import numpy as np
import psutil
import pytest
import robustness
import xarray as xr

from book.site import cli
from book.site import ledger_page as pages
from data_gen import mnist
from vnlib.book import chapter, store
from vnlib.book.parameters import MAX_SEEDS
from vnlib.book.store import netcdf


def broken(cases):
    cases = list(cases)
    assert cases
    return [case for case in cases if case.wrong]


def lives(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs SIGKILL")
@pytest.mark.parametrize("family", [False, True])
def test_a_command_is_killed_with_its_family_or_without(tmp_path, family):
    """A chapter that is killed and goes on is in test_chapter_runs.py."""
    assert (
        robustness.kill_at(1.0, ["sh", "-c", "sleep 60 & echo $!; wait"], tmp_path, family=family)
        is None
    )
    child = int(robustness.said(tmp_path))
    end = time.monotonic() + 20
    while family and lives(child) and time.monotonic() < end:  # a signal takes a moment
        time.sleep(0.02)
    assert lives(child) is not family
    if not family:
        psutil.Process(child).kill()
    assert robustness.kill_at(60, ["sh", "-c", "exit 3"], tmp_path, family=family) == 3


def test_damage_and_differences_are_seen(tmp_path, whole):
    (tmp_path / "smoke").mkdir()
    store.write(whole, tmp_path / "smoke" / "a.nc")
    assert not robustness.damaged(tmp_path)
    wanted = robustness.results(tmp_path, "a")
    assert not robustness.difference(wanted, wanted)
    assert robustness.difference(wanted, wanted.assign(y=wanted["y"] + 1)).endswith(": y")
    assert robustness.difference(wanted, wanted.drop_vars("y")).endswith(": y")
    (tmp_path / "b.nc").write_bytes(b"no data")
    assert robustness.damaged(tmp_path).startswith("b.nc: ")


def test_parameters_are_refused_by_name_or_accepted():
    cases = list(fuzz_parameters.parameters(times=25))
    assert not broken(cases)
    assert {case.came for case in cases} == {"accepted", "refused"}


@pytest.mark.parametrize(
    ("message", "wrong"),
    [
        ("sigma must be > 0, got 0", ""),
        ("must be > 0", "does not name"),
        ("sigma: 0", "does not say"),
    ],
)
def test_a_vague_refusal_is_noticed(message, wrong):
    assert fuzz_parameters.complaint(message, "sigma").startswith(wrong)
    assert bool(fuzz_parameters.complaint(message, "sigma")) is bool(wrong)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("sigma", -(2**63), r"below 2\*\*63 .*got -9223372036854775808"),
        ("seeds", "9" * 13000, "of at most 12000 characters, got '999"),
        ("results_dir", "a\0b", r"the name of a folder, got 'a\\x00b'"),
        ("results_dir", "a\ud800b", r"the name of a folder, got 'a\\ud800b'"),
        ("results_dir", "~nobody-of-this-name/x", "the name of a folder, got '~nobody"),
        ("device", "cuda:²", "cuda:N, got 'cuda:²'"),
        ("device", "cpu\n", r"cuda:N, got 'cpu\\n'"),
    ],
)
def test_odd_values_are_refused_by_name(name, value, message):
    with pytest.raises(ValueError, match=rf"^{name} must be .*{message}"):
        chapter.spec("fig2_spatial").check({name: value})


def test_values_that_cannot_be_printed_are_refused_by_name():
    deep = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(ValueError, match=r"^seeds must be "):
        chapter.spec("fig2_spatial").check({"seeds": deep})
    with pytest.raises(ValueError, match=r"^sigma must be below 2\*\*63 .*got more\.\.\.$"):
        chapter.spec("fig2_spatial").check({"sigma": 10**5000})
    assert cli._value("[" * 5000) == "[" * 5000


def test_as_many_seeds_as_are_allowed_can_be_listed():
    seeds = list(range(2**31 - MAX_SEEDS, 2**31))
    assert chapter.spec("fig2_spatial").check({"seeds": seeds})["seeds"] == seeds


def test_sets_that_are_meant_to_be_good_are_accepted():
    for name, given in fuzz_parameters.good_sets(12):
        assert set(given) < set(chapter.spec(name).check(given))


@pytest.mark.parametrize("value", ['"fast"', "'fast'", "fast", "!!str fast"])
def test_quoted_text_is_text(value):
    """The processes of `--jobs` are given JSON, in which text is quoted."""
    assert cli._value(value) == "fast" and cli._value('"7"') == "7" and cli._value("1e-3") == 1e-3


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A small grid of runs in which nothing is wrong."""
    return fuzz_files.trial(tmp_path_factory.mktemp("whole") / "grid.nc")


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@forks
def test_files_that_are_not_right_are_refused_by_name(tmp_path):
    for number, (name, path) in enumerate(fuzz_files.netcdf_files(tmp_path, 4, random.Random(0))):
        if number % 3 == 0:
            readers = list(fuzz_files.read_netcdf(path).items())
            reader, load = readers[number // 3 % len(readers)]
            came, wrong = fuzz_files.apart(load, named=str(tmp_path))
            assert not wrong, f"{name}, {reader}: {came}, {wrong}"


@forks
def test_idx_files_that_are_not_right_are_refused(tmp_path):
    came = []
    for name, path in fuzz_files.digits(tmp_path, 3, random.Random(0)):
        for load in fuzz_files.KINDS["idx"][1](path).values():
            came.append(fuzz_files.apart(load))
            assert not came[-1][1], f"{name}: {came[-1]}"
    assert ("refused", "") in came


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("no source", "does not say of its runs what it should .run_source_hash.*move it away"),
        ("no wall time", "does not say of its runs what it should .run_wall_time"),
        ("axis of NaN", "holds no runs that can be told apart"),
        ("settings are no JSON", "holds no runs that can be told apart"),
        ("versions are no JSON", "holds no runs that can be told apart"),
    ],
)
def test_a_grid_is_not_filled_over_a_file_that_is_not_right(tmp_path, whole, damage, message):
    path = tmp_path / "grid.nc"
    store.write(fuzz_files.WRONG[damage](whole), path)
    before = path.read_bytes()
    with pytest.raises(store.StoreError, match=rf"grid\.nc {message}"):
        fuzz_files.trial(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("damage", ["no provenance", "no wall time", "attributes of another kind"])
def test_where_results_come_from_is_said_or_missed(tmp_path, vnbook, whole, damage):
    """One bad file must not hide the others, and a page must not be built from it."""
    path = tmp_path / "smoke" / "B_attention.nc"
    path.parent.mkdir()
    store.write(fuzz_files.WRONG[damage](whole), path)
    with pytest.raises(
        store.StoreError,
        match=r"B_attention\.nc (does not say where its results|holds results of chapter 1\.5)",
    ):
        pages.status(path.parent, "smoke")
    said = vnbook("status", "--results-dir", tmp_path)
    assert said.code == 0 and ("where its results come from" in said.out or "1.5" in said.out)


def test_a_type_that_means_nothing_is_a_damage(tmp_path, whole):
    store.write(whole, tmp_path / "a.nc")
    fuzz_files.relabelled(tmp_path / "a.nc", "n.whole_dtype", "nonsense")
    with pytest.raises(store.StoreError, match=r"a\.nc cannot be read"):
        store.read(tmp_path / "a.nc")


@forks
def test_a_crash_a_hang_a_bad_error_and_hunger_are_noticed():
    def eat():
        block = mmap(-1, fuzz_files.MEMORY + 2**26)  # of its own, whatever the process has kept
        np.frombuffer(block, np.uint8)[:] = 1

    def missing():
        raise ValueError("something is wrong")

    assert fuzz_files.apart(lambda: os.kill(os.getpid(), signal.SIGKILL))[0] == "died"
    assert fuzz_files.apart(lambda: time.sleep(60), seconds=1)[0] == "died"
    assert fuzz_files.apart(missing, named="a.nc") == ("refused", "ValueError: something is wrong")
    assert fuzz_files.apart(missing, named="something") == ("refused", "")
    assert fuzz_files.apart(eat)[1].startswith("took ")
    assert fuzz_files.apart(lambda: {}["a"]) == ("raised", "KeyError: 'a'")
    assert fuzz_files.apart(dict) == ("loaded", "")


def test_a_file_that_was_changed_is_refused_before_it_is_read(tmp_path, whole):
    """Zeros in the middle made HDF5 read for ever; a changed number was believed."""
    path = tmp_path / "a.nc"
    store.write(whole, path)
    data = path.read_bytes()
    for start, damage in ((2400, bytes(4096)), (len(data) // 2, bytes([data[len(data) // 2] ^ 1]))):
        path.write_bytes(data[:start] + damage + data[start + len(damage) :])
        with pytest.raises(
            store.StoreError, match=r"a\.nc cannot be read.*its checksum lacks or is not that of"
        ):
            store.read(path)
    path.write_bytes(data[: -len(netcdf.SEAL) - 32])  # as others write it
    with pytest.raises(store.StoreError, match=r"a\.nc cannot be read.*its checksum lacks"):
        store.read(path)
    path.write_bytes(data)
    with xr.open_dataset(path, engine="h5netcdf") as found:  # others need not know of the checksum
        np.testing.assert_array_equal(found["y"], whole["y"])


def test_a_header_that_boasts_takes_no_memory(tmp_path):
    fuzz_files.boasting(tmp_path / "a.nc", "f8", 10**9, axis=False)
    with pytest.raises(
        store.StoreError, match=r"a\.nc cannot be read.* claims to hold 8000000000 bytes"
    ):
        store.read(tmp_path / "a.nc")
    full = xr.Dataset({"y": ("i", np.zeros(10**7))})  # as much as compression can do
    store.write(full, tmp_path / "b.nc")
    xr.testing.assert_equal(store.read(tmp_path / "b.nc"), full)


def test_without_a_network_there_is_a_stand_in(tmp_path):
    if reason := robustness.no_namespace():
        pytest.skip(f"no network namespace: {reason}")
    code = (
        "from data_gen import mnist; print(mnist.load('test', n=3, "
        "allow_fallback=True).attrs['source'])"
    )
    assert robustness.cut_off(["-c", code], tmp_path) == 0
    assert robustness.said(tmp_path) == mnist.DIGITS


def test_the_command_counts_reports_and_ends_with_1_if_something_broke(
    monkeypatch, capsys, tmp_path
):
    with pytest.raises(SystemExit):
        robustness.main(["typo"])
    assert "no part is called typo; there are: parameters, files" in capsys.readouterr().err
    cases = [
        fuzz_parameters.Case("a", "ended with 0"),
        fuzz_parameters.Case("b", "ended with 1", "why"),
    ]
    parts = {
        "one": lambda options: iter(cases[: options.kills]),
        "two": lambda options: iter(cases[:1]),
    }
    monkeypatch.setattr(robustness, "PARTS", parts)
    assert robustness.main(["two"]) == 0 and robustness.main(["--kills", "1"]) == 0
    assert robustness.main(["--json", str(tmp_path / "report")]) == 1
    assert "BROKEN one: b: ended with 1: why" in (said := capsys.readouterr().out)
    assert said.endswith("one: 1 BROKEN, 1 ended\ntwo: 1 ended\n")
    report = [json.loads(line) for line in (tmp_path / "report").read_text().splitlines()]
    assert [(line["part"], line["wrong"]) for line in report] == [
        ("one", ""),
        ("one", "why"),
        ("two", ""),
    ]


@pytest.mark.parametrize(
    ("text", "enough"),
    [
        ("noise\nvnbook: sigma must be > 0, got 0", True),
        ("vnbook: a cell failed with ValueError: sigma must be > 0, got 0", True),
        ("vnbook: a cell failed with StoreError: a.nc cannot be read", True),
        ("vnbook: a cell failed with KeyError: 'a'", False),
        ("Traceback (most recent call last):\nvnbook: no", False),
        ("Killed", False),
        ("", False),
    ],
)
def test_a_failure_has_to_be_explained(text, enough):
    assert robustness.explained(text) is enough
