"""Hard sparsity over exemplars: training signals as atoms, k of them at a time, and nothing
learned.

A signal is k atoms of a Vector Network layer whose V holds training signals: the hard-capped code
of VN Eq. 6 (T_k) under the masked energy of VN Eq. 39, with the k atoms found by search instead of
shrinkage. The search is ours, not the paper's algorithm: from several supports drawn by chance, the
one swap of an atom that helps most, until none helps.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from benchmarks.functions.masks import shown
from vnlib import checks, seeding

CHUNK = 16  # signals at a time: the numbers of one then fit a cache
BASIS = 1e-4  # part of an atom's norm that the search may leave out


@dataclass(frozen=True)
class Library:
    """Atoms as rows of unit norm, their largest amplitudes, and the basis in which the search sees
    them.

    atoms = coordinates @ basis.T, up to `BASIS`: signals are smooth, so that a few dozen numbers
    say what they are.
    """

    atoms: Float[Tensor, "atoms time"]
    largest: Float[Tensor, " atoms"]
    basis: Float[Tensor, "time rank"]
    coordinates: Float[Tensor, "atoms rank"]


class Exemplars:
    """Signals as sums of k training signals, each scaled by at most `largest_scale` in size, of
    either sign.

    `nets` libraries of `n_atoms` training signals are drawn without replacement, each by itself;
    their completions are averaged. seed draws the libraries and the supports that the search starts
    from, the same for every signal.

    Raises
    ------
    ValueError
        For a matrix with NaN and for more atoms than nonzero signals.
    """

    def __init__(
        self,
        train: Float[Tensor, "samples time"],
        n_atoms: int = 2048,
        *,
        seed: int,
        nets: int = 1,
        largest_scale: float = 3.0,
    ) -> None:
        checks.finite("train", train)
        checks.number("nets", nets, low=1, integer=True)
        checks.number("largest_scale", largest_scale, above=0)
        if train.ndim != 2:
            raise ValueError(f"train must have shape (samples, time), got {tuple(train.shape)}")
        usable = train[train.norm(dim=1) > 1e-6]
        checks.number("n_atoms", n_atoms, low=1, high=len(usable), integer=True)
        self.seed, self.libraries = seed, []
        for net in range(nets):
            picked = torch.randperm(
                len(usable), generator=seeding.generator(seed, "exemplars", net)
            )[:n_atoms]
            self.libraries.append(_library(usable[picked.to(usable.device)], largest_scale))

    def reconstruct(
        self, x: Float[Tensor, "batch time"], **options: float
    ) -> Float[Tensor, "batch time"]:
        """What the atoms make of whole signals. Options and errors as for `complete`."""
        return self._fill(x, torch.ones_like(x, dtype=torch.bool), **options)

    def complete(
        self, x: Float[Tensor, "batch time"], observed: Bool[Tensor, "batch time"], **options: float
    ) -> Float[Tensor, "batch time"]:
        """Whole signals: observed samples as they are, hidden ones filled in; what x holds there is
        not looked at.

        Options: k, atoms of a support (3); starts, supports to begin from (8); ridge, on amplitudes
        (3e-5); swaps, at most that many (30); floor, power: the supports are averaged with weights
        (residual + floor)^-power, the residual being the mean squared error where observed (1e-4
        and 5).

        Raises
        ------
        ValueError
            For shapes, types and options that do not fit, and observed samples that are not finite.
        """
        return torch.where(observed, x, self._fill(x, observed, **options))

    def _fill(
        self,
        x: Tensor,
        observed: Tensor,
        *,
        k: int = 3,
        starts: int = 8,
        ridge: float = 3e-5,
        swaps: int = 30,
        floor: float = 1e-4,
        power: float = 5.0,
    ) -> Tensor:
        n_atoms, length = self.libraries[0].atoms.shape
        checks.number("k", k, low=1, high=n_atoms - 1, integer=True)
        checks.number("starts", starts, low=1, integer=True)
        checks.number("swaps", swaps, low=0, integer=True)
        checks.number("power", power, low=0)
        for name, value in (("ridge", ridge), ("floor", floor)):
            checks.number(name, value, above=0)
        seen, total = shown(x, observed, length), torch.zeros_like(x)
        for net, library in enumerate(self.libraries):
            rng = seeding.generator(self.seed, "starts", net)
            begin = torch.stack(
                [torch.randperm(n_atoms, generator=rng)[:k] for _ in range(starts)]
            ).to(x.device)
            for rows in torch.arange(len(x), device=x.device).split(CHUNK):
                supports = _search(library, seen[rows], observed[rows], begin, ridge, swaps)
                filled, residual = _fit(library, seen[rows], observed[rows], supports, ridge)
                weights = torch.softmax(-power * (residual + floor).log(), dim=1)
                total[rows] += torch.einsum("bs,bst->bt", weights, filled).to(x.dtype)
        return total / len(self.libraries)


def _library(signals: Tensor, largest_scale: float) -> Library:
    norms = signals.double().norm(dim=1)
    atoms = signals.double() / norms[:, None]
    values, vectors = torch.linalg.eigh(atoms.T @ atoms)
    values, vectors = values.flip(0).clamp_min(0), vectors.flip(1)
    # sum over atoms of the squared norm beyond the first axes
    left_out = values.flip(0).cumsum(0).flip(0)
    basis = vectors[:, : max(1, int((left_out > BASIS**2 * len(atoms)).sum()))]
    return Library(atoms, largest_scale * norms, basis, atoms @ basis)


def _search(
    library: Library,
    seen: Float[Tensor, "batch time"],
    observed: Bool[Tensor, "batch time"],
    begin: Int[Tensor, "starts k"],
    ridge: float,
    swaps: int,
) -> Int[Tensor, "batch starts k"]:
    """Supports at which no swap of one atom lowers `|m (x - V a)|^2` + ridge `|a|^2`,
    `|a_j|` <= largest_j, in float32.
    """
    # With m * basis = Q R, the masked product of two atoms is that of their coordinates times R'.
    Q, R = torch.linalg.qr(observed[..., None] * library.basis)
    atoms = (library.coordinates @ R.mT).float()  # (batch, atoms, rank)
    target = torch.einsum("btr,bt->br", Q, seen.double()).float()
    drive, norms = torch.einsum("bar,br->ba", atoms, target), atoms.square().sum(2) + ridge
    largest = library.largest.float()
    supports = begin.expand(len(seen), -1, -1).clone()
    best = torch.full(supports.shape[:2], torch.inf, device=seen.device)
    proposal, live = supports, torch.arange(len(seen), device=seen.device)
    for step in range(swaps + 1):
        rows = atoms[live].gather(1, proposal.flatten(1)[..., None].expand(-1, -1, atoms.shape[2]))
        gram = (rows @ atoms[live].mT).unflatten(1, proposal.shape[1:])  # (live, starts, k, atoms)
        inside = gram.gather(3, proposal[:, :, None].expand(-1, -1, proposal.shape[2], -1))
        inside = inside + ridge * torch.eye(proposal.shape[2], device=seen.device)
        pull = drive[live][:, None].expand(-1, proposal.shape[1], -1).gather(2, proposal)
        value = _value(inside, pull, _amplitudes(inside, pull, largest[proposal]))
        better = value < best[live] - (1e-6 * best[live].abs() if step else 0)
        supports[live] = torch.where(better[..., None], proposal, supports[live])
        best[live] = torch.where(better, value, best[live])
        keep = better.any(1)
        if step == swaps or not keep.any():
            break
        proposal, live = proposal[keep], live[keep]
        proposal = _swapped(
            proposal,
            gram[keep],
            inside[keep],
            pull[keep],
            drive[live],
            norms[live],
            largest,
            better[keep],
        )
    return supports


def _swapped(
    supports: Tensor,
    gram: Tensor,
    inside: Tensor,
    pull: Tensor,
    drive: Tensor,
    norms: Tensor,
    largest: Tensor,
    moving: Tensor,
) -> Tensor:
    """Each support after the swap that lowers its value most, if the atoms that stay meet no cap as
    they adjust.
    """
    k, found, lowest = (
        supports.shape[2],
        supports,
        torch.full(supports.shape[:2], torch.inf, device=gram.device),
    )
    for out in range(k):
        stay = [i for i in range(k) if i != out]
        block, rows = inside[:, :, stay][..., stay], gram[:, :, stay]
        kept = _amplitudes(block, pull[:, :, stay], largest[supports[:, :, stay]])
        slope = drive[:, None] - torch.einsum("bsk,bska->bsa", kept, rows)
        solved = torch.einsum("bskj,bsja->bska", torch.linalg.inv(block), rows)
        curvature = (norms[:, None] - (rows * solved).sum(2)).clamp_min(1e-5)
        size = (slope / curvature).clamp(-largest, largest)
        gain = size * (2 * slope - size * curvature)
        gain.scatter_(2, supports, -torch.inf)
        most, new = gain.max(2)
        value = _value(block, pull[:, :, stay], kept) - most
        take = value < lowest
        swapped = supports.clone()
        swapped[:, :, out] = new
        found, lowest = (
            torch.where(take[..., None], swapped, found),
            torch.where(take, value, lowest),
        )
    return torch.where(moving[..., None], found, supports)


def _amplitudes(gram: Tensor, pull: Tensor, largest: Tensor, passes: int = 10) -> Tensor:
    """argmin a' gram a - 2 a' pull with `|a|` <= largest: solved, and by coordinates from there
    where a cap is met.
    """
    a = torch.linalg.solve(gram, pull[..., None])[..., 0]
    if bool((a.abs() <= largest).all()):
        return a
    a = a.clamp(-largest, largest)
    for _ in range(passes):
        for i in range(a.shape[-1]):
            curvature = gram[..., i, i]
            step = (pull[..., i] - (gram[..., i, :] * a).sum(-1)) / curvature
            a[..., i] = (a[..., i] + step).clamp(-largest[..., i], largest[..., i])
    return a


def _value(gram: Tensor, pull: Tensor, a: Tensor) -> Tensor:
    return (a * ((gram @ a[..., None])[..., 0] - 2 * pull)).sum(-1)


def _fit(
    library: Library, seen: Tensor, observed: Tensor, supports: Tensor, ridge: float
) -> tuple[Float[Tensor, "batch starts time"], Float[Tensor, "batch starts"]]:
    """What the supports make of the signals, and their mean squared error where observed; in
    float64.
    """
    chosen, x = library.atoms[supports], seen.double()  # (batch, starts, k, time)
    masked = chosen * observed[:, None, None]
    gram = masked @ masked.mT + ridge * torch.eye(supports.shape[2], dtype=x.dtype, device=x.device)
    pull = torch.einsum("bskt,bt->bsk", masked, x)
    filled = torch.einsum(
        "bsk,bskt->bst", _amplitudes(gram, pull, library.largest[supports]), chosen
    )
    errors = ((filled - x[:, None]) * observed[:, None]).square().sum(2)
    return filled, errors / observed.sum(1)[:, None]
