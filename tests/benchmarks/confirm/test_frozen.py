"""The hash of what a confirmatory chapter fixes before its test data are drawn."""

from __future__ import annotations

import copy

import pytest

from benchmarks.confirm.frozen import frozen
from vnlib.book import chapter, paths

CHAPTERS = [name for name in paths.chapters() if "predictions" in chapter.spec(name).sidecar]


@pytest.fixture(params=CHAPTERS)
def sidecar(request) -> dict:
    return copy.deepcopy(chapter.spec(request.param).sidecar)


def test_there_are_such_chapters():
    assert {"best_bodies", "best_digits"} <= {*CHAPTERS}


def test_the_hash_is_of_all_that_was_fixed(sidecar):
    before, first = frozen(sidecar), next(iter(sidecar["models"]))
    for path, value in (
        (("settings", "test_seed"), 1),
        (("models", first, "family"), "other"),
        (("models", "more"), {"family": "other"}),
        (("predictions", 0, "below"), 2.0),
        (("profiles", "paper", "n_test"), 2),
        (("rivals", next(iter(sidecar["rivals"]))), []),
    ):
        changed = copy.deepcopy(sidecar)
        part = changed
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = value
        assert frozen(changed) != before, path


def test_names_other_profiles_the_number_of_seeds_and_what_was_added_do_not_count(sidecar):
    before, first = frozen(sidecar), next(iter(sidecar["models"]))
    sidecar["models"][first]["label"] = sidecar["title"] = "other"
    sidecar["profiles"]["fast"]["n_test"] = sidecar["profiles"]["paper"]["seeds"] = 1
    sidecar["models"]["more"] = {"family": "other", "added": True}
    assert frozen(sidecar) == before


def test_what_was_added_is_part_of_no_prediction(sidecar):
    added = {name for name, one in sidecar["models"].items() if one.get("added")}
    assert not any(name in str(sidecar["predictions"]) + str(sidecar["rivals"]) for name in added)
