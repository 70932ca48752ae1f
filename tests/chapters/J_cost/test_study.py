"""The grids of App. J: what is counted, how its settings read, and one small run."""

from __future__ import annotations

from chapters.J_cost import study
from vnlib.book import chapter, paths


def opened(profile: str) -> chapter.Chapter:
    spec = chapter.spec("J_cost")
    return chapter.Chapter(spec, spec.check({"profile": profile, "device": "cpu"}))


def test_all_chapters_that_store_are_counted_but_this_one_and_found_not_listed():
    counted = study.counted(opened("paper"))
    storing = {name for name in paths.chapters() if chapter.spec(name).stores}
    assert set(counted) == storing - {"J_cost"}
    assert set(chapter.spec("J_cost").needs) == set(counted)
    assert set(opened("paper").settings["measured"]) <= set(counted)


def test_a_run_of_scaling_gives_what_the_file_names(tmp_path):
    s = {"steps": 1, "sweeps": 2, "tol": 1e-2, "repeats": 1, "sizes": [4, 8]}
    s["base"] = {"K": 6, "B": 4, "depth": 1}
    ds = study.run_scaling(opened("smoke"), {"vary": "d", "seed": 0}, s, tmp_path)
    assert set(map(str, ds.variables)) <= set(study.SCALING)
    assert s["sizes"] == [4, 8], "settings are left as they are"


def test_the_account_says_what_is_not_known(tmp_path):
    s = {"stored": {"runs": 3, "weights": -1.0}, "measured": {"peak": 2.0}, "paper": "VN"}
    ds = study.run(opened("smoke"), {"chapter": "a"}, s, tmp_path)
    assert ds["runs"] == 3 and ds["peak"] == 2 and ds["weights"].isnull() and ds["paper"] == "VN"
    assert set(map(str, ds.variables)) <= set(study.VARIABLES)
