"""The errors of models on each condition of each benchmark, over those of the zero baseline.

Every benchmark becomes an array (row, condition, look, seed). `condition`: what was drawn or
predicted; conditions are nowhere averaged, since their errors differ by decades, but for pictures of
forces, which show means over mixtures as the paper does, where orders and changes are asked of every
mixture. `look`: the two
values that a picture shows side by side. Coordinates over row: `key`, a short name; `name`, for
readers; `block`, its heading; `kind`, a group of `figures.KINDS`. Rows whose models the results lack
are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import xarray as xr

from benchmarks.baselines.failures import failures as counted
from benchmarks.functions.names import MASKS, OTHERS, SETS
from benchmarks.functions.protocols import PROTOCOLS
from benchmarks.nbody import figures as nbody
from benchmarks.spatial.errors import reported
from chapters.summary.rows import control, picker, printed, table, vn
from vnlib.plots.frames import label
from vnlib.plots.statistics import median

READ = {
    "positions": ("fig2_spatial", "F_spatial", "FR3_low_rank", "FR4_stripes"),
    "signals": ("fig3_functions", "G_functions"),
    "forces": ("fig4_nbody",),
    "digits": ("fig5_mnist",),
}
"""Benchmark -> the chapters whose results its pictures are made from."""

ID, OOD = "in distribution", "out of it"
ROUNDS, SOLVED = PROTOCOLS.values()
BODIES = {5: "5 bodies", 4: "4 bodies", 3: "3 bodies"}
SINGLE = "single"
DIGITS = {
    "id": SINGLE,
    "add2": "sum of 2",
    "add3": "sum of 3",
    "sub2": "difference",
    "addsub4": "sums less sums",
    "max2": "maximum of 2",
    "max3": "maximum of 3",
    "max5": "maximum of 5",
    "invert": "inverted",
    "occlude0": "half black",
    "occlude1": "half white",
    "stripes0": "black stripes",
    "stripes1": "white stripes",
    "salt_pepper": "salt and pepper",
}
"""The sets of digits, that in distribution first, as readers know them."""

FAILS = 0.5  # of the zero baseline: a run that leaves more in distribution has learned nothing
ASTRAY = 1.0  # of the zero baseline: one that leaves more out of it draws worse than nothing

Found = Mapping[str, xr.Dataset | None]
Reader = Callable[[xr.Dataset], xr.DataArray]


def _looks(**values: xr.DataArray) -> xr.DataArray:
    return xr.Dataset(values).to_array("look")


def drawn(results: xr.Dataset) -> xr.DataArray:
    """Errors of decoders of positions over those of the zero baseline: one condition, the hold-out."""
    sides = {ID: "id", OOD: "ood"}
    found = {k: results[f"mse_{s}"] / results[f"zero_baseline_{s}"] for k, s in sides.items()}
    return _looks(**found).expand_dims(condition=["the hold-out"])


def hidden(results: xr.Dataset) -> xr.DataArray:
    """Errors on hidden samples: a condition is a kind of signals and a mask."""
    found = conditions(results["hidden"] / results["zero_baseline_hidden"])
    found = found.sel(protocol=list(PROTOCOLS))
    return found.rename(protocol="look").assign_coords(look=[ROUNDS, SOLVED])


def conditions(found: xr.DataArray) -> xr.DataArray:
    """Masks and sets as one dimension, in the order of the sets."""
    sets = {k: v for k, v in SETS.items() if k in found["set"].values}
    masks = {k: v for k, v in MASKS.items() if k in found["mask"].values}
    found = found.sel(set=list(sets), mask=list(masks)).stack(condition=("set", "mask"))
    names = [f"{sets[s]}: {masks[m]}" for s, m in found["condition"].values]
    return found.drop_vars(["condition", "set", "mask"]).assign_coords(condition=names)


def accelerations(results: xr.Dataset) -> xr.DataArray:
    """Errors of accelerations over their power: a condition is a number of bodies, of which
    mixtures are; single forces are those that were trained on, with five.
    """
    found = results["mse"] / results["power"]
    several = nbody.mixed(found)
    single = found.where(~several).sel(bodies=5, drop=True).mean("forces")
    mixed = found.where(several).mean("forces")
    known = [number for number in BODIES if number in mixed["bodies"].values]
    looks = _looks(**{ID: single.expand_dims(bodies=mixed["bodies"]), OOD: mixed})
    looks = looks.sel(bodies=known).rename(bodies="condition")
    return looks.assign_coords(condition=[BODIES[number] for number in known])


def mixtures(results: xr.Dataset) -> xr.DataArray:
    """Errors of accelerations over their power: a condition is a mixture on a number of bodies."""
    found = results["mse"] / results["power"]
    there = found["forces"].values[nbody.mixed(found).values]
    known = [number for number in BODIES if number in found["bodies"].values]
    found = found.sel(forces=there, bodies=known).stack(condition=("bodies", "forces"))
    names = [
        f"{' + '.join(nbody.LAWS[law] for law in forces.split('+'))}, {BODIES[number]}"
        for number, forces in found["condition"].values
    ]
    found = found.drop_vars(["condition", "bodies", "forces"]).assign_coords(condition=names)
    return found.expand_dims(look=[OOD])


def images(results: xr.Dataset) -> xr.DataArray:
    """Errors of drawn digits over those of the zero baseline: a condition is a set of images."""
    found = _sets(results["mse"] / results["zero_baseline"])
    return found.expand_dims(look=["error"])


def _sets(values: xr.DataArray) -> xr.DataArray:
    """Values on sets of digits, in their order and by their names."""
    there = {key: name for key, name in DIGITS.items() if key in values["set"].values}
    found = values.sel(set=list(there)).rename(set="condition")
    return found.assign_coords(condition=list(there.values()))


def positions(found: Found) -> xr.DataArray | None:
    """Bumps inside a hold-out, of Fig. 2, App. F and two figures of Forced Rendering."""
    own, more = (picker(found[name], drawn) for name in READ["positions"][:2])
    ranks, diets = (picker(found[name], drawn) for name in READ["positions"][2:])
    ranks = partial(ranks, hold_out="square")
    stripes = "CNN, stripes and 100 bumps"
    return table(
        {
            "Vector Networks, product readout": [
                vn("vn_full", own("vn_full")),
                vn("axes_1", own("vn_axes_1")),
                vn("axes_3", own("vn_axes_3")),
                vn("random", own("random_full")),
                vn("random_axes", own("random_axes_1")),
            ],
            "Product readout, no Vector Network": [
                control("by_hand", own("factorised")),
                control("linear_pass", own("bilinear_linear")),
                control("relu_pass", own("bilinear_relu")),
            ],
            "No product readout, or one image as input": [
                vn("flat", own("vn_flat")),
                vn("image", more("image_full"), "Full 2D VN, from the image"),
                printed("cnn", own("cnn4")),
                printed("sparse", own("sparse_autoencoder")),
                printed("mlp", own("mlp")),
            ],
            "Forced Rendering: factors forced upon a decoder": [
                printed("free_maps", ranks("none")),
                printed("penalty", ranks("variance")),
                control("bands", ranks("bands")),
                printed("bumps", diets("cnn", diet="bumps+all"), "CNN, all bumps"),
                printed("stripes", diets("cnn", diet="stripes+100"), stripes),
            ],
        }
    )


def hold_outs(found: Found) -> xr.DataArray | None:
    """Bumps of App. F, by what was held out; sharp bumps have a width of one pixel."""
    results = found["F_spatial"]
    if results is None:
        return None
    tasks = {"": "a square", "_ring": "a ring", "_scattered": "scattered", "_sharp": "sharp bumps"}
    models = {"full": vn, "vn_1": vn, "factorised": control, "cnn": printed, "mlp": printed}
    every = drawn(reported(results)).isel(condition=0, drop=True)

    def by_task(model: str) -> xr.DataArray | None:
        names = {task: f"{model}{end}" for end, task in tasks.items()}
        names["a square"] = names["a square"].replace("vn_1", "vn_1_8")
        there = {task: name for task, name in names.items() if name in every["model"].values}
        if not there:
            return None
        parts = [every.sel(model=name).reset_coords(drop=True) for name in there.values()]
        found = xr.concat(parts, "condition").assign_coords(condition=list(there))
        return found.assign_coords(label=label(results, next(iter(there.values()))))

    return table({"": [kind(model, by_task(model)) for model, kind in models.items()]})


def signals(found: Found) -> xr.DataArray | None:
    """Signals of which samples are hidden, of Fig. 3, mask by mask."""
    own = picker(found["fig3_functions"], hidden)
    return table(
        {
            "Vector Networks": [
                vn("vn_1", own("vn_1")),
                vn("vn_3", own("vn_3")),
                vn("vn_5", own("vn_5")),
            ],
            "Same inference, other atoms": [
                control("untrained", own("vn_untrained")),
                control("fixed", own("fourier"), "Fixed Fourier and bumps"),
            ],
            "The paper's others": [
                *(printed(model, own(model)) for model in OTHERS),
            ],
            "Controls that are told the mask": [
                control("deep_ae_masked", own("deep_ae_masked"), "DeepAE3, masks"),
                control("rnn_masked", own("rnn_masked"), "RNN, masks"),
                control("transformer_masked", own("transformer_masked"), "Transformer, masks"),
                control("exemplars", own("exemplars")),
                control("nearest", own("nearest"), "Nearest signals"),
                control("pca", own("pca")),
                control("held", own("hold_last")),
                control("interpolation", own("linear")),
            ],
        }
    )


def forces(found: Found, read: Reader = accelerations) -> xr.DataArray | None:
    """Accelerations under one force and under several, of Fig. 4."""
    own = picker(found["fig4_nbody"], read)
    joint, passes = partial(own, inference="joint"), partial(own, inference="passes")
    free = ("mlp", "gnn", "transformer", "film")

    def apart(model: str) -> dict:
        found = passes(model)
        named = "" if found is None else f"{found['label'].item()}, passes"
        return {"key": f"{model}_passes", "errors": found, "named": named}

    return table(
        {
            "All forces in one pass, 22 numbers per body": [
                vn("vn_1", joint("vn_literal_1")),
                vn("vn_3", joint("vn_literal_3")),
                control("ridge", joint("linear_literal")),
                *(printed(model, joint(model)) for model in free),
            ],
            "Same weights, one pass per force, added up": [
                vn(**apart("vn_literal_1") | {"key": "vn_1_passes"}),
                vn(**apart("vn_literal_3") | {"key": "vn_3_passes"}),
                *(printed(**apart(model)) for model in free),
            ],
            "Sum over forces or pairs built in": [
                printed("factorized", joint("factorized")),
                vn("gated", joint("vn_gated_3")),
                control("gated_ridge", joint("linear_gated")),
                vn("tokens_1", joint("vn_token_1")),
                vn("tokens", joint("vn_token_3")),
                control("tokens_ridge", joint("linear_tokens")),
                control("tokens_rbf", joint("rbf_tokens")),
                control("tokens_network", joint("token_mlp")),
            ],
        }
    )


def digits(found: Found) -> xr.DataArray | None:
    """Composed and damaged digits, of Fig. 5, with the number of `active` coefficients of every row
    in every condition (medians over seeds).
    """
    results = found["fig5_mnist"]
    if results is None:
        return None
    own = picker(results, images)
    read, searched = partial(own, reading="own"), partial(own, reading="searched")
    models = {
        "Vector Networks": {"vn_1": vn, "vn_3": vn},
        "The same sparse inference, other atoms": {
            "vn_untrained": vn,
            "dictionary_learning": control,
            "dct": control,
            "dct_count": control,
        },
        "Linear drawings, other codes": {
            "ksparse_linear": control,
            "pca": control,
            "pca_adaptive": control,
            "pca_matched": control,
        },
        "Nonlinear drawings: autoencoders": {"ae": printed, "ksparse": printed},
    }
    blocks = {
        title: [kind(model, read(model)) for model, kind in every.items()]
        for title, every in models.items()
    }
    names = {"ae": "ID-matched AE, codes searched", "ksparse": "k-sparse AE, codes searched"}
    blocks["Nonlinear drawings: autoencoders"] += [
        control(f"{model}_searched", searched(model), name) for model, name in names.items()
    ]
    errors = table(blocks)
    if errors is None:
        return None
    rows = [key.removesuffix("_searched") for key in errors["key"].values]
    used = median(_sets(results["active"].sel(layer=1))).sel(model=rows)
    return errors.assign_coords(active=(("row", "condition"), used.transpose("model", ...).data))


TABLES = {
    "positions": positions,
    "signals": signals,
    "forces": forces,
    "digits": digits,
    "hold-outs": hold_outs,
    "mixtures": partial(forces, read=mixtures),
}


def tables(found: Found) -> dict[str, xr.DataArray | None]:
    """The errors of every benchmark, of other hold-outs, and of every mixture of forces; None where no
    model is stored.
    """
    return {benchmark: make(found) for benchmark, make in TABLES.items()}


def failures(errors: xr.DataArray) -> xr.DataArray:
    """How many seeds of each row leave more than half of the zero baseline's error in distribution,
    with the interval of their share (row).
    """
    inside = errors.sel(look=ID).isel(condition=0)
    return counted((inside > FAILS).where(inside.notnull()))


def astray(errors: xr.DataArray) -> xr.DataArray:
    """How many seeds of each row leave more than the zero baseline's error out of distribution,
    with the interval of their share (row, condition).
    """
    outside = errors.sel(look=OOD)
    return counted((outside > ASTRAY).where(outside.notnull()))


def read(
    stored: Callable[[str], xr.Dataset | None], seeds: Sequence[int]
) -> dict[str, xr.Dataset | None]:
    """The results that the pictures are made from, as far as they are stored, of these seeds."""
    return {name: only(stored(name), seeds) for names in READ.values() for name in names}


def only(results: xr.Dataset | None, seeds: Sequence[int]) -> xr.Dataset | None:
    """Results of these seeds, as far as they are there; None where nothing is left."""
    if results is None:
        return None
    kept = [seed for seed in results["seed"].values if seed in seeds]
    return results.sel(seed=kept) if kept else None
