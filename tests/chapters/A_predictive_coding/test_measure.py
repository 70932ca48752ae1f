"""What is inferred and what would change: measures against closed forms, models against autograd."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from chapters.A_predictive_coding import measure, study
from chapters.A_predictive_coding.baselines import LocalUpdate
from chapters.A_predictive_coding.models import MODELS, Sizes, build

SIZES = Sizes(
    n_inputs=16,
    units=(10, 5),
    interface=6,
    sparsity=(0.3, 0.1),
    prior=0.2,
    feedback=0.1,
    discriminative=1.0,
    revive_after=3,
    steps=(10, 40),
    settle={"tol": 1e-4},
)


def rand(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed))


def made(name: str, *, sizes: Sizes = SIZES, seed: int = 0):
    return build(name, sizes, rand(40, 16), seed=seed)


# --- Measures -------------------------------------------------------------------------------------


def test_variability_is_the_share_of_power_outside_the_mean_map():
    gain, U, V = rand(7, 3) - 0.5, rand(4, 3, seed=1), rand(5, 3, seed=2)
    maps = torch.einsum("mk,bk,dk->bmd", U, gain, V)
    expected = 1 - maps.mean(0).square().sum() / maps.square().sum((1, 2)).mean()
    assert measure.variability(gain, (U.T @ U) * (V.T @ V)) == pytest.approx(
        float(expected), rel=1e-5
    )
    assert measure.variability(torch.ones(4, 3), torch.eye(3)) == pytest.approx(0, abs=1e-6)
    assert measure.variability(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]), torch.eye(2)) == 1
    assert measure.variability(torch.zeros(4, 3), torch.eye(3)) == 0


def test_power_share_counts_the_largest_entries():
    rows = torch.tensor(
        [[1.0, -1, 1, -1, 1, 1, 1, 1, 1, 1], [0, 0, 5, 0, 0, 0, 0, 0, 0, 0], [0.0] * 10]
    )
    assert measure.power_share(rows).tolist() == pytest.approx([0.9, 0.1, 0.0])
    assert measure.power_share(torch.tensor([[3.0, 4.0]]), part=0.6).tolist() == [0.5]  # 16 of 25


def test_cosine_of_updates():
    a = torch.tensor([[1.0, 0], [1, 1], [0, 0]])
    b = torch.tensor([[-2.0, 0], [1, 0], [1, 0]])
    assert measure.cosine(a, b).tolist() == pytest.approx([1, 0.5**0.5, 0])


def test_per_sample_updates_are_outer_products_in_one_row():
    updates = [
        LocalUpdate(rand(2, 3), rand(2, 4, seed=1)),
        LocalUpdate(rand(2, 2, seed=2), rand(2, 2, seed=3)),
    ]
    rows = measure.per_sample(updates)
    for b in range(2):
        expected = torch.cat([torch.outer(u.error[b], u.activity[b]).flatten() for u in updates])
        torch.testing.assert_close(rows[b], expected)


# --- Models ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_the_gain_weights_the_columns_that_reconstruct(name):
    one, x = made(name), rand(6, 16, seed=5)
    inferred = one.infer(x, trace=True)
    dictionary = one.columns()[0]
    torch.testing.assert_close(one.read(x)[0], inferred.gain @ dictionary.T)
    assert inferred.code.shape == inferred.gain.shape == (6, 10) and dictionary.shape == (16, 10)
    torch.testing.assert_close(inferred.updates[0].error, x - inferred.gain @ dictionary.T)
    assert torch.equal(inferred.updates[0].activity, inferred.gain)
    if inferred.energy:
        start, end = inferred.energy[0], inferred.energy[-1]
        assert (end < start).all()


@pytest.mark.parametrize("name", ["autoencoder", "linear"])
def test_updates_of_autoencoders_are_those_of_back_propagation(name):
    one, x = made(name), rand(6, 16, seed=5)
    one.model.loss(x, generator=torch.Generator()).backward()
    decoder, encoder = one.infer(x).updates
    torch.testing.assert_close(decoder.mean, -one.model.decoder.grad)
    torch.testing.assert_close(encoder.mean, -one.model.encoder.grad)


def test_a_linear_autoencoder_with_the_principal_axes_is_not_updated_along_them():
    """Its optimum is the principal subspace: there the update of the decoder vanishes."""
    x = rand(200, 16)
    axes = torch.linalg.svd(x, full_matrices=False).Vh[:10]
    one = made("linear")
    with torch.no_grad():
        one.model.encoder.copy_(axes)
        one.model.decoder.copy_(axes.T)
    assert all(u.mean.abs().max() < 1e-5 for u in one.infer(x).updates)


def test_models_are_what_their_names_say():
    same = {"pc": "bpc", "vn": "vn_dense", "vn_random": "vn"}
    for name, other in same.items():
        assert torch.equal(made(name).columns()[0], made(other).columns()[0]), "weights begin alike"
    assert len(made("bpc").model.discriminative) == 2 and not len(made("pc").model.discriminative)
    samples = rand(40, 16)
    atoms = made("vn_untrained").columns()[0].T
    unit = samples / samples.norm(dim=1, keepdim=True)
    assert ((atoms[:, None] - unit).abs().amax(2).amin(1) < 1e-6).all()
    x = rand(6, 16, seed=5)
    nonzero = {
        name: float((made(name).infer(x).code != 0).float().mean())
        for name in ("pc", "vn", "vn_dense", "pc_sparse")
    }
    assert (
        nonzero["pc"] == nonzero["vn_dense"] == 1 and max(nonzero["vn"], nonzero["pc_sparse"]) < 1
    )
    assert [m for m in MODELS if not made(m).learns] == ["vn_untrained", "vn_random"]
    with pytest.raises(ValueError, match="name must be one of 'pc', 'bpc', 'vn'"):
        made("gan")


def test_one_step_moves_all_of_pc_and_only_atoms_in_use_of_the_vn():
    x = rand(4, 16, seed=5)
    share, idle = measure.moved(made("pc"), x, lr=0.01)
    assert (share, idle) == (1.0, 0)
    vn = made("vn", sizes=dataclasses.replace(SIZES, sparsity=(0.6, 0.3)))
    inferred = vn.infer(x)
    active = float((inferred.code != 0).float().mean())
    assert 0 < active < 0.7
    before = [p.clone() for p in vn.model.parameters()]
    share, idle = measure.moved(vn, x, lr=0.01)
    assert idle == 0 and 0 < share < 0.8
    assert all(torch.equal(a, b) for a, b in zip(before, vn.model.parameters(), strict=True)), (
        "trials are copies"
    )


def test_idle_units_that_move_are_counted():
    """An optimiser that moves everything must be found out."""
    vn = made("vn", sizes=dataclasses.replace(SIZES, sparsity=(0.6, 0.3)))

    class Careless:
        def step(self, batch, *, scale, generator):
            for p in self.network.parameters():
                p.add_(0.1)

    def careless(self, lr):
        learner = Careless()
        learner.network = self.model
        return learner

    vn.__class__ = type("CarelessVN", (type(vn),), {"learner": careless})
    share, idle = measure.moved(vn, rand(4, 16, seed=5), lr=0.01)
    assert share == 1.0 and idle >= 1


def test_tasks_without_common_pixels_have_orthogonal_updates_in_a_sparse_network():
    """An atom that is blank where an input is not does not answer to it: V'x = 0 is below any
    lambda.
    """
    vn, x = made("vn_untrained"), rand(40, 16)
    left, right = study.tasks("halves", rand(90, 4, 4), torch.zeros(90).int())
    half = build("vn_untrained", SIZES, left, seed=0)
    assert not half.infer(right).code.any()
    apart = measure.portrait(half, left[:20], right[:20])
    assert float(apart["overlap"]) == 0
    assert np.isfinite(apart["touched"]).sum() == 5, "20 samples fill batches of up to 16"
    assert float(measure.portrait(vn, x[:20], x[20:])["overlap"]) > 0
