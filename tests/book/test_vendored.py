"""Scripts of others that are served with the book are those that were released, with their licences."""

from __future__ import annotations

import hashlib

import pytest

from vnlib.book import paths

STATIC = paths.BOOK / "_static"
RELEASED = {  # of npm: mathjax 3.2.2, d3 7.9.0 and @observablehq/plot 0.6.17, which was built with that d3
    "mathjax/tex-svg-full.js": "a4354ff94fd868aea0cc6eaaa79a57fda0588646fc46ee3700a349ee0a11cbe6",
    "plot/d3.min.js": "f2094bbf6141b359722c4fe454eb6c4b0f0e42cc10cc7af921fc158fceb86539",
    "plot/plot.umd.min.js": "4358086467740777dd788d6b27a95cebdbaefdd50c730a3060117073bd7134cb",
}


@pytest.mark.parametrize("name", RELEASED)
def test_a_script_is_the_released_one(name):
    assert hashlib.sha256((STATIC / name).read_bytes()).hexdigest() == RELEASED[name]


@pytest.mark.parametrize("name", ["mathjax/LICENSE", "plot/LICENSE-d3", "plot/LICENSE-plot"])
def test_its_licence_is_beside_it(name):
    text = (STATIC / name).read_text(encoding="utf-8")
    assert "Apache License" in text or text.startswith("Copyright 20")
