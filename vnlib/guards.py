"""Arguments of a kind that nothing can be made of are refused by name.

No call of one dates results (see `vnlib.book.store.source_hash`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch


def kind(name: str, value: Any, *kinds: type) -> None:
    """Raise ValueError unless `value` is of one of these types."""
    if not isinstance(value, kinds):
        wanted = " or ".join(one.__name__ for one in kinds)
        raise ValueError(f"{name} must be of type {wanted}, got {value!r}")


def several(name: str, value: Any) -> None:
    """Raise ValueError unless `value` is a number or something with one entry per layer."""
    if not isinstance(value, (int, float)) and not hasattr(value, "__iter__"):
        raise ValueError(f"{name} must be a number or a list of numbers, got {value!r}")


def flags(**named: Any) -> None:
    """Raise ValueError unless each of these is True or False: any text would count as True."""
    for name, value in named.items():
        if not isinstance(value, (bool, np.bool_)):
            raise ValueError(f"{name} must be True or False, got {value!r}")


def codes(name: str, value: Any) -> None:
    """Raise ValueError unless `value` is a list or tuple of tensors."""
    if not isinstance(value, (list, tuple)) or not all(torch.is_tensor(one) for one in value):
        raise ValueError(f"{name} must be a list of tensors, one per layer, got {value!r}")


def code(name: str, value: Any, atoms: int) -> None:
    """Raise ValueError unless `value` is a tensor with so many columns."""
    kind(name, value, torch.Tensor)
    if not value.ndim or value.shape[-1] != atoms:
        raise ValueError(f"{name} must have one column per atom ({atoms}), got {value.shape}")
