"""Every parameter of every chapter, as documented, up to the page.

Each chapter is executed in smoke with each of its models alone, at both ends of the range of each
parameter of its own, and with values drawn at random for some of them. Each case must end in a
page, or in a refusal before anything is computed.

    python tests/tools/every_parameter.py --folder .cache/every_parameter fig2_spatial

prints a line per case and ends with 1 if one broke. Cases whose lines are in the folder already are
not tried again, unless they broke; runs that are stored there are not computed again.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import papermill
from fuzz_parameters import Case, complaint
from hypothesis import Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from tqdm import tqdm

from book.site import build as book
from vnlib.book import paths
from vnlib.book.chapter import Spec, spec

Given = dict[str, Any]

JUST_ABOVE = 1e-6  # what a range that leaves out its lower end is tried with


def ends(rule: Mapping[str, Any]) -> list[Any]:
    """The ends of what a rule allows; all that it allows where that is a list."""
    if "choices" in rule:
        return list(rule["choices"])
    low = rule["low"] if "low" in rule else rule["above"] + JUST_ABOVE
    return [low, rule["high"]]


def own(one: Spec) -> dict[str, dict[str, Any]]:
    """The parameters that change what is computed, with their ends in smoke."""
    rules = one.allowed("smoke")
    return {name: rule for name, rule in rules.items() if rule.get("variant")}


def single_models(one: Spec) -> list[Given]:
    return [{"models": [name]} for name in one.parameters.get("models", {}).get("choices", ())]


def at_the_ends(one: Spec) -> list[Given]:
    return [{name: value} for name, rule in own(one).items() for value in ends(rule)]


def values(rule: Mapping[str, Any]) -> st.SearchStrategy:
    """What a rule allows, near its lower end or anywhere."""
    if rule["type"] == "names":
        return st.lists(st.sampled_from(rule["choices"]), min_size=1, max_size=3, unique=True)
    if "choices" in rule:
        return st.sampled_from(rule["choices"])
    low, high = ends(rule)
    if rule["type"] == "int":
        return st.integers(low, min(high, low + 50)) | st.sampled_from([low, high])
    return st.floats(low, high, allow_subnormal=False)


def drawn(one: Spec, times: int, seed: int) -> list[Given]:
    """Pairs of parameters with values that their rules allow, the models among them."""
    rules = own(one)
    if "models" in one.parameters:
        rules["models"] = one.parameters["models"]
    if not times or len(rules) < 2:
        return []
    names = st.lists(st.sampled_from(sorted(rules)), min_size=2, max_size=2, unique=True)
    found: list[Given] = []

    @seeded(seed)
    @settings(max_examples=times, phases=[Phase.generate], database=None, deadline=None)
    @given(names.flatmap(lambda pair: st.fixed_dictionaries({k: values(rules[k]) for k in pair})))
    def collect(given: Given) -> None:
        found.append(given)

    collect()
    return found


def cases(one: Spec, pairs: int, seed: int) -> list[Given]:
    """What a chapter is tried with; first nothing, whose runs the others share."""
    several = [{}, *single_models(one), *at_the_ends(one), *drawn(one, pairs, seed)]
    return list({json.dumps(given): given for given in several}.values())


def outcome(name: str, given: Given, folder: Path) -> tuple[str, str]:
    """What came of a chapter with these parameters, and what is wrong with that."""
    given = {"profile": "smoke", "device": "cpu", "results_dir": str(folder)} | given
    try:
        spec(name).check(given)
    except ValueError as error:
        told = [key for key in given if key in str(error)]
        return f"refused: {error}", complaint(str(error), told[0] if told else "a parameter")
    page = folder / f"{name}.ipynb"
    try:
        book.run_chapter(name, given, page, kernel=False, progress=False)
    except papermill.PapermillExecutionError as error:
        first = error.source.strip().splitlines()[0]
        return "failed", f"{error.ename}: {error.evalue} in the cell {first!r}"
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}"
    return "page", ""


def apart(name: str, given: Given, folder: Path, limit: int) -> Case:
    """The same in a process of its own, which ends after `limit` seconds of a core: a busy machine
    must not look like a case without an end. What only waits ends after ten times as long.
    """
    label = f"{name} {json.dumps(given)}"
    receiver, sender = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            signal.setitimer(signal.ITIMER_PROF, limit)
            signal.alarm(10 * limit)
            with open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), 2)
                with redirect_stdout(nowhere), redirect_stderr(nowhere):
                    came = outcome(name, given, folder)
            os.write(sender, "\0".join(came).encode(errors="replace"))
        finally:
            os._exit(0)
    os.close(sender)
    with open(receiver, "rb") as pipe:
        came, _, wrong = pipe.read().decode().partition("\0")
    number = os.WTERMSIG(os.waitpid(pid, 0)[1])
    if came:
        return Case(label, came, wrong)
    if number in (signal.SIGPROF, signal.SIGALRM):
        return Case(label, f"computing: still at work after {limit} s")
    return Case(label, "died", f"ended by signal {number}")


def tried(log: Path) -> dict[str, Case]:
    """The cases of a log, the last of each name."""
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return {one["name"]: Case(**one) for one in map(json.loads, lines)}


def attempts(chosen: argparse.Namespace) -> Iterator[Case]:
    log = chosen.folder / "cases.jsonl"
    chosen.folder.mkdir(parents=True, exist_ok=True)
    before = tried(log)
    book._import_shared()
    for name in chosen.chapters or paths.chapters():
        for one in tqdm(cases(spec(name), chosen.pairs, chosen.seed), desc=name, unit="case"):
            known = before.get(f"{name} {json.dumps(one)}")
            if known and not known.wrong:
                yield known
                continue
            case = apart(name, one, chosen.folder, chosen.limit)
            with log.open("a", encoding="utf-8") as lines:
                print(json.dumps(vars(case)), file=lines)
            yield case


def options(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help="all if none is named")
    parser.add_argument(
        "--folder",
        type=Path,
        default=paths.ROOT / ".cache" / "every_parameter",
        help="(%(default)s)",
    )
    parser.add_argument("--pairs", type=int, default=3, help="drawn per chapter (%(default)s)")
    parser.add_argument(
        "--limit", type=int, default=120, help="seconds of a core per case (%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Try all cases, a line for each and a summary; 1 if something broke."""
    came, broken = Counter(), 0
    for case in attempts(options(words)):
        kind = "BROKEN" if case.wrong else case.came.split(":")[0]
        tqdm.write(": ".join(filter(None, [kind, case.name, case.wrong])))
        came[kind] += 1
        broken += bool(case.wrong)
    print(", ".join(f"{number} {what}" for what, number in sorted(came.items())))
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
