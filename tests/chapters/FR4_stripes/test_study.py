"""One run of the chapter, at a tiny size, and the settings that are stored with it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from chapters.FR4_stripes import study
from data_gen import bumps
from vnlib.book import chapter
from vnlib.book.store.variables import described

DATA = {
    "grid": 12,
    "hold_out": "corner",
    "encoding": "bump",
    "polarity": "dark",
    "sigma": 1.0,
}
TRAINING = {
    "family": "factorised",
    "options": {"hidden": 8},
    "lr": 1e-2,
    "steps": 4,
    "batch_size": 16,
    "consolidation": 0,
}
GIVEN = {
    "data": DATA,
    "constant": 1.0,
    "training": TRAINING,
    "diets": ["stripes+0", "bumps+20", "stripes+1N"],
    "evaluations": 2,
    "units_shown": 2,
    "samples": [[9, 9]],
    "layers_of": ["bumps+20"],
}
AXES = {"model": "any", "seed": 0}


def opened(**given) -> chapter.Chapter:
    one = chapter.spec("FR4_stripes")
    return chapter.Chapter(one, one.check({"device": "cpu", **given}))


def test_a_run_repeats_to_the_bit_and_names_all_that_it_holds(tmp_path):
    one, two = (study.run(opened(), AXES, GIVEN, tmp_path / name) for name in "ab")
    assert one.identical(two)
    assert one["diet"].values.tolist() == GIVEN["diets"]
    assert one["items"].values.tolist() == [24, 20, 36]
    assert one["bumps"].values.tolist() == [0, 20, 12]
    assert one["curve_ood"].dims == ("diet", "checkpoint") and one["curve_ood"].notnull().all()
    assert one["picture"].dims == ("diet", "sample", "v", "u")
    only = one["tuning_rest"].sel(diet="stripes+0")
    assert np.isnan(only).all(), "only the diets asked for are looked into"
    input_units = one["responding"].sel(diet="bumps+20", layer="input")
    assert input_units == pytest.approx(24 / 26), "the two constants do not respond"
    named = described(one, study.VARIABLES)
    assert named["volume_rough"].attrs["units"] == "1/px"
    assert named["bump_hit_id"].attrs["long_name"].endswith("bump than a cross, id")


def test_stripes_alone_select_on_themselves(tmp_path, monkeypatch):
    seen = []

    class Still(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.unused = nn.Parameter(torch.zeros(1))

        def forward(self, x):
            return torch.zeros(len(x), 12, 12)

    def caught(train, held, **options):
        seen.append((train, held))
        return Still()

    monkeypatch.setattr(study, "train_decoder", caught)
    own = {"diets": ["stripes+0", "stripes+5"], "constant": 0.0, "samples": [], "layers_of": []}
    study.run(opened(), AXES, GIVEN | own, tmp_path)
    (train, held), (_, validation) = seen
    assert held is train
    kept = bumps.subset(study.datasets(0, split_seed=0, **DATA)[0], "val")
    assert np.array_equal(validation[0].numpy(), kept["code"].values), "held-out bumps"


@pytest.mark.parametrize(
    ("model", "seed", "wanted"),
    [
        ("cnn", 0, {"samples": [[5, 4], [20, 18], [16, 21]], "constant": 0.0}),
        ("cnn", 1, {"samples": []}),
        ("cnn_square", 0, {"layers_of": []}),
        ("cnn_longer", 1, {"layers_of": ["stripes+0", "stripes+100", "bumps+100", "bumps+all"]}),
        ("vn_axes_const", 0, {"constant": 1.0}),
        ("cnn", 5, {"diets": ["stripes+0"], "samples": []}),
    ],
)
def test_settings_are_those_that_are_stored(model, seed, wanted):
    found = study.settings(opened(profile="paper"), {"model": model, "seed": seed}, 0, False)
    assert {name: found[name] for name in wanted} == wanted


def test_a_candidate_is_laid_over_the_options_and_a_profile_scales_the_updates():
    paper = opened(profile="paper")
    joint = study.settings(paper, {"model": "vn_joint", "seed": 0}, 2, False)["training"]
    assert joint["options"]["sparsity"] == 0.02 and joint["options"]["n_atoms"] == 64
    ramp = study.settings(paper, {"model": "cnn_ramp", "seed": 0}, 1, False)
    assert ramp["training"]["lr"] == 3e-3 and ramp["training"]["steps"] == 2500
    assert ramp["data"] == {
        "grid": 28,
        "hold_out": "corner",
        "encoding": "ramp",
        "polarity": "dark",
        "sigma": 1.0,
    }
    smoke = study.settings(opened(), {"model": "vn_axes", "seed": 0}, 0, False)["training"]
    assert smoke["steps"] == round(0.03 * 210) and smoke["consolidation"] == round(0.03 * 1500)


def test_a_selecting_run_is_of_one_diet_and_keeps_no_pictures():
    found = study.settings(opened(profile="paper"), {"model": "cnn", "candidate": 1}, 1, True)
    assert found["diets"] == ["stripes+100"]
    assert found["samples"] == found["layers_of"] == []


def test_a_model_of_another_side_is_asked_how_much_it_needs(tmp_path):
    given = study.growth_settings(opened(profile="paper"), {"model": "side_16", "seed": 0})
    assert given["side"] == 16 and given["training"]["options"] == {"depth": 2, "width": 32}
    tiny = given | {"side": 12, "count": 2, "training": TRAINING | {"steps": 1}}
    one = study.run(opened(), AXES, tiny, tmp_path)
    assert set(one["need"].dims) == {"target", "region", "places", "kind", "measure"}
    described(one, study.VARIABLES)
