"""Rank correlations, intervals and predictions on points whose law is known."""

from __future__ import annotations

import numpy as np
import pytest

from chapters.beyond_law import relation


def test_a_law_has_rank_minus_one_and_noise_none(points):
    assert relation.rank(points, "rendering", "ood") == pytest.approx(-1)
    assert abs(relation.rank(points, "F", "ood")) < 0.3
    assert np.isnan(relation.rank(points.head(3), "rendering", "ood"))
    assert np.isnan(relation.rank(points, "id", "ood")), "constant"


def test_within_families_only_what_differs_there_counts(points):
    assert relation.rank(points, "probe", "ood") < -0.9
    assert np.isnan(relation.within(points, "probe", "ood")), "the same in all of a family"
    assert relation.within(points, "rendering", "ood") == pytest.approx(-1)


def test_what_is_explained_in_families_left_out(points):
    assert relation.explained(points, "rendering", "ood") > 0.7
    # The mean of the others is better than a fit of noise.
    assert relation.explained(points, "F", "ood") < 0.1
    assert relation.explained(points, "rendering", "ood", by="condition") > 0.95
    two = points[points["family"].isin(["f0", "f1"])]
    assert np.isnan(relation.explained(two, "rendering", "ood"))


def test_a_family_beyond_all_others_has_their_nearest_value(points):
    """By hand: f0 lies below the others, all of which err less than it; it gets the error of the
    nearest point of f1.
    """
    two = points[points["condition"] == "c0"].groupby("family").head(1)
    wrong = around = 0.0
    errors = two["ood"].to_numpy()
    for k in range(4):
        others = np.delete(errors, k)
        nearest = {0: errors[1], 3: errors[2]}.get(k)
        if nearest is None:  # between two known points, linear
            nearest = (errors[k - 1] + errors[k + 1]) / 2
        wrong += (nearest - errors[k]) ** 2
        around += (others.mean() - errors[k]) ** 2
    assert relation.explained(two, "rendering", "ood") == pytest.approx(1 - wrong / around)


def test_intervals_hold_the_law_and_zero_for_noise(points):
    low, high = relation.interval(points, "rendering", "ood", draws=60)
    assert low == pytest.approx(-1) and high == pytest.approx(-1)
    low, high = relation.interval(points, "F", "ood", draws=60)
    assert low < 0 < high
    again = relation.interval(points, "F", "ood", draws=60)
    assert again == (low, high)


def test_decoders_and_not_points_decide_the_width(points):
    """The same decoders under ever more conditions make an interval no narrower."""

    def width(given) -> float:
        low, high = relation.interval(given, "F", "ood", draws=100)
        return high - low

    one = points[points["condition"] == "c0"]
    many = one.loc[one.index.repeat(20)].assign(condition=[f"c{k % 20}" for k in range(240)])
    assert width(many) == pytest.approx(width(one), rel=0.2)


def test_what_is_explained_in_a_draw_is_that_of_points_that_stand_there_as_often(points):
    times = np.random.default_rng(0).integers(0, 3, len(points))
    x, y = points[["rendering", "ood"]].to_numpy().T
    family = points["family"].astype("category").cat.codes.to_numpy()
    found = relation._explained(x, y, family, times)
    again = relation.explained(points.loc[points.index.repeat(times)], "rendering", "ood")
    assert found == pytest.approx(again) and np.isfinite(found)
    assert np.isnan(relation._explained(x, y, family, times * (family < 2))), "two families"


def test_intervals_of_what_is_explained(points):
    given = (points, ["rendering", "F"], "ood")
    law, noise, more = relation.explained_intervals(*given, draws=60)
    assert law[0] < relation.explained(points, "rendering", "ood") < law[1] <= 1
    assert noise[0] < 0.1 and more[0] > 0, "the law explains more than noise"
    assert relation.explained_intervals(*given, draws=60) == [law, noise, more], "repeats"
    same = relation.explained_intervals(points, ["rendering", "rendering"], "ood", draws=20)
    assert same[2] == (0, 0), "measures are compared on the same draws"
    few = points[points["family"].isin(["f0", "f1"])]
    assert np.isnan(relation.explained_intervals(few, ["rendering", "F"], "ood", draws=5)).all()
