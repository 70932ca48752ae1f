"""What the summary compares: a Vector Network of each benchmark, and models that differ from it in one named part.

Every benchmark becomes a table of the same form, `swaps` (row, seed): `inside` and `outside`, the errors in and out of
distribution over those of drawing nothing. Coordinates over row: `key`, a short name; `name`, which says what was
changed; `block`, its heading; `part`, which of `PARTS` it changes ("" if several or none); `kind`, one of `KINDS`. The
first row is the network that the others are compared with. Rows whose models the results lack are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

PARTS = ("input", "readout", "inference", "dictionary", "learning")
KINDS = ("vn", "paper", "control")  # a Vector Network, with or without a change; the paper's others; ours
Errors = Callable[..., tuple[xr.DataArray, xr.DataArray] | None]


@dataclass(frozen=True)
class Row:
    """One line of a table; `errors` are those in and out of distribution (seed), None where there are none."""

    key: str
    name: str
    part: str
    kind: str
    errors: tuple[xr.DataArray, xr.DataArray] | None


def table(blocks: dict[str, Sequence[Row]]) -> xr.Dataset | None:
    """Rows as a dataset, those without errors left out; None where the first row, the reference, has none."""
    reference = next(iter(next(iter(blocks.values()))))
    if reference.errors is None:
        return None
    known = [(title, row) for title, rows in blocks.items() for row in rows if row.errors is not None]
    both = [[side.dropna("seed").rename("error") for side in row.errors] for _, row in known]
    inside, outside = (xr.concat([pair[n] for pair in both], "row", join="outer") for n in (0, 1))
    return xr.Dataset(
        {"inside": inside, "outside": outside},
        coords={
            "block": ("row", [title for title, _ in known]),
            **{key: ("row", [getattr(row, key) for _, row in known]) for key in ("key", "name", "part", "kind")},
        },
    )


def _plain(inside: xr.DataArray, outside: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray] | None:
    """Errors over (seed) alone, or None where nothing is known."""
    pair = tuple(one.reset_coords(drop=True) for one in (inside, outside))
    return None if any(one.dropna("seed").size == 0 for one in pair) else pair


def _has(results: xr.Dataset | None, **wanted: str) -> bool:
    return results is not None and all(value in results[axis].values for axis, value in wanted.items())


def _mean(values: xr.DataArray, over: str | Iterable[str]) -> xr.DataArray:
    """Geometric mean."""
    return np.exp(np.log(values).mean(over))


def _drawn(results: xr.Dataset | None) -> Errors:
    """Errors of decoders of positions, over those of a blank image."""

    def errors(model: str, **where: str) -> tuple[xr.DataArray, xr.DataArray] | None:
        if not _has(results, model=model, **where):
            return None
        one = results.sel(model=model, **where)
        return _plain(one["mse_id"] / one["blank_id"], one["mse_ood"] / one["blank_ood"])

    return errors


def spatial(
    results: xr.Dataset | None,
    extended: xr.Dataset | None = None,
    low_rank: xr.Dataset | None = None,
    stripes: xr.Dataset | None = None,
) -> xr.Dataset | None:
    """Positions: `results` of chapter fig2_spatial, and where there are, of F_spatial, FR3_low_rank and FR4_stripes."""
    own, more, ranks, diets = (_drawn(one) for one in (results, extended, low_rank, stripes))
    square = {"hold_out": "square"}
    return table(
        {
            "Vector Networks, product readout": [
                Row("vn_full", "full 2D VN: one dictionary", "", "vn", own("vn_full")),
                Row("axes_1", "VN per axis, 1 layer", "", "vn", own("vn_axes_1")),
                Row("axes_3", "VN per axis, 3 layers", "", "vn", own("vn_axes_3")),
            ],
            "Product readout kept, the rest changed": [
                Row("random", "dictionary: random, frozen", "dictionary", "vn", own("random_full")),
                Row(
                    "linear_pass",
                    "inference: one linear pass, back-prop.",
                    "inference",
                    "control",
                    own("bilinear_linear"),
                ),
                Row("relu_pass", "inference: one ReLU pass, back-prop.", "inference", "control", own("bilinear_relu")),
                Row("by_hand", "learning: by hand and back-prop., tuned", "learning", "control", own("factorised")),
                Row("image", "input: the image itself", "input", "vn", more("image_full")),
            ],
            "Product readout taken away": [
                Row("flat", "readout: flat and linear, same VN", "readout", "vn", own("vn_flat")),
                Row("cnn", "CNN, 4 blocks", "", "paper", own("cnn4")),
                Row("sparse", "sparse autoencoder", "", "paper", own("sparse_autoencoder")),
                Row("mlp", "MLP", "", "paper", own("mlp")),
            ],
            "Forced Rendering: factors forced upon a decoder": [
                Row("free_maps", "embedding network, no penalty", "", "paper", ranks("none", **square)),
                Row("penalty", "the same, variance penalty on its maps", "", "paper", ranks("variance", **square)),
                Row("bands", "the same, bands by construction", "", "control", ranks("bands", **square)),
                Row("bumps", "CNN, all bumps outside the corner", "", "paper", diets("cnn", diet="bumps+all")),
                Row("stripes", "CNN, stripes and 100 bumps", "", "paper", diets("cnn", diet="stripes+100")),
            ],
        }
    )


def functions(results: xr.Dataset | None) -> xr.Dataset | None:
    """Signals with a part hidden, of chapter fig3_functions: geometric means over masks, and over Easy and Hard."""

    def errors(model: str, way: str) -> tuple[xr.DataArray, xr.DataArray] | None:
        if not _has(results, model=model, way=way):
            return None
        one = results.sel(model=model)
        relative = _mean(one["hidden"].sel(way=way) / one["blank_hidden"], "mask")
        return _plain(relative.sel(set="id"), _mean(relative.sel(set=["easy", "hard"]), "set"))

    return table(
        {
            "Vector Networks, five rounds of imputation": [
                Row("vn_1", "VN-1L", "", "vn", errors("vn_1", "paper")),
                Row("vn_3", "VN-3L", "", "vn", errors("vn_3", "paper")),
                Row(
                    "untrained",
                    "learning: none, atoms are training signals",
                    "learning",
                    "vn",
                    errors("vn_untrained", "paper"),
                ),
                Row(
                    "fixed", "dictionary: fixed Fourier and bumps", "dictionary", "control", errors("fourier", "paper")
                ),
            ],
            "Inference: the masked problem solved to its end": [
                Row("solved", "VN-1L", "inference", "vn", errors("vn_1", "aware")),
                Row("untrained_solved", "VN-1L, atoms are training signals", "", "vn", errors("vn_untrained", "aware")),
                Row("fixed_solved", "fixed Fourier and bumps", "", "control", errors("fourier", "aware")),
                Row("pca", "PCA, least squares", "", "control", errors("pca", "aware")),
                Row("exemplars", "3 of 2048 training signals", "", "control", errors("exemplars", "aware")),
            ],
            "The paper's others, zeros where hidden": [
                Row("deep_ae", "DeepAE3", "", "paper", errors("deep_ae", "paper")),
                Row("transformer", "Transformer", "", "paper", errors("transformer", "paper")),
                Row("mamba", "Mamba", "", "paper", errors("mamba", "paper")),
            ],
            "Told the mask, no dictionary": [
                Row("deep_ae_masked", "DeepAE3, trained with masks", "", "control", errors("deep_ae_masked", "aware")),
                Row(
                    "transformer_masked",
                    "Transformer, trained with masks",
                    "",
                    "control",
                    errors("transformer_masked", "aware"),
                ),
                Row("held", "last value held", "", "control", errors("hold_last", "aware")),
                Row("interpolation", "linear interpolation", "", "control", errors("linear", "aware")),
            ],
        }
    )


def forces(results: xr.Dataset | None) -> xr.Dataset | None:
    """Accelerations of five bodies, of chapter fig4_nbody: means over the single forces, and over the mixtures."""

    def errors(model: str, way: str = "joint") -> tuple[xr.DataArray, xr.DataArray] | None:
        if not _has(results, model=model, way=way):
            return None
        one = results.sel(model=model, bodies=5)
        relative, mixed = one["mse"].sel(way=way) / one["power"], one["forces"].str.contains(r"\+").values
        return _plain(relative.isel(forces=~mixed).mean("forces"), relative.isel(forces=mixed).mean("forces"))

    free = {"mlp": "MLP", "gnn": "GNN", "transformer": "Transformer", "film": "FiLM"}
    return table(
        {
            "All forces in one pass, 22 numbers per body": [
                Row("vn_3", "VN-3L", "", "vn", errors("vn_literal_3")),
                Row("ridge", "learning: ridge regression instead", "learning", "control", errors("linear_literal")),
                *(Row(model, name, "", "paper", errors(model)) for model, name in free.items()),
            ],
            "Readout: one pass per force, added up; same weights": [
                Row("passes", "VN-3L", "readout", "vn", errors("vn_literal_3", "passes")),
                *(Row(f"{model}_passes", name, "", "paper", errors(model, "passes")) for model, name in free.items()),
                Row("factorized", "Factorized, adds up by construction", "", "paper", errors("factorized")),
            ],
            "All forces in one pass, more of their structure read": [
                Row("gated", "input: features gated by the forces", "input", "vn", errors("vn_gated_3")),
                Row("tokens", "input: tokens of pairs", "input", "vn", errors("vn_token_3")),
            ],
            "Tokens of pairs, other learners": [
                Row("tokens_ridge", "ridge regression", "", "control", errors("linear_tokens")),
                Row("tokens_rbf", "RBF ridge regression", "", "control", errors("rbf_tokens")),
                Row("tokens_network", "network", "", "control", errors("token_mlp")),
            ],
        }
    )


def digits(results: xr.Dataset | None, sets: Sequence[str]) -> xr.Dataset | None:
    """Digits of chapter fig5_mnist: single ones, and the geometric mean over `sets`, those out of distribution."""

    def errors(model: str, reading: str = "own") -> tuple[xr.DataArray, xr.DataArray] | None:
        if not _has(results, model=model, reading=reading):
            return None
        one = results.sel(model=model)
        relative = one["mse"].sel(reading=reading) / one["blank"]
        return _plain(relative.sel(set="id"), _mean(relative.sel(set=list(sets)), "set"))

    return table(
        {
            "Vector Networks": [
                Row("vn_1", "VN-1L", "", "vn", errors("vn_1")),
                Row("vn_3", "VN-3L", "", "vn", errors("vn_3")),
                Row("top", "VN-3L, drawn from its top layer alone", "", "vn", errors("vn_3", "top")),
                Row("untrained", "learning: none, atoms are training digits", "learning", "vn", errors("vn_untrained")),
            ],
            "The same sparse inference, other atoms": [
                Row("sklearn", "learning: scikit-learn's rule", "learning", "control", errors("dictionary_learning")),
                Row("dct", "dictionary: fixed DCT, same ID error", "dictionary", "control", errors("dct")),
            ],
            "Linear drawings, other codes": [
                Row(
                    "one_pass",
                    "inference: one pass, k largest, back-prop.",
                    "inference",
                    "control",
                    errors("ksparse_linear"),
                ),
                Row("pca_largest", "PCA, largest coefficients of each image", "", "control", errors("pca_adaptive")),
                Row("pca", "PCA, same ID error", "", "control", errors("pca_matched")),
                Row("overcomplete", "AE of 1024 units, more than pixels", "", "control", errors("ae_overcomplete")),
            ],
            "Nonlinear drawings: autoencoders": [
                Row("ae", "AE, same ID error", "", "paper", errors("ae")),
                Row("ksparse", "k-sparse AE, as many active units", "", "paper", errors("ksparse")),
                Row(
                    "searched",
                    "readout: AE with codes searched per image",
                    "readout",
                    "control",
                    errors("ae", "searched"),
                ),
                Row("signed", "AE trained on x and −x", "", "control", errors("ae_signed")),
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
