"""The claims of VN App. F: spatial composition in full."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from benchmarks.baselines.longer import lasting
from benchmarks.spatial.astray import astray
from benchmarks.spatial.claims import COMPOSES, MEDIANS, composing, have_learned
from benchmarks.spatial.errors import middles, of_all, over, ratio
from vnlib.book.evidence import (
    bounded,
    compared,
    detail,
    every,
    given,
    paper,
    part,
    scaled,
    select,
    tagged,
)
from vnlib.book.ledger import Contrast, Decision, Part, claim

LABELS = {
    "sae": "the SAE",
    "vae_low": "the VAE of low β",
    "vae_high": "the VAE of high β",
    "vn_1": "VN-1L",
    "vn_3": "VN-3L",
    "cnn": "the CNN",
}
CODES = ("one_hot", "scalar", "fourier14", "fourier7")
IMAGE = {
    "image_conv": "the convolutional autoencoder without bottleneck",
    "image_mlp": "the MLP without bottleneck",
    "image_vn": "the flat VN",
    "image_full": "the full 2D VN",
    "image_conv_32": "the convolutional autoencoder, bottleneck 32",
    "image_mlp_32": "the MLP, bottleneck 32",
    "image_sae": "the SAE",
    "image_vae_low": "the VAE of low β",
    "image_vae_high": "the VAE of high β",
}
OWN = {
    "image_va": "V a of the flat VN's dictionary",
    "image_va_256": "V a of 256 atoms, whose sparsity is chosen for it",
}


def below(r: xr.Dataset, says: str, models: Sequence[str], others: Sequence[str]) -> Part:
    """The OOD error of each model is below that of its rival, or one model's below all others'."""
    numbers = tagged(middles(r, *models, *others)["ood"], "ood")
    return compared(f"OOD error of {says}", over(r, "ood", models, others), "<", 1.0, **numbers)


@claim(
    id="VN-T1",
    of_all=of_all,
    source="VN App. F, Table 1",
    figure="appF-rank",
    statement="Factorised decoders of rank R, trained on images of rank 1, collapse to rank 1: "
    "further streams become copies. Rank does not help, and the full 2D VN beats them all.",
    terms=MEDIANS,
)
@lasting
def ranks(r: xr.Dataset) -> Decision:
    def copies(family: str, *models: str) -> list[Part]:
        alike = select(r["stream_similarity"], model=models[1:]).median("seed")
        ood = middles(r, *models)["ood"]
        grown = over(r, "ood", models[1:], models[:1] * len(models[1:]))
        copied = Contrast(np.ravel(alike), ">=", 0.95, limit=1.0)
        says = f"{family}, |cosine| of two streams' images at ranks 2 and 3 ≥ 0.95"
        rank = f"{family}, OOD error at ranks 2 and 3 over rank 1's ≥ 0.5"
        return [
            paper(part(says, copied, **tagged(alike, "similarity")), "further streams are copies"),
            part(rank, Contrast(np.ravel(grown), ">=", 0.5), **tagged(ood, "ood")),
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
        [
            *controls,
            below(r, cared, ["full"], [*tuned, "factorised_care"]),
            astray(r, "full", *tuned, "vn_1_8", "vn_rank_2", "vn_rank_3"),
        ],
    )


@claim(
    id="VN-T2",
    of_all=of_all,
    source="VN App. F, Table 2",
    figure="appF-depth",
    statement="Depth 2 has most of the gain over depth 1; sparser codes (K = 8 against 16) "
    "compose better; mix helps the VN of 3 layers.",
    terms=f"{MEDIANS} A gain is the logarithm of the factor by which a deeper network's OOD error is "
    "below that of 1 layer, the largest that of the better of 2 and 3 layers.",
)
@lasting
def depths(r: xr.Dataset) -> Decision:
    def gain(says: str, one: str, *deeper: str) -> Part:
        gains = np.log(over(r, "ood", [one], deeper).values)
        most = gains.max()
        share = gains[0] / most if most > 0 else np.nan
        some = compared(
            f"OOD error of the better of 2 and 3 layers over that of 1, {says} < 1",
            np.exp(-most),
            "<",
            1.0,
        )
        half = f"share that depth 2 has of the largest gain, {says}"
        return given(scaled(bounded(half, ">=", 0.5, share=share), band=0.025), some)

    at_16, at_8 = ([f"vn_{depth}_{k}" for depth in (1, 2, 3)] for k in (16, 8))
    sparser = below(r, "K 8 < K 16 with 1, 2 and 3 layers", at_8, at_16)
    mix = below(r, "top-down inference with mix < bottom-up", ["vn_3_mix"], ["vn_3_8"])
    return Decision(
        [gain("1 layer at K 16, 2 and 3 at K 8", "vn_1_16", "vn_2_8", "vn_3_8"), sparser, mix],
        [
            gain("all at K 16", *at_16),
            gain("all at K 8", *at_8),
            sparser,
            mix,
            below(r, "top-down with mix < without", ["vn_3_mix"], ["vn_3_down"]),
            astray(r, *at_16, *at_8, "vn_3_mix", "vn_3_down"),
        ],
    )


@claim(
    id="VN-T3",
    of_all=of_all,
    source="VN App. F, Table 3",
    figure="appF-encodings",
    statement="Fourier codes help every model; the sparse autoencoder is very sensitive to the "
    "code, and the VN of 3 layers is robust to it.",
    terms=f"{COMPOSES} The five codes are bump, one-hot, Fourier-14, Fourier-7 and scalar; every model "
    "chooses its learning rate with each of them.",
)
@lasting
def encodings(r: xr.Dataset) -> Decision:
    bumps = {m: m for m in LABELS} | {"vn_1": "vn_1_8", "vn_3": "vn_3_8"}
    names = {m: (bump, *(f"{m}_{code}" for code in CODES)) for m, bump in bumps.items()}

    need = {m: have_learned(r, f"{LABELS[m]} with each code", *all_) for m, all_ in names.items()}
    fourier = {
        m: have_learned(r, f"{LABELS[m]} with bump and Fourier codes", all_[0], *all_[-2:])
        for m, all_ in names.items()
    }

    def parts(kind: str, says: str, tag: str, *models: str) -> list[Part]:
        found = []
        for model in models:
            bump, *_, long, short = names[model]
            m = middles(r, bump, long, short)[kind]
            better = long if m[1] <= m[2] else short
            text = f"{says} of {LABELS[model]} with the better Fourier code over that with the bump < 1"
            helped = compared(text, over(r, kind, [better], [bump]), "<", 1.0, **tagged(m, tag))
            found.append(given(helped, fourier[model]))
        m = middles(r, *names["sae"])[kind]
        most, least = (str(find("model").item()) for find in (m.idxmax, m.idxmin))
        apart = over(r, kind, [most], [least]).where(m.notnull().all())
        wide = Contrast(np.ravel(apart), ">=", 5.0)
        spread = part(f"largest {says} of the SAE over the least ≥ 5", wide, **tagged(m, tag))
        return [*found, given(spread, need["sae"])]

    keeps = every(
        "ratio of VN-3L with each code",
        "<=",
        3,
        ratio=middles(r, *names["vn_3"])["ratio"],
    )
    composed = composing(r, "VN-3L composes with each code", *names["vn_3"])
    printed = [model for model in LABELS if model != "cnn"]
    return Decision(
        [*parts("ratio", "ratio", "ratio", *printed), given(keeps, need["vn_3"])],
        # A ratio also falls when the ID error rises.
        [
            *parts("ood", "OOD error", "mse_ood", *LABELS),
            given(composed, need["vn_3"]),
            astray(r, *names["vn_1"], *names["vn_3"]),
        ],
    )


@claim(
    id="VN-T4",
    of_all=of_all,
    source="VN App. F, Table 4",
    figure="appF-sharp",
    statement="Sharper bumps: the full 2D VN keeps its ratio, and is more exact than the "
    "multi-layer VN per axis.",
    terms=f"{COMPOSES} Bumps are 1 px wide.",
)
@lasting
def sharp(r: xr.Dataset) -> Decision:
    def exact(says: str, *others: str) -> Part:
        return below(r, f"the full 2D VN < {says}", ["full_sharp"], others)

    keeps = every("ratio of the full 2D VN", "<=", 3, ratio=middles(r, "full_sharp")["ratio"])
    composes = composing(r, "the full 2D VN composes", "full_sharp")
    every_depth = exact("VNs per axis of 1, 2 and 3 layers", *(f"vn_{n}_sharp" for n in (1, 2, 3)))
    by_hand = exact("hand-factorised decoder", "factorised_sharp")
    printed = [keeps, exact("VN per axis of 2 layers", "vn_2_sharp")]
    strays = astray(r, "full_sharp", *(f"vn_{n}_sharp" for n in (1, 2, 3)), "factorised_sharp")
    return Decision(printed, [composes, every_depth, by_hand, strays])


@claim(
    id="VN-F-ann",
    of_all=of_all,
    source="VN App. F, annular holdout",
    figure="appF-ring",
    statement="With a ring held out the full 2D VN's error stays low, and the CNN's is high.",
    terms=f"{COMPOSES} Radii of 3 to 12 px are held out.",
)
@lasting
def ring(r: xr.Dataset) -> Decision:
    cnn = middles(r, "cnn_ring")
    if not (each := ratio(r).sel(model="cnn_ring").dropna("seed")).size:
        raise KeyError("the errors of cnn_ring")
    seeds = {"cnn_ring.ratio_min": each}
    far = Contrast(np.ravel(over(r, "ood", ["cnn_ring"], ["full_ring"])), ">=", 10.0)
    keeps = composing(r, "the full 2D VN composes", "full_ring")
    by_hand = "the hand-factorised decoder, without VN learning, does not compose"
    need = have_learned(r, "the CNN", "cnn_ring")
    controls = [
        detail(bounded("ratio of the CNN in each seed", ">=", 5, **seeds)),
        part(
            "OOD error of the CNN over that of the full 2D VN ≥ 10",
            far,
            **tagged(cnn["ood"], "ood"),
        ),
    ]
    return Decision(
        [keeps, given(every("ratio of the CNN", ">=", 5, ratio=cnn["ratio"]), need)],
        [
            keeps,
            *(given(one, need) for one in controls),
            composing(r, by_hand, "factorised_ring", holds=False),
            astray(r, "full_ring", "factorised_ring"),
        ],
    )


@claim(
    id="VN-F-em",
    of_all=of_all,
    source="VN App. F, emergent factorization",
    figure="appF-ladder",
    statement="Built-in parts can be taken away one by one (a loss per axis, then none, then one "
    "dictionary for both axes) and the network still composes.",
    terms=COMPOSES,
)
@lasting
def ladder(r: xr.Dataset) -> Decision:
    stages = {
        "axis_loss": "a loss per axis",
        "vn_1_8": "the image's loss, a stream per axis",
        "full": "one stream for both axes (full 2D VN)",
        "flat": "one stream and a flat linear readout instead of the product",
    }
    parts = [composing(r, f"composes: {says}", model) for model, says in stages.items()]
    return Decision(parts[:3], [*parts, astray(r, *stages)])


@claim(
    id="VN-F-ent",
    of_all=of_all,
    source="VN App. F, entangled input",
    figure="appF-entangled",
    statement="Image in, image out: every model solves the task, since composing becomes copying.",
    terms=f"{COMPOSES} Input and target are an image of 784 pixels.",
)
@lasting
def copied(r: xr.Dataset) -> Decision:
    needs = {model: have_learned(r, says, model) for model, says in (IMAGE | OWN).items()}
    ratios = [
        given(
            every(f"ratio of {says}", "<=", 3, ratio=middles(r, model)["ratio"]),
            needs[model],
        )
        for model, says in IMAGE.items()
    ]
    composes = [
        given(composing(r, f"composes: {says}", model), needs[model])
        for model, says in (IMAGE | OWN).items()
    ]
    return Decision(ratios, composes)
