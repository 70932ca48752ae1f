"""The claims of VN App. F: spatial composition in full."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from vnlib.book.evidence import bounded, medians, part, tagged
from vnlib.book.ledger import Decision, Part, claim

IMAGE = {
    "convolutions": ("image_conv", "image_conv_32"),
    "MLPs": ("image_mlp", "image_mlp_32"),
    "the VN": ("image_vn",),
}


def encoded(model: str) -> list[str]:
    """The names of a model of Table 3 with each encoding, the bump first."""
    bump = {"vn_1": "vn_1_8", "vn_3": "vn_3_8"}.get(model, model)
    codes = ("one_hot", "fourier14", "fourier7", "scalar")
    return [bump, *(f"{model}_{code}" for code in codes)]


def measured(r: xr.Dataset, kind: str) -> xr.DataArray:
    """OOD error ("ood"), its "ratio" to the ID error, or a variable."""
    return r["mse_ood"] / r["mse_id"] if kind == "ratio" else r[{"ood": "mse_ood"}.get(kind, kind)]


def middle(r: xr.Dataset, kind: str, *models: str) -> dict[str, float]:
    """Medians over seeds of what was `measured`. KeyError names the models that lack."""
    return medians(measured(r, kind), models)


def composes(r: xr.Dataset, model: str) -> bool:
    """OOD error within 3x of ID, and below 1 % of a zero image's."""
    ratio, ood, zero = (middle(r, k, model)[model] for k in ("ratio", "ood", "zero_baseline_ood"))
    return ratio <= 3 and ood <= 0.01 * zero


def low(r: xr.Dataset, models: Sequence[str], says: str, *, low: bool = True) -> Part:
    """Every one of these composes, or none does; with ratios and OOD errors."""
    ratio, ood = (tagged(middle(r, kind, *models), kind) for kind in ("ratio", "ood"))
    return part(says, all(composes(r, m) == low for m in models), **ratio, **ood)


def below(r: xr.Dataset, model: str, others: Sequence[str], says: str) -> Part:
    """The OOD error of a model is below that of every other."""
    ood = middle(r, "ood", model, *others)
    return part(says, ood[model] < min(ood[m] for m in others), **tagged(ood, "ood"))


def no_harder(r: xr.Dataset, models: Sequence[str], says: str) -> Part:
    """The ratio of each of these is at most 3."""
    return bounded(says, "<=", 3, **tagged(middle(r, "ratio", *models), "ratio"))


@claim(
    id="VN-T1",
    source="VN App. F, Table 1",
    figure="appF-rank",
    statement="Factorised decoders of rank R, trained on images of rank 1, collapse to rank 1: "
    "further streams become copies. Rank does not help, and the full 2D VN beats them all.",
)
def ranks(r: xr.Dataset) -> Decision:
    def copies(family: str, one: str, *more: str) -> list[Part]:
        alike = tagged(middle(r, "stream_similarity", *more), "similarity")
        ood = middle(r, "ood", one, *more)
        helps = min(ood[m] for m in more) < 0.5 * ood[one]
        return [
            bounded(f"{family}: the streams are copies", ">=", 0.95, **alike),
            part(f"{family}: rank does not help", not helps, **tagged(ood, "ood")),
        ]

    default = ("default_1", "default_2", "default_3")
    tuned = ("factorised", "factorised_2", "factorised_3")
    axes = copies("VN per axis", "vn_1_8", "vn_rank_2", "vn_rank_3")
    beats, *printed = (
        below(r, "full", others, "the full 2D VN beats them")
        for others in ((*tuned, "factorised_care"), default)
    )
    return Decision(
        [*copies("factorised", *default), *printed], [*copies("factorised", *tuned), *axes, beats]
    )


@claim(
    id="VN-T2",
    source="VN App. F, Table 2",
    figure="appF-depth",
    statement="Depth 2 has most of the gain over depth 1; sparser codes (K = 8 against 16) "
    "compose better; mix helps the VN of 3 layers.",
)
def depths(r: xr.Dataset) -> Decision:
    names = [f"vn_{depth}_{k}" for depth in (1, 2, 3) for k in (16, 8)]
    ood = middle(r, "ood", *names, "vn_3_down", "vn_3_mix")

    def gain(one: str, two: str, three: str, says: str = "") -> Part:
        # A factor of 2 has half of a factor of 4: compare logarithms.
        own, best = (np.log(ood[one] / x) for x in (ood[two], min(ood[two], ood[three])))
        numbers = tagged({m: ood[m] for m in (one, two, three)}, "ood")
        held = own > 0 and own >= 0.5 * best
        return part(f"depth 2 has most of the gain{says}", held, **numbers)

    sparser = all(ood[f"vn_{d}_8"] < ood[f"vn_{d}_16"] for d in (1, 2, 3))
    every = tagged({m: ood[m] for m in names}, "ood")
    mix = below(r, "vn_3_mix", ["vn_3_8"], "mix is better than bottom-up inference")
    return Decision(
        [
            gain("vn_1_16", "vn_2_8", "vn_3_8"),
            below(r, "vn_2_8", ["vn_1_16"], "the sparser code composes better"),
            mix,
        ],
        [
            *(gain(*(f"vn_{d}_{k}" for d in (1, 2, 3)), f" at K {k}") for k in (16, 8)),
            part("the sparser code composes better at every depth", sparser, **every),
            mix,
            below(r, "vn_3_mix", ["vn_3_down"], "mix is better than top-down inference without it"),
        ],
    )


@claim(
    id="VN-T3",
    source="VN App. F, Table 3",
    figure="appF-encodings",
    statement="Fourier codes help every model; the sparse autoencoder is very sensitive to the "
    "code, and the VN of 3 layers is robust to it.",
)
def encodings(r: xr.Dataset) -> Decision:
    models = {m: encoded(m) for m in ("sae", "vae_low", "vae_high", "vn_1", "vn_3")}

    def parts(kind: str, says: str) -> list[Part]:
        values = middle(r, kind, *(name for names in models.values() for name in names))
        helped, numbers = True, {}
        for bump, *codes in models.values():
            fourier = {name: values[name] for name in codes if "fourier" in name}
            helped &= min(fourier.values()) < values[bump]
            numbers |= {bump: values[bump]} | fourier
        sae = {name: values[name] for name in models["sae"]}
        wide = max(sae.values()) >= 5 * min(sae.values())
        tag = "mse_ood" if kind == "ood" else kind
        return [
            part(f"Fourier codes lower every {says}", helped, **tagged(numbers, tag)),
            part(f"the SAE's {says} depends on the code", wide, **tagged(sae, tag)),
        ]

    keeps = no_harder(r, models["vn_3"], "VN-3L keeps its ratio with every code")
    composed = low(r, models["vn_3"], "VN-3L composes with every code")
    return Decision([*parts("ratio", "ratio"), keeps], [*parts("ood", "OOD error"), composed])


@claim(
    id="VN-T4",
    source="VN App. F, Table 4",
    figure="appF-sharp",
    statement="Sharper bumps: the full 2D VN keeps its ratio, and is more exact than the "
    "multi-layer VN per axis.",
)
def sharp(r: xr.Dataset) -> Decision:
    keeps = low(r, ["full_sharp"], "the full 2D VN keeps its ratio")
    axes, exact = [f"vn_{depth}_sharp" for depth in (1, 2, 3)], "and is more exact than"
    two = below(r, "full_sharp", axes[1:2], f"{exact} 2 layers per axis")
    every = below(r, "full_sharp", axes, f"{exact} 1, 2 and 3 layers per axis")
    by_hand = below(r, "full_sharp", ["factorised_sharp"], "and than the hand-factorised decoder")
    return Decision([keeps, two], [keeps, every, by_hand])


@claim(
    id="VN-F-ann",
    source="VN App. F, annular holdout",
    figure="appF-ring",
    statement="With a ring held out the full 2D VN's error stays low, and the CNN's is high.",
)
def ring(r: xr.Dataset) -> Decision:
    ratio, ood = middle(r, "ratio", "cnn_ring"), middle(r, "ood", "cnn_ring", "full_ring")
    seeds = measured(r, "ratio").sel(model="cnn_ring").dropna("seed")
    numbers = tagged(ratio, "ratio") | tagged(ood, "ood")
    far = (seeds >= 5).all() and ood["cnn_ring"] >= 10 * ood["full_ring"]
    keeps = low(r, ["full_ring"], "the full 2D VN is low")
    every = part("the CNN is high in every seed", far, **{"cnn_ring.ratio_min": seeds.min()})
    by_hand = low(r, ["factorised_ring"], "the hand-factorised decoder is not low", low=False)
    printed = [keeps, part("the CNN is high", ratio["cnn_ring"] >= 5, **numbers)]
    return Decision(printed, [keeps, every, by_hand])


@claim(
    id="VN-F-em",
    source="VN App. F, emergent factorization",
    figure="appF-ladder",
    statement="Built-in parts can be taken away one by one (a loss per axis, then none, then one "
    "dictionary for both axes) and the network still composes.",
)
def ladder(r: xr.Dataset) -> Decision:
    stages = {
        "axis_loss": "a loss per axis",
        "vn_1_8": "no loss per axis",
        "full": "one dictionary for both axes",
        "flat": "no product readout",
    }
    parts = [low(r, [model], f"{says}: composes") for model, says in stages.items()]
    return Decision(parts[:3], parts)


@claim(
    id="VN-F-ent",
    source="VN App. F, entangled input",
    figure="appF-entangled",
    statement="Image in, image out: every model solves the task, since composing becomes copying.",
)
def copied(r: xr.Dataset) -> Decision:
    return Decision(
        [no_harder(r, m, f"{says}: held-out images are no harder") for says, m in IMAGE.items()],
        [low(r, m, f"{says}: held-out images are copied") for says, m in IMAGE.items()],
    )
