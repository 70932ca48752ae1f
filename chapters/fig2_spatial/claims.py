"""The claims of VN Fig. 2: spatial composition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from vnlib.book.evidence import medians, tagged
from vnlib.book.ledger import Decision, Part, claim

CNN = ("cnn2", "cnn4", "cnn6")
VAE = ("vae_low", "vae_high")
VN_AXES = ("vn_axes_1", "vn_axes_2", "vn_axes_3")
VN = (*VN_AXES, "vn_full")
NO_VN_LEARNING = ("factorised", "bilinear_linear", "random_axes_1", "random_full")


def _medians(r: xr.Dataset, models: Sequence[str], name: str) -> dict[str, float]:
    """Median over seeds of an error, or of the OOD/ID ratio, per model.

    KeyError names the models that lack.
    """
    values = r["mse_ood"] / r["mse_id"] if name == "ratio" else r[f"mse_{name}"]
    return medians(values, models)


def _share_above(values: xr.DataArray, model: str, other: str) -> float:
    """Share of seeds in which a model is above another, of those that both have."""
    pair = values.sel(model=[model, other]).dropna("seed")
    return float((pair.sel(model=model) > pair.sel(model=other)).mean())


def _composes(r: xr.Dataset, model: str) -> bool:
    """OOD error within 3x of ID, and below 1 % of what a blank image costs."""
    blank = float(r["blank_ood"].median())
    return (
        _medians(r, [model], "ratio")[model] <= 3
        and _medians(r, [model], "ood")[model] <= 0.01 * blank
    )


@claim(
    id="VN-F2a",
    source="VN Fig. 2a",
    chapter="fig2_spatial",
    figure="fig2-task",
    statement="The task: from a code of x and y draw a Gaussian bump there; positions in a "
    "central square are never trained on.",
    rule="In the result file: (a) training, validation, ID test and held-out positions are "
    "disjoint and together all positions; (b) the held-out ones are exactly the square 6..22 x "
    "6..22 of the 28 x 28 grid; (c) no axis value is unseen: every x and every y of the square "
    "occurs in training.",
)
def _task(r: xr.Dataset) -> Decision:
    x, y, split = r["position_x"].values, r["position_y"].values, r["split"].values.astype(str)
    square = (x >= 6) & (x <= 22) & (y >= 6) & (y <= 22)
    ood, train = split == "ood", split == "train"
    known = set(split) == {"train", "val", "id_test", "ood"}
    seen = set(x[ood]) <= set(x[train]) and set(y[ood]) <= set(y[train])
    counts = {name: float((split == name).sum()) for name in ("train", "val", "id_test", "ood")}
    return Decision(
        [
            Part(
                "the splits cover the grid",
                known and len(split) == len(set(zip(x, y, strict=True))) == 784,
                counts,
            ),
            Part("the square is held out", bool((square == ood).all())),
            Part("every coordinate is trained", seen),
        ]
    )


@claim(
    id="VN-F2b",
    source="VN Fig. 2b",
    chapter="fig2_spatial",
    figure="fig2-maps",
    statement="Error maps: CNN and VAE decoders fail inside the hold-out; a hand-factorised "
    "decoder keeps its structure but is less exact; the VN's error is low everywhere.",
    rule="Medians over seeds: (a) every CNN and VAE has an OOD/ID ratio >= 5; (b) the "
    "hand-factorised decoder has a ratio <= 3 but an ID error above that of the best VN; (c) "
    "every VN has a ratio <= 3 and an OOD error below 1 % of a blank image's. The paper's "
    "protocol takes the factorised decoder at its default learning rate; the fair one takes it "
    "tuned like all models, with (b) asking for an ID error at least 3x above the best VN's, and "
    "adds (d): no model without VN learning (tuned factorised, bilinear by back-propagation, "
    "random frozen V) passes (c) too.",
)
def _maps(r: xr.Dataset) -> Decision:
    entangled = _medians(r, CNN + VAE, "ratio")
    vn_id, vn_ratio = _medians(r, VN, "id"), _medians(r, VN, "ratio")
    default_id, default_ratio = (
        _medians(r, ["factorised_default"], n)["factorised_default"] for n in ("id", "ratio")
    )
    tuned_id, tuned_ratio = (_medians(r, ["factorised"], n)["factorised"] for n in ("id", "ratio"))
    best = min(vn_id.values())
    fails = Part(
        "CNN and VAE fail inside", min(entangled.values()) >= 5, tagged(entangled, "ratio")
    )
    low = Part(
        "the VN is low everywhere",
        all(_composes(r, m) for m in VN),
        tagged(vn_ratio, "ratio") | tagged(_medians(r, VN, "ood"), "ood"),
    )
    without = [m for m in NO_VN_LEARNING if _composes(r, m)]
    return Decision(
        [
            fails,
            Part(
                "the factorised decoder is structured but less exact",
                default_ratio <= 3 and default_id > best,
                {
                    "factorised_default.id": default_id,
                    "factorised_default.ratio": default_ratio,
                    "vn_best.id": best,
                },
            ),
            low,
        ],
        [
            fails,
            Part(
                "a tuned factorised decoder is less exact",
                tuned_ratio <= 3 and tuned_id > 3 * best,
                {"factorised.id": tuned_id, "factorised.ratio": tuned_ratio},
            ),
            low,
            Part(
                "nothing without VN learning is low everywhere",
                not without,
                tagged(_medians(r, NO_VN_LEARNING, "ood"), "ood"),
            ),
        ],
    )


@claim(
    id="VN-F2c",
    source="VN Fig. 2c",
    chapter="fig2_spatial",
    figure="fig2-scatter",
    statement="ID against OOD error: the VN has both the strongest ID and a low OOD error; the "
    "CNN loses much OOD; the rank-1 factorised decoder is predictable but limited.",
    rule="Medians over seeds: (a) the best VN has the lowest ID error of all models of the paper "
    "(CNN, VAE, sparse autoencoder, MLP, factorised); (b) that VN's OOD error is the lowest of "
    "them too; (c) every CNN's OOD error is at least 10x its ID error; (d) the factorised "
    "decoder has a ratio <= 3 and an ID error at least 3x the best VN's. The paper's protocol "
    "takes the factorised decoder at its default learning rate, the fair one tuned, and the fair "
    "(a) and (b) also count the controls that learn no dictionary by VN rules.",
)
def _scatter(r: xr.Dataset) -> Decision:
    def parts(factorised: str, rivals: Sequence[str]) -> list[Part]:
        vn_id, vn_ood = _medians(r, VN, "id"), _medians(r, VN, "ood")
        best = min(vn_id, key=vn_id.get)
        others = (*CNN, *VAE, "sparse_autoencoder", "mlp", factorised, *rivals)
        id_, ood = _medians(r, others, "id"), _medians(r, others, "ood")
        cnn, ratio = _medians(r, CNN, "ratio"), _medians(r, [factorised], "ratio")[factorised]
        limited = ratio <= 3 and id_[factorised] >= 3 * vn_id[best]
        return [
            Part(
                "the VN has the strongest ID error",
                vn_id[best] < min(id_.values()),
                {"vn_best.id": vn_id[best], **tagged(id_, "id")},
            ),
            Part(
                "and the lowest OOD error",
                vn_ood[best] < min(ood.values()),
                {"vn_best.ood": vn_ood[best], **tagged(ood, "ood")},
            ),
            Part("the CNN loses much OOD", min(cnn.values()) >= 10, tagged(cnn, "ratio")),
            Part(
                "the factorised decoder is predictable but limited",
                limited,
                {f"{factorised}.ratio": ratio},
            ),
        ]

    controls = [m for m in NO_VN_LEARNING if m != "factorised"]
    return Decision(parts("factorised_default", []), parts("factorised", controls))


@claim(
    id="VN-F2d",
    source="VN Fig. 2d",
    chapter="fig2_spatial",
    figure="fig2-depth",
    statement="With depth the CNN's OOD/ID ratio gets worse, the VN's slightly better.",
    rule="OOD/ID ratio, seeds paired: (a) the CNN's median rises from 2 to 4 to 6 blocks, and "
    "the deepest is above the shallowest in at least 3 of 4 seeds; (b) the VN's median does not "
    "rise from 1 to 3 layers, and falls in at least 3 of 4 seeds. Fair: the same for the OOD "
    "error itself, since a ratio also falls when the ID error rises.",
)
def _depth(r: xr.Dataset) -> Decision:
    def parts(name: str) -> list[Part]:
        said = {"ratio": "OOD/ID ratio", "ood": "OOD error"}[name]
        cnn, vn = list(_medians(r, CNN, name).values()), list(_medians(r, VN_AXES, name).values())
        values = r["mse_ood"] / r["mse_id"] if name == "ratio" else r[f"mse_{name}"]
        worse = _share_above(values, "cnn6", "cnn2")
        better = _share_above(values, "vn_axes_1", "vn_axes_3")
        rises = bool(np.all(np.diff(cnn) > 0)) and worse >= 0.75
        return [
            Part(
                f"the CNN's {said} rises with depth",
                rises,
                {
                    **{f"{m}.{name}": v for m, v in zip(CNN, cnn, strict=True)},
                    f"cnn_worse_seeds.{name}": worse,
                },
            ),
            Part(
                f"the VN's {said} falls with depth",
                vn[-1] <= vn[0] and better >= 0.75,
                {
                    **{f"{m}.{name}": v for m, v in zip(VN_AXES, vn, strict=True)},
                    f"vn_better_seeds.{name}": better,
                },
            ),
        ]

    return Decision(parts("ratio"), parts("ood"))
