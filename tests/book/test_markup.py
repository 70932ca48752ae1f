"""Results may come from others: what their files say is text on every page, and is held against the
name of the file.
"""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from store_cases import stored

from book.site import ledger, ledger_page
from vnlib.book import chapter, html, paths, store
from vnlib.book import ledger as claims
from vnlib.plots import tables

BAD = ("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[a](javascript:alert(1))", '"')
MARKUP = st.lists(st.sampled_from((*BAD, "|", "`", "\n", "'", "{raw}`x`", "ok")), min_size=1).map(
    "".join
)


def marked(ds: xr.Dataset, text: str) -> xr.Dataset:
    """Results with a text in every attribute, label and text variable that a file can hold."""
    texts = {n: v for n, v in ds.variables.items() if v.dtype.kind in "UO"}
    texts = {n: v.copy(data=np.full(v.shape, text)) for n, v in texts.items() if n not in ds.dims}
    versions = json.dumps({text: text})
    known = {"format", "chapter", "profile", "git_dirty", "date", "axes", "seeds", "wall_time_s"}
    ds = ds.assign(texts).assign_coords(label=("seed", [text] * ds.sizes["seed"]))
    ds["run_versions"] = ds["run_versions"].copy(data=np.full(ds["run_versions"].shape, versions))
    attrs = {n: v if n in known else text for n, v in ds.attrs.items()}
    return ds.assign_attrs(attrs | {"versions": versions, "date": text})


class Tags(HTMLParser):
    """The tags of a page that run something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        if tag in ("script", "img") or any(
            n.startswith("on") or str(v).startswith("javascript:") for n, v in attrs
        ):
            self.found.append(tag)


def runs(text: str) -> list[str]:
    return Tags(text).found


@pytest.fixture
def results(project, tmp_path):
    """The file of the chapter `tiny`, made for `fast`."""
    path = tmp_path / "fast" / "tiny.nc"
    stored(path, chapter="tiny", profile="fast")
    return path


def test_what_a_file_says_is_text_on_every_page(results):
    whole = store.read(results)

    @given(MARKUP)
    @settings(max_examples=25)
    def said(text: str) -> None:
        store.write(marked(whole, text), results)
        ds = store.read(results)
        page = ledger_page.status(results.parent, "fast")
        table = tables.Table(pd.DataFrame({text: [text], "n": 1.0}, pd.Index([text])), name=text)
        for part in (
            MarkdownIt().enable("table").render(page),
            html.footer("tiny", [ds], "fast", text),
            (asked := html.verdicts("tiny", {"tiny": ds}, variant=text)),
            html.caution([f"Drawn from {text}."]),
            table._repr_mimebundle_()["text/html"],
            tables.caption(text).data,
        ):
            assert not runs(part)
        assert not set("✓✗") & set(asked), "verdicts are the ledger's"

    said()


def test_tags_that_run_something_are_seen():
    assert runs(BAD[0]) == ["script"] and runs(BAD[1]) == ["img"]
    assert runs(MarkdownIt().render("<a onclick='x'>a</a>\n")) == ["a"]
    assert runs("<p>&lt;script&gt;</p>") == []


THEME = "let toggleHintShow = 'Click to show';"
MATHS = 'window.MathJax = {"options": {}}'


@pytest.fixture
def closed(monkeypatch, tmp_path):
    """A site of two pages, whose policy was put in their heads when it was complete."""
    monkeypatch.syspath_prepend(paths.SOURCE / "book" / "_extensions")
    policy, told, said = import_module("policy"), {}, []
    monkeypatch.setattr(policy, "log", SimpleNamespace(warning=lambda *one: said.append(one)))
    context = {"metatags": "<meta name='x'>"}
    config = SimpleNamespace(mathjax3_config={"options": {}})
    app = SimpleNamespace(
        connect=lambda event, tell: told.update({event: tell}),
        outdir=tmp_path,
        builder=SimpleNamespace(format="html"),
        config=config,
    )
    policy.setup(app)
    told["html-page-context"](app, "book/a", "page.html", context, None)
    own = "DOCUMENTATION_OPTIONS.pagename = 'book/a';"
    scripts = (THEME, MATHS, own, "fetch('https://elsewhere')")
    within = "".join(f"<script>{one}</script>" for one in scripts)
    data = '<script type="application/json">{"a": 1}</script><script src="a.js"></script>'
    (tmp_path / "search.html").write_text(f"{context['metatags']}<script>{THEME}</script>")
    (tmp_path / "book").mkdir()
    page = tmp_path / "book" / "a.html"
    page.write_text(f"{context['metatags']}{within}{data}")
    told["build-finished"](app, None)
    (found,) = re.findall(r'Content-Security-Policy" content="(.*?)">\n<', page.read_text())
    directives = dict(part.split(maxsplit=1) for part in found.split("; "))
    return policy, directives, (*scripts, own), said


def test_pages_load_nothing_from_elsewhere(closed):
    _, directives, _, _ = closed
    assert directives.keys() >= {"default-src", "object-src", "base-uri", "form-action"}
    words = {word for word in " ".join(directives.values()).split() if "sha256-" not in word}
    assert words <= {"'self'", "data:", "'none'", "'unsafe-hashes'", "'unsafe-inline'"}
    assert "'unsafe-inline'" not in directives["default-src"] + directives["script-src"]


def test_pages_run_no_script_but_those_of_the_book(closed):
    policy, directives, (theme, maths, own, strange, _), said = closed
    allowed = directives["script-src"].split()
    for script in (theme, maths, own, *policy.HANDLERS):
        assert f"'sha256-{policy._digest(script)}'" in allowed
    assert f"'sha256-{policy._digest(strange)}'" not in allowed
    assert len(allowed) == 2 + 3 + len(policy.HANDLERS)
    assert [one[1:] for one in said] == [("a.html", strange)]


@pytest.mark.parametrize("attrs", [{"chapter": "other"}, {"profile": "paper"}], ids=str)
def test_results_of_another_chapter_or_profile_are_refused(results, attrs):
    store.write(store.read(results).assign_attrs(attrs), results)
    with pytest.raises(store.StoreError, match=rf"tiny\.nc holds results of {next(iter(attrs))} "):
        ledger_page.facts(results)
    one = chapter.spec("tiny")
    given = one.check({"profile": "fast", "seeds": [0, 1], "results_dir": str(results.parents[1])})
    study = paths.module("tiny", "study")
    before = results.read_bytes()
    with pytest.raises(store.StoreError, match="move it away or delete it"):
        study.results(chapter.Chapter(one, given))
    assert results.read_bytes() == before


@pytest.mark.parametrize("name", ["VN-Db", "VN-G4", "VN-T2", "VN-F2c"])
def test_results_without_a_number_decide_nothing(name):
    """Shares and counts of NaN compare like numbers, and have held."""
    one = claims.all_claims()[name]
    path = paths.RESULTS / "paper" / f"{one.results}.nc"
    if not path.exists():
        pytest.skip("no shipped results")
    ds = store.read(path)
    floats = [n for n, v in ds.items() if v.dtype.kind == "f" and not str(n).startswith("run_")]
    row, statements = ledger.judge(one, ds.assign({n: ds[n] * np.nan for n in floats}))
    assert row["verdict"] == claims.NOT_TESTABLE and row["missing"] and not statements
