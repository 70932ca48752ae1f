"""The book's public home: one repository on GitHub, named in `_config.yml`, to which the pages'
buttons lead.

Without a home there are no buttons, since they would lead nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote

import nbformat
import yaml

from vnlib.book import paths

URL = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+)")
TAG = "install"
INSTALL = """# Only where the book is not installed, as on Colab: fetch it with its packages.
import importlib.util

if importlib.util.find_spec("vnlib") is None:
    !git clone -q --depth 1 {url} the-book
    %cd -q the-book
    %pip install -q -c constraints.txt -e ."""


def repository() -> dict[str, str]:
    """The settings of the repository in `_config.yml`: its url, "" while there is none, and its
    branch.
    """
    settings = yaml.safe_load((paths.ROOT / "_config.yml").read_text(encoding="utf-8"))[
        "repository"
    ]
    return {name: settings[name] for name in ("url", "branch")}


def actions(name: str, home: Mapping[str, str]) -> str:
    """What can be done with a chapter besides reading it, as a line of Markdown; "" without a
    home.
    """
    if not home["url"]:
        return ""
    url, slug = home["url"], home["url"].removeprefix("https://github.com/")
    notebook = f"chapters/{name}/{name}.ipynb"
    path = f"{home['branch']}/{notebook}"
    binder = (
        f"https://mybinder.org/v2/gh/{slug}/{home['branch']}?labpath={quote(notebook, safe='')}"
    )
    links = {
        "Run on Binder": binder,
        "Run on Colab": f"https://colab.research.google.com/github/{slug}/blob/{path}",
        "Edit": f"{url}/edit/{path}",
        "Report an issue": f"{url}/issues/new?title={quote(f'{name}: ')}",
    }
    return " · ".join(f"[{text}]({link})" for text, link in links.items())


def move_in(url: str) -> None:
    """Name the home in `_config.yml`, turn the theme's buttons on, and give every chapter the cell
    that installs.

    Repeating it with another url replaces all of this; nothing else is touched.

    Raises
    ------
    ValueError
        For a url that is not that of a repository on GitHub.
    """
    url = url.rstrip("/").removesuffix(".git")
    if not URL.fullmatch(url):
        raise ValueError(f"url must be like https://github.com/OWNER/NAME, got {url!r}")
    config = paths.ROOT / "_config.yml"
    text = re.sub(
        r"^(  url: ).*$",
        rf'\1"{url}"',
        config.read_text(encoding="utf-8"),
        count=1,
        flags=re.MULTILINE,
    )
    paths.replace(
        config,
        re.sub(
            r"^(  use_(?:repository|issues)_button: )false$", r"\1true", text, flags=re.MULTILINE
        ),
    )
    for path in map(paths.notebook, paths.chapters()):
        notebook = nbformat.read(path, as_version=4)
        cells = [cell for cell in notebook.cells if TAG not in cell.metadata.get("tags", ())]
        after = next(
            i for i, cell in enumerate(cells, 1) if "parameters" in cell.metadata.get("tags", ())
        )
        cell = nbformat.v4.new_code_cell(
            INSTALL.format(url=url), id=TAG, metadata={"tags": [TAG, "remove-cell"]}
        )
        notebook.cells = [*cells[:after], cell, *cells[after:]]
        paths.replace(path, nbformat.writes(notebook) + "\n")
