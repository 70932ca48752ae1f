"""Autoencoders of images, and how they are trained, kept and searched."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from benchmarks.images import autoencoders as family
from benchmarks.images.networks import ImageAutoencoder, built, largest
from vnlib.fit import Training

SMALL = {"hidden": (12,), "latent": 8}
DENSE = {"hidden": (), "latent": 6}


def images(n=96, pixels=20, seed=0):
    rng = torch.Generator().manual_seed(seed)
    return (torch.rand(n, 3, generator=rng) @ torch.rand(3, pixels, generator=rng)) / 3


def trained(steps=40, **options):
    x = images()
    training = Training(lr=1e-2, steps=steps, batch_size=16, seed=1, workdir=Path("unused"))
    return family.autoencoder(
        x[:64], x[64:], training, **{"evaluations": 12, "search_steps": 0, **SMALL, **options}
    )


# --- The network ----------------------------------------------------------------------------------


def test_a_code_without_hidden_layers_is_an_affine_map_and_so_is_its_drawing():
    model, x = built(pixels=20, seed=0, **DENSE), images(5)
    z = x @ model.encoder[0].weight.T + model.encoder[0].bias
    torch.testing.assert_close(model.encode(x), z)
    torch.testing.assert_close(model(x), z @ model.decoder[0].weight.T + model.decoder[0].bias)


def test_the_decoder_mirrors_the_encoder_or_is_one_linear_map():
    sizes = lambda part: [tuple(p.shape) for p in part.parameters() if p.ndim == 2]  # noqa: E731
    deep = built(pixels=20, seed=0, hidden=(12, 9), latent=4)
    assert sizes(deep.encoder) == [(12, 20), (9, 12), (4, 9)] and sizes(deep.decoder) == [
        (9, 4),
        (12, 9),
        (20, 12),
    ]
    linear = built(pixels=20, seed=0, hidden=(12, 9), latent=4, decoder="linear")
    assert sizes(linear.encoder) == sizes(deep.encoder) and sizes(linear.decoder) == [(20, 4)]
    linear = built(pixels=20, seed=0, hidden=(12, 9), latent=4, encoder="linear")
    assert sizes(linear.encoder) == [(4, 20)] and sizes(linear.decoder) == sizes(deep.decoder)


@pytest.mark.parametrize("k", [1, 3, 8])
def test_the_largest_entries_stay_whatever_their_sign(k):
    z = torch.randn(50, 8, generator=torch.Generator().manual_seed(0))
    kept = largest(z, k)
    assert ((kept != 0).sum(1) == k).all() and torch.equal(kept[kept != 0], z[kept != 0])
    if k < 8:
        left = (z - kept).abs().amax(1)
        assert (kept.abs().masked_fill(kept == 0, torch.inf).amin(1) >= left).all()
    assert (kept < 0).any()


def test_ties_and_zeros_never_exceed_the_budget():
    assert ((largest(torch.ones(4, 8), 3) != 0).sum(1) == 3).all()
    assert not largest(torch.zeros(4, 8), 3).any()


def test_a_sparse_code_is_drawn_from_its_k_entries_and_learns_by_them_alone():
    model, x = built(pixels=20, seed=0, hidden=(), latent=8, k=2), images(1)
    kept = (model.encode(x) != 0)[0]
    assert kept.sum() == 2
    model.loss(x, generator=torch.Generator()).backward()
    assert torch.equal(model.encoder[0].weight.grad.abs().sum(1) > 0, kept)


def test_a_sigmoid_output_stays_in_0_to_1_and_a_linear_one_does_not():
    z = 100 * torch.randn(40, 8, generator=torch.Generator().manual_seed(0))
    drawn = built(pixels=20, seed=0, output="sigmoid", **SMALL).decode(z)
    assert drawn.min() >= 0 and drawn.max() <= 1
    linear = built(pixels=20, seed=0, **SMALL).decode(z)
    assert linear.min() < 0 and linear.max() > 1
    torch.testing.assert_close(drawn, linear.sigmoid())


def test_the_loss_is_the_mean_squared_error_and_takes_no_chance_where_there_is_none():
    model, x, rng = built(pixels=20, seed=0, **SMALL), images(5), torch.Generator().manual_seed(3)
    before = rng.get_state()
    torch.testing.assert_close(model.loss(x, generator=rng), ((model(x) - x) ** 2).mean())
    assert torch.equal(rng.get_state(), before)


def test_signs_are_per_image_and_both_occur():
    model, x = built(pixels=20, seed=0, signed=True, **DENSE), images(1)
    plus, minus = (float((model(s * x).detach() - s * x).square().mean()) for s in (1, -1))
    assert abs(plus - minus) > 1e-6  # the biases tell them apart
    losses = [
        model.loss(x, generator=torch.Generator().manual_seed(seed)).item() for seed in range(20)
    ]
    near = lambda a, b: abs(a - b) < 1e-7  # noqa: E731
    assert all(near(loss, plus) or near(loss, minus) for loss in losses)
    assert any(near(loss, plus) for loss in losses) and any(near(loss, minus) for loss in losses)


def test_corruption_has_the_stated_size_and_share():
    x, rng = torch.ones(200, 200), torch.Generator().manual_seed(0)
    read = built(pixels=200, seed=0, dropout=0.1, **SMALL).corrupted(x, rng)
    assert set(read.unique().tolist()) == {0.0, 1.0}
    assert float((read == 0).float().mean()) == pytest.approx(0.1, abs=0.01)
    noise = built(pixels=200, seed=0, noise=0.3, **SMALL).corrupted(x, rng) - x
    assert float(noise.mean()) == pytest.approx(0, abs=0.01) and float(
        noise.std()
    ) == pytest.approx(0.3, abs=0.01)
    both = built(pixels=200, seed=0, noise=0.3, dropout=1.0, **SMALL).corrupted(x, rng)
    assert not both.any()  # dropped pixels hold no noise


def test_a_denoising_autoencoder_draws_the_clean_image_and_corrupts_in_training_only():
    model, x = built(pixels=20, seed=0, dropout=1.0, **SMALL), images(5)
    torch.testing.assert_close(
        model.loss(x, generator=torch.Generator()), ((model(torch.zeros_like(x)) - x) ** 2).mean()
    )
    assert not torch.allclose(model(x), model(torch.zeros_like(x)))


def test_the_seed_fixes_the_weights_and_leaves_the_global_state():
    torch.manual_seed(3)
    wanted = torch.rand(1)
    torch.manual_seed(3)
    first, again, other = (
        built(pixels=20, seed=seed, **SMALL).encoder[0].weight for seed in (5, 5, 6)
    )
    assert torch.equal(first, again) and not torch.equal(first, other)
    assert torch.equal(torch.rand(1), wanted)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pixels": 0}, "pixels must be an integer >= 1, got 0"),
        ({"hidden": 12}, "hidden must be a sequence"),
        ({"hidden": (12, 0)}, "each entry of hidden must be an integer >= 1, got 0"),
        ({"latent": 0}, "latent must be an integer >= 1, got 0"),
        ({"k": 0}, "k must be an integer >= 1 and <= 8, got 0"),
        ({"k": 9}, "k must be an integer >= 1 and <= 8, got 9"),
        ({"encoder": "none"}, "encoder must be one of 'deep', 'linear', got 'none'"),
        ({"decoder": "none"}, "decoder must be one of 'deep', 'linear', got 'none'"),
        ({"output": "relu"}, "output must be one of 'linear', 'sigmoid', got 'relu'"),
        ({"noise": -0.1}, "noise must be a finite number >= 0, got -0.1"),
        ({"dropout": 1.5}, "dropout must be a finite number >= 0 and <= 1, got 1.5"),
        ({"signed": True, "output": "sigmoid"}, "output must be 'linear' where signed is true"),
        (
            {"depth": 3},
            "ImageAutoencoder has no option depth; it has decoder, dropout, encoder, "
            "hidden, k, latent",
        ),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        built(**{"pixels": 20, "seed": 0, **SMALL, **options})


def test_images_of_another_size_are_refused():
    model = ImageAutoencoder(pixels=20, **SMALL)
    with pytest.raises(
        ValueError, match=r"x must have the shape \(batch, pixels=20\), got \(4, 21\)"
    ):
        model(torch.zeros(4, 21))
    with pytest.raises(ValueError, match=r"got \(20,\)"):
        model.loss(torch.zeros(20), generator=torch.Generator())


# --- Training -------------------------------------------------------------------------------------


def test_checks_lie_at_squares_and_end_with_the_last_update():
    assert family.evaluated_steps(100, 5) == [4, 16, 36, 64, 100]
    assert family.evaluated_steps(3, 40) == [1, 2, 3]
    assert len(family.evaluated_steps(1155, 40)) == 40
    for name in ("steps", "evaluations"):
        with pytest.raises(ValueError, match=f"{name} must be an integer >= 1, got 0"):
            family.evaluated_steps(**{"steps": 5, "evaluations": 5, name: 0})


def test_own_is_the_snapshot_with_the_least_error_or_the_nearest_to_the_target():
    x = images()[64:]
    free = trained()
    error = float((free.readings["own"](x) - x).square().mean())
    assert len(free.curve) == 12 and error == pytest.approx(min(free.curve)) == pytest.approx(
        free.facts["best"]
    )
    assert "matched" not in free.facts and list(free.readings) == ["own"]
    for at in (2, 6):
        target = 1.01 * free.curve[at]
        kept = trained(target=target)
        assert kept.curve == free.curve
        error = float((kept.readings["own"](x) - x).square().mean())
        assert error == pytest.approx(free.curve[at]) and kept.facts["best"] == free.facts["best"]
        assert kept.facts["matched"] == pytest.approx(1 / 1.01)
        assert kept.facts["steps"] == family.evaluated_steps(40, 12)[at]


def test_nearness_is_of_ratios():
    """Between errors 1 and 4, a target of 2.2 is nearer to 4 as a ratio, though nearer to 1 as a
    difference.
    """
    model = built(pixels=20, seed=0, **SMALL)
    stages = [family.Stage(1, 4.0, model), family.Stage(2, 1.0, model)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(family, "stages_of", lambda *args, **kwargs: stages)
        assert trained(target=2.2).facts["matched"] == pytest.approx(4 / 2.2)
        assert trained(target=1.9).facts["matched"] == pytest.approx(1 / 1.9)


def test_the_path_draws_as_it_did_at_its_checks():
    x = images()[64:]
    model = trained(path=100)
    assert [snapshot.error for snapshot in model.path] == list(model.curve)
    for snapshot in model.path:
        assert float((snapshot.draw(x) - x).square().mean()) == pytest.approx(
            snapshot.error, rel=1e-5
        )
    assert model.curve[-1] < 0.5 * model.curve[0]


@pytest.mark.parametrize("n", [1, 2, 3, 7, 11])
@pytest.mark.parametrize("at", [0, 4, 9])
def test_a_thinned_path_is_short_in_order_and_holds_own(n, at):
    model = built(pixels=20, seed=0, **SMALL)
    stages = [family.Stage(i, 1.0, model) for i in range(10)]
    found = [stage.steps for stage in family.thinned(stages, n, stages[at])]
    assert len(found) == min(n, 10) and at in found and found == sorted(set(found))


def test_own_is_on_the_thinned_path():
    model = trained(path=4, target=trained().curve[5])
    assert len(model.path) == 4
    assert min(abs(snapshot.error - model.curve[5]) for snapshot in model.path) == 0


def test_the_same_seed_gives_the_same_bits_whatever_the_global_state():
    x, drawings = images(7, seed=3), []
    for state in (1, 2):
        torch.manual_seed(state)
        drawings.append(trained(steps=8, noise=0.3, dropout=0.1, signed=True).readings["own"](x))
    assert torch.equal(*drawings)


def test_active_and_used_units_are_counted():
    x = images()[64:]
    sparse = trained(steps=10, k=3)
    counts = sparse.active(x)
    assert counts.shape == (1, len(x)) and (counts == 3).all() and 3 <= sparse.facts["used"] <= 8
    dense = trained(steps=10)
    assert (dense.active(x) == 8).all() and dense.facts["used"] == 8
    assert dense.facts["parameters"] == 20 * 12 + 12 + 12 * 8 + 8 + 8 * 12 + 12 + 12 * 20 + 20


def test_wrong_arguments_of_the_family_are_named():
    for name, value in (("target", 0), ("evaluations", 0), ("path", 0), ("search_steps", -1)):
        with pytest.raises(ValueError, match=f"{name} must be .*, got {value}"):
            trained(**{name: value})
    with pytest.raises(ValueError, match="no option depth"):
        trained(depth=2)


# --- The search of a code -------------------------------------------------------------------------


def test_the_search_of_a_linear_decoder_comes_near_the_least_squares_solution():
    model, x = built(pixels=20, seed=0, **DENSE), images(6)
    A, b = model.decoder[0].weight.detach(), model.decoder[0].bias.detach()
    z = torch.linalg.lstsq(A, (x - b).T).solution
    least = ((A @ z).T + b - x).square().sum(1)
    found = (family.searched(model, x, steps=600, lr=0.03) - x).square().sum(1)
    start = (model(x) - x).square().sum(1)
    assert (found >= least - 1e-5).all() and (found - least < 0.01 * (start - least)).all()


@pytest.mark.parametrize(
    "options", [{}, {"k": 2}, {"k": 2, "decoder": "linear"}, {"output": "sigmoid"}]
)
def test_the_search_never_loses_and_no_image_sees_another(options):
    model, x = built(pixels=20, seed=0, **SMALL, **options), images(9)
    before = [p.clone() for p in model.parameters()]
    found = family.searched(model, x, steps=15, lr=0.05)
    start = (model(x).detach() - x).square().sum(1)
    error = (found - x).square().sum(1)
    assert (
        (error <= start + 1e-6).all()
        and error.sum() < 0.95 * start.sum()
        and not found.requires_grad
    )
    torch.testing.assert_close(
        family.searched(model, x[2:5], steps=15, lr=0.05), found[2:5], rtol=1e-4, atol=1e-5
    )
    assert all(
        torch.equal(p, q) and p.grad is None
        for p, q in zip(model.parameters(), before, strict=True)
    )
    torch.testing.assert_close(family.searched(model, x, steps=0, lr=0.05), model(x).detach())


def test_the_search_of_a_sparse_code_keeps_its_budget():
    """With k = 1 and a linear decoder, what is drawn beyond the bias is a multiple of one
    column.
    """
    model, x = built(pixels=20, seed=0, hidden=(), latent=8, k=1, decoder="linear"), images(6)
    drawn = family.searched(model, x, steps=30, lr=0.05) - model.decoder[0].bias.detach()
    columns = torch.nn.functional.normalize(model.decoder[0].weight.detach(), dim=0)
    overlap = (torch.nn.functional.normalize(drawn, dim=1) @ columns).abs().amax(1)
    torch.testing.assert_close(overlap, torch.ones(6), rtol=0, atol=1e-4)


def test_the_search_rate_is_the_one_that_serves_validation_images_best():
    x = images()[64:]
    model = trained(search_steps=20)
    own, found = (
        float((model.readings[name](x) - x).square().mean()) for name in ("own", "searched")
    )
    assert list(model.readings) == ["own", "searched"] and found < own
    network = built(pixels=20, seed=0, **DENSE)
    error = lambda lr: float((family.searched(network, x, steps=20, lr=lr) - x).square().sum())  # noqa: E731
    unit = float(network.encode(x).detach().square().mean().sqrt())
    wanted = min((rate * unit for rate in family.SEARCH_RATES), key=error)
    assert family.search_rate(network, x, 20) == pytest.approx(wanted)
