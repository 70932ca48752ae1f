"""The readings of VN Fig. 5 that the results of chapter fig5_mnist allow: whose error is less on
images that are composed, damaged or moved, and by how much.

The paper leaves open how deep, large and sparse its networks are, from which layer they draw, which
autoencoder is meant and to what it is matched, which sets count (differences of digits among
them), how long networks are trained, and whether errors or their growth are compared.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from benchmarks.readings.arrays import Arrays, over
from benchmarks.readings.choices import Choice, Exclusion, Reading, Statement
from benchmarks.readings.curve import above, below, curve
from benchmarks.readings.lengths import length, of_length, rival_of_length, untwinned

# Networks of one layer and another size or sparsity, beside which some rivals are matched anew.
RESIZED = {
    "256": "1 layer, 256 atoms",
    "1024": "1 layer, 1,024 atoms",
    "fuller": "1 layer, half the sparsity penalty",
    "sparser": "1 layer, twice the sparsity penalty",
}
# A network's name -> the model and the way that it draws.
FIGURE = {name: (f"vn_1_{name}", "own") for name in RESIZED} | {
    "1": ("vn_1", "own"),
    "3": ("vn_3", "own"),
    "top": ("vn_3", "top"),
    "literal": ("vn_3_literal", "own"),
    "frozen": ("vn_3_frozen", "own"),
    "capped": ("vn_1_top24", "own"),
}
NETWORK = Choice(
    name="network",
    says="network",
    options={
        "1": "1 layer",
        "3": "3 layers",
        "top": "3 layers, drawn from the top",
        "literal": "3 layers, interface literal",
        "frozen": "3 layers, interface frozen",
        "capped": "1 layer, 24 units at most",
    }
    | RESIZED,
)
MOVED = Choice(
    name="network",
    says="network",
    options={
        "1": "1 layer",
        "3": "3 layers",
        "top": "3 layers, drawn from the top",
    },
)
# A rival's name -> the model and the way that it draws.
AUTOENCODERS = {
    "ae": ("ae", "own"),
    "searched": ("ae", "searched"),
    "ksparse": ("ksparse", "own"),
    "linear": ("ksparse_linear", "own"),
    "signed": ("ae_signed", "own"),
}
MODELS = AUTOENCODERS | {
    "pca": ("pca_matched", "own"),
    "dct": ("dct", "own"),
    "learned": ("dictionary_learning", "own"),
    "untrained": ("vn_untrained", "own"),
}
AE_WORDS = {
    "ae": "autoencoder, same ID error",
    "searched": "the same, codes optimised",
    "ksparse": "k-sparse autoencoder, as many units",
    "linear": "the same without hidden layers",
    "signed": "autoencoder trained on x and −x",
}
CONTROLS = {
    "pca": "PCA, same ID error",
    "dct": "cosines, same ID error",
    "learned": "dictionary learning",
    "untrained": "VN-1L, atoms not learned",
}
RIVAL = Choice(name="rival", says="rival", options=AE_WORDS | CONTROLS)
AE = Choice(name="rival", says="autoencoder", options=AE_WORDS)
FEW = {name: AE_WORDS[name] for name in ("ae", "searched", "ksparse")}
MOVED_RIVAL = Choice(name="rival", says="rival", options=FEW | CONTROLS)
ADDED = ("add2", "sub2", "add3", "addsub4")
SUMS = ("add2", "add3")
MAXIMA = ("max2", "max3", "max5")
DAMAGED = ("occlude0", "occlude1", "stripes0", "stripes1", "invert", "salt_pepper")
DIGITS = (*ADDED, *MAXIMA, *DAMAGED)
SETS = Choice(
    name="sets",
    says="sets",
    options={
        "each": "each of 13",
        "all": "13, geometric mean",
        "arithmetic": "13, mean",
        "add": "sums and differences",
        "sums": "sums alone",
        "max": "maxima",
        "damage": "corruptions",
    },
)
OF_SETS = {"add": ADDED, "sums": SUMS, "max": MAXIMA, "damage": DAMAGED}
KINDS = ("RT", "RS", "TS", "RTS")
STEPS = ("single_x1.5", "single_x2", "single_x3", "RTS_x1.5", "RTS_x2", "RTS_x3")
SEVERAL = ("single_2d", "RTS_2d", "RTS_x2_2d", "single_3d", "RTS_3d", "RTS_x2_3d")
MOTIONS = (*KINDS, *STEPS, *SEVERAL)
MOVES = Choice(
    name="sets",
    says="sets",
    options={
        "each": "each of 16",
        "all": "16, geometric mean",
        "kinds": "several kinds of moves",
        "steps": "larger steps",
        "several": "several digits",
    },
)
OF_MOVES = {"kinds": KINDS, "steps": STEPS, "several": SEVERAL}
MEASURE = Choice(
    name="measure",
    says="compared are",
    options={"error": "errors", "growth": "errors over those on ID"},
)
STRONGEST = Choice(
    name="strongest",
    says="the strongest conditions",
    options={
        "worst": "two where the autoencoder errs most",
        "most": "the one of the largest ratio",
        "add": "add/subtract, geometric mean",
    },
)
SIGNS = Choice(
    name="signs",
    says="add/subtract",
    options={"both": "with differences", "sums": "sums alone"},
)
BOUND = Choice(
    name="bound",
    says="about an order of magnitude",
    options={"5": "5 times or more", "3": "3 times or more", "10": "10 times or more"},
)
LENGTH = length("Fig. 5")
TWINNED = ("1", "3", "top", "capped")  # networks that were trained twice as long
ALIKE = 1.1  # of the ID error: an autoencoder farther off is not matched
BAND = np.log(1.05)
# An autoencoder of which stages of training are matched -> the set in distribution.
PATHS = {"ae": "id", "m_ae": "single", "ae_longer": "id", "m_ae_longer": "single"}


def together(shared: xr.Dataset) -> xr.Dataset:
    """All that margins read (model, reading, seed, set): `mse`, and for each autoencoder of `PATHS`
    that is there, by its name, its errors at the stage of its training where its ID error is nearest
    to that of a network, NaN where none is near.
    """
    mse = shared["mse"].reset_coords(drop=True).transpose("model", "reading", "seed", "set")
    matched = {
        name: _matched(shared["path_mse"].sel(model=name).reset_coords(drop=True), mse, inside)
        for name, inside in PATHS.items()
        if name in shared["model"].values
    }
    return xr.Dataset({"mse": mse, **matched})


def _matched(path: xr.DataArray, mse: xr.DataArray, inside: str) -> xr.DataArray:
    """Errors of a network at the stage that is nearest to each other network's."""
    away = abs(np.log(path.sel(set=inside, drop=True) / mse.sel(set=inside, drop=True)))
    stage = away.fillna(np.inf).argmin("stage")
    near = away.isel(stage=stage) <= np.log(ALIKE)
    found = path.isel(stage=stage).where(near).drop_vars("stage")
    return found.transpose("model", "reading", "seed", "set")


def less_digits(r: Arrays, reading: Reading) -> np.ndarray:
    """How far a network errs less than a rival on composed and damaged digits."""
    return _less(r, reading, "", "id", DIGITS, OF_SETS)


def less_motions(r: Arrays, reading: Reading) -> np.ndarray:
    """How far a network errs less than a rival on stronger and composed motions."""
    return _less(r, reading, "m_", "single", MOTIONS, OF_MOVES)


def strongly(r: Arrays, reading: Reading) -> np.ndarray:
    """How far the error of an autoencoder, over a network's, exceeds a bound where the conditions
    are strongest.
    """
    added = SUMS if reading["signs"] == "sums" else ADDED
    sets = added if reading["strongest"] == "add" else (*added, *MAXIMA, *DAMAGED)
    ours, rival = _errors(r, reading, "", sets)
    ratio = rival / ours
    if reading["strongest"] == "worst":
        second = 1 - 1 / (len(sets) - 1)
        bound = np.quantile(rival, second, axis=-1, method="higher", keepdims=True)
        found = over(np.where(rival >= bound, ratio, np.nan), "min")
    elif reading["strongest"] == "most":
        found = ratio.max(-1)
    else:
        found = _geometric(ratio)
    return above(found, float(reading["bound"]))


def _less(
    r: Arrays,
    reading: Reading,
    prefix: str,
    inside: str,
    outside: Sequence[str],
    families: dict[str, Sequence[str]],
) -> np.ndarray:
    ours, rival = _errors(r, reading, prefix, families.get(reading["sets"], outside))
    if reading["measure"] == "growth":
        own_inside, rival_inside = _errors(r, reading, prefix, [inside])
        ours, rival = ours / own_inside, rival / rival_inside
    if reading["sets"] == "each":
        return below((ours / rival).max(-1), 1)
    if reading["sets"] == "arithmetic":
        return below(ours.mean(-1), rival.mean(-1))
    return below(_geometric(ours / rival), 1)


def _geometric(values: np.ndarray) -> np.ndarray:
    return np.exp(np.log(values).mean(-1))


def _errors(
    r: Arrays, reading: Reading, prefix: str, sets: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Median errors over seeds on some sets, of the network and of its rival."""

    def error(name: str, model: str, way: str) -> np.ndarray:
        return np.median(r(name, model=model, reading=way, set=[*sets]), -1)

    model, way = FIGURE[reading["network"]]
    own = of_length(f"{prefix}{model}", reading), way
    if reading["rival"] == "ae":
        return error("mse", *own), error(of_length(f"{prefix}ae", reading), *own)
    size = f"_{reading['network']}" if reading["network"] in RESIZED else ""
    model, way = MODELS[reading["rival"]]
    name = f"{prefix}{model}{size}".replace("m_vn_", "m_")
    return error("mse", *own), error("mse", rival_of_length(name, reading, r.labels["model"]), way)


def _unmatched(rival: Choice) -> Exclusion:
    """Other sizes and sparsities beside rivals that are matched to the network of 512 atoms."""
    matched = {"ae", *CONTROLS}
    return Exclusion(
        why="these autoencoders are matched to the network of 512 atoms alone",
        options={"network": [*RESIZED], "rival": [r for r in rival.options if r not in matched]},
    )


STATEMENTS = (
    Statement(
        id="VN-F5a",
        says="On composed and damaged digits the Vector Network errs less than its rival",
        choices=(NETWORK, RIVAL, SETS, MEASURE, LENGTH),
        excluded=[_unmatched(RIVAL), untwinned(NETWORK, TWINNED)],
        margin=less_digits,
        band=BAND,
    ),
    Statement(
        id="VN-F5a, tenfold",
        says="In the strongest conditions autoencoders err about ten times more",
        choices=(NETWORK, AE, STRONGEST, SIGNS, BOUND, LENGTH),
        excluded=[_unmatched(AE), untwinned(NETWORK, TWINNED)],
        margin=strongly,
        band=BAND,
    ),
    Statement(
        id="VN-F5b",
        says="On stronger and composed motions the Vector Network errs less than its rival",
        choices=(MOVED, MOVED_RIVAL, MOVES, MEASURE, LENGTH),
        margin=less_motions,
        band=BAND,
    ),
)


def curves(shared: xr.Dataset, seeds: Sequence[int]) -> dict[str, xr.Dataset]:
    """Every statement in all of its readings, by its id, from those of these seeds that Fig. 5 has."""
    read = together(shared.sel(seed=[seed for seed in seeds if seed in shared["seed"].values]))
    return {one.id: curve(one, read) for one in STATEMENTS}
