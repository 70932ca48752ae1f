"""Points of three chapters, where medians and measures are known."""

from __future__ import annotations

import pytest
import xarray as xr

from chapters.beyond_law import points


def test_points_are_medians_over_the_seeds_that_learned(tasks):
    found = points.of_tasks(tasks).set_index(["decoder", "condition"])
    assert len(found) == 4
    one, other = found.loc[("a", "base")], found.loc[("b", "ring")]
    assert one["ood"] == pytest.approx(-1) and one["id"] == -6, "no less than the least error"
    # the second decoder's first seed learned nothing: middle of 1 and 2
    assert other["rendering"] == pytest.approx(0.25 * 1.5) and one["rendering"] == 0.25
    assert one["seeds"] == 3 and other["seeds"] == 2
    assert one["volume"] == 1 and one["family"] == "vn" and other["family"] == "entangled"
    assert set(points.MEASURES) - set(found) == {"band"}


def test_longer_trainings_are_no_points(tasks):
    more = xr.concat([tasks, tasks.assign_coords(task=["base_longer", "other"])], "task")
    found = points.of_tasks(more)
    assert set(found["condition"]) == {"base", "ring", "other"}


def test_a_decoder_that_never_learned_is_no_point(tasks):
    drawn = tasks.assign(mse_id=tasks["mse_id"].where(tasks["model"] == "a", 1.0))
    assert set(points.of_tasks(drawn)["decoder"]) == {"a"}


def test_the_last_hidden_layer_is_the_last_that_there_is(manifold):
    found = points.of_manifold(manifold).set_index("decoder")
    assert list(found.index) == ["cnn_bump_2", "vn_full"], "references are no decoders"
    assert found["F"].tolist() == [2, 1] and found["F_output"].tolist() == [4, 4]
    assert found["volume"].tolist() == pytest.approx([0.5, 0.5])
    assert found["family"].tolist() == ["cnn_bump", "vn"]


def test_bands_are_of_both_axes(maps):
    found = points.of_maps(maps).set_index("decoder")
    assert list(found.index) == ["none", "bands"]
    assert found["band"].tolist() == pytest.approx([0.05, 0.5]), "the lesser of x and y"
    assert found["volume"].tolist() == [1, 1] and found["volume_output"].tolist() == [2, 2]


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("longer_cnn_ramp_8", "cnn_ramp"),
        ("longer_bump_4", "mlp_bump"),
        ("mlp_ramp_2", "mlp_ramp"),
        ("vn_flat", "vn_flat"),
        ("vn_axes_3", "vn"),
    ],
)
def test_longer_trainings_are_of_the_same_family(model, family):
    assert points._kind(model) == family
