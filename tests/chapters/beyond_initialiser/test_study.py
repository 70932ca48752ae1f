"""The settings that are stored with runs of learned starts, and what a run is."""

from __future__ import annotations

import json

import pytest

from chapters.beyond_initialiser import study
from vnlib.book import chapter, paths, store
from vnlib.book.store.variables import described


def opened(**given) -> chapter.Chapter:
    spec = chapter.spec("beyond_initialiser")
    return chapter.Chapter(spec, spec.check({"profile": "smoke", "device": "cpu", **given}))


def test_a_run_is_described_and_repeats(tmp_path):
    settings = study.settings(opened(), {"model": "digits_1"})
    settings["study"]["starts"] = ["cold", "linear"]
    settings["network"]["atoms"] = [16]
    runs = [
        study.run(opened(), {"model": "digits_1", "seed": seed}, settings, tmp_path / str(n))
        for n, seed in enumerate((0, 0, 1))
    ]
    timed = ["time_ratio", "time_cold", "train_time", "codes_time"]
    first, again, other = (run.drop_vars(timed) for run in runs)
    assert first.equals(again) and not first["height"].equals(other["height"])
    found = described(runs[0], study.VARIABLES)
    assert found["time_cold"].attrs["units"] == "ms" and found["start"].values.tolist()[0] == "cold"


def test_a_cap_changes_how_a_network_is_settled():
    one = opened()
    plain, capped = (study.settings(one, {"model": f"digits_3{end}"}) for end in ("", "_capped"))
    assert "top_k" not in plain["network"] and capped["network"]["top_k"] == 2
    assert capped["targets"]["tol"] == 1e-5 and capped["sizes"]["settled"] == 3
    assert "mlp" in plain["study"]["starts"] and "mlp" not in capped["study"]["starts"]


@pytest.mark.parametrize("model", ["digits_1", "digits_3_capped", "signals_1"])
def test_the_shipped_runs_have_the_settings_of_today(model):
    stored = store.read(paths.ROOT / "results" / "paper" / "beyond_initialiser.nc")
    wanted = study.settings(opened(profile="paper"), {"model": model})
    texts = stored["run_settings"].sel(model=model).values
    assert set(texts) == {json.dumps(wanted, sort_keys=True)}
