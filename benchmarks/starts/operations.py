"""What a settle costs: operations in products of matrices, and in the loops of coordinate descent."""

from __future__ import annotations

from collections.abc import Callable

from torch.utils.flop_counter import FlopCounterMode

from vnlib.settle import Settled


def operations(call: Callable[[], object]) -> int:
    """Floating-point operations in products of matrices: 2 m k n for (m, k) times (k, n)."""
    with FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops()


def in_loops(settled: Settled) -> float:
    """Floating-point operations of a settle by coordinates that are no products of matrices.

    Counted as if each pass moved all a active atoms of a sample, looked once at all K correlations,
    and ended with a Newton step from scratch on the support:

        2 K a  +  2 K a  +  a^3 / 3 + 2 a^2.

    That is more than it does (`vnlib.settle.working_set`): a move corrects the correlations of a
    working set, several passes share a look, and factors are kept.
    """
    active = sum((code != 0).sum(1).double() for code in settled.codes)
    atoms = sum(code.shape[1] for code in settled.codes)
    per_pass = 4 * atoms * active + active**3 / 3 + 2 * active**2
    return float((settled.sweeps * per_pass).sum())
