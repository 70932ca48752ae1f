"""Stored runs of other code than is here: named on the terminal, kept or computed anew, and said
under a figure that mixes both.
"""

from __future__ import annotations

import pytest
import xarray as xr

from vnlib.book import chapter, store
from vnlib.book.store import provenance
from vnlib.plots import frames


@pytest.fixture
def tiny(project, monkeypatch):
    """Runs the grid of chapter `tiny` by code of a given version; returns chapter and results."""

    def run(version: str, **given: object) -> tuple[chapter.Chapter, xr.Dataset]:
        monkeypatch.setattr(provenance, "source_hash", lambda *_: version)
        spec = chapter.spec("tiny")
        one = chapter.Chapter(spec, spec.check({"results_dir": str(project / "mine")} | given))

        def compute(chapter, axes, settings, workdir):
            return xr.Dataset({"made_by": version})

        variables = {"made_by": ("version of the code", "")}
        return one, one.grid(compute, {"seed": one.seeds}, {}, variables=variables)

    return run


def test_runs_of_other_code_are_named_and_kept(tiny, capsys):
    _, first = tiny("a" * 12, seeds=2)
    assert "other code" not in capsys.readouterr().err
    _, again = tiny("b" * 12, seeds=2)
    out, said = capsys.readouterr()
    assert "tiny: 2 stored runs were computed by other code" in said and "seed=0; seed=1" in said
    assert "--stale recompute" in said
    assert (out + said).count("renews") == 1, "a terminal that shows both says it once"
    assert again["made_by"].values.tolist() == first["made_by"].values.tolist() == ["a" * 12] * 2


def test_they_are_computed_anew_where_that_is_asked_for_and_only_they(tiny, capsys):
    tiny("a" * 12, seeds=[0, 1])
    tiny("b" * 12, seeds=[2])
    dates = store.read(tiny("b" * 12, seeds=[2])[0].file())["run_date"]
    _, ds = tiny("b" * 12, seeds=[0, 1, 2], stale="recompute")
    assert ds["made_by"].values.tolist() == ["b" * 12] * 3
    assert ds["run_date"].sel(seed=2) == dates.sel(seed=2), "what is current stays"
    assert "2 of 3 runs stale, computed anew" in capsys.readouterr().out


def test_a_figure_that_mixes_both_says_so(tiny, monkeypatch):
    shown: list[str] = []
    monkeypatch.setattr(chapter, "display", lambda one: shown.append(getattr(one, "data", one)))
    tiny("a" * 12, seeds=[0])
    one, _ = tiny("b" * 12, seeds=[0, 1])
    assert one.mixed == [""]
    one.show(frames.empty, "nothing")
    assert "two versions of the code" in shown.pop()
    one, _ = tiny("b" * 12, seeds=[1])
    one.show(frames.empty, "nothing")
    assert not one.mixed and "two versions" not in shown.pop()


def test_other_words_are_refused(tiny):
    with pytest.raises(ValueError, match="stale must be one of 'keep', 'recompute', got 'perhaps'"):
        tiny("a" * 12, stale="perhaps")


def test_the_command_takes_it(vnbook, project):
    done = vnbook("run", "tiny", "--stale", "recompute", "--no-page", "--quiet")
    assert done.code == 0, done.err
    assert "Invalid value for '--stale'" in vnbook("run", "tiny", "--stale", "maybe").err
