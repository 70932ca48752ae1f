"""The Vector Network as a decoder of positions into images (VN Sec. 4.1, App. F).

The text does not say how a sparse code becomes an image. The reading that works, chosen here: a
*product readout*, image = sum_{r < rank} (Q_r b)(U_r a)', with a and b the top codes of the x
stream and the y stream. It is quadratic in the codes, so VN Prop. 1 (superposition) does not hold
for it. The flat readout, image = P a, is the linear control. A network that reads images may also
draw by its dictionary, image = V a, and has nothing to read out then.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vnlib import checks, seeding
from vnlib.learning.learner import LocalLearner
from vnlib.learning.rules import MaskedAdam, atomic_hebb
from vnlib.network import VectorNetwork, VNConfig

Codes = tuple[Float[Tensor, "batch atoms"], ...]


class SpatialVN(nn.Module):
    """Sparse codes of a position, and a readout of them into an image.

    Parameters
    ----------
    network
        The configuration of one stack; its `n_inputs` must be the size of what the stream reads.
    streams
        "axes" gives each half of the input its own stack (hand-factorised); "joint" gives the whole
        input to one stack, whose code serves as both a and b.
    readout
        "product" of `rank` pairs, or "flat" (joint stream only); "dictionary" draws V a, what one
        layer makes of its own input, which is an image.
    """

    def __init__(
        self,
        *,
        network: VNConfig,
        image_shape: tuple[int, int],
        streams: str,
        readout: str = "product",
        rank: int = 1,
        seed: int,
    ) -> None:
        super().__init__()
        checks.choice("streams", streams, ("axes", "joint"))
        checks.choice("readout", readout, ("product", "flat", "dictionary"))
        checks.number("rank", rank, low=1, integer=True)
        height, width = image_shape
        if readout != "product" and (streams != "joint" or rank > 1):
            raise ValueError(
                f"readout {readout!r} needs streams='joint' and rank=1: it reads one code, once"
            )
        depth = len(network.atoms)
        if readout == "dictionary" and (network.n_inputs, depth) != (height * width, 1):
            raise ValueError(
                f"readout 'dictionary' needs an input of {height * width} pixels and one layer, "
                f"got {network.n_inputs} inputs and {depth} layer(s): V a is an image of the input"
            )
        self.image_shape, self.readout, self.rank = image_shape, readout, rank
        self.networks = nn.ModuleList(
            VectorNetwork(network, seed=2 * seed + i) for i in range(2 if streams == "axes" else 1)
        )
        # a stream of its own: with `seed` alone R would repeat V's numbers
        rng = seeding.generator(seed, "readout")
        product = (rank * height, rank * width)
        sizes = {"product": product, "flat": (height * width,), "dictionary": ()}[readout]
        # Positive starts: with mixed signs two factors can settle with the wrong sign, a minimum of
        # their own.
        self.readouts = nn.ParameterList(
            nn.Parameter(
                0.1 * torch.randn(n, network.atoms[-1], generator=rng).abs(), requires_grad=False
            )
            for n in sizes
        )

    def settle(self, x: Float[Tensor, "batch d"]) -> list:
        """The settled state of every stream."""
        size = self.networks[0].config.n_inputs
        checks.matrix("x", x, size * len(self.networks), "one code per position")
        return [
            net.settle(part) for net, part in zip(self.networks, x.split(size, dim=1), strict=True)
        ]

    def codes(self, x: Float[Tensor, "batch d"]) -> Codes:
        """The top codes (b of y, a of x) that the product readout takes; the others take (a,)."""
        return self.readout_codes(self.settle(x))

    def readout_codes(self, settled: Sequence) -> Codes:
        """The top codes of settled streams, in the order of the readouts."""
        tops = [s.codes[-1] for s in settled]
        if self.readout != "product":
            return (tops[0],)
        return (tops[-1], tops[0])

    def profiles(
        self, codes: Codes
    ) -> tuple[Float[Tensor, "batch rank height"], Float[Tensor, "batch rank width"]]:
        """What each pair of a product readout makes of the codes: Q_r b and U_r a."""
        if self.readout != "product":
            raise ValueError(f"a {self.readout} readout has no profiles; use readout='product'")
        b, a = (code @ R.T for code, R in zip(codes, self.readouts, strict=True))
        return b.unflatten(1, (self.rank, -1)), a.unflatten(1, (self.rank, -1))

    def streams(
        self, x: Float[Tensor, "batch d"]
    ) -> tuple[Float[Tensor, "batch rank height"], Float[Tensor, "batch rank width"]]:
        """The profiles of inputs: what the R streams draw is rows[:, r, :, None] * columns[:, r,
        None, :].
        """
        return self.profiles(self.codes(x))

    def render(self, codes: Codes) -> Float[Tensor, "batch height width"]:
        """The image that codes stand for."""
        if self.readout != "product":
            P = self.readouts[0] if self.readout == "flat" else self.networks[0].V[0]
            return (codes[0] @ P.T).unflatten(1, self.image_shape)
        return torch.einsum("brh,brw->bhw", *self.profiles(codes))

    def forward(self, x: Float[Tensor, "batch d"]) -> Float[Tensor, "batch height width"]:
        return self.render(self.codes(x))


class ReadoutLearner:
    """The delta rule on the readouts, given codes: dR = <(error seen by R) code'>.

    Columns keep free norms.

    A batch is (code of readout 1, [code of readout 2,] image). For the product readout the error
    seen by Q_r is E u_r, the one seen by U_r is E'q_r, with E = image - sum_r (Q_r b)(U_r a)'; both
    are minus the gradient of 1/2 `|E|^2`.

    Parameters
    ----------
    axis_loss
        Each readout is told its own profile instead, the brightest value of each row and of each
        column (the supervised stage of VN App. F, "Emergent factorization"); for product readouts
        of rank 1.
    """

    def __init__(self, model: SpatialVN, *, lr: float = 1e-2, axis_loss: bool = False) -> None:
        checks.number("lr", lr, above=0)
        if axis_loss and (model.readout != "product" or model.rank > 1):
            raise ValueError(
                "axis_loss needs readout='product' and rank=1: it tells each axis one profile"
            )
        self.model, self.lr, self.axis_loss = model, lr, axis_loss
        self.adam = [MaskedAdam(R) for R in model.readouts]

    @torch.no_grad()
    def step(
        self, batch: tuple[Tensor, ...], *, scale: float, generator: torch.Generator
    ) -> Tensor:
        """One update; returns the mean squared error of the batch before it."""
        *codes, image = batch
        error, seen = self._told(tuple(codes), image)
        # V a takes a code and has no readout.
        for R, adam, code, e in zip(self.model.readouts, self.adam, codes, seen, strict=False):
            adam.ascend(
                R, atomic_hebb(e, code), (code != 0).any(0), scale * self.lr, unit_norm=False
            )
        return error.square().mean()

    def _told(self, codes: Codes, image: Tensor) -> tuple[Tensor, list[Tensor]]:
        """The error of the image, and the error that each readout is told."""
        if self.model.readout != "product":
            error = image - self.model.render(codes)
            return error, [error.flatten(1)]
        q, u = self.model.profiles(codes)
        error = image - torch.einsum("brh,brw->bhw", q, u)
        if self.axis_loss:
            return error, [image.amax(2) - q[:, 0], image.amax(1) - u[:, 0]]
        at_q, at_u = torch.einsum("bhw,brw->brh", error, u), torch.einsum("bhw,brh->brw", error, q)
        return error, [at_q.flatten(1), at_u.flatten(1)]

    def state(self) -> dict[str, Tensor]:
        """Readouts and their moments."""
        tensors = {f"model.{index}": R.data for index, R in enumerate(self.model.readouts)}
        for index, adam in enumerate(self.adam):
            tensors |= {f"adam.{index}.{name}": t for name, t in adam.state().items()}
        return tensors


class SpatialLearner:
    """Dictionaries by Atomic-Hebb, readouts by the delta rule, from the same settle.

    A batch is (x, image).

    learn_dictionary=False keeps V as it was drawn: the control for what learning V is worth.

    Parameters
    ----------
    axis_loss
        As in `ReadoutLearner`.
    """

    def __init__(
        self,
        model: SpatialVN,
        *,
        lr: float = 1e-2,
        learn_dictionary: bool = True,
        axis_loss: bool = False,
    ) -> None:
        self.model, self.learn_dictionary = model, learn_dictionary
        self.readout = ReadoutLearner(model, lr=lr, axis_loss=axis_loss)
        self.dictionaries = [LocalLearner(net, lr=lr) for net in model.networks]

    @torch.no_grad()
    def step(
        self, batch: tuple[Tensor, ...], *, scale: float, generator: torch.Generator
    ) -> Tensor:
        """One update; returns the mean squared error of the batch before it."""
        x, image = batch
        settled = self.model.settle(x)
        loss = self.readout.step(
            (*self.model.readout_codes(settled), image), scale=scale, generator=generator
        )
        if self.learn_dictionary:
            for learner, state in zip(self.dictionaries, settled, strict=True):
                learner.update(state, scale=scale, generator=generator)
        return loss

    def state(self) -> dict[str, Tensor]:
        """Dictionaries, readouts and all moments."""
        parts = {"readout": self.readout} | {
            f"stream{i}": d for i, d in enumerate(self.dictionaries)
        }
        return {
            f"model.{part}.{name}" if name.startswith("model.") else f"{part}.{name}": t
            for part, learner in parts.items()
            for name, t in learner.state().items()
        }
