"""The rules of appendix F: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

import tomllib

import numpy as np
import pytest
import xarray as xr
from judging import failing, filled, judged

from vnlib.book import paths
from vnlib.book.ledger import NOT_TESTABLE, REPRODUCED

SIDECAR = tomllib.loads((paths.sidecar("F_spatial")).read_text(encoding="utf-8"))
MODELS, IDS = list(SIDECAR["models"]), SIDECAR["claims"]
ERRORS = {m: (1e-6, 2e-6) for m in MODELS}  # (ID, OOD error) of models of which every claim holds
ERRORS |= {m: (1e-4, 1e-2) for m in MODELS if m.startswith(("sae", "vae", "cnn", "mlp"))}
ERRORS |= {m: (ERRORS[m][0], 0.1 * ERRORS[m][1]) for m in MODELS if "fourier" in m}
ERRORS |= dict.fromkeys(("full", "full_sharp"), (1e-7, 2e-7))
ERRORS |= dict.fromkeys(("vn_1_8", "vn_rank_2", "vn_rank_3"), (5e-5, 9e-5))
ERRORS |= {"vn_1_16": (1e-4, 2e-4), "vn_2_16": (5e-6, 1e-5), "vn_2_8": (2e-6, 4e-6)}
ERRORS |= {"vn_3_16": (3e-6, 8e-6), "vn_3_8": (2e-6, 3e-6), "vn_3_mix": (5e-7, 1e-6)}
ERRORS |= {"vn_3_down": (1e-5, 2e-5), "factorised_ring": (1e-4, 2e-3)}


def results(**changes: tuple[float, float]) -> xr.Dataset:
    """Results of which every claim holds, under both protocols.

    changes: (ID, OOD error) of a model.
    """
    r = filled(
        {"model": MODELS},
        mse_id=(0, ""),
        mse_ood=(0, ""),
        stream_similarity=(0.99, ""),
        zero_baseline_ood=(1e-2, ""),
    )
    for model, errors in (ERRORS | changes).items():
        for name, error in zip(("mse_id", "mse_ood"), errors, strict=True):
            r[name].loc[{"model": model}] = error * np.array([0.9, 1.0, 1.1])
    return r


@pytest.mark.parametrize("claim", IDS)
def test_all_parts_can_hold(claim):
    row = judged(claim, results())
    assert row["verdict"] == row["verdict_controls"] == REPRODUCED and row["numbers"]


SAE = ("sae", "sae_one_hot", "sae_fourier14", "sae_fourier7", "sae_scalar")
EVEN = {name: (1e-4, 1e-2) for name in SAE} | {"sae_fourier7": (1e-4, 9e-3)}
CASES = [
    # claim, change (of errors of models, or of a variable), parts that fail as printed, and with controls
    ("VN-T1", ("stream_similarity", 0.8, {"model": "default_3"}), [0], []),
    ("VN-T1", ("stream_similarity", 0.8, {"model": "factorised_2"}), [], [0]),
    ("VN-T1", ("stream_similarity", 0.8, {"model": "vn_rank_3"}), [], [2]),
    ("VN-T1", {"default_2": (4e-7, 9e-7)}, [1], []),
    ("VN-T1", {"factorised_3": (4e-7, 9e-7)}, [], [1]),
    ("VN-T1", {"vn_rank_2": (4e-7, 9e-7)}, [], [3]),
    ("VN-T1", {"full": (1e-6, 3e-6)}, [2], [4]),
    ("VN-T1", {"factorised_care": (1e-8, 2e-8)}, [], [4]),
    ("VN-T2", {"vn_2_8": (1e-4, 1.5e-4)}, [0], [1, 2]),
    ("VN-T2", {"vn_2_8": (1e-4, 3e-4)}, [0, 1], [1, 2]),
    ("VN-T2", {"vn_2_16": (1e-4, 3e-4)}, [], [0]),
    ("VN-T2", {"vn_3_16": (1e-10, 2e-10)}, [], [0, 2]),
    ("VN-T2", {"vn_1_8": (1e-4, 3e-4)}, [], [2]),
    ("VN-T2", {"vn_3_mix": (1e-6, 3.5e-6)}, [2], [3]),
    ("VN-T2", {"vn_3_down": (1e-7, 2e-7)}, [], [4]),
    ("VN-T3", dict.fromkeys(("vn_1_fourier14", "vn_1_fourier7"), (9e-5, 9e-4)), [0], [0]),
    ("VN-T3", dict.fromkeys(("vae_low_fourier14", "vae_low_fourier7"), (1e-3, 2e-2)), [], [0]),
    ("VN-T3", EVEN, [1], [1]),
    ("VN-T3", {"vn_3_scalar": (1e-2, 1.1e-2)}, [], [2]),
    ("VN-T3", {"vn_3_one_hot": (1e-7, 1e-6)}, [2], [2]),
    ("VN-T4", {"full_sharp": (1e-7, 4e-7)}, [0], [0]),
    ("VN-T4", {"full_sharp": (9e-5, 2e-4)}, [0, 1], [0, 1, 2]),
    ("VN-T4", {"vn_2_sharp": (1e-8, 2e-8)}, [1], [1]),
    ("VN-T4", {"vn_3_sharp": (1e-8, 2e-8)}, [], [1]),
    ("VN-T4", {"factorised_sharp": (1e-8, 2e-8)}, [], [2]),
    ("VN-F-ann", {"full_ring": (1e-4, 2e-4)}, [0], [0]),
    ("VN-F-ann", {"cnn_ring": (4e-3, 1e-2)}, [1], [1]),
    ("VN-F-ann", {"cnn_ring": (1e-6, 1e-5)}, [], [1]),
    ("VN-F-ann", ("mse_ood", 2e-4, {"model": "cnn_ring", "seed": 1}), [], [1]),
    ("VN-F-ann", {"factorised_ring": (1e-6, 2e-6)}, [], [2]),
    ("VN-F-em", {"axis_loss": (1e-6, 4e-6)}, [0], [0]),
    ("VN-F-em", {"vn_1_8": (1e-4, 2e-4)}, [1], [1]),
    ("VN-F-em", {"full": (1e-6, 4e-6)}, [2], [2]),
    ("VN-F-em", {"flat": (1e-4, 1e-2)}, [], [3]),
    ("VN-F-ent", {"image_conv_32": (1e-4, 1e-2)}, [0], [0]),
    ("VN-F-ent", {"image_mlp": (1e-4, 1e-2)}, [1], [1]),
    ("VN-F-ent", {"image_vn": (1e-4, 1e-2)}, [2], [2]),
    ("VN-F-ent", {"image_vn": (1e-2, 1.1e-2)}, [], [2]),
]


@pytest.mark.parametrize(("claim", "change", "printed", "controls"), CASES)
def test_each_part_fails_where_it_should(claim, change, printed, controls):
    r = results(**change) if isinstance(change, dict) else results()
    if isinstance(change, tuple):
        name, value, where = change
        r[name].loc[where] = value
    assert failing(claim, r) == (printed, controls)


def test_medians_count_and_not_one_bad_seed():
    r = results()
    r["mse_ood"].loc[{"seed": 2, "model": ["full", "full_sharp", "axis_loss", "vn_3_mix"]}] = 1.0
    for claim in ("VN-T1", "VN-T2", "VN-T4", "VN-F-em"):
        assert failing(claim, r)[0] == []


@pytest.mark.parametrize("claim", IDS)
def test_a_model_that_lacks_makes_a_claim_not_testable(claim):
    row = judged(claim, results().sel(model=["sae", "cnn"]))
    assert row["verdict"] == NOT_TESTABLE and "the model(s)" in row["missing"]
