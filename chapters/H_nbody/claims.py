"""The claims of VN App. H: bodies that drop out (Fig. 9), feedback (H.3), and rollouts (H.4, Figs. 10
and 11).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from vnlib.book.evidence import medians, of, tagged
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
PANELS = (
    "gravity",
    "spring",
    "lorentz",
    "gravity+lorentz",
    "spring+drag",
    "gravity+spring+drag+lorentz",
)
MIXED = [panel for panel in PANELS if "+" in panel]


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


def steps(growth: xr.Dataset, model: str, tag: str = "") -> dict[str, float]:
    """The median growth of a model along both axes."""
    one = growth.sel(model=model).median("seed")
    return {f"{model}.{axis}_growth_log10{tag}": float(one[axis]) for axis in ("id", "ood")}


def movers(growth: xr.Dataset, *, each: bool) -> list[Part]:
    """Which way Mamba, the Transformer and the GNN move, and how far Mamba does.

    Parameters
    ----------
    each
        In every seed, by relative errors; otherwise in the median over seeds.
    """
    typical = growth.median("seed")
    moved, tag = (growth, "_relative") if each else (typical, "")
    found = [
        Part(
            f"{name} moves {way}{' in every seed' * each}",
            goes(moved.sel(model=model), way),
            steps(growth, model, tag),
        )
        for model, name, way in (
            ("mamba", "Mamba", "vertically"),
            ("transformer", "the Transformer", "diagonally"),
            ("gnn", "the GNN", "horizontally"),
        )
    ]
    far = float(typical["ood"].sel(model="mamba")) >= np.log10(30)
    return [found[0], Part("by two orders of magnitude", far), *found[1:]]


@claim(
    id="VN-H2",
    source="VN Fig. 9, App. H.2",
    chapter="H_nbody",
    figure="appH-dropout",
    reads="fig4_nbody",
    statement="As bodies drop out, the VN barely moves in the plane of median ID and median OOD "
    "error, where it has the lowest OOD error; Mamba's error grows vertically, by two orders of "
    "magnitude, the Transformer's diagonally, the GNN's horizontally; predicting the mean does "
    "not move; no model lies below the diagonal.",
    rule="Medians over force sets (four single ones, eleven mixtures), all forces given at once; "
    "medians over seeds; the VN is VN-3L on the 22 numbers. A model moves if log10 of an error "
    "changes by more than log10 1.5 from N = 5 to N = 3; vertical, diagonal and horizontal are "
    "growth within 22.5 degrees of these directions in the log-log plane. (a) The VN does not "
    "move, along either axis. (b) Its OOD error is the lowest of the paper's seven at N = 5, 4 "
    "and 3. (c) Mamba moves vertically, and (d) by a factor of at least 30. (e) The Transformer "
    "moves diagonally, (f) the GNN horizontally. (g) Random does not move. (h) With all fifteen "
    "sets as the OOD pool, as in the paper, no model has a lower OOD than ID error at any N. "
    "With controls: relative errors, since fewer bodies feel weaker forces: (a) VN-3L does not move in "
    "any of the three readings and any seed; (b) the VN on tokens has the lowest OOD error at "
    "every N, also below the controls on the same tokens; (c), (e), (f) the directions in every "
    "seed; (d) as above; (g) the VN on tokens moves less than every control on the same tokens.",
)
def dropout(r: xr.Dataset) -> Decision:
    plane = plane_of(r, PRINTED)
    growth, middle = growth_of(plane), plane.median("seed")
    typical = growth.median("seed")
    ratio = middle["ood"].sel(model=VN) / middle["ood"].sel(model=list(OTHERS)).min("model")
    pool = middle["pool"] / middle["id"]
    return Decision(
        [
            Part("the VN barely moves", rests(typical.sel(model=VN)), steps(growth, VN)),
            Part(
                "the VN has the lowest OOD error at every N",
                bool((ratio < 1).all()),
                {"vn_vs_best_other_worst": float(ratio.max())},
            ),
            *movers(growth, each=False),
            Part(
                "Random does not move",
                rests(typical.sel(model="random")),
                steps(growth, "random"),
            ),
            Part(
                "no model lies below the diagonal",
                bool((pool >= 1).all()),
                {"pool_vs_id_least": float(pool.min())},
            ),
        ],
        dropout_controls(r),
    )


def dropout_controls(r: xr.Dataset) -> list[Part]:
    """The same for relative errors, in all readings and seeds, beside the controls on tokens."""
    everyone = tuple(dict.fromkeys((*READINGS, *PRINTED, *ON_TOKENS)))
    plane = plane_of(r, everyone, relative=True)
    growth, middle = growth_of(plane), plane["ood"].median("seed")
    own = growth.sel(model=list(READINGS))
    farthest = np.maximum(np.abs(own["id"]), np.abs(own["ood"])).max()
    rivals = [m for m in everyone if not m.startswith("vn_")]
    ratio = middle.sel(model=TOKENS) / middle.sel(model=rivals).min("model")
    typical = growth.median("seed")
    moved = np.hypot(typical["id"], typical["ood"])
    tokens, least = moved.sel(model=TOKENS), moved.sel(model=list(ON_TOKENS)).min()
    return [
        Part(
            "VN-3L barely moves in every reading and seed",
            rests(own),
            {"vn.farthest_relative_log10": float(farthest)},
        ),
        Part(
            "the VN on tokens has the lowest relative OOD error at every N",
            bool((ratio < 1).all()),
            {f"{TOKENS}.vs_best_other_worst": float(ratio.max())},
        ),
        *movers(growth, each=True),
        Part(
            "the VN on tokens moves less than other models of the same tokens",
            bool(tokens < least),
            {f"{TOKENS}.moved_log10": float(tokens), "on_tokens.moved_least_log10": float(least)},
        ),
    ]


# --- Feedback -------------------------------------------------------------------------------------


def logs_of(
    r: xr.Dataset, name: str, readings: Sequence[str], *variants: str
) -> list[xr.DataArray]:
    """log10 of an error (model, seed) for each of these variants."""
    logs = np.log10(of(r[name], model=readings, variant=variants))
    return [logs.sel(variant=one, drop=True) for one in variants]


def benefit(r: xr.Dataset, name: str, readings: Sequence[str], tail: str = "") -> xr.DataArray:
    """What the default beta changes in log10 of an error; tail: of the variants."""
    zero, default = logs_of(r, name, readings, ZERO + tail, DEFAULT + tail)
    return default - zero


@claim(
    id="VN-H3",
    source="VN App. H.3",
    chapter="H_nbody",
    figure="appH-feedback",
    statement="A small global feedback weight lowers the OOD error a little, at a modest cost in "
    "distribution; the benefit does not add to that of drawing dead atoms anew; a readout per "
    "force makes it worse, and inverting the coupling worsens every measure.",
    rule="VN-3L on the 22 numbers; beta = 0.02 against 0; relative errors of the test; medians "
    "over seeds of differences of log10 within a seed. (a) The OOD error (mixtures, N = 5, 4, 3) "
    "falls with beta, in more than half of the seeds and the median, and the ID error grows by "
    "at most a factor of 1.25. (b) Given (a)'s fall, it is smaller when dead atoms are drawn "
    "anew, and some were. (c) With a readout per force the OOD error is higher. (d) With the "
    "coupling inverted the errors on validation, ID and OOD states are higher, the last one also "
    "as plain MSE. With controls: in every reading that the paper's word allows (22 numbers, gated "
    "features, tokens) and every seed.",
)
def feedback(r: xr.Dataset) -> Decision:
    readings = ("literal", "gated", "token")
    lacking = not {*readings} <= {*r["model"].values.tolist()}
    controls = None if lacking else feedback_parts(r, readings, each=True)
    return Decision(feedback_parts(r, ("literal",), each=False), controls)


def feedback_parts(r: xr.Dataset, readings: Sequence[str], *, each: bool) -> list[Part]:
    """The four properties, in every reading and seed, or in the median over seeds."""

    def value(values: xr.DataArray, worst: str = "max") -> float:
        return float(getattr(values, worst)() if each else values.median())

    def against(name: str, variant: str) -> float:
        own, default = logs_of(r, name, readings, variant, DEFAULT)
        return value(own - default, "min")

    gain = benefit(r, "ood_error", readings)
    both = benefit(r, "ood_error", readings, ", revived") - gain
    revived = of(
        r["fact_revived"], model=readings, variant=[f"{ZERO}, revived", f"{DEFAULT}, revived"]
    ).sum("variant")
    some = float(revived.min() if each else revived.max())
    split = against("ood_error", "split")
    inverted = {name: against(name, "inverted") for name in METRICS}
    fall, less, paid = value(gain), value(both, "min"), value(benefit(r, "id_error", readings))
    tag, mostly = "each" if each else "literal", float((gain < 0).mean())
    return [
        Part(
            "a little feedback lowers the OOD error at a modest cost",
            fall < 0 and mostly > 0.5 and paid <= np.log10(1.25),
            {f"{tag}.ood_log10": fall, f"{tag}.falls_share": mostly, f"{tag}.id_log10": paid},
        ),
        Part(
            "its benefit shrinks where dead atoms are drawn anew",
            fall < 0 and less > 0 and some > 0,
            {f"{tag}.interaction_log10": less, f"{tag}.revived": some},
        ),
        Part("a readout per force makes it worse", split > 0, {f"{tag}.split_log10": split}),
        Part(
            "the inverted coupling worsens every measure",
            min(inverted.values()) > 0,
            {f"{tag}.inverted_{name}_log10": v for name, v in inverted.items()},
        ),
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
    mixtures = panels.sel(panel=MIXED)
    return [
        Part(
            f"{name} drifts least on at least five of six panels",
            int(panels.sum()) >= 5,
            {f"{tag}panels": float(panels.sum())},
        ),
        Part(
            f"{name} is nearest on every mixture",
            bool(mixtures.all()),
            {f"{tag}mixtures": float(mixtures.sum())},
        ),
    ]


@claim(
    id="VN-H4",
    source="VN Figs. 10, 11, App. H.4",
    chapter="H_nbody",
    figure="appH-drift",
    reads="fig4_nbody",
    statement="In open-loop rollouts of 999 steps the VN drifts least on five of six panels, and "
    "is nearest to the truth on every mixture; Factorized drifts away later in spite of its very "
    "low one-step error.",
    rule="Drift: squared distance from the truth, mean over bodies, median over 20 starts, then "
    "over seeds; the VN is VN-3L on the 22 numbers; against MLP, GNN, Transformer, Mamba, FiLM "
    "and Factorized. (a) At the last step the VN has the least drift on at least 5 of the 6 "
    "panels, and (b) on all three mixtures. (c) Factorized has a low one-step error: at most "
    "0.05 of the power of accelerations, median over the panels' force sets; (d) still it ends "
    "farther off than the VN on at least 4 panels, and (e) its drift over the VN's is larger at "
    "the last step than at a tenth of the way on at least 4 panels. With controls: (a), (b) for the VN on "
    "tokens against the same six, and (c) in every seed, on at least 5 panels; (d) on at least 5 "
    "panels it is also below the controls: networks and ridges on the same tokens; (e) one-step "
    "errors do not decide: some model with a lower one-step error than the VN on tokens ends "
    "farther off, each on at least 4 panels.",
)
def rollouts(r: xr.Dataset) -> Decision:
    middle = drift_of(r, (VN, *OTHERS)).median("seed")
    end = middle["step"].values[-1]
    last, early = (middle.sel(step=at, method="nearest") for at in (end, end / 10))
    low = medians(one_step(r, ("factorized",)).median("panel"), ("factorized",))
    behind, before = (at.sel(model="factorized") / at.sel(model=VN) for at in (last, early))
    farther, later = float((behind > 1).sum()), float((behind > before).sum())
    return Decision(
        [
            *nearest(last, VN, "the VN"),
            Part(
                "Factorized has a very low one-step error",
                low["factorized"] <= 0.05,
                tagged(low, "one_step"),
            ),
            Part(
                "Factorized ends farther off than the VN",
                farther >= 4,
                {
                    "factorized.behind_panels": farther,
                    "factorized.vs_vn_median": float(behind.median()),
                },
            ),
            Part("Factorized falls behind later", later >= 4, {"factorized.later_panels": later}),
        ],
        rollouts_controls(r),
    )


def rollouts_controls(r: xr.Dataset) -> list[Part]:
    """The same for the VN on tokens, in every seed, and beside the controls on tokens."""
    rivals = [*OTHERS, *ON_TOKENS]
    drift = drift_of(r, (TOKENS, *rivals)).isel(step=-1)
    last, error = drift.median("seed"), one_step(r, (TOKENS, *rivals)).median("seed")
    each = float(won(drift, TOKENS, OTHERS).sum("panel").min())
    beside = float(won(last, TOKENS, ON_TOKENS).sum("panel"))
    better = (error.sel(model=rivals) < error.sel(model=TOKENS)).sum("panel")
    farther = (last.sel(model=rivals) > last.sel(model=TOKENS)).sum("panel")
    against = float(((better >= 4) & (farther >= 4)).sum())
    return [
        *nearest(last, TOKENS, "the VN on tokens", f"{TOKENS}."),
        Part("on at least five panels in every seed", each >= 5, {f"{TOKENS}.panels_least": each}),
        Part(
            "on at least five panels below other models of the same tokens",
            beside >= 5,
            {f"{TOKENS}.panels_vs_tokens": beside},
        ),
        Part(
            "one-step errors do not decide the drift",
            against > 0,
            {"lower_error_more_drift_models": against},
        ),
    ]
