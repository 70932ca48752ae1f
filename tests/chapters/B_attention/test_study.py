"""Appendix B trains both kinds of model; a whole run at a tiny size."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from chapters.B_attention import study
from chapters.B_attention.baselines import PatchPredictor
from chapters.B_attention.measure import checkerboard, to_patches
from vnlib.book import chapter, paths, store
from vnlib.book.store.variables import described
from vnlib.evaluate import reconstruction_error
from vnlib.network import VectorNetwork, VNConfig

SIDE, WIDTH = 2, 6
T, PIXELS = (WIDTH // SIDE) ** 2, WIDTH**2
HIDDEN = checkerboard(T)
SETTINGS = {
    "data_seed": 0,
    "side": 7,
    "sparsity": 0.2,
    "patch_sparsity": 0.15,
    "d_model": 8,
    "n_heads": 2,
    "n_train": 60,
    "n_val": 20,
    "n_test": 16,
    "settle": {"tol": 1e-4},
    "n_atoms": 12,
    "n_patch_atoms": 8,
    "network": {"lr": 1e-2, "batch_size": 20, "steps": 2},
    "patches": {"lr": 1e-2, "batch_size": 20, "steps": 2},
    "attention": {"lr": 1e-2, "batch_size": 20, "steps": 2},
    "predictors": {"softmax": {"kind": "softmax", "d_head": 4}},
    "measures": {"n_ranks": 4, "n_maps": 1, "n_similar": 1, "n_half_sums": 2},
}


def images(n: int = 24, seed: int = 0) -> torch.Tensor:
    rng = torch.Generator().manual_seed(seed), torch.Generator().manual_seed(seed + 1)
    ink, holes = (torch.rand(n, PIXELS, generator=one) for one in rng)
    return ink * (holes > 0.4)


def network() -> VectorNetwork:
    config = VNConfig(n_inputs=PIXELS, atoms=(20,), interface=(20,), sparsity=(0.15,))
    return VectorNetwork(config, seed=0)


def test_training_helps_both_kinds_of_model(tmp_path):
    x = images(300)
    settings = {"lr": 1e-2, "steps": 40, "batch_size": 64}
    start = network()
    start.start_from_samples(x[100:], seed=0)
    net = study.train_network(
        start.config,
        x[100:],
        x[:100],
        settings,
        seed=0,
        checkpoint=tmp_path / "network.safetensors",
    )
    before, after = (reconstruction_error(one, x[:100]) for one in (start, net))
    assert after < before
    tokens = to_patches(x, SIDE)
    options = {"d_model": 8, "d_head": 3, "kind": "softmax"}
    model = study.train_predictor(
        options,
        tokens[100:],
        tokens[:100],
        settings,
        seed=0,
        checkpoint=tmp_path / "head.safetensors",
    )
    with torch.no_grad():
        fresh = PatchPredictor(n_tokens=T, d_token=SIDE**2, seed=0, **options)
        assert model.error(tokens[:100], HIDDEN[None]) < fresh.error(tokens[:100], HIDDEN[None])


def opened(profile: str = "smoke", **given: object) -> chapter.Chapter:
    spec = chapter.spec("B_attention")
    return chapter.Chapter(spec, spec.check({"profile": profile, "device": "cpu", **given}))


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    axes, folder = {"seed": 0}, tmp_path_factory.mktemp("run")
    return study.run(opened(), axes, SETTINGS, folder)


def test_a_run_compares_dictionaries_and_all_predictors(one):
    assert list(one["model"].values) == ["vn_image", "vn_patches", "feed_forward", "softmax"]
    assert one["shown"].sizes["y"] == 28 and one["shown_weights"].shape == (2, 16, 16)
    assert float(one["bound"].sel(model="softmax")) == 4
    assert np.isfinite(one["added_share"].sel(model="softmax")).all()


def test_all_that_a_run_holds_has_a_name_and_units(one):
    named = described(one, study.VARIABLES)
    assert all(v.attrs["long_name"] for v in named.variables.values())


def test_the_settings_of_the_chapter_are_those_of_the_shipped_runs():
    shipped = store.read(paths.RESULTS / "paper" / "B_attention.nc")
    settings = opened("paper").settings.items()
    here = {key: value for key, value in settings if key not in study.NOT_SHARED}
    assert set(shipped["run_settings"].values.flat) == {store.netcdf.to_json(here)}
    changed = opened("paper", n_atoms=32, sparsity=0.5).settings
    assert (changed["n_atoms"], changed["sparsity"]) == (32, 0.5)


def test_twice_the_updates_is_all_that_is_other():
    longer = study.twice(SETTINGS)
    for name in ("network", "patches", "attention"):
        assert longer[name] == SETTINGS[name] | {"steps": 2 * SETTINGS[name]["steps"]}
    assert (
        longer | {name: SETTINGS[name] for name in ("network", "patches", "attention")} == SETTINGS
    )
