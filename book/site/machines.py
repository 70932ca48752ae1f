"""The same runs on other machines: computed, compared statement by statement, and told on a page.

    python -m book.site.machines

computes what is missing of two chapters in `fast` under several settings of the environment, and of
shipped runs that a CPU of another maker computed, in `.cache/machines`; compares them as `vnbook
compare` does; and writes `results/machines.json`, from which the page "On other machines" is made.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from book.site.comparison import Compared, compared
from vnlib.book import paths, store
from vnlib.plots.statistics import raised, short

FOLDER = paths.ROOT / ".cache" / "machines"
NAME = "machines.json"
NONE_YET = "Nothing was compared yet.\n"

# Each library that adds up has its own: two BLAS, torch's and NumPy's loops, convolutions, numba.
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
ONE, TWO = dict.fromkeys(THREADS, "1"), dict.fromkeys(THREADS, "2")
SSE = {
    "ATEN_CPU_CAPABILITY": "default",
    "MKL_CBWR": "COMPATIBLE",
    "NPY_DISABLE_CPU_FEATURES": "X86_V3",
    "NUMBA_CPU_NAME": "nehalem",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    "OPENBLAS_CORETYPE": "NEHALEM",
}
PLAIN = "one thread"
SETTINGS = {PLAIN: ONE, "two threads": TWO, "no AVX": ONE | SSE}
FAST: dict[str, dict[str, str]] = {"FR5_rotation": {"models": "cnn,cnn_4"}, "I_mnist": {}}
SHIPPED = ("C_inference",)  # by an Intel Xeon


def compute(setting: str, profile: str, chapter: str, **given: str) -> Path:
    """The file of a chapter under a setting, computed where it lacks by a process of its own:
    libraries read the environment when they are loaded.
    """
    home = FOLDER / setting.replace(" ", "_")
    given |= {"profile": profile, "device": "cpu", "results_dir": str(home)}
    words = [word for pair in given.items() for word in ("-p", *pair)]
    command = [sys.executable, "-m", "book.site.cli", "run", chapter, "--no-page", *words]
    subprocess.run(command, cwd=paths.ROOT, env=os.environ | SETTINGS[setting], check=True)
    return paths.result_file(home, profile, chapter)


def pair(first: Path, second: Path, *names: str) -> dict[str, Any]:
    """What comes of two files of one chapter and profile, called by these names."""
    chapter, both = first.stem, (store.read(first), store.read(second))
    return {
        "chapter": chapter,
        "profile": first.parent.name,
        "names": names,
        "hardware": [str(one.attrs["hardware"]) for one in both],
        "equal": equal(*both),
        "statements": [_row(one) for one in compared(first.parent, second.parent, chapter)],
    }


def equal(first: Any, second: Any) -> tuple[int, int]:
    """How many of the variables that were measured have the same bits, of how many."""
    measured = [name for name in first.data_vars if not str(name).startswith("run_")]
    same = [first[name].drop_attrs().identical(second[name].drop_attrs()) for name in measured]
    return sum(same), len(same)


def _row(one: Compared) -> dict[str, Any]:
    far = None if np.isnan(one.distance) else round(one.distance, 4)
    own = {"id": one.id, "says": one.says, "values": one.values, "distance": far}
    return own | {"verdicts": one.verdicts}


def main() -> None:
    """Compute what is missing, compare, and write the file."""
    found = []
    for chapter, given in FAST.items():
        plain, *others = (compute(one, "fast", chapter, **given) for one in SETTINGS)
        names = list(SETTINGS)[1:]
        found += [pair(plain, one, PLAIN, name) for one, name in zip(others, names, strict=True)]
    for chapter in SHIPPED:
        shipped = paths.result_file(paths.RESULTS, "paper", chapter)
        here = compute(PLAIN, "paper", chapter)
        found.append(pair(shipped, here, *(cpu(one) for one in (shipped, here))))
    file = paths.RESULTS / NAME
    paths.replace(file, json.dumps({"pairs": found}, indent=1, ensure_ascii=False) + "\n")
    print(page(file))


def cpu(path: Path) -> str:
    """Model of the CPU that computed a file."""
    name = str(store.read(path).attrs["hardware"]).split(",")[0]
    return name.replace("(R)", "").removesuffix(" Processor")


# --- The page -------------------------------------------------------------------------------------


def page(path: Path) -> str:
    """The tables, in Markdown, of a file that `main` wrote."""
    if not path.exists():
        return NONE_YET
    pairs = json.loads(path.read_text(encoding="utf-8"))["pairs"]
    lines = [
        "| runs | between | equal variables | same verdict | median distance | largest |",
        "|---|---|---|---|---|---|",
        *(_line(*_summary(one)) for one in pairs),
        "| any | a CPU and a GPU | none measured | | | |",
    ]
    for one in pairs:
        if one["equal"][0] < one["equal"][1]:
            names = f"{_title(one['chapter'])}, {one['profile']}: {' and '.join(one['names'])}"
            title = escape(names, quote=False)
            lines += ["", f":::{{dropdown}} {title}", *_statements(one), ":::"]
    return "\n".join(lines) + "\n"


def distances(one: Mapping) -> np.ndarray:
    """How far the statements of a pair are apart, in spreads over seeds."""
    return np.abs([row["distance"] for row in one["statements"] if row["distance"] is not None])


def same_verdicts(one: Mapping) -> int:
    return sum(len(set(row["verdicts"])) == 1 for row in one["statements"])


def _title(name: str) -> str:
    """The heading of a chapter's page, which links to it have for a text, too."""
    if name not in paths.chapters():
        return name
    cells = json.loads(paths.notebook(name).read_text(encoding="utf-8"))["cells"]
    lines = "\n".join("".join(one["source"]) for one in cells if one["cell_type"] == "markdown")
    return next(line[2:] for line in lines.splitlines() if line.startswith("# "))


def _summary(one: Mapping) -> Sequence[str]:
    (same, many), far = one["equal"], distances(one)
    verdicts = f"{same_verdicts(one)} of {len(one['statements'])}"
    apart = (
        [raised(short(float(np.median(far)))), raised(short(float(far.max())))]
        if len(far)
        else ["", ""]
    )
    runs = f"[](chapters/{one['chapter']}.ipynb), `{one['profile']}`"
    return [runs, " and ".join(one["names"]), f"{same} of {many}", verdicts, *apart]


def _statements(one: Mapping) -> list[str]:
    lines = [_line("statement", *one["names"], "distance", "verdict"), "|---|---|---|---|---|"]
    for row in one["statements"]:
        values = ["" if value is None else digits(value) for value in row["values"]]
        far = "" if row["distance"] is None else raised(short(abs(row["distance"])))
        verdict = " → ".join(dict.fromkeys(row["verdicts"]))
        lines.append(_line(f"{row['id']}: {raised(row['says'])}", *values, far, verdict))
    return lines


def _line(*cells: str) -> str:
    """A row of a table in which no text is markup or ends a cell."""
    told = (escape(cell, quote=False).replace("|", "&#124;") for cell in cells)
    return f"| {' | '.join(told)} |"


def digits(value: float) -> str:
    """A number to four digits: where two differ it is in the last ones."""
    return raised(f"{value:.4g}")


if __name__ == "__main__":
    main()
