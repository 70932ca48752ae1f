"""One run of appendix F on a small grid, and the settings that its file keeps."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
import torch
import xarray as xr

from benchmarks.spatial import registry
from benchmarks.spatial.decoders import LEARNING, build_vn
from chapters.F_spatial import study, tables
from vnlib.book.chapter import Chapter, spec
from vnlib.book.store.variables import described

PARTS = {"rank", "depth", "encodings", "sharp", "ring", "ladder", "entangled", "continuous"}
PARTS |= {"two", "care", "longer"}
INPUTS = {"bump": 56, "one_hot": 56, "fourier14": 56, "fourier7": 28, "scalar": 2}
SMALL = {
    "grid": 16,
    "sigma": 1.0,
    "hold_out": "square",
    "encoding": "bump",
    "n_frequencies": 8,
    "split_seed": 0,
    "scattered": 0,
    "input": "code",
}


SPEC = spec("F_spatial")


def chapter(**parameters: object) -> Chapter:
    one = SPEC
    return Chapter(one, one.check({"profile": "paper", "device": "cpu", **parameters}))


def settings(model: str, candidate: int = 0, seed: int = 1, **parameters: object) -> dict:
    return study.settings(chapter(**parameters), {"model": model, "seed": seed}, candidate)


def run(workdir, model: str, **changes: object) -> xr.Dataset:
    wanted = settings(model) | {"task": SMALL, "shown": 200} | changes
    wanted["training"] = wanted["training"] | {"steps": 3, "consolidation": 0}
    if wanted["pairs"]:
        wanted["pairs"] = {"n": 5, "distance": 6}
    found = study.run(chapter(), {"model": model, "seed": 0}, wanted, workdir)
    return described(found, study.VARIABLES)


def test_a_run_measures_what_its_tables_ask_for(tmp_path):
    plain = run(tmp_path, "vn_rank_2", shown=None)
    assert not {"mse", "two_mse", "sample_image"} & set(plain)
    assert plain["curve_step"].dropna("checkpoint").values.tolist() == [1, 2, 3]
    kept = plain["curve_ood"].isel(checkpoint=plain["curve_val"].argmin("checkpoint"))
    assert float(kept) == pytest.approx(float(plain["mse_ood"]), rel=1e-5)
    assert plain["mse_ood"].attrs["units"] == "1" and plain["zero_baseline_ood"] > 0
    assert 0 <= float(plain["stream_similarity"]) <= 1.0001
    full = run(tmp_path / "b", "full", maps=True)
    assert {"mse", "two_mse", "two_image", "sample_image"} <= set(full.data_vars)
    assert "two_image" not in run(tmp_path / "c", "full", shown=None)


def test_a_task_may_be_scattered_or_read_its_images():
    plain = study.task(**SMALL, seed=0)
    assert plain.sizes == {"position": 256, "code": 32, "y": 16, "x": 16}
    images = study.task(**SMALL | {"input": "image"}, seed=0)
    assert np.array_equal(images["code"], images["image"].values.reshape(256, 256))
    between = study.task(**SMALL | {"scattered": 30}, seed=4)
    assert between.sizes["position"] == 30 and (between["position_x"] % 1 > 0).any()
    assert not between.equals(study.task(**SMALL | {"scattered": 30}, seed=5))


def test_settings_lay_what_is_changed_over_what_a_model_is_like():
    found = settings("vn_3_mix", 2)
    assert found["training"] == {
        "family": "vn",
        "options": {
            "streams": "axes",
            "n_atoms": 32,
            "sparsity": 0.01,
            "top_k": 8,
            "nonnegative": True,
            "depth": 3,
            "feedback": 0.1,
            "sweeps": 2,
            "steps": 15,
            "mix": 0.5,
        },
        "lr": 3e-2,
        "batch_size": 64,
        "weight_decay": 0.01,
        "steps": 210,
        "consolidation": 2000,
    }
    assert found["pairs"] is None and not found["maps"] and found["shown"] is None
    assert settings("vn_1_8", seed=0)["shown"] == 602 and settings("cnn_ring")["maps"]
    assert settings("cnn")["pairs"] == {"n": 200, "distance": 10}


def test_what_a_model_says_of_itself_goes_before_candidates_and_parameters():
    assert settings("default_2", 2)["training"]["lr"] == 1e-3
    assert settings("factorised_2", 2)["training"]["lr"] == 3e-2
    assert settings("factorised_wd0")["training"]["weight_decay"] == 0
    assert settings("vn_1_plain")["training"]["consolidation"] == 0
    assert settings("full_sharp", sigma=3.0)["task"]["sigma"] == 1
    assert settings("full", sigma=3.0, hold_out="ring")["task"]["sigma"] == 3
    assert settings("full", sparsity=0.5)["training"]["options"]["sparsity"] == 0.5
    fourier = settings("vn_1_fourier7")["task"]
    assert (fourier["encoding"], fourier["n_frequencies"]) == ("fourier", 7)


@cache
def built(told: str) -> torch.nn.Module:
    """A network of these settings, made once for all models and candidates that differ in others."""
    family, size, options = json.loads(told)
    if family != "vn":
        return registry.build(family, **size, **options)
    return build_vn(**size, **{k: v for k, v in options.items() if k not in LEARNING})


@pytest.mark.parametrize("name", chapter().models)
def test_every_model_can_be_built_with_every_candidate(name):
    model = chapter().model(name)
    assert (
        model["label"]
        and model["group"] in ("entangled", "factorised", "vn", "control", "longer")
        and model["parts"]
    )
    assert len(model["candidates"]) == 4, "all models choose, or take the choice of another"
    inputs = INPUTS[model.get("encoding", "bump")]
    inputs = 784 if model.get("task", {}).get("input") == "image" else inputs
    for candidate in range(4):
        training = settings(name, candidate)["training"]
        size = {"n_inputs": inputs, "image_shape": (28, 28), "seed": 0}
        network = built(json.dumps([training["family"], size, training["options"]]))
        assert not training["consolidation"] or hasattr(network, "readouts")


def test_models_are_like_one_that_chooses_for_itself():
    models = chapter().spec.sidecar["models"]
    for name, model in models.items():
        like = models.get(model.get("like"), {})
        assert "like" not in like or like.get("chooses"), name


def test_a_twin_is_its_model_with_twice_the_updates():
    one = chapter()
    twins = [name for name, model in one.models.items() if model["group"] == "longer"]
    assert len(twins) >= 30 and all(name.endswith("_longer") for name in twins)
    for name in twins:
        for candidate in range(4):
            own, twin = (settings(n, candidate) for n in (name.removesuffix("_longer"), name))
            for length in ("steps", "consolidation"):
                assert twin["training"].pop(length) == 2 * own["training"].pop(length), name
            assert (twin["training"], twin["task"]) == (own["training"], own["task"]), name
        own, twin = (one.model(n) for n in (name.removesuffix("_longer"), name))
        assert not twin.get("chooses") and own["label"] in twin["label"]
        chooser = name.removesuffix("_longer") if own.get("chooses") else own.get("like")
        assert twin["like"] == (chooser or name.removesuffix("_longer")), "one choice for both"


def test_each_reported_seed_has_a_split_of_its_own_and_selecting_runs_one_that_is_given():
    one = chapter()
    assert [settings("full", seed=seed)["task"]["split_seed"] for seed in (0, 3)] == [0, 3]
    selecting = study.settings(one, {"model": "full"}, 1, selecting=True)
    assert selecting["task"]["split_seed"] == one.settings["split_seed"]


def test_every_model_of_table_3_chooses_for_itself_with_every_code():
    table = {n: m for n, m in chapter().models.items() if "encodings" in m["parts"].split()}
    assert len(table) == 5 * len(tables.ENCODED)
    assert {m["encoding"] for m in table.values()} == set(tables.ENCODINGS) == set(INPUTS)
    assert [n for n, m in table.items() if "like" in m and not m.get("chooses")] == []
    for name in table:
        rates = [settings(name, candidate)["training"]["lr"] for candidate in range(4)]
        assert len(set(rates)) == 4, name


def test_the_smoke_profile_has_a_model_of_every_part():
    parts = [set(model["parts"].split()) for model in chapter().models.values()]
    assert set.union(*parts) == PARTS
    smoke = [set(model["parts"].split()) for model in chapter(profile="smoke").models.values()]
    assert set.union(*smoke) == PARTS, "smoke draws every figure"
    own = [name for name, model in chapter().models.items() if model["group"] != "longer"]
    assert [*chapter(profile="fast").models] == own
