"""What can be read in the drawings."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import seaborn as sns
from matplotlib.colors import LogNorm

from benchmarks.baselines.figures import legible
from vnlib.plots.style import DIVERGING, SEQUENTIAL


def contrast(one: object, other: object) -> float:
    """Of two colours, by WCAG: 1 to 21; where numbers are read 4.5 at least."""
    low, high = sorted(map(sns.utils.relative_luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("cmap", [DIVERGING, SEQUENTIAL])
def test_numbers_are_read_on_every_colour(cmap):
    values = pd.DataFrame(np.geomspace(0.05, 20, 60).reshape(20, 3))
    _, ax = plt.subplots()
    sns.heatmap(values, annot=True, norm=LogNorm(0.05, 20), cmap=cmap, ax=ax)

    def least() -> float:
        colors = ax.collections[0].get_facecolors()
        return min(contrast(t.get_color(), c) for t, c in zip(ax.texts, colors, strict=True))

    assert least() < 4.5, "or this shows nothing"
    legible(ax, values.shape[1])
    assert least() >= 4.5
    plt.close("all")
