"""What the project is for others: a wheel, a source distribution, locks, containers, and a public
home.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from vnlib.book import paths

ROOT = paths.SOURCE
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CITED = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
needs_git = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a git checkout")


def tracked() -> list[str]:
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    said = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in said.split("\0") if name and (ROOT / name).exists()]


# --- Distributions --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Wheel and source distribution, as setuptools makes them of what git knows."""
    folder, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    for name in tracked():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".nc"):  # which would take long to compress
            (folder / name).touch()
        else:
            shutil.copy(ROOT / name, folder / name)
    code = (
        "from setuptools import build_meta as b;"
        f"b.build_wheel({str(out)!r}); b.build_sdist({str(out)!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return next(out.glob("*.whl")), next(out.glob("*.tar.gz"))


@needs_git
def test_the_source_distribution_is_the_whole_checkout(made):
    with tarfile.open(made[1]) as archive:
        there = {name.partition("/")[2] for name in archive.getnames()}
    assert not set(tracked()) - there


@needs_git
def test_a_wheel_is_typed_and_says_what_its_command_needs(made, tmp_path):
    with zipfile.ZipFile(made[0]) as wheel:
        names = set(wheel.namelist())
        wheel.extractall(tmp_path)
    wanted = {"vnlib/py.typed", "book/site/rules.toml", "book/site/evidence_table.html.jinja"}
    assert names >= wanted and not [name for name in names if name.endswith((".ipynb", ".nc"))]
    code = "import sys; sys.argv[0] = 'vnbook'; from book.site.cli import main; main()"
    environment = {k: v for k, v in os.environ.items() if k != "VNBOOK_ROOT"}

    def said(**more: str) -> subprocess.CompletedProcess:
        own = environment | {"PYTHONPATH": str(tmp_path)} | more
        command = [sys.executable, "-c", code, "list"]
        return subprocess.run(command, cwd=tmp_path, env=own, capture_output=True, text=True)

    alone = said()
    assert alone.returncode == 1 and alone.stdout == "" and alone.stderr.count("\n") == 1
    assert str(tmp_path) in alone.stderr and "VNBOOK_ROOT" in alone.stderr
    told = said(VNBOOK_ROOT=str(ROOT))
    assert told.returncode == 0 and all(name in told.stdout for name in paths.chapters())


def test_classifiers_are_of_the_pythons_that_are_tested():
    versions = re.findall(r":: (3\.\d+)", " ".join(PROJECT["classifiers"]))
    assert PROJECT["requires-python"] == f">={versions[0]}" and "Typing :: Typed" in str(PROJECT)
    ci = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    tried = ci["jobs"]["test"]["strategy"]["matrix"]["python"]
    assert {versions[0], versions[-1]} == set(tried)


# --- Locks ----------------------------------------------------------------------------------------

SYSTEMS = [
    {"sys_platform": system, "platform_machine": machine, "python_full_version": python}
    for system, machine in (("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64"))
    for python in ("3.11.2", "3.11.9", "3.12.4", "3.13.1")
]


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _pins(text: str) -> list[tuple[Requirement, list[str]]]:
    """Requirements with their hashes, from a file as pip reads it."""
    lines = re.sub(r"^#.*\n", "", text.replace("\\\n", " "), flags=re.M).splitlines()
    parts = [line.partition("--hash=") for line in lines if line.strip()]
    return [(Requirement(one), (sep + rest).split()) for one, sep, rest in parts]


def _chosen(pins: list[tuple[Requirement, list[str]]], where: dict[str, str]) -> dict[str, str]:
    """Name -> version of what is installed on such a system."""
    where = where | {"python_version": where["python_full_version"].rpartition(".")[0]}
    found = [one for one, _ in pins if one.marker is None or one.marker.evaluate(where)]
    assert len({_plain(one.name) for one in found}) == len(found), "one version of each"
    return {_plain(one.name): str(one.specifier) for one in found}


LOCK = _pins((ROOT / "requirements.lock").read_text(encoding="utf-8"))
PINNED = _pins((ROOT / "constraints.txt").read_text(encoding="utf-8"))


@pytest.mark.parametrize("where", SYSTEMS, ids=lambda where: "-".join(where.values()))
def test_the_lock_holds_all_that_is_needed_in_the_versions_that_were_tested(where):
    locked, tested = _chosen(LOCK, where), _chosen(PINNED, where)
    wanted = map(Requirement, PROJECT["dependencies"] + PROJECT["optional-dependencies"]["dev"])
    needed = {_plain(one.name) for one in wanted if not one.marker or one.marker.evaluate(where)}
    assert needed <= locked.keys()
    assert {k: v for k, v in locked.items() if k in tested} == {
        k: v for k, v in tested.items() if k in locked
    }


def test_every_file_of_the_lock_has_a_hash():
    for one, hashes in LOCK:
        assert hashes and all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", each) for each in hashes)
        assert len(set(hashes)) == len(hashes), one


# --- Containers -----------------------------------------------------------------------------------


def test_the_image_is_pinned_and_its_user_is_not_root():
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    images = re.findall(r"^FROM (\S+)(?: AS (\w+))?", text, re.M)
    stages = {stage for _, stage in images}
    for image, _ in images:
        assert image in stages or re.fullmatch(r"python:3\.11-[\w-]+@sha256:[0-9a-f]{64}", image)
    assert re.findall(r"^USER (\w+)", text, re.M) == ["reader"] and "RUN make install" in text
    ignored = set((ROOT / ".dockerignore").read_text(encoding="utf-8").split())
    assert ignored >= {".venv", "book/_build", "!results/paper"}
    told = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
    assert told["build"]["target"] in stages and told["remoteUser"] == "reader"
    assert (ROOT / ".devcontainer" / told["build"]["dockerfile"]).resolve() == ROOT / "Dockerfile"
    assert told["postCreateCommand"] == "make install"


def test_binder_installs_the_pinned_packages_without_tools_and_without_cuda():
    folder = ROOT / ".binder"
    script = (folder / "postBuild").read_text(encoding="utf-8")
    assert "pip install --no-cache-dir -c constraints.txt -e .\n" in script
    assert script.startswith("#!") and (folder / "postBuild").stat().st_mode & stat.S_IXUSR
    index = re.findall(r"PIP_EXTRA_INDEX_URL=(\S+)", script)[0]
    workflow = (ROOT / ".github" / "workflows" / "publish.yml").read_text(encoding="utf-8")
    assert index in workflow and index in (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert (folder / "runtime.txt").read_text().strip() == "python-3.11"


# --- Citation and home ----------------------------------------------------------------------------


def test_zenodo_citation_package_and_book_say_the_same():
    zenodo = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    for key in ("title", "version", "license", "keywords"):
        assert zenodo[key] == CITED[key], key
    assert zenodo["creators"] == CITED["authors"] == PROJECT["authors"]
    related = [one["identifier"] for one in zenodo["related_identifiers"]]
    assert related == [one["url"] for one in CITED["references"]]
    assert set(related) <= set(PROJECT["urls"].values())
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    assert (config["title"], config["author"]) == (CITED["title"], CITED["authors"][0]["name"])
    for key in ("version", "license", "keywords"):
        assert PROJECT[key] == CITED[key], key
    assert PROJECT["description"] in zenodo["description"]


@needs_git
def test_the_guide_leads_to_a_home_with_buttons_and_a_doi(project, vnbook, tmp_path, monkeypatch):
    """Its commands as they stand there, with a repository on this disk in GitHub's place."""
    for name in ("_config.yml", "pyproject.toml", "CITATION.cff", "book/cite.md"):
        (project / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, project / name)
    home, url = tmp_path / "home.git", "https://github.com/OWNER/NAME"
    config = tmp_path / "gitconfig"
    config.write_text(f'[url "{home}"]\n\tinsteadOf = {url}\n[user]\n\tname = A\n\temail = a@b.c\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))

    def git(*words: object, where: Path = project) -> str:
        done = subprocess.run(["git", *map(str, words)], cwd=where, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    git("init", "-q", "--bare", home)
    git("init", "-q")
    git("add", "-A")
    guide = (ROOT / "book" / "publish.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```bash\n(.*?)```", guide, re.S)
    for command in (line for block in blocks[:2] for line in block.splitlines()):
        program, *words = shlex.split(command)
        if program == ".venv/bin/vnbook":
            said = vnbook(*words)
            assert said.code == 0, said.err
        else:
            assert program == "git"
            git(*words)
    git("clone", "-q", "-b", "main", url, tmp_path / "clone", where=tmp_path)
    clone = tmp_path / "clone"
    cited = yaml.safe_load((clone / "CITATION.cff").read_text(encoding="utf-8"))
    pages = "https://owner.github.io/NAME/"
    assert (cited["repository-code"], cited["url"]) == (url, pages)
    assert cited["doi"] == "10.5281/zenodo.1234567" and cited["references"] == CITED["references"]
    urls = tomllib.loads((clone / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    assert urls == PROJECT["urls"] | {"Repository": url, "Homepage": pages}
    page = (clone / "book" / "cite.md").read_text(encoding="utf-8")
    assert page.count(f"  url     = {{{pages}}},\n") == page.count("10.5281/zenodo.1234567") == 1
    book = yaml.safe_load((clone / "_config.yml").read_text(encoding="utf-8"))
    assert book["repository"]["url"] == url and book["html"]["use_issues_button"] is True
    assert url in (clone / "chapters" / "tiny" / "tiny.ipynb").read_text(encoding="utf-8")


@pytest.mark.parametrize("doi", ["zenodo.7", "https://doi.org/10.5281/zenodo.7", "10.5/x"])
def test_what_is_no_doi_is_refused_and_nothing_is_written(project, vnbook, doi):
    before = (project / "_config.yml").read_bytes()
    said = vnbook("home", "https://github.com/a/b", "--doi", doi)
    assert said.code == 1 and f"got '{doi}'" in said.err
    assert (project / "_config.yml").read_bytes() == before
