"""Random parameters of chapters, good and bad: typed, injected, or given to the check itself."""

from __future__ import annotations

import io
import json
import os
import random
import re
import reprlib
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from papermill.translators import PythonTranslator

from book.site import cli
from vnlib.book import paths
from vnlib.book.chapter import open_chapter, spec
from vnlib.book.parameters import MAX_TEXT
from vnlib.book.paths import chapters


@dataclass(frozen=True)
class Case:
    """One thing that was tried, what came of it, and why that is wrong ("" if it is not)."""

    name: str
    came: str
    wrong: str = ""


DEEP, LONG = "[" * 5000, "é" * (MAX_TEXT + 1)
BAD: dict[str, Sequence[object]] = {
    "any": (
        float("nan"),
        float("inf"),
        10**5000,
        -(10**30),
        {"a": 1},
        b"x",
        [[1]],
        object(),
        [0.5] * 2000,
        LONG,
    ),
    "bool": ("yes", 1, 0.0, "ünï", [True]),
    "int": ("many", 2.5, True, [1], "٣", ""),
    "float": ("many", True, [0.1], "1,5", ""),
    "seeds": (0, -1, [], [0, 0], [-1], [1.5], "all", 10**12, 2**31, [2**31], [True], 1001),
    "names": (3, [], "", "nobody", ["nobody"], [1], "ñ", [None]),
    "str": (7, "", "nobody", "ünï", ["a"], True),
    "results_dir": (7, "", "~nobody-of-this-name/x", "a\0b", "a\ud800b", ["a"]),
    "device": ("gpu", "cuda:-1", "cuda:²", "cuda:", "cpu ", "CPU", "cuda:99999"),
}
TYPED = (
    DEEP,
    "0x" + "f" * 6000,
    "&a [*a]",
    "!!binary aGk=",
    "{a: [1, 2",
    ".nan",
    "-.inf",
    "!!set {a}",
    "[.nan, 1]",
    "!!python/object/apply:os.getcwd []",
    "{? [1] : 2}",
    "9" * 5000,
)

UNUSABLE = ("x" * 400, f"{__file__}/below")  # as a folder; found when it is made


def good(rule: Mapping[str, Any], rng: random.Random, reach: int = 10**6) -> object:
    """A value that the rule of a parameter allows, a number at most `reach` above the lowest."""
    kind, low = rule["type"], rule.get("low", rule.get("above", 0))
    if kind in ("int", "float"):
        high = min(rule.get("high", low + 100), low + reach)
        return rng.randint(low, high) if kind == "int" else low + (high - low) * (1 - rng.random())
    if kind == "names":
        chosen = rng.sample(rule["choices"], rng.randint(1, len(rule["choices"])))
        chosen += [one for one in rule.get("all_of", ()) if one not in chosen]
        return rng.choice([chosen, ", ".join(chosen)])
    if kind == "seeds":
        return rng.choice([1, 1000, [0], [2**31 - 1, 7], list(range(5))])
    return (
        rng.choice(rule["choices"])
        if "choices" in rule
        else rng.choice([True, False])
        if kind == "bool"
        else None
    )


def bad(name: str, rule: Mapping[str, Any], rng: random.Random) -> object:
    """A value that it does not allow."""
    values = [*BAD["any"], *BAD.get(name, BAD[rule["type"]])]
    values += [rule["low"] - 1] if "low" in rule else []
    values += [rule["high"] + 1, 10**15] if "high" in rule else []
    values += [rule["above"]] if "above" in rule else []
    return rng.choice(values)


def complaint(message: str, name: str) -> str:
    """What is wrong with a refusal: it must name the parameter and what is allowed, in one
    paragraph.
    """
    if len(message) > 2 * MAX_TEXT or "\n\n" in message or "Traceback" in message:
        return f"not one paragraph: {message[:200]!r}"
    if name not in message:
        return f"does not name {name}: {message[:200]!r}"
    helps = re.search("must|It has|choose another", message)
    return "" if helps else f"does not say what is allowed: {message[:200]!r}"


def typed(chapter: str, given: Mapping[str, object]) -> str | None:
    """`vnbook run` with these parameters, up to where papermill would start; what it says if it
    refuses them.
    """
    words = [word for key, value in given.items() for word in ("-p", key, _text(value))]
    with (
        mock.patch.object(sys, "argv", ["vnbook", "run", chapter, *words, "--jobs", "1"]),
        mock.patch(
            "papermill.execute_notebook", lambda source, draft, **options: Path(draft).touch()
        ),
        redirect_stdout(io.StringIO()),
    ):
        try:
            return cli.main()
        except SystemExit as end:
            return str(end.code)


def _text(value: object) -> str:
    return value if isinstance(value, str) and value in TYPED else json.dumps(value)


def injected(chapter: str, given: Mapping[str, object]) -> str | None:
    """What a notebook's first cell says to the parameters that papermill writes above it."""
    namespace: dict[str, Any] = dict(spec(chapter).defaults)
    cell = PythonTranslator.codify(given)
    exec(cell, namespace)
    namespace["_ih"] = ["", cell, "the first cell"]
    try:
        open_chapter(chapter, namespace)
    except ValueError as error:
        return str(error)
    return None


def draw(rng: random.Random) -> tuple[Callable, str, dict[str, object], str | None]:
    """How to set parameters, the chapter, the parameters, and the name of the one that is bad, if
    one is.
    """
    chapter, route = rng.choice(chapters()), rng.choice([typed, injected])
    rules, allowed = spec(chapter).parameters, spec(chapter).allowed("smoke")  # the narrowest
    names = [name for name in rng.sample(list(rules), 3) if name != "results_dir"]
    given = {name: good(allowed[name], rng) for name in names}
    given = {name: value for name, value in given.items() if value is not None}
    if rng.random() < 0.25:
        return route, chapter, given, None
    if rng.random() < 0.15:
        wrong = rng.choice(["sead", "Profile", "ñ", "x" * 300, "seeds_", "n_atom"])
        return route, chapter, given | {wrong: 1}, wrong
    wrong = rng.choice(list(rules))
    special = UNUSABLE if wrong == "results_dir" else TYPED
    value: object = (
        rng.choice(special)
        if route is typed and rng.random() < 0.4
        else bad(wrong, rules[wrong], rng)
    )
    with suppress(TypeError, ValueError):
        json.dumps(value)  # else it cannot be typed, nor written into a notebook
        return route, chapter, given | {wrong: value}, wrong
    return (
        lambda chapter, given: _refusal(spec(chapter).check, given),
        chapter,
        given | {wrong: value},
        wrong,
    )


def _refusal(check: Callable, given: Mapping[str, object]) -> str | None:
    try:
        check(given)
    except ValueError as error:
        return str(error)
    return None


def parameters(times: int = 200, seed: int = 0) -> Iterator[Case]:
    """Sets of parameters, most with one that is bad: those are refused by its name, the others
    accepted.
    """
    rng, here = random.Random(seed), Path.cwd()
    with (
        tempfile.TemporaryDirectory(prefix="robustness-") as folder,
        mock.patch.object(paths, "RESULTS", Path(folder)),
    ):
        os.chdir(folder)
        try:
            for number in range(times):
                route, chapter, given, wrong = draw(rng)
                name = f"{number}: {chapter} {wrong or 'good'}"
                try:
                    message = route(chapter, given)
                except BaseException as error:
                    yield Case(
                        name,
                        "raised",
                        f"{type(error).__name__}: {str(error)[:200]} for {reprlib.repr(given)}",
                    )
                    continue
                if wrong is None or message is None:
                    unexpected = (
                        "" if wrong is message is None else f"{reprlib.repr(given)}: {message}"
                    )
                    yield Case(name, "refused" if message else "accepted", unexpected)
                else:
                    yield Case(name, "refused", complaint(message, wrong))
        finally:
            os.chdir(here)


def good_sets(times: int, seed: int = 0) -> Iterator[tuple[str, dict[str, object]]]:
    """Chapters and sets of good values for their own parameters, with which a run in smoke does not
    take long.
    """
    rng = random.Random(seed)
    for _ in range(times):
        chapter = rng.choice(chapters())
        rules = spec(chapter).allowed("smoke")
        own = {name: rule for name, rule in rules.items() if rule.get("variant")}
        yield (
            chapter,
            dict.fromkeys({"seeds"} & {*rules}, 1)
            | {name: good(rule, rng, reach=50) for name, rule in own.items()},
        )
