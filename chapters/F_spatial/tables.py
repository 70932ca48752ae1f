"""Tables and sentences of spatial decoding in full (VN App. F), from the dataset of
`spatial_extended`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pandas as pd
import xarray as xr

from chapters.F_spatial.figures import within

NOTHING = "Not computed in this profile."


def number(value: float) -> str:
    """A number as tables show it: one digit where it is of ordinary size, else as a power of
    ten.
    """
    return f"{value:.1f}" if 0.1 <= abs(value) < 1000 else f"{value:.1e}"


def _spread(values: xr.DataArray) -> str:
    values = values.dropna("seed")
    if not values.size:
        return ""
    low, middle, high = (number(float(v)) for v in (values.min(), values.median(), values.max()))
    return f"{middle} [{low}, {high}]"


def _frame(rows: Mapping[str, Mapping[str, str]]) -> pd.DataFrame:
    return (
        pd.DataFrame.from_dict(rows, orient="index").rename_axis(None).rename_axis(columns="model")
    )


def errors(results: xr.Dataset, part: str) -> pd.DataFrame | str:
    """Errors, ratio and peaks per model of one table, and what a blank image costs: median and
    [lowest, highest].
    """
    one = within(results, part)
    if not one.sizes["model"]:
        return NOTHING
    ratio, rows = one["mse_ood"] / one["mse_id"], {}
    for model in one["model"].values:
        cell = one.sel(model=model)
        share = float(cell["active_share"].mean())
        rows[str(cell["label"].item())] = {
            "training error": _spread(cell["mse_train"]),
            "ID test error": _spread(cell["mse_id"]),
            "OOD error": _spread(cell["mse_ood"]),
            "OOD / ID": _spread(ratio.sel(model=model)),
            "peak within 1 px, ID / OOD": f"{float(cell['hit_id'].mean()):.2f} / "
            f"{float(cell['hit_ood'].mean()):.2f}",
            "atoms in use": "" if share != share else f"{100 * share:.0f} %",
        }
    rows["a blank image"] = {
        "training error": "",
        "ID test error": number(float(one["blank_id"].median())),
        "OOD error": number(float(one["blank_ood"].median())),
        "OOD / ID": number(float((one["blank_ood"] / one["blank_id"]).median())),
        "peak within 1 px, ID / OOD": "",
        "atoms in use": "",
    }
    return _frame(rows)


def streams(results: xr.Dataset) -> pd.DataFrame | str:
    """How alike the streams of each model of rank 2 and 3 are: median and [lowest, highest] over
    seeds.
    """
    one = within(results, "rank")
    if "stream_similarity" not in one or not one["stream_similarity"].notnull().any():
        return NOTHING
    names = {
        "stream_similarity": "|cosine| of images",
        "stream_similarity_x": "of profiles along x",
        "stream_similarity_y": "of profiles along y",
        "stream_share": "energy, weakest / strongest",
    }
    here = one["model"].values[one["stream_similarity"].notnull().any("seed").values]
    rows = {}
    for model in here:
        cell = one.sel(model=model)
        rows[str(cell["label"].item())] = {
            said: f"{float(cell[n].median()):.3f} [{float(cell[n].min()):.3f}, "
            f"{float(cell[n].max()):.3f}]"
            for n, said in names.items()
        }
    return _frame(rows)


def two(results: xr.Dataset) -> pd.DataFrame | str:
    """Two bumps at once: errors, how far from additive, and the brightness of bumps and
    crossings.
    """
    one = within(results, "two")
    if not one.sizes["model"]:
        return NOTHING
    rows = {}
    for model in one["model"].values:
        cell = one.sel(model=model)
        rows[str(cell["label"].item())] = {
            "one at a time, added": _spread(cell["two_single_mse"]),
            "both at once": _spread(cell["two_mse"]),
            "not additive": _spread(cell["two_additivity"]),
            "brightness at the bumps": f"{float(cell['two_real'].median()):.2f}",
            "at the crossings": f"{float(cell['two_ghost'].median()):.2f}",
        }
    blank = number(float(one["two_blank"].median()))
    rows["a blank image"] = {
        "one at a time, added": blank,
        "both at once": blank,
        "not additive": "",
    }
    rows["a blank image"] |= {"brightness at the bumps": "0.00", "at the crossings": "0.00"}
    return _frame(rows)


def trials(tuning: xr.Dataset | None) -> pd.DataFrame | str:
    """ID validation error of every learning rate that was tried, per family; the chosen one is
    marked with `*`.
    """
    if tuning is None:
        return "Nothing was tuned in this profile: every family takes its first setting."
    rows = {}
    for family in tuning["model"].values:
        one = tuning.sel(model=family)
        rates = [json.loads(str(text))["training"]["lr"] for text in one["run_settings"].values]
        best, tried = (
            int(one["mse_val"].argmin("trial")),
            zip(rates, one["mse_val"].values, strict=True),
        )
        rows[str(family)] = {
            f"setting {n + 1}": f"lr {rate:g}: {error:.1e}{' *' if n == best else ''}"
            for n, (rate, error) in enumerate(tried)
        }
    return (
        pd.DataFrame.from_dict(rows, orient="index").rename_axis(None).rename_axis(columns="family")
    )


# --- sentences ---


def _ood(results: xr.Dataset, models: Sequence[str], name: str = "mse_ood") -> dict[str, float]:
    """Median over seeds of those models that are there."""
    here = [m for m in models if m in results["model"].values]
    return {m: float(results[name].sel(model=m).median("seed")) for m in here}


def _label(results: xr.Dataset, model: str) -> str:
    return str(results["label"].sel(model=model).item())


def _ratio(results: xr.Dataset, model: str) -> float:
    return float((results["mse_ood"] / results["mse_id"]).sel(model=model).median("seed"))


def _each(results: xr.Dataset, models: Sequence[str]) -> str:
    """Each model with its OOD error and, where it is no rounding, its ratio."""
    said = [
        f"{_label(results, m)} {number(error)} ({number(_ratio(results, m))} times ID)"
        for m, error in _ood(results, models).items()
    ]
    return "; ".join(said) if said else "not computed in this profile"


def summary(results: xr.Dataset) -> str:
    """One line per table, as Markdown; every number is a median over seeds."""
    similar = (
        _ood(
            results, ("factorised_2", "factorised_3", "vn_rank_2", "vn_rank_3"), "stream_similarity"
        )
        if ("stream_similarity" in results)
        else {}
    )
    alike = (
        ", ".join(f"{_label(results, m)} {v:.2f}" for m, v in similar.items())
        or "not computed in this profile"
    )
    ghosts = _ood(results, ("factorised", "vn_1_8", "full", "flat"), "two_ghost")
    seen = (
        ", ".join(f"{_label(results, m)} {v:.2f}" for m, v in ghosts.items())
        or "not computed in this profile"
    )
    scalar, bump = (
        _each(results, names) for names in (("vn_1_scalar", "vn_3_scalar"), ("vn_1_8", "vn_3_8"))
    )
    lines = {
        "Rank": f"|cosine| between the images of two streams: {alike}. OOD error: "
        f"{_each(results, ('factorised', 'factorised_2', 'factorised_3', 'full'))}",
        "Depth": _each(results, ("vn_1_8", "vn_2_8", "vn_3_8", "vn_3_down", "vn_3_mix")),
        "Encodings": f"bump: {bump}. Scalar: {scalar}",
        "Sharp bumps": _each(
            results, ("cnn_sharp", "factorised_sharp", "vn_2_sharp", "full_sharp")
        ),
        "Ring": _each(results, ("cnn_ring", "factorised_ring", "vn_1_ring", "full_ring")),
        "Ladder": _each(results, ("axis_loss", "vn_1_8", "full", "flat")),
        "Image in, image out": _each(
            results, ("image_conv", "image_conv_32", "image_mlp", "image_mlp_32", "image_vn")
        ),
        "Between the pixels": _each(
            results, ("mlp_scattered", "factorised_scattered", "vn_1_scattered", "full_scattered")
        ),
        "Two bumps": f"brightness at the two crossings, where nothing should be: {seen}",
        "Care": _each(
            results, ("default_1", "factorised", "factorised_care", "vn_1_plain", "vn_1_8")
        ),
    }
    blank = float(results["blank_ood"].median())
    bullets = [f"- **{name}.** {text}." for name, text in lines.items()]
    return "\n".join(
        [
            *bullets,
            f"- **A blank image** costs {number(blank)} at held-out positions (bumps of Fig. 2).",
        ]
    )


def care(results: xr.Dataset) -> str:
    """Whether the factorised decoder is limited, told by what care in training is worth: medians
    over seeds.
    """
    ood = _ood(
        results, ("default_1", "factorised", "factorised_care", "vn_1_plain", "vn_1_8", "full")
    )
    if not {"factorised", "factorised_care", "vn_1_8"} <= set(ood):
        return NOTHING
    text = (
        "Without weight decay and with its last layer consolidated, the factorised decoder's OOD "
        f"error is {number(ood['factorised_care'])}, which is "
        f"{number(ood['factorised'] / ood['factorised_care'])} times below the tuned one's "
        f"{number(ood['factorised'])}. The VN per axis has {number(ood['vn_1_8'])}"
    )
    if "vn_1_plain" in ood:
        text += f", and {number(ood['vn_1_plain'])} before its readouts are consolidated"
    gap = ood["factorised_care"] / ood["vn_1_8"]
    side = "below" if gap < 1 else "above"
    return (
        f"{text}. With equal care the decoder is {number(max(gap, 1 / gap))} times {side} the VN."
    )


def mark(results: xr.Dataset) -> str:
    """How large the spread over seeds is where errors are small, for a reader of ratios."""
    here = within(results, "depth")
    if not here.sizes["model"] or here.sizes["seed"] < 2:
        return "With one seed nothing can be said about the spread."
    spread = here["mse_ood"].max("seed") / here["mse_ood"].min("seed")
    widest = str(spread["model"].values[int(spread.values.argmax())])
    return (
        "Between the best and the worst seed of one model lie factors of "
        f"{number(float(spread.min()))} to {number(float(spread.max()))} (the widest: "
        f"{_label(here, widest)})."
    )
