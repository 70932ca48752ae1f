"""Models that take the bodies as tokens: a transformer and a selective state-space model."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from mambapy.mamba import MambaBlock
from torch import Tensor, nn

from benchmarks.baselines.mamba import Blocks
from benchmarks.baselines.parts import check_sizes
from benchmarks.nbody.baseline import Dynamics, amplify
from benchmarks.nbody.bodies import LAWS, Accelerations, Bodies, Scales, literal, own_velocity
from vnlib import checks

READINGS = ("literal", "state")


class OfTokens(Dynamics):
    """A model that reads bodies as tokens of `d_model` numbers, and gives every body a linear map of
    what it makes of the body's token.

    A token is a linear map of the numbers that `reading` gives, 0 for an absent body. "literal":
    the body's 22 numbers, as the other models get them, and its own position: 24 numbers. What it
    holds of the others is in the order of their places. "state": velocity, position and the forces'
    code, 8 numbers that hold nothing of the others. Positions have their origin in the box's
    centre, in the scale of displacements.

    Parameters
    ----------
    reading
        One of `READINGS`.
    gain
        Multiplies the initial weights of the map (see `amplify`).

    Raises
    ------
    ValueError
        Unless sizes are integers >= 1, `reading` is one of `READINGS` and `gain` is > 0.
    """

    def __init__(
        self, scales: Scales, reading: str, gain: float, *, d_model: int, **sizes: int
    ) -> None:
        super().__init__(scales=scales)
        checks.choice("reading", reading, READINGS)
        check_sizes(d_model=d_model, **sizes)
        self.reading = reading
        self.embed = nn.Linear(24 if reading == "literal" else 4 + len(LAWS), d_model)
        amplify(self.embed, gain)

    def tokens(self, bodies: Bodies) -> Float[Tensor, "batch body d_model"]:
        """The tokens of checked bodies."""
        here = bodies.present[..., None]
        parts = [torch.where(here, bodies.position / self.scales.displacement, 0.0)]
        if self.reading == "literal":
            parts.append(literal(bodies, self.scales))
        else:
            code = bodies.forces[:, None].expand(-1, bodies.present.shape[1], -1)
            parts += [own_velocity(bodies, self.scales), code]
        return torch.where(here, self.embed(torch.cat(parts, -1)), 0.0)


class BodyTransformer(OfTokens):
    """Bodies as tokens -> `layers` of attention among those that are there, and
    MLP -> norm -> accelerations.

    The Transformer of VN Sec. 4.3 and App. H, which name it and give no sizes; here torch's encoder
    layers with normalisation before each half (`d_model` wide, `heads` heads, an MLP of `width`
    GELU units), no dropout, and nothing that tells a token's place. With reading="state" the order
    of the bodies does not matter; with "literal" it does, by way of the numbers read.

    Raises
    ------
    ValueError
        For what `OfTokens` refuses, and unless `heads` divides `d_model`.
    """

    def __init__(
        self,
        *,
        scales: Scales,
        reading: str = "literal",
        d_model: int = 64,
        heads: int = 4,
        layers: int = 2,
        width: int = 128,
        gain: float = 1.0,
    ) -> None:
        sizes = {"d_model": d_model, "heads": heads, "layers": layers, "width": width}
        super().__init__(scales, reading, gain, **sizes)
        if d_model % heads:
            raise ValueError(f"heads must divide d_model={d_model}, got {heads}")
        layer = nn.TransformerEncoderLayer(
            d_model, heads, width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        # torch copies the one layer, so that all layers start from the same weights.
        self.layers = nn.TransformerEncoder(
            layer, layers, norm=nn.LayerNorm(d_model), enable_nested_tensor=False
        )
        self.readout = nn.Linear(d_model, 2)

    def respond(self, bodies: Bodies) -> Accelerations:
        # Where no body is there, attention sees all five: a softmax over none is NaN, and so are
        # its gradients.
        hidden = ~bodies.present & bodies.present.any(1, keepdim=True)
        return self.readout(self.layers(self.tokens(bodies), src_key_padding_mask=hidden))


class BodyMamba(OfTokens):
    """Bodies as a sequence of tokens -> Mamba, from either end -> the sum of both -> accelerations.

    The Mamba of VN Sec. 4.3 and App. H, which name it and give no sizes; here the blocks of mambapy
    (Gu and Dao 2023): `layers` of `expand` times `d_model` inner units with `d_state` states each.
    Mamba is causal. So that every body is told of all the others, the same blocks read the bodies
    in the order of their places and in the reverse order, and a body's acceleration is a linear map
    of the sum of what the two leave at its place. Absent bodies come last both times, as zeros, and
    nothing reads on from them. The order of the bodies matters.
    """

    def __init__(
        self,
        *,
        scales: Scales,
        reading: str = "literal",
        d_model: int = 32,
        layers: int = 2,
        d_state: int = 4,
        expand: int = 1,
        gain: float = 1.0,
    ) -> None:
        sizes = {"d_model": d_model, "layers": layers, "d_state": d_state, "expand": expand}
        super().__init__(scales, reading, gain, **sizes)
        self.blocks, self.readout = Blocks(**sizes), nn.Linear(d_model, 2)
        self.blocks.config.pscan = False
        for block in self.blocks.blocks.layers:
            block.mixer = ShortScan(self.blocks.config)

    def respond(self, bodies: Bodies) -> Accelerations:
        tokens, orders = self.tokens(bodies), both_ways(bodies.present)
        ways = torch.cat([placed(tokens, order) for order in orders])
        read = self.blocks(ways).chunk(2)  # one pass for both ways
        return self.readout(
            sum(placed(one, order.argsort(1)) for one, order in zip(read, orders, strict=True))
        )


class ShortScan(MambaBlock):
    """A Mamba block that reads token by token, which is faster for five of them than a parallel
    scan.
    """

    def selective_scan_seq(
        self,
        x: Float[Tensor, "batch token unit"],
        delta: Float[Tensor, "batch token unit"],
        A: Float[Tensor, "unit state"],
        B: Float[Tensor, "batch token state"],
        C: Float[Tensor, "batch token state"],
        D: Float[Tensor, " unit"],
    ) -> Float[Tensor, "batch token unit"]:
        """h_t = exp(delta_t A) h_{t-1} + delta_t B_t x_t, y_t = C_t h_t + D x_t: what
        `selective_scan` computes.
        """
        parts, h, outputs = (x.unbind(1), delta.unbind(1), B.unbind(1), C.unbind(1)), 0.0, []
        for now, step, write, read in zip(*parts, strict=True):
            h = (step[:, None] * A.T).exp() * h + (step * now)[:, None] * write[..., None]
            outputs.append((read[:, None] @ h)[:, 0])
        return torch.stack(outputs, 1) + D * x


def both_ways(present: Tensor) -> tuple[Int[Tensor, "batch body"], Int[Tensor, "batch body"]]:
    """The places of the bodies that are there, first to last and last to first, and then those of
    the absent ones.

    Parameters
    ----------
    present
        (batch, 5) bool.
    """
    n = present.shape[1]
    place = torch.arange(n, device=present.device).expand(present.shape)
    return tuple(torch.where(present, key, n + place).argsort(1) for key in (place, -place))


def placed(
    tokens: Float[Tensor, "batch body d"], order: Int[Tensor, "batch body"]
) -> Float[Tensor, "batch body d"]:
    """Tokens in the order `order`: at place k, the token order[k]."""
    return tokens.gather(1, order[..., None].expand(tokens.shape))
