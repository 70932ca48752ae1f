"""The weight of pages: what each loads by itself, counted once."""

from __future__ import annotations

from pathlib import Path

import pytest

from book.site import page_size

SHARED = '<link rel="stylesheet" href="_static/a.css?v=1">'


@pytest.fixture
def site(tmp_path) -> Path:
    def write(name: str, text: str) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    write("_static/a.css", "c" * 100)
    write("pics/one two.png", "p" * 1000)
    write("data/x.nc", "d" * 9999)
    far = (
        '<img src="https://elsewhere.org/x.png"><img src="//elsewhere.org/y.png"><img '
        'src="data:image/png;base64,AA">'
    )
    write("small.html", SHARED + far)
    picture = (
        '<img src="../pics/one%20two.png">' * 2
        + '<a href="../data/x.nc">x</a><img src="../pics/none.png">'
    )
    write("book/large.html", SHARED.replace("_static", "../_static") + picture)
    write("index.html", '<meta http-equiv="Refresh" content="0; url=small.html">')
    return tmp_path


def test_pages_weigh_their_text_and_what_they_load_once(site):
    own, shared = page_size.weigh(site)
    assert list(own) == ["book/large.html", "small.html"], (
        "largest first, without the page that forwards"
    )
    assert own["book/large.html"] == (site / "book" / "large.html").stat().st_size + 1000
    assert own["small.html"] == (site / "small.html").stat().st_size
    assert shared == 100


def test_the_table_takes_its_place(site):
    page = site / "small.html"
    before = page.read_text()
    page_size.write_table(site, page)
    assert page.read_text() == before, "no place for it"
    page_size.write_table(site, site / "none.html")
    assert not (site / "none.html").exists()
    page.write_text(f"<p>{page_size.PLACE}</p>{SHARED}")
    page_size.write_table(site, page)
    text = page.read_text()
    assert page_size.PLACE not in text and text.startswith("<p><table")
    assert '<td><a href="book/large.html">book/large.html</a></td><td>0.00</td>' in text
    assert not list(site.glob(".*.tmp"))
    page = site / "book" / "large.html"
    page.write_text(f"<p>{page_size.PLACE}</p>{SHARED.replace('_static', '../_static')}")
    page_size.write_table(site, page)
    assert '<a href="../small.html">' in page.read_text(), "links start from the page"
