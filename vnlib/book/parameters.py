"""The parameters of chapters: those that all have, and whether a value is what its rule allows.

A rule is a table of a chapter's sidecar: `type`, and as the type has it `choices`, `all_of` (those
that a list must hold), `low`, `high`, `above`, `pattern`; a profile's own under its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from vnlib import checks

PROFILES = ("smoke", "fast", "paper")
# Every chapter has these, `models` where it compares some; its sidecar may add to them and narrow
# `models`.
COMMON: dict[str, dict[str, Any]] = {
    "profile": {"type": "str", "choices": list(PROFILES), "help": "how large the runs are"},
    "seeds": {"type": "seeds", "help": "a list of seeds, or how many; None: the profile's"},
    "models": {"type": "names", "help": "a list of models, or 'a,b'; None: all of the profile"},
    "device": {"type": "str", "pattern": "auto, cpu, cuda or cuda:N", "help": "where to compute"},
    "recompute": {"type": "bool", "help": "compute anew what is already stored"},
    "stale": {"type": "str", "choices": ["keep", "recompute"], "help": "stored runs of other code"},
    "together": {"type": "bool", "help": "train seeds in one batch; None: where there is CUDA"},
    "results_dir": {"type": "str", "help": "the folder that holds <profile>/<chapter>.nc"},
}
MAX_SEEDS = 1000  # a slip of the keyboard should not ask for more runs than memory holds
MAX_TEXT = 12 * MAX_SEEDS  # characters of a value; as many seeds must fit


def guess(name: str, known: Iterable[str]) -> str:
    """Which of the known names a misspelled one may be, as a question after a blank, if any."""
    return "".join(f" Did you mean {one!r}?" for one in get_close_matches(name, list(known), n=1))


def checked(name: str, value: Any, rule: Mapping[str, Any], default: Any) -> Any:
    """One parameter's value in its own type. ValueError names it and what is allowed."""
    if value is None and default is None:
        return None
    _check_size(name, value)
    kind = rule["type"]
    if kind == "bool":
        if not isinstance(value, bool):
            raise ValueError(f"{name} must be true or false, got {value!r}")
        return value
    if kind in ("int", "float"):
        ends = {end: rule.get(end) for end in ("low", "high", "above")}
        checks.number(name, value, **ends, integer=kind == "int")
        return value
    if kind == "seeds":
        seeds = value = _counted(value)
        if isinstance(value, int) and not isinstance(value, bool):
            seeds = range(value) if value <= MAX_SEEDS else ()
        several = seeds if isinstance(seeds, (list, tuple, range)) else ()
        if not several or len(set(map(repr, several))) != len(several):
            wanted = f"a count >= 1 and <= {MAX_SEEDS} or a list of different integers >= 0"
            raise ValueError(f"{name} must be {wanted}, got {value!r}")
        for seed in several:
            checks.number(f"each of {name}", seed, low=0, high=2**31 - 1, integer=True)
        return list(several)
    if kind == "names":
        value = _parts(value) if isinstance(value, str) else value
        if not isinstance(value, (list, tuple)) or not value:
            allowed = ", ".join(rule["choices"][:20])
            raise ValueError(f"{name} must be a list of names, got {value!r}; allowed: {allowed}")
        many = len(rule["choices"]) > 20  # more than a message should list
        for one in value:
            near = get_close_matches(str(one), rule["choices"], 20, 0.3) or rule["choices"][:20]
            says = f"each of {name}{' (vnbook list has all)' * many}"
            checks.choice(says, one, near if many else rule["choices"])
        if len(set(value)) != len(value):
            raise ValueError(f"{name} must not name anything twice, got {value!r}")
        if missing := [one for one in rule.get("all_of", ()) if one not in value]:
            raise ValueError(f"{name} must hold {', '.join(missing)} as well, got {value!r}")
        return list(value)
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name} must be text, got {value!r}")
    if "choices" in rule:
        checks.choice(name, value, rule["choices"])
    if name == "results_dir" and not _is_folder_name(value):
        raise ValueError(f"results_dir must be the name of a folder, got {value!r}")
    if name == "device" and not re.fullmatch(r"auto|cpu|cuda(:[0-9]{1,3})?", value):
        raise ValueError(f"device must be {rule['pattern']}, got {value!r}")
    return value


def _parts(text: str) -> list[str]:
    """A list that was typed as text: `a,b`, `["a", "b"]`."""
    return [part.strip(" \"'") for part in text.strip(" []").split(",")]


def _counted(value: Any) -> Any:
    """Seeds that were typed as text: `3`, `0,2`, `[0, 2]`."""
    if not isinstance(value, str) or not all(re.fullmatch("[0-9]{1,10}", p) for p in _parts(value)):
        return value
    return int(value) if value.strip().isdecimal() else [int(part) for part in _parts(value)]


def _check_size(name: str, value: Any) -> None:
    """Raises ValueError for a value that is too large to be meant, or even to be printed."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits, lists thousands deep
        text = ""
    if not text or len(text) > MAX_TEXT or (isinstance(value, int) and abs(value) >= 2**63):
        allowed = f"below 2**63 and of at most {MAX_TEXT} characters"
        raise ValueError(f"{name} must be {allowed}, got {text[:60] or 'more'}...")


def _is_folder_name(text: str) -> bool:
    try:
        Path(text).expanduser()
        return b"\0" not in text.encode()
    except (RuntimeError, UnicodeError):  # no such user; half a character
        return False
