"""The claims of VN Fig. 3: function composition."""

from __future__ import annotations

from collections.abc import Sequence

import xarray as xr

from benchmarks.functions.names import ELEVEN, MASKED, MASKS, OTHERS, SETS, THUMB, UNLEARNED, VN
from vnlib.book.evidence import bounded, part, select
from vnlib.book.ledger import Decision, Part, claim

INFERRED = ("zero_baseline", "rslds", "pca", "gaussian", "nearest", "exemplars")
TOLD = (*MASKED, *THUMB, *UNLEARNED, *INFERRED)  # all but the VN that are told the mask
OOD = ["easy", "hard"]
Models = Sequence[str]


def best(r: xr.Dataset, models: Models, protocol: str) -> xr.DataArray:
    """The lowest median error on hidden samples among models, over (mask, set)."""
    hidden = select(r["hidden"].sel(protocol=protocol), model=models, mask=list(MASKS))
    return hidden.median("seed").min("model")


@claim(
    id="VN-F3a",
    source="VN Fig. 3a",
    figure="fig3-task",
    statement="The task: training has signals of single families (in distribution); tests are sums "
    "of two families (Easy) and nested and mixed compositions (Hard), which are harder.",
    terms="Errors are mean squares of whole signals, medians over seeds; relative: over that of "
    "the zero baseline.",
)
def decide_task(r: xr.Dataset) -> Decision:
    """Which kinds are where, and how much harder compositions are."""
    first = r.isel(model=0, seed=0)
    trained, tested = first["train_count"] > 0, first["test_count"] > 0
    families = trained.sum()
    four = families == 4 and (tested.sel(set="id") == trained).all()
    new, repeated = tested.sel(set=OOD).any("set"), first["repeated"].sum()
    apart = new.any() and not (trained & new).any() and repeated == 0
    error = select(r["mse"], model=[*ELEVEN, "pca"]).median("seed")
    relative = error / first["zero_baseline"]
    least, pca = relative.sel(set="id", model=list(ELEVEN)).min(), relative.sel(model="pca")
    linear = pca.sel(set="easy") / pca.sel(set="id")

    def harder(values: xr.DataArray, errors: str) -> Part:
        eleven = values.sel(model=list(ELEVEN))
        above = (eleven.sel(set=OOD) > eleven.sel(set="id")).all("set").sum()
        says = f"models, of eleven, with larger {errors} on Easy and on Hard than on ID"
        return bounded(says, ">=", 8, models=above)

    held_out = "no kind of Easy or Hard and no test signal is in training"
    task = [
        part("training and the ID test hold the same four families", four, families=families),
        part(held_out, apart, compositions=new.sum(), repeated=repeated),
        bounded("least relative error of eleven models on ID", "<=", 0.01, best_id_vs_zero=least),
    ]
    says = "relative error of 24 principal components (PCA) on Easy over that on ID"
    sums = bounded(says, ">", 10, pca_easy_vs_id=linear)
    controls = [*task, harder(relative, "relative errors"), sums]
    return Decision([*task, harder(error, "errors")], controls)


@claim(
    id="VN-F3b",
    source="VN Fig. 3b, Tab. 5",
    figure="fig3-reconstruction",
    statement="Reconstruction does not tell composition from copying: Transformer and Mamba beat "
    "the VN on Easy and Hard; Mamba with a bottleneck is worse than Mamba in distribution and much "
    "better out of it.",
    terms="Ratios of mean squared errors of whole signals, medians over seeds. VNs are VN-1L, 3L "
    "and 5L, autoencoders DeepAE3 and SparseAE3. In every seed: each over each of the others', "
    "with a VN-1L of a tenth of the sparsity among the VNs and the RNN among the autoencoders.",
)
def decide_reconstruction(r: xr.Dataset) -> Decision:
    """Errors of a model over the least of others, by medians, and its worst seed to their best."""
    seeds = select(r["mse"], model=[*ELEVEN, "vn_dense"])

    def parts(
        top: xr.DataArray, rest: xr.DataArray, vn: Models, coders: Models, how: str = ""
    ) -> list[Part]:
        def over(model: str, *others: str) -> xr.DataArray:
            return (top.sel(model=model) / rest.sel(model=list(others)).min("model")).sel(set=OOD)

        transformer, mamba = over("transformer", *vn), over("mamba", *vn)
        cost = (rest.sel(model="mamba_bottleneck") / top.sel(model="mamba")).sel(set="id")
        among, bound = (over("mamba_bottleneck", *others) for others in (coders, ["mamba"]))
        ood, narrow = f"on Easy and on Hard{how}", "Mamba-bottleneck over"
        return [
            bounded(f"Transformer over the best VN {ood}", "<", 1, transformer_vs_vn=transformer),
            bounded(f"Mamba over the best VN {ood}", "<", 1, mamba_vs_vn=mamba),
            bounded(f"{narrow} Mamba on ID{how}", ">", 1, bottleneck_vs_mamba_id=cost),
            bounded(f"{narrow} autoencoders {ood}", "<=", 0.5, bottleneck_vs_autoencoders=among),
            bounded(f"{narrow} Mamba {ood}", "<=", 0.5, bottleneck_vs_mamba=bound),
        ]

    middle, high, low = seeds.median("seed"), seeds.max("seed"), seeds.min("seed")
    coders = ("deep_ae", "sparse_ae")
    controls = parts(high, low, (*VN, "vn_dense"), (*coders, "rnn"), ", in every seed")
    return Decision(parts(middle, middle, VN, coders), controls)


@claim(
    id="VN-F3c",
    source="VN Fig. 3c, Tab. 6",
    figure="fig3-grid",
    statement="With a part hidden the baselines degrade strongly, while the VN stays stable and is "
    "the best of eleven models in all cells, four masks by three sets, by a clear margin.",
    terms="Mean squared errors on hidden samples, medians over seeds. The eight others read zeros "
    "where hidden; the VN, the best of VN-1L, 3L and 5L, imputes in five rounds.",
)
def decide_masked(r: xr.Dataset) -> Decision:
    """Cells of masks and sets, as printed and with controls that are told the mask."""
    vn, tail = best(r, VN, "zero_filled"), {"mask": "forecast_25", "set": "hard"}
    ratio = vn / best(r, OTHERS, "zero_filled")
    cells = {m: {f"{m}.{s}": ratio.sel(mask=m, set=s) for s in SETS} for m in MASKS}
    hidden = select(r["hidden"].sel(tail).sel(protocol="zero_filled"), model=OTHERS).median("seed")
    decline = hidden / r["mse"].sel(set="hard").median("seed")
    degrades = {f"{model}.degrades": decline.sel(model=model) for model in OTHERS}
    zero = vn.sel(tail) / r["zero_baseline_hidden"].sel(tail).isel(model=0, seed=0)
    first = best(r, ["vn_1"], "zero_filled")
    learned = {f"{m}.ratio": (first / best(r, [m], "zero_filled")).median() for m in UNLEARNED}
    trained, thumb = (vn / best(r, models, "mask_aware") for models in (MASKED, THUMB))
    told = best(r, VN, "mask_aware") / best(r, TOLD, "mask_aware")
    won, won_thumb, won_told = ((one < 1).sum() for one in (trained, thumb, told))
    over, end = "VN over the best of the eight others", "on Hard, last quarter hidden"
    printed = [bounded(f"{over}, {MASKS[m]}, ID, Easy and Hard", "<", 1, **cells[m]) for m in MASKS]
    printed += [
        bounded(f"{over}, median of cells", "<=", 0.8, median_vs_best_other=ratio.median()),
        bounded(f"each of the eight over its error of whole signals, {end}", ">=", 10, **degrades),
        bounded(f"VN over the zero baseline, {end}", "<=", 0.5, vs_zero=zero),
    ]
    networks, rules, atoms, aware = (
        "the VN is below DeepAE3, RNN and Transformer trained with masks in all twelve cells",
        "the VN is below the last value held and linear interpolation in all twelve cells",
        "VN-1L over a fixed dictionary and over atoms not learned, by imputation, median of cells",
        "cells, of twelve, where the VN told the mask is best of all models and controls told it",
    )
    controls = [
        part(networks, (trained < 1).all(), cells=won, median_vs_trained=trained.median()),
        part(rules, (thumb < 1).all(), cells_trivial=won_thumb),
        bounded(atoms, "<=", 0.9, **learned),
        bounded(aware, ">=", 9, cells_aware=won_told),
    ]
    return Decision(printed, controls)
