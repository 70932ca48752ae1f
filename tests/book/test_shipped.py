"""What ships in results/: from which code, and that no number that is missing decides a statement."""

from __future__ import annotations

import subprocess
from functools import cache

import missing_numbers
import numpy as np
import pytest
import xarray as xr

from book.site import ledger, statements
from vnlib.book import ledger as claims
from vnlib.book import paths, store

# Runs of code with uncommitted changes or of a revision that the history lost, on 2026-11-28. What is
# computed anew leaves this list; nothing may enter it.
UNCLEAN = {
    "C_inference.cuda": 3,
    "C_inference.layers": 12,
    "C_inference.pursuit": 2,
    "C_inference.speed": 8,
    "D_learning": 5,
    "FR1_failure": 152,
    "FR1_failure.readouts": 16,
    "FR2_manifold": 196,
    "FR2_manifold.untrained": 46,
    "J_cost": 1,
    "J_cost.runs": 5,
    "J_cost.scaling": 20,
    "beyond_initialiser": 20,
    "beyond_tasks": 2048,
    "fig5_mnist.selection": 54,
}


@cache
def history() -> set[str]:
    """All revisions of the history; nothing outside a whole clone."""
    git = ["git", "-C", str(paths.ROOT)]
    try:
        shallow = subprocess.check_output([*git, "rev-parse", "--is-shallow-repository"], text=True)
        if shallow.strip() == "true":
            return set()
        return set(subprocess.check_output([*git, "rev-list", "--all"], text=True).split())
    except (OSError, subprocess.CalledProcessError):
        return set()


def unclean(results: xr.Dataset, known: set[str]) -> int:
    """Runs that were not made from a revision of the history alone."""
    revision, dirty = (
        results[name].values.ravel() for name in ("run_git_revision", "run_git_dirty")
    )
    ran = revision != ""
    clean = np.isin(revision, [*known & {*revision}])
    return int((ran & ((dirty != 0) | ~clean)).sum())


@pytest.mark.parametrize(
    "file", sorted((paths.RESULTS / "paper").glob("*.nc")), ids=lambda f: f.stem
)
def test_shipped_runs_are_from_code_in_the_history_but_for_those_known(file):
    if not (known := history()):
        pytest.skip("this is no clone with its whole history")
    assert unclean(store.read(file), known) == UNCLEAN.get(file.stem, 0)


def test_a_run_is_unclean_if_its_code_was_changed_or_is_lost():
    runs = {"run_git_revision": ["a", "a", "b", ""], "run_git_dirty": [0.0, 1.0, 0.0, np.nan]}
    assert unclean(xr.Dataset({name: ("run", one) for name, one in runs.items()}), {"a"}) == 2


# A claim and a model without which one of its statements turned to its contrary before.
@pytest.mark.parametrize(
    ("claim", "model"),
    [
        ("VN-F3a", "deep_ae"),
        ("VN-F3b", "vn_dense"),
        ("VN-F3c", "exemplars"),
        ("VN-F4b", "factorized"),
        ("VN-F4c", "factorized"),
        ("VN-F4c", "rbf_tokens"),
        ("FR-1", "cnn_bump"),
        ("FR-2", "cnn_ramp_4"),
        ("FR-A", "cnn_ramp_6"),
        ("FR-3", "variance"),
        ("VN-Db", "VN 0.2"),
        ("VN-T2", "vn_3_8"),
        ("VN-F-ann", "cnn_ring"),
        ("VN-G3", "vn_1"),
        ("VN-H4", "factorized"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_model_without_numbers_decides_no_statement(claim, model):
    one = claims.all_claims()[claim]
    results = ledger.results_of(one, paths.RESULTS / "paper")
    assert missing_numbers.turned(one, claims.known(results), model) == []


def test_a_statement_that_turns_is_found():
    def decide(results: xr.Dataset) -> claims.Decision:
        least = results["x"].min("model")
        return claims.Decision([claims.Part("low", True, {}, (claims.Contrast(least, "<", 1.0),))])

    one = claims.Claim("C", "", "", "", "", decide)
    results = xr.Dataset({"x": (("model", "seed"), [[0.5], [2.0]])}, {"model": ["a", "b"]})
    assert statements.kind(decide(results).parts[0].contrasts[0]) == "log ratio"
    assert missing_numbers.turned(one, results, "a") == ["low"]
    assert missing_numbers.turned(one, results, "b") == []
