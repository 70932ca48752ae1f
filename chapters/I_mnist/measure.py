"""Which atoms a trained Vector Network uses for images, how sparsely, and for which digits (VN
Fig. 12, App. I).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float, Int
from torch import Tensor

from benchmarks.images.pictures import Images
from benchmarks.images.vector_networks import BATCH, facts_of, settle_in_batches
from chapters.I_mnist.atlas import atlas
from chapters.I_mnist.settling import settling
from vnlib import checks, seeding
from vnlib.layer import reconstruct
from vnlib.network import VectorNetwork
from vnlib.settle import SettleConfig

ID = "id"  # the set of single digits, which have a label
MOST = 0.9  # of the magnitudes of a code, for the atoms that carry most of it
SMALL = 1e-30
# What counts as an atom's activity: whether it is in use, or also with which sign.
STATES = ("active", "signed")
# Every code here is settled much farther than in training: supports are last to come to rest.
FAR = SettleConfig.deep(tol=1e-6, check_every=10, max_sweeps=400)

Code = Float[Tensor, "batch atoms"]


def measure(
    network: VectorNetwork,
    test: xr.Dataset,
    validation: Images,
    *,
    curve: Sequence[float] = (),
    sweeps: Sequence[int] = (1, 150),
    end: int = 200,
    watched: int = 40,
    shuffles: int = 50,
    atoms: int = 0,
    seed: int = 0,
) -> xr.Dataset:
    """All that is measured of one network.

    Per set: what `budget` returns of every layer, and `atoms` (layer), how many there are; `mse`
    (set, reading), mean squared errors per pixel of V_1 a_1 ("own") and from the top code alone
    ("top"); `zero_baseline` (set), the mean square of images; `converged` (set), the share of
    settles that came to rest; and what `settling` returns. Of the set "id" what `selectivity`
    returns of every layer and state, and the atlas. On validation images: `criterion`, the error of
    V_1 a_1; `curve` (evaluation); `fact_...`, as in `vector_networks.of_network`. `scale` (layer):
    the r.m.s. norms of the layers' inputs that lambda is relative to.

    Parameters
    ----------
    test
        `image` (set, sample, y, x) and `label` (sample), the digit of every image of the set "id".
    validation
        Images whose error is told, curve: that error in training.
    sweeps, end
        As `settling` takes them, for the first `watched` images of every set.
    shuffles
        Of labels, by `seed`.
    atoms
        0, or the size of each band of the `atlas`.

    Raises
    ------
    ValueError
        Without the set "id" or with more `watched` images than there are.
    """
    if ID not in test["set"].values:
        raise ValueError(
            f"test must hold the set {ID!r}, got {', '.join(map(str, test['set'].values))}"
        )
    checks.number("watched", watched, low=1, high=test.sizes["sample"], integer=True)
    labels = torch.from_numpy(test["label"].values.astype(np.int64))
    parts, held = [], settle_in_batches(network, validation)
    for name in test["set"].values:
        x = torch.from_numpy(test["image"].sel(set=name).values).to(validation).flatten(1)
        codes, converged = _codes(network, x)
        found = xr.merge([_budgets(codes), _errors(network, codes, x)]).assign(converged=converged)
        parts.append(found.merge(settling(network, x[:watched], sweeps=sweeps, end=end)))
        if name == ID:
            chosen = [_selectivities(codes, labels, shuffles=shuffles, seed=seed)]
            chosen += [atlas(network, codes, x, labels, count=atoms)] if atoms else []
    names = [str(name) for name in test["set"].values]
    error = (network.reconstruct(held) - validation).square().mean()
    own = {"criterion": float(error), "curve": ("evaluation", np.asarray(curve, float))}
    own |= {f"fact_{name}": value for name, value in facts_of(network, held).items()}
    if network.config.relative_sparsity:
        own["scale"] = ("layer", network.input_scale.double().cpu().numpy())
    return xr.merge([xr.concat(parts, "set").assign_coords(set=names), *chosen, xr.Dataset(own)])


def _codes(network: VectorNetwork, x: Images) -> tuple[list[Tensor], float]:
    """Codes of all layers, and the share of images whose settle came to rest."""
    settler = network.settler(FAR)
    parts = [settler(some) for some in x.split(BATCH)]
    codes = [torch.cat(layer) for layer in zip(*(part.codes for part in parts), strict=True)]
    return codes, float(torch.cat([part.converged for part in parts]).double().mean())


def _errors(network: VectorNetwork, codes: Sequence[Tensor], x: Images) -> xr.Dataset:
    top = torch.cat([network.decode(some) for some in codes[-1].split(BATCH)])
    errors = [
        float((drawn - x).square().mean())
        for drawn in (reconstruct(network.layers[0], codes[0]), top)
    ]
    values = {"mse": ("reading", errors), "zero_baseline": float(x.square().mean())}
    return xr.Dataset(values, {"reading": ["own", "top"]})


# --- how much of the budget is used, and how sparsely ---------------------------------------------


def budget(code: Code) -> dict[str, float | Float[np.ndarray, " atoms"]]:
    """How a layer's code uses its atoms.

    `used`: share of atoms that any sample uses; `effective`: the exponential of the entropy of
    magnitudes, summed over samples, over atoms: the number of atoms if all carried the same. Means
    over samples of: `active`, nonzero coefficients, and `active_share`, over all atoms; `carrying`,
    the fewest atoms that carry 90 % of the magnitudes; `hoyer`, which is 0 for a flat code and 1
    for a single atom (Hoyer 2004). `usage` (atom): share of samples that use each atom, in falling
    order.
    """
    size, active = code.abs().double(), code != 0
    share = size.sum(0) / size.sum().clamp_min(SMALL)
    entropy = -torch.special.xlogy(share, share).sum()
    per_sample = active.sum(1).double()
    return {
        "used": float(active.any(0).double().mean()),
        "effective": float(entropy.exp()) if float(size.sum()) else 0.0,
        "active": float(per_sample.mean()),
        "active_share": float(per_sample.mean()) / code.shape[1],
        "carrying": float(carrying(code).double().mean()),
        "hoyer": float(hoyer(code).mean()),
        "usage": active.double().mean(0).sort(descending=True).values.cpu().numpy(),
    }


def carrying(code: Code, share: float = MOST) -> Int[Tensor, " batch"]:
    """The fewest atoms whose magnitudes sum to this share of all, per sample; 0 for an empty
    code.
    """
    summed = code.abs().double().sort(dim=1, descending=True).values.cumsum(1)
    # What rounding may lack of a sum that should be met exactly.
    return (summed < share * (1 - 1e-9) * summed[:, -1:]).sum(1) + (summed[:, -1] > 0)


def hoyer(code: Code) -> Float[Tensor, " batch"]:
    """(sqrt K - `|a|_1` / `|a|_2`) / (sqrt K - 1) per sample; 1 for an empty code."""
    a, root = code.double(), code.shape[1] ** 0.5
    found = (root - a.abs().sum(1) / a.norm(dim=1).clamp_min(SMALL)) / (root - 1)
    return torch.where((code != 0).any(1), found, 1.0)


def _budgets(codes: Sequence[Tensor]) -> xr.Dataset:
    found = [budget(code) for code in codes]
    most = max(code.shape[1] for code in codes)
    usage = np.full((len(found), most), np.nan, np.float32)
    for row, one in zip(usage, found, strict=True):
        row[: len(one["usage"])] = one["usage"]
    numbers = {
        name: ("layer", [one[name] for one in found]) for name in found[0] if name != "usage"
    }
    atoms = ("layer", [code.shape[1] for code in codes])
    coords = {"layer": np.arange(1, len(found) + 1), "atom": np.arange(most)}
    return xr.Dataset(numbers | {"atoms": atoms, "usage": (("layer", "atom"), usage)}, coords)


# --- for which digits -----------------------------------------------------------------------------


def information(
    states: Int[Tensor, "samples atoms"], labels: Int[Tensor, " samples"]
) -> tuple[Float[Tensor, " atoms"], Float[Tensor, " atoms"]]:
    """What an atom's state tells about the label (mutual information), and its own entropy, in
    bits, as counted.
    """
    n = len(labels)
    classes = torch.nn.functional.one_hot(labels.long()).double()  # (samples, classes)
    joint = (
        torch.stack([classes.T @ (states == value).double() for value in torch.unique(states)]) / n
    )
    alone, label = joint.sum(1), classes.mean(0)  # (states, atoms), (classes)

    def bits(p: Tensor, dims: tuple[int, ...]) -> Tensor:
        return -torch.special.xlogy(p, p).sum(dims) / np.log(2)

    own = bits(alone, (0,))
    return (own + bits(label, (0,)) - bits(joint, (0, 1))).clamp_min(0), own


def selectivity(
    code: Code, labels: Int[Tensor, " samples"], *, signed: bool = False, shuffles: int, seed: int
) -> dict[str, float | Float[np.ndarray, " atoms"]]:
    """How much of what atoms do is told by the label.

    An atom's state is whether it is active, or, signed, also with which sign. `told`: mutual
    information of states and labels, summed over atoms, over the sum of the states' entropies: 0
    where states do not depend on the label, 1 where they follow from it. `told_shuffled`: mean of
    the same over shuffles of the labels, which is not 0 in a finite sample, and
    `told_shuffled_most`, the largest of them. `told_atom` (atom): per atom, information minus its
    mean over shuffles, over the entropy, in falling order, NaN for atoms that are always in the
    same state.
    """
    checks.number("shuffles", shuffles, low=1, integer=True)
    states = torch.sign(code).to(torch.int8) if signed else (code != 0).to(torch.int8)
    labels = labels.to(code.device)
    told, entropy = information(states, labels)
    rng = seeding.generator(seed, "shuffled labels")
    orders = [torch.randperm(len(labels), generator=rng).to(code.device) for _ in range(shuffles)]
    chance = torch.stack([information(states, labels[order])[0] for order in orders])
    whole = entropy.sum().clamp_min(SMALL)
    shuffled = chance.sum(1) / whole
    each = (
        torch.where(entropy > 0, (told - chance.mean(0)) / entropy.clamp_min(SMALL), torch.nan)
        .cpu()
        .numpy()
    )
    return {
        "told": float(told.sum() / whole),
        "told_shuffled": float(shuffled.mean()),
        "told_shuffled_most": float(shuffled.max()),
        "told_atom": -np.sort(-each),  # NaN last
    }


def _selectivities(
    codes: Sequence[Tensor], labels: Tensor, *, shuffles: int, seed: int
) -> xr.Dataset:
    most, depth = max(code.shape[1] for code in codes), len(codes)
    names = ("told", "told_shuffled", "told_shuffled_most")
    numbers = {name: np.empty((len(STATES), depth)) for name in names}
    atoms = np.full((depth, most), np.nan, np.float32)
    for layer, code in enumerate(codes):
        for row, state in enumerate(STATES):
            found = selectivity(
                code, labels, signed=state == "signed", shuffles=shuffles, seed=seed
            )
            for name in names:
                numbers[name][row, layer] = found[name]
            if state == "active":
                atoms[layer, : code.shape[1]] = found["told_atom"]
    coords = {"state": list(STATES), "layer": np.arange(1, depth + 1), "atom": np.arange(most)}
    variables = {name: (("state", "layer"), values) for name, values in numbers.items()}
    return xr.Dataset(variables | {"told_atom": (("layer", "atom"), atoms)}, coords)
