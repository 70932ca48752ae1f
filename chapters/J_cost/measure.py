"""What a settle and a learning step cost, and how that grows with d, K, B and depth (VN Sec. 5,
App. J).

Two measures: operations in products of matrices, which PyTorch counts and no machine changes, and
seconds. Beside them stands a feed-forward network with as many weights.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float, Real
from torch import Tensor, nn

from benchmarks.starts.operations import in_loops, operations
from vnlib import checks, seeding
from vnlib.learning.learner import LocalLearner
from vnlib.network import VectorNetwork
from vnlib.settle import SettleConfig

AXES = ("d", "K", "B", "depth")
TASKS = ("settle", "line_search", "sweep", "update", "forward", "backward")
"""A settle to a duality gap by coordinate descent, of all layers at once; the same by line search;
one sweep, of many; one update by local learning; a pass through the feed-forward network; one
update of that by backpropagation.
"""
ACTIVE, NOISE = 16, 0.05  # atoms behind a planted sample; noise as a share of its norm


@dataclass(frozen=True, kw_only=True)
class Size:
    """d numbers per sample, K atoms per layer, B samples per batch, layers."""

    d: int
    K: int
    B: int
    depth: int = 1

    def __post_init__(self) -> None:
        for name in AXES:
            checks.number(name, getattr(self, name), low=1, integer=True)

    @property
    def interface(self) -> int:
        """Numbers that a layer sends upward."""
        return max(1, self.K // 2)

    @property
    def weights(self) -> int:
        """Numbers in all dictionaries V and U of the network."""
        m, above = self.interface, self.depth - 1
        return self.d * self.K + above * 2 * m * self.K

    @property
    def width(self) -> int:
        """Units in each of `depth` hidden layers of the feed-forward network whose weights come
        closest.
        """
        # 2 d h + (depth - 1) h^2 = weights.
        a, b = self.depth - 1, self.d
        h = self.weights / (2 * b) if not a else (-b + (b * b + a * self.weights) ** 0.5) / a
        return max(1, round(h))


def planted(size: Size, n: int, *, seed: int) -> Float[Tensor, "n d"]:
    """Samples of `ACTIVE` random atoms each, of K random ones, with signs and a little noise;
    r.m.s. norm 1.
    """
    rng = seeding.generator(seed, "planted", size.d, size.K)
    atoms = nn.functional.normalize(torch.randn(size.d, size.K, generator=rng), dim=0)
    codes = torch.zeros(n, size.K)
    used = torch.rand(n, size.K, generator=rng).topk(min(ACTIVE, size.K), dim=1).indices
    values = (0.5 + torch.rand(used.shape, generator=rng)) * torch.randn(
        used.shape, generator=rng
    ).sign()
    x = codes.scatter_(1, used, values) @ atoms.T
    noise = torch.randn(x.shape, generator=rng) / size.d**0.5
    x = x + NOISE * x.norm(dim=1, keepdim=True) * noise
    return x / x.square().sum(1).mean().sqrt()


def vector_network(
    size: Size, *, seed: int, steps: int, tol: float, device: torch.device | str
) -> VectorNetwork:
    """A network of this size, settled to a gap of tol, that has learned a little from planted
    samples.
    """
    n = max(2 * size.K * size.depth, 512)
    x = planted(size, n, seed=seed)
    network = VectorNetwork.for_data(
        x,
        atoms=(size.K,) * size.depth,
        interface=(size.interface,) * (size.depth - 1),
        seed=seed,
        sparsity=0.05,
        settle=SettleConfig.exact(tol=tol),
    ).to(device)
    learner, rng = LocalLearner(network, lr=5e-3), seeding.generator(seed, "batches")
    for _ in range(steps):
        learner.step(
            (x[torch.randint(n, (256,), generator=rng)].to(device),), scale=1.0, generator=rng
        )
    return network


def feed_forward(size: Size, *, seed: int) -> nn.Sequential:
    """An autoencoder d -> h -> ... -> h -> d with ReLU, no biases, and about as many weights as the
    network.
    """
    widths = [size.d, *[size.width] * size.depth, size.d]
    layers: list[nn.Module] = []
    rng = seeding.generator(seed, "feed-forward")
    for inputs, outputs in pairwise(widths):
        linear = nn.Linear(inputs, outputs, bias=False)
        with torch.no_grad():
            linear.weight.copy_(torch.randn(outputs, inputs, generator=rng) / inputs**0.5)
        layers += [linear, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def tasks(
    size: Size,
    *,
    seed: int,
    steps: int,
    sweeps: int,
    tol: float,
    device: torch.device | str = "cpu",
) -> dict[str, Callable[[], object]]:
    """Each of `TASKS` as a call on one batch of B samples; what all settles of a network share is
    made before, but for an update, which changes the network.
    """
    network = vector_network(size, seed=seed, steps=steps, tol=tol, device=device)
    x = planted(size, size.B, seed=seed).to(device)
    by_steps = SettleConfig.exact(method="line_search", tol=tol, check_every=5, max_sweeps=2000)
    exact, searching = network.settler(), network.settler(by_steps)
    settler = network.settler(SettleConfig.training(max_sweeps=sweeps))
    learner, rng = LocalLearner(network, lr=5e-3), seeding.generator(seed, "revived")
    plain = feed_forward(size, seed=seed).to(device)
    adam = torch.optim.Adam(plain.parameters(), lr=1e-3)

    @torch.no_grad()
    def forward() -> Tensor:
        return plain(x)

    def backward() -> None:
        adam.zero_grad()
        (plain(x) - x).square().mean().backward()
        adam.step()

    return {
        "settle": lambda: exact(x),
        "line_search": lambda: searching(x),
        "sweep": lambda: settler(x),
        "update": lambda: learner.step((x,), scale=0.0, generator=rng),
        "forward": forward,
        "backward": backward,
    }


def one_sweep(size: Size, *, seed: int, device: torch.device | str = "cpu") -> int:
    """Operations of one more sweep of a batch, without what a settle does once."""
    network = vector_network(size, seed=seed, steps=0, tol=1, device=device)
    x = planted(size, size.B, seed=seed).to(device)
    counts = []
    for sweeps in (2, 3):
        settler = network.settler(SettleConfig.training(max_sweeps=sweeps))
        counts.append(operations(lambda settle=settler: settle(x)))
    return counts[1] - counts[0]


def seconds(call: Callable[[], object], device: torch.device | str = "cpu") -> float:
    """How long a call takes: processor time on the CPU, which other programs do not add to, else by
    the clock.
    """
    if torch.device(device).type == "cpu":
        begin = time.process_time()
        call()
        return time.process_time() - begin
    torch.cuda.synchronize(device)
    begin = time.perf_counter()
    call()
    torch.cuda.synchronize(device)
    return time.perf_counter() - begin


def exponent(sizes: Real[np.ndarray, " n"], values: Float[np.ndarray, " n"]) -> float:
    """p of value = c size^p by least squares on logarithms; NaN with fewer than two values that are
    finite and > 0.
    """
    sizes, values = np.asarray(sizes, float), np.asarray(values, float)
    good = np.isfinite(values) & (values > 0)
    if good.sum() < 2:
        return float("nan")
    return float(np.polyfit(np.log(sizes[good]), np.log(values[good]), 1)[0])


def scaling(
    vary: str,
    sizes: Sequence[int],
    base: Mapping[str, int],
    *,
    seed: int,
    repeats: int,
    steps: int,
    sweeps: int,
    tol: float,
    device: torch.device | str = "cpu",
) -> xr.Dataset:
    """Costs along one axis, the others as in `base`.

    Returns
    -------
    xr.Dataset
        `time` (task, place, repeat) in s and `operations` (task, place), those of compiled loops as
        `benchmarks.starts.operations` says; `needed` (place), mean sweeps of the line search to the
        gap; `weights` and `other_weights` (place) of both networks; `device_peak` (place) in
        B on a GPU; `time_exponent` and `operations_exponent` (task). `size` (place) is what was
        varied. All tasks are warmed up and then take turns.

    Raises
    ------
    ValueError
        For an unknown axis or fewer than two sizes.
    """
    checks.choice("vary", vary, AXES)
    checks.number("repeats", repeats, low=1, integer=True)
    if len(sizes) < 2 or len(set(sizes)) < len(sizes):
        raise ValueError(f"sizes must be at least two different numbers, got {list(sizes)}")
    shape = (len(TASKS), len(sizes))
    spent, counted = np.full((*shape, repeats), np.nan), np.full(shape, np.nan)
    per_place = {
        name: np.full(len(sizes), np.nan)
        for name in ("needed", "weights", "other_weights", "device_peak")
    }
    on_gpu = torch.device(device).type == "cuda"
    for place, value in enumerate(sizes):
        size = Size(**{**base, vary: value})
        if on_gpu:
            torch.cuda.reset_peak_memory_stats(device)
        loops, todo = (
            0.0,
            tasks(size, seed=seed, steps=steps, sweeps=sweeps, tol=tol, device=device),
        )
        for name, call in todo.items():
            settled = call()
            counted[TASKS.index(name), place] = operations(call)
            if name == "settle":
                loops = in_loops(settled)
            if name in ("settle", "update"):
                counted[TASKS.index(name), place] += loops
            if name == "line_search":
                per_place["needed"][place] = float(settled.sweeps.double().mean())
        counted[TASKS.index("sweep"), place] = one_sweep(size, seed=seed, device=device)
        for repeat in range(repeats):
            for name, call in todo.items():
                share = sweeps if name == "sweep" else 1
                spent[TASKS.index(name), place, repeat] = seconds(call, device) / share
        per_place["weights"][place] = size.weights
        per_place["other_weights"][place] = sum(
            p.numel() for p in feed_forward(size, seed=seed).parameters()
        )
        if on_gpu:
            per_place["device_peak"][place] = torch.cuda.max_memory_allocated(device)
    middle = np.median(spent, axis=2)
    units = {"units": "1"}
    return xr.Dataset(
        {
            "time": (
                ("task", "place", "repeat"),
                spent,
                {"units": "s", "long_name": "time of one call, one batch"},
            ),
            "operations": (("task", "place"), counted, units),
            **{
                name: ("place", values, {"units": "B" if name == "device_peak" else "1"})
                for name, values in per_place.items()
            },
            "size": ("place", np.asarray(sizes, float), units),
            "time_exponent": ("task", [exponent(sizes, row) for row in middle], units),
            "operations_exponent": ("task", [exponent(sizes, row) for row in counted], units),
        },
        {"task": list(TASKS), "place": range(len(sizes))},
    )
