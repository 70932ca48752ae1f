"""Git state and hardware, on small trees made for the purpose; what a result file says of itself;
and the paths.
"""

import json
import runpy
import subprocess
from pathlib import Path

import pytest
import torch

from vnlib.book import paths
from vnlib.book.store import provenance


@pytest.fixture
def tree(tmp_path):
    """A project with a few modules."""
    files = {
        "vnlib/__init__.py": "",
        "data_gen/bumps.py": "e = 5\n",
        "benchmarks/times.py": "f = 6\n",
        "chapters/fig.ipynb": "{}",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def repository(tree):
    def git(*args):
        who = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
        subprocess.run(["git", "-C", str(tree), *who, *args], check=True, capture_output=True)

    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    return tree


@pytest.mark.parametrize(
    "changed", ["chapters/fig.ipynb", "vnlib/new.py", "data_gen/bumps.py", "benchmarks/times.py"]
)
def test_git_state_of_a_clean_and_a_dirty_checkout(repository, changed):
    clean = provenance.git_state(repository)
    assert len(clean["revision"]) == 40 and clean["dirty"] == 0
    (repository / "results").mkdir()
    (repository / "results/fig.nc").write_text("new")
    assert provenance.git_state(repository) == clean
    (repository / changed).write_text("[]")
    assert provenance.git_state(repository) == clean | {"dirty": 1}


def test_the_variables_of_a_git_hook_do_not_mislead(repository, tmp_path_factory, monkeypatch):
    clean = provenance.git_state(repository)
    monkeypatch.setenv("GIT_DIR", str(tmp_path_factory.mktemp("other")))
    assert provenance.git_state(repository) == clean


def test_git_state_is_unknown_rather_than_wrong(tree, repository, tmp_path_factory, monkeypatch):
    unknown = {"revision": "unknown", "dirty": -1}
    assert provenance.git_state(tmp_path_factory.mktemp("nowhere")) == unknown
    copy = repository / "copy"  # an untracked copy inside another repository
    (copy / "vnlib").mkdir(parents=True)
    (copy / "vnlib/__init__.py").write_text("")
    assert provenance.git_state(copy) == unknown
    monkeypatch.setenv("PATH", "")
    assert provenance.git_state(repository) == unknown


def test_hardware_names_the_gpu_only_if_it_is_used(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"Big GPU on {device}")
    assert "core" in provenance.hardware() and "GPU" not in provenance.hardware("cpu")
    assert provenance.hardware("cuda:0") == provenance.hardware() + ", Big GPU on cuda:0"

    def missing(device):
        raise AssertionError("Torch not compiled with CUDA enabled")

    monkeypatch.setattr(torch.cuda, "get_device_name", missing)
    assert provenance.hardware("cuda").endswith("cuda (unavailable)")


def test_hardware_without_a_cpu_list(monkeypatch):
    monkeypatch.setattr(Path, "read_text", lambda *args, **kwargs: (_ for _ in ()).throw(OSError()))
    assert provenance.hardware().split(",")[0]


def test_versions_name_what_decides_about_bits():
    found = provenance.versions()
    assert set(found) == {"python", "torch", "cuda", "numpy", "xarray", "h5netcdf"}
    assert found["torch"] == torch.__version__ and "unknown" not in found.values()


def test_everything_collected_fits_into_netcdf():
    found = provenance.collect()
    assert set(found) == {"git_revision", "git_dirty", "hardware", "versions"}
    assert all(type(value) in (str, int) for value in found.values())
    assert json.loads(found["versions"]) == provenance.versions()
    assert found["git_dirty"] in (-1, 0, 1)


# Paths


def test_result_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert paths.result_file("out", "fast", "fig2_spatial") == tmp_path / "out/fast/fig2_spatial.nc"
    assert paths.result_file(tmp_path, "paper", "fig2", "ring").name == "fig2--ring.nc"
    for bad in (
        ("", "c", ""),
        ("../p", "c", ""),
        ("p", "a/b", ""),
        ("p", "c", "a/b"),
        ("p", ".c", ""),
    ):
        with pytest.raises(ValueError, match="plain name"):
            paths.result_file(tmp_path, *bad)


def test_the_root_is_the_project_unless_the_environment_says_otherwise(tmp_path, monkeypatch):
    monkeypatch.delenv("VNBOOK_ROOT", raising=False)
    found = runpy.run_path(paths.__file__)
    assert found["ROOT"] == found["SOURCE"] == Path(paths.__file__).parents[2]
    monkeypatch.setenv("VNBOOK_ROOT", str(tmp_path))
    found = runpy.run_path(paths.__file__)
    assert (
        found["RESULTS"] == tmp_path / "results"
        and found["SOURCE"] == Path(paths.__file__).parents[2]
    )
