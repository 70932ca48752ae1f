"""Measures of linear and orthogonal factors, on codes whose values of them are known."""

from __future__ import annotations

import pytest
import torch

from benchmarks.spatial import geometry
from chapters.beyond_representation import measure


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=rng(seed), dtype=torch.float64)


def additive(u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """One context, z = 0.3 + u + v."""
    return (0.3 + u[:, None] + v[None])[None]


def border(n: int, m: int) -> torch.Tensor:
    seen = torch.zeros(n, m, dtype=torch.bool)
    seen[0] = seen[:, 0] = True
    return seen


def disjoint(n: int = 5, m: int = 4, units: int = 6) -> torch.Tensor:
    """Additive, with u and v in units of their own."""
    u, v = torch.zeros(n, 2 * units).double(), torch.zeros(m, 2 * units).double()
    u[:, :units], v[:, units:] = normal(n, units), normal(m, units, seed=1)
    return additive(u, v)


def test_additive_orthogonal_codes_are_both():
    z = disjoint()
    found = measure.measures(z, border(5, 4))
    for name in ("linearity", "shared", "transfer", "read_first", "read_second"):
        assert found[name] == pytest.approx(1), name
    assert found["overlap"] == pytest.approx(0, abs=1e-20)
    assert found["cosine"] == pytest.approx(0, abs=1e-20)
    assert found["first"] + found["second"] == pytest.approx(1)
    assert found["units"] == 12


def test_no_measure_sees_a_rotation_or_an_offset():
    z = disjoint() + 0.2 * normal(1, 5, 4, 12, seed=3)
    turn = torch.linalg.qr(normal(12, 12, seed=4)).Q
    one, other = (measure.measures(code, border(5, 4)) for code in (z, z @ turn + 7))
    for name in set(one) - {"active"}:
        assert one[name] == pytest.approx(other[name], abs=1e-8), name


def test_interactions_have_the_share_that_was_put_in():
    effects = measure.effects(normal(1, 6, 5, 8))
    rest = effects.rest / effects.rest.norm()
    main = effects.first[:, :, None] + effects.second[:, None]
    main = main / main.norm()
    for share in (0.0, 0.25, 0.9, 1.0):
        z = 3 * ((1 - share) ** 0.5 * main + share**0.5 * rest)
        assert measure.linearity(z)["linearity"] == pytest.approx(1 - share, abs=1e-12)


def test_shares_are_those_of_the_analysis_of_variance():
    z = normal(7, 7, 3)  # y, x
    known, found = geometry.anova(z), measure.linearity(z[None])
    assert found["first"] == pytest.approx(known["y"])
    assert found["second"] == pytest.approx(known["x"])
    assert found["linearity"] == pytest.approx(1 - known["both"])


def test_a_product_of_centred_factors_is_all_interaction():
    u, v = normal(6), normal(5, seed=1)
    z = ((u - u.mean())[:, None] * (v - v.mean())[None])[None, :, :, None]
    assert measure.linearity(z)["linearity"] == pytest.approx(0, abs=1e-12)


def test_effects_that_change_sign_with_the_context_are_linear_but_not_shared():
    z = disjoint()
    z = z - z.mean((1, 2), keepdim=True)
    found = measure.linearity(torch.cat([z, -z]))
    assert found["linearity"] == pytest.approx(1) and found["shared"] == pytest.approx(0, abs=1e-12)
    assert measure.linearity(torch.cat([z, z + 1]))["shared"] == pytest.approx(1)


def test_transfer_from_singles_is_superposition():
    z = normal(2, 4, 3, 5)
    guess = z[:, 1:, :1] + z[:, :1, 1:] - z[:, :1, :1]
    truth, seen = z[:, 1:, 1:], border(4, 3)
    mean = z[:, seen].mean(1)[:, None, None]
    wanted = 1 - (truth - guess).square().sum() / (truth - mean).square().sum()
    assert measure.transfer(z, seen) == pytest.approx(float(wanted))


def test_transfer_needs_a_chain_between_all_values():
    z, seen = disjoint(4, 4), torch.zeros(4, 4, dtype=torch.bool)
    seen[:2, :2] = seen[2:, 2:] = True
    with pytest.raises(ValueError, match="seen must join all values"):
        measure.transfer(z, seen)
    seen[0, 3] = True
    assert measure.transfer(z, seen) == pytest.approx(1)


def test_overlap_of_known_angles():
    angle = torch.tensor(0.7, dtype=torch.float64)
    u = torch.tensor([[1.0, 0, 0], [-1, 0, 0]], dtype=torch.float64)
    v = (
        torch.stack([angle.cos(), angle.sin(), torch.zeros_like(angle)])
        * torch.tensor([[2.0], [-2]]).double()
    )
    found = measure.overlap(additive(u, v))
    assert found["overlap"] == pytest.approx(float(angle.cos() ** 2))
    assert found["cosine"] == pytest.approx(float(angle.cos() ** 2))
    assert (found["dim_first"], found["dim_second"]) == (1, 1)
    assert measure.overlap(additive(u, u))["overlap"] == pytest.approx(1)


def test_random_subspaces_overlap_as_expected():
    found = [
        measure.overlap(additive(normal(4, 30, seed=i), normal(6, 30, seed=500 + i)), kept=1)
        for i in range(150)
    ]
    mean = sum(one["overlap"] for one in found) / len(found)
    assert {(one["dim_first"], one["dim_second"], one["overlap_random"]) for one in found} == {
        (3, 5, 5 / 30)
    }
    assert mean == pytest.approx(5 / 30, abs=0.012)  # 4 standard errors
    # u and v are drawn from one isotropic distribution: their mean squared cosine is 1 over its
    # dimension.
    assert sum(one["cosine"] for one in found) / len(found) == pytest.approx(1 / 30, abs=0.004)


def test_directions_hold_the_variance_that_is_asked_for():
    sizes = torch.tensor([3.0, 2.0, 1.0, 0.1]).double()
    u = torch.cat([torch.diag(sizes), -torch.diag(sizes)])
    u, v = (torch.nn.functional.pad(part, pad) for part, pad in ((u, (0, 4)), (u, (4, 0))))
    # powers 9, 4, 1, 0.01 of 14.01
    for kept, wanted in ((0.5, 1), (0.9, 2), (0.99, 3), (1.0, 4)):
        assert measure.overlap(additive(u, v), kept=kept)["dim_first"] == wanted


def test_a_factor_that_does_nothing_has_no_directions():
    found = measure.overlap(additive(normal(4, 3), torch.zeros(3, 3).double()))
    assert torch.tensor(list(found.values())).isnan().all()


def test_readers_of_codes_that_do_not_tell_a_factor_are_at_chance():
    z = additive(normal(5, 8), torch.zeros(4, 8).double())
    found = measure.readable(z, border(5, 4))
    # all are called by the commonest name
    assert found["read_first"] == 1 and found["read_second"] == pytest.approx(0)
    assert measure.readable(torch.ones(1, 5, 4, 2).double(), border(5, 4)) == {
        "read_first": 1 / 5,
        "read_second": 1 / 4,
    }


def test_readers_learn_from_one_half_of_the_contexts():
    told, other = disjoint(3, 3), disjoint(3, 3)
    assert measure.readable(torch.cat([told, other + 5]), border(3, 3))["read_first"] < 1
    assert measure.readable(torch.cat([told, other]), border(3, 3)) == {
        "read_first": 1,
        "read_second": 1,
    }
    swapped = other.transpose(1, 2)  # what u was is v now
    assert measure.readable(torch.cat([told, swapped]), border(3, 3))["read_first"] < 1


def test_additive_codes_draw_sums_but_no_products():
    z, seen = disjoint(4, 4), border(4, 4)
    u, v = normal(4, 3, seed=8), normal(4, 3, seed=9)
    assert measure.drawable(z, additive(u, v), seen) == pytest.approx(0, abs=1e-8)
    product = (u[:, None] * v[None])[None]
    assert measure.drawable(z, product, seen) > 0.1
    both = torch.cat([z, product], -1)
    assert measure.drawable(
        torch.cat([both, both]), torch.cat([product, product]), ~seen
    ) < measure.drawable(z, product, ~seen)
    # What was learned of one context is asked of another.
    turned = torch.cat([additive(u, v), -additive(u, v)])
    assert measure.drawable(torch.cat([z, z]), turned, seen) == pytest.approx(4, rel=1e-4)
    with pytest.raises(ValueError, match="y must be a grid"):
        measure.drawable(z, product[:, 1:], seen)


def test_cosines_of_disjoint_effects_are_in_two_blocks():
    found = measure.cosines(disjoint())
    assert found.shape == (9, 9)
    torch.testing.assert_close(found.diagonal(), torch.ones(9).double())
    assert float(found[:5, 5:].abs().max()) < 1e-12 and float(found[:5, :5].abs().min()) > 1e-3


@pytest.mark.parametrize(
    ("z", "seen", "says"),
    (
        (torch.zeros(1, 1, 3, 2), border(1, 3), "z must be a grid"),
        (torch.zeros(3, 3, 2), border(3, 3), "z must be a grid"),
        (torch.full((1, 3, 3, 2), torch.nan), border(3, 3), "z holds 18 value"),
        (torch.zeros(1, 3, 3, 2), torch.ones(3, 3), "seen must be bool"),
        (torch.zeros(1, 3, 3, 2), border(3, 4), "seen must be bool of shape"),
        (torch.zeros(1, 3, 3, 2), torch.ones(3, 3, dtype=torch.bool), "seen must hold out"),
        (torch.zeros(1, 3, 3, 2), torch.zeros(3, 3, dtype=torch.bool), "seen must hold out"),
    ),
)
def test_bad_grids_are_named(z, seen, says):
    for one in (measure.transfer, measure.readable):
        with pytest.raises(ValueError, match=says):
            one(z, seen)


def test_a_bad_share_is_named():
    with pytest.raises(ValueError, match="kept"):
        measure.overlap(disjoint(), kept=0)
