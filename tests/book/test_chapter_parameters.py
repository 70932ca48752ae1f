"""The contract of notebook and sidecar: which parameters a chapter has, and how they are given."""

from __future__ import annotations

import shlex
from pathlib import Path
from types import SimpleNamespace

import nbformat
import papermill
import pytest
import torch
from click.testing import CliRunner
from papermill.cli import papermill as papermill_command
from threadpoolctl import threadpool_info, threadpool_limits

from vnlib.book import chapter, paths
from vnlib.book.parameters import PROFILES

NAMES = paths.chapters()

every_chapter = pytest.mark.parametrize("name", NAMES)
every_profile = pytest.mark.parametrize("profile", PROFILES)


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
