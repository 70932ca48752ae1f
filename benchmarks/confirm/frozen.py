"""The hash of what a confirmatory chapter fixes before its test data are drawn."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

PARTS = ("settings", "defaults", "rivals", "predictions", "models")


def frozen(sidecar: Mapping[str, Any]) -> str:
    """A hash of the settings of `paper`, its models and what was predicted of them: all that was
    fixed before test data were drawn. Names for readers and the number of seeds do not count, nor do
    models that were `added` afterwards, which are part of no prediction.
    """
    kept = {part: sidecar[part] for part in PARTS} | {"paper": sidecar["profiles"]["paper"]}
    kept["models"] = {n: one for n, one in kept["models"].items() if not one.get("added")}
    text = json.dumps(_without(kept, ("label", "group", "seeds")), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _without(tree: Any, names: Sequence[str]) -> Any:
    """A tree of tables without the entries of these names."""
    if not isinstance(tree, Mapping):
        return tree
    return {key: _without(value, names) for key, value in tree.items() if key not in names}
