"""Runs in small, what decoders read, and which positions a seed has."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import xarray as xr

from benchmarks.spatial import operators
from chapters.best_positions import corners, decoders, study, wider
from vnlib.book import chapter
from vnlib.book.store.variables import described

SPEC = chapter.spec("best_positions")
SMALL = chapter.Chapter(SPEC, SPEC.check({"device": "cpu"}))
PAPER = chapter.Chapter(SPEC, SPEC.check({"profile": "paper", "device": "cpu"}))


@pytest.mark.parametrize(
    "model", ["operator", "operator_settled", "operator_imputed", "kernel", "neighbours", "vn_axes"]
)
def test_a_run_is_measured_on_all_sets(model, tmp_path):
    axes = {"task": "hidden", "model": model, "seed": 0}
    found = study.run(SMALL, axes, study.settings(SMALL, axes), tmp_path)
    named = described(found, study.VARIABLES)
    assert all(one.attrs["long_name"] for one in named.variables.values())
    for part in study.PARTS:
        assert found[f"mse_{part}"] > 0 and found[f"power_{part}"] > 0
    assert found["sample_image"].shape == (8, 8) and found["target_image"].max() > 0.1
    assert bool(found["late_gain"].isnull()) == (model != "vn_axes")


def test_a_run_is_the_same_to_the_bit(tmp_path):
    axes = {"task": "hidden", "model": "operator_settled", "seed": 0}
    settings = study.settings(SMALL, axes)
    one, again = (study.run(SMALL, axes, settings, tmp_path)["mse_ood"] for _ in range(2))
    assert float(one) == float(again)


def test_each_seed_has_positions_codes_and_noise_of_its_own():
    axes = {"task": "rotated_noise", "model": "operator"}
    one, other = (study.drawn(study.settings(PAPER, axes | {"seed": seed})) for seed in (0, 1))
    assert not np.isin(one["position_x"], other["position_x"]).any()
    again = study.drawn(study.settings(PAPER, axes | {"model": "cnn", "seed": 0}))
    assert one.identical(again), "all models have the same positions"


def test_tasks_that_name_models_have_those_alone():
    paper = study.taking_part(PAPER, "ring_100")
    assert paper == ["operator", "factorised", "broadcast", "cnn"]
    assert "operator_imputed" in study.taking_part(PAPER, "hidden")
    assert "operator_imputed" not in study.taking_part(PAPER, "plain")


def sample(count: int = 40, hidden: float = 0.0, seed: int = 0) -> decoders.Sample:
    rng = np.random.default_rng(seed)
    seen = rng.random((count, 8)) >= hidden
    codes = np.where(seen, rng.random((count, 8)), 0.0)
    return decoders.Sample(codes, seen, rng.random((count, 4, 4)))


def test_bits_of_what_is_seen_stand_beside_each_half():
    read = decoders._reading(sample(hidden=0.3), "given", {}, 0)
    one = sample(hidden=0.3)
    assert read[0].shape == (40, 16)
    np.testing.assert_array_equal(read[0][:, :4], one.codes[:, :4])
    np.testing.assert_array_equal(read[0][:, 4:8], one.observed[:, :4])
    np.testing.assert_array_equal(read[0][:, 12:], one.observed[:, 4:])


def test_the_link_undoes_tanh():
    one = sample()
    mixed = decoders.Sample(np.tanh(one.codes), one.observed, one.images)
    features, read, _ = decoders._reading(mixed, "linked", {}, 0)
    np.testing.assert_allclose(features, one.codes, atol=1e-12)
    assert np.isfinite(read(np.ones((1, 8)), one.observed[:1])).all(), "1 has no inverse"


def test_the_operator_by_back_propagation_has_the_form_of_the_closed_one():
    torch.manual_seed(0)
    net = decoders.OperatorDecoder(n_inputs=8, image_shape=(4, 4), terms=3)
    maps = [
        np.concatenate([m.weight.T.detach().numpy(), m.bias.detach().numpy()[None]]).reshape(
            9, 3, 4
        )
        for m in (net.rows, net.columns)
    ]
    one = sample(5)
    drawn = net(torch.from_numpy(one.codes).float()).detach().numpy()
    np.testing.assert_allclose(drawn, operators.Operator(*maps, 0.0)(one.codes), atol=1e-5)


def test_another_way_of_reading_is_refused(tmp_path):
    with pytest.raises(ValueError, match="reads must be one of 'given', 'linked'"):
        decoders.made(
            sample(), sample(), family="kernel", reads="twice", options={}, seed=0, workdir=tmp_path
        )


def test_wider_penalties_are_all_that_differs():
    axes = {"task": "noise", "model": "operator", "seed": 1}
    one, other = study.settings(PAPER, axes), wider.settings(PAPER, axes)
    options = other["training"]["options"]
    assert options["penalties"] == SPEC.sidecar["wider"]["penalties"]
    options["penalties"] = one["training"]["options"]["penalties"]
    assert one == other


def test_without_a_damaged_task_nothing_is_added():
    found = xr.Dataset(coords={"task": ["ring"], "model": ["operator"], "seed": [0]})
    assert not wider.results(SMALL, found).sizes


def test_wider_penalties_are_for_what_the_study_ran(tmp_path):
    given = SPEC.check({"device": "cpu", "results_dir": str(tmp_path)})
    found = xr.Dataset(coords={"task": ["hidden", "ring"], "model": ["kernel", "operator"]})
    more = wider.results(chapter.Chapter(SPEC, given), found)
    assert (more["task"].item(), more["model"].item()) == ("hidden", "operator")
    assert bool(more["mse_ood"].notnull().all())


def test_corners_are_parts_of_the_trained_region_that_share_no_position():
    settings = corners.settings(PAPER, {"task": "plain", "model": "operator", "seed": 0})
    data = study.drawn(settings)
    found = corners.corners(data, 16, settings["begin"])
    assert np.sum(found, axis=0).max() == 1 and all(one.any() for one in found)
    assert "ood" not in data["split"].values[np.any(found, axis=0)]
    for axis in ("position_x", "position_y"):
        out = data[axis].values[data["split"] == "ood"]
        for one in found:
            corner = data[axis].values[one]
            assert corner.max() < out.min() or corner.min() > out.max()


def test_each_corner_chooses_once_and_the_rest_is_a_run_of_the_study(monkeypatch, tmp_path):
    asked = []

    def making(train, validation, **how):
        asked.append((train.codes, validation.codes))
        facts = {"terms": [4, 1, 2, 3][len(asked) - 1], "penalty": 10.0 ** -len(asked)}
        return decoders.Decoder(lambda codes, observed: codes, facts)

    axes = {"task": "plain", "model": "operator", "seed": 0}
    settings = corners.settings(PAPER, axes)
    data = study.drawn(settings)
    train = data.isel(position=np.flatnonzero(data["split"] == "train"))
    codes = study.sample(data, "train").codes
    monkeypatch.setattr(corners, "made", making)
    told = []

    def running(chapter, axes, settings, workdir):
        told.append(settings["training"])
        return xr.Dataset({"mse_ood": 1.0})

    monkeypatch.setattr(study, "run", running)
    found = corners.run(PAPER, axes, settings, tmp_path)
    options = {"terms": 2, "penalties": [1e-3]}  # the lower of the two in the middle
    training = settings["training"]
    assert told == [training | {"options": training["options"] | options}]
    assert found["corner_terms"].values.tolist() == [4, 1, 2, 3] and found["mse_ood"] == 1
    assert len(asked) == 4
    for (rest, gap), corner in zip(asked, corners.corners(train, 16, 4.0), strict=True):
        np.testing.assert_array_equal(rest, codes[~corner])
        np.testing.assert_array_equal(gap, codes[corner])


def test_without_a_square_or_a_position_in_a_corner_no_corner_chooses(monkeypatch, tmp_path):
    with pytest.raises(ValueError, match="must hold out a square, got coordinates"):
        corners.settings(PAPER, {"task": "coordinates", "model": "operator", "seed": 0})
    settings = corners.settings(PAPER, {"task": "plain", "model": "operator", "seed": 0})
    with pytest.raises(ValueError, match="must reach a corner, got 2"):
        corners.choices(settings | {"begin": 8.0}, 0, tmp_path)


def test_corners_are_for_what_the_study_ran(tmp_path):
    given = SPEC.check({"device": "cpu", "results_dir": str(tmp_path)})
    found = xr.Dataset(coords={"task": ["share_60", "ring"], "model": ["kernel", "operator"]})
    gaps = corners.results(chapter.Chapter(SPEC, given), found)
    assert (gaps["task"].item(), gaps["model"].item()) == ("ring", "operator")
    assert bool(gaps["mse_ood"].notnull().all()) and gaps["fact_terms"].item() <= 2
    assert not corners.results(SMALL, found.sel(model=["kernel"])).sizes
