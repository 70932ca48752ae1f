"""The measures of App. B, where the answer is known: by hand, by a formula, or from the other side
of an identity.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from chapters.B_attention import adaptive, atom_competition, measure
from chapters.B_attention.baselines import Attention, PatchPredictor
from vnlib.network import VectorNetwork, VNConfig

SIDE, WIDTH = 2, 6
T, PIXELS = (WIDTH // SIDE) ** 2, WIDTH**2


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def images(n: int = 24, seed: int = 0) -> torch.Tensor:
    return torch.rand(n, PIXELS, generator=rng(seed)) * (
        torch.rand(n, PIXELS, generator=rng(seed + 1)) > 0.4
    )


def network(
    n_inputs: int = PIXELS, atoms: int = 20, sparsity: float = 0.15, seed: int = 0
) -> VectorNetwork:
    config = VNConfig(n_inputs=n_inputs, atoms=(atoms,), interface=(atoms,), sparsity=(sparsity,))
    return VectorNetwork(config, seed=seed)


def predictor(kind: str = "softmax", **options: int) -> PatchPredictor:
    return PatchPredictor(
        n_tokens=T, d_token=SIDE**2, d_model=8, seed=0, kind=kind, **({"d_head": 3} | options)
    )


HIDDEN = measure.checkerboard(T)


# --- Patches --------------------------------------------------------------------------------------


def test_patches_are_cut_in_reading_order_and_put_together_again():
    x = torch.arange(2 * PIXELS, dtype=torch.float32).reshape(2, PIXELS)
    tokens = measure.to_patches(x, SIDE)
    assert tokens.shape == (2, T, SIDE**2)
    assert tokens[0, 0].tolist() == [0, 1, 6, 7] and tokens[0, 4].tolist() == [14, 15, 20, 21]
    assert torch.equal(measure.from_patches(tokens, SIDE), x)


@pytest.mark.parametrize(("pixels", "side"), [(36, 4), (35, 1)])
def test_patches_that_do_not_fit_are_refused(pixels, side):
    with pytest.raises(
        ValueError, match=f"side must divide the width of square images, got {side} for {pixels}"
    ):
        measure.to_patches(torch.zeros(1, pixels), side)


def test_a_checkerboard_has_no_two_hidden_neighbours():
    board = measure.checkerboard(16).reshape(4, 4)
    assert (
        board.sum() == 8
        and not (board[1:] & board[:-1]).any()
        and not (board[:, 1:] & board[:, :-1]).any()
    )


# --- Measures -------------------------------------------------------------------------------------


def test_effective_number_counts_equal_entries():
    rows = torch.tensor([[1.0, 1, 1, 0], [5, 0, 0, 0], [0, 0, 0, 0], [3, 1, 0, 0]])
    expected = torch.tensor(
        [3.0, 1, 0, np.exp(-0.75 * np.log(0.75) - 0.25 * np.log(0.25))], dtype=torch.float64
    )
    torch.testing.assert_close(adaptive.effective_number(rows), expected)


def test_concentration_of_rows_that_are_known():
    c = torch.tensor([[[2.0, 0, 0, 0], [0, 0, 0, 0]], [[0, 1.0, 1, 0], [0, 0, 0, 0]]])
    found = {name: value for name, (_, value) in adaptive.concentration(c, order=5).items()}
    assert found["entries"] == 4 and found["zero_share"] == 5 / 8, "rows of zeros do not count"
    assert found["effective_number"] == pytest.approx(1.5) and found[
        "effective_share"
    ] == pytest.approx(1.5 / 4)
    assert found["fixed_share"] == pytest.approx((1 + 0.25 + 0.25) / 3)
    assert found["profile"].shape == (5,) and np.isnan(found["profile"][4])


def test_a_variable_that_does_not_adapt_is_fixed():
    c = torch.rand(1, 3, 4, generator=rng()).expand(7, -1, -1)
    assert adaptive.concentration(c, order=4)["fixed_share"][1] == pytest.approx(1)


def test_softmax_is_the_minimum_of_the_gibbs_energy_and_nothing_else_is():
    scores = 3 * torch.randn(40, 6, generator=rng(), dtype=torch.float64)
    assert adaptive.gibbs_gap(scores, scores.softmax(-1)).abs().max() < 1e-14
    other = torch.rand(40, 6, generator=rng(1), dtype=torch.float64)
    other = other / other.sum(-1, keepdim=True)
    divergence = (other * (other / scores.softmax(-1)).log()).sum(-1)
    torch.testing.assert_close(adaptive.gibbs_gap(scores, other), divergence)


def test_an_attention_step_descends_the_hopfield_energy():
    keys, beta = torch.randn(1, 6, 4, generator=rng(), dtype=torch.float64), 0.7
    state = torch.randn(30, 4, generator=rng(1), dtype=torch.float64)
    for _ in range(5):
        after = (beta * state @ keys[0].T).softmax(-1) @ keys[0]
        before = adaptive.hopfield_energy(state, keys, beta)
        assert (adaptive.hopfield_energy(after, keys, beta) <= before + 1e-12).all()
        state = after
    state.requires_grad_()
    (slope,) = torch.autograd.grad(adaptive.hopfield_energy(state, keys, beta).sum(), state)
    torch.testing.assert_close(state - slope, (beta * state @ keys[0].T).softmax(-1) @ keys[0])


def test_correlation_is_pearsons():
    a, b = torch.randn(2, 5, 9, generator=rng(), dtype=torch.float64)
    expected = [np.corrcoef(p, q)[0, 1] for p, q in zip(a.numpy(), b.numpy(), strict=True)]
    np.testing.assert_allclose(adaptive.correlation(a, b), expected)


# --- One model ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def of_network() -> tuple[VectorNetwork, torch.Tensor, dict]:
    net, x = network(), images()
    code = atom_competition.settled_code(net, x)
    found = adaptive.network_report(net, x, code, rows=1, n_ranks=len(x), order=20, seed=0)
    return net, code, {name: value for name, (_, value) in found.items()}


def test_a_networks_report_counts_what_its_code_says(of_network):
    _, code, found = of_network
    active = (code != 0).float().sum(1)
    assert 2 < active.mean() < 18
    assert found["zero_share"] == pytest.approx(1 - float(active.mean()) / 20)
    assert found["bound"] == pytest.approx(float(active.mean())) and found["rank"] == found["bound"]
    assert found["rank_excess"] == 0 and found["gap"] <= 1e-4
    assert found["gate_correlation"] == pytest.approx(1, abs=1e-6)


def test_atoms_are_untouched_where_no_sample_uses_them(of_network):
    _, code, found = of_network
    share = float((code == 0).float().mean())
    assert found["untouched_row"] == pytest.approx(share)
    assert found["untouched"].shape == (len(adaptive.BATCHES),)
    assert found["untouched"][0] == pytest.approx(share, abs=0.2), "batches of one are drawn"
    assert (np.diff(found["untouched"][:3]) < 0).all() and np.isnan(found["untouched"][3:]).all()


def test_inactive_atoms_do_not_move_unless_someone_moves_them(of_network, monkeypatch):
    net, *_ = of_network
    assert adaptive.idle_moved(net, images()[:1]) == 0
    original = adaptive.LocalLearner
    monkeypatch.setattr(
        adaptive, "LocalLearner", lambda network: original(network, decorrelation=0.5, masked=False)
    )
    assert adaptive.idle_moved(net, images()[:1]) > 0


def test_best_gain_is_least_squares():
    net, x = network(), images()
    code = atom_competition.feed_forward(net, x, threshold=0.3)
    best = adaptive.at_best_gain(net, code, x)
    for factor in (0.9, 1.1):
        assert (
            (x - best @ net.V[0].T).norm(dim=1) <= (x - factor * best @ net.V[0].T).norm(dim=1)
        ).all()
    torch.testing.assert_close(adaptive.at_best_gain(net, 3 * code, x), best)


@pytest.mark.parametrize("kind", ["softmax", "topk", "linear"])
def test_parts_of_tokens_add_up_to_the_gradient_of_the_values(kind):
    model, tokens = predictor(kind, heads=2), measure.to_patches(images(1), SIDE)
    received, part = adaptive.gated_tokens(model, tokens, HIDDEN)
    A = model.attention.weights(model.embed(tokens, HIDDEN[None]))
    torch.testing.assert_close(received, A[:, :, HIDDEN].sum(2).flatten(1))
    z = model.embed(tokens, HIDDEN[None]).detach()
    model.error(tokens, HIDDEN[None]).backward()
    q, k, v = model.attention.project(z)
    v = v.detach().requires_grad_()
    missed = (
        model.read(
            z + model.attention.mix(model.attention.normalise(model.attention.scores(q, k)), v)
        )
        - tokens
    )
    (by_value,) = torch.autograd.grad(missed[:, HIDDEN].square().mean(), v)
    torch.testing.assert_close(torch.einsum("btd,bhte->hde", z, by_value), model.attention.W_V.grad)
    torch.testing.assert_close(
        part.reshape(1, 2, T), torch.einsum("btd,bhte->bhtde", z, by_value).flatten(3).norm(dim=3)
    )


def test_a_heads_report_has_the_ranks_of_its_parts():
    tokens = measure.to_patches(images(), SIDE)
    for d_head in (1, 3):
        report = adaptive.attention_report(
            predictor(d_head=d_head), tokens, HIDDEN, n_ranks=4, n_maps=2, order=T, seed=0
        )
        found = {name: value for name, (_, value) in report.items()}
        assert found["score_rank"] == found["bound"] == d_head and found["rank_excess"] == 0
        assert found["rank"] > d_head and found["map_limit"] == T * 8
        assert (
            found["zero_share"] == 0
            and found["gap"] < 1e-12
            and (found["untouched"][:3] == 0).all()
        )


# --- What is added --------------------------------------------------------------------------------


def test_a_copy_of_an_atom_changes_nothing():
    net = network()
    planted = torch.rand(24, 20, generator=rng()) * (torch.rand(24, 20, generator=rng(1)) > 0.7)
    x = planted @ net.V[0].T
    found = atom_competition.similar_atom(
        net, x, atom_competition.settled_code, n_items=3, generator=rng()
    )
    share, total, shift = (
        found[name][1] for name in ("added_share", "pair_total", "duplicate_shift")
    )
    assert 0 <= share[-1] <= 1 and total[-1] == pytest.approx(1, abs=1e-2) and shift < 1e-2
    assert share[0] == 0, "a random direction is not worth its price"


def test_orthogonal_atoms_outside_the_added_sum_keep_all():
    net = network(atoms=PIXELS, sparsity=0.3)
    net.V[0].copy_(torch.linalg.qr(torch.randn(PIXELS, PIXELS, generator=rng())).Q)
    found = atom_competition.half_sum_atom(
        net, images(8), atom_competition.settled_code, generator=rng()
    )
    assert found["kept_rest"][1] == pytest.approx(1, abs=1e-3)
    assert found["kept_explained"][1] < 0.6


def test_one_pass_takes_no_notice_of_an_added_sum():
    def one_pass(network, x):
        return atom_competition.feed_forward(network, x, threshold=0.3)

    found = atom_competition.half_sum_atom(network(), images(8), one_pass, generator=rng())
    assert found["kept_explained"][1] == pytest.approx(1) and found["kept_rest"][
        1
    ] == pytest.approx(1)


def test_threshold_matches_the_number_of_active_atoms():
    net, x = network(), images()
    code = atom_competition.settled_code(net, x)
    threshold = atom_competition.matched_threshold(net, x, code)
    assert (atom_competition.feed_forward(net, x, threshold=threshold) != 0).sum() == (
        code != 0
    ).sum()


def layer(kind: str) -> tuple[Attention, torch.Tensor]:
    states = torch.randn(5, T, 8, generator=rng(3))
    return Attention(d_model=8, d_head=3, heads=2, kind=kind, generator=rng()), states


def test_a_copied_key_takes_weight_from_all_others():
    """Softmax: p of the pair becomes 2 p / (1 + p), of which the copy has half."""
    heads, z = layer("softmax")
    found = atom_competition.similar_key(heads, z, HIDDEN.nonzero()[:, 0], generator=rng())
    p = heads.weights(z)[:, :, HIDDEN].amax(-1).flatten().detach()
    assert found["added_share"][1][-1] == pytest.approx(0.5, abs=1e-6)
    assert found["pair_total"][1][-1] == pytest.approx(float((2 / (1 + p)).median()), rel=1e-5)
    assert (np.diff(found["added_share"][1]) > 0).all()


def test_the_shift_by_a_copy_is_that_of_attention_over_one_more_token():
    heads, z = layer("softmax")
    heads.heads, one = 1, z[:1]
    for name in ("W_Q", "W_K", "W_V", "W_O"):
        setattr(heads, name, torch.nn.Parameter(getattr(heads, name)[:1]))
    row = torch.tensor([2])
    found = atom_competition.similar_key(heads, one, row, generator=rng())
    with torch.no_grad():
        most = int(heads.weights(one)[0, 0, 2].argmax())
        longer = torch.cat([one, one[:, most : most + 1]], 1)
        read, was = (heads.weights(t)[0, 0, 2] @ heads.project(t)[2][0, 0] for t in (longer, one))
    assert found["duplicate_shift"][1] == pytest.approx(
        float((read - was).norm() / was.norm()), rel=1e-4
    )


@pytest.mark.parametrize(("kind", "alike"), [("softmax", True), ("linear", True), ("topk", False)])
def test_who_pays_for_an_added_sum_among_keys(kind, alike):
    heads, z = layer(kind)
    found = atom_competition.half_sum_key(heads, z, HIDDEN.nonzero()[:, 0], generator=rng())
    explained, rest = found["kept_explained"][1], found["kept_rest"][1]
    assert 0 < explained < 1 and 0 < rest <= 1
    assert (abs(explained - rest) < 1e-6) == alike


# --- All together ---------------------------------------------------------------------------------


def everything(seed: int = 0):
    models = {kind: predictor(kind) for kind in ("softmax", "topk")}
    return measure.compare(
        network(),
        network(SIDE**2, 8),
        models,
        images(),
        side=SIDE,
        n_ranks=6,
        n_maps=1,
        n_similar=1,
        n_half_sums=4,
        seed=seed,
    )


def test_everything_is_compared_and_the_same_seed_gives_the_same_bits():
    ds = everything()
    assert ds["model"].values.tolist() == [
        "vn_image",
        "vn_patches",
        "feed_forward",
        "softmax",
        "topk",
    ]
    everywhere = [
        "zero_share",
        "effective_share",
        "fixed_share",
        "rank",
        "bound",
        "map_rank",
        "gate_correlation",
    ]
    assert np.isfinite(ds[everywhere].to_array()).all()
    assert np.isnan(ds["score_rank"].sel(model="vn_image")) and np.isnan(
        ds["gap"].sel(model="topk")
    )
    for name in ("settle_left", "hopfield_left"):
        left = ds[name].values
        assert left[0] == 1 and (np.diff(left) < 1e-5).all() and left[-1] < 0.05
    assert ds["shown"].sizes["image"] == 4 and np.isnan(ds["shown"].sel(image="visible")).any()
    np.testing.assert_allclose(ds["shown_spectrum"].isel(index=0), 1)
    assert ds.identical(everything())


def test_hidden_pixels_are_restored_from_visible_ones():
    """Samples that are multiples of one image: what is seen says how bright the rest is."""
    base = images(1)
    net = network(atoms=2, sparsity=1e-3)
    net.V[0][:, 0] = base[0] / base[0].norm()
    x = torch.linspace(0.5, 2, 5)[:, None] * base
    error = measure.restored_error(net, x, HIDDEN, SIDE)
    assert error < 1e-4 * float(x.square().mean())
    spoiled = x + 5 * measure.from_patches(
        HIDDEN.float()[None, :, None].expand(5, -1, SIDE**2), SIDE
    )
    assert measure.restored_error(net, spoiled, HIDDEN, SIDE) == pytest.approx(25, rel=0.5), (
        "hidden pixels are not seen"
    )
