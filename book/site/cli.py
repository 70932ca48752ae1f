"""`vnbook`: list, run, build, check and export the chapters of the book.

A command imports what it works with, so that help and refusals come at once.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Thread, current_thread, main_thread
from types import FrameType

import click
import yaml

from vnlib import checks
from vnlib.book import paths
from vnlib.book.parameters import COMMON, PROFILES


def _one_of(what: str, allowed: Callable[[], Iterable[str]]) -> Callable[..., str]:
    """The callback of an argument that is one of these, as they are when the command is given."""
    return lambda context, parameter, value: checks.choice(what, value, allowed()) or value


PATH, COUNT = click.Path(path_type=Path), click.IntRange(min=1)
CHAPTER = click.argument("name", callback=_one_of("chapter", paths.chapters))
PROFILE = click.option(
    "--profile",
    **{"default": "paper", "show_default": True, "help": "smoke, fast or paper"},
    callback=_one_of("profile", lambda: PROFILES),
)
RESULTS_DIR = click.option(
    "--results-dir", type=PATH, default=paths.RESULTS, help="holds <profile>/<chapter>.nc"
)
JOBS = click.option(
    "--jobs", type=COUNT, show_default="as many as cores, 1 for smoke", help="processes at work"
)
QUIET = click.option("--quiet", is_flag=True, help="no progress bar")
PARAMETER = {"nargs": 2, "multiple": True, "metavar": "KEY VALUE", "help": "set a parameter"}


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def vnbook() -> None:
    """Run the chapters of the Vector Network book and build its pages."""
    if not paths.chapters():
        raise ValueError(
            f"there are no chapters in {paths.ROOT}; vnbook works in a checkout of the book, whose "
            "folder the environment variable VNBOOK_ROOT names"
        )


@vnbook.command("list")
def list_chapters() -> None:
    """The chapters, with what each can be told."""
    from vnlib.book import chapter

    for name in paths.chapters():
        one = chapter.spec(name)
        times = ", ".join(map(" ".join, one.sidecar.get("runtime", {}).items()))
        click.echo(f"{name}: {one.title}{f' (on two cores: {times})' if times else ''}")
        for key, rule in one.parameters.items():
            allowed = rule.get("choices") or rule.get("pattern") or _range(rule)
            allowed = ", ".join(allowed) if isinstance(allowed, list) else allowed
            click.echo(f"  {key} = {one.defaults[key]!r}  {rule['help']} ({allowed})")


def _range(rule: dict) -> str:
    signs = {"low": ">=", "above": ">", "high": "<="}
    return " ".join([rule["type"], *(f"{signs[k]} {rule[k]}" for k in signs if k in rule)])


@vnbook.command()
@CHAPTER
@click.option("-p", "--parameter", "pairs", **PARAMETER)
@click.option("--output", type=PATH, help="where the executed notebook goes")
@JOBS
@click.option(
    "--stale",
    type=click.Choice(COMMON["stale"]["choices"]),
    help="stored runs of other code than is here: keep them (as is usual) or recompute them",
)
@QUIET
@click.option(
    "--no-page", is_flag=True, help="only compute and store, as a slice on a cluster does"
)
@click.option("--helps", is_flag=True, hidden=True, help="end when standard input does")
def run(
    name: str,
    pairs: tuple,
    output: Path | None,
    jobs: int | None,
    stale: str | None,
    quiet: bool,
    no_page: bool,
    helps: bool,
) -> None:
    """Run chapter NAME: compute what is missing, draw its figures."""
    if helps:
        Thread(target=lambda: (sys.stdin.read(), os._exit(1)), daemon=True).start()
    from book.site import build as book
    from vnlib.book import chapter

    given = {key: _value(text) for key, text in pairs} | ({"stale": stale} if stale else {})
    one = chapter.spec(name)
    parameters = one.check(given)
    if no_page:
        if output or jobs:
            raise ValueError(
                "--no-page writes no notebook and is one process; leave out --output and --jobs"
            )
        with contextlib.redirect_stderr(io.StringIO()) if quiet else contextlib.nullcontext():
            return _fill(name, given)
    folder = Path(parameters["results_dir"] or paths.RESULTS).expanduser()
    notebook = output or folder / "executed" / parameters["profile"] / f"{name}.ipynb"
    jobs = jobs or _processes(parameters["profile"])
    book.run_chapter(name, given, notebook, jobs=jobs, progress=not quiet)
    if one.stores:
        click.echo(f"results:  {paths.shown(chapter.Chapter(one, parameters).file())}")
    click.echo(f"notebook: {paths.shown(notebook)}")


def _fill(name: str, given: dict[str, object]) -> None:
    """Compute what a chapter lacks, and what its sidecar says to stand beside it; a slice has not all
    that this follows from, and leaves it to the page.
    """
    from vnlib.book import chapter

    chapter.fill(name, given)
    one, study = chapter.spec(name), paths.module(name, "study")
    some = any(given.get(key) is not None for key in ("models", "seeds"))
    if some or study is None or not (beside := one.sidecar.get("beside", ())):
        return
    opened = chapter.Chapter(one, one.check(given))
    found = study.results(opened)  # all stored by now
    every = found if isinstance(found, tuple) else (found,)
    for module in filter(None, (paths.module(name, part) for part in beside)):
        module.results(opened, *every)


def _processes(profile: str) -> int:
    """How many processes fill a chapter's results: runs of `smoke` end before a second one starts."""
    return 1 if profile == "smoke" else os.cpu_count() or 1


def _value(text: str) -> object:
    """A parameter as it was typed: YAML, as papermill's command line takes it, or else text."""
    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):  # the last: thousands of brackets
        return text
    try:
        # YAML 1.1 reads 1e-3 as text; a parameter never means that, unless it is quoted.
        return float(text) if isinstance(value, str) else value
    except ValueError:
        return value


@vnbook.command()
@PROFILE
@RESULTS_DIR
@JOBS
@click.option("--fresh", is_flag=True, help="compute everything anew, whatever is stored")
@click.option("--prints", is_flag=True, help="offer every figure as PDF and SVG too")
@QUIET
def build(profile: str, results_dir: Path, jobs: int | None, quiet: bool, **options: bool) -> None:
    """Build the HTML from stored results, computing what is missing."""
    # Before the libraries are imported: a process of one thread is safe to fork.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from book.site import build as book

    jobs = jobs or max(2, os.cpu_count() or 1)  # one draws no figures for phones
    html = book.build(profile, results_dir, jobs=jobs, progress=not quiet, **options)
    click.echo(f"Open {paths.shown(html / 'index.html')}")


@vnbook.command()
@RESULTS_DIR
def status(results_dir: Path) -> None:
    """What results there are, and whether the library changed since."""
    from book.site import ledger_page
    from vnlib.book import chapter, store

    for profile in PROFILES:
        for name in filter(lambda one: chapter.spec(one).stores, paths.chapters()):
            path = results_dir / profile / f"{name}.nc"
            try:
                facts = ledger_page.facts(path)
                said = ", ".join(f"{k} {v}" for k, v in facts.items() if k != "versions")
            except store.StoreError as error:
                said = str(error) if path.exists() else "no results"
            click.echo(f"{profile:6} {name}: {said}")


@vnbook.command()
@PROFILE
@RESULTS_DIR
def ledger(profile: str, results_dir: Path) -> None:
    """Decide every claim from the results and write ledger.json beside them."""
    from book.site import identifiers
    from book.site import ledger as claims

    folder = results_dir / profile
    if not folder.is_dir():
        raise ValueError(
            f"there are no results in {folder}; run `vnbook run NAME -p profile {profile}` first"
        )
    found = claims.ledger(folder)
    for row in found["claims"]:
        controls = f"; with controls: {row['verdict_controls']}" if row["verdict_controls"] else ""
        word = row["verdict"] or "definition or theorem, not counted"
        said = f"{row['id']:8} {word}{controls}  ({row['chapter']}) {row['missing']}"
        click.echo(said.rstrip())
        for one in found["statements"]:
            if one["claim"] == row["id"]:
                click.echo(f"         {one['id']} {one['verdict']}: {one['says']}")
    if folder.resolve() == (paths.RESULTS / "paper").resolve():
        identifiers.keep(found)
    claims.write(found, folder / "ledger.json")
    click.echo(f"written: {paths.shown(folder / 'ledger.json')}")


@vnbook.command()
@click.argument("first", type=PATH)
@click.argument("second", type=PATH)
@click.option("--chapter", help="only the claims of this one")
def compare(first: Path, second: Path, chapter: str | None) -> None:
    """Compare the statements of two folders of results, such as results/paper and results/gpu/paper:
    both numbers, their difference in units of the spread over seeds, both verdicts.
    """
    from book.site import comparison

    if chapter:
        checks.choice("chapter", chapter, paths.chapters())
    for folder in (first, second):
        if not folder.is_dir():
            raise ValueError(f"there is no folder {folder}; name two, such as results/paper")
    found = []
    for one in comparison.compared(first, second, chapter):
        found.append(one)
        click.echo(one)
    same = sum(one.same for one in found)
    click.echo(f"{len(found)} statements compared, {same} with the same verdict")


@vnbook.command()
@click.argument("url")
@click.option("--doi", help="of the release that is to be cited")
def home(url: str, doi: str | None) -> None:
    """Name the book's repository on GitHub: pages get their buttons, chapters the cell that
    installs them on Colab, and citations the address.
    """
    from book.site import repository_url

    repository_url.move_in(url, doi)
    click.echo(
        "written: _config.yml, pyproject.toml, CITATION.cff, book/cite.md and every chapter; "
        "build the book to see the buttons"
    )


@vnbook.command()
@CHAPTER
@click.option("--to", "form", type=click.Choice(["html", "script", "pdf"]), required=True)
@click.option("--output-dir", type=PATH, default=Path("."), show_default="this folder")
def export(name: str, form: str, output_dir: Path) -> None:
    """Export chapter NAME by nbconvert, as executed for the book where it has been."""
    from book.site import build as book

    if form == "pdf" and not shutil.which("xelatex"):
        raise ValueError(
            "--to pdf needs xelatex (TeX Live), which is not installed; use --to html, or install it"
        )
    executed = book.EXECUTED / f"{name}.ipynb"
    source = executed if executed.exists() and form != "script" else paths.notebook(name)
    # "script" asks the notebook for its language's file type, which sources stripped of outputs do
    # not say.
    target = "python" if form == "script" else form
    command = [sys.executable, "-m", "nbconvert", source, "--to", target]
    command += ["--output-dir", output_dir]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["no message"]
        raise RuntimeError(f"nbconvert failed: {said[-1]}")
    click.echo(f"written: {output_dir / name}.{'py' if form == 'script' else form}")


def _ended(number: int, frame: FrameType | None) -> None:
    """As an interrupt; what ends meanwhile, such as a kernel, has nothing to tell."""
    logging.disable()
    signal.default_int_handler(number, frame)


def main() -> None:
    """Run `vnbook`. Errors that a user can mend are one paragraph, not a traceback; to be asked to
    end (SIGTERM) is to be interrupted.
    """
    if current_thread() is main_thread():
        signal.signal(signal.SIGTERM, _ended)
    try:
        vnbook(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit("vnbook: interrupted; finished runs are kept, the same command goes on")
    except OSError as error:
        from vnlib.book.store.netcdf import ROOM, is_full

        sys.exit(f"vnbook: {error}{f'; {ROOM}' if is_full(error) else ''}")
    except (ValueError, RuntimeError) as error:
        sys.exit(f"vnbook: {error}")
    except Exception as error:
        failed = vars(error)
        if "ename" not in failed:  # papermill's has it; a help text does not wait for papermill
            raise
        sys.exit(f"vnbook: a cell failed with {failed['ename']}: {failed['evalue']}")


if __name__ == "__main__":
    main()
