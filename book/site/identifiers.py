"""The identifiers of statements, CLAIM.NUMBER: a number belongs to a sentence for good, so that links and
citations go on leading to it. Those given so far stand in `identifiers.json`; a sentence that is only
worded anew keeps its number if its entry there is, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from vnlib.book import paths

FILE = Path(__file__).with_suffix(".json")
Numbers = Mapping[str, Mapping[str, int]]


def given(file: Path = FILE) -> Numbers:
    """The numbers of sentences by claim; those of sentences that are asked no more stay taken."""
    return json.loads(file.read_text(encoding="utf-8"))


def identified(claim: str, sentences: Iterable[str], known: Numbers) -> dict[str, str]:
    """Sentence -> identifier: its number, or for a new one the next that was never given."""
    numbers = dict(known.get(claim, {}))
    for sentence in sentences:
        numbers.setdefault(sentence, max(numbers.values(), default=0) + 1)
    return {sentence: f"{claim}.{number}" for sentence, number in numbers.items()}


def keep(found: Mapping, file: Path = FILE) -> None:
    """Add the numbers of a ledger's statements to the file, if it has new ones."""
    numbers = {claim: dict(of) for claim, of in given(file).items()}
    for row in found["statements"]:
        number = int(row["id"].rpartition(".")[2])
        numbers.setdefault(row["claim"], {}).setdefault(row["says"], number)
    if numbers != given(file):
        paths.replace(file, json.dumps(numbers, indent=1, ensure_ascii=False) + "\n")
