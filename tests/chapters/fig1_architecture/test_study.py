"""A small network on a few digits: its run, its settings, and what is measured of it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import xarray as xr

from chapters.fig1_architecture import measure, study
from vnlib.book.chapter import Chapter, spec
from vnlib.book.store.variables import described
from vnlib.network import VectorNetwork, VNConfig


def chapter(**parameters: object) -> Chapter:
    one = spec("fig1_architecture")
    return Chapter(one, one.check({"profile": "paper", "device": "cpu", **parameters}))


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> xr.Dataset:
    small = study.settings(chapter(profile="smoke", n_atoms=16))
    small |= {"n_train": 60, "n_val": 20, "n_test": 40, "n_ranks": 6, "steps": 2}
    small |= {"batch_size": 20, "shown_sweeps": 5, "shown_atoms": 4, "shown_pieces": 8}
    folder = tmp_path_factory.mktemp("run")
    found = study.run(chapter(profile="smoke"), {"seed": 0}, small, folder)
    return described(found, study.VARIABLES)


def test_a_run_reports_and_portrays(run):
    assert run["active"].sizes == {"digit": 6} and run["sum_mse"].sizes == {"pair": 20}
    assert run["atom"].sizes == {"atom_rank": 4, "y": 28, "x": 28}
    assert run["settle_active"].sizes == {"sweep": 5, "layer": 2}
    assert run["which"].values.tolist() == ["one", "other", "sum"]
    assert np.allclose(run["shown"][2], run["shown"][0] + run["shown"][1])
    assert run["explained"] == pytest.approx(1 - float(run["mse"] / run["zero_baseline"]))
    assert (run["rank"] <= run["active"]).all() and run["mse"].attrs["long_name"]


def test_pieces_are_the_largest_coefficients_and_nothing_beyond_the_active(run):
    code = run["piece_code"].values
    active = int(np.isfinite(code).sum())
    assert (np.diff(np.abs(code[:active])) <= 0).all()
    assert np.isnan(run["piece_v"][active:]).all()
    full = int((run["shown_code"].sel(which="one") != 0).sum())
    assert active == min(full, 8)


def test_settings_hold_the_network():
    found = study.settings(chapter())
    assert found["network"] == {
        "n_inputs": 784,
        "atoms": [512, 256],
        "interface": [256],
        "sparsity": [0.2, 0.07],
        "feedback": 0.1,
        "top_k": 32,
    }
    assert found["n_train"] == 55000 and not {"seeds", "atoms", "top_k"} & set(found)


def test_parameters_change_the_network():
    given = study.settings(chapter(n_atoms=40, sparsity=0.5, feedback=0.2))["network"]
    assert given["atoms"] == [40, 20] and given["interface"] == [40] and given["top_k"] == 20
    assert given["sparsity"] == [0.5, 0.07] and given["feedback"] == 0.2


def test_errors_of_both_readings_are_those_of_the_network():
    config = VNConfig(n_inputs=9, atoms=(6, 4), interface=(5,), sparsity=(0.05, 0.05))
    network = VectorNetwork(config, seed=0)
    x = torch.rand(8, 9, generator=torch.Generator().manual_seed(0))
    found, settled = measure.network_report(network, x, n_ranks=3), network.settle(x)
    expected = (network.reconstruct(settled) - x).square().mean()
    assert float(found["mse"]) == pytest.approx(float(expected))
    support = settled.codes[0] != 0
    assert found["active"].values.tolist() == support.sum(1)[:3].tolist()
    union, both = (support[0] | support[1]).sum(), (support[0] & support[1]).sum()
    assert float(found["pair_overlap"][0]) == pytest.approx(float(both / union))


def test_components_leave_what_lies_outside_their_subspace():
    train = torch.randn(40, 6, generator=torch.Generator().manual_seed(0))
    train[:, 2:] = 0
    assert measure.pca_error(train, train, 2) == pytest.approx(0, abs=1e-10)
    assert measure.pca_error(train, train + torch.eye(6)[3], 2) == pytest.approx(1 / 6, rel=1e-4)
    with pytest.raises(ValueError, match="n_components must be an integer >= 1 and <= 6"):
        measure.pca_error(train, train, 7)
