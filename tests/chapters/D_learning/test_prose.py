"""What the page says between its numbers holds for the shipped results."""

from __future__ import annotations

import pytest
from glued import number, numbers

from chapters.D_learning import tables
from vnlib.book import paths, store
from vnlib.plots.statistics import median, short


@pytest.fixture(scope="module")
def shipped():
    return store.read(paths.RESULTS / "paper" / "D_learning.nc")


@pytest.fixture(scope="module")
def said(shipped) -> dict[str, float]:
    return numbers(tables.numbers(shipped))


def test_idle_atoms_get_an_update_of_exactly_zero(shipped, said):
    assert float(shipped["local_idle_direction"].max()) == 0
    assert said["appD-idle-1"] > 50 and said["appD-idle-256"] == 0


def test_the_mask_saves_no_error(said):
    assert abs(said["appD-mask"]) < 5


def test_updates_overlap_far_less_than_in_autoencoders_as_trained_and_whitening_nearly_does(
    shipped, said
):
    cosine = median(abs(shipped["meet_pair_cosine"]).median("pair"))
    vn, linear, white, relu = (
        float(cosine.sel(model=name)) for name in (tables.main_network(shipped), *tables.DENSE)
    )
    assert said["appD-cosine-vn"] == number(short(vn))
    assert vn < linear / 4 and vn < relu / 20 and vn < white < 1.4 * vn


def test_whitened_codes_hurt_others_less_often(shipped):
    hurt = median((shipped["passed_on"] < 0).mean("arrow"))
    assert float(hurt.sel(stepped="whitened")) < float(hurt.sel(stepped="VN 0.2"))


def test_redrawing_revives_nine_in_ten(said):
    assert said["appD-dead-plain"] == pytest.approx(90, abs=2) and said["appD-dead-redrawn"] == 0


def test_decorrelation_takes_more_atoms_and_dc_removal_costs_error(shipped):
    active, error = (median(shipped[f"upkeep_{name}"]) for name in ("active", "mse"))
    more = active.sel(variant="decorrelated") / active.sel(variant="as it is")
    assert float(more.min()) > 1.3
    costs = error / error.sel(variant="as it is")
    plain, centred = (
        costs.sel(variant=name) for name in ("DC removed", "DC removed, centred data")
    )
    assert float(plain.min()) > 1.5 and 1 < float(centred.mean()) < float(centred.max()) < 1.2


def test_the_energy_ranks_three_interfaces_backwards(said):
    rules = ("literal", "frozen", "subspace")
    errors, energies = ([said[f"appD-{key}-{r}"] for r in rules] for key in ("strict", "energy"))
    assert errors == sorted(errors, reverse=True) and energies == sorted(energies)
    assert errors[0] < said["appD-zero"]


def test_the_literal_rule_turns_the_message_away_from_the_code(shipped):
    captured = median(shipped["interface_captured"].sel(rule="literal"))
    assert float(captured.isel(stage=-1)) < 0.7 * float(captured.isel(stage=0))
