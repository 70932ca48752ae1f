"""What the words between the numbers of the page claim, on the shipped results."""

from __future__ import annotations

import pytest
import xarray as xr

from chapters.beyond_continual import tables
from chapters.beyond_continual.figures import final, forgotten, models_of
from vnlib.book import paths
from vnlib.plots.statistics import median


@pytest.fixture(scope="module")
def shipped() -> xr.Dataset:
    return xr.load_dataset(paths.RESULTS / "paper" / "beyond_continual.nc")


@pytest.fixture(scope="module")
def found(shipped) -> dict[str, float]:
    texts = tables.numbers(shipped)
    return {
        key.removeprefix("beyond-cont-"): float(text.replace(",", ""))
        for key, text in texts.items()
        if text.replace(",", "").replace(".", "").replace("e-", "").isdigit()
    }


def test_vn_forgets_more_but_ends_lower(shipped, found):
    ratio = median(forgotten(shipped)).sel(stream="sequence")
    autoencoders = ["ae", "ae_long", "ksparse_linear", "ksparse_linear_long"]
    assert found["vn-1-forgotten"] > float(ratio.sel(model=autoencoders).max())
    assert found["vn-1-end"] < found["ae-end"] and found["vn-1-end"] < found["ksparse-linear-end"]


def test_it_loses_least_against_all_mixed(found):
    lost = {m: found[f"{m}-end"] / found[f"{m}-joint"] for m in ("ae-long", "ksparse-linear-long")}
    assert found["vn-1-end"] / found["vn-1-joint"] < min(lost.values())


def test_added_atoms_help_only_if_old_ones_rest(found):
    assert found["vn-1-rest-end"] < found["vn-1-end"] < found["vn-1-grow-end"]
    assert found["vn-1-rest-forgotten"] <= 1, "nothing is forgotten"
    assert found["vn-1-rest-end"] == pytest.approx(found["vn-1-joint"], rel=0.1)


def test_sparse_codes_do_not_keep_digits_apart(found):
    assert found["vn-1-shared"] > max(found["ae-shared"], found["ksparse-linear-long-shared"])


def test_laws_are_kept_apart_by_tokens_and_local_updates(shipped, found):
    assert found["b-vn-token-forgotten"] == pytest.approx(1, abs=0.01)
    assert min(found["b-mlp-forgotten"], found["b-token-mlp-forgotten"]) > 100, "nearly all"
    assert found["b-token-mlp-replay"] < found["b-vn-token-replay"], "ahead with replay"
    in_turn = median(final(shipped)).sel(stream="sequence", model=models_of(shipped, "forces"))
    assert str(in_turn.idxmin("model").item()) == "b_vn_token"


def test_few_images(shipped):
    texts = tables.numbers(shipped)
    assert texts["beyond-cont-fewest-id"].startswith("PCA")
    assert texts["beyond-cont-fewest-add2"] == "VN-1L"
    errors = median(shipped["data_error"].sel(set="id"))
    assert bool((errors.sel(model="vn_1") < errors.sel(model="ae")).all()), "from any number"


def test_inference_is_slow_and_learned_starts_help_little(found):
    assert found["ratio"] > 10
    assert found["sweeps-lista"] > 0.75 * found["sweeps-cold"]
