"""The Vector Network: a stack of layers as a torch module (VN Sec. 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vnlib import checks, guards
from vnlib.implicit import settled_code
from vnlib.layer import ACTIVATIONS, Layer, message, operator, reconstruct
from vnlib.learning.rules import INTERFACE_RULES, tight_frame, unit_columns
from vnlib.prox import PENALTIES, Penalty, make_penalty
from vnlib.settle import SettleConfig, Settled, Settler


@dataclass(frozen=True, kw_only=True)
class VNConfig:
    """Sizes and settings of a Vector Network.

    Parameters
    ----------
    n_inputs
        `d` of layer 1.
    atoms
        K per layer.
    interface
        The width m per layer below the top (layer l + 1 reads m_l numbers); one more entry gives
        the top layer a U as well, which describes its operator and is never learned.
    sparsity
        Lambda per layer in the units of `penalty` (see `vnlib.prox`); with relative_sparsity x_l
        counts in units of its r.m.s. norm, which training tracks (`track_scale`).
    feedback
        Weight of the top-down term (beta).
    penalty
        A name in `vnlib.prox.PENALTIES`, "elastic_net" with ridge and "mcp" with gamma.
    top_k
        Most active atoms of the top layer, None for no cap.
    nonnegative
        Codes and, in layer 1, V are kept >= 0.
    interface_rule
        How U learns: "subspace", "frozen" or "atomic_hebb" (see `vnlib.learning.rules`).
    untied
        The target is read by a dictionary B of its own, which starts as a copy of U.
    """

    n_inputs: int
    atoms: tuple[int, ...]
    interface: tuple[int, ...] = ()
    sparsity: tuple[float, ...] = (0.1,)
    feedback: float = 0.1
    penalty: str = "l1"
    ridge: float | None = None
    gamma: float | None = None
    top_k: int | None = None
    nonnegative: bool = False
    activation: str = "identity"
    interface_rule: str = "subspace"
    untied: bool = False
    relative_sparsity: bool = False
    settle: SettleConfig = field(default_factory=SettleConfig)

    def __post_init__(self) -> None:
        guards.flags(nonnegative=self.nonnegative, untied=self.untied)
        guards.flags(relative_sparsity=self.relative_sparsity)
        guards.kind("settle", self.settle, SettleConfig)
        checks.number("n_inputs", self.n_inputs, low=1, integer=True)
        for name in ("atoms", "interface", "sparsity"):
            checks.layers(name, getattr(self, name))
        if not self.atoms:
            raise ValueError("atoms must name the number of atoms of at least one layer, got ()")
        for name in ("atoms", "interface"):
            for layer, size in enumerate(getattr(self, name), 1):
                checks.number(f"{name} of layer {layer}", size, low=1, integer=True)
        depth = len(self.atoms)
        if len(self.interface) not in (depth - 1, depth):
            raise ValueError(
                f"interface must have {depth - 1} or {depth} entries for {depth} layer(s), "
                f"got {self.interface}"
            )
        if len(self.sparsity) != depth:
            raise ValueError(
                f"sparsity must have one entry per layer ({depth}), got {self.sparsity}"
            )
        for layer, value in enumerate(self.sparsity, 1):
            checks.number(f"sparsity of layer {layer}", value, low=0)
        checks.choice("penalty", self.penalty, PENALTIES)
        checks.number("feedback", self.feedback, low=0)
        if self.top_k is not None:
            checks.number("top_k", self.top_k, low=1, high=self.atoms[-1], integer=True)
        checks.choice("activation", self.activation, ACTIVATIONS)
        checks.choice("interface_rule", self.interface_rule, INTERFACE_RULES)
        self.penalties()

    def penalties(self, scales: Sequence[float] | None = None) -> list[Penalty]:
        """The penalty of each layer, where its inputs have these scales (all 1 if None)."""
        options = {"ridge": self.ridge, "gamma": self.gamma}
        options = {name: value for name, value in options.items() if value is not None}
        power = 2 if self.penalty in ("l0", "cel0") else 1  # whose lambda is an energy
        caps = [*[None] * (len(self.atoms) - 1), self.top_k]
        return [
            make_penalty(
                self.penalty,
                sparsity=value * scale**power,
                nonnegative=self.nonnegative,
                top_k=cap,
                **options,
            )
            for value, scale, cap in zip(
                self.sparsity, scales or [1.0] * len(caps), caps, strict=True
            )
        ]


class VectorNetwork(nn.Module):
    """A stack of libraries of rank-1 weight atoms.

    `V[l]` (d_l, K_l), `U[l]` and, where untied, `B[l]` (m_l, K_l) are parameters without gradients:
    learning is local (`vnlib.learning.learner`). `input_scale[l]` is the r.m.s. norm of x_l where
    sparsity is relative, 1 until it is set.
    """

    input_scale: Tensor

    def __init__(self, config: VNConfig, *, seed: int) -> None:
        super().__init__()
        checks.seed(seed)
        self.config = config
        rng = torch.Generator().manual_seed(int(seed))
        self.V, self.U, self.B = nn.ParameterList(), nn.ParameterList(), nn.ParameterList()
        for d, K in zip((config.n_inputs, *config.interface), config.atoms, strict=False):
            V = torch.randn(d, K, generator=rng)
            if config.nonnegative and not self.V:
                V = V.abs()
            self.V.append(nn.Parameter(unit_columns(V), requires_grad=False))
        for m, K in zip(config.interface, config.atoms, strict=False):
            U = torch.randn(m, K, generator=rng)
            if m >= K:  # an isometry sends the code unharmed; nothing is left to learn
                U = torch.linalg.qr(U).Q
            else:  # what never learns should at least favour no direction
                U = tight_frame(U) if config.interface_rule == "frozen" else unit_columns(U)
            self.U.append(nn.Parameter(U, requires_grad=False))
        for U in self.U[: len(config.atoms) - 1] if config.untied else ():
            self.B.append(nn.Parameter(U.clone(), requires_grad=False))
        if config.relative_sparsity:
            self.register_buffer("input_scale", torch.ones(len(config.atoms)))

    @classmethod
    def for_data(
        cls,
        x: Float[Tensor, "samples d"],
        *,
        atoms: Sequence[int],
        seed: int,
        sparsity: float | Sequence[float] = 0.02,
        **options: Any,
    ) -> VectorNetwork:
        """A network for these samples, on their device and of their type, that starts from them.

        Parameters
        ----------
        atoms
            K per layer; messages are half as wide as their layer unless `interface` says otherwise.
        sparsity
            Relative to the scale of the inputs (unless relative_sparsity=False), one number or one
            per layer.
        **options
            As in `VNConfig`.
        """
        checks.layers("atoms", atoms)
        checks.finite("x", x)
        guards.several("sparsity", sparsity)
        depth = len(atoms)
        settings = {
            "interface": tuple(max(1, K // 2) for K in atoms[:-1]),
            "relative_sparsity": True,
            "sparsity": (sparsity,) * depth
            if isinstance(sparsity, (int, float))
            else tuple(sparsity),
        }
        config = VNConfig(n_inputs=x.shape[-1], atoms=tuple(atoms), **(settings | options))
        network = cls(config, seed=seed).to(device=x.device, dtype=x.dtype)
        network.start_from_samples(x, seed=seed)
        return network

    @property
    def scales(self) -> list[float]:
        """What the lambda of each layer is measured in."""
        relative = self.config.relative_sparsity
        return self.input_scale.tolist() if relative else [1.0] * len(self.V)

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The layers with their current dictionaries."""
        return tuple(
            Layer(V, U, penalty, B)
            for V, U, penalty, B in zip_longest(self.V, self.U, self.penalties, self.B)
        )

    @property
    def penalties(self) -> list[Penalty]:
        """The penalty of each layer with its current lambda."""
        return self.config.penalties(self.scales)

    def settler(self, config: SettleConfig | None = None) -> Settler:
        """The settle of the network as it is now, ready for many batches."""
        guards.kind("config", config, SettleConfig, type(None))
        c = self.config
        return Settler(
            self.layers, feedback=c.feedback, activation=c.activation, config=config or c.settle
        )

    def settle(
        self,
        x: Float[Tensor, "... batch d"],
        *,
        config: SettleConfig | None = None,
        start: Sequence[Tensor] | Settled | None = None,
        trace: bool = False,
        mask: Float[Tensor, "... batch d"] | None = None,
        scale: Float[Tensor, "... batch"] | None = None,
    ) -> Settled:
        """Infer the codes of a batch (VN Sec. 3.3); arguments and errors as for `Settler`."""
        return self.settler(config)(x, start, trace=trace, mask=mask, scale=scale)

    def forward(self, x: Float[Tensor, "batch d"]) -> Float[Tensor, "batch atoms"]:
        """The settled code of the top layer, for use in other modules.

        Gradients reach x and the dictionaries that ask for them (`V[l].requires_grad_()`); errors
        as for `vnlib.implicit.settled_code`. The columns of V are to be kept at unit norm.
        """
        return settled_code(self.settler(), x)

    def reconstruct(self, settled: Settled) -> Float[Tensor, "batch d"]:
        """x_hat = V_1 a_1: what the first layer's code says of the input."""
        guards.kind("settled", settled, Settled)
        return reconstruct(self.layers[0], settled.codes[0])

    def decode(
        self, code: Float[Tensor, "batch atoms"], *, sparsity: float = 0.02, max_sweeps: int = 200
    ) -> Float[Tensor, "batch d"]:
        """The input that a code of the top layer stands for.

        Downward, layer l + 1 reconstructs the message h of layer l, and a_l is read back from h as
        the sparse code of h under U_l: argmin 1/2 `|h - U_l a|^2` + sparsity `|a|_1`, with a >= 0
        in a nonnegative network. sparsity is relative to the scale of h where the network's own is.
        """
        guards.code("code", code, self.config.atoms[-1])
        layers, scales = self.layers, self.scales
        config = SettleConfig.momentum(max_sweeps=max_sweeps, tol=1e-6)
        for below, above, scale in zip(layers[-2::-1], layers[:0:-1], scales[:0:-1], strict=True):
            penalty = make_penalty(sparsity=sparsity * scale, nonnegative=self.config.nonnegative)
            inverse = Layer(checks.given("U", below.U), None, penalty)
            code = Settler([inverse], config=config)(reconstruct(above, code)).codes[0]
        return reconstruct(layers[0], code)

    def operator(self, settled: Settled, layer: int = 0) -> Float[Tensor, "batch m d"]:
        """W(x) of one layer (VN Eq. 2); ValueError where it has no interface U."""
        guards.kind("settled", settled, Settled)
        if not 0 <= layer < len(self.U):
            raise ValueError(
                f"layer must be one that has an interface U, 0..{len(self.U) - 1}, got {layer}"
            )
        return operator(self.layers[layer], settled.codes[layer])

    @torch.no_grad()
    def track_scale(
        self, inputs: Sequence[Float[Tensor, "... _batch _d"]], *, rate: float = 1.0
    ) -> None:
        """Move `input_scale` by `rate` towards the r.m.s. norm of inputs of the first layers."""
        for scale, x in zip(self.input_scale.unbind(-1), inputs, strict=False):
            scale.lerp_(x.square().sum(-1).mean(-1).sqrt(), rate)

    @torch.no_grad()
    def start_from_samples(self, x: Float[Tensor, "samples d"], *, seed: int) -> None:
        """Make every V_l of normalised inputs of layer l, drawn without replacement: no atom starts
        dead.

        Raises
        ------
        ValueError
            If there are fewer nonzero samples than atoms, or negative ones for a nonnegative
            network.
        """
        checks.seed(seed)
        checks.matrix("x", x, self.config.n_inputs, "one row per sample")
        if self.config.nonnegative and bool((x < 0).any()):
            raise ValueError(
                "x must be >= 0 to start a nonnegative network, got a minimum of "
                f"{float(x.min()):g}"
            )
        rng = torch.Generator().manual_seed(int(seed))
        atoms, inputs, seen = self.config.atoms, x, []
        for index, K in enumerate(atoms):
            seen.append(inputs)
            if self.config.relative_sparsity:
                self.track_scale(seen)
            usable = (inputs.norm(dim=1) > 1e-6).nonzero().squeeze(1)
            if len(usable) < K:
                raise ValueError(
                    f"layer {index + 1} needs at least {K} nonzero samples to start from, "
                    f"got {len(usable)}"
                )
            usable = usable[torch.randperm(len(usable), generator=rng).to(usable.device)]
            self.V[index].copy_(unit_columns(inputs[usable[:K]].T))
            if index + 1 < len(atoms):
                # The next layer's atoms come from other samples than this one's.
                rest = usable[K:] if len(usable) - K >= atoms[index + 1] else usable
                below = self.layers[index]
                settler = Settler([below], config=SettleConfig.training(max_sweeps=50))
                codes = settler(inputs[rest[: 4 * atoms[index + 1]]]).codes[0]
                inputs = message(below, codes, self.config.activation)
