"""The claims of VN App. F: spatial composition in full."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from benchmarks.spatial.errors import COMPOSES, MEDIANS, composing, middles, ratio
from vnlib.book.evidence import bounded, every, part, select, tagged
from vnlib.book.ledger import Decision, Part, claim

CODES = ("one_hot", "scalar", "fourier14", "fourier7")
IMAGE = {
    "both convolutional autoencoders": ("image_conv", "image_conv_32"),
    "both MLPs": ("image_mlp", "image_mlp_32"),
    "the VN": ("image_vn",),
}


def below(r: xr.Dataset, says: str, models: Sequence[str], others: Sequence[str]) -> Part:
    """The OOD error of each model is below that of its rival, or one model's below all others'."""
    own, rivals = (middles(r, *names)["ood"] for names in (models, others))
    numbers = tagged(own, "ood") | tagged(rivals, "ood")
    return part(f"OOD error of {says}", (own.values < rivals.values).all(), **numbers)


@claim(
    id="VN-T1",
    source="VN App. F, Table 1",
    figure="appF-rank",
    statement="Factorised decoders of rank R, trained on images of rank 1, collapse to rank 1: "
    "further streams become copies. Rank does not help, and the full 2D VN beats them all.",
    terms=MEDIANS,
)
def ranks(r: xr.Dataset) -> Decision:
    def copies(family: str, *models: str) -> list[Part]:
        alike = select(r["stream_similarity"], model=models[1:]).median("seed")
        ood = middles(r, *models)["ood"]
        says, half = f"{family}, |cosine| of two streams' images", 0.5 * ood[0]
        rank = "no rank has less than half of rank 1's OOD error"
        return [
            every(f"{says} at ranks 2 and 3", ">=", 0.95, similarity=alike),
            part(f"{family}, {rank}", (ood[1:] >= half).all(), **tagged(ood, "ood")),
        ]

    default = ("default_1", "default_2", "default_3")
    tuned = ("factorised", "factorised_2", "factorised_3")
    full = "the full 2D VN < factorised decoders of rank 1, 2, 3"
    cared = f"{full} and of rank 1 with the VN's care (consolidated, no weight decay)"
    printed = copies("factorised decoder (default learning rate)", *default)
    controls = copies("factorised decoder (tuned)", *tuned)
    controls += copies("VN per axis", "vn_1_8", "vn_rank_2", "vn_rank_3")
    return Decision(
        [*printed, below(r, full, ["full"], default)],
        [*controls, below(r, cared, ["full"], [*tuned, "factorised_care"])],
    )


@claim(
    id="VN-T2",
    source="VN App. F, Table 2",
    figure="appF-depth",
    statement="Depth 2 has most of the gain over depth 1; sparser codes (K = 8 against 16) "
    "compose better; mix helps the VN of 3 layers.",
    terms=f"{MEDIANS} The gain of depth 2 is the logarithm of the factor by which 2 layers are below "
    "1, the largest gain that of the better of 2 and 3 layers.",
)
def depths(r: xr.Dataset) -> Decision:
    def gain(says: str, *models: str) -> Part:
        ood = middles(r, *models)["ood"]
        one, two, three = np.log(ood.values)
        most = two < one and one - two >= 0.5 * (one - min(two, three))
        return part(f"depth 2 has half of the largest gain, {says}", most, **tagged(ood, "ood"))

    at_16, at_8 = ([f"vn_{depth}_{k}" for depth in (1, 2, 3)] for k in (16, 8))
    mix = below(r, "top-down inference with mix < bottom-up", ["vn_3_mix"], ["vn_3_8"])
    return Decision(
        [
            gain("1 layer at K 16, 2 and 3 at K 8", "vn_1_16", "vn_2_8", "vn_3_8"),
            below(r, "2 layers at K 8 < 1 layer at K 16", ["vn_2_8"], ["vn_1_16"]),
            mix,
        ],
        [
            gain("all at K 16", *at_16),
            gain("all at K 8", *at_8),
            below(r, "K 8 < K 16 with 1, 2 and 3 layers", at_8, at_16),
            mix,
            below(r, "top-down with mix < without", ["vn_3_mix"], ["vn_3_down"]),
        ],
    )


@claim(
    id="VN-T3",
    source="VN App. F, Table 3",
    figure="appF-encodings",
    statement="Fourier codes help every model; the sparse autoencoder is very sensitive to the "
    "code, and the VN of 3 layers is robust to it.",
    terms=f"{COMPOSES} The five codes are bump, one-hot, Fourier-14, Fourier-7 and scalar.",
)
def encodings(r: xr.Dataset) -> Decision:
    bumps = {m: m for m in ("sae", "vae_low", "vae_high")} | {"vn_1": "vn_1_8", "vn_3": "vn_3_8"}
    names = [(bump, *(f"{m}_{code}" for code in CODES)) for m, bump in bumps.items()]

    def parts(kind: str, says: str, tag: str) -> list[Part]:
        values = [middles(r, *models)[kind] for models in names]
        lower = f"{says} with the better Fourier code < with the bump: SAE, VAEs, VN-1L, VN-3L"
        helped, sae = all(one[-2:].min() < one[0] for one in values), values[0]
        numbers = tagged(xr.concat([one[[0, -2, -1]] for one in values], "model"), tag)
        wide = f"SAE: largest {says} ≥ 5x the least", sae.max() >= 5 * sae.min()
        return [part(lower, helped, **numbers), part(*wide, **tagged(sae, tag))]

    keeps = every("ratio of VN-3L with each code", "<=", 3, ratio=middles(r, *names[-1])["ratio"])
    composed = composing(r, "VN-3L composes with each code", *names[-1])
    return Decision(
        [*parts("ratio", "ratio", "ratio"), keeps],
        # A ratio also falls when the ID error rises.
        [*parts("ood", "OOD error", "mse_ood"), composed],
    )


@claim(
    id="VN-T4",
    source="VN App. F, Table 4",
    figure="appF-sharp",
    statement="Sharper bumps: the full 2D VN keeps its ratio, and is more exact than the "
    "multi-layer VN per axis.",
    terms=f"{COMPOSES} Bumps are 1 px wide.",
)
def sharp(r: xr.Dataset) -> Decision:
    def exact(says: str, *others: str) -> Part:
        return below(r, f"the full 2D VN < {says}", ["full_sharp"], others)

    keeps = composing(r, "the full 2D VN composes", "full_sharp")
    every_depth = exact("VNs per axis of 1, 2 and 3 layers", *(f"vn_{n}_sharp" for n in (1, 2, 3)))
    by_hand = exact("hand-factorised decoder", "factorised_sharp")
    printed = [keeps, exact("VN per axis of 2 layers", "vn_2_sharp")]
    return Decision(printed, [keeps, every_depth, by_hand])


@claim(
    id="VN-F-ann",
    source="VN App. F, annular holdout",
    figure="appF-ring",
    statement="With a ring held out the full 2D VN's error stays low, and the CNN's is high.",
    terms=f"{COMPOSES} Radii of 3 to 12 px are held out.",
)
def ring(r: xr.Dataset) -> Decision:
    cnn, full = middles(r, "cnn_ring"), middles(r, "full_ring")
    seeds = {"cnn_ring.ratio_min": ratio(r).sel(model="cnn_ring").dropna("seed")}
    far, ood = (cnn["ood"].values >= 10 * full["ood"].values).all(), tagged(cnn["ood"], "ood")
    keeps = composing(r, "the full 2D VN composes", "full_ring")
    by_hand = "the hand-factorised decoder, without VN learning, does not compose"
    return Decision(
        [keeps, every("ratio of the CNN", ">=", 5, ratio=cnn["ratio"])],
        [
            keeps,
            bounded("ratio of the CNN in each seed", ">=", 5, **seeds)
            & part("OOD error of the CNN ≥ 10x that of the full 2D VN", far, **ood),
            composing(r, by_hand, "factorised_ring", holds=False),
        ],
    )


@claim(
    id="VN-F-em",
    source="VN App. F, emergent factorization",
    figure="appF-ladder",
    statement="Built-in parts can be taken away one by one (a loss per axis, then none, then one "
    "dictionary for both axes) and the network still composes.",
    terms=COMPOSES,
)
def ladder(r: xr.Dataset) -> Decision:
    stages = {
        "axis_loss": "a loss per axis",
        "vn_1_8": "the image's loss, a stream per axis",
        "full": "one stream for both axes (full 2D VN)",
        "flat": "one stream and a flat linear readout instead of the product",
    }
    parts = [composing(r, f"composes: {says}", model) for model, says in stages.items()]
    return Decision(parts[:3], parts)


@claim(
    id="VN-F-ent",
    source="VN App. F, entangled input",
    figure="appF-entangled",
    statement="Image in, image out: every model solves the task, since composing becomes copying.",
    terms=f"{COMPOSES} Input and target are an image of 784 pixels.",
)
def copied(r: xr.Dataset) -> Decision:
    return Decision(
        [
            every(f"ratio of {says}", "<=", 3, ratio=middles(r, *models)["ratio"])
            for says, models in IMAGE.items()
        ],
        [composing(r, f"composes: {says}", *models) for says, models in IMAGE.items()],
    )
