"""From chapters to pages: run them with papermill, collect what they made, build the HTML with
jupyter-book.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import nbformat
import papermill
from filelock import FileLock

from book.site import (
    drafts,
    editions,
    executed,
    helpers,
    in_place,
    ledger,
    ledger_page,
    machines,
    moved,
    own_data,
    page_size,
    processes,
    reference,
    repository_url,
)
from book.site.read_once import read_once
from vnlib import checks
from vnlib.book import chapter, html, paths, store
from vnlib.book import ledger as claims
from vnlib.book.parameters import PROFILES
from vnlib.book.store import provenance

LEDGER = "ledger.json"
EXECUTED = paths.BOOK / "chapters"
GENERATED = paths.BOOK / "generated"
CACHE = paths.ROOT / ".cache" / "book"  # executed chapters of earlier builds
EXTRA = paths.BOOK / "extra"  # copied as it is into the root of the HTML
PRINT = {"pdf": "application/pdf", "svg": "image/svg+xml"}  # in which a figure can be downloaded
ON_PAGE = re.compile(r"generated/([\w-]+)\.\*")  # the figure of a chapter, as a page names it
FOLDED = {"hide-cell", "hide-input", "remove-input", "remove-cell"}  # tags of what a page shows
LINKS = "links"  # tag of the links under a figure
SHIPPED = "shipped-results"  # tag of prose that states what the shipped results say
UNFINISHED = ".unfinished"
PATIENCE = 10.0  # seconds for other processes to end by themselves when all runs are there
# Its command line knows no number of processes. Fewer looks for garbage, as in `processes`.
JUPYTER_BOOK = """import gc
from functools import partial
from jupyter_book import sphinx
from jupyter_book.cli.main import main
gc.set_threshold(50_000)
sphinx.build_sphinx = partial(sphinx.build_sphinx, jobs={jobs})
main()
"""
# verdicts, footer, sentences, tables: one call in one line
PAGE_PART = re.compile(r"(?!chapter\.show\()(\w+\()?\w+\.\w+\(.*\)")


def run_chapter(
    name: str,
    given: Mapping[str, Any],
    output: Path,
    *,
    jobs: int = 1,
    progress: bool = True,
    prints: bool = False,
    kernel: bool = True,
) -> dict[str, Any]:
    """Execute a chapter with papermill and keep the executed notebook; returns all its parameters.

    Parameters are checked before anything starts. With jobs > 1, that many processes fill the
    chapter's results together, unless there are results already.

    Parameters
    ----------
    prints
        Draw every figure for print too (PDF, SVG).
    kernel
        Run the cells in a kernel; else in this process, once (see `book.site.in_place`).

    Raises
    ------
    ValueError, papermill.PapermillExecutionError
        For bad parameters; for a failed cell.
    """
    spec = chapter.spec(name)
    parameters = spec.check(given)
    checks.number("jobs", jobs, low=1, integer=True)
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(
            f"the folder {output.parent} cannot be made ({error.strerror}); choose another "
            "results_dir or output"
        ) from error
    anew = parameters.get("recompute") or parameters.get("stale") == "recompute"
    stored = chapter.Chapter(spec, parameters).file().exists() and not anew
    helping = [helpers.begin(name, given) for _ in range(0 if stored else jobs - 1)]
    formats = ("png", *PRINT) if prints else ("png",)
    failed, patience = output.with_suffix(".failed.ipynb"), 0.0
    try:
        with drafts.folder() as folder:  # a kill leaves nothing by the output
            draft = folder / output.name
            try:
                papermill.execute_notebook(
                    str(paths.notebook(name)),
                    str(draft),
                    parameters=_for_notebook(given),
                    cwd=str(paths.ROOT),
                    kernel_name="python3",
                    progress_bar=False,
                    request_save_on_cell_execute=False,  # once, at the end
                    stderr_file=sys.stderr if progress else None,
                    **(_kernel(formats) if kernel else _in_place(formats)),
                )
            except papermill.PapermillExecutionError:
                if draft.exists():
                    paths.replace(failed, draft.read_text(encoding="utf-8"))
                raise
            paths.replace(output, draft.read_text(encoding="utf-8"))
        failed.unlink(missing_ok=True)
        patience = PATIENCE
    except OSError as error:
        error.filename = error.filename or str(output)  # which a full disk does not name
        raise
    finally:
        for process in helping:
            helpers.end(process, patience)
    return parameters


def _kernel(formats: Sequence[str]) -> dict[str, Any]:
    """What a kernel is told: the formats of figures, and to make no remarks of its own."""
    told = [f"--InlineBackend.figure_formats={one}" for one in formats]
    return {"extra_arguments": ["--log-level=50", *told]}


def _in_place(formats: Sequence[str]) -> dict[str, Any]:
    """What the engine in this process is told: light figures are drawings, unless all come as such."""
    return {"engine_name": in_place.NAME, "formats": formats, "sharp": "svg" not in formats}


def _for_notebook(given: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as the notebook gets them: a results folder in the project is named from its root."""
    folder = given.get("results_dir")
    return {**given, **({"results_dir": paths.shown(Path(folder).expanduser())} if folder else {})}


def build(
    profile: str, results_dir: Path, *, fresh: bool = False, jobs: int = 1, **drawing: bool
) -> Path:
    """Run every chapter from the results in `results_dir`, compute what is missing, build the HTML;
    returns its folder. What nothing has changed since the last build is taken from there.

    Raises what `run_chapter` raises, and RuntimeError for any complaint of jupyter-book.

    Parameters
    ----------
    fresh
        Compute everything anew. An interrupted fresh build of the same source goes on.
    jobs
        Chapters at work at the same time, each in a process forked from this one; a single one runs
        in a kernel.
    drawing
        `progress` and `prints` (see `run_chapter`).
    """
    checks.choice("profile", profile, PROFILES)
    folder, built = results_dir.expanduser().resolve() / profile, paths.BOOK / "_build"
    site, mark = built / "html", built / "inputs"
    inputs = partial(_inputs, folder, profile, str(results_dir), str(drawing.get("prints")))
    CACHE.mkdir(parents=True, exist_ok=True)
    with FileLock(CACHE / "lock"), read_once(folder):  # of two builds one waits
        before = inputs()
        if not fresh and site.is_dir() and executed.load(mark, before) is not None:
            return site
        mark.unlink(missing_ok=True)
        if fresh:
            _clear(folder)
        for stale in (EXECUTED, GENERATED, EXTRA):
            shutil.rmtree(stale, ignore_errors=True)
        for part in (EXECUTED, GENERATED, EXTRA / "notebooks", EXTRA / "data"):
            part.mkdir(parents=True)
        page = partial(_page, results_dir=results_dir, profile=profile, **drawing)
        # A long one at the end would be alone.
        order = sorted(paths.chapters(), key=_figures, reverse=True)
        todo = [name for name in order if fresh or not page(name, kept=True)]
        if todo and jobs > 1:
            _import_shared()
        stored = [name for name in order if chapter.spec(name).stores]
        calls: dict[str, Callable[[], object]] = {LEDGER: partial(_judge, folder)}
        calls |= {name: partial(page, name, kernel=jobs == 1) for name in order}
        there, after = _results(folder), {name: _after(name) for name in order}
        # Where all has results the ledger need not wait, as nearly always nothing is computed.
        whole = all((folder / f"{name}.nc").exists() for name in stored)
        after[LEDGER] = [] if whole else stored
        first = [name for name in todo if not after[name]][:1]  # before all results are read
        begun = {name: calls[name] for name in (*first, LEDGER, *todo)}
        processes.each(begun, jobs, after=after, meanwhile=partial(_read_shared, folder))
        if _results(folder) != there:  # then the ledger, and pages that were kept, may be old
            old = [name for name in order if _after(name) and (whole or name not in todo)]
            anew = [LEDGER, *(name for name in old if not page(name, kept=True))]
            processes.each({name: calls[name] for name in anew}, jobs, after=after)
        found = json.loads((folder / LEDGER).read_text(encoding="utf-8"))
        for result in {one for name in paths.chapters() for one in folder.glob(f"{name}*.nc")}:
            shutil.copy(result, EXTRA / "data")
        for file in (folder / LEDGER, ledger.SCHEMA):
            shutil.copy(file, EXTRA / "data")
        for name, text in {
            "headlines": ledger_page.headlines(found, profile),
            "ledger": ledger_page.ledger(found, profile),
            "status": ledger_page.status(folder, profile),
            "machines": machines.page(paths.RESULTS / machines.NAME),
            "changed": editions.page(editions.read(), found, folder),
        }.items():
            (GENERATED / f"{name}.md").write_text(text, encoding="utf-8")
        if (paths.BOOK / "own_data.md").is_file():
            (EXTRA / "figures").mkdir(exist_ok=True)
            own_data.write(GENERATED, EXTRA / "figures")
        reference.write(GENERATED / "modules")
        if folder == paths.RESULTS / "paper" and jobs > 1:  # of other results none was looked at
            _on_phones()
        # From nothing: a page that is not read again does not repeat its warnings.
        shutil.rmtree(built, ignore_errors=True)
        _jupyter_book(jobs)
        page_size.write_table(site, site / "book" / "generated" / "status.html")
        if fresh:
            (folder / UNFINISHED).unlink(missing_ok=True)
        if inputs() == before:  # nothing was computed, and nothing edited meanwhile
            executed.keep(mark, before, "")
    return site


def _inputs(folder: Path, *more: str) -> str:
    """Hash of all that a build is made from: sources, pages, the results in `folder`, of which the
    ledger is made, and what `more` tells builds apart.
    """
    made = (EXECUTED, GENERATED, EXTRA, paths.BOOK / "_build")
    tops = [paths.CHAPTERS, *(paths.SOURCE / top for top in provenance.PACKAGES)]
    tops += [part for part in paths.BOOK.glob("*") if part not in made]
    files = [one for top in tops for one in (top, *top.rglob("*")) if one.suffix != ".pyc"]
    files += [*folder.glob("*.nc"), *paths.ROOT.glob("_*.yml")]
    files += [paths.RESULTS / name for name in (machines.NAME, editions.NAME)]
    return executed.digest(*more, *executed.digests(files))


def _results(folder: Path) -> list[str]:
    """The result files of a folder, and the ledger, as they are."""
    return executed.digests([*folder.glob("*.nc"), folder / LEDGER])


def _judge(folder: Path) -> None:
    """Write the ledger of a folder of results."""
    ledger.write(ledger.ledger(folder), folder / LEDGER)


def _after(name: str) -> list[str]:
    """What a chapter reads: results of others, and the ledger if it has none of its own."""
    one = chapter.spec(name)
    return [*one.needs, *([] if one.stores else [LEDGER])]


def _figures(name: str) -> int:
    """How many figures a chapter has, which is what its page takes time for."""
    return paths.notebook(name).read_text(encoding="utf-8").count("chapter.show(")


def _import_shared() -> None:
    """Import what chapters share, for the processes that are forked from this one. What cannot be
    imported is left to those that ask for it, and say so.
    """
    for name in ("myst_nb", *reference.modules()):
        if not name.startswith(("book.", "chapters.")):
            with suppress(Exception):
                import_module(name)
    claims.all_claims()
    chapter.one_thread()


def _read_shared(folder: Path) -> None:
    """Read all results, which the ledger, the pages that count them and the chapters share. What
    cannot be read is left to those that ask for it, and say so.
    """
    for file in folder.glob("*.nc"):
        with suppress(store.StoreError):
            store.read(file)


def _page(
    name: str, results_dir: Path, profile: str, *, kept: bool = False, **options: bool
) -> bool:
    """Make a chapter's page from a new execution, or from the one that an earlier build `kept`;
    whether there is one.
    """
    page, given = EXECUTED / f"{name}.ipynb", {"profile": profile, "results_dir": str(results_dir)}
    file, folder = CACHE / profile / page.name, results_dir.expanduser().resolve() / profile
    key = partial(executed.key, name, folder, str(given), str(options.get("prints")))
    before = key()
    if kept:
        text = executed.load(file, before)
        if text is None:
            return False
        paths.replace(page, text)
    else:
        print(f"Chapter {name} ({profile})", flush=True)
        run_chapter(name, given, page, **options)
        if key() == before:  # nothing was computed, and no source edited meanwhile
            executed.keep(file, before, page.read_text(encoding="utf-8"))
    finish(page, repository_url.actions(name, repository_url.repository()), profile)
    shutil.copy(paths.notebook(name), EXTRA / "notebooks")
    return True


def _clear(folder: Path) -> None:
    """Empty a folder of fresh results, unless it holds an interrupted build of the same source."""
    if folder.parent == paths.RESULTS:
        raise ValueError(
            f"results_dir must not be {paths.shown(paths.RESULTS)} in a fresh build, which "
            "empties its folder; take another one, such as "
            f"{paths.shown(paths.RESULTS / 'reproduced')}"
        )
    mark, source = folder / UNFINISHED, " ".join(map(provenance.source_hash, paths.chapters()))
    if mark.exists() and mark.read_text() == source:
        print(f"Going on with the unfinished build in {paths.shown(folder)}")
        return
    if folder.exists():
        ours = (".nc", ".json", ".runs", ".lock", UNFINISHED)
        if foreign := [one.name for one in folder.iterdir() if not one.name.endswith(ours)]:
            raise ValueError(
                f"{folder} holds files that are not results ({', '.join(foreign[:3])}); "
                "empty it by hand"
            )
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    mark.write_text(source)


def finish(path: Path, actions: str = "", profile: str = "paper") -> None:
    """Make an executed notebook fit for the page: code collapsed, `actions` as a line of Markdown
    below its first cell, named figures also saved as files of their own.

    Code that shows nothing joins the next cell, so that one line *Show the code* stands where there
    were several; what is printed is folded with it. A PNG is for the pages that show a figure, PDF and
    SVG are for download: the links under the figure name them.
    """
    notebook = nbformat.read(path, as_version=4)
    # Sentences on the shipped results would be said of others.
    dropped = set() if profile == "paper" else {SHIPPED}
    kept = [one for one in notebook.cells if not dropped & set(one.metadata.get("tags", ()))]
    notebook.cells = [part for cell in _joined(kept) for part in _apart(cell)]
    label, shown = None, _on_pages()
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        tags = cell.metadata.setdefault("tags", [])
        if not FOLDED & set(tags):
            printed = bool(cell.outputs) and all(map(_unseen, cell.outputs))
            # What is read, not studied, has one line of code, which would only be in the way.
            read = PAGE_PART.fullmatch(cell.source.strip())
            tags.append("remove-input" if read else "hide-cell" if printed else "hide-input")
        if LINKS in tags:
            _add_downloads(cell, label)
        label = cell.metadata.get("mystnb", {}).get("figure", {}).get("name")
        _save_pictures(cell, label, shown)
        _save_table(cell, label or f"{path.stem}-{cell.id}")
    notebook.metadata.pop("papermill", None)  # holds paths of the machine
    for cell in notebook.cells:
        for when in ("papermill", "execution"):
            cell.metadata.pop(when, None)
    if actions:
        notebook.cells.insert(1, nbformat.v4.new_markdown_cell(actions))
    nbformat.write(notebook, path)


def _unseen(output: nbformat.NotebookNode) -> bool:
    """Whether an output is only printed, or a number for the prose."""
    glued = all(kind.startswith("application/papermill.record") for kind in output.get("data", {}))
    return output.output_type == "stream" or (output.output_type == "display_data" and glued)


def _joined(cells: Sequence[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """The cells, where code that shows nothing stands at the head of the code that follows it."""
    kept: list[nbformat.NotebookNode] = []
    for cell in cells:
        last = kept[-1] if kept else None
        if (
            last
            and last.cell_type == cell.cell_type == "code"
            and not last.outputs
            and not any(FOLDED & set(one.metadata.get("tags", ())) for one in (last, cell))
            and not PAGE_PART.fullmatch(cell.source.strip())
        ):
            cell.source = f"{kept.pop().source}\n\n{cell.source}"
        kept.append(cell)
    return kept


def _apart(cell: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """A cell, and apart the links under the figure that it shows: the caption is not for them."""
    if cell.cell_type != "code" or "chapter.show(" not in cell.source or len(cell.outputs) < 2:
        return [cell]
    tags = {"tags": [LINKS, "remove-input"]}
    last, name = cell.outputs.pop(), f"{cell.id}-links"
    return [cell, nbformat.v4.new_code_cell(outputs=[last], metadata=tags, id=name)]


def _on_pages() -> set[str]:
    """The figures of chapters that other pages of the book show."""
    texts = (page.read_text(encoding="utf-8") for page in paths.BOOK.glob("*.md"))
    return {label for text in texts for label in ON_PAGE.findall(text)}


def _save_pictures(cell: nbformat.NotebookNode, label: str | None, shown: Collection[str]) -> None:
    """Write the picture of a named figure to a file where a page shows it; those for print leave the
    notebook, but for a drawing in the place of a picture, and so do those for phones.
    """
    for output in cell.outputs:
        data = output.get("data", {})
        for told in output.get("metadata", {}).values():
            drawn = told.pop(in_place.PHONE, None)
            if drawn and label and label not in moved.MOVED:
                (EXTRA / "figures").mkdir(parents=True, exist_ok=True)
                file = EXTRA / "figures" / f"{label.lower()}.phone.svg"  # as pages name the figure
                file.write_text(drawn, encoding="utf-8")
        if PRINT["svg"] in data and "image/png" not in data:
            if label in shown:
                GENERATED.mkdir(parents=True, exist_ok=True)
                (GENERATED / f"{label}.svg").write_text(data[PRINT["svg"]], encoding="utf-8")
            continue
        printed = {end: data.pop(kind) for end, kind in PRINT.items() if kind in data}
        if not label or "image/png" not in data:
            continue
        for folder in (GENERATED, EXTRA / "figures"):
            folder.mkdir(parents=True, exist_ok=True)
        if label in shown:
            (GENERATED / f"{label}.png").write_bytes(base64.b64decode(data["image/png"]))
        for end, content in printed.items():
            whole = content.encode() if end == "svg" else base64.b64decode(content)
            (EXTRA / "figures" / f"{label}.{end}").write_bytes(whole)


def _save_table(cell: nbformat.NotebookNode, name: str) -> None:
    """Write the numbers of a table, which come with it as CSV, to a file named below the table."""
    for output in cell.outputs:
        if numbers := output.get("data", {}).pop("text/csv", None):
            folder = EXTRA / "tables"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}.csv").write_text(numbers, encoding="utf-8", newline="\n")
            link = f'<a href="../../tables/{name}.csv" download>table (CSV)</a>'
            output.data["text/html"] += f'\n<p class="vn-links">{link}</p>'


def _add_downloads(cell: nbformat.NotebookNode, label: str | None) -> None:
    """Name the files of the figure above in its line of links, and the rules decided by it."""
    rules = [
        html.code(f"rule of {one.id}", one.decide.__module__, one.decide.__qualname__)
        for one in claims.all_claims().values()
        if label and one.figure == label
    ]
    ends = [end for end in PRINT if label and (EXTRA / "figures" / f"{label}.{end}").exists()]
    links = [f'<a href="../../figures/{label}.{end}" download>{end.upper()}</a>' for end in ends]
    more = [*rules, *([f"figure as {' or '.join(links)}"] if links else [])]
    for output in cell.outputs:
        if more and "text/html" in output.get("data", {}):
            said = " · ".join(["", *more, "re-make"])
            output.data["text/html"] = output.data["text/html"].replace(" · re-make", said, 1)


def _on_phones() -> None:
    """Raise RuntimeError if a figure has no drawing for phones, and no reason for that."""
    if names := moved.unaccounted(EXECUTED.glob("*.ipynb"), EXTRA / "figures"):
        raise RuntimeError(
            f"no drawing for phones of {', '.join(names)}: `rearrange` of book/site/phones.py finds "
            "none that can be read; draw the figure otherwise, or say in book/site/moved.py why it "
            "is moved sideways"
        )


def _jupyter_book(jobs: int) -> None:
    command = [sys.executable, "-c", JUPYTER_BOOK.format(jobs=jobs), "build", str(paths.ROOT)]
    command += ["--path-output", str(paths.BOOK), "-W", "-n", "--keep-going"]
    print("Building the HTML", flush=True)
    done = subprocess.run(command, cwd=paths.ROOT, capture_output=True, text=True, errors="replace")
    if done.returncode:
        # without colours
        lines = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr).splitlines()
        telling = [line for line in lines if "WARNING" in line or "ERROR" in line] or lines[-30:]
        raise RuntimeError("jupyter-book failed:\n" + "\n".join(telling[:40]))
