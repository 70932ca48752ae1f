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
from benchmarks.starts.operations import in_loops, operations
from chapters.beyond_continual.images import Network

KEPT = ("saved", "saved_paid", "sweeps", "cost", "rate", "time_ratio", "time_cold")


def measure(
    model: Network,
    feed_forward: ImageAutoencoder,
    train: Images,
    held: Images,
    tests: Mapping[str, Images],
    **settings: Any,
) -> xr.Dataset:
    """`operations` of the network's settle per image of the first test set (what is made once, its
    Gram matrix, is not counted), those of a `forward` pass of the autoencoder, and their `ratio`.
    Of the starts "cold", "untrained" and those with `rates`: `KEPT`, as
    `benchmarks.starts.measure.study` has them, whose settings these are.
    """
    x, settler = next(iter(tests.values())), model.network.settler()
    loops = in_loops(settler(x))
    with torch.no_grad():
        settle = (operations(lambda: settler(x)) + loops) / len(x)
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
