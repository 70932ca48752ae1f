"""What a learned start saves of a settle, and where the settle ends (VN Sec. 5).

Every start (see `STARTS`) is followed by the same settle, with plain steps and with momentum, until
its energy is near the lowest. Sweeps are counted, and what a start costs by itself, in the same
unit. Measurements are in float64.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
import xarray as xr

from benchmarks.starts.initialiser import (
    Codes,
    Dense,
    Initialiser,
    Lista,
    Stack,
    StepSizes,
    multiply_adds,
)
from benchmarks.starts.settling import Images, Sizes, convex, measured, settled, timed, zeros
from benchmarks.starts.training import Examples, RateSearch, train
from vnlib import checks, seeding
from vnlib.layer import Layer
from vnlib.network import VectorNetwork

# The starts that nothing is trained for, and those that are trained, by the loss.
PLAIN = ("cold", "nearest", "untrained")
LEARNED = {
    "steps": "codes",
    "lista": "codes",
    "lista_energy": "energy",
    "linear": "codes",
    "mlp": "codes",
}
STARTS = (*PLAIN, *LEARNED)
# Sets of inputs: in distribution, sums of two such, and what is composed or damaged in another way.
KINDS = ("id", "sum", "other")


def stack_of(network: VectorNetwork, dtype: torch.dtype = torch.float32) -> Stack:
    """The layers of a network as they are now."""
    layers = tuple(
        Layer(
            layer.V.detach().to(dtype),
            None if layer.U is None else layer.U.detach().to(dtype),
            layer.penalty,
        )
        for layer in network.layers
    )
    return Stack(layers, network.config.feedback if len(layers) > 1 else 0.0)


def study(
    network: VectorNetwork,
    train_x: Images,
    held: Images,
    tests: Mapping[str, Images],
    *,
    training: Mapping[str, Any],
    rates: Mapping[str, Sequence[float]],
    unrolled: int,
    hidden: Sequence[int],
    targets: Mapping[str, float],
    sizes: Mapping[str, Any],
    starts: Sequence[str] = STARTS,
    seed: int,
) -> xr.Dataset:
    """Every start against every other, for one network.

    Per (set, start, solver, level): `needed` (image), sweeps until F is that near to its lowest
    value, inf if they do not suffice; `sweeps`, their median; and what `savings` makes of them.
    `height` (set, start, solver, sweep): that distance, relative, median over images, NaN after all
    images have reached the last level. Per (set, start): `start_height` and `start_distance`, of F
    and of codes before any sweep, medians; `overlap` (layer), the Jaccard overlap of supports with
    those at the end, mean, `recall` and `precision` of the start's support; and about the end
    `end_distance`, `end_height`, the largest differences from where the cold start ends, relative,
    `end_differs`, the share of images with another support there, and
    `end_lower`, the share with a lower F. Per set: `end_gap`, the largest relative duality gap at
    all ends (NaN under a cap). Per start: `cost`, multiply-adds of the start in sweeps (what the
    settle needs in any case is not in it), `train_time` [s], `rate`, `excess` and
    `excess_untrained` of F on `held`. Per (start, timed_solver): `time_ratio`, processor time of
    start and settle to a relative gap of 1e-3 over that of the cold settle by the same solver
    (convex penalties, set "id"), and `time_cold` [ms] per image. Also `codes_time` [s], what the
    settled codes took.

    Parameters
    ----------
    train_x, held
        What initialisers are trained on and chosen by, all in distribution; `nearest` starts from
        the settled code of the nearest of train_x.
    tests
        Inputs of every set, equally many.
    training, rates
        Of initialisers: a `RateSearch`, and the learning rates of each start.
    unrolled
        Sweeps of ISTA in `untrained`, `steps` and both kinds of `lista`.
    hidden
        Units of `mlp`.
    targets
        `tol` and `sweeps` of the settles that codes are learned from.
    sizes
        What `Sizes` has.

    Raises
    ------
    ValueError
        For unknown starts, without "cold" or the set "id", and for missing rates.
    """
    for name in starts:
        checks.choice("each of starts", name, STARTS)
    for name, given in (("starts", starts), ("tests", tests)):
        if (needed := "cold" if name == "starts" else "id") not in given:
            raise ValueError(f"{name} must hold {needed!r}, got {', '.join(given)}")
    if missing := [name for name in starts if name in LEARNED and name not in rates]:
        raise ValueError(
            f"rates must have an entry for each learned start, got none for {', '.join(missing)}"
        )
    measures = Sizes(**sizes)
    if len(counts := {len(x) for x in tests.values()}) > 1 or measures.settled > min(counts):
        raise ValueError(
            "tests must be equally many, at least as many as are settled "
            f"({measures.settled}), got {sorted(counts)}"
        )
    stack, exact = stack_of(network), stack_of(network, torch.float64)
    begun = time.process_time()
    codes, codes_held = (settled(stack, some, **targets) for some in (train_x, held))
    codes_time, examples = time.process_time() - begun, Examples(train_x, codes, held, codes_held)
    made, facts = initialisers(
        stack,
        examples,
        training=RateSearch(**training),
        rates=rates,
        unrolled=unrolled,
        hidden=hidden,
        starts=starts,
        seed=seed,
    )
    x = torch.cat(list(tests.values()))
    guesses = {name: tuple(code.double() for code in guess(x)) for name, guess in made.items()}
    per_set = measured(exact, x.double(), guesses, list(tests), measures)
    found = xr.merge([per_set, facts]).assign(codes_time=((), codes_time, {"units": "s"}))
    if convex(stack):
        found = found.merge(timed(stack, tests["id"][: measures.timed], made, measures.repeats))
    return found.assign(savings(found))


def savings(found: xr.Dataset) -> dict[str, xr.DataArray]:
    """The share of its sweeps that a start saves a cold settle, median over images: `saved`, and
    with what the start costs by itself taken off, `saved_paid`. Negative where it takes longer; NaN
    where any image has no end.
    """
    needed = found["needed"].astype(float)
    cold = needed.sel(start="cold", drop=True)
    usable = np.isfinite(cold) & (cold > 0)
    paid = {"saved": needed, "saved_paid": needed + found["cost"]}
    return {
        name: (1 - sweeps / cold.where(usable)).median("image", skipna=False)
        for name, sweeps in paid.items()
    }


def initialisers(
    stack: Stack,
    examples: Examples,
    *,
    training: RateSearch,
    rates: Mapping[str, Sequence[float]],
    unrolled: int,
    hidden: Sequence[int],
    starts: Sequence[str],
    seed: int,
) -> tuple[dict[str, Callable[[Images], Codes]], xr.Dataset]:
    """Functions that make the codes of each start, and their `cost`, `rate`, `excess` and
    `train_time`.
    """

    def make(name: str) -> Initialiser:
        if name in ("linear", "mlp"):
            units = hidden if name == "mlp" else ()
            return Dense(stack, hidden=units, seed=seeding.derive(seed, name))
        # The matrices of `untrained` are the settle's own.
        kind = StepSizes if name in ("steps", "untrained") else Lista
        return kind(stack, sweeps=unrolled)

    def nearest(x: Images) -> Codes:
        rows = torch.cdist(x, examples.x).argmin(1)
        return tuple(code[rows] for code in examples.codes)

    per_sweep, made, rows = multiply_adds(stack), {}, []
    reads = stack.layers[0].V.numel()  # V'x, which the settle needs as well
    for name in starts:
        begun, facts = time.process_time(), {}
        if name == "cold":
            guess, cost = partial(zeros, stack), 0
        elif name == "nearest":
            guess, cost = nearest, examples.x.numel()
        else:
            guess = make(name)
            if name in LEARNED:
                given = {"rates": rates[name], "loss": LEARNED[name]}
                guess, facts = train(partial(make, name), examples, training, **given, seed=seed)
            guess.requires_grad_(False)
            cost = guess.multiply_adds() - (reads if isinstance(guess, StepSizes) else 0)
        made[name] = guess
        rows.append(
            {
                "cost": cost / per_sweep,
                "train_time": time.process_time() - begun if name in LEARNED else 0.0,
                "rate": facts.get("rate", np.nan),
                "excess": facts["excess"] if facts else examples.excess(stack, guess),
                "excess_untrained": facts.get("untrained", np.nan),
            }
        )
    found = xr.Dataset(
        {key: ("start", [row[key] for row in rows]) for key in rows[0]}, {"start": list(starts)}
    )
    found["train_time"].attrs["units"] = "s"
    return made, found.assign(sweep_cost=((), float(per_sweep), {"units": "multiply-adds"}))
