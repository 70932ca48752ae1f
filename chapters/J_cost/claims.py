"""The claim of VN App. J: the hardware and the disk that the experiments need."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import xarray as xr

from vnlib.book.evidence import tagged
from vnlib.book.ledger import Decision, Part, claim

MEMORY = 16e9  # B: the paper's system memory
CARD = 11e9  # B: the smaller of the paper's two GPUs
DISK = 1e9  # B
COPIES = 4  # of the weights in a checkpoint: themselves, two moments of Adam, the best so far
AT_A_TIME = 2  # runs, as many as the book's two cores compute together


def _most_per_run(r: xr.Dataset) -> float:
    """Bytes of the weights of a run of the chapter that has most; NaN where no chapter says."""
    return float(((r["weights"] + r["selection_weights"]) / r["runs"]).max())


def _weights(r: xr.Dataset, kept: tuple[str, ...]) -> tuple[float, float]:
    """Bytes of the weights of all models: known ones, and with those of chapters that do not say,
    a run of which is taken to have as many as one of the chapter that has most.
    """
    known_bytes = sum(float(r[name].sum()) for name in kept)
    unknown = float(r["runs"].where(r["weights"].isnull() & r["bytes"].notnull()).sum())
    return known_bytes, known_bytes + (unknown * _most_per_run(r) if unknown else 0.0)


def _parts(r: xr.Dataset, tag: str, hours: str, at_a_time: int, *kept: str) -> list[Part]:
    """Memory, what a card would have to hold, and disk, of the chapters in `r`."""
    measured, computed = r["peak"].notnull(), r["bytes"].notnull()
    for there, what in ((measured, "measured runs"), (computed, "stored results")):
        if not bool(there.any()):
            raise KeyError(f"{what} of {tag}")
    peak, on_card = at_a_time * float(r["peak"].max()), float(r["device_peak"].max())
    own = at_a_time * float(r["own"].max() if np.isnan(on_card) else on_card)
    low, high = _weights(r, kept)
    saved = np.nanmax([COPIES * _most_per_run(r), float(r["checkpoints"].max())])
    needed = float(r["bytes"].sum()) + at_a_time * saved
    need = f"{at_a_time} runs at a time of {tag} need" if at_a_time > 1 else f"a run of {tag} needs"
    bound = "an upper bound from the processor's memory; no GPU was used"
    seen = bound if np.isnan(on_card) else "held on a GPU"
    rows = (
        (
            f"{need} less than 16 GB of memory, program included",
            peak < MEMORY,
            {
                "peak_GB": peak / 1e9,
                "chapters_measured": float(measured.sum()),
                "chapters_not_measured": float((computed & ~measured).sum()),
                "chapters_stopped_early": float((r["finished"] == 0).sum()),
            },
        ),
        (
            f"the data alone would fit on a card of 11 GB ({seen})",
            own < CARD,
            {"own_GB": own / 1e9},
        ),
        (
            f"results of {tag}, and checkpoints of what is being computed, take at most 1 GB of "
            "disk",
            needed <= DISK,
            {"disk_MB": needed / 1e6},
        ),
        (
            "so they do with the weights of all models of all seeds, had they been kept",
            needed + high <= DISK,
            {"kept_at_least_MB": (needed + low) / 1e6, "kept_at_most_MB": (needed + high) / 1e6},
        ),
    )
    parts = [Part(says, holds, tagged(numbers, tag)) for says, holds, numbers in rows]
    spent = {hours: float(r["seconds"].sum()) / 3600}
    parts[0] = replace(parts[0], numbers={**parts[0].numbers, **spent})
    return parts


@claim(
    id="VN-J",
    source="VN App. J",
    figure="appJ-chapters",
    statement="One consumer GPU (11 GB), a system memory of 16 GB and about 1 GB of disk suffice "
    "for every experiment; nothing is distributed.",
)
def hardware(r: xr.Dataset) -> Decision:
    """The paper's chapters, one run at a time; and the whole book, two of the largest at a time."""
    paper = r.isel(chapter=[i for i, name in enumerate(r["paper"].values) if str(name) == "VN"])
    return Decision(
        _parts(paper, "the paper's chapters", "paper_core_hours", 1, "weights"),
        _parts(r, "the whole book", "book_core_hours", AT_A_TIME, "weights", "selection_weights"),
    )
