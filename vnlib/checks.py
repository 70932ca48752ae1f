"""Checks of arguments, with one form of message: the name, the value, what is allowed."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, TypeVar

T = TypeVar("T")


def number(
    name: str,
    value: Any,
    *,
    low: float | int | None = None,
    high: float | int | None = None,
    above: float | int | None = None,
    integer: bool = False,
) -> None:
    """Raise ValueError unless `value` is finite, with low <= value <= high and value > above."""
    bounds = [f">= {low}"] * (low is not None) + [f"<= {high}"] * (high is not None)
    bounds += [f"> {above}"] * (above is not None)
    wanted = f"{'an integer' if integer else 'a finite number'} {' and '.join(bounds)}".strip()
    kind: Any = Integral if integer else Real  # which know no order, as annotations go
    ok = isinstance(value, kind) and not isinstance(value, bool)
    ok = ok and value == value and abs(value) != float("inf")
    ok = ok and (low is None or value >= low) and (high is None or value <= high)
    ok = ok and (above is None or value > above)
    if not ok:
        raise ValueError(f"{name} must be {wanted}, got {value!r}")


def given(name: str, value: T | None) -> T:
    """The value itself; raises ValueError where there is none."""
    if value is None:
        raise ValueError(f"{name} is needed here and missing")
    return value


def choice(name: str, value: object, allowed: Iterable[str]) -> None:
    """Raise ValueError unless `value` is one of `allowed`, which the message lists."""
    allowed = list(allowed)
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")


def seed(value: Any, name: str = "seed") -> None:
    """Raise ValueError unless `value` is an integer from 0 to 2**63 - 1."""
    number(name, value, low=0, high=2**63 - 1, integer=True)


def layers(name: str, value: Any) -> None:
    """Raise ValueError unless `value` is a list or tuple, with one entry per layer."""
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"{name} must be a list with one entry per layer, as [64], got {value!r}")


def device(name: Any) -> None:
    """Raise ValueError for a device that cannot be used here."""
    import torch

    try:
        torch.empty(0, device=name).cpu()
    except (RuntimeError, AssertionError, TypeError) as error:
        why = str(error).splitlines()[0].rstrip(".")
        raise ValueError(
            f"device {name!r} cannot be used here ({why}); use another, such as 'cpu'"
        ) from error


def finite(name: str, x: Any) -> None:
    """Raise ValueError if `x` is not a dense tensor of finite numbers of 32 or 64 bits."""
    import torch  # here: what checks no tensors, such as a figure, needs no torch

    known = isinstance(x, torch.Tensor) and x.dtype in (torch.float32, torch.float64)
    if not known or x.layout != torch.strided or x.is_meta:
        kind = [str(getattr(x, part, "")) for part in ("dtype", "layout", "device")]
        raise ValueError(
            f"{name} must be a dense floating-point tensor, float32 or float64, "
            f"got {type(x).__name__} {' '.join(kind)}".rstrip()
        )
    bad = int((~x.isfinite()).sum())
    if bad:
        raise ValueError(
            f"{name} holds {bad} value(s) that are NaN or infinite; remove or impute them first"
        )


def matrix(name: str, x: Any, columns: int, meaning: str, many: Iterable[int] = ()) -> None:
    """Raise ValueError unless `x` is a finite tensor of shape (many ..., batch, columns)."""
    finite(name, x)
    if x.ndim < 2 or (*x.shape[:-2], x.shape[-1]) != (*many, columns):
        shape = ", ".join(map(str, (*many, "batch", columns)))
        raise ValueError(f"{name} must have shape ({shape}) ({meaning}), got {tuple(x.shape)}")
