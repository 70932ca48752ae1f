"""The linearisation against finite differences and a Jacobian that is written down."""

from __future__ import annotations

import pytest
import torch

from benchmarks.spatial import registry
from chapters.beyond_kernel import tangent as tangents

SIDE = 8
FAMILIES = {
    "cnn": {"width": 3, "depth": 2},
    "mlp": {"hidden": [6, 5]},
    "broadcast": {"width": 3, "depth": 2},
    "factorised": {"hidden": 4},
}


def built(family: str, dtype: torch.dtype = torch.float32) -> torch.nn.Module:
    options = FAMILIES[family]
    shape = (SIDE, SIDE)
    return registry.build(family, n_inputs=4, image_shape=shape, seed=0, **options).to(dtype)


def codes(count: int = 5) -> torch.Tensor:
    return torch.randn(count, 4, generator=torch.Generator().manual_seed(0))


def jacobian(near: tangents.Tangent) -> torch.Tensor:
    """J (pixels, weights), written down."""
    eye = torch.eye(near.n_weights, dtype=torch.float64)
    return torch.stack([near.push(one).flatten() for one in eye], 1)


@pytest.mark.parametrize("family", FAMILIES)
def test_push_is_the_derivative_and_pull_its_transpose(family):
    near, model = tangents.tangent(built(family), codes()), built(family, torch.float64)
    generator = torch.Generator().manual_seed(1)
    change = torch.randn(near.n_weights, generator=generator, dtype=torch.float64)
    images = torch.randn(near.start.shape, generator=generator, dtype=torch.float64)
    torch.testing.assert_close(near.start, model(codes().double()))
    step = 1e-6
    with torch.no_grad():
        torch.nn.utils.vector_to_parameters(
            torch.nn.utils.parameters_to_vector(model.parameters()) + step * change,
            model.parameters(),
        )
        moved = (model(codes().double()) - near.start) / step
    torch.testing.assert_close(near.push(change), moved, rtol=1e-3, atol=1e-3)
    pushed, pulled = (near.push(change) * images).sum(), (near.pull(images) * change).sum()
    torch.testing.assert_close(pushed, pulled)


def test_the_path_ends_at_the_solution_of_least_norm():
    near = tangents.tangent(built("factorised"), codes(3))
    images = torch.rand(near.start.shape, generator=torch.Generator().manual_seed(2))
    path = tangents.least_norm_path(near, images, [1, 5, 400])
    wanted = (images.double() - near.start).flatten()
    exact = torch.linalg.pinv(jacobian(near), rtol=1e-10) @ wanted
    torch.testing.assert_close(path[-1], exact, rtol=1e-4, atol=1e-6)
    left = [float((near.push(one).flatten() - wanted).norm()) for one in path]
    assert left[0] > left[1] > left[2], "each step brings it nearer"
    for wrong in ([], [0, 3], [3, 2]):
        with pytest.raises(ValueError, match="iterations"):
            tangents.least_norm_path(near, images, wrong)


def test_the_kernel_is_the_trace_of_jacobians():
    near = tangents.tangent(built("mlp"), codes(4))
    rows = jacobian(near).unflatten(0, (4, -1))
    exact = torch.einsum("apw,bpw->ab", rows, rows)
    found = tangents.tangent_kernel(near, 4000, torch.Generator().manual_seed(0))
    torch.testing.assert_close(found, exact, rtol=0.1, atol=0.05 * float(exact.max()))
    torch.testing.assert_close(found, found.T)
