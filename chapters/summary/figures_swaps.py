"""What the summary compares: a Vector Network of each benchmark, and models that differ from it in
one named part.

Every benchmark becomes a table of the same form, `swaps` (row, seed): `inside` and `outside`, the
errors in and out of distribution over those of drawing nothing. Coordinates over row: `key`, a
short name; `name`, which says what was changed; `block`, its heading; `part`, which of `PARTS` it
changes ("" if several or none); `kind`, one of `KINDS`. The first row is the network that the
others are compared with. Rows whose models the results lack are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import xarray as xr

PARTS = ("input", "readout", "inference", "dictionary", "learning")
# a Vector Network, with or without a change; the paper's others; ours
KINDS = ("vn", "paper", "control")
Errors = Callable[..., tuple[xr.DataArray, xr.DataArray] | None]


@dataclass(frozen=True)
class Row:
    """One line of a table; `errors` are those in and out of distribution (seed), None where there
    are none.
    """

    kind: str
    key: str
    name: str
    errors: tuple[xr.DataArray, xr.DataArray] | None
    part: str = ""


vn, paper, control = (partial(Row, kind) for kind in KINDS)


def table(blocks: dict[str, Sequence[Row]]) -> xr.Dataset | None:
    """Rows as a dataset, those without errors left out; None where the first row, the reference,
    has none.
    """
    reference = next(iter(next(iter(blocks.values()))))
    if reference.errors is None:
        return None
    known = [
        (title, row) for title, rows in blocks.items() for row in rows if row.errors is not None
    ]
    both = [[side.dropna("seed").rename("error") for side in row.errors] for _, row in known]
    inside, outside = (xr.concat([pair[n] for pair in both], "row", join="outer") for n in (0, 1))
    return xr.Dataset(
        {"inside": inside, "outside": outside},
        coords={
            "block": ("row", [title for title, _ in known]),
            **{
                key: ("row", [getattr(row, key) for _, row in known])
                for key in ("key", "name", "part", "kind")
            },
        },
    )


def _plain(inside: xr.DataArray, outside: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray] | None:
    """Errors over (seed) alone, or None where nothing is known."""
    pair = tuple(one.reset_coords(drop=True) for one in (inside, outside))
    return None if any(one.dropna("seed").size == 0 for one in pair) else pair


def _has(results: xr.Dataset | None, **wanted: str) -> bool:
    return results is not None and all(
        value in results[axis].values for axis, value in wanted.items()
    )


def _mean(values: xr.DataArray, over: str | Iterable[str]) -> xr.DataArray:
    """Geometric mean."""
    return np.exp(np.log(values).mean(over))


def _drawn(results: xr.Dataset | None) -> Errors:
    """Errors of decoders of positions, over those of a zero image."""

    def errors(model: str, **where: str) -> tuple[xr.DataArray, xr.DataArray] | None:
        if not _has(results, model=model, **where):
            return None
        one = results.sel(model=model, **where)
        zero = "zero_baseline" if "zero_baseline_id" in one else "blank"
        return _plain(one["mse_id"] / one[f"{zero}_id"], one["mse_ood"] / one[f"{zero}_ood"])

    return errors


def spatial(
    results: xr.Dataset | None,
    extended: xr.Dataset | None = None,
    low_rank: xr.Dataset | None = None,
    stripes: xr.Dataset | None = None,
) -> xr.Dataset | None:
    """Positions: `results` of chapter fig2_spatial, and where there are, of F_spatial, FR3_low_rank
    and FR4_stripes.
    """
    own, more, ranks, diets = (_drawn(one) for one in (results, extended, low_rank, stripes))
    square = {"hold_out": "square"}
    return table(
        {
            "Vector Networks, product readout": [
                vn("vn_full", "full 2D VN: one dictionary", own("vn_full")),
                vn("axes_1", "VN per axis, 1 layer", own("vn_axes_1")),
                vn("axes_3", "VN per axis, 3 layers", own("vn_axes_3")),
            ],
            "Product readout kept, the rest changed": [
                vn("random", "dictionary: random, frozen", own("random_full"), "dictionary"),
                control(
                    "linear_pass",
                    "inference: one linear pass, back-prop.",
                    own("bilinear_linear"),
                    "inference",
                ),
                control(
                    "relu_pass",
                    "inference: one ReLU pass, back-prop.",
                    own("bilinear_relu"),
                    "inference",
                ),
                control(
                    "by_hand",
                    "learning: by hand and back-prop., tuned",
                    own("factorised"),
                    "learning",
                ),
                vn("image", "input: the image itself", more("image_full"), "input"),
            ],
            "Product readout taken away": [
                vn("flat", "readout: flat and linear, same VN", own("vn_flat"), "readout"),
                paper("cnn", "CNN, 4 blocks", own("cnn4")),
                paper("sparse", "sparse autoencoder", own("sparse_autoencoder")),
                paper("mlp", "MLP", own("mlp")),
            ],
            "Forced Rendering: factors forced upon a decoder": [
                paper("free_maps", "embedding network, no penalty", ranks("none", **square)),
                paper(
                    "penalty", "the same, variance penalty on its maps", ranks("variance", **square)
                ),
                control("bands", "the same, bands by construction", ranks("bands", **square)),
                paper("bumps", "CNN, all bumps outside the corner", diets("cnn", diet="bumps+all")),
                paper("stripes", "CNN, stripes and 100 bumps", diets("cnn", diet="stripes+100")),
            ],
        }
    )


def functions(results: xr.Dataset | None) -> xr.Dataset | None:
    """Signals with a part hidden, of chapter fig3_functions: geometric means over masks, and over
    Easy and Hard.
    """

    def errors(model: str, protocol: str) -> tuple[xr.DataArray, xr.DataArray] | None:
        if not _has(results, model=model, protocol=protocol):
            return None
        one = results.sel(model=model)
        relative = _mean(one["hidden"].sel(protocol=protocol) / one["zero_baseline_hidden"], "mask")
        return _plain(relative.sel(set="id"), _mean(relative.sel(set=["easy", "hard"]), "set"))

    return table(
        {
            "Vector Networks, five rounds of imputation": [
                vn("vn_1", "VN-1L", errors("vn_1", "zero_filled")),
                vn("vn_3", "VN-3L", errors("vn_3", "zero_filled")),
                vn(
                    "untrained",
                    "learning: none, atoms are training signals",
                    errors("vn_untrained", "zero_filled"),
                    "learning",
                ),
                control(
                    "fixed",
                    "dictionary: fixed Fourier and bumps",
                    errors("fourier", "zero_filled"),
                    "dictionary",
                ),
            ],
            "Inference: the masked problem solved to its end": [
                vn("solved", "VN-1L", errors("vn_1", "mask_aware"), "inference"),
                vn(
                    "untrained_solved",
                    "VN-1L, atoms are training signals",
                    errors("vn_untrained", "mask_aware"),
                ),
                control("fixed_solved", "fixed Fourier and bumps", errors("fourier", "mask_aware")),
                control("pca", "PCA, least squares", errors("pca", "mask_aware")),
                control(
                    "exemplars", "3 of 2048 training signals", errors("exemplars", "mask_aware")
                ),
            ],
            "The paper's others, zeros where hidden": [
                paper("deep_ae", "DeepAE3", errors("deep_ae", "zero_filled")),
                paper("transformer", "Transformer", errors("transformer", "zero_filled")),
                paper("mamba", "Mamba", errors("mamba", "zero_filled")),
            ],
            "Told the mask, no dictionary": [
                control(
                    "deep_ae_masked",
                    "DeepAE3, trained with masks",
                    errors("deep_ae_masked", "mask_aware"),
                ),
                control(
                    "transformer_masked",
                    "Transformer, trained with masks",
                    errors("transformer_masked", "mask_aware"),
                ),
                control("held", "last value held", errors("hold_last", "mask_aware")),
                control("interpolation", "linear interpolation", errors("linear", "mask_aware")),
            ],
        }
    )


def forces(results: xr.Dataset | None) -> xr.Dataset | None:
    """Accelerations of five bodies, of chapter fig4_nbody: means over the single forces, and over
    the mixtures.
    """

    def errors(model: str, way: str = "joint") -> tuple[xr.DataArray, xr.DataArray] | None:
        if not _has(results, model=model, way=way):
            return None
        one = results.sel(model=model, bodies=5)
        relative, mixed = (
            one["mse"].sel(way=way) / one["power"],
            one["forces"].str.contains(r"\+").values,
        )
        return _plain(
            relative.isel(forces=~mixed).mean("forces"), relative.isel(forces=mixed).mean("forces")
        )

    free = {"mlp": "MLP", "gnn": "GNN", "transformer": "Transformer", "film": "FiLM"}
    return table(
        {
            "All forces in one pass, 22 numbers per body": [
                vn("vn_3", "VN-3L", errors("vn_literal_3")),
                control(
                    "ridge",
                    "learning: ridge regression instead",
                    errors("linear_literal"),
                    "learning",
                ),
                *(paper(model, name, errors(model)) for model, name in free.items()),
            ],
            "Readout: one pass per force, added up; same weights": [
                vn("passes", "VN-3L", errors("vn_literal_3", "passes"), "readout"),
                *(
                    paper(f"{model}_passes", name, errors(model, "passes"))
                    for model, name in free.items()
                ),
                paper("factorized", "Factorized, adds up by construction", errors("factorized")),
            ],
            "All forces in one pass, more of their structure read": [
                vn("gated", "input: features gated by the forces", errors("vn_gated_3"), "input"),
                vn("tokens", "input: tokens of pairs", errors("vn_token_3"), "input"),
            ],
            "Tokens of pairs, other learners": [
                control("tokens_ridge", "ridge regression", errors("linear_tokens")),
                control("tokens_rbf", "RBF ridge regression", errors("rbf_tokens")),
                control("tokens_network", "network", errors("token_mlp")),
            ],
        }
    )


def digits(results: xr.Dataset | None, sets: Sequence[str]) -> xr.Dataset | None:
    """Digits of chapter fig5_mnist: single ones, and the geometric mean over `sets`, those out of
    distribution.
    """

    def errors(model: str, reading: str = "own") -> tuple[xr.DataArray, xr.DataArray] | None:
        if not _has(results, model=model, reading=reading):
            return None
        one = results.sel(model=model)
        relative = one["mse"].sel(reading=reading) / one["zero_baseline"]
        return _plain(relative.sel(set="id"), _mean(relative.sel(set=list(sets)), "set"))

    return table(
        {
            "Vector Networks": [
                vn("vn_1", "VN-1L", errors("vn_1")),
                vn("vn_3", "VN-3L", errors("vn_3")),
                vn("top", "VN-3L, drawn from its top layer alone", errors("vn_3", "top")),
                vn(
                    "untrained",
                    "learning: none, atoms are training digits",
                    errors("vn_untrained"),
                    "learning",
                ),
            ],
            "The same sparse inference, other atoms": [
                control(
                    "sklearn",
                    "learning: scikit-learn's rule",
                    errors("dictionary_learning"),
                    "learning",
                ),
                control("dct", "dictionary: fixed DCT, same ID error", errors("dct"), "dictionary"),
            ],
            "Linear drawings, other codes": [
                control(
                    "one_pass",
                    "inference: one pass, k largest, back-prop.",
                    errors("ksparse_linear"),
                    "inference",
                ),
                control(
                    "pca_largest", "PCA, largest coefficients of each image", errors("pca_adaptive")
                ),
                control("pca", "PCA, same ID error", errors("pca_matched")),
                control(
                    "overcomplete", "AE of 1024 units, more than pixels", errors("ae_overcomplete")
                ),
            ],
            "Nonlinear drawings: autoencoders": [
                paper("ae", "AE, same ID error", errors("ae")),
                paper("ksparse", "k-sparse AE, as many active units", errors("ksparse")),
                control(
                    "searched",
                    "readout: AE with codes searched per image",
                    errors("ae", "searched"),
                    "readout",
                ),
                control("signed", "AE trained on x and −x", errors("ae_signed")),
            ],
        }
    )


def only(results: xr.Dataset | None, seeds: Sequence[int]) -> xr.Dataset | None:
    """Results of these seeds, as far as they are there; None where nothing is left."""
    if results is None:
        return None
    kept = [seed for seed in results["seed"].values if seed in seeds]
    return results.sel(seed=kept) if kept else None


def factors(swaps: xr.Dataset, side: str = "outside") -> xr.DataArray:
    """Median error of every row over that of the reference (row)."""
    middle = swaps[side].median("seed")
    return middle / middle.isel(row=0)
