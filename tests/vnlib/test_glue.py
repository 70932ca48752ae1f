"""What a chapter gives to its page: texts for the prose, links from a figure to its code."""

from __future__ import annotations

import myst_nb

from vnlib.book import chapter
from vnlib.plots import frames


def opened(**given: object) -> chapter.Chapter:
    one = chapter.spec("FR5_rotation")
    return chapter.Chapter(one, one.check(given))


def test_texts_are_glued_under_their_keys_and_not_shown(monkeypatch):
    kept = {}
    monkeypatch.setattr(
        myst_nb, "glue", lambda key, text, display: kept.update({key: (text, display)})
    )

    def numbers(first: int, second: int) -> dict[str, str]:
        return {"fr5-one": f"{first} %", "fr5-two": f"{second:.1f}"}

    opened(profile="smoke").glue(numbers, "other runs have no prose")
    opened(profile="paper", seeds=2).glue(numbers, "nor have fewer runs")
    assert not kept
    opened(profile="paper", device="cpu").glue(numbers, 87, 4)
    assert kept == {"fr5-one": ("87 %", False), "fr5-two": ("4.0", False)}


def test_a_figure_is_shown_with_a_link_to_the_function_that_drew_it(monkeypatch):
    shown = []
    monkeypatch.setattr(chapter, "display", shown.append)
    opened().show(frames.empty, "nothing yet")
    drawn, links = shown
    assert [text.get_text() for text in drawn.axes[0].texts] == ["nothing yet"]
    assert "_modules/vnlib/plots/frames.html#empty" in links.data
