"""What the summary compares: a Vector Network of each benchmark, and models that differ from it in
named parts.

Every benchmark becomes a table of the same form (row, seed): `inside` and `outside`, the errors in
and out of distribution over those of the zero baseline. Coordinates over row: `key`, a short name;
`name`, for readers; `block`, its heading; `part`, what it changes ("" if it is no change of the
first row); `change`, what was put in its place; `kind`, a group of `figures.KINDS`. The first row
is the network that the others are compared with. Rows whose models the results lack are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import xarray as xr

from benchmarks.nbody import figures as nbody
from chapters.summary.rows import control, errors_by, printed, table, vn
from vnlib.plots.statistics import median

READ = {
    "positions": ("fig2_spatial", "F_spatial", "FR3_low_rank", "FR4_stripes"),
    "signals": ("fig3_functions",),
    "forces": ("fig4_nbody",),
    "digits": ("fig5_mnist",),
}
"""Benchmark -> the chapters whose results its table is made from, that of the first row first."""

STRETCHES = ("forecast_25", "forecast_50", "block_128")
SCATTERED = "random_30"
COMPOSED = ("easy", "hard")
BOTH = "inference + learning"

Found = Mapping[str, xr.Dataset | None]


def _drawn(one: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """Errors of a decoder of positions over those of a zero image."""
    return tuple(one[f"mse_{side}"] / one[f"zero_baseline_{side}"] for side in ("id", "ood"))


def positions(found: Found) -> xr.Dataset | None:
    """Bumps inside a hold-out, of Fig. 2, App. F and two figures of Forced Rendering."""
    own, more, ranks, diets = (errors_by(found[name], _drawn) for name in READ["positions"])
    ranks = partial(ranks, hold_out="square")
    return table(
        {
            "Vector Networks, product readout": [
                vn("vn_full", own("vn_full")),
                vn("axes_1", own("vn_axes_1")),
                vn("axes_3", own("vn_axes_3")),
            ],
            "Product readout kept, the rest changed": [
                vn("random", own("random_full"), "dictionary", "random, frozen"),
                control("linear_pass", own("bilinear_linear"), BOTH, "linear, back-prop."),
                control("relu_pass", own("bilinear_relu"), BOTH, "one ReLU, back-prop."),
                control("by_hand", own("factorised")),
                vn("image", more("image_full"), "input", "the image itself"),
            ],
            "Product readout taken away": [
                vn("flat", own("vn_flat"), "readout", "flat and linear"),
                printed("cnn", own("cnn4")),
                printed("sparse", own("sparse_autoencoder")),
                printed("mlp", own("mlp")),
            ],
            "Forced Rendering: factors forced upon a decoder": [
                printed("free_maps", ranks("none")),
                printed("penalty", ranks("variance")),
                control("bands", ranks("bands")),
                printed("bumps", diets("cnn", diet="bumps+all"), named="CNN, all bumps"),
                printed(
                    "stripes", diets("cnn", diet="stripes+100"), named="CNN, stripes and 100 bumps"
                ),
            ],
        }
    )


def _hidden(one: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """Errors on hidden stretches of signals; errors on scattered samples differ by decades, and
    would decide any mean.
    """
    relative = (one["hidden"] / one["zero_baseline_hidden"]).sel(mask=list(STRETCHES)).mean("mask")
    return relative.sel(set="id"), relative.sel(set=list(COMPOSED)).mean("set")


def signals(found: Found) -> xr.Dataset | None:
    """Signals of which a stretch is hidden, of Fig. 3: means over three masks, and over Easy and
    Hard.
    """
    errors = errors_by(found["fig3_functions"], _hidden)
    as_printed, told = (partial(errors, protocol=p) for p in ("zero_filled", "mask_aware"))
    fixed = "fixed Fourier and bumps"
    return table(
        {
            "Vector Networks, five rounds of imputation": [
                vn("vn_1", as_printed("vn_1")),
                vn("vn_3", as_printed("vn_3")),
                vn("untrained", as_printed("vn_untrained"), "learning", "none, training signals"),
                control("fixed", as_printed("fourier"), "dictionary", fixed),
            ],
            "The masked problem solved to its end": [
                vn("solved", told("vn_1"), "inference", "solved to its end"),
                vn("solved_3", told("vn_3")),
                vn("untrained_solved", told("vn_untrained")),
                control("fixed_solved", told("fourier")),
                control("exemplars", told("exemplars")),
                control("pca", told("pca")),
            ],
            "The paper's others, zeros where hidden": [
                printed("deep_ae", as_printed("deep_ae")),
                printed("transformer", as_printed("transformer")),
                printed("mamba", as_printed("mamba")),
            ],
            "Told the mask, no dictionary": [
                control("deep_ae_masked", told("deep_ae_masked")),
                control("transformer_masked", told("transformer_masked")),
                control("held", told("hold_last")),
                control("interpolation", told("linear")),
            ],
        }
    )


def scattered(results: xr.Dataset) -> dict[str, xr.DataArray]:
    """Errors on hidden samples that are scattered, in % of the zero baseline's, mean over Easy and
    Hard: medians over seeds.
    """
    relative = (results["hidden"] / results["zero_baseline_hidden"]).sel(mask=SCATTERED)
    middle = 100 * median(relative.sel(set=list(COMPOSED)).mean("set"))
    return {
        "vn-1": middle.sel(model="vn_1", protocol="zero_filled"),
        "solved": middle.sel(model="vn_1", protocol="mask_aware"),
        "interpolation": middle.sel(model="linear", protocol="mask_aware"),
    }


def _accelerations(inference: str) -> Callable[[xr.Dataset], tuple[xr.DataArray, xr.DataArray]]:
    return lambda one: nbody.inside_and_out(nbody.error(one, relative=True, inference=inference))


def forces(found: Found) -> xr.Dataset | None:
    """Accelerations under one force and under several, of Fig. 4, over their power."""
    results = found["fig4_nbody"]
    joint, passes = (errors_by(results, _accelerations(one)) for one in ("joint", "passes"))
    free = ("mlp", "gnn", "transformer", "film")
    return table(
        {
            "All forces in one pass, 22 numbers per body": [
                vn("vn_3", joint("vn_literal_3")),
                control("ridge", joint("linear_literal")),
                *(printed(model, joint(model)) for model in free),
            ],
            "One pass per force, added up; same weights": [
                vn(
                    "passes",
                    passes("vn_literal_3"),
                    "readout + input",
                    "one force per pass, added up",
                ),
                *(printed(f"{model}_passes", passes(model)) for model in free),
                printed("factorized", joint("factorized")),
            ],
            "All forces in one pass, more of their structure read": [
                vn("gated", joint("vn_gated_3"), "input", "features gated by the forces"),
                vn("tokens", joint("vn_token_3"), "input", "tokens of pairs"),
            ],
            "Tokens of pairs, other learners": [
                control("tokens_ridge", joint("linear_tokens")),
                control("tokens_rbf", joint("rbf_tokens")),
                control("tokens_network", joint("token_mlp")),
            ],
        }
    )


def _images(one: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """Errors over those of a zero image: of single digits, and the geometric mean over the sets of
    digits out of distribution.
    """
    relative = (one["mse"] / one["zero_baseline"]).dropna("set", how="all")
    outside = relative.sel(set=relative["set"] != "id")
    return relative.sel(set="id"), np.exp(np.log(outside).mean("set"))


def digits(found: Found) -> xr.Dataset | None:
    """Composed and damaged digits, of Fig. 5."""
    errors = errors_by(found["fig5_mnist"], _images)
    own, top, searched = (partial(errors, reading=r) for r in ("own", "top", "searched"))
    return table(
        {
            "Vector Networks": [
                vn("vn_1", own("vn_1")),
                vn("vn_3", own("vn_3")),
                vn("top", top("vn_3"), named="VN-3L, top layer alone"),
                vn("untrained", own("vn_untrained"), "learning", "none, training digits"),
            ],
            "The same sparse inference, other atoms": [
                control("sklearn", own("dictionary_learning"), "learning", "scikit-learn's rule"),
                control("dct", own("dct_count"), "dictionary", "fixed DCT, as many coefficients"),
                control("dct_matched", own("dct")),
            ],
            "Linear drawings, other codes": [
                control(
                    "one_pass",
                    own("ksparse_linear"),
                    BOTH,
                    "k largest, back-prop.",
                ),
                control("pca_largest", own("pca_adaptive")),
                control("pca", own("pca_matched")),
                control("overcomplete", own("ae_overcomplete")),
            ],
            "Nonlinear drawings: autoencoders": [
                printed("ae", own("ae")),
                printed("ksparse", own("ksparse")),
                control(
                    "searched", searched("ae"), named="ID-matched AE, codes searched per image"
                ),
                control("signed", own("ae_signed")),
            ],
        }
    )


TABLES = {"positions": positions, "signals": signals, "forces": forces, "digits": digits}


def coefficients(results: xr.Dataset) -> xr.DataArray:
    """How many times the coefficients of VN-1L the cosines use that have its ID error."""
    active = median(results["active"].sel(set="id", layer=1))
    return active.sel(model="dct") / active.sel(model="vn_1")


def tables(found: Found) -> dict[str, xr.Dataset | None]:
    """The table of every benchmark; None where the results lack its first row."""
    return {benchmark: make(found) for benchmark, make in TABLES.items()}


def read(
    stored: Callable[[str], xr.Dataset | None], seeds: Sequence[int]
) -> dict[str, xr.Dataset | None]:
    """The results that the tables are made from, as far as they are stored, of these seeds."""
    return {name: only(stored(name), seeds) for names in READ.values() for name in names}


def only(results: xr.Dataset | None, seeds: Sequence[int]) -> xr.Dataset | None:
    """Results of these seeds, as far as they are there; None where nothing is left."""
    if results is None:
        return None
    kept = [seed for seed in results["seed"].values if seed in seeds]
    return results.sel(seed=kept) if kept else None
