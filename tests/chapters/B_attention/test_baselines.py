"""The attention layer against torch's own, the mathematics of its weights, and that it learns to
restore patches.
"""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from chapters.B_attention.baselines import KINDS, Attention, PatchPredictor, sparsemax, topk_softmax
from vnlib.fit import FitConfig, GradientLearner, fit

T, D_MODEL, D_HEAD = 9, 12, 3
every_kind = pytest.mark.parametrize("kind", KINDS)


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def layer(kind: str = "softmax", heads: int = 2, **options: int) -> Attention:
    options = {
        "d_model": D_MODEL,
        "d_head": D_HEAD,
        "heads": heads,
        "kind": kind,
        "generator": rng(),
    } | options
    return Attention(**options).double()


def states(batch: int = 4, seed: int = 1) -> torch.Tensor:
    return 2 * torch.randn(batch, T, D_MODEL, generator=rng(seed), dtype=torch.float64)


def predictor(**options) -> PatchPredictor:
    return PatchPredictor(
        **({"n_tokens": T, "d_token": 5, "d_model": D_MODEL, "d_head": D_HEAD, "seed": 0} | options)
    )


def rank(M: torch.Tensor) -> torch.Tensor:
    return torch.linalg.matrix_rank(M, rtol=1e-10)


# --- Against torch --------------------------------------------------------------------------------


def test_softmax_attention_is_torchs_own():
    attention, z = layer(), states()
    q, k, v = attention.project(z)
    heads = F.scaled_dot_product_attention(q, k, v)
    torch.testing.assert_close(attention(z), torch.einsum("bhie,hed->bid", heads, attention.W_O))


def test_a_layer_is_multi_head_attention_with_the_same_weights():
    attention, z = layer(heads=4), states()
    ours = nn.MultiheadAttention(D_MODEL, 4, bias=False, batch_first=True).double()
    with torch.no_grad():
        joined = [
            W.transpose(0, 1).reshape(D_MODEL, -1).T
            for W in (attention.W_Q, attention.W_K, attention.W_V)
        ]
        ours.in_proj_weight.copy_(torch.cat(joined))
        ours.out_proj.weight.copy_(attention.W_O.reshape(-1, D_MODEL).T)
    output, weights = ours(z, z, z, average_attn_weights=False)
    torch.testing.assert_close(attention(z), output)
    torch.testing.assert_close(attention.weights(z), weights)


# --- Weights --------------------------------------------------------------------------------------


@every_kind
def test_rows_of_weights_are_distributions(kind):
    A = layer(kind).weights(states())
    assert A.shape == (4, 2, T, T) and (A >= 0).all()
    torch.testing.assert_close(A.sum(-1), torch.ones(4, 2, T, dtype=torch.float64))


def test_who_has_exact_zeros():
    zeros = {kind: int((layer(kind).weights(states()) == 0).sum(-1).max()) for kind in KINDS}
    assert zeros["softmax"] == zeros["linear"] == 0
    assert zeros["topk"] == T - 4 and zeros["sparsemax"] > 0


def test_top_k_is_the_softmax_of_the_largest_scores():
    scores = torch.tensor([[1.0, 3.0, 2.0, -1.0]])
    expected = torch.zeros(1, 4)
    expected[:, 1:3] = torch.tensor([3.0, 2.0]).softmax(0)
    torch.testing.assert_close(topk_softmax(scores, 2), expected)
    torch.testing.assert_close(topk_softmax(scores, 9), scores.softmax(-1))


def test_sparsemax_by_hand_and_by_its_definition():
    torch.testing.assert_close(
        sparsemax(torch.tensor([[1.0, 0.8, -1.0]])), torch.tensor([[0.6, 0.4, 0.0]])
    )
    torch.testing.assert_close(sparsemax(torch.tensor([[5.0, 0.0]])), torch.tensor([[1.0, 0.0]]))
    scores = torch.randn(50, 6, generator=rng(), dtype=torch.float64)
    p = sparsemax(scores)
    # The nearest point p of the simplex: (s - p).(q - p) <= 0 for every vertex q.
    beyond = (scores - p)[:, None] @ (torch.eye(6, dtype=torch.float64) - p[:, None]).mT
    assert beyond.max() < 1e-12


def test_linear_attention_is_a_quotient_of_sums_over_keys():
    """Katharopoulos et al. 2020, Eq. 4: no T x T matrix is needed."""
    attention, z = layer("linear"), states()
    q, k, v = attention.project(z)
    q, k = 1 + F.elu(q), 1 + F.elu(k)
    read = (q @ (k.mT @ v)) / (q @ k.sum(2)[..., None])
    torch.testing.assert_close(attention.weights(z) @ v, read)


@every_kind
def test_weights_depend_on_no_other_sample_and_on_the_order_of_keys_only_by_name(kind):
    attention, z = layer(kind), states()
    torch.testing.assert_close(attention(z)[2:3], attention(z[2:3]))
    order = torch.randperm(T, generator=rng())
    torch.testing.assert_close(attention(z)[:, order], attention(z[:, order]))


# --- Rank and the linear map ----------------------------------------------------------------------


@pytest.mark.parametrize("d_head", [1, 2, 4])
def test_scores_have_the_rank_of_a_head_and_weights_may_have_more(d_head):
    attention, z = layer(d_head=d_head), states()
    q, k, _ = attention.project(z)
    scores = attention.scores(q, k)
    assert (rank(scores) == d_head).all()
    assert (rank(attention.normalise(scores)) > d_head).all()


def test_linear_attention_keeps_the_rank_of_a_head():
    assert (rank(layer("linear").weights(states())) <= D_HEAD).all()


@every_kind
def test_linear_map_is_what_the_weights_make_of_the_layer(kind):
    attention, z = layer(kind), states()
    whole = attention.linear_map(attention.weights(z))
    torch.testing.assert_close((whole @ z.flatten(1)[..., None])[..., 0], attention(z).flatten(1))


def test_rank_of_the_linear_map_of_one_head_is_a_product():
    attention, z = layer(heads=1), states(batch=2)
    A = attention.weights(z)
    assert (rank(attention.token_maps()) == D_HEAD).all()
    torch.testing.assert_close(rank(attention.linear_map(A)), rank(A[:, 0]) * D_HEAD)


# --- Gradients ------------------------------------------------------------------------------------


@every_kind
def test_gradients_by_finite_differences(kind):
    attention = Attention(
        d_model=4, d_head=2, heads=2, kind=kind, top_k=2, generator=rng()
    ).double()
    z = torch.randn(1, 3, 4, generator=rng(1), dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(attention, (z,))


# --- Restoring patches ----------------------------------------------------------------------------


def test_hidden_patches_are_never_looked_at():
    model, tokens = predictor(), torch.randn(3, T, 5, generator=rng())
    hidden = torch.arange(T)[None] % 2 == 0
    other = torch.where(hidden[..., None], torch.randn(3, T, 5, generator=rng(1)), tokens)
    torch.testing.assert_close(model(tokens, hidden), model(other, hidden), rtol=0, atol=0)
    assert not torch.equal(model(tokens, ~hidden), model(other, ~hidden))


def test_error_is_that_of_the_hidden_patches():
    model, tokens = predictor(), torch.randn(3, T, 5, generator=rng())
    hidden = torch.arange(T)[None] < 2
    expected = (model(tokens, hidden) - tokens)[:, :2].square().mean()
    torch.testing.assert_close(model.error(tokens, hidden), expected)


def test_loss_hides_as_many_patches_as_asked_and_follows_its_generator():
    model, tokens, seen = predictor(hidden_share=1 / 3), torch.randn(64, T, 5, generator=rng()), []
    model.error = lambda tokens, hidden: seen.append(hidden) or torch.zeros(())
    for seed in (0, 0, 1):
        model.loss(tokens, generator=rng(seed))
    assert all((hidden.sum(1) == 3).all() for hidden in seen)
    assert torch.equal(seen[0], seen[1]) and not torch.equal(seen[0], seen[2])
    assert (seen[0].float().mean(0) > 0).all(), "every patch is hidden now and then"


def test_same_seed_same_bits_and_the_global_state_is_left_alone():
    before = torch.get_rng_state()
    one, same, other = predictor(), predictor(), predictor(seed=1)
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), same.parameters(), strict=True))
    assert not torch.equal(one.embedding, other.embedding)


@every_kind
def test_training_learns_what_only_mixing_can_tell(kind):
    """All patches of a sample are equal, so a hidden one can be read from any other."""
    tokens = torch.randn(256, 1, 5, generator=rng()).expand(-1, T, -1).contiguous()
    model, hidden = predictor(kind=kind, d_head=8), (torch.arange(T) % 2 == 0)[None]
    zero_mse = float(tokens.square().mean())
    fit(
        GradientLearner(model, lr=1e-2, weight_decay=0),
        (tokens,),
        FitConfig(steps=150),
        seed=0,
        validate=lambda: float(model.error(tokens, hidden).detach()),
    )
    assert float(model.error(tokens, hidden).detach()) < 0.2 * zero_mse


# --- Bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"kind": "hard"},
            "kind must be one of 'softmax', 'topk', 'sparsemax', 'linear', got 'hard'",
        ),
        ({"heads": 0}, "heads must be an integer >= 1, got 0"),
        ({"d_head": 1.5}, "d_head must be an integer >= 1, got 1.5"),
        ({"top_k": 0}, "top_k must be an integer >= 1, got 0"),
        ({"hidden_share": 0.0}, "hidden_share must hide 1 to 8 of 9 tokens, got 0.0"),
        ({"hidden_share": 1.0}, "hidden_share must hide 1 to 8 of 9 tokens, got 1.0"),
        ({"n_tokens": 1}, "n_tokens must be an integer >= 2, got 1"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        predictor(**options)


def test_tokens_of_another_shape_are_refused():
    with pytest.raises(
        ValueError,
        match=r"tokens must have the shape \(batch, n_tokens=9, d_token=5\), got \(3, 9, 4\)",
    ):
        predictor()(torch.zeros(3, T, 4), torch.ones(1, T, dtype=torch.bool))
