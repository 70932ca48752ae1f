"""What appendix G found, in words and numbers: sentences that are computed from the results, as
Markdown.

`shared` are the results of chapter fig3_functions (see `function_tables`), `r` those of
`studies.readings`.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from chapters.G_functions.figures import MASKS, OTHERS, ROSTER, SETS, VN, best, blank, has, order
from chapters.G_functions.figures_readings import FOLLOWED, names
from vnlib.plots.rows import label

TRAINED_WITH_MASKS = ("deep_ae_masked", "rnn_masked", "transformer_masked")
UNLEARNED = ("vn_untrained", "fourier")
CELLS = [(mask, s) for mask in MASKS for s in SETS]


def _hidden(shared: xr.Dataset, model: str, way: str) -> np.ndarray:
    """Mean error over seeds in every cell, in the order of `CELLS`."""
    cells = shared["hidden"].sel(model=model, protocol=way).mean("seed")
    return np.array([float(cells.sel(mask=mask, set=s)) for mask, s in CELLS])


def _least(shared: xr.Dataset, models: tuple[str, ...] | list[str], way: str) -> np.ndarray:
    """Error of the best of some models in every cell."""
    return np.array(
        [best(shared, way, [m for m in models if has(shared, m)], *cell)[1] for cell in CELLS]
    )


def summary(shared: xr.Dataset, r: xr.Dataset) -> str:
    """The page in one minute."""
    return (
        "\n".join([*_tables(shared), *_rounds(r), *_readings(r)])
        or "Nothing was asked for that this page reports."
    )


def _tables(shared: xr.Dataset) -> list[str]:
    vn, others = ([m for m in group if has(shared, m)] for group in (VN, OTHERS))
    lines = []
    if not vn:
        return lines
    if others:
        whole = shared["mse"].mean("seed")
        ahead = [
            s
            for s in SETS
            if float(whole.sel(model=vn, set=s).min()) < float(whole.sel(model=others, set=s).min())
        ]
        first = {
            s: whole.sel(set=s, model=[*vn, *others]).dropna("model").idxmin("model").item()
            for s in SETS
        }
        won = int((_least(shared, vn, "zero_filled") < _least(shared, others, "zero_filled")).sum())
        lines += [
            "- **Reconstruction:** the least error is that of "
            + ", ".join(f"{label(shared, m)} on {SETS[s]}" for s, m in first.items())
            + f"; a VN is ahead of all the paper's other models here on {len(ahead)} of 3 sets.",
            f"- **Masked, the paper's protocol:** a VN is best of the {len(vn) + len(others)} "
            f"models in {won} of 12 cells.",
        ]
    rivals = [
        m
        for m in order(shared)
        if m not in ROSTER and np.isfinite(_hidden(shared, m, "mask_aware")).any()
    ]
    if rivals:
        ours, theirs = _least(shared, vn, "mask_aware"), _least(shared, rivals, "mask_aware")
        lines.append(
            "- **Masked, everyone told the mask:** with the masked problem solved, a VN is ahead "
            f"of all controls in {int((ours < theirs).sum())} of 12 cells."
        )
    return lines


def _rounds(r: xr.Dataset) -> list[str]:
    models = names(r, FOLLOWED[1:])
    if not models:
        return []
    first = r["hidden"].sel(reading="first", model=models, set=list(SETS)).mean("seed")
    ratio = first.sel(solver="rounds") / first.sel(solver="limit")
    lines = [
        "- **Five rounds and the limit:** over depths, masks and sets the error after the rounds "
        f"is {float(ratio.median()):.2f} times that at the minimum of the masked problem in the "
        f"median, between {float(ratio.min()):.2f} and {float(ratio.max()):.2f} times."
    ]
    if has(r, "vn_untrained"):
        # One lambda, one inference: only the atoms differ.
        cells = r["hidden"].sel(reading="first", set=list(SETS)).mean("seed")
        gain = (
            (cells.sel(model="vn_1") / cells.sel(model="vn_untrained")) if has(r, "vn_1") else None
        )
        if gain is not None:
            lines.append(
                "- **Learning:** trained atoms have "
                f"{float(gain.sel(solver='rounds').median()):.2f} times the masked error of "
                "atoms that are training signals after the rounds, and "
                f"{float(gain.sel(solver='limit').median()):.2f} times at the limit (medians "
                "over cells)."
            )
    return lines


def _readings(r: xr.Dataset) -> list[str]:
    lines = []
    for m in names(r):
        if int(r["depth"].sel(model=m)) == 1:
            continue
        mse = r["mse"].sel(model=m, set="id").mean("seed")
        zero = float(r["blank"].isel(model=0, seed=0).sel(set="id"))
        first, top = (float(mse.sel(reading=k)) / zero for k in ("first", "top"))
        lines.append(
            f"{label(r, m)}: {100 * first:.1f} % of ID power from its first code, "
            f"{100 * top:.0f} % strictly from the top"
        )
    return [f"- **The two readings:** {'; '.join(lines)}."] if lines else []


def owes(shared: xr.Dataset) -> str:
    """Who wins under which protocol, and what the Vector Network owes to inference and what to
    learning: Markdown.
    """
    vn = [m for m in VN if has(shared, m)]
    if not vn:
        return "The Vector Networks were not asked for in this profile."
    rounds, solved = (_least(shared, vn, way) for way in ("zero_filled", "mask_aware"))
    masked = _least(shared, TRAINED_WITH_MASKS, "mask_aware")
    pairs = [
        (
            "best VN, rounds",
            rounds,
            "the paper's others, zeros where hidden",
            _least(shared, OTHERS, "zero_filled"),
        )
    ]
    for rule, title in (
        ("zero_baseline", "the zero prediction"),
        ("hold_last", "the last value held"),
        ("linear", "linear interpolation"),
    ):
        if has(shared, rule):
            pairs.append(("best VN, rounds", rounds, title, _hidden(shared, rule, "mask_aware")))
    pairs.append(("best VN, rounds", rounds, "networks trained with masks", masked))
    pairs.append(("best VN, solved", solved, "networks trained with masks", masked))
    for m in ("exemplars", "nearest", "gaussian"):
        if has(shared, m):
            pairs.append(
                (
                    "best VN, solved",
                    solved,
                    f"{label(shared, m)}, mask-aware",
                    _hidden(shared, m, "mask_aware"),
                )
            )
    if has(shared, "vn_1"):
        own = {way: _hidden(shared, "vn_1", way) for way in ("zero_filled", "mask_aware")}
        pairs.append(
            (
                "VN-1L, solved: owed to inference",
                own["mask_aware"],
                "VN-1L, rounds",
                own["zero_filled"],
            )
        )
        for m in (m for m in UNLEARNED if has(shared, m)):
            for way, how in (("zero_filled", "rounds"), ("mask_aware", "solved")):
                theirs = _hidden(shared, m, way)
                pairs.append(
                    (
                        f"VN-1L, {how}: owed to learning",
                        own[way],
                        f"{label(shared, m)}, {how}",
                        theirs,
                    )
                )
    lines = [
        "| ours | against | cells in which ours is lower | our error over theirs, median |",
        "|---|---|---:|---:|",
    ]
    for ours, mine, against, theirs in pairs:
        ratio = mine / theirs
        known = ratio[np.isfinite(ratio)]
        if len(known):
            won = f"{int((known < 1).sum())} of {len(known)}"
            lines.append(f"| {ours} | {against} | {won} | {np.median(known):.2f} |")
    return "\n".join(lines)


def reading_table(r: xr.Dataset) -> pd.DataFrame:
    """Every network in numbers, means over seeds: both readings, and what its layers do on ID
    signals.
    """
    rows = {}
    for m in names(r):
        one = r.sel(model=m).mean("seed")
        depth = int(r["depth"].sel(model=m))
        layers = one.sel(layer=slice(1, depth))
        unused, coherence = layers["unused"].values, layers["coherence"].values
        active = layers["active"].sel(set="id").values
        rows[label(r, m)] = {
            **{f"{t}: first / top": _pair(one["mse"].sel(set=s)) for s, t in SETS.items()},
            "atoms in use": ", ".join(f"{v:.0f}" for v in active),
            "explained": ", ".join(f"{v:.2f}" for v in layers["explained"].sel(set="id").values),
            "atoms nobody uses": ", ".join(f"{v:.0f}" for v in unused),
            "coherence": ", ".join(f"{v:.3f}" for v in coherence),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(columns="network")


def _pair(by_reading: xr.DataArray) -> str:
    return " / ".join(f"{float(by_reading.sel(reading=k)):.3g}" for k in ("first", "top"))


def bound(r: xr.Dataset) -> str:
    """What coherence says about the recovery of supports, as Markdown."""
    if not has(r, "vn_1"):
        return "VN-1L was not asked for in this profile."
    one = r.sel(model="vn_1", layer=1).mean("seed")
    mu, active = float(one["coherence"]), float(one["active"].sel(set="id"))
    return (
        f"VN-1L has atoms with a coherence of $\\mu$ = {mu:.4f}. A support is sure to be found "
        f"if it has fewer than $(1 + 1/\\mu)/2$ = {(1 + 1 / mu) / 2:.2f} atoms; ID signals use "
        f"{active:.1f} on average. Which atoms are in use is therefore "
        f"{'not ' if active >= (1 + 1 / mu) / 2 else ''}settled by the theorem, "
        "and no sentence here reads meaning into single atoms."
    )


def curve_table(r: xr.Dataset) -> pd.DataFrame | str:
    """Rounds in numbers, means over seeds and ID signals; warm and cold codes, falling lambdas
    (validation signals).
    """
    rows = []
    for m in names(r, FOLLOWED) if "curve_gap" in r else []:
        for mask in MASKS:
            one = r.sel(model=m, mask=mask).mean("seed")
            if not np.isfinite(one["curve_gap"]).any():
                continue
            last, final = int(r["early"].max()), int(r["round"].max())
            at = one.sel(round=last, set="id")
            rows.append(
                {
                    "network": label(r, m),
                    "mask": MASKS[mask],
                    f"gap at {last}": f"{float(at['curve_gap']):.1e}",
                    f"gap at {final}": f"{float(one['curve_gap'].sel(round=final, set='id')):.1e}",
                    "residual where seen": f"{float(at['curve_rms']):.2g}",
                    "the same, limit": f"{float(one['limit_rms'].sel(set='id')):.2g}",
                    f"sweeps to {last}": f"{float(at['curve_sweeps']):.0f}",
                    "sweeps to the limit": f"{float(one['limit_sweeps'].sel(set='id')):.0f}",
                    "hidden, warm / cold / falling λ": " / ".join(
                        f"{v:.3g}"
                        for v in (
                            float(one["curve_hidden"].sel(round=last, set="val")),
                            float(one["cold_hidden"].sel(early=last)),
                            float(one["falling_hidden"]),
                        )
                    ),
                }
            )
    return (
        pd.DataFrame(rows).set_index(["network", "mask"])
        if rows
        else "No network was followed in this profile."
    )


def limits(r: xr.Dataset) -> str:
    """What more rounds bring, and what the minimum is, as Markdown."""
    models = [m for m in names(r, FOLLOWED) if m != "vn_untrained"] if "curve_gap" in r else []
    if not models:
        return "No trained network was followed in this profile."
    last = int(r["early"].max())
    one = r.sel(model=models).mean("seed")
    gap, gain = (
        one["curve_gap"].sel(round=last, set=list(SETS)),
        one["curve_gain"].sel(round=last, set=list(SETS)),
    )
    rms, end = (
        one["curve_rms"].sel(round=last, set=list(SETS)),
        one["limit_rms"].sel(set=list(SETS)),
    )
    same = int(r["unchanged"].min())
    return (
        f"After {last} rounds the masked objective is {100 * float(gap.max()):.2g} % above its "
        "minimum at most (over depths, masks and sets), and the last round won "
        f"{100 * float(gain.max()):.2g} % of it. The residual on observed samples is "
        f"{float(rms.min()):.2g} to {float(rms.max()):.2g} (r.m.s., in units of the signals'), "
        f"and {float(end.min()):.2g} to {float(end.max()):.2g} at the minimum: more rounds do "
        "not remove it. "
        f"{'No weight of any network changed, to the bit.' if same else 'Some weight changed.'}"
    )


def sparsity(r: xr.Dataset) -> str:
    """What a smaller lambda in inference costs and brings, as Markdown."""
    if not has(r, "vn_1") or "sweep_mse" not in r:
        return "VN-1L was not asked for in this profile."
    one = r.sel(model="vn_1", set="hard").mean("seed")
    low, own = float(r["factor"].min()), 1.0
    words = []
    for mask in ("forecast_25", "block_128", "random_30"):
        cell = one["sweep_hidden"].sel(mask=mask)
        at = {
            (f, k): float(cell.sel(factor=f, solver=k))
            for f in (low, own)
            for k in ("rounds", "limit")
        }
        words.append(
            f"{MASKS[mask]}, {at[own, 'rounds']:.3g} to {at[low, 'rounds']:.3g} after the rounds "
            f"and {at[own, 'limit']:.3g} to {at[low, 'limit']:.3g} at the limit"
        )
    whole = one["sweep_mse"]
    return (
        f"With {low:g} times its λ, VN-1L reconstructs Hard signals with an error of "
        f"{float(whole.sel(factor=low)):.2g} "
        f"instead of {float(whole.sel(factor=own)):.2g}. The error on hidden samples goes from "
        f"its own λ to the smaller one: {'; '.join(words)} (Hard signals)."
    )


def strict(r: xr.Dataset) -> str:
    """What reading the completed signal strictly from the top changes, as a Markdown table."""
    lines = []
    for m in (m for m in names(r) if int(r["depth"].sel(model=m)) > 1):
        cells = r["hidden"].sel(model=m, set=list(SETS), solver="limit").mean("seed")
        ratio = cells.sel(reading="top") / cells.sel(reading="first")
        lines.append(f"| {label(r, m)} | {float(ratio.median()):.2f} | {float(ratio.max()):.2f} |")
    if not lines:
        return "No deep network was asked for in this profile."
    head = "| masked error at the limit, top code over first code | median over cells | most |"
    return "\n".join([head, "|---|---:|---:|", *lines])


def zero_line(shared: xr.Dataset) -> str:
    """The zero prediction's errors, which all others must be read against."""
    whole = ", ".join(f"{float(blank(shared).sel(set=s)):.2f} on {t}" for s, t in SETS.items())
    return f"Predicting zero has an error of {whole}: sums have more power than single families."
