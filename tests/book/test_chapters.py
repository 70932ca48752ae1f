"""The chapters: their form, the contract of notebook and sidecar, and runs that are killed, shared
and repeated.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import nbformat
import numpy as np
import papermill
import psutil
import pytest
import torch
from click.testing import CliRunner
from papermill.cli import papermill as papermill_command
from threadpoolctl import threadpool_info, threadpool_limits

from book.site import ledger
from vnlib.book import chapter, paths, store
from vnlib.book.parameters import PROFILES

NAMES = sorted(path.stem for path in paths.CHAPTERS.glob("*/*.ipynb"))
# A baseline, a Vector Network, and a slow one last, which leaves time to kill the run before its
# end.
MODELS = ["factorised", "vn_axes_1", "cnn2"]

every_chapter = pytest.mark.parametrize("name", NAMES)
every_profile = pytest.mark.parametrize("profile", PROFILES)


def read(name: str) -> nbformat.NotebookNode:
    notebook = nbformat.read(paths.notebook(name), as_version=4)
    nbformat.validate(notebook)
    return notebook


def code_cells(name: str) -> list[nbformat.NotebookNode]:
    return [cell for cell in read(name).cells if cell.cell_type == "code"]


def figure(cell: nbformat.NotebookNode) -> dict:
    return cell.metadata.get("mystnb", {}).get("figure", {})


# --- Form -----------------------------------------------------------------------------------------


def test_there_are_chapters_and_all_have_a_sidecar():
    assert NAMES
    assert {path.stem for path in paths.CHAPTERS.glob("*/*.toml")} == set(NAMES)
    assert paths.chapters() == NAMES


@every_chapter
def test_source_holds_no_outputs_and_starts_with_its_title(name):
    for cell in code_cells(name):
        assert cell.outputs == []
        assert cell.execution_count is None
    first = read(name).cells[0]
    assert first.cell_type == "markdown" and first.source.startswith("# ")


@every_chapter
def test_kernel_is_python3(name):
    assert read(name).metadata.kernelspec.name == "python3"


@every_chapter
def test_page_and_list_of_chapters_say_the_same_of_its_time(name):
    times = chapter.spec(name).sidecar["runtime"]
    (said,) = [
        found[1]
        for cell in read(name).cells
        if (found := re.search(r"^\*\*Time\.\*\* (.*)", cell.source, re.M))
    ]
    assert said.startswith("Seconds") or all(f"`{p}` {time}," in said for p, time in times.items())


@every_chapter
def test_one_cell_is_tagged_parameters_and_comes_first(name):
    tagged = [
        i
        for i, cell in enumerate(code_cells(name))
        if "parameters" in cell.metadata.get("tags", [])
    ]
    assert tagged == [0]


@every_chapter
def test_every_figure_has_caption_label_and_alt_text(name):
    drawing = [cell for cell in code_cells(name) if "chapter.show(" in cell.source or figure(cell)]
    assert drawing
    for cell in drawing:
        assert figure(cell).get("caption", "").rstrip().endswith((".", ")")), cell.id
        start = name.split("_")[0]
        start = f"app{start}" if len(start) == 1 else start  # an appendix
        assert re.fullmatch(rf"{start}-[a-z0-9-]+", figure(cell).get("name", "")), cell.id
        if "chapter.show(" in cell.source:
            alt = cell.metadata.mystnb.get("image", {}).get("alt", "")
            assert len(alt) > 20 and alt != figure(cell)["caption"], cell.id


def test_labels_are_unique_over_the_book():
    """Of figures and of sections; Sphinx does not tell upper from lower case."""
    labels = Counter(
        figure(cell)["name"].lower() for name in NAMES for cell in code_cells(name) if figure(cell)
    )
    texts = (
        cell.source for name in NAMES for cell in read(name).cells if cell.cell_type == "markdown"
    )
    labels.update(
        found.lower() for text in texts for found in re.findall(r"^\(([\w-]+)\)=$", text, re.M)
    )
    assert labels and max(labels.values()) == 1, labels.most_common(3)


# --- The contract of notebook and sidecar ---------------------------------------------------------


@every_chapter
def test_parameters_are_the_same_in_notebook_and_sidecar(name):
    one = chapter.spec(name)
    assert set(one.parameters) == set(one.defaults)
    computed = {"seeds", "recompute", "stale"} if one.stores else set()
    assert {"profile", "device", "results_dir"} | computed <= set(one.defaults)
    for rule in one.parameters.values():
        assert rule["help"] and rule["type"] in {"str", "int", "float", "bool", "seeds", "names"}


@every_chapter
def test_defaults_are_a_smoke_run_and_pass_their_own_check(name):
    one = chapter.spec(name)
    assert one.check({}) == dict(one.defaults)
    assert one.defaults["profile"] == "smoke"
    assert one.defaults.get("recompute", False) is False


@every_chapter
@every_profile
def test_every_profile_has_settings_that_pass_the_checks_of_parameters(name, profile):
    one = chapter.spec(name)
    settings = one.settings(profile)
    given = {
        key: settings[key]
        for key in ("seeds", "models")
        if key in settings and key in one.parameters
    }
    checked = one.check({"profile": profile, **given})
    if "seeds" in checked:
        assert len(checked["seeds"]) >= {"smoke": 1, "fast": 3, "paper": 3}[profile]
    assert one.sidecar["runtime"][profile]
    # A parameter that overrules a setting must be able to say what the profile says.
    one.check({key: settings[key] for key in one.parameters if key in settings})


def test_settings_of_a_profile_lie_over_those_of_the_chapter():
    one = chapter.Spec(
        "x",
        {"settings": {"a": 1, "b": {"c": 2, "d": 3}}, "profiles": {"fast": {"b": {"c": 5}}}},
        {},
    )
    assert one.settings("fast") == {"a": 1, "b": {"c": 5, "d": 3}}
    assert one.sidecar["settings"]["b"] == {"c": 2, "d": 3}, "the sidecar itself must not change"


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        ({"seeds": 3}, "seeds", [0, 1, 2]),
        ({"seeds": [5, 2]}, "seeds", [5, 2]),
        ({"seeds": "3"}, "seeds", [0, 1, 2]),
        ({"seeds": "5, 2"}, "seeds", [5, 2]),
        ({"seeds": "[5]"}, "seeds", [5]),
        ({"models": "cnn2, mlp"}, "models", ["cnn2", "mlp"]),
        ({"models": '["cnn2","mlp"]'}, "models", ["cnn2", "mlp"]),
        ({"models": "['cnn2', 'mlp']"}, "models", ["cnn2", "mlp"]),
        ({"models": "[cnn2]"}, "models", ["cnn2"]),
        ({"models": ["mlp"]}, "models", ["mlp"]),
        ({"sparsity": 0}, "sparsity", 0),
        ({"sparsity": None}, "sparsity", None),
        ({"device": "cuda:1"}, "device", "cuda:1"),
        ({"n_atoms": 16}, "n_atoms", 16),
    ],
)
def test_good_parameters_are_taken(given, name, value):
    assert chapter.spec("fig2_spatial").check(given)[name] == value


def opened(**given) -> chapter.Chapter:
    one = chapter.spec("fig2_spatial")
    return chapter.Chapter(one, one.check(given))


def test_a_parameter_that_changes_the_task_has_a_file_of_its_own(tmp_path):
    plain = opened(profile="fast", results_dir=str(tmp_path)).file()
    assert plain == tmp_path / "fast" / "fig2_spatial.nc"
    assert (
        opened(
            profile="fast", results_dir=str(tmp_path), seeds=5, models="mlp", device="cpu"
        ).file()
        == plain
    )
    ring = opened(profile="fast", results_dir=str(tmp_path), hold_out="ring").file()
    wide = opened(profile="fast", results_dir=str(tmp_path), hold_out="ring", sigma=3.0).file()
    assert len({plain, ring, wide}) == 3 and ring.parent == plain.parent
    assert (
        opened(results_dir=str(tmp_path)).file("selection")
        != opened(results_dir=str(tmp_path)).file()
    )


@pytest.mark.parametrize(
    "given",
    [
        {"profile": "fast"},
        {"models": "cnn2,mlp"},
        {"seeds": [0, 3], "sigma": 2.5},
        {"hold_out": "ring", "sparsity": 0.001, "recompute": True},
    ],
)
def test_the_command_on_the_page_gives_the_same_parameters(given, tmp_path, monkeypatch):
    """Papermill itself reads the command and injects what the page was made with."""
    before = opened(**given)
    program, *arguments = shlex.split(before.command)
    assert program == "papermill"
    monkeypatch.chdir(tmp_path)
    source, output, *rest = arguments
    call = [str(paths.ROOT / source), output, *rest, "--prepare-only", "--no-progress-bar"]
    done = CliRunner().invoke(papermill_command, call)
    assert done.exit_code == 0, done.output
    injected: dict = {}
    cell = next(
        c
        for c in nbformat.read(tmp_path / output, 4).cells
        if "injected-parameters" in c.metadata.tags
    )
    exec(cell.source, injected)
    injected.pop("__builtins__")
    assert before.spec.check(injected) == before.parameters


@pytest.mark.parametrize(
    "words",
    [
        ["-p", "models", "cnn2,mlp", "-p", "seeds", "0,2"],
        ["-p", "models", '["cnn2", "mlp"]', "-p", "seeds", "[0, 2]"],
        ["-r", "models", "cnn2,mlp", "-r", "seeds", "0,2"],
        ["-y", "{models: [cnn2, mlp], seeds: [0, 2]}"],
        ["-f", "given.yaml"],
    ],
)
def test_papermill_takes_lists_however_they_are_written(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("given.yaml").write_text("models: [cnn2, mlp]\nseeds: [0, 2]\n")
    source = str(paths.notebook("fig2_spatial"))
    call = [source, "out.ipynb", *words, "--prepare-only", "--no-progress-bar"]
    done = CliRunner().invoke(papermill_command, call)
    assert done.exit_code == 0, done.output
    names: dict = {"_ih": (history := [""])}
    for cell in nbformat.read("out.ipynb", 4).cells:
        if cell.cell_type == "code" and len(history) < 4:
            history.append(cell.source)
            exec(cell.source, names)
    assert (list(names["chapter"].models), names["chapter"].seeds) == (["cnn2", "mlp"], [0, 2])


@pytest.mark.parametrize("start", [chapter.open_chapter, chapter.fill])
def test_a_chapter_computes_in_one_thread_of_every_library(start, monkeypatch):
    """Or its last bits would depend on the number of cores: NumPy and SciPy bring a BLAS each."""

    def threads(*_: object) -> list[int]:
        blas = [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]
        return [torch.get_num_threads(), *blas]

    found, before = [], torch.get_num_threads()
    study = SimpleNamespace(results=lambda _: found.extend(threads()))
    monkeypatch.setattr(paths, "module", lambda *_: study)
    try:
        with threadpool_limits(2):
            torch.set_num_threads(2)
            assert min(threads()) == 2 and len(threads()) >= 3
            start("fig2_spatial", {})
            assert set(found or threads()) == {1}
    finally:
        torch.set_num_threads(before)


# --- Runs -----------------------------------------------------------------------------------------


def arrays(path: Path) -> dict[str, tuple]:
    """All arrays of a result file to the bit, without the provenance of the runs."""
    ds = store.read(path)
    return {
        str(name): (variable.dims, variable.shape, str(variable.dtype), variable.values.tobytes())
        for name, variable in ds.variables.items()
        if not str(name).startswith("run_") or name == "run_settings"
    }


def printed(notebook: Path) -> str:
    cells = nbformat.read(notebook, as_version=4).cells
    return "".join(o.get("text", "") for c in cells if c.cell_type == "code" for o in c.outputs)


def arguments(results_dir: Path, *, flag: str = "-p") -> list[str]:
    given = {
        "profile": "smoke",
        "models": ",".join(MODELS),
        "device": "cpu",
        "results_dir": str(results_dir),
    }
    return [part for key, value in given.items() for part in (flag, key, value)]


@pytest.fixture(scope="module")
def by_papermill(tmp_path_factory) -> Path:
    """Plain papermill from a folder that has nothing to do with the project, with a relative
    results folder.
    """
    folder = tmp_path_factory.mktemp("elsewhere")
    command = [sys.executable, "-m", "papermill", str(paths.notebook("fig2_spatial")), "out.ipynb"]
    command += [*arguments(Path("mine")), "--no-progress-bar"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


@pytest.mark.slow
def test_plain_papermill_works_from_any_folder(by_papermill):
    result = by_papermill / "mine" / "smoke" / "fig2_spatial.nc"
    ds = store.read(result)
    assert set(ds["model"].values) == set(MODELS)
    assert ds.attrs["profile"] == "smoke" and ds.attrs["chapter"] == "fig2_spatial"
    assert np.isfinite(ds["mse_ood"]).all()
    assert f"Results: {result}" in printed(by_papermill / "out.ipynb")
    assert {path.name for path in result.parent.iterdir()} == {"fig2_spatial.nc"}, "no leftovers"


@pytest.mark.slow
def test_claims_can_be_decided_from_the_file_alone(by_papermill):
    """The ledger sees the stored file, not what the notebook adds to it: only models may be
    missing.
    """
    rows = ledger.ledger(by_papermill / "mine" / "smoke", "fig2_spatial")["claims"]
    assert rows
    for row in rows:
        assert not row["missing"] or row["missing"].startswith("the results lack the model(s) ")


def kill(process: subprocess.Popen) -> None:
    """SIGKILL to a process and to all that it started, its kernel among them."""
    family = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    for one in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.kill()
    psutil.wait_procs(family)
    process.wait()


@pytest.mark.slow
def test_two_processes_end_a_killed_run_with_the_bits_of_one(by_papermill, vnbook, tmp_path):
    """Killed after its first run: what is saved is kept, and the rest has the bits of a run that
    nothing disturbed.
    """
    command = [
        sys.executable,
        "-m",
        "book.site.cli",
        "run",
        "fig2_spatial",
        *arguments(tmp_path),
        "--jobs",
        "1",
        "--quiet",
    ]
    # What a killed process leaves in the temporary folder should go with this test.
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + 120
        while not (finished := list(tmp_path.rglob("*.runs/*.nc"))):
            assert process.poll() is None and time.monotonic() < deadline, (
                "no run was ever finished"
            )
            time.sleep(0.01)
    finally:
        kill(process)
    result = tmp_path / "smoke" / "fig2_spatial.nc"
    assert not result.exists() and len(finished) < len(MODELS), "killed too late to show anything"
    folder = tmp_path / "executed" / "smoke"
    drafts = set(folder.iterdir())

    said = vnbook("run", "fig2_spatial", *arguments(tmp_path), "--jobs", 2, "--quiet")
    assert said.code == 0, said.err
    assert arrays(result) == arrays(by_papermill / "mine" / "smoke" / "fig2_spatial.nc")
    notebook = folder / "fig2_spatial.ipynb"
    assert str(result) in said.out and str(notebook) in said.out
    assert set(folder.iterdir()) - drafts == {notebook}, "of the second process nothing is left"
    assert re.search(
        r"\d of 3 runs already there, skipped \(model=factorised", printed(notebook)
    ), printed(notebook)


@pytest.mark.slow
def test_a_run_has_the_same_bits_whatever_the_threads_of_the_environment(tmp_path):
    """The libraries read the number when they are loaded, each in a process of its own."""
    found = []
    for threads in ("1", "2"):
        command = [sys.executable, "-m", "book.site.cli", "run", "FR5_rotation", "--no-page"]
        given = {"models": "mlp", "device": "cpu", "results_dir": str(tmp_path / threads)}
        words = [word for pair in given.items() for word in ("-p", *pair)]
        several = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), threads)
        env = os.environ | several
        done = subprocess.run([*command, *words], cwd=paths.ROOT, env=env, capture_output=True)
        assert done.returncode == 0, done.stderr.decode()[-500:]
        results = store.read(tmp_path / threads / "smoke" / "FR5_rotation.nc")
        own = [name for name in results.variables if str(name).startswith("run_")]
        found.append(results.drop_vars(own))
    assert found[0].drop_attrs().identical(found[1].drop_attrs())


def test_a_misspelled_parameter_fails_under_plain_papermill(tmp_path, monkeypatch):
    """Papermill injects any name; the chapter must not go on with its defaults."""
    monkeypatch.chdir(tmp_path)
    given = {"prfile": "fast", "results_dir": str(tmp_path)}
    source = str(paths.notebook("fig2_spatial"))
    papermill.execute_notebook(source, "out.ipynb", given, prepare_only=True, progress_bar=False)
    cells = [
        cell.source
        for cell in nbformat.read("out.ipynb", as_version=4).cells
        if cell.cell_type == "code"
    ]
    assert "prfile" in cells[1], "injected"
    # cell by cell, as a kernel would, which takes seconds to start
    with pytest.raises(ValueError) as caught:
        names: dict = {"_ih": (history := [""])}
        for code in cells:
            history.append(code)
            exec(code, names)
    message = str(caught.value)
    assert "no parameter 'prfile'" in message and "Did you mean 'profile'?" in message
    assert all(name in message for name in chapter.spec("fig2_spatial").parameters)
    assert not list(tmp_path.rglob("*.nc"))


def test_a_name_of_the_notebook_is_refused_in_a_kernel(tmp_path, project):
    """IPython keeps the cells, from which the name is read that an import has overwritten."""
    source, output = str(paths.notebook("tiny")), str(tmp_path / "out.ipynb")
    for name in ("study", "get_ipython"):
        with pytest.raises(papermill.PapermillExecutionError, match=f"no parameter '{name}'"):
            papermill.execute_notebook(
                source, output, {name: 3}, kernel_name="python3", progress_bar=False, cwd=project
            )


def test_cells_that_a_reader_runs_again_are_no_parameters():
    history = [
        "",
        "sigma = 2.0",
        "seeds = [1]\nnew = float('nan')",
        "chapter = open_chapter('x', 1)",
    ]
    assert list(chapter._assigned(history)) == ["sigma", "seeds", "new"]
    again = [*history, "results = study.results(chapter)", "note = 1", history[-1]]
    assert list(chapter._assigned(again)) == []
    assert list(chapter._assigned([*history, "sigma = 3.0", history[-1]])) == ["sigma"]


def test_executed_chapter_names_no_folder_of_the_machine_for_results_in_the_project(monkeypatch):
    """Pages must not show where someone keeps the project."""
    assert paths.shown(paths.RESULTS / "smoke" / "x.nc") == str(Path("results/smoke/x.nc"))
    assert json.dumps(paths.shown(Path("/elsewhere/x.nc"))) == '"/elsewhere/x.nc"'


@pytest.mark.skipif(sys.platform != "linux", reason="glibc")
def test_memory_of_large_tensors_is_kept():
    """Tensors of 64 MB, made again and again, ask the kernel for a fifth of the pages or less."""
    code = """
import resource, torch
from vnlib.book import chapter

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20): torch.ones(2**24)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

print(faults())
chapter.keep_memory()
print(faults())
"""
    given, kept = map(int, subprocess.check_output([sys.executable, "-c", code]).split())
    assert kept < given / 5
