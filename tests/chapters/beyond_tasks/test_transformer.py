"""The pixel transformer: its size, where its tokens stand, and what it refuses."""

from __future__ import annotations

import pytest
import torch

from benchmarks.spatial import registry
from chapters.beyond_tasks import decoders
from chapters.beyond_tasks.transformer import PixelTransformer


def made(**options: int) -> PixelTransformer:
    return registry.build(PixelTransformer, n_inputs=6, image_shape=(4, 5), seed=0, **options)


def test_its_parameters_are_those_of_the_formula():
    model = made(width=8, depth=3)
    count = sum(one.numel() for one in model.parameters())
    assert count == 7 * 8 + 3 * (12 * 8**2 + 13 * 8) + 8 + 1


def test_every_pixel_is_told_the_code_and_its_own_place():
    model, x = made(width=8), torch.zeros(2, 6)
    x[1, 0] = 1.0
    with torch.no_grad():
        drawn = model(x)
    assert drawn.shape == (2, 4, 5) and not torch.isclose(drawn[0], drawn[1]).any()
    assert drawn[0].unique().numel() == 20, "told apart by their places alone"


def test_layers_have_units_for_every_pixel():
    model, x = made(width=8, depth=2), torch.rand(3, 6)
    maps = decoders.located(model, x)
    assert [one.shape for one in maps] == [(3, 8, 4, 5)] * 2
    last = decoders.hidden(model, x)
    assert torch.equal(last, maps[-1].flatten(2).movedim(1, 2).flatten(1))
    with torch.no_grad():
        head = model.layers[-1](last.unflatten(1, (20, 8)))[..., 0].unflatten(1, (4, 5))
    torch.testing.assert_close(head, model(x).detach())


@pytest.mark.parametrize("wrong", [{"width": 6}, {"width": 0}, {"depth": 0}])
def test_what_it_cannot_be_is_said(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        made(**wrong)
