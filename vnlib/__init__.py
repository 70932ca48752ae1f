"""Vector Networks: sparse inference over libraries of rank-1 weight atoms, and local learning of
the atoms.

What a user imports is here by name, and loaded when it is first asked for, so that `import vnlib`
is quick. The book itself imports each name from its module: a stored result is dated by changes of
what it used, not of all that is named here.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_NAMES = {  # types of these are in __init__.pyi
    "estimator": ["VectorNetworkCoder"],
    "layer": ["Layer"],
    "learning.learner": ["LocalLearner", "learn"],
    "learning.online": ["OnlineDictionaryLearner"],
    "masked": ["impute"],
    "network": ["VNConfig", "VectorNetwork"],
    "serialize": ["load", "save"],
    "settle": ["SettleConfig", "Settled", "Settler", "Stop"],
}
_HOME = {name: f"vnlib.{home}" for home, names in _NAMES.items() for name in names}
__all__ = [*_HOME]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_HOME[name]), name)
    globals()[name] = found  # asked for once
    return found


def __dir__() -> list[str]:
    return sorted(globals().keys() | set(__all__))
