"""What the page says of the shipped results, between its numbers."""

from __future__ import annotations

import numpy as np
import pytest

from chapters.FR2_manifold.claims import at, error, have_learned
from vnlib.book import paths, store
from vnlib.plots.frames import in_groups


@pytest.fixture(scope="module")
def results():
    return store.read(paths.RESULTS / "paper" / "FR2_manifold.nc")


@pytest.fixture(scope="module")
def drawn(results):
    return have_learned(results, in_groups(results, "cnn", "mlp"))


def share_of_zero(results, models) -> np.ndarray:
    return error(results, "ood", models) / float(results["zero_baseline_ood"].median())


def test_no_network_that_draws_composes_and_vector_networks_with_a_product_do(results, drawn):
    assert len(drawn) > 3 and share_of_zero(results, drawn).min() > 0.5
    product = ["vn_full", "vn_axes_1", "vn_axes_2", "vn_axes_3"]
    assert share_of_zero(results, product).max() < 0.01
    assert share_of_zero(results, ["vn_flat"])[0] > 1


def test_factorisation_falls_and_is_higher_where_decoders_compose(results, drawn):
    trained, random = (
        np.median(at(results, "F", drawn, "last", w)) for w in ("trained", "untrained")
    )
    product = ["vn_full", "vn_axes_1", "vn_axes_2", "vn_axes_3"]
    F = at(results, "F", product, "last")
    assert trained < random < 1 and F.min() == F[0] > trained


def test_probes_fail_in_the_hold_out_and_nowhere_else(results, drawn):
    assert np.median(at(results, "probe", drawn, "last")) > 0.95
    inside, random = (
        np.median(at(results, "probe_ood", drawn, "last", w)) for w in ("trained", "untrained")
    )
    assert inside < random - 0.1


def test_the_hold_out_is_distorted_most(results, drawn):
    inside, around = (np.median(at(results, f"spread_{n}", drawn, "last")) for n in ("in", "out"))
    random = np.median(at(results, "spread_in", drawn, "last", "untrained"))
    assert inside > 2 * around > 2 * random


def test_a_table_has_as_few_terms_as_the_perfect_images(results):
    table, perfect = at(results, "terms", ["table", "perfect"], "output")
    assert table < 1.1 and perfect < 1.1
    assert at(results, "one_factor", ["perfect"], "output")[0] < 0.5, "no sum of its factors"
