"""Training of decoders: that they learn, what is consolidated, what the seed fixes, and bad input."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from benchmarks.spatial import registry
from benchmarks.spatial.decoders import (
    as_pair,
    build_vn,
    mean_squared_error,
    train_decoder,
)
from benchmarks.spatial.report import peak_distance
from data_gen.bumps import BumpConfig, make, subset

SIDE = 8
OPTIONS = {"streams": "axes", "n_atoms": 12, "sparsity": 0.01, "sweeps": 30, "nonnegative": True}


def bumps() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """x, y, codes [bump(x); bump(y)] and images[y, x] of all positions of a small grid."""
    k = torch.arange(SIDE, dtype=torch.float32)
    profile = torch.exp(-((k[:, None] - k) ** 2) / 2)
    y, x = (
        t.flatten() for t in torch.meshgrid(torch.arange(SIDE), torch.arange(SIDE), indexing="ij")
    )
    return (
        x,
        y,
        torch.cat([profile[x], profile[y]], 1),
        profile[y][:, :, None] * profile[x][:, None, :],
    )


AT_X, AT_Y, CODES, IMAGES = bumps()
ORDER = torch.randperm(SIDE**2, generator=torch.Generator().manual_seed(0))
TRAIN, VALIDATION = ((CODES[rows], IMAGES[rows]) for rows in (ORDER[:48], ORDER[48:]))


def train(tmp_path, *, seed: int = 0, family: str = "vn", **changes):
    given = {"lr": 2e-2, "steps": 80, "batch_size": 16, "consolidation": 100} | changes
    if family == "vn":
        given["options"] = OPTIONS | given.get("options", {})
    given = {"options": {}} | given
    return train_decoder(TRAIN, VALIDATION, family=family, seed=seed, workdir=tmp_path, **given)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"consolidation": 0},
        {"options": {"learn_dictionary": False}},
        {"options": {"axis_loss": True}},
        {"options": {"rank": 2}},
        {
            "options": {"streams": "joint", "n_atoms": 16, "sparsity": 0.002, "nonnegative": False},
            "steps": 100,
        },
        {
            "family": "bilinear",
            "options": {"n_units": 16, "activation": "linear"},
            "lr": 1e-2,
            "steps": 300,
        },
    ],
    ids=("axes", "one phase", "random V", "axis loss", "rank 2", "joint", "bilinear"),
)
def test_training_reduces_the_validation_error_tenfold(changes, tmp_path):
    zero_mse = VALIDATION[1].square().mean().item()
    model = train(tmp_path, **changes)
    assert mean_squared_error(model, VALIDATION) < 0.1 * zero_mse
    prediction = model(CODES).detach().numpy()
    # Bumps are drawn at [y, x], where they belong.
    assert (peak_distance(prediction, AT_X.numpy(), AT_Y.numpy()) <= 1).mean() > 0.9
    assert not np.allclose(prediction, prediction.transpose(0, 2, 1), atol=0.1)


def test_consolidation_improves_the_readouts_and_leaves_the_dictionaries(tmp_path):
    one, two = train(tmp_path / "one", consolidation=0), train(tmp_path / "two")
    for first, second in zip(one.networks.parameters(), two.networks.parameters(), strict=True):
        assert torch.equal(first, second)
    assert not any(torch.equal(a, b) for a, b in zip(one.readouts, two.readouts, strict=True))
    assert mean_squared_error(two, VALIDATION) < 0.5 * mean_squared_error(one, VALIDATION)


def test_a_baseline_is_consolidated_in_its_readouts_alone(tmp_path):
    changes = {"family": "factorised", "steps": 100}
    one = train(tmp_path / "one", consolidation=0, **changes)
    two = train(tmp_path / "two", consolidation=100, **changes)
    names = {id(p): n for n, p in two.named_parameters()}
    readout = {names[id(p)] for layer in two.readouts for p in layer.parameters()}
    for (name, a), b in zip(one.named_parameters(), two.parameters(), strict=True):
        assert torch.equal(a, b) == (name not in readout), name
    assert all(p.requires_grad for p in two.parameters())
    assert mean_squared_error(two, VALIDATION) < mean_squared_error(one, VALIDATION)
    with pytest.raises(ValueError, match="consolidation must be 0 for mlp"):
        train(tmp_path / "three", consolidation=1, **(changes | {"family": "mlp"}))


def test_a_dictionary_draws_images_and_has_no_readout_to_consolidate(tmp_path):
    train, validation = ((y.flatten(1), y) for _, y in (TRAIN, VALIDATION))
    options = {"streams": "joint", "readout": "dictionary", "n_atoms": 32, "sparsity": 2e-3}
    given = {"family": "vn", "options": options, "lr": 2e-2, "steps": 60, "batch_size": 16}

    def trained(folder: str, consolidation: int):
        more = {"seed": 0, "workdir": tmp_path / folder, "consolidation": consolidation}
        return train_decoder(train, validation, **given, **more)

    error = mean_squared_error(trained("one", 0), validation)
    drawn = build_vn(n_inputs=64, image_shape=(8, 8), seed=0, **options)
    assert error < 0.2 * mean_squared_error(drawn, validation)
    with pytest.raises(ValueError, match="consolidation must be 0 with readout 'dictionary'"):
        trained("two", 1)


def test_weight_decay_is_that_of_the_baseline(tmp_path):
    changes = {"family": "factorised", "steps": 20, "consolidation": 0, "lr": 0.05}
    sizes = {
        decay: sum(
            p.square().sum().item()
            for p in train(tmp_path / str(decay), weight_decay=decay, **changes).parameters()
        )
        for decay in (0.0, 0.01, 2.0)
    }
    default = sum(
        p.square().sum().item() for p in train(tmp_path / "default", **changes).parameters()
    )
    assert sizes[2.0] < sizes[0.01] < sizes[0.0] and default == sizes[0.01]


def test_frozen_dictionaries_stay_as_drawn(tmp_path):
    drawn = build_vn(n_inputs=16, image_shape=(8, 8), seed=0, **OPTIONS)
    model = train(tmp_path, steps=10, consolidation=10, options={"learn_dictionary": False})
    for a, b in zip(model.networks.parameters(), drawn.networks.parameters(), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("family", ["vn", "vae"])
def test_the_seed_fixes_the_trained_model(family, tmp_path):
    changes = {"family": family, "steps": 10, "consolidation": 5}
    if family == "vae":
        changes["options"] = {"latent": 2, "hidden": (8,)}
    first, again, other = (list(train(tmp_path, seed=s, **changes).parameters()) for s in (1, 1, 2))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(first, other, strict=True))


def test_mean_squared_error_is_over_pixels_and_samples():
    images = torch.arange(12.0).view(2, 2, 3)
    assert mean_squared_error(lambda codes: images, (CODES[:2], images + 0.5)) == 0.25


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"family": "transformer"}, r"family must be one of 'vn', 'cnn'.*got 'transformer'"),
        (
            {"family": "mlp", "options": {"depth": 3}},
            r"mlp has no option depth; its options are hidden",
        ),
        (
            {"options": {"n_atom": 5}},
            r"each option of family 'vn' must be one of 'streams', 'depth', .*got 'n_atom'",
        ),
        (
            {"options": {"seed": 5}},
            r"each option of family 'vn' must be one of .*'learn_dictionary', "
            r"'axis_loss', got 'seed'",
        ),
        ({"options": {"streams": "x"}}, r"streams must be one of 'axes', 'joint', got 'x'"),
        (
            {"options": {"readout": "outer"}},
            r"readout must be one of 'product', 'flat', 'dictionary', got 'outer'",
        ),
        ({"options": {"readout": "flat"}}, r"readout 'flat' needs streams='joint'"),
        ({"options": {"depth": 0}}, r"depth must be an integer >= 1, got 0"),
        ({"options": {"n_atoms": 0}}, r"n_atoms must be an integer >= 1, got 0"),
        (
            {"options": {"sparsity": -0.1}},
            r"sparsity of layer 1 must be a finite number >= 0, got -0.1",
        ),
        ({"options": {"top_k": 13}}, r"top_k must be an integer >= 1 and <= 12, got 13"),
        ({"options": {"sweeps": 0}}, r"max_sweeps must be an integer >= 1, got 0"),
        ({"lr": 0.0}, r"lr must be a finite number > 0, got 0.0"),
        ({"steps": 0}, r"steps must be an integer >= 1, got 0"),
        ({"batch_size": 0}, r"batch_size must be an integer >= 1, got 0"),
    ],
)
def test_bad_arguments_are_named(changes, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        train(tmp_path, **changes)


def test_a_decoder_can_be_named_or_given_by_its_class(tmp_path):
    given = {"options": {"hidden": 8}, "lr": 1e-2, "steps": 3, "batch_size": 4, "seed": 2}
    one, other = (
        train_decoder(TRAIN, VALIDATION, family=family, workdir=tmp_path / str(n), **given)
        for n, family in enumerate(("factorised", registry.BASELINES["factorised"]))
    )
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))
    with pytest.raises(ValueError, match="FactorisedDecoder has no option depth"):
        registry.build(type(one), n_inputs=4, image_shape=(4, 4), seed=0, depth=2)


def test_a_pair_holds_codes_and_images_as_they_are():
    data = subset(make(BumpConfig(grid=8)), "val")
    codes, images = as_pair(data, "cpu")
    assert torch.equal(codes, torch.from_numpy(data["code"].values))
    assert torch.equal(images, torch.from_numpy(data["image"].values))
