"""The readings of VN Fig. 2c: the error of Vector Networks and of other decoders, trained anew for
each reading at reduced size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product

import numpy as np
import xarray as xr

from benchmarks.readings.arrays import Arrays, over
from benchmarks.readings.choices import Choice, Reading, Statement, fraction, key
from benchmarks.readings.curve import above, below

BAND = np.log(1.05)
TRAINED = (
    Choice(
        name="sigma",
        says="width of bump and code",
        options={"2": "2 px", "1": "1 px"},
        trained=True,
    ),
    Choice(
        name="code",
        says="code of a position",
        options={"bump": "bump code", "one_hot": "one-hot code"},
        trained=True,
    ),
    Choice(
        name="atoms",
        says="atoms of the VN (28 positions an axis)",
        options={"full": "32 an axis, 64 in the plane", "half": "16 an axis, 32 in the plane"},
        trained=True,
    ),
    Choice(
        name="sparsity",
        says="lambda of the VN",
        options={"low": "chosen in Fig. 2", "high": "ten times that"},
        trained=True,
    ),
    Choice(
        name="readout",
        says="readout of the VN",
        options={"fitted": "fitted to settled codes", "trained": "trained with the atoms only"},
        trained=True,
    ),
)
VN = ("vn_axes", "vn_plane")
ENTANGLED = ("cnn", "mlp")
FACTORISED = {"default": "factorised_default", "tuned": "factorised"}
ERRORS = {
    "mse_id": "id",
    "mse_train": "train",
    "mse_ood": "ood",
    "mse_deep": "deep",
    "zero_baseline_id": "zero_id",
    "zero_baseline_ood": "zero_ood",
    "zero_baseline_deep": "zero_deep",
}
SHARED = ("sigma", "code")  # what readings change of other decoders than VNs

HALF = fraction(TRAINED)
OF_ALL = tuple(choice for choice in TRAINED if choice.name in SHARED)

WHICH = Choice(
    name="which",
    says="which VN",
    options={"best": "best in distribution", "vn_axes": "per axis", "vn_plane": "full 2D"},
)
RIVALS = Choice(
    name="rivals",
    says="compared with",
    options={
        "default": "CNN, MLP, factorised (default rate)",
        "tuned": "CNN, MLP, factorised (tuned)",
        "entangled": "CNN and MLP",
    },
)
FACTOR = Choice(
    name="factor",
    says="which factorised decoder",
    options={"default": "default learning rate", "tuned": "tuned learning rate"},
)
PLACES = Choice(
    name="places",
    says="held-out positions that count",
    options={"ood": "all of them", "deep": "4 px or more from the edge"},
)
SEEDS = Choice(
    name="seeds",
    says="summary of seeds",
    options={"median": "median", "mean": "mean", "max": "worst seed"},
)
LOSS = Choice(
    name="loss",
    says="what a loss out of distribution is",
    options={
        "id": "OOD over ID error, 10 or more",
        "train": "OOD over training error, 10 or more",
        "zero": "half of the zero baseline's error",
    },
)


# --- Runs -----------------------------------------------------------------------------------------


def decoders(options: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, Reading]]:
    """The runs that readings with these options need: their name -> decoder and options."""
    names, found = [choice.name for choice in TRAINED], {}
    for taken in product(*(options[name] for name in names)):
        reading = dict(zip(names, taken, strict=True))
        models = _others() if HALF.holds_of(reading) else (*VN, *_others())
        found |= {_named(name, reading): (name, reading) for name in models}
    return found


def _others() -> tuple[str, ...]:
    return (*ENTANGLED, *FACTORISED.values())


def _named(name: str, reading: Reading) -> str:
    """What a run is called; other decoders than VNs have no atoms."""
    return f"{name}: {key(TRAINED if name in VN else OF_ALL, reading)}"


def gathered(runs: xr.Dataset, choices: Sequence[Choice]) -> xr.Dataset:
    """Errors over (trained, model, seed): the runs of the readings of a statement with these
    choices, without VNs where these are not of VNs.

    `ood` and `deep` are errors at held-out positions, `zero_ood` and `zero_deep` those of a zero
    image there, `id` and `train` errors in distribution, `zero_id` that of the zero baseline.
    """
    values = runs[[*ERRORS]].rename(ERRORS)
    names = [choice.name for choice in choices if choice.trained]
    models = [*(VN if len(names) > len(SHARED) else ()), *_others()]
    parts = {}
    for taken in product(*(choice.options for choice in choices if choice.trained)):
        reading = dict(zip(names, taken, strict=True))
        wanted = [_named(name, reading) for name in models]
        if set(wanted) <= set(values["decoder"].values.tolist()):
            part = values.sel(decoder=wanted).rename(decoder="model").reset_coords(drop=True)
            parts[key(choices, reading)] = part.assign_coords(model=models)
    return xr.concat([*parts.values()], "trained").assign_coords(trained=[*parts])


# --- Statements -----------------------------------------------------------------------------------


def summed(values: np.ndarray, reading: Reading) -> np.ndarray:
    """Seeds as one number."""
    return over(values, reading["seeds"])


def own(r: Arrays, kind: str, reading: Reading) -> np.ndarray:
    """An error of the VN that a reading takes."""
    if reading["which"] != "best":
        return summed(r(kind, model=reading["which"]), reading)
    first, second = (summed(r("id", model=name), reading) for name in VN)
    one, other = (summed(r(kind, model=name), reading) for name in VN)
    return np.where(first <= second, one, other)


def rivals(r: Arrays, kind: str, reading: Reading) -> np.ndarray:
    """The least error of those that a reading compares with."""
    factor = FACTORISED.get(reading["rivals"])
    models = [*ENTANGLED, *([factor] if factor else [])]
    return over(summed(r(kind, model=models), reading), "min")


def strongest(r: Arrays, reading: Reading) -> np.ndarray:
    """The VN's ID error is below all others'."""
    return below(own(r, "id", reading), rivals(r, "id", reading))


def lowest(r: Arrays, reading: Reading) -> np.ndarray:
    """The VN's OOD error is below all others'."""
    kind = reading["places"]
    return below(own(r, kind, reading), rivals(r, kind, reading))


def loses(r: Arrays, reading: Reading) -> np.ndarray:
    """The CNN loses much out of distribution; NaN where it draws nothing in distribution."""
    cnn, kind = partial(r, model="cnn"), reading["places"]
    bound = 0.5 if reading["loss"] == "zero" else 10.0
    other = {"id": "id", "train": "train", "zero": f"zero_{kind}"}[reading["loss"]]
    able = summed(cnn("id") / cnn("zero_id"), reading) <= 0.5
    return np.where(able, above(summed(cnn(kind) / cnn(other), reading), bound), np.nan)


def keeps(r: Arrays, reading: Reading) -> np.ndarray:
    """The factorised decoder keeps its ratio of OOD to ID error."""
    decoder = partial(r, model=FACTORISED[reading["factor"]])
    return below(summed(decoder(reading["places"]) / decoder("id"), reading), 3.0)


def limited(r: Arrays, reading: Reading) -> np.ndarray:
    """The factorised decoder's ID error is above three times the VN's."""
    error = summed(r("id", model=FACTORISED[reading["factor"]]), reading)
    return above(error, 3 * own(r, "id", reading))


STATEMENTS = (
    Statement(
        id="VN-F2c strongest ID",
        says="The Vector Network's ID error is below those of CNN, MLP and factorised decoder",
        choices=(*TRAINED, WHICH, RIVALS, SEEDS),
        margin=strongest,
        excluded=(HALF,),
        band=BAND,
    ),
    Statement(
        id="VN-F2c lowest OOD",
        says="The Vector Network's OOD error is below those of CNN, MLP and factorised decoder",
        choices=(*TRAINED, WHICH, RIVALS, PLACES, SEEDS),
        margin=lowest,
        excluded=(HALF,),
        band=BAND,
    ),
    Statement(
        id="VN-F2c CNN loses",
        says="The CNN loses much out of distribution",
        choices=(*OF_ALL, LOSS, PLACES, SEEDS),
        margin=loses,
        band=BAND,
    ),
    Statement(
        id="VN-F2c factorised keeps",
        says="The factorised decoder's OOD error is at most three times its ID error",
        choices=(*OF_ALL, FACTOR, PLACES, SEEDS),
        margin=keeps,
        band=BAND,
    ),
    Statement(
        id="VN-F2c factorised limited",
        says="The factorised decoder's ID error is above three times the Vector Network's",
        choices=(*TRAINED, WHICH, FACTOR, SEEDS),
        margin=limited,
        excluded=(HALF,),
        band=BAND,
    ),
)
