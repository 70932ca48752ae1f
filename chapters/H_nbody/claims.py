"""The claims of VN App. H: bodies that drop out (Fig. 9), feedback (H.3), and rollouts (H.4, Figs. 10
and 11).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from vnlib.book.evidence import bounded, of, part
from vnlib.book.ledger import Decision, Part, claim

VN, TOKENS = "vn_literal_3", "vn_token_3"  # the first reads 22 numbers per body, as printed
READINGS = (VN, "vn_gated_3", TOKENS)
OTHERS = ("mlp", "gnn", "transformer", "mamba", "film", "factorized")
PRINTED = (VN, *OTHERS, "random")
ON_TOKENS = ("token_mlp", "linear_tokens", "rbf_tokens")
STILL = np.log10(1.5)  # a model whose errors change by less than this does not move
WIDTH = np.pi / 8  # of a direction: vertical, diagonal and horizontal are 45 degrees apart
DIRECTIONS = {"vertically": np.pi / 2, "diagonally": np.pi / 4, "horizontally": 0.0}
ZERO, DEFAULT = "beta 0", "beta 0.02"
METRICS = ("criterion", "id_error", "ood_error", "ood_mse")
MIXED = ("gravity+lorentz", "spring+drag", "gravity+spring+drag+lorentz")
PANELS = ("gravity", "spring", "lorentz", *MIXED)


# --- Bodies drop out ------------------------------------------------------------------------------


def plane_of(r: xr.Dataset, models: Sequence[str], *, relative: bool = False) -> xr.Dataset:
    """Medians over force sets (model, seed, bodies): id of the four single ones, ood of the
    mixtures, pool of all.
    """
    values = of(r["mse"].sel(way="joint", bodies=[5, 4, 3]), model=models)
    values = values / r["power"] if relative else values
    mixed = r["forces"].str.contains(r"\+").values
    parts = {"id": values.isel(forces=~mixed), "ood": values.isel(forces=mixed), "pool": values}
    return xr.Dataset({name: one.median("forces", skipna=False) for name, one in parts.items()})


def growth_of(plane: xr.Dataset) -> xr.Dataset:
    """log10 of the errors with three bodies over those with five."""
    logs = np.log10(plane)
    return logs.sel(bodies=3) - logs.sel(bodies=5)


def goes(growth: xr.Dataset, way: str) -> bool:
    """Whether a model moves in this direction: its errors grow, by enough, and along these axes."""
    far = np.hypot(growth["id"], growth["ood"]) > STILL
    turn = np.abs(np.arctan2(growth["ood"], growth["id"]) - DIRECTIONS[way])
    return bool((far & (turn <= WIDTH)).all())


def rests(growth: xr.Dataset) -> bool:
    """Whether a model moves along neither axis."""
    return all(bool((np.abs(growth[axis]) <= STILL).all()) for axis in ("id", "ood"))


def steps(typical: xr.Dataset, model: str, tag: str = "") -> dict[str, xr.DataArray]:
    """The median growth of a model along both axes."""
    one = typical.sel(model=model)
    return {f"{model}.{axis}_growth_log10{tag}": one[axis] for axis in ("id", "ood")}


def movers(growth: xr.Dataset, *, each: bool) -> list[Part]:
    """Which way Mamba, the Transformer and the GNN move, and how far Mamba does.

    Parameters
    ----------
    each
        In every seed, by relative errors; otherwise in the median over seeds.
    """
    typical = growth.median("seed")
    moved, tag, ends = (growth, "_relative", " in every seed") if each else (typical, "", "")
    named = (("mamba", "Mamba"), ("transformer", "the Transformer"), ("gnn", "the GNN"))
    mamba, *others = (
        part(
            f"{name} moves {way}{ends}",
            goes(moved.sel(model=model), way),
            **steps(typical, model, tag),
        )
        for (model, name), way in zip(named, DIRECTIONS, strict=True)
    )
    far = typical["ood"].sel(model="mamba") >= np.log10(30)
    return [mamba, part("by two orders of magnitude", far), *others]


@claim(
    id="VN-H2",
    source="VN Fig. 9, App. H.2",
    figure="appH-dropout",
    reads="fig4_nbody",
    statement="As bodies drop out, the VN barely moves in the plane of median ID and median OOD "
    "error, where it has the lowest OOD error; Mamba's error grows vertically, by two orders of "
    "magnitude, the Transformer's diagonally, the GNN's horizontally; predicting the mean does "
    "not move; no model lies below the diagonal.",
)
def dropout(r: xr.Dataset) -> Decision:
    plane = plane_of(r, PRINTED)
    growth, middle = growth_of(plane), plane.median("seed")
    typical = growth.median("seed")
    vn, random = (
        part(says, rests(typical.sel(model=model)), **steps(typical, model))
        for says, model in (("the VN barely moves", VN), ("Random does not move", "random"))
    )
    ratio = middle["ood"].sel(model=VN) / middle["ood"].sel(model=list(OTHERS)).min("model")
    lowest = "the VN has the lowest OOD error at every N"
    pool = middle["pool"] / middle["id"]
    parts = [
        vn,
        bounded(lowest, "<", 1, vn_vs_best_other_worst=ratio),
        *movers(growth, each=False),
        random,
        bounded("no model lies below the diagonal", ">=", 1, pool_vs_id_least=pool),
    ]
    return Decision(parts, dropout_controls(r))


def dropout_controls(r: xr.Dataset) -> list[Part]:
    """The same for relative errors, in all readings and seeds, beside the controls on tokens."""
    everyone = tuple(dict.fromkeys((*READINGS, *PRINTED, *ON_TOKENS)))
    plane = plane_of(r, everyone, relative=True)
    growth, middle = growth_of(plane), plane["ood"].median("seed")
    own, typical = growth.sel(model=list(READINGS)), growth.median("seed")
    farthest = np.maximum(np.abs(own["id"]), np.abs(own["ood"])).max()
    rivals = [m for m in everyone if not m.startswith("vn_")]
    ratio = middle.sel(model=TOKENS) / middle.sel(model=rivals).min("model")
    lowest = "the VN on tokens has the lowest relative OOD error at every N"
    moved = np.hypot(typical["id"], typical["ood"])
    tokens, least = moved.sel(model=TOKENS), moved.sel(model=list(ON_TOKENS)).min()
    says = "VN-3L barely moves in every reading and seed"
    return [
        part(says, rests(own), **{"vn.farthest_relative_log10": farthest}),
        bounded(lowest, "<", 1, **{f"{TOKENS}.vs_best_other_worst": ratio}),
        *movers(growth, each=True),
        part(
            "the VN on tokens moves less than other models of the same tokens",
            tokens < least,
            **{f"{TOKENS}.moved_log10": tokens, "on_tokens.moved_least_log10": least},
        ),
    ]


# --- Feedback -------------------------------------------------------------------------------------


def change(r: xr.Dataset, name: str, readings: Sequence[str], old: str, new: str) -> xr.DataArray:
    """What another variant changes in log10 of an error (model, seed)."""
    logs = np.log10(of(r[name], model=readings, variant=(old, new)))
    return logs.sel(variant=new, drop=True) - logs.sel(variant=old, drop=True)


@claim(
    id="VN-H3",
    source="VN App. H.3",
    figure="appH-feedback",
    statement="A small global feedback weight lowers the OOD error a little, at a modest cost in "
    "distribution; the benefit does not add to that of drawing dead atoms anew; a readout per "
    "force makes it worse, and inverting the coupling worsens every measure.",
)
def feedback(r: xr.Dataset) -> Decision:
    readings = ("literal", "gated", "token")
    there = {*readings} <= {*r["model"].values.tolist()}
    controls = feedback_parts(r, readings, each=True) if there else None
    return Decision(feedback_parts(r, readings[:1], each=False), controls)


def feedback_parts(r: xr.Dataset, readings: Sequence[str], *, each: bool) -> list[Part]:
    """The four properties, in every reading and seed, or in the median over seeds."""

    def value(values: xr.DataArray, worst: str = "max") -> xr.DataArray:
        return getattr(values, worst if each else "median")()

    def against(name: str, variant: str) -> xr.DataArray:
        return value(change(r, name, readings, DEFAULT, variant), "min")

    anew = [f"{ZERO}, revived", f"{DEFAULT}, revived"]
    gain = change(r, "ood_error", readings, ZERO, DEFAULT)
    revived = of(r["fact_revived"], model=readings, variant=anew).sum("variant")
    some = revived.min() if each else revived.max()
    fall, less = value(gain), value(change(r, "ood_error", readings, *anew) - gain, "min")
    paid = value(change(r, "id_error", readings, ZERO, DEFAULT))
    tag, mostly = "each" if each else "literal", (gain < 0).mean()
    inverted = {f"{tag}.inverted_{name}_log10": against(name, "inverted") for name in METRICS}
    split = {f"{tag}.split_log10": against("ood_error", "split")}
    return [
        part(
            "a little feedback lowers the OOD error at a modest cost",
            fall < 0 and mostly > 0.5 and paid <= np.log10(1.25),
            **{f"{tag}.ood_log10": fall, f"{tag}.falls_share": mostly, f"{tag}.id_log10": paid},
        ),
        part(
            "its benefit shrinks where dead atoms are drawn anew",
            fall < 0 and less > 0 and some > 0,
            **{f"{tag}.interaction_log10": less, f"{tag}.revived": some},
        ),
        bounded("a readout per force makes it worse", ">", 0, **split),
        bounded("the inverted coupling worsens every measure", ">", 0, **inverted),
    ]


# --- Rollouts -------------------------------------------------------------------------------------


def drift_of(r: xr.Dataset, models: Sequence[str]) -> xr.DataArray:
    """Squared distance from the truth, median over starts (model, seed, panel, step)."""
    return of(r["drift"], model=models, panel=PANELS).median("start")


def one_step(r: xr.Dataset, models: Sequence[str]) -> xr.DataArray:
    """One-step errors over the power of accelerations, of five bodies (model, seed, panel)."""
    relative = (r["mse"].sel(way="joint") / r["power"]).sel(bodies=5)
    return of(relative, model=models, forces=PANELS).rename(forces="panel")


def won(drift: xr.DataArray, own: str, others: Sequence[str]) -> xr.DataArray:
    """On which panels a model is below all others."""
    return drift.sel(model=own) < drift.sel(model=list(others)).min("model")


def nearest(last: xr.DataArray, own: str, name: str, tag: str = "") -> list[Part]:
    """Whether a Vector Network ends nearest to the truth."""
    panels = won(last, own, OTHERS)
    all_six, mixed = {f"{tag}panels": panels.sum()}, panels.sel(panel=list(MIXED)).sum()
    return [
        bounded(f"{name} drifts least on at least five of six panels", ">=", 5, **all_six),
        bounded(f"{name} is nearest on every mixture", ">=", 3, **{f"{tag}mixtures": mixed}),
    ]


@claim(
    id="VN-H4",
    source="VN Figs. 10, 11, App. H.4",
    figure="appH-drift",
    reads="fig4_nbody",
    statement="In open-loop rollouts of 999 steps the VN drifts least on five of six panels, and "
    "is nearest to the truth on every mixture; Factorized drifts away later in spite of its very "
    "low one-step error.",
)
def rollouts(r: xr.Dataset) -> Decision:
    middle = drift_of(r, (VN, *OTHERS)).median("seed")
    end = middle["step"].values[-1]
    last, early = (middle.sel(step=at, method="nearest") for at in (end, end / 10))
    low = {"factorized.one_step": one_step(r, ("factorized",)).median("panel").median("seed")}
    behind, before = (at.sel(model="factorized") / at.sel(model=VN) for at in (last, early))
    farther, later = (behind > 1).sum(), {"factorized.later_panels": (behind > before).sum()}
    far = {"factorized.behind_panels": farther, "factorized.vs_vn_median": behind.median()}
    printed = [
        *nearest(last, VN, "the VN"),
        bounded("Factorized has a very low one-step error", "<=", 0.05, **low),
        part("Factorized ends farther off than the VN", farther >= 4, **far),
        bounded("Factorized falls behind later", ">=", 4, **later),
    ]
    return Decision(printed, rollouts_controls(r))


def rollouts_controls(r: xr.Dataset) -> list[Part]:
    """The same for the VN on tokens, in every seed, and beside the controls on tokens."""
    rivals = [*OTHERS, *ON_TOKENS]
    drift = drift_of(r, (TOKENS, *rivals)).isel(step=-1)
    last, error = drift.median("seed"), one_step(r, (TOKENS, *rivals)).median("seed")
    each = {f"{TOKENS}.panels_least": won(drift, TOKENS, OTHERS).sum("panel")}
    beside = {f"{TOKENS}.panels_vs_tokens": won(last, TOKENS, ON_TOKENS).sum()}
    better = (error.sel(model=rivals) < error.sel(model=TOKENS)).sum("panel")
    farther = (last.sel(model=rivals) > last.sel(model=TOKENS)).sum("panel")
    against = {"lower_error_more_drift_models": ((better >= 4) & (farther >= 4)).sum()}
    below = "on at least five panels below other models of the same tokens"
    return [
        *nearest(last, TOKENS, "the VN on tokens", f"{TOKENS}."),
        bounded("on at least five panels in every seed", ">=", 5, **each),
        bounded(below, ">=", 5, **beside),
        bounded("one-step errors do not decide the drift", ">", 0, **against),
    ]
