"""Signatures of failure: signals whose bands, lines and tails are known."""

from __future__ import annotations

import math

import pytest
import torch

from chapters.fig3_functions import signatures

N = 512
T = (torch.arange(N, dtype=torch.float64) + 0.5) / N


def wave(*cycles: float) -> torch.Tensor:
    """A sum of cosines, each one amplitude of the transform, as one signal."""
    return sum(torch.cos(2 * math.pi * c * T) for c in cycles)[None]


def shown(hidden: int, n: int = 1) -> torch.Tensor:
    return (torch.arange(N) < N - hidden).expand(n, N)


def test_spectrum_keeps_power_and_finds_the_frequency():
    x = torch.randn(3, N, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    amplitude, frequency = signatures.spectrum(x)
    torch.testing.assert_close(amplitude.square().sum(1), x.square().mean(1))
    amplitude, _ = signatures.spectrum(wave(7))
    assert frequency[amplitude[0].abs().argmax()] == 7
    torch.testing.assert_close(amplitude[0].square().max(), torch.tensor(0.5, dtype=torch.float64))


def test_a_ramp_has_no_power_in_high_bands():
    """The periodic transform of a ramp would put 3 % of its power above 20 cycles."""
    power = signatures.bands((2 * T - 1)[None], (2 * T - 1)[None])["band_power"]
    assert power[-1] / power.sum() < 1e-5


def test_a_low_pass_keeps_exactly_the_low_bands():
    x, low = wave(1, 4, 8, 15, 40) + 0.5, wave(1, 4) + 0.5
    found = signatures.bands(x, low)
    wanted = torch.tensor([1.0, 1, 1, 0, 0, 0], dtype=torch.float64)
    for name in ("band_kept", "band_gain"):
        torch.testing.assert_close(found[name], wanted, atol=1e-10, rtol=0)
    torch.testing.assert_close(found["band_missed"], 1 - wanted, atol=1e-10, rtol=0)
    torch.testing.assert_close(
        found["band_power"][:2], torch.tensor([0.25, 0.5], dtype=torch.float64)
    )


def test_missed_power_sums_to_the_squared_error():
    rng = torch.Generator().manual_seed(1)
    x, other = torch.randn(2, 5, 100, generator=rng)
    found = signatures.bands(x, other)
    assert float((found["band_missed"] * found["band_power"]).nansum()) == pytest.approx(
        float((x - other).square().mean()), rel=1e-5
    )


def test_edges_belong_to_the_band_below_and_the_wrong_sign_has_negative_gain():
    for cycles, band in ((0.5, 1), (2, 1), (2.5, 2), (5, 2), (10, 3), (20, 4), (20.5, 5)):
        found = signatures.bands(wave(cycles), -wave(cycles))
        assert int(found["band_power"].argmax()) == band
        assert float(found["band_gain"][band]) == pytest.approx(-1)
        assert float(found["band_missed"][band]) == pytest.approx(4)


def test_a_constant_has_no_spread_and_a_line_no_bend():
    x = wave(1.5) + T
    constant, line = torch.full_like(x, 0.7), (0.3 - 2 * T)[None]
    assert float(signatures.collapse(x, constant)["spread"]) == pytest.approx(0, abs=1e-12)
    assert float(signatures.collapse(x, constant)["correlation"]) == 0
    found = signatures.collapse(x, line)
    assert float(found["bend"]) == pytest.approx(0, abs=1e-12)
    assert float(found["spread"]) > 0.1
    perfect = signatures.collapse(torch.cat([x, -x]), torch.cat([x, -x]))
    assert all(float(value) == pytest.approx(1) for value in perfect.values())


def test_one_drawing_for_all_has_no_variety():
    x = torch.cat([wave(1), wave(2), wave(3)])
    assert float(signatures.collapse(x, wave(1).expand(3, N))["variety"]) == pytest.approx(
        0, abs=1e-12
    )


def test_half_the_size_has_a_quarter_of_the_spread_and_full_correlation():
    found = signatures.collapse(wave(1), 0.5 * wave(1) + 3)
    assert float(found["spread"]) == pytest.approx(0.25)
    assert float(found["correlation"]) == pytest.approx(1)


def test_a_zero_tail_has_power_0_and_the_error_of_the_zero_prediction():
    x, seen = wave(4), shown(128)
    found = signatures.hidden_run(x, torch.where(seen, x, 0), seen)
    assert float(found["tail_power"]) == 0
    assert float(found["seen_error"]) == 0
    torch.testing.assert_close(found["tail_error"], found["tail_truth"])
    assert float(found["tail_growth"]) == pytest.approx(0, abs=1e-10)
    assert float(found["tail_jump"]) == pytest.approx(float(x[0, 383] ** 2))


def test_a_drifting_tail_has_growth_and_no_jump():
    x, seen = torch.ones(2, N), shown(256, 2)
    drift = 1 + torch.linspace(0, 1, 256)
    filled = torch.cat([x[:, :256], drift.expand(2, 256)], 1)
    found = signatures.hidden_run(x, filled, seen)
    place = torch.linspace(0, 1, 256).square().reshape(8, 32).mean(1)
    torch.testing.assert_close(found["tail_error"].float(), place)
    # the slope of a parabola through 0 and 1
    assert float(found["tail_growth"]) == pytest.approx(1, rel=0.02)
    assert float(found["tail_jump"]) == 0


def test_runs_begin_where_each_signal_hides_them():
    x = torch.arange(2 * N, dtype=torch.float64).reshape(2, N)
    seen = torch.ones(2, N, dtype=torch.bool)
    seen[0, 0:64], seen[1, 100:164] = False, False
    found = signatures.hidden_run(x, torch.where(seen, x, x + 2), seen)
    torch.testing.assert_close(found["tail_error"], torch.full((8,), 4.0, dtype=torch.float64))
    # only the second has a sample before its run: 1 + 2
    assert float(found["tail_jump"]) == pytest.approx(9)
    truth = torch.stack([x[0, :8], x[1, 100:108]]).square().mean()
    torch.testing.assert_close(found["tail_truth"][0], truth)


def test_a_dataset_holds_the_dimensions_and_is_small():
    x = torch.randn(4, N, generator=torch.Generator().manual_seed(0))
    whole = signatures.dataset(signatures.bands(x, 0.5 * x) | signatures.collapse(x, 0.5 * x))
    assert dict(whole.sizes) == {"band": 6} and whole["band_kept"].dims == ("band",)
    assert float(whole["band_kept"].sel(band="10-20")) == pytest.approx(0.25)
    tail = signatures.dataset(signatures.hidden_run(x, x, shown(128, 4)))
    assert dict(tail.sizes) == {"place": 8} and float(tail["tail_power"]) == pytest.approx(1)


@pytest.mark.parametrize(
    ("seen", "message"),
    [
        (torch.ones(2, N, dtype=torch.bool), "shown must hide one run"),
        (torch.arange(N).expand(2, N) % 2 == 0, "shown must hide one run"),
        (shown(4, 2), "at least 8 samples, got 4"),
        (torch.ones(2, 5, dtype=torch.bool), "shown must have the shape of x"),
    ],
)
def test_bad_masks(seen: torch.Tensor, message: str):
    with pytest.raises(ValueError, match=message):
        signatures.hidden_run(torch.zeros(2, N), torch.zeros(2, N), seen)


@pytest.mark.parametrize("measure", [signatures.bands, signatures.collapse])
def test_bad_drawings(measure):
    with pytest.raises(ValueError, match="drawn must have the shape of x"):
        measure(torch.zeros(2, N), torch.zeros(2, 5))
