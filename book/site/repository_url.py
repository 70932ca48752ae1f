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
    """The repository in `_config.yml`: its url, "" while there is none, and its branch."""
    settings = yaml.safe_load((paths.ROOT / "_config.yml").read_text(encoding="utf-8"))
    return {name: settings["repository"][name] for name in ("url", "branch")}


def actions(name: str, home: Mapping[str, str]) -> str:
    """What can be done with a chapter besides reading it, as a line of Markdown, if it has a home."""
    if not home["url"]:
        return ""
    url, branch = home["url"], home["branch"]
    slug = url.removeprefix("https://github.com/")
    notebook = f"chapters/{name}/{name}.ipynb"
    path, labpath = f"{branch}/{notebook}", quote(notebook, safe="")
    links = {
        "Run on Binder": f"https://mybinder.org/v2/gh/{slug}/{branch}?labpath={labpath}",
        "Run on Colab": f"https://colab.research.google.com/github/{slug}/blob/{path}",
        "Edit": f"{url}/edit/{path}",
        "Report an issue": f"{url}/issues/new?title={quote(f'{name}: ')}",
    }
    return " · ".join(f"[{text}]({link})" for text, link in links.items())


def move_in(url: str) -> None:
    """Name the home in `_config.yml`, turn the theme's buttons on, and give every chapter the cell
    that installs. ValueError for a url that is not that of a repository on GitHub.

    Repeating it with another url replaces all of this; nothing else is touched.
    """
    url = url.rstrip("/").removesuffix(".git")
    if not URL.fullmatch(url):
        raise ValueError(f"url must be like https://github.com/OWNER/NAME, got {url!r}")
    config = paths.ROOT / "_config.yml"
    text = config.read_text(encoding="utf-8")
    text = re.sub(r"(?m)^(  url: ).*$", rf'\1"{url}"', text, count=1)
    text = re.sub(r"(?m)^(  use_(?:repository|issues)_button: )false$", r"\1true", text)
    paths.replace(config, text)
    for path in map(paths.notebook, paths.chapters()):
        notebook = nbformat.read(path, as_version=4)
        cells = [cell for cell in notebook.cells if TAG not in cell.metadata.get("tags", ())]
        tags = [cell.metadata.get("tags", ()) for cell in cells]
        after = next(i for i, own in enumerate(tags, 1) if "parameters" in own)
        metadata = {"tags": [TAG, "remove-cell"]}
        cell = nbformat.v4.new_code_cell(INSTALL.format(url=url), id=TAG, metadata=metadata)
        notebook.cells = [*cells[:after], cell, *cells[after:]]
        paths.replace(path, nbformat.writes(notebook) + "\n")
