"""What inference costs a Vector Network of images, and what a learned start saves of it (VN
Sec. 5).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import xarray as xr

from benchmarks.images.networks import ImageAutoencoder
from benchmarks.images.pictures import Images
from benchmarks.starts import measure as initialiser
from chapters.beyond_continual.images import Network
from vnlib.settle.cost import GAP, operations

KEPT = ("saved", "saved_paid", "sweeps", "cost", "rate")


def measure(
    model: Network,
    feed_forward: ImageAutoencoder,
    train: Images,
    held: Images,
    tests: Mapping[str, Images],
    **settings: Any,
) -> xr.Dataset:
    """`operations` of a settle to a relative duality gap of a thousandth, per image of the first
    test set, those of a `forward` pass of the autoencoder, and their `ratio`. Of the starts "cold",
    "untrained" and those with `rates`: `saved`, `saved_paid`, `sweeps`, `cost` and `rate`, as
    `benchmarks.starts.measure.study` has them, whose settings these are.
    """
    x = next(iter(tests.values()))
    with torch.no_grad():
        settle = operations(lambda: model.network.settle(x, config=GAP)) / len(x)
        forward = operations(lambda: feed_forward(x)) / len(x)
    found = initialiser.study(
        model.network,
        train,
        held,
        tests,
        hidden=(),
        starts=("cold", "untrained", *settings["rates"]),
        **settings,
    )
    values = {"operations": settle, "forward": forward, "ratio": settle / forward}
    kept = found[[name for name in KEPT if name in found]]
    return kept.assign(values)
