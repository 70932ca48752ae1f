"""What a settle costs: the settle that is measured, and a count of operations."""

from __future__ import annotations

from collections.abc import Callable

from torch.utils.flop_counter import FlopCounterMode

from vnlib.settle.config import SettleConfig

GAP = SettleConfig.exact(method="line_search", check_every=5, max_sweeps=2000)
"""A settle to a thousandth of the energy by steps whose operations can be counted."""


def operations(call: Callable[[], object]) -> int:
    """Floating-point operations in products of matrices: 2 m k n for (m, k) times (k, n)."""
    with FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops()
