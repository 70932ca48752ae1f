"""The Vector Network: a stack of layers as a torch module, and its local learning step (VN Sec. 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vnlib import checks
from vnlib.layer import ACTIVATIONS, Layer, message, operator, reconstruct
from vnlib.learning import INTERFACE_RULES, MaskedAdam, atomic_hebb, subspace_rule, unit_columns
from vnlib.prox import make_penalty
from vnlib.settle import SettleConfig, Settled, Settler


@dataclass(frozen=True, kw_only=True)
class VNConfig:
    """Sizes and settings of a Vector Network.

    n_inputs: d of layer 1. atoms: K per layer. interface: m per layer below the top (layer l + 1 reads m_l numbers);
    one more entry gives the top layer a U as well, which describes its operator and is never learned. sparsity:
    lambda per layer, in units of |v_k . x_l|. feedback: weight of the top-down term (beta). top_k: most active atoms
    of the top layer, None for no cap. nonnegative: codes and, in layer 1, V are kept >= 0.
    interface_rule: how U learns: "subspace", "frozen" or "atomic_hebb" (see `vnlib.learning`).
    """

    n_inputs: int
    atoms: tuple[int, ...]
    interface: tuple[int, ...] = ()
    sparsity: tuple[float, ...] = (0.1,)
    feedback: float = 0.1
    top_k: int | None = None
    nonnegative: bool = False
    activation: str = "identity"
    interface_rule: str = "subspace"
    settle: SettleConfig = field(default_factory=SettleConfig)

    def __post_init__(self) -> None:
        checks.number("n_inputs", self.n_inputs, low=1, integer=True)
        for name in ("atoms", "interface", "sparsity"):
            if not isinstance(getattr(self, name), (tuple, list)):
                raise ValueError(f"{name} must be a tuple with one entry per layer, got {getattr(self, name)!r}")
        if not self.atoms:
            raise ValueError("atoms must name the number of atoms of at least one layer, got ()")
        for name in ("atoms", "interface"):
            for layer, size in enumerate(getattr(self, name), 1):
                checks.number(f"{name} of layer {layer}", size, low=1, integer=True)
        depth = len(self.atoms)
        if len(self.interface) not in (depth - 1, depth):
            raise ValueError(
                f"interface must have {depth - 1} or {depth} entries for {depth} layer(s), got {self.interface}"
            )
        if len(self.sparsity) != depth:
            raise ValueError(f"sparsity must have one entry per layer ({depth}), got {self.sparsity}")
        for layer, value in enumerate(self.sparsity, 1):
            checks.number(f"sparsity of layer {layer}", value, low=0)
        checks.number("feedback", self.feedback, low=0)
        if self.top_k is not None:
            checks.number("top_k", self.top_k, low=1, high=self.atoms[-1], integer=True)
        checks.choice("activation", self.activation, ACTIVATIONS)
        checks.choice("interface_rule", self.interface_rule, INTERFACE_RULES)

    @property
    def inputs(self) -> tuple[int, ...]:
        """d_l per layer."""
        return (self.n_inputs, *self.interface[: len(self.atoms) - 1])


class VectorNetwork(nn.Module):
    """A stack of libraries of rank-1 weight atoms.

    `V[l]` (d_l, K_l) and `U[l]` (m_l, K_l) are the dictionaries. They are parameters without gradients: learning is
    local (`LocalLearner`), nothing is differentiated through the settle.
    """

    def __init__(self, config: VNConfig, *, seed: int) -> None:
        super().__init__()
        self.config = config
        rng = torch.Generator().manual_seed(seed)
        self.V, self.U = nn.ParameterList(), nn.ParameterList()
        for d, K in zip(config.inputs, config.atoms, strict=True):
            V = torch.randn(d, K, generator=rng)
            if config.nonnegative and not self.V:
                V = V.abs()
            self.V.append(nn.Parameter(unit_columns(V), requires_grad=False))
        for m, K in zip(config.interface, config.atoms, strict=False):
            U = torch.randn(m, K, generator=rng)
            # With m >= K an isometry sends the code unharmed; nothing is left to learn.
            U = torch.linalg.qr(U).Q if m >= K else unit_columns(U)
            self.U.append(nn.Parameter(U, requires_grad=False))

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The layers with their current dictionaries."""
        c, depth = self.config, len(self.config.atoms)
        penalties = [
            make_penalty(sparsity=c.sparsity[i], nonnegative=c.nonnegative, top_k=c.top_k if i == depth - 1 else None)
            for i in range(depth)
        ]
        interfaces = [*self.U, *[None] * (depth - len(self.U))]
        return tuple(Layer(V, U, p) for V, U, p in zip(self.V, interfaces, penalties, strict=True))

    def settler(self, config: SettleConfig | None = None) -> Settler:
        """The settle of the network as it is now, ready for many batches."""
        c = self.config
        return Settler(self.layers, feedback=c.feedback, activation=c.activation, config=config or c.settle)

    def settle(
        self,
        x: Float[Tensor, "batch d"],
        *,
        config: SettleConfig | None = None,
        start: Sequence[Tensor] | None = None,
        trace: bool = False,
    ) -> Settled:
        """Infer the codes of a batch (VN Sec. 3.3). Raises ValueError for a wrong shape or NaN in x."""
        return self.settler(config)(x, start, trace=trace)

    def reconstruct(self, settled: Settled) -> Float[Tensor, "batch d"]:
        """x_hat = V_1 a_1: what the first layer's code says of the input."""
        return reconstruct(self.layers[0], settled.codes[0])

    def reconstruct_from_top(
        self, settled: Settled, *, sparsity: float = 0.02, max_sweeps: int = 200
    ) -> Float[Tensor, "batch d"]:
        """What the top code alone says of the input.

        Downward, layer l + 1 reconstructs the message h of layer l, and a_l is read back from h as the sparse code
        of h under U_l: argmin 1/2 |h - U_l a|^2 + sparsity |a|_1, with a >= 0 in a nonnegative network.
        """
        layers, code = self.layers, settled.codes[-1]
        for below, above in zip(layers[-2::-1], layers[:0:-1], strict=True):
            reader = Layer(below.U, None, make_penalty(sparsity=sparsity, nonnegative=self.config.nonnegative))
            config = SettleConfig(max_sweeps=max_sweeps, tol=1e-6)
            code = Settler([reader], config=config)(reconstruct(above, code)).codes[0]
        return reconstruct(layers[0], code)

    def operator(self, settled: Settled, layer: int = 0) -> Float[Tensor, "batch m d"]:
        """W(x) of one layer (VN Eq. 2). Raises ValueError where the layer has no interface U."""
        if not 0 <= layer < len(self.U):
            raise ValueError(f"layer must be one that has an interface U, 0..{len(self.U) - 1}, got {layer}")
        return operator(self.layers[layer], settled.codes[layer])

    @torch.no_grad()
    def start_from_samples(self, x: Float[Tensor, "samples d"], *, seed: int) -> None:
        """Make every V_l of normalised inputs of layer l, drawn without replacement: no atom starts dead.

        Raises ValueError if there are fewer nonzero samples than atoms, or negative ones for a nonnegative network.
        """
        checks.matrix("x", x, self.config.n_inputs, "one row per sample")
        if self.config.nonnegative and bool((x < 0).any()):
            raise ValueError(f"x must be >= 0 to start a nonnegative network, got a minimum of {float(x.min()):g}")
        rng = torch.Generator().manual_seed(seed)
        solo = SettleConfig(max_sweeps=50, tol=0)
        inputs = x
        for index, (layer, K) in enumerate(zip(self.layers, self.config.atoms, strict=True)):
            usable = (inputs.norm(dim=1) > 1e-6).nonzero().squeeze(1)
            if len(usable) < K:
                raise ValueError(
                    f"layer {index + 1} needs at least {K} nonzero samples to start from, got {len(usable)}"
                )
            usable = usable[torch.randperm(len(usable), generator=rng).to(usable.device)]
            pick, rest = usable[:K], usable[K:]
            self.V[index].copy_(unit_columns(inputs[pick].T))
            if index + 1 < len(self.config.atoms):
                below = Layer(self.V[index], self.U[index], layer.penalty)
                # The next layer's atoms come from other samples than this one's.
                chosen = rest if len(rest) >= self.config.atoms[index + 1] else usable
                x_below = inputs[chosen[: 4 * self.config.atoms[index + 1]]]
                codes = Settler([below], config=solo)(x_below).codes[0]
                inputs = message(below, codes, self.config.activation)


class LocalLearner:
    """Atomic-Hebb on all layers of a network: settle a batch, then change the atoms that were used.

    V_l follows <e_x a'> always. U_l follows the network's `interface_rule`; it never learns in the top layer, nor
    where its columns are orthonormal from the start under the subspace rule.
    """

    def __init__(
        self,
        network: VectorNetwork,
        *,
        lr: float = 1e-2,
        interface_lr: float = 3e-3,
        settle: SettleConfig | None = None,
    ) -> None:
        checks.number("lr", lr, above=0)
        checks.number("interface_lr", interface_lr, above=0)
        self.network, self.lr, self.interface_lr = network, lr, interface_lr
        self.settle_config = settle
        self.V_adam = [MaskedAdam(V) for V in network.V]
        self.U_adam = [MaskedAdam(U) for U in network.U]

    @torch.no_grad()
    def step(self, batch: tuple[Tensor, ...], *, scale: float, generator: torch.Generator) -> float:
        """One update from a batch (x,). Returns the mean settled energy of the batch before the update."""
        settled = self.network.settle(batch[0], config=self.settle_config)
        self.update(settled, scale=scale)
        return float(settled.energy.mean())

    @torch.no_grad()
    def update(self, settled: Settled, *, scale: float = 1.0) -> None:
        """Change the atoms that a settled batch used (VN Eqs. 8 and 9). `scale` multiplies both learning rates."""
        net, c, layers = self.network, self.network.config, self.network.layers
        codes, inputs = settled.codes, settled.inputs
        for index, (layer, code) in enumerate(zip(layers, codes, strict=True)):
            active = (code != 0).any(0)
            below_top = index + 1 < len(layers)
            if below_top and c.interface_rule == "atomic_hebb":
                missed = reconstruct(layers[index + 1], codes[index + 1]) - code @ layer.U.T
                dU = c.feedback * atomic_hebb(missed, code)
            elif below_top and c.interface_rule == "subspace" and layer.U.shape[0] < layer.U.shape[1]:
                dU = subspace_rule(layer.U, code)
            else:
                dU = None
            dV = atomic_hebb(inputs[index] - reconstruct(layer, code), code)
            self.V_adam[index].ascend(net.V[index], dV, active, scale * self.lr)
            if c.nonnegative and index == 0:
                net.V[0][:, active] = unit_columns(net.V[0][:, active].clamp_min(0))
            if dU is not None:
                self.U_adam[index].ascend(net.U[index], dU, active, scale * self.interface_lr)

    def state(self) -> dict[str, Tensor]:
        """Everything that a checkpoint must hold, as live references; the model's own tensors begin with `model.`."""
        tensors = {f"model.{name}": p.data for name, p in self.network.named_parameters()}
        for kind, moments in (("V", self.V_adam), ("U", self.U_adam)):
            for index, adam in enumerate(moments):
                tensors |= {f"{kind}_adam.{index}.{name}": t for name, t in adam.state().items()}
        return tensors
