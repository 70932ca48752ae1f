"""The hopes of VN Sec. 5: slow inference and its remedy, tasks one after the other, and few
images.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from vnlib.book.evidence import medians, of, one, tagged
from vnlib.book.ledger import Decision, Part, claim

VN, AE = "vn_1", "ae"
LONG = ("ae_long", "ksparse_linear_long")  # the same and simpler, with five times the updates
PCA = "pca"
TOKENS, MLP, TOKEN_NET = FORCES = "b_vn_token", "b_mlp", "b_token_mlp"
SLOW, SHORTER, LESS = 10, 0.25, 0.1  # times a forward pass; shares of sweeps
LEVEL = 1e-3
LEARNED, FREE = ("lista", "linear"), ("cold", "untrained")
SETS = ("id", "add2")


@claim(
    id="VN-disc",
    source="VN Sec. 5",
    figure="beyond-cont-end",
    statement="Inference in a Vector Network is much slower than a feed-forward pass; learned "
    "initialisers should shorten it; continual learning and data efficiency should profit from "
    "weight atoms.",
)
def decide_discussion(r: xr.Dataset) -> Decision:
    """VN-disc."""
    return Decision(_printed(r), _controls(r))


def _printed(r: xr.Dataset) -> list[Part]:
    slow = float(one(r["inference_ratio"], model=VN).median())
    saved = of(one(r["inference_saved"], model=VN, set="id", solver="ista"), start=LEARNED)
    saved = float(saved.sel(level=LEVEL, method="nearest").median("seed").max())
    few = of(one(r["data_error"], set="id"), model=(VN, AE)).median("seed")
    worst = float((few.sel(model=VN) / few.sel(model=AE)).max("images", skipna=False))
    digits, forces = (_forgotten(r, models) for models in ((VN, AE), (TOKENS, MLP)))
    starts = "a learned start shortens the settle by plain steps"
    fewer = "lower error from as few images, same updates"
    return [
        Part("inference is much slower", slow >= SLOW, {"vn_1.settle_over_forward": slow}),
        Part(starts, saved >= SHORTER, {"vn_1.sweeps_saved": saved}),
        _lowest("VN-1L forgets less of digits than the autoencoder", digits, VN, "forgotten"),
        _lowest("tokens in a VN forget less of forces than the MLP", forces, TOKENS, "forgotten"),
        Part(fewer, worst < 1, {"vn_1.over_ae_at_worst": worst}),
    ]


def _controls(r: xr.Dataset) -> list[Part]:
    least = float(one(r["inference_ratio"], model=VN).min(skipna=False))
    sweeps = {kind: [_sweeps(r, starts, kind) for starts in (LEARNED, FREE)] for kind in SETS}
    saves = all(np.isfinite(a) and a <= (1 - LESS) * b for a, b in sweeps.values())
    both = {
        f"vn_1.sweeps_{way}_{kind}": n
        for kind, found in sweeps.items()
        for way, n in zip(("learned", "free"), found, strict=True)
    }
    models, tokens = (VN, *LONG), (TOKENS, TOKEN_NET)
    lost = medians(_final(r, models, "sequence") / _final(r, models, "joint"), models)
    replay, after = (medians(_final(r, m, "replay"), m) for m in (models, tokens))
    forgotten = _forgotten(r, tokens)
    few = of(r["data_error"], model=(*models, PCA), set=SETS).isel(images=0)
    errors = {kind: medians(few.sel(set=kind), (*models, PCA)) for kind in SETS}
    fewest = {f"{m}.error_fewest_{kind}": v for kind, e in errors.items() for m, v in e.items()}
    slow = "inference is much slower in every seed"
    lowest = all(_below(e, VN) for e in errors.values())
    return [
        Part(slow, least >= SLOW, {"vn_1.settle_over_forward_least": least}),
        Part("a learned start beats what is free, on single digits and sums", saves, both),
        _lowest("VN-1L loses least by learning in turn", lost, VN, "in_turn_over_joint"),
        _lowest("VN-1L has the lowest error with replay", replay, VN, "error_replay"),
        _lowest("tokens in a VN forget less than in a network", forgotten, TOKENS, "forgotten"),
        _lowest("they have the lower error with replay", after, TOKENS, "error_replay"),
        Part("lowest error from the fewest images", lowest, fewest),
    ]


def _errors(r: xr.Dataset, stream: str, models: Sequence[str]) -> tuple[xr.DataArray, xr.DataArray]:
    """Errors of models in a stream (model, seed, after, task), and those after the last turn
    (model, seed, task).
    """
    errors = of(one(r["error"], stream=stream), model=models)
    turns = of(r["power"], model=models).notnull().sum("task")
    return errors, errors.where(errors["after"] == turns).max("after")


def _forgotten(r: xr.Dataset, models: Sequence[str]) -> dict[str, float]:
    """Error at the end over that right after the task, mean over all tasks but the last; medians
    over seeds.
    """
    errors, end = _errors(r, "sequence", models)
    own = errors.where(errors["after"] == errors["task"] + 1).max("after")
    last = own["task"] >= own.notnull().sum("task") - 1
    return medians((end / own).where(~last).mean("task"), models)


def _final(r: xr.Dataset, models: Sequence[str], stream: str) -> xr.DataArray:
    """Mean error over tasks, each in units of its mean square (model, seed).

    Those of forces are relative already.
    """
    unit = of(r["power"], model=models)
    unit = unit.where(~unit["model"].isin(FORCES), 1.0)
    return (_errors(r, stream, models)[1] / unit).mean("task")


def _sweeps(r: xr.Dataset, starts: Sequence[str], kind: str) -> float:
    """The fewest sweeps by any of these starts and any solver, cost of the start included; medians
    over seeds.
    """
    both = r[["inference_sweeps", "inference_cost"]].to_array()
    total = of(one(both, model=VN, set=kind), start=starts)
    total = total.sel(level=LEVEL, method="nearest").sum("variable", skipna=False)
    return float(total.median("seed").min())


def _below(values: Mapping[str, float], name: str) -> bool:
    """Whether that of `name` is lower than all others."""
    return all(values[name] < value for other, value in values.items() if other != name)


def _lowest(says: str, values: Mapping[str, float], name: str, tag: str) -> Part:
    return Part(says, _below(values, name), tagged(values, tag))
