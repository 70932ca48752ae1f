"""What several tests of the book share."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import chromium
import explorer_cases
import matplotlib.pyplot as plt
import nbformat
import pytest
from page_cases import visits
from playground_cases import DATA, PATIENCE
from store_cases import Lab

from benchmarks.images import playground
from vnlib.book import paths
from vnlib.plots.style import use_style

CHROMIUM = chromium.path()


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A grid in a temporary folder whose runs are counted."""
    return Lab(tmp_path)


@pytest.fixture
def reader(project) -> Path:
    """A second chapter, `alpha`, that needs the results of `tiny`; returns the project."""
    (project / "chapters" / "alpha").mkdir()
    (project / "chapters" / "alpha" / "alpha.toml").write_text(
        'title = "Reads another"\nclaims = []\nneeds = ["tiny"]\n[profiles]\nsmoke = '
        "{}\nfast = {}\npaper = {}\n"
    )
    notebook = nbformat.read(project / "chapters" / "tiny" / "tiny.ipynb", as_version=4)
    notebook.cells[
        0
    ].source = 'profile = "smoke"\nseeds = None\ndevice = "cpu"\nrecompute = False\nstale = "keep"\nresults_dir = None\n'
    notebook.cells[1].source = (
        'from vnlib.book.chapter import open_chapter\nchapter = open_chapter("alpha", globals())\n'
        'print("sum", float(chapter.results_of("tiny")["y"].sum()))\n'
    )
    notebook.cells = notebook.cells[:2]
    nbformat.write(notebook, project / "chapters" / "alpha" / "alpha.ipynb")
    return project


@pytest.fixture(scope="module")
def shipped() -> tuple:
    """The network as the page has it, and the digits by their place, (n, 784)."""
    network, x, labels = playground.read(DATA)
    return network, x, labels


@pytest.fixture(scope="module")
def browser() -> Iterator:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    with sync_api.sync_playwright() as tool:
        window = tool.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"], timeout=PATIENCE
        )
        yield window
        window.close()


EXPLORERS = "Promise.all(Object.values(vnExplorers.all)).then(() => null)"
SCREEN = {"viewport": {"width": 900, "height": 900}}
WINDOW = {"viewport": {"width": 1000, "height": 1200}}
AT_FIRST = """() => {
  history.replaceState(null, "", "#vn=1&digits=8");
  dispatchEvent(new Event("hashchange"));
  history.replaceState(null, "", "#");
  for (const one of document.querySelectorAll("[name=vn-pick], [name=vn-tool]")) one.checked = one.defaultChecked;
  for (const one of document.querySelectorAll("details")) one.open = false;
  document.body.tabIndex = -1;
  document.body.focus(); // from there Tab goes on
  document.body.removeAttribute("tabindex");
  scrollTo(0, 0);
}"""


@pytest.fixture
def open_explorer(browser, tmp_path) -> Iterator[Callable]:
    """Opens explorers of what is given, by their names, in one page."""

    def written(given: dict[str, dict]) -> Path:
        env, explorer = SimpleNamespace(temp_data={}), explorer_cases.extension()
        pages = (explorer.once(env, explorer_cases.html(*one)) for one in given.items())
        return explorer_cases.write(tmp_path, "page", "".join(pages))

    with visits(browser, tmp_path, ready=EXPLORERS, **SCREEN) as open_:
        yield lambda given, **how: open_(written(given), **how)


@pytest.fixture(scope="module")
def shared_explorer(browser, tmp_path_factory) -> Iterator[Callable]:
    """An explorer, a chapter's or of what is given, opened once by its name for several tests, and
    then brought to its first state on a screen of this size.
    """
    folder, pages = tmp_path_factory.mktemp("explorers"), {}
    with visits(browser, folder, ready=EXPLORERS, **SCREEN) as open_:

        def shared(name: str, given: dict | None = None, screen: dict = SCREEN["viewport"]):
            if name not in pages:
                html = explorer_cases.html(name, given) if given else explorer_cases.shipped(name)
                pages[name] = open_(explorer_cases.write(folder, name, html))
            page, choices = pages[name], (given or explorer_cases.told(name))["choices"]
            page.set_viewport_size(screen)
            page.emulate_media(media="screen")
            page.mouse.move(1, 1)
            explorer_cases.show(page, {one["key"]: one["first"] for one in choices})
            return page

        yield shared


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """A folder with page and scripts at the places they have in the built book, without the book
    around them.
    """
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(DATA, folder / "_static" / "playground")
    shutil.copytree(DATA.parent / "plot", folder / "_static" / "plot")
    shutil.copy(DATA.parent / "plots.js", folder / "_static")
    source = (paths.SOURCE / "book" / "playground.md").read_text(encoding="utf-8")
    html = re.search(r"```\{raw\} html\n(.*?)\n```", source, re.DOTALL)[1]
    html = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>P</title>{html}</html>'
    (folder / "book").mkdir()
    (folder / "book" / "playground.html").write_text(html, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def server(site) -> Iterator[str]:
    """The address at which this machine serves the same folder to itself."""
    with ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=site)
    ) as one:
        Thread(target=one.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{one.server_port}"
        one.shutdown()


@contextmanager
def playgrounds(browser, site: Path) -> Iterator[Callable]:
    """Opens the page from the disk or another place, with a fragment, and ends the settle that
    plays by itself unless a script, which runs before those of the page, shall watch it.

    What the page asks for elsewhere, and any error, fails the test.
    """
    asked, wrong, contexts, places = [], [], [], []

    def open_(place: str = site.as_uri(), fragment: str = "", watched: str = "", **options):
        places.append(place)
        contexts.append(browser.new_context(**WINDOW | options))
        contexts[-1].set_default_timeout(PATIENCE)
        page = contexts[-1].new_page()
        page.route("**/*", lambda route: (asked.append(route.request.url), route.continue_()))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on(
            "console",
            lambda message: wrong.append(message.text) if message.type == "error" else None,
        )
        page.add_init_script(watched)
        page.goto(f"{place}/book/playground.html{fragment}")
        page.wait_for_function(
            "window.vnPlayground && ['active', 'below'].some("
            "id => document.querySelector(`#vn-${id}`).textContent)"
        )
        if not watched:
            page.evaluate("vnPlayground.finish()")
        return page

    yield open_
    for context in contexts:
        context.close()
    assert not wrong
    assert len(asked) >= 6 and all(
        url.startswith(tuple(f"{place}/" for place in places)) for url in asked
    ), asked


@pytest.fixture
def open_page(browser, site) -> Iterator[Callable]:
    with playgrounds(browser, site) as open_:
        yield open_


@pytest.fixture(scope="module")
def used_page(browser, site) -> Iterator:
    with playgrounds(browser, site) as open_:
        yield open_()


@pytest.fixture
def page(used_page):
    """One page for tests that need no new one: as at first, but that something has been done and
    said, and for the place of the keyboard in the picture.
    """
    used_page.set_viewport_size(WINDOW["viewport"])
    used_page.evaluate(AT_FIRST)
    return used_page


@pytest.fixture
def book_style() -> Iterator[None]:
    """Figures look as in the book, and are closed afterwards."""
    with plt.rc_context():
        use_style()
        yield
        plt.close("all")
