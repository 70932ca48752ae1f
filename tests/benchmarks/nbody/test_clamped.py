"""Vector Networks whose atoms hold accelerations beside states."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.nbody import measure
from benchmarks.nbody.bodies import scales_of
from benchmarks.nbody.clamped import Clamped, clamped_network
from benchmarks.nbody.codes import Reading
from vnlib.fit import Training
from vnlib.network import VectorNetwork, VNConfig
from vnlib.settle.coordinate import coordinate_descent

OPTIONS = {"reading": "gated", "atoms": [48], "sparsity": [0.05], "samples": 400}


@pytest.fixture(scope="module")
def parts():
    data = measure.states(n_train=20, n_val=6, n_test=2)
    return {name: measure.samples(measure.split(data, name)) for name in ("train", "val")}


def trained(parts, **options):
    training = Training(1e-3, 0, 64, 0, Path())
    return clamped_network(parts["train"], parts["val"], training, **OPTIONS | options)


@pytest.mark.parametrize("weight", [1.0, 0.5])
def test_predicted_is_what_the_code_of_the_state_alone_says(parts, weight):
    """The oracle: a lasso on the rows of the state, read by the rows of the acceleration."""
    reading = Reading("gated", scales_of(parts["train"]))
    network = VectorNetwork(VNConfig(n_inputs=90, atoms=(60,), sparsity=(0.1,)), seed=3)
    bodies = parts["val"].bodies
    (kind,) = reading(bodies)
    V = network.V[0].double()
    code, *_ = coordinate_descent(V[:88], kind.x.double(), sparsity=0.1, tol=1e-12, max_passes=5000)
    wanted = torch.zeros(len(bodies.position) * 5, 2).double()
    wanted[kind.body] = code @ V[88:].T * reading.scales.acceleration / weight
    found = Clamped(network, reading, weight).predict(bodies)
    assert found.abs().max() > 0
    scale = reading.scales.acceleration
    np.testing.assert_allclose(found.flatten(0, 1) / scale, wanted / scale, atol=1e-5)


def test_it_learns_what_is_linear_in_the_state_from_the_local_rule_alone(parts):
    def error(model):
        return measure.relative_errors(model.predict, parts["val"])

    model = trained(parts)
    again = trained(parts)
    laws = dict(zip(("gravity", "spring", "drag", "lorentz"), error(model).tolist(), strict=True))
    assert laws["lorentz"] < 0.4 and laws["drag"] < 0.7 < laws["gravity"]
    assert torch.equal(model.predict(parts["val"].bodies), again.predict(parts["val"].bodies))
    assert 0 < model.facts["active"] < 48 and model.facts["parameters"] == 90 * 48


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"reading": "token"}, "reading must be"),
        ({"weight": 0.0}, "weight must be"),
        ({"atoms": [8, 4]}, "atoms must have one entry"),
        ({"sparsity": []}, "sparsity must have one entry"),
        ({"atoms": [500]}, "atoms must be"),
        ({"samples": 0}, "samples must be"),
    ],
    ids=str,
)
def test_bad_options_are_refused_by_name(parts, options, said):
    with pytest.raises(ValueError, match=said):
        trained(parts, **options)
