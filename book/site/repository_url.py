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

URL = re.compile(r"https://github\.com/([\w.-]+)/([\w.-]+)")
DOI = re.compile(r"10\.\d{4,9}/[\w.()/:-]+")
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


def move_in(url: str, doi: str | None = None) -> None:
    """Name the home in `_config.yml`, turn the theme's buttons on, and give every chapter the cell
    that installs; name home and DOI in the package's metadata and where the book says how to cite it.

    Repeating it with another url or DOI replaces all of this; nothing else is touched.

    Raises
    ------
    ValueError
        For a url that is not that of a repository on GitHub, or a DOI that is none; nothing is
        written.
    """
    url = url.rstrip("/").removesuffix(".git")
    if not (home := URL.fullmatch(url)):
        raise ValueError(f"url must be like https://github.com/OWNER/NAME, got {url!r}")
    if doi is not None and not DOI.fullmatch(doi):
        raise ValueError(f"doi must be like 10.5281/zenodo.1234567, got {doi!r}")
    owner, name = home.groups()
    pages = f"https://{owner.lower()}.github.io/{name}/"
    config = paths.ROOT / "_config.yml"
    text = config.read_text(encoding="utf-8")
    text = re.sub(r"(?m)^(  url: ).*$", rf'\1"{url}"', text, count=1)
    text = re.sub(r"(?m)^(  use_(?:repository|issues)_button: )false$", r"\1true", text)
    paths.replace(config, text)
    _name_keys(
        "pyproject.toml", '{} = "{}"', {"Repository": url, "Homepage": pages}, "[project.urls]"
    )
    told = {"repository-code": url, "url": pages} | ({"doi": doi} if doi else {})
    _name_keys("CITATION.cff", '{}: "{}"', told, "license: BSD-3-Clause")
    cited = {"url": pages} | ({"doi": doi} if doi else {})
    _name_keys("book/cite.md", "  {:<7} = {{{}}},", cited, "  title   = {The Vector Network book},")
    for path in map(paths.notebook, paths.chapters()):
        notebook = nbformat.read(path, as_version=4)
        cells = [cell for cell in notebook.cells if TAG not in cell.metadata.get("tags", ())]
        tags = [cell.metadata.get("tags", ()) for cell in cells]
        after = next(i for i, own in enumerate(tags, 1) if "parameters" in own)
        metadata = {"tags": [TAG, "remove-cell"]}
        cell = nbformat.v4.new_code_cell(INSTALL.format(url=url), id=TAG, metadata=metadata)
        notebook.cells = [*cells[:after], cell, *cells[after:]]
        paths.replace(path, nbformat.writes(notebook) + "\n")


def _name_keys(file: str, form: str, values: Mapping[str, str], after: str) -> None:
    """Write keys of `form` below the line `after` of a file of the book, in place of older ones."""
    path = paths.ROOT / file
    if not path.is_file():
        return
    lines = path.read_text(encoding="utf-8").splitlines()
    starts = tuple(form.format(key, "\0").partition("\0")[0] for key in values)
    lines = [line for line in lines if not line.startswith(starts)]
    place = lines.index(after) + 1
    lines[place:place] = [form.format(key, value) for key, value in values.items()]
    paths.replace(path, "\n".join(lines) + "\n")
