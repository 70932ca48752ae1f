"""The commands that the README and the pages of the book tell readers to type: they exist, and the
quick ones run.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess

import click
import numpy as np
import pytest
import yaml

from book.site import cli
from chapters.J_cost import stored as costs
from vnlib.book import chapter, paths
from vnlib.book.parameters import PROFILES

PAGES = [
    page
    for page in map(paths.SOURCE.joinpath, ("README.md", "book/intro.md", "book/how_to_run.md"))
    if page.exists()
]
BLOCK = re.compile(
    r"^```(?:bash|shell|sh|\{code-block\} bash)\n(.*?)^```", re.MULTILINE | re.DOTALL
)
MAKEFILE = (paths.SOURCE / "Makefile").read_text(encoding="utf-8")
# A make above this one would tell the one below its own options.
ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith("MAKE") and name != "MFLAGS"
}


def commands() -> list[str]:
    """Every command in a bash block, once; continued lines joined, comments and blank lines left
    out.
    """
    found = {}
    others = (paths.SOURCE / "book" / name for name in ("cluster.md", "publish.md"))
    for page in (*PAGES, *others):
        for block in BLOCK.findall(page.read_text(encoding="utf-8")):
            for line in block.replace("\\\n", " ").splitlines():
                if words := shlex.split(line, comments=True):
                    found[shlex.join(words)] = words
    return list(found)


def parsed(command: str) -> tuple[dict[str, str], str, list[str]]:
    """A command as (variables set before it, name of the program, arguments)."""
    words = shlex.split(command)
    variables = {}
    while re.match(r"[A-Z_]+=", words[0]):
        name, value = words.pop(0).split("=", 1)
        variables[name] = value
    return variables, os.path.basename(words[0]), words[1:]


ALL = commands()
of_program = {
    name: [c for c in ALL if parsed(c)[1] == name] for name in ("make", "vnbook", "papermill")
}
QUICK = [c for c in of_program["vnbook"] if parsed(c)[2][0] in ("list", "status")]


def test_the_readme_shows_the_commands_that_matter():
    for wanted in (
        "make book",
        "make test",
        "make reproduce PROFILE=fast",
        "make chapter NAME=fig2_spatial PROFILE=fast",
    ):
        assert wanted in ALL
    assert of_program["vnbook"] and of_program["papermill"] and QUICK


def test_every_program_is_one_that_the_tests_below_know():
    others = "git cd python3 pip conda mamba export python snakemake slurm.sh rsync docker"
    assert {parsed(command)[1] for command in ALL} <= {*of_program, *others.split()}


@pytest.mark.parametrize("command", of_program["make"])
def test_make_targets_and_variables_exist(command):
    variables, _, arguments = parsed(command)
    targets = [word for word in arguments if "=" not in word]
    given = dict(word.split("=", 1) for word in arguments if "=" in word)
    phony = re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE).group(1).split()
    assert targets and set(targets) <= set(phony)
    assert all(re.search(rf"^{name} *\?=", MAKEFILE, re.MULTILINE) for name in given), given
    if "PROFILE" in given:
        assert given["PROFILE"] in PROFILES
    if "NAME" in given:
        assert given["NAME"] in paths.chapters()
    assert set(variables) <= {"VNBOOK_DATA", "VNBOOK_OFFLINE", "PIP_EXTRA_INDEX_URL"}
    # What make would do, without doing it.
    done = subprocess.run(
        ["make", "-n", *arguments],
        cwd=paths.SOURCE,
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
    )
    assert done.returncode == 0, done.stderr
    assert all(value in done.stdout for value in given.values())


def test_make_help_lists_every_target():
    done = subprocess.run(
        ["make", "help"], cwd=paths.SOURCE, capture_output=True, text=True, env=ENVIRONMENT
    )
    assert done.returncode == 0, done.stderr
    listed = {line.split()[1] for line in done.stdout.splitlines()}
    assert listed == set(re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE).group(1).split())


def test_make_alone_is_help_and_builds_nothing():
    done = subprocess.run(
        ["make", "-n"], cwd=paths.SOURCE, capture_output=True, text=True, env=ENVIRONMENT
    )
    assert done.returncode == 0 and "awk" in done.stdout and "pip" not in done.stdout


@pytest.mark.parametrize("command", of_program["vnbook"])
def test_vnbook_commands_have_the_options_they_are_called_with(command):
    _, _, (sub, *arguments) = parsed(command)
    assert sub in cli.vnbook.commands
    filled = ["fig2_spatial" if word in ("NAME", "<chapter>") else word for word in arguments]
    context = cli.vnbook.commands[sub].make_context(sub, filled)  # parses, does not run
    if "name" in context.params:
        given = {key: cli._value(text) for key, text in context.params.get("pairs", ())}
        chapter.spec(context.params["name"]).check(given)
    if "profile" in context.params:
        assert context.params["profile"] in PROFILES


def test_the_parser_refuses_an_option_that_is_not_there():
    with pytest.raises(click.NoSuchOption):
        cli.vnbook.commands["run"].make_context("run", ["fig2_spatial", "--fast"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_within_the_text_exist(page):
    text = page.read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE).group(1).split()
    assert set(re.findall(r"`make (\w+)", text)) <= set(phony)
    for command in re.findall(r"`(?:\.venv/bin/)?vnbook ([^`]+)`", text):
        sub, *words = command.split()
        known = {option for one in cli.vnbook.commands[sub].params for option in one.opts}
        assert {word for word in words if word.startswith("-")} <= known, command


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_in_the_text_runs(page, monkeypatch):
    monkeypatch.chdir(paths.SOURCE)
    for block in re.findall(
        r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    ):
        code = compile(block, page.name, "exec")
        if all(
            (paths.SOURCE / name).exists() for name in re.findall(r'"(results/[^"]+\.nc)"', block)
        ):
            exec(code, {})


@pytest.mark.parametrize("command", of_program["papermill"])
def test_papermill_commands_name_a_chapter_and_its_parameters(command):
    _, _, (source, output, *rest) = parsed(command)
    path = paths.SOURCE / source
    assert path == paths.notebook(path.stem) and output.endswith(".ipynb")
    assert rest[::3] == ["-p"] * (len(rest) // 3)
    given = dict(zip(rest[1::3], map(cli._value, rest[2::3]), strict=True))
    chapter.spec(path.stem).check(given)


@pytest.mark.parametrize("command", QUICK)
def test_quick_commands_run(command, vnbook, tmp_path):
    _, _, arguments = parsed(command)
    # of the smallest results that are shipped; the test of the ledger reads all of them
    if arguments == ["status"]:
        (tmp_path / "paper").mkdir()
        for file in sorted(paths.RESULTS.glob("paper/*.nc"), key=lambda file: file.stat().st_size)[
            :2
        ]:
            shutil.copy(file, tmp_path / "paper")
        arguments += ["--results-dir", tmp_path]
    said = vnbook(*arguments)
    assert said.code == 0, said.err
    listed = [
        name for name in paths.chapters() if chapter.spec(name).stores or arguments[0] == "list"
    ]
    assert listed and all(name in said.out for name in listed)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_and_chapters_that_the_text_names_exist(page):
    text = page.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([A-Z][A-Za-z.]+)\)", text):
        assert (paths.SOURCE / link).exists(), link
    for name in re.findall(r"\bfig\d+_\w+", text):
        assert name.removesuffix("_out") in paths.chapters(), name
    for name in re.findall(r"\bVNBOOK_[A-Z]+\b", text):
        sources = [
            *(paths.SOURCE / "vnlib").glob("*.py"),
            *(paths.SOURCE / "data_gen").glob("*.py"),
        ]
        assert any(name in source.read_text(encoding="utf-8") for source in sources), name


def test_links_of_the_readme_lead_to_files():
    links = re.findall(r"\]\((?!https:)([^)]+)\)", PAGES[0].read_text(encoding="utf-8"))
    assert len(links) > 5 and not [link for link in links if not (paths.SOURCE / link).is_file()]


def test_the_readme_says_the_hours_as_they_are():
    text = PAGES[0].read_text(encoding="utf-8")
    stored = [costs.stored(paths.SOURCE / "results" / "paper", name) for name in paths.chapters()]
    hours = [one["seconds"] / 3600 / 2 for one in stored if "seconds" in one]  # on two cores
    assert (
        "up to four hours a chapter; those of Forced Rendering 3 to 28 hours each without "
        "a GPU" in " ".join(text.split())
    )
    assert 3 < max(hours) < 4
    rendering = [name for name in paths.chapters() if name.startswith("FR")]
    told = [chapter.spec(name).sidecar["runtime"]["paper"] for name in rendering]
    assert {"3 h", "28 h"} <= {*told} and all(3 <= int(one.split()[0]) <= 28 for one in told)


def test_the_page_on_clusters_says_how_long_and_how_large():
    text = " ".join((paths.SOURCE / "book" / "cluster.md").read_text(encoding="utf-8").split())
    folder = paths.SOURCE / "results" / "paper"
    others = [name for name in paths.chapters() if not name.startswith("FR")]
    files = [file for name in others for file in costs.files(folder, name)]
    seconds = np.concatenate([np.concatenate(costs.took(costs._read(file))) for file in files])
    hours = seconds.sum() / 3600
    assert f"beside the {hours:.0f} that all others took" in text
    assert f"about {round(hours + 95, -1):.0f} core-hours, an estimated 95 of them" in text
    assert [f"{q:.0f}" for q in np.quantile(seconds, [0.25, 0.75])] == ["2", "13"]
    assert "half take two to thirteen seconds" in text
    assert f"the longest {seconds.max() / 60:.0f} minutes" in text
    size = sum(file.stat().st_size for file in folder.glob("*.nc"))
    assert f"results of {round(size / 1e6, -1):.0f} MB" in text
    slices = {1: 0, 8: 0}
    for spec in map(chapter.spec, paths.chapters()):
        one = chapter.Chapter(spec, spec.check({"profile": "paper"}))
        many = len(one.models) if "models" in spec.parameters else 1
        for step in slices:
            slices[step] += many * -(-len(one.seeds) // step) if spec.stores else 0
    assert f"about {round(slices[1], -2):,}, or {round(slices[8], -1)} with" in text


def test_the_page_on_citing_agrees_with_the_citation_file():
    cited = yaml.safe_load((paths.SOURCE / "CITATION.cff").read_text(encoding="utf-8"))
    page = (paths.SOURCE / "book" / "cite.md").read_text(encoding="utf-8")
    assert f"title   = {{{cited['title']}}}" in page and f"version = {{{cited['version']}}}" in page
    assert f"{{{{{cited['authors'][0]['name']}}}}}" in page
    first, last = map(int, re.search(r":lines: (\d+)-(\d+)", page).groups())
    shown = "\n".join(
        (paths.SOURCE / "book" / "references.bib").read_text("utf-8").splitlines()[first - 1 : last]
    )
    for paper in cited["references"]:
        assert f"{{{paper['title']}}}" in shown
    assert shown.count("@") == len(cited["references"]) and shown.rstrip().endswith("}")
