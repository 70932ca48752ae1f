"""What stands beside the playground's network: codes of every length, and files that come back."""

from __future__ import annotations

import re

import pytest
import torch

from benchmarks.images import controls, opponents


def images(n: int = 40) -> torch.Tensor:
    return torch.rand(n, 16, generator=torch.Generator().manual_seed(0))


def learned(steps: int = 3, **options) -> opponents.Opponents:
    sizes = {"latent": 6, "hidden": 5, "axes": 7, "batch_size": 8}
    return opponents.learn_opponents(
        images(), images(10), **({"seed": 0, "steps": steps} | sizes | options)
    )


def test_each_image_keeps_as_many_coefficients_as_it_is_told():
    z = torch.tensor([[3.0, -4.0, 1.0], [3.0, -4.0, 1.0], [0.0, 2.0, -2.0], [1.0, 2.0, 3.0]])
    kept = opponents.largest(z, torch.tensor([0, 2, 3, 9]))
    assert kept.tolist() == [[0, 0, 0], [3, -4, 0], [0, 2, -2], [1, 2, 3]]


def test_axes_and_cosines_are_those_of_the_controls():
    x = images().double()
    mean, axes = controls.principal_axes(x)
    one = opponents.Opponents(learned().layers, mean, axes)
    layers = tuple((W.double(), b.double()) for W, b in one.layers)
    drawn = opponents.Opponents(layers, mean, axes).draw(x, torch.full((40,), 3))
    for name, control in (("pca", controls.pca_adaptive), ("dct", controls.dct)):
        wanted = control(x, x, None, k=3).readings["own"](x)
        torch.testing.assert_close(drawn[name], wanted)


def test_the_autoencoder_draws_what_its_maps_say():
    x, model = images(), opponents.AnyLength(pixels=16, hidden=(5,), latent=6)
    maps = [one for part in (model.encoder, model.decoder) for one in part if hasattr(one, "bias")]
    layers = tuple((one.weight.detach(), one.bias.detach()) for one in maps)
    mean, axes = controls.principal_axes(x)
    model.k = 2
    drawn = opponents.Opponents(layers, mean, axes).draw(x, torch.full((40,), 2))
    torch.testing.assert_close(drawn["autoencoder"], model(x).detach())


def test_training_draws_the_length_anew():
    model, seen = opponents.AnyLength(pixels=16, hidden=(5,), latent=6), set()
    for seed in range(60):
        model.loss(images(), generator=torch.Generator().manual_seed(seed))
        seen.add(model.k)
    assert seen == {1, 2, 3, 4, 5, 6}


def test_training_lowers_the_error_and_repeats_itself():
    def error(one: opponents.Opponents) -> float:
        drawn = one.draw(images(), torch.full((40,), 4))["autoencoder"]
        return float((drawn - images()).square().mean())

    assert error(learned(steps=200)) < 0.8 * error(learned(steps=1))
    for (W, b), (W_again, b_again) in zip(learned().layers, learned().layers, strict=True):
        assert torch.equal(W, W_again) and torch.equal(b, b_again)


def test_what_was_exported_comes_back(tmp_path):
    original = learned()
    assert opponents.export(original, tmp_path, about="by chance") == tmp_path / "opponents.js"
    back = opponents.read(tmp_path)
    for (W, b), (W_back, b_back) in zip(original.layers, back.layers, strict=True):
        half_step = W.double().abs().amax(1, keepdim=True) / 254
        assert bool(((W_back - W).abs() <= 1.0001 * half_step).all())
        torch.testing.assert_close(b_back, b.double(), rtol=1e-6, atol=0)
    torch.testing.assert_close(back.mean, original.mean.double(), rtol=1e-6, atol=0)
    torch.testing.assert_close(back.axes, original.axes.double(), rtol=0, atol=0.02)


def test_a_unit_without_weights_comes_back(tmp_path):
    one = learned()
    one.layers[0][0][2] = 0
    opponents.export(one, tmp_path, about="by chance")
    assert not opponents.read(tmp_path).layers[0][0][2].any()


def test_what_cannot_be_shown_is_refused(tmp_path):
    one = learned()
    with pytest.raises(ValueError, match="about must say how"):
        opponents.export(one, tmp_path, about=" ")
    with pytest.raises(ValueError, match="4 maps, got 3"):
        opponents.export(
            opponents.Opponents(one.layers[:3], one.mean, one.axes), tmp_path, about="x"
        )
    with pytest.raises(ValueError, match="axes must be"):
        learned(axes=17)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["layers", "mean", "axes"])
def test_a_damaged_file_is_refused(name, tmp_path):
    path = opponents.export(learned(), tmp_path, about="by chance")
    path.write_text(re.sub(f'"{name}": ', f'"{name}": 0, "other": ', path.read_text(), count=1))
    with pytest.raises(ValueError, match=r"damaged opponents\.js"):
        opponents.read(tmp_path)
