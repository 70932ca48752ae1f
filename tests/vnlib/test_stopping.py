"""Each stopping rule at numbers that are known; the presets; and that a settle does as its rule says."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import pytest
import torch

from vnlib.layer import Layer
from vnlib.prox import L0, L1
from vnlib.settle import SettleConfig, Settler, SettleWarning, Stop, stopping
from vnlib.settle.stopping import DualityGap, EnergyStall, Look, Sweeps


def look(sweep: int, since: int = 1, *, before, energy, moved=True, gap=None) -> Look:
    """Samples by their energies; where a rule must not ask for the gap, there is none."""

    def gaps() -> torch.Tensor:
        assert gap is not None, "the gap was computed"
        return torch.tensor(gap)

    return Look(sweep, since, torch.tensor(energy), torch.tensor(before), moved, gaps)


def test_an_energy_stalls_where_it_falls_by_less_than_tol_per_sweep():
    seen = look(9, before=[8.0, 8.0, 8.0, 8.0], energy=[7.0, 7.5, 8.5, 9.5])
    assert EnergyStall(tol=1 / 16).settled(seen).tolist() == [False, True, True, False]
    # Of two sweeps twice as much may be left.
    assert EnergyStall(tol=1 / 16).settled(replace(seen, since=2)).tolist() == [
        True,
        True,
        True,
        False,
    ]
    assert EnergyStall(tol=0.0).settled(look(9, before=[1.0, 1.0], energy=[1.0, 0.5])).tolist() == [
        True,
        False,
    ]


def test_a_step_that_was_taken_back_is_no_stall():
    seen = look(9, before=[1.0, 1.0], energy=[1.0, 1.0], moved=torch.tensor([True, False]))
    assert EnergyStall(tol=0.1).settled(seen).tolist() == [True, False]


@pytest.mark.parametrize(
    ("cap_from", "sweep", "silent"),
    [(0, 1, True), (0, 2, False), (5, 5, True), (5, 6, True), (5, 7, False)],
)
def test_a_stall_counts_after_the_cap_was_in_force_for_a_sweep(cap_from, sweep, silent):
    found = EnergyStall(0.1, cap_from).settled(look(sweep, before=[1.0], energy=[1.0]))
    assert found.tolist() == [not silent]


def test_a_gap_is_closed_at_its_share_of_the_energy():
    seen = look(1, before=[9.0, 9.0, 9.0], energy=[4.0, 4.0, 4.0], gap=[0.9, 1.0, 1.1])
    assert DualityGap(tol=0.25).settled(seen).tolist() == [True, True, False]


def test_all_sweeps_means_all():
    seen = look(50, before=[1.0, 0.0], energy=[1.0, 0.0])
    assert Sweeps().settled(seen).tolist() == [False, False]


@pytest.mark.parametrize("kind", [EnergyStall, DualityGap])
@pytest.mark.parametrize("tol", [-1e-9, math.nan, math.inf, "0.1", None, True])
def test_a_tolerance_is_a_number_that_is_not_negative(kind, tol):
    with pytest.raises(ValueError, match="tol must be a finite number >= 0"):
        kind(tol)


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (("energy", 0.1, 3), EnergyStall(0.1, 3)),
        (("gap", 0.1, 3), DualityGap(0.1)),
        (("energy", 0), Sweeps()),
        (("gap", 0.0), Sweeps()),
    ],
)
def test_rules_have_names(given, made):
    assert stopping.rule(*given) == made


@pytest.mark.parametrize("name", stopping.CRITERIA)
def test_a_name_makes_its_own_rule(name):
    assert type(stopping.rule(name, 0.5)) is stopping.CRITERIA[name]


def test_what_is_no_rule_is_refused():
    with pytest.raises(ValueError, match=r"criterion must be one of 'energy', 'gap',.* got 'kkt'"):
        stopping.rule("kkt", 0.1)
    with pytest.raises(ValueError, match="tol must be"):
        stopping.rule("gap", None)


def test_a_gap_is_known_for_convex_layers_with_an_energy():
    V = torch.eye(3)
    with pytest.raises(ValueError, match="use 'energy'"):
        DualityGap.check([], has_energy=False)
    with pytest.raises(ValueError, match="layer 2 has L0"):
        DualityGap.check([Layer(V, V, L1(sparsity=0.1)), Layer(V, None, L0(sparsity=0.1))], True)
    EnergyStall.check([Layer(V, None, L0(sparsity=0.1))], has_energy=False)


def test_reasons_say_which_rule_it_was_and_what_to_do():
    both = torch.tensor([True, False])
    assert stopping.reasons("gap", both) == [Stop.GAP, Stop.MAX_SWEEPS]
    assert stopping.reasons("energy", both) == [Stop.CONVERGED, Stop.MAX_SWEEPS]
    rounded = torch.tensor([True, True])
    assert stopping.reasons("gap", rounded, ~both) == [Stop.GAP, Stop.ROUNDING]
    assert "raise it" in Stop.MAX_SWEEPS.value


def test_who_has_not_settled_is_counted_once():
    both = torch.tensor([True, False, False])
    with pytest.warns(SettleWarning, match="2 of 3 samples .* tol=0.5 in max_sweeps=7") as found:
        stopping.warn(both, 0.5, 7)
    assert len(found) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stopping.warn(both, 0.0, 7)  # all sweeps were asked for
        stopping.warn(both[:1], 0.5, 7)
        stopping.warn(both[:0], 0.5, 7)


@pytest.mark.parametrize("criterion", ["energy", "gap"])
def test_a_settle_stops_by_the_rule_of_its_configuration(criterion, monkeypatch):
    """The rules are all that stops it: with one that lets samples go in turn, they go in turn."""

    def in_turn(self, seen):
        return torch.arange(len(seen.energy)) < 1  # the first of those that are left

    monkeypatch.setattr(stopping.CRITERIA[criterion], "settled", in_turn)
    V = torch.linalg.qr(torch.randn(6, 6, generator=torch.Generator().manual_seed(0))).Q
    settler = Settler(
        [Layer(V, None, L1(sparsity=0.1))],
        config=SettleConfig.momentum(criterion=criterion, max_sweeps=3),
    )
    with pytest.warns(SettleWarning, match="1 of 4 samples have not settled"):
        settled = settler(torch.ones(4, 6))
    assert settled.sweeps.tolist() == [1, 2, 3, 3]
    assert settled.converged.tolist() == [True, True, True, False]


# --- presets ---


def test_presets_are_what_they_say_and_can_be_overruled():
    exact, deep = SettleConfig.exact(), SettleConfig.deep()
    assert (exact.method, exact.rule, exact.max_sweeps) == ("cd", DualityGap(1e-3), 300)
    assert (deep.method, deep.rule, deep.check_every) == ("line_search", EnergyStall(1e-4), 5)
    assert SettleConfig.momentum() == replace(
        SettleConfig(), method="restart", criterion="energy", tol=1e-5
    )
    few = SettleConfig.training(max_sweeps=7)
    assert (few.method, few.rule, few.max_sweeps) == ("restart", Sweeps(), 7)
    assert SettleConfig.deep(tol=1e-6, mix=0.5) == replace(deep, tol=1e-6, mix=0.5)
    assert SettleConfig.exact(method="restart") == replace(exact, method="restart")


def test_a_preset_refuses_what_no_settle_takes():
    with pytest.raises(ValueError, match="max_sweeps must be"):
        SettleConfig.training(max_sweeps=0)
    with pytest.raises(TypeError, match="tolerance"):
        SettleConfig.deep(tolerance=1e-3)
