"""Pages of tests: made by Sphinx with the extensions of the book, and opened in a browser."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from explorer_cases import EXTENSIONS
from playground_cases import PATIENCE
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

VIEWPORT = {"width": 1280, "height": 720}  # of a context where none is asked for


def made(folder: Path, pages: Mapping[str, str], strict: bool = True, **settings: Any) -> Path:
    """The HTML of Sphinx of pages, each with its text, by these settings; where it is `strict`, a
    warning is an error. Other files of theirs lie in `folder / "source"`.
    """
    source = folder / "source"
    for name, text in pages.items():
        file = source / f"{name}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    told = {"html_theme": "basic"} | settings
    nowhere = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    with docutils_namespace(), nowhere, pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXTENSIONS)
        Sphinx(
            srcdir=source, confdir=None, outdir=folder / "out", doctreedir=folder / "trees", buildername="html",
            confoverrides=told, status=nowhere, warning=nowhere, warningiserror=strict,
        ).build()  # fmt: skip
    return folder / "out"


@contextmanager
def visits(
    browser: Any,
    within: Path,
    *,
    ready: str = "",
    forgiven: str = "",
    one: bool = False,
    **usual: Any,
) -> Iterator[Callable]:
    """Opens files as pages, each in a context of its own and with these options as is `usual`. An error
    of theirs, unless its text has what is `forgiven`, or a request that leaves the folder they lie
    `within`, fails the test; where scripts run, they have made the page when what is `ready` has come.
    Where `one` page with the same options is enough at a time, files are opened in it one after another:
    to make a page costs more than to load most files.
    """
    pages: dict[object, Any] = {}
    wrong, asked = [], []

    def told(said: Any) -> None:
        if said.type == "error" and not (forgiven and forgiven in said.text):
            wrong.append(said.text)

    def new(options: Mapping[str, Any]) -> Any:
        context = browser.new_context(**options)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", told)
        return page

    def open_(file: Path, fragment: str = "", **options: Any) -> Any:
        options = {"viewport": VIEWPORT} | usual | options
        key = repr({**options, "viewport": None}) if one else len(pages)
        if key in pages:
            page = pages[key]
            page.mouse.move(0, 0)
            page.goto("about:blank")
            page.emulate_media(media="null")
            page.set_viewport_size(options["viewport"])
        else:
            page = pages[key] = new(options)
        page.goto(file.as_uri() + fragment)
        if ready and options.get("java_script_enabled", True):
            page.evaluate(ready)
        return page

    try:
        yield open_
    finally:
        for page in pages.values():
            page.context.close()
    assert not wrong, wrong
    assert all(url.startswith((within.as_uri(), "data:", "about:blank")) for url in asked), asked


def wait_for(page: Any, expression: str, arg: object = None) -> None:
    """Wait until it holds, asking from here: where a page's policy forbids `eval`, Playwright's
    `wait_for_function` can ask once only.
    """
    for _ in range(PATIENCE // 50):
        if page.evaluate(expression, arg):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"it never held: {expression}")
