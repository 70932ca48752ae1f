"""One run of App. C at a tiny size: all that the page reads, named, and the same again."""

from __future__ import annotations

import pytest
import torch

from benchmarks.images.samples import mnist_rows
from chapters.C_inference import study
from vnlib.book import chapter

TINY = {"n_train": 64, "pool": 20, "sweeps": 6, "kept": 3, "end_steps": 20, "guard_sweeps": 6}


def opened(**given: object) -> chapter.Chapter:
    spec = chapter.spec("C_inference")
    return chapter.Chapter(spec, spec.check({"profile": "smoke", "device": "cpu"} | given))


@pytest.fixture(scope="module")
def settings() -> dict:
    small = {"momentum": {"sweeps": 6, "window": 3}, "relu": {"random": 1, "sweeps": 6}}
    cap = {"top_k": 4, "random": 1, "sweeps": 6, "from": [0, 2]}
    return study.settings(opened()) | TINY | small | {"cap": cap}


def test_a_run_gives_what_variables_names(settings, tmp_path):
    ds = study.run(opened(), {"seed": 0}, settings, tmp_path)
    assert set(map(str, ds.variables)) <= set(study.VARIABLES)
    assert ds["cap_k"] == 4 and bool(ds["resumed"].all())


def test_a_network_learns_and_the_earlier_one_is_what_it_was(settings):
    x, *_ = mnist_rows("train", 64, seed=0, real=False)
    earlier, network = study.learned(x, settings, seed=0)
    again, _ = study.learned(x, settings, seed=0)
    assert torch.equal(earlier.V[0], again.V[0]), "the same seed gives the same bits"
    assert not torch.equal(earlier.V[0], network.V[0])


def test_the_first_layers_sparsity_can_be_set_and_the_times_do_not_key_the_runs():
    own = study.settings(opened(sparsity=0.5))
    assert own["sparsity_by_layer"][0] == 0.5 and own["sparsity_by_layer"][1:] == [0.0155, 0.031]
    assert not set(own) & {"speed", "layers", "memory", "seeds"}
