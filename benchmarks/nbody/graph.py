"""A graph network over the bodies: messages along every directed pair."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch_geometric.nn.conv import MessagePassing

from benchmarks.baselines.parts import check_sizes
from benchmarks.nbody.baseline import Dynamics, amplify
from benchmarks.nbody.bodies import LAWS, N_BODIES, Accelerations, Bodies, Scales, own_velocity
from benchmarks.nbody.networks import perceptron
from data_gen import guards


class GraphNetwork(Dynamics):
    """Bodies are nodes, and every two of them that are there are joined by two directed edges.

    Nodes start as h_i = E [velocity_i, force code]; edges hold e_ij = [displacement_ij, relative
    velocity_ij]. Then come `rounds` of message passing (`Round`), and a perceptron reads each
    node's acceleration. The GNN of VN Sec. 4.3 and App. H, which give no sizes, here with
    torch_geometric (Fey and Lenssen 2019). It knows that bodies are exchangeable, that only
    relative positions count and that messages are sums; what forces are, it has to learn. `gain` as
    in `BodyMLP`, for the edges' first map.

    Raises
    ------
    ValueError
        Unless `width` and `rounds` are integers >= 1 and `gain` > 0.
    """

    def __init__(
        self, *, scales: Scales, width: int = 64, rounds: int = 2, gain: float = 1.0
    ) -> None:
        super().__init__(scales=scales)
        check_sizes(width=width, rounds=rounds)
        self.embed = nn.Linear(2 + len(LAWS), width)
        self.rounds = nn.ModuleList(Round(width, gain) for _ in range(rounds))
        self.readout = perceptron(width, width, 1, 2)

    def respond(self, bodies: Bodies) -> Accelerations:
        index, here = edges(bodies.present), bodies.present[..., None]
        velocity = torch.where(here, bodies.velocity, 0.0).flatten(0, 1)
        position = torch.where(here, bodies.position, 0.0).flatten(0, 1)
        source, target = index
        edge = torch.cat(
            [
                (position[source] - position[target]) / self.scales.displacement,
                (velocity[source] - velocity[target]) / self.scales.relative_velocity,
            ],
            -1,
        )
        code = bodies.forces[:, None].expand(-1, N_BODIES, -1)
        nodes = self.embed(torch.cat([own_velocity(bodies, self.scales), code], -1)).flatten(0, 1)
        for one in self.rounds:
            nodes = one(nodes, index, edge)
        return self.readout(nodes).view_as(bodies.position)


class Round(MessagePassing):
    """m_ij = SiLU(M SiLU(A h_i + B h_j + C e_ij + c) + m), then h_i <- h_i + U(h_i, sum over j of
    m_ij).
    """

    def __init__(self, width: int, gain: float) -> None:
        super().__init__(aggr="sum")
        guards.no_file_left(Round.propagate)  # torch_geometric writes it at its first use
        self.receive, self.send = (nn.Linear(width, width, bias=False) for _ in range(2))
        self.along, self.deepen = nn.Linear(4, width), nn.Linear(width, width)
        self.update_node = perceptron(2 * width, width, 1, width)
        amplify(self.along, gain)

    def forward(
        self,
        nodes: Float[Tensor, "node width"],
        index: Int[Tensor, "2 edge"],
        edge: Float[Tensor, "edge 4"],
    ) -> Float[Tensor, "node width"]:
        # A and B are applied once per node, not once per edge.
        sums = self.propagate(index, receive=self.receive(nodes), send=self.send(nodes), edge=edge)
        return nodes + self.update_node(torch.cat([nodes, sums], -1))

    def message(self, receive_i: Tensor, send_j: Tensor, edge: Tensor) -> Tensor:
        silu = nn.functional.silu
        return silu(self.deepen(silu(receive_i + send_j + self.along(edge))))


def edges(present: Tensor) -> Int[Tensor, "2 edge"]:
    """The complete directed graph over the bodies that are there, for all states at once: (source,
    target) rows.

    Parameters
    ----------
    present
        (batch, 5) bool. Body i of state b is node 5 b + i. Absent bodies are nodes without edges.
    """
    both = present[:, :, None] & present[:, None, :]
    both = both & ~torch.eye(N_BODIES, dtype=torch.bool, device=present.device)
    state, target, source = both.nonzero(as_tuple=True)
    return N_BODIES * state + torch.stack([source, target])
