"""Vector Networks: sparse inference over libraries of rank-1 weight atoms, and local learning of
the atoms.

What a user imports is here by name, and loaded when it is first asked for, so that `import vnlib`
is quick. The book itself imports each name from its module: a stored result is dated by changes of
what it used, not of all that is named here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vnlib.estimator import VectorNetworkCoder
    from vnlib.layer import Layer
    from vnlib.learning.learner import LocalLearner, learn
    from vnlib.learning.online import OnlineDictionaryLearner
    from vnlib.masked import impute
    from vnlib.network import VectorNetwork, VNConfig
    from vnlib.serialize import load, save
    from vnlib.settle import SettleConfig, Settled, Settler, Stop

__all__ = [
    "Layer",
    "LocalLearner",
    "OnlineDictionaryLearner",
    "SettleConfig",
    "Settled",
    "Settler",
    "Stop",
    "VNConfig",
    "VectorNetwork",
    "VectorNetworkCoder",
    "impute",
    "learn",
    "load",
    "save",
]

_HOME = {
    "Layer": "vnlib.layer",
    "LocalLearner": "vnlib.learning.learner",
    "OnlineDictionaryLearner": "vnlib.learning.online",
    "SettleConfig": "vnlib.settle",
    "Settled": "vnlib.settle",
    "Settler": "vnlib.settle",
    "Stop": "vnlib.settle",
    "VNConfig": "vnlib.network",
    "VectorNetwork": "vnlib.network",
    "VectorNetworkCoder": "vnlib.estimator",
    "impute": "vnlib.masked",
    "learn": "vnlib.learning.learner",
    "load": "vnlib.serialize",
    "save": "vnlib.serialize",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_HOME[name]), name)
    globals()[name] = found  # asked for once
    return found


def __dir__() -> list[str]:
    return sorted(globals().keys() | set(__all__))
