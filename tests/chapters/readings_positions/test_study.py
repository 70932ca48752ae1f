"""The runs of the readings of positions: their settings, and what a run is."""

from __future__ import annotations

import json

import pytest

from chapters.readings_positions import composition, study, tables
from vnlib.book import chapter, paths, store
from vnlib.book.store.variables import described

SHIPPED = paths.ROOT / "results" / "paper" / "readings_positions.nc"


def opened(**given) -> chapter.Chapter:
    spec = chapter.spec("readings_positions")
    return chapter.Chapter(spec, spec.check({"profile": "smoke", "device": "cpu", **given}))


def decoders(profile: str) -> dict:
    return composition.decoders(opened(profile=profile).settings["readings"])


def test_a_reading_changes_what_it_says_and_nothing_else():
    one = opened(profile="paper")
    book = {choice.name: next(iter(choice.options)) for choice in composition.TRAINED}
    plain = study.settings(one, "vn_axes", book)
    assert plain["training"]["options"]["n_atoms"] == 32 and plain["task"]["sigma"] == 2
    for choice, path, value in (
        ("sigma", ("task", "sigma"), 1.0),
        ("code", ("task", "encoding"), "one_hot"),
        ("atoms", ("training", "options", "n_atoms"), 16),
        ("sparsity", ("training", "options", "sparsity"), 0.1),
        ("readout", ("training", "consolidation"), 0),
    ):
        other = list({c.name: c for c in composition.TRAINED}[choice].options)[1]
        found = study.settings(one, "vn_axes", book | {choice: other})
        part, wanted = found, json.loads(json.dumps(plain))
        inside = wanted
        for name in path[:-1]:
            part, inside = part[name], inside[name]
        assert part[path[-1]] == value != inside[path[-1]]
        inside[path[-1]] = value
        assert found == wanted


def test_a_run_is_described_and_repeats(tmp_path):
    one = opened()
    name, reading = next(iter(decoders("smoke").values()))
    settings = study.settings(one, name, reading)
    runs = [
        study.run(one, {"decoder": name, "seed": seed}, settings, tmp_path / str(n))
        for n, seed in enumerate((0, 0, 1))
    ]
    assert runs[0].equals(runs[1]) and not runs[0].equals(runs[2])
    found = described(runs[0], study.VARIABLES)
    assert all(found[name].attrs["long_name"] for name in found.variables)


def test_deep_inside_is_four_pixels_from_the_edge(tmp_path):
    """The square has 17 x 17 positions, of which 11 x 11 lie so deep."""
    one = opened()
    settings = study.settings(one, *next(iter(decoders("smoke").values())))
    shallow = study.run(one, {"seed": 0}, settings | {"deep": 1}, tmp_path / "1")
    assert float(shallow["mse_deep"]) == pytest.approx(float(shallow["mse_ood"]))
    deep = study.run(one, {"seed": 0}, settings, tmp_path / "2")
    assert float(deep["zero_baseline_deep"]) != float(deep["zero_baseline_ood"])


def test_the_curves_of_all_statements_are_made_and_quoted():
    assert len({one.id for one in tables.STATEMENTS}) == len(tables.STATEMENTS)
    known = {one.id: {choice.name for choice in one.choices} for one in tables.STATEMENTS}
    assert all(choice in known[name] for name, choice in tables.QUOTED)


@pytest.mark.skipif(not SHIPPED.exists(), reason="no shipped results")
def test_the_shipped_runs_have_the_settings_of_today():
    stored, one = store.read(SHIPPED), opened(profile="paper")
    wanted = decoders("paper")
    assert {*stored["decoder"].values.tolist()} == {*wanted}
    for name in list(wanted)[::9]:
        texts = stored["run_settings"].sel(decoder=name).values
        settings = json.dumps(study.settings(one, *wanted[name]), sort_keys=True)
        assert set(texts) == {settings}
