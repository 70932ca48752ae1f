"""Two tasks in turn: what they are, what learning them says of every model, a whole run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from chapters.A_predictive_coding import measure, study
from chapters.A_predictive_coding.models import MODELS, Sizes
from vnlib.book import chapter, paths, store
from vnlib.book.store.variables import described
from vnlib.fit import FitConfig

SIZES = {
    "n_inputs": 16,
    "units": [10, 5],
    "interface": 6,
    "sparsity": [0.3, 0.1],
    "prior": 0.2,
    "feedback": 0.1,
    "discriminative": 1.0,
    "revive_after": 3,
    "steps": [10, 40],
    "settle": {"tol": 1e-4},
}
CONFIG = FitConfig(steps=6, batch_size=8, eval_every=6)
LEARNED = [name for name in MODELS if name not in ("vn_untrained", "vn_random")]
SETTINGS = {
    "data_seed": 0,
    "pool": 7,
    "n_train": 20,
    "n_val": 5,
    "n_test": 10,
    "lrs": [0.01],
    "steps": 2,
    "batch_size": 8,
    "lr_floor": 0.1,
    "sizes": SIZES,
}


def rand(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed))


def two_tasks(pair: str = "digits") -> tuple[study.Task, study.Task]:
    both = study.tasks(pair, rand(200, 4, 4), torch.arange(200) % 10)
    return tuple(study.Task(x[:24], x[24:32], x[32:100]) for x in both)


def compared(name: str, pair: str = "digits", *, seed: int = 0, **options: object):
    options = {"lrs": (0.003, 0.03), "config": CONFIG} | options
    return study.compare(name, Sizes(**SIZES), two_tasks(pair), **options, seed=seed)


def test_tasks_are_what_they_are_called():
    images, labels = rand(60, 4, 6) + 0.1, torch.arange(60) % 10
    low, high = study.tasks("digits", images, labels)
    assert torch.equal(low, images[labels < 5].flatten(1)) and torch.equal(
        high, images[labels >= 5].flatten(1)
    )
    left, right = study.tasks("halves", images, labels)
    assert not ((left != 0).any(0) & (right != 0).any(0)).any(), "no pixel is shared"
    assert torch.equal((left != 0).any(0).reshape(4, 6)[0], torch.tensor([True] * 3 + [False] * 3))
    plain, permuted = study.tasks("permuted", images, labels)
    assert torch.equal(plain, images[0::2].flatten(1)) and not torch.equal(
        permuted, images[1::2].flatten(1)
    )
    assert torch.equal(permuted.sort(1).values, images[1::2].flatten(1).sort(1).values)
    assert {
        len(t) for pair in study.PAIRS for t in study.tasks(pair, images[:-3], labels[:-3])
    } <= {27, 28}
    with pytest.raises(
        ValueError, match=r"pair must be one of 'digits', 'permuted', 'halves', got 'colours'"
    ):
        study.tasks("colours", images, labels)


@pytest.mark.parametrize("name", MODELS)
def test_compare_says_the_same_of_every_model(name):
    r = compared(name)
    mse = r["mse"]
    assert mse.dims == ("stage", "task") and list(r["stage"].values) == list(study.STAGES)
    assert np.isfinite(mse).all() and np.isfinite(r["mse_from_top"]).all()
    first, second, stayed = (float(mse.sel(stage=s, task=1)) for s in ("first", "second", "stayed"))
    assert float(r["forgetting"]) == pytest.approx(second / first - 1)
    assert float(r["interference"]) == pytest.approx(second / stayed - 1)
    assert float(r["rise"]) == pytest.approx(second - stayed)
    assert float(r["final_error"]) == pytest.approx(float(mse.sel(stage="second").mean()))
    assert (
        r["touched"].shape == (len(measure.BATCHES),)
        and (r["touched"].diff("batch") >= -1e-7).all()
    )
    if name in LEARNED:
        assert float(r["lr"]) == (0.003, 0.03)[int(r["validation"].argmin("candidate"))]
        assert float(mse.sel(stage="first", task=1)) < float(mse.sel(stage="before", task=1))
        assert 0 < float(r["moved"]) <= 1
    else:
        assert (mse == mse.isel(stage=0)).all() and np.isnan(r["lr"]) and np.isnan(r["moved"])


def test_compare_is_a_function_of_its_seed():
    one, same, other = (compared("bpc", seed=s, lrs=(0.01,)) for s in (3, 3, 4))
    assert one.identical(same) and not one["mse"].equals(other["mse"])


def opened(profile: str = "smoke", **given: object) -> chapter.Chapter:
    spec = chapter.spec("A_predictive_coding")
    return chapter.Chapter(spec, spec.check({"profile": profile, "device": "cpu", **given}))


def test_a_run_is_one_model_on_one_pair_and_all_it_holds_has_a_name_and_units():
    axes = {"model": "vn", "pair": "halves", "seed": 0}
    one = study.run(opened(), axes, SETTINGS, Path())
    assert one["n_learned"] == 20 and one.sizes["sample"] == 10
    assert one["code"].sizes["unit"] == 10 and one["down_error"].sizes["pixel"] == 16
    named = described(one, study.VARIABLES)
    assert all(v.attrs["long_name"] for v in named.variables.values())


def test_the_settings_of_the_chapter_are_those_of_the_shipped_runs():
    shipped = store.read(paths.RESULTS / "paper" / "A_predictive_coding.nc")
    for model in MODELS:
        texts = set(shipped["run_settings"].sel(model=model).values.flat)
        assert texts == {store.netcdf.to_json(study.settings(opened("paper"), {"model": model}))}
    changed = opened("paper", sparsity=0.5, discriminative=0.25)
    sizes = study.settings(changed, {"model": "bpc"})["sizes"]
    assert sizes["sparsity"] == [0.5, 0.05] and sizes["discriminative"] == 0.25


def test_twice_the_updates_is_all_that_is_other():
    own = study.settings(opened("paper"), {"model": "pc"})
    longer = study.twice(own)
    assert longer == own | {"steps": 2 * own["steps"]}
