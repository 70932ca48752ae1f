"""One attention layer over the patches of an image, trained to restore hidden patches (VN App. B,
Eqs. 18 and 21).

Shapes: tokens z (batch, T, d_model); queries, keys and values (batch, heads, T, d_head); scores and
weights A (batch, heads, T, T). Row i of A says how token i mixes the values of all tokens; it
is >= 0 and sums to one.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Generator, Tensor, nn

from vnlib import checks

KINDS = ("softmax", "topk", "sparsemax", "linear")


def topk_softmax(scores: Float[Tensor, "*rows keys"], k: int) -> Float[Tensor, "*rows keys"]:
    """Softmax over the k largest scores of each row; the other weights are exactly zero."""
    kept = scores.topk(min(k, scores.shape[-1]), dim=-1)
    return torch.full_like(scores, -torch.inf).scatter(-1, kept.indices, kept.values).softmax(-1)


def sparsemax(scores: Float[Tensor, "*rows keys"]) -> Float[Tensor, "*rows keys"]:
    """The point of the simplex nearest to each row: argmin_p 1/2 `|p - s|^2` (Martins and Astudillo
    2016, Alg. 1).
    """
    ordered = scores.sort(-1, descending=True).values
    surplus = ordered.cumsum(-1) - 1
    count = torch.arange(1, scores.shape[-1] + 1, device=scores.device)
    size = (count * ordered > surplus).sum(-1, keepdim=True)
    return (scores - surplus.gather(-1, size - 1) / size).clamp_min(0)


class Attention(nn.Module):
    """out_i = sum_h sum_j A^h_ij z_j W_V^h W_O^h.

    A comes from scores q.k / sqrt(d_head), each row by itself: "softmax"; "topk", softmax over the
    `top_k` largest; "sparsemax". In "linear" attention (Katharopoulos et al. 2020) it is
    phi(q).phi(k) over its row sum, with phi = 1 + elu > 0. There are no biases.

    Raises
    ------
    ValueError
        For sizes that are not positive integers and for an unknown `kind`.
    """

    def __init__(
        self,
        *,
        d_model: int,
        d_head: int,
        heads: int = 1,
        kind: str = "softmax",
        top_k: int = 4,
        generator: Generator,
    ) -> None:
        super().__init__()
        for name, value in (
            ("d_model", d_model),
            ("d_head", d_head),
            ("heads", heads),
            ("top_k", top_k),
        ):
            checks.number(name, value, low=1, integer=True)
        checks.choice("kind", kind, KINDS)
        self.d_head, self.heads, self.kind, self.top_k = d_head, heads, kind, top_k

        def weights(rows: int, columns: int) -> nn.Parameter:
            return nn.Parameter(torch.randn(heads, rows, columns, generator=generator) / rows**0.5)

        self.W_Q, self.W_K, self.W_V = (weights(d_model, d_head) for _ in range(3))
        self.W_O = weights(d_head, d_model)

    def project(self, z: Float[Tensor, "batch tokens d_model"]) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values."""
        return tuple(torch.einsum("btd,hde->bhte", z, W) for W in (self.W_Q, self.W_K, self.W_V))

    def scores(
        self, q: Float[Tensor, "*batch rows d_head"], k: Float[Tensor, "*#batch keys d_head"]
    ) -> Float[Tensor, "*batch rows keys"]:
        """What the rows are made of, before they are normalised: a product of two factors of width
        d_head (Eq. 21).
        """
        if self.kind == "linear":
            return (1 + F.elu(q)) @ (1 + F.elu(k)).mT
        return q @ k.mT / self.d_head**0.5

    def normalise(self, scores: Float[Tensor, "*rows keys"]) -> Float[Tensor, "*rows keys"]:
        """Weights from scores, each row by itself."""
        if self.kind == "softmax":
            return scores.softmax(-1)
        if self.kind == "topk":
            return topk_softmax(scores, self.top_k)
        return (
            sparsemax(scores) if self.kind == "sparsemax" else scores / scores.sum(-1, keepdim=True)
        )

    def weights(
        self, z: Float[Tensor, "batch tokens d_model"]
    ) -> Float[Tensor, "batch heads tokens tokens"]:
        """A(z)."""
        q, k, _ = self.project(z)
        return self.normalise(self.scores(q, k))

    def mix(
        self,
        weights: Float[Tensor, "batch heads tokens keys"],
        v: Float[Tensor, "batch heads keys d_head"],
    ) -> Float[Tensor, "batch tokens d_model"]:
        """The output for given weights and values."""
        return torch.einsum("bhij,bhje,hed->bid", weights, v, self.W_O)

    def forward(
        self, z: Float[Tensor, "batch tokens d_model"]
    ) -> Float[Tensor, "batch tokens d_model"]:
        q, k, v = self.project(z)
        return self.mix(self.normalise(self.scores(q, k)), v)

    def token_maps(self) -> Float[Tensor, "heads d_model d_model"]:
        """W_V^h W_O^h: what a head does to a state that it reads. The same for every input."""
        return self.W_V @ self.W_O

    def linear_map(
        self, weights: Float[Tensor, "batch heads tokens tokens"]
    ) -> Float[Tensor, "batch states states"]:
        """sum_h A^h (x) (W_V^h W_O^h)': the linear map that the weights make of the layer, on all
        states at once.
        """
        whole = torch.einsum("bhij,hde->biejd", weights, self.token_maps())
        return whole.flatten(3, 4).flatten(1, 2)


class PatchPredictor(nn.Module):
    """Restores the hidden patches of an image from the others, through one attention layer with a
    skip connection.

    z = E tokens + position, with one learned vector in place of E tokens where a patch is hidden;
    prediction R (z + attention(z)) + b. Hidden patches know their position and nothing else: the
    layer has to mix.

    Raises
    ------
    ValueError
        For sizes that are not positive integers, an unknown `kind`, and a `hidden_share` that hides
        no token or all of them.
    """

    def __init__(
        self,
        *,
        n_tokens: int,
        d_token: int,
        d_model: int = 32,
        d_head: int = 8,
        heads: int = 1,
        kind: str = "softmax",
        top_k: int = 4,
        hidden_share: float = 0.5,
        seed: int,
    ) -> None:
        super().__init__()
        checks.number("n_tokens", n_tokens, low=2, integer=True)
        checks.number("d_token", d_token, low=1, integer=True)
        checks.number("hidden_share", hidden_share, low=0, high=1)
        self.n_hidden = round(hidden_share * n_tokens)
        if not 0 < self.n_hidden < n_tokens:
            raise ValueError(
                f"hidden_share must hide 1 to {n_tokens - 1} of {n_tokens} tokens, got "
                f"{hidden_share!r}"
            )
        rng = torch.Generator().manual_seed(seed)
        options = {"d_head": d_head, "heads": heads, "kind": kind, "top_k": top_k}
        self.attention = Attention(d_model=d_model, **options, generator=rng)
        self.embedding = nn.Parameter(torch.randn(d_token, d_model, generator=rng) / d_token**0.5)
        self.position = nn.Parameter(0.4 * torch.randn(n_tokens, d_model, generator=rng))
        self.placeholder = nn.Parameter(torch.zeros(d_model))
        # Small, so that training starts near the prediction "blank" and not by unlearning noise.
        self.readout = nn.Parameter(
            0.3 * torch.randn(d_model, d_token, generator=rng) / d_model**0.5
        )
        self.bias = nn.Parameter(torch.zeros(d_token))

    def embed(
        self, tokens: Float[Tensor, "batch tokens d_token"], hidden: Bool[Tensor, "#batch tokens"]
    ) -> Float[Tensor, "batch tokens d_model"]:
        """The states z that the attention layer reads.

        Raises
        ------
        ValueError
            For tokens of another shape.
        """
        expected = (self.position.shape[0], self.embedding.shape[0])
        if tokens.ndim != 3 or tuple(tokens.shape[1:]) != expected:
            wanted = f"(batch, n_tokens={expected[0]}, d_token={expected[1]})"
            raise ValueError(f"tokens must have the shape {wanted}, got {tuple(tokens.shape)}")
        return (
            torch.where(hidden[..., None], self.placeholder, tokens @ self.embedding)
            + self.position
        )

    def read(
        self, z: Float[Tensor, "batch tokens d_model"]
    ) -> Float[Tensor, "batch tokens d_token"]:
        """The patches that states say."""
        return z @ self.readout + self.bias

    def forward(
        self, tokens: Float[Tensor, "batch tokens d_token"], hidden: Bool[Tensor, "#batch tokens"]
    ) -> Float[Tensor, "batch tokens d_token"]:
        """Predictions of all patches; what the hidden ones hold is never looked at."""
        z = self.embed(tokens, hidden)
        return self.read(z + self.attention(z))

    def loss(
        self, tokens: Float[Tensor, "batch tokens d_token"], *, generator: Generator
    ) -> Float[Tensor, ""]:
        """Mean squared error of the hidden patches; `generator` draws, per sample, which ones are
        hidden.
        """
        order = torch.rand(tokens.shape[:2], generator=generator, device=generator.device).argsort(
            1
        )
        return self.error(tokens, (order < self.n_hidden).to(tokens.device))

    def error(
        self, tokens: Float[Tensor, "batch tokens d_token"], hidden: Bool[Tensor, "#batch tokens"]
    ) -> Float[Tensor, ""]:
        """Mean squared error of the patches that `hidden` hides."""
        missed = (self(tokens, hidden) - tokens).square().mean(-1)
        return missed[hidden.expand(missed.shape)].mean()
