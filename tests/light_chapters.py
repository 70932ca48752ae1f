"""Chapters with little to compute: the profile `smoke`, two updates, and settles of few sweeps."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from data_gen import mnist, nbody
from vnlib.book import chapter
from vnlib.settle import Settler

COUNTS = re.compile(r"(steps|updates|sweeps|consolidation)$")
SMALL = {"beyond_tasks"}  # its images are the smallest on which all decoders are trained
FEW = 3  # sweeps of a settle, after the sweep from which it is capped
spec = cache(chapter.spec)
DATA = {
    (module, name): cache(getattr(module, name))
    for module, name in ((mnist, "_mnist"), (nbody, "make"))
}


def form(options: Any) -> Any:
    """Names and texts of options, and of lists whether they have one item or more."""
    if isinstance(options, Mapping):
        return {name: form(value) for name, value in sorted(options.items())}
    if isinstance(options, Sequence) and not isinstance(options, str):
        return min(len(options), 2)
    return options if isinstance(options, (str, bool)) else None


def brief(settings: Any, name: str = "") -> Any:
    """Settings with two updates and two sweeps, also of every solver."""
    if isinstance(settings, Mapping):
        return {k: brief(v, name if COUNTS.search(name) else k) for k, v in settings.items()}
    return min(settings, 2) if isinstance(settings, int) and COUNTS.search(name) else settings


def _made_brief(settler: Settler, *given: Any, **options: Any) -> None:
    """`Settler.__init__`, for few sweeps also where the code, not the settings, says how many."""
    MAKE_SETTLER(settler, *given, **options)
    config = settler.config
    if config.method != "cd":
        few = min(config.max_sweeps, config.cap_from + FEW)
        settler.config = replace(config, max_sweeps=few)


MAKE_SETTLER = Settler.__init__


def make_light(patch: pytest.MonkeyPatch) -> None:
    """Settles of few sweeps, and data, which come from the CPU whatever the device is, made once."""
    patch.setattr(Settler, "__init__", _made_brief)
    for (module, name), made in DATA.items():
        patch.setattr(module, name, made)
