"""Grids of combinations, and the codes on them of models whose codes are known."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from benchmarks.nbody.bodies import LAWS, Bodies, Samples
from chapters.beyond_representation import codes, grids, models
from vnlib.fit import Training


def rows(n: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(n, 16, generator=torch.Generator().manual_seed(seed)) ** 3


def training(workdir: Path, seed: int = 0) -> Training:
    return Training(lr=1e-2, steps=3, batch_size=8, seed=seed, workdir=workdir)


def bodies(n: int, seed: int = 0) -> Samples:
    rng = torch.Generator().manual_seed(seed)
    position, velocity, acceleration = (torch.randn(n, 5, 2, generator=rng) for _ in range(3))
    forces = torch.eye(4)[torch.arange(n) % 4]
    return Samples(position, velocity, torch.ones(n, 5, dtype=torch.bool), forces, acceleration)


def signals() -> grids.Grid:
    x, shape, seen = grids.sums(rows(4), rows(3, seed=1))
    return grids.Grid(rows(40), rows(8), x, shape, seen, x)


def test_sums_and_what_is_single():
    a, b = rows(2), rows(3, seed=1)
    x, shape, seen = grids.sums(a, b)
    assert shape == (1, 3, 4) and x.shape == (12, 16)
    grid = x.unflatten(0, shape)[0]
    assert not grid[0, 0].any()
    assert torch.equal(grid[1, 0], a[0]) and torch.equal(grid[0, 3], b[2])
    assert torch.equal(grid[2, 1], a[1] + b[0])
    assert seen.tolist() == [[True] * 4, [True, False, False, False], [True, False, False, False]]


def test_laws_are_set_and_bodies_become_contexts():
    x, shape, seen = grids.under_laws(bodies(2).bodies)
    assert isinstance(x, Bodies) and shape == (2, 3, 3) and int(seen.sum()) == 5
    acts = x.forces.unflatten(0, shape)
    assert not acts[:, 0, 0].any()
    for first, law in enumerate(("gravity", "spring"), 1):
        for second, other in enumerate(("drag", "lorentz"), 1):
            on = [name for name, value in zip(LAWS, acts[1, first, second], strict=True) if value]
            assert on == [law, other]
    position = codes.gridded(x.position, shape)
    assert position.shape == (10, 3, 3, 2)
    assert torch.equal(position[7, 2, 1], bodies(2).position[1, 2])


def test_accelerations_of_a_grid_add_up():
    grid = grids.forces(n_train=2, n_val=1, n_states=4, seed=0)
    truth = codes.gridded(grid.truth, grid.shape)
    added = truth[:, 1:, :1] + truth[:, :1, 1:]
    torch.testing.assert_close(truth[:, 1:, 1:], added, atol=1e-5, rtol=0)
    assert not truth[:, 0, 0].any() and truth[:, 1, 0].abs().min() > 0


def test_a_square_of_positions_is_new_and_x_comes_first():
    grid = grids.spatial(grid=16, seed=0)
    images = grid.truth.unflatten(0, grid.shape)[0]
    assert images[3, 9].sum(0).argmax() == 3 and images[3, 9].sum(1).argmax() == 9
    new = ~grid.seen
    assert new.any(0).sum() * new.any(1).sum() >= new.sum() > 0 and grid.seen[0].all()


def test_the_input_itself_is_a_linear_code_without_error(tmp_path):
    model = models.autocoder(rows(40), rows(8), training(tmp_path), family="identity")
    found = codes.measured(model, signals(), details=True).sel(layer="input")
    for name in ("linearity", "transfer", "read_first", "read_second"):
        assert float(found[name]) == pytest.approx(1), name
    assert found["error_seen"] == found["error_unseen"] == 0 and found["is_code"] == 1
    assert found["cosines"].shape == (9, 9)  # 5 and 4 values, "none" among them


def test_summed_tokens_are_linear_and_orthogonal_in_the_forces(tmp_path):
    model = models.dynamics(bodies(24), bodies(8, 1), training(tmp_path), family="tokens")
    x, shape, seen = grids.under_laws(bodies(4, 3).bodies)
    grid = grids.Grid(None, None, x, shape, seen, torch.ones_like(x.position))
    found = codes.measured(model, grid).sel(layer="input")
    assert float(found["linearity"]) == pytest.approx(1)
    assert float(found["transfer"]) == pytest.approx(1)
    assert float(found["overlap"]) == pytest.approx(0, abs=1e-12)


def test_errors_by_hand():
    truth = torch.tensor([[0.0], [1.0], [1.0], [2.0]])
    drawn = torch.tensor([[9.0], [1.0], [0.0], [1.0]])
    found = codes.errors(drawn, truth, torch.tensor([[[True, True], [True, False]]]))
    assert found == {"error_seen": 0.5, "error_unseen": 0.25}  # the first is nothing to draw
    with pytest.raises(ValueError, match="truth must have the shape"):
        codes.errors(drawn, truth[:, 0], torch.ones(1, 2, 2, dtype=torch.bool))


def test_one_seed_one_result(tmp_path):
    def found(seed: int, name: str):
        own = training(tmp_path / name, seed)
        options = {"atoms": [10], "sparsity": [0.05]}
        model = models.autocoder(rows(40), rows(8), own, family="vn", **options)
        return codes.measured(model, signals())

    assert found(0, "a").identical(found(0, "b")) and not found(0, "a").equals(found(1, "c"))
