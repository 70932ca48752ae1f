"""Models that sidecars mark `together`: their seeds train in one batch to the numbers of each alone.

Runs are those of `light_chapters`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from light_chapters import SMALL, brief, form, make_light, spec

from vnlib import fit_many
from vnlib.book import chapter, paths, store
from vnlib.checkpoint import History
from vnlib.fit import Course


def marked() -> Iterator[tuple[str, str]]:
    """Chapter and model, one for each kind of network, and one at least of each chapter."""
    seen: set[str] = set()
    for name in sorted(paths.chapters(), key=lambda name: name not in SMALL):
        one, first = spec(name), True
        if "together" not in one.parameters:
            continue
        every = chapter.Chapter(one, one.check({"profile": "smoke"}))
        for model in one.sidecar["models"]:
            section = every.model(model)
            kind = str((section["family"], form(section["options"])))
            if section.get("together") and (first or kind not in seen):
                first = False
                seen.add(kind)
                yield name, model


class Seen(Exception):
    """Raised after the runs of a model: what a chapter does with them is of no interest here."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "model"), list(marked()))
def test_seeds_in_one_batch_are_each_as_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, model: str
):
    ended: dict[str, list[Course]] = {"alone": [], "together": []}

    def counted(courses: Sequence[Course], train: Any = fit_many.fit_many) -> list[History]:
        assert len(courses) == 2
        ended["together"] += courses
        return train(courses)

    def by_itself(course: Course, *given: Any, train: Any = Course.alone) -> History:
        ended["alone"].append(course)
        return train(course, *given)

    def grid(run: Any, axes: Any, *, settings: Any, together: Any, **_: Any) -> None:
        first = {axis: values[0] for axis, values in axes.items()}
        seeds, calls = [first | {"seed": seed} for seed in (0, 1)], []
        assert together(seeds[0]) == together(seeds[1]) is not None
        for where in ("alone", "together"):
            for one in seeds:
                folder = tmp_path / where / str(one["seed"])
                folder.mkdir(parents=True)
                calls.append(partial(run, one, brief(settings(first)), folder))
        assert len([call() for call in calls[:2]]) == len(dict(fit_many.side_by_side(calls[2:])))
        raise Seen

    monkeypatch.setattr(store, "grid", grid)
    make_light(monkeypatch)
    monkeypatch.setattr(fit_many, "fit_many", counted)
    monkeypatch.setattr(Course, "alone", by_itself)
    one = spec(name)
    given = {"profile": "smoke", "models": [model], "results_dir": str(tmp_path)}
    made = chapter.Chapter(one, one.check(given | {"together": True, "device": "cpu"}))
    try:
        with pytest.raises(Seen):
            paths.module(name, "study").results(made)
    except ValueError as error:
        pytest.skip(f"made for larger sizes than those of smoke: {error}")
    one, two = (sorted(ended[way], key=lambda course: course.run) for way in ended)
    assert len(one) == len(two) and len(one) % 2 == 0 < len(one)
    for a, b in zip(one, two, strict=True):
        assert a.seed == b.seed and a.history.train == pytest.approx(b.history.train, rel=1e-4)
        # As a whole, since AdamW makes a full step of a gradient that is 0 but for rounding.
        ends = [
            torch.cat([t.flatten() for n, t in c.state.items() if "model." in n]) for c in (a, b)
        ]
        assert float((ends[1] - ends[0]).norm() / ends[0].norm()) < 1e-4


@pytest.mark.parametrize(
    ("given", "device", "expected"),
    [
        ({}, "cpu", None),
        ({"together": True}, "cpu", ("factorised",)),
        ({}, "cuda", ("factorised",)),
        ({"together": False}, "cuda", None),
    ],
)
def test_on_a_cpu_seeds_train_in_one_batch_where_that_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, given: dict, device: str, expected: tuple | None
):
    monkeypatch.setattr(chapter.Chapter, "device", torch.device(device))
    one = spec("fig2_spatial")
    made = chapter.Chapter(one, one.check(given))
    assert made.together({"model": "factorised", "seed": 3}) == expected
    assert made.together({"model": "factorised", "candidate": 1}) == expected
    assert made.together({"model": "vn_full", "seed": 3}) is None
    assert made.together({"seed": 3}) is None
