"""The claim of VN App. J: the hardware and the disk that the experiments need."""

from __future__ import annotations

import numpy as np
import xarray as xr

from vnlib.book.evidence import bounded, paper, part, tagged, untested
from vnlib.book.ledger import Contrast, Decision, Part, claim

MEMORY, CARD = 16, 11  # GB: the paper's memory, the smaller of its GPUs
DISK = 1000  # MB: its disk
COPIES = 4  # of the weights in a checkpoint: themselves, two moments of Adam, the best so far


def _parts(r: xr.Dataset, tag: str, hours: str, at_a_time: int, *kept: str) -> list[Part]:
    """Memory, what a card would have to hold, and disk, of the chapters in `r`."""
    measured, computed = r["peak"].notnull(), r["bytes"].notnull()
    for there, what in ((measured, "measured runs"), (computed, "stored results")):
        if not there.any():
            raise KeyError(f"{what} of {tag}")
    on_card = r.get("device_peak", xr.DataArray(np.nan)).max()  # no numbers where no GPU was used
    peak = at_a_time * r["peak"].max()
    most = ((r["weights"] + r["selection_weights"]) / r["runs"]).max()
    unknown = r["runs"].where(r["weights"].isnull() & computed).sum()
    disk = r["bytes"].sum() + at_a_time * np.fmax(COPIES * most, r["checkpoints"].max())
    least = disk + sum(r[name].sum() for name in kept)
    memory = {
        "chapters_measured": measured.sum(),
        "chapters_not_measured": (computed & ~measured).sum(),
        "chapters_stopped_early": (r["finished"] == 0).sum(),
    }
    all_kept = {"kept_at_least_MB": least / 1e6, "kept_at_most_MB": (least + unknown * most) / 1e6}
    held = {
        "peak_GB": peak / 1e9,
        "card_GB": at_a_time * on_card / 1e9,
        "disk_MB": disk / 1e6,
    } | all_kept
    told = tagged(memory | {"peak_GB": held["peak_GB"]}, tag) | {hours: r["seconds"].sum() / 3600}

    def below(says: str, sign: str, most: float, *names: str) -> Part:
        return bounded(says, sign, most, **tagged({name: held[name] for name in names}, tag))

    card, process = (
        f"GB held on a GPU, {tag}",
        f"GB held by {at_a_time} run(s) at a time of {tag} < {MEMORY}",
    )
    return [
        paper(part(process, Contrast(np.ravel(held["peak_GB"]), "<", MEMORY), **told), "16 GB"),
        paper(
            untested(f"{card} < {CARD}", "what runs hold on a GPU was not measured")
            if on_card.isnull()
            else below(card, "<", CARD, "card_GB"),
            "cards of 11 GB",
        ),
        paper(
            below(f"MB of results and checkpoints of {tag} on disk", "<=", DISK, "disk_MB"),
            "roughly 1 GB",
        ),
        paper(
            below(f"MB with the weights of all models of all seeds, {tag}", "<=", DISK, *all_kept),
            "roughly 1 GB",
        ),
    ]


@claim(
    id="VN-J",
    source="VN App. J",
    figure="appJ-chapters",
    statement="One consumer GPU (11 GB), a system memory of 16 GB and about 1 GB of disk suffice "
    "for every experiment; nothing is distributed.",
    terms="Those runs of a chapter that took longest or have most weights are measured at full "
    "size, cut short, in processes of their own. A checkpoint has four times the weights of a run; "
    "a run that does not say its weights counts as one that has most. The whole book counts the "
    "models that were only tried, too. All is measured once: values have no interval.",
)
def hardware(r: xr.Dataset) -> Decision:
    """The paper's chapters, one run at a time; and the whole book, two at a time, as many as its
    two cores compute together.
    """
    paper = r.sel(chapter=r["paper"] == "VN")
    return Decision(
        _parts(paper, "the paper's chapters", "paper_core_hours", 1, "weights"),
        _parts(r, "the whole book", "book_core_hours", 2, "weights", "selection_weights"),
    )
