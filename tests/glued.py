"""The texts that prose is given, as numbers again."""

from __future__ import annotations

import re
from collections.abc import Mapping

_NUMBER = re.compile(r"([-−+]?[\d,.]*\d)(?:(?: × 10|e)([-+⁻⁰¹²³⁴⁵⁶⁷⁸⁹\d]+))?")
_DIGITS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def number(text: str) -> float:
    """The number that a text begins with: 3.2e-5 of "3.2 × 10⁻⁵ [1.1 × 10⁻⁵, 4.0 × 10⁻⁵]"."""
    found = _NUMBER.match(text)
    if not found:
        raise ValueError(f"text must begin with a number, got {text!r}")
    return float(
        f"{found[1].replace(',', '').replace('−', '-')}e{(found[2] or '0').translate(_DIGITS)}"
    )


def ends(text: str) -> tuple[float, float]:
    """The interval that a text has, or nan twice."""
    _, _, inside = text.partition("[")
    low, _, high = inside.partition(", ")  # thousands have no blank behind their comma
    return (number(low), number(high)) if high else (float("nan"), float("nan"))


def numbers(texts: Mapping[str, str]) -> dict[str, float]:
    """All texts that begin with a number, by their keys."""
    return {key: number(text) for key, text in texts.items() if _NUMBER.match(text)}
