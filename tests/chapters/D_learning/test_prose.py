"""What the page says between its numbers holds for the shipped results."""

from __future__ import annotations

import pytest
from glued import number, numbers

from chapters.D_learning import tables
from vnlib.book import paths, store
from vnlib.plots.statistics import median, over_seeds, short, sides


@pytest.fixture(scope="module")
def shipped():
    return store.read(paths.RESULTS / "paper" / "D_learning.nc")


@pytest.fixture(scope="module")
def said(shipped) -> dict[str, float]:
    return numbers(tables.numbers(shipped))


def test_idle_atoms_get_an_update_of_exactly_zero(shipped):
    assert float(shipped["local_idle_direction"].max()) == 0
    idle = over_seeds(shipped["local_idle"].sel(optimiser="masked Adam").mean("update"))
    assert idle["low"].sel(batch_size=1) > 0.5 and idle["high"].sel(batch_size=256) == 0


def test_nowhere_does_the_mask_save_more_than_a_few_per_cent(shipped):
    error = shipped["upkeep_mse"]
    ratio = over_seeds(error.sel(variant="without the mask") / error.sel(variant="as it is"))
    assert float(ratio["high"].max()) < 1.03 and float(ratio["low"].min()) > 0.95


def test_updates_overlap_less_than_in_autoencoders_and_whitening_nearly_does(shipped, said):
    cosine = abs(shipped["meet_pair_cosine"]).median("pair")
    vn = tables.main_network(shipped)
    assert vn == "VN 0.2"
    assert said["appD-cosine-vn"] == number(short(float(median(cosine.sel(model=vn)))))
    times = over_seeds(cosine / cosine.sel(model=vn))
    low, high = times["low"], times["high"]
    assert low.sel(model="linear") > 4 and low.sel(model="ReLU") > 20
    assert 1 < low.sel(model="whitened") < high.sel(model="whitened") < 1.6
    sparser = ["VN 0.1", "VN 0.2", "VN 0.4", "VN 0.8"]
    less = over_seeds(cosine.sel(model=sparser[1:]) / cosine.sel(model=sparser).shift(model=1))
    assert (less["high"] < 1).all(), "the sparser the less"
    assert float(shipped["meet_residual_cosine"].max()) < 0.06, "nearly orthogonal residuals"


def test_whitened_steps_hurt_least_often_and_those_of_the_vn_most_often_by_little(shipped):
    hurt = over_seeds((shipped["passed_on"] < 0).mean("arrow"))
    vn, white = hurt.sel(stepped="VN 0.2"), hurt.sel(stepped="whitened")
    others = hurt.sel(stepped=["linear", "ReLU"])
    assert white["high"] < others["low"].min() and others["high"].max() < vn["low"]
    assert vn["low"] > 0.5, "more often than they help"
    size = over_seeds(abs(shipped["passed_on"]).median("arrow"))
    dense = size["low"].sel(stepped=["linear", "whitened", "ReLU"])
    assert size["high"].sel(stepped="VN 0.2") < dense.min()


def test_redrawing_revives_nine_in_ten(said):
    assert said["appD-dead-plain"] == pytest.approx(90, abs=2) and said["appD-dead-redrawn"] == 0


def test_decorrelation_takes_more_atoms_and_dc_removal_costs_error(shipped, said):
    active, error = shipped["upkeep_active"], shipped["upkeep_mse"]
    more = over_seeds(active.sel(variant="decorrelated") / active.sel(variant="as it is"))
    assert float(more["low"].min()) > 1.3
    costs = over_seeds(error / error.sel(variant="as it is"))
    assert float(costs["high"].sel(variant="decorrelated").max()) < 1.1
    plain, centred = (
        costs.sel(variant=name) for name in ("DC removed", "DC removed, centred data")
    )
    assert float(plain["low"].min()) > 1.5 and float(centred["high"].max()) < 1.2
    sparse, other = (centred.isel(upkeep_sparsity=place) for place in (-1, 0))
    assert (sparse["median"] > 1.1).all() and float(other["high"].max()) < 1.1
    at_most = sparse["low"].isel(start=int(sparse["median"].argmax("start")))
    assert float(at_most) > 1.1 and said["appD-centred"] == 13, "more than the tenth that is asked"


def test_the_energy_ranks_interfaces_backwards(shipped, said):
    last = shipped.isel(stage=-1).sel(rule=["literal", "frozen", "subspace"])
    frozen = last.sel(rule="frozen")
    names = ("interface_energy", "interface_mse_from_top")
    energy, strict = (sides(last[name] / frozen[name]).values.tolist() for name in names)
    assert energy == [-1, 0, 1] and strict == [1, 0, -1]
    silent, others = shipped.isel(stage=-1).sel(rule="silent"), last
    assert (over_seeds(silent[names[0]] / others[names[0]])["median"] < 1).all()
    assert said["appD-strict-literal"] < said["appD-zero"]
    own = over_seeds(last["interface_mse"] / frozen["interface_mse"])
    assert own["high"].sel(rule="subspace") < 1.01


def test_the_literal_rule_turns_the_message_away_from_the_code_and_shrinks_it(shipped):
    literal = shipped.sel(rule="literal")
    for name, share in (("captured", 0.7), ("message", 0.9)):
        value = literal[f"interface_{name}"]
        assert over_seeds(value.isel(stage=-1) / value.isel(stage=0))["high"] < share


def test_each_dictionary_lowers_one_objective_and_raises_the_other(shipped):
    change = over_seeds(shipped["objective_change"])
    for moved in shipped["moved"].values:
        one = change.sel(moved=moved)
        assert float(one["low"].min()) < 0 < float(one["high"].max())


def test_with_twice_the_updates_the_printed_rule_leaves_more_than_three_times_the_error():
    late = store.read(paths.RESULTS / "paper" / "D_learning.longer.nc")[
        "longer_interface_mse_from_top"
    ]
    late = late.isel(stage=-1) if "stage" in late.dims else late
    assert over_seeds(late.sel(rule="literal") / late.sel(rule="frozen"))["low"] > 3
