"""Readings of VN Fig. 2c on errors that are known."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from benchmarks.readings.arrays import Arrays
from benchmarks.readings.choices import readings, trained
from benchmarks.readings.curve import curve, deciding, shares
from chapters.readings_positions import composition

OPTIONS = {choice.name: [*choice.options] for choice in composition.TRAINED}
STATEMENTS = {one.id: one for one in composition.STATEMENTS}


def runs(error) -> xr.Dataset:
    """Three seeds of every run; error(decoder, reading): its OOD error, that in distribution, too,
    but for the CNN, whose ID error is a twentieth.
    """
    found = composition.decoders(OPTIONS)
    ood = np.array([error(*one) for one in found.values()])[:, None] * np.array([0.9, 1.0, 1.1])
    ratio = np.array([[20.0 if name == "cnn" else 1.0] for name, _ in found.values()])
    dims, one = ("decoder", "seed"), np.ones_like(ood)
    values = {"mse_ood": ood, "mse_deep": 2 * ood, "mse_id": ood / ratio, "mse_train": ood / ratio}
    values |= {f"zero_baseline_{name}": one for name in ("id", "ood", "deep")}
    return xr.Dataset(
        {name: (dims, value) for name, value in values.items()},
        {"decoder": [*found], "seed": [0, 1, 2]},
    )


def errors(name: str, reading: dict) -> float:
    """VNs fail by a readout that is trained with the atoms."""
    if name in composition.VN:
        return 1e-1 if reading["readout"] == "trained" else 1e-6
    return {"cnn": 1e-1, "mlp": 1e-1, "factorised": 1e-4, "factorised_default": 1e-3}[name]


def asked(name: str, error=errors) -> xr.Dataset:
    one = STATEMENTS[name]
    return curve(one, composition.gathered(runs(error), one.choices))


def test_every_reading_that_is_asked_was_trained():
    made = composition.decoders(OPTIONS)
    assert len(made) == 16 * 2 + 4 * 4
    for one in STATEMENTS.values():
        there = composition.gathered(runs(errors), one.choices)["trained"].values
        assert {*trained(one)} <= {*there}


def test_the_choice_that_makes_the_error_is_found():
    found = asked("VN-F2c strongest ID")
    assert not found["missing"].values.any()
    assert next(iter(deciding(found))) == "readout" and shares(found)["right"] == 0.5


def test_the_cnn_loses_by_its_ratio_and_not_by_a_zero_image():
    found = asked("VN-F2c CNN loses")
    right = found["margin"].values > 0
    by_ratio = np.array(["10 or more" in words for words in found["choice_loss"].values])
    assert right[by_ratio].all() and not right[~by_ratio].any()
    assert (asked("VN-F2c CNN loses", lambda *_: 30.0)["verdict"] == "not testable").all()


def test_the_factorised_decoder_keeps_a_ratio_of_one():
    found = asked("VN-F2c factorised keeps")
    everywhere = found["choice_places"].values == "all of them"
    assert np.allclose(found["margin"].values[everywhere], np.log(3))
    assert np.allclose(found["margin"].values[~everywhere], np.log(1.5))


@pytest.mark.parametrize(("which", "error"), [("best", 1e-6), ("vn_plane", 1e-4)])
def test_the_best_network_is_the_one_with_the_least_id_error(which, error):
    def one(name: str, reading: dict) -> float:
        return 1e-4 if name == "vn_plane" else errors(name, reading | {"readout": "fitted"})

    statement = STATEMENTS["VN-F2c strongest ID"]
    results = Arrays(composition.gathered(runs(one), statement.choices).isel(trained=0))
    reading = next(r for r in readings(statement) if r["which"] == which)
    assert float(composition.own(results, "id", reading)) == pytest.approx(error)
