"""The summary in words and tables, computed from the ledger and from the tables of `summary_swaps`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import SimpleNamespace

import numpy as np
import pandas as pd
import xarray as xr

from vnlib.figures.summary import times
from vnlib.figures.summary_swaps import PARTS, factors

NOTHING = "Not computed in this profile."
VERDICTS = ("reproduced", "partly", "not reproduced", "not testable")
PAPERS = {"VN": "Vector Networks", "FR": "Forced Rendering"}
PROTOCOLS = {"verdict": "paper's protocol", "verdict_fair": "fair"}
CHAPTERS = {
    "positions": ("fig2_spatial", "F_spatial", "FR1_failure", "FR2_manifold", "FR3_low_rank", "FR4_stripes",
                  "FR5_rotation"),
    "signals": ("fig3_functions", "G_functions"),
    "forces": ("fig4_nbody", "H_nbody"),
    "digits": ("fig5_mnist", "I_mnist"),
}  # fmt: skip

SPATIAL = (
    "**As in the paper.** Inside the hold-out the Vector Networks leave {vn_full.out} (one dictionary) and "
    "{axes_3.out} (per axis, 3 layers) of a blank image's error, the CNN {cnn.out}, the MLP {mlp.out}.",
    "**Fair controls.** With the same product, a decoder factorised by hand leaves {by_hand.out}, one linear pass by "
    "back-propagation {linear_pass.out}, random atoms that never learn {random.out}.",
    "**One part changed.** With a flat readout the same Vector Network leaves {flat.out}, at {flat.inn} in "
    "distribution; with the product, but the image itself as input, {image.out}; behind one ReLU pass the product "
    "leaves {relu_pass.out}.",
    "**Forced Rendering.** Without a product, the embedding network leaves {free_maps.out}, {penalty.out} once a "
    "penalty presses its maps towards rank 1; a CNN {bumps.out} after all bumps, {stripes.out} after stripes and a "
    "hundred bumps.",
)
FUNCTIONS = (
    "**As in the paper.** On hidden parts of compositions VN-1L leaves {vn_1.out} of the error of predicting zero, "
    "DeepAE3 {deep_ae.out}, the Transformer {transformer.out}; but these read zeros there, and nothing tells them.",
    "**Fair controls.** Linear interpolation leaves {interpolation.out}, a Transformer trained with masks "
    "{transformer_masked.out}, least squares in principal components {pca.out}.",
    "**One part changed.** The masked problem solved to its end, instead of five rounds: {solved.out}.",
    "In five rounds, atoms that never learned leave {untrained.out}, fixed ones {fixed.out}; solved to the end, "
    "{untrained_solved.out} and {fixed_solved.out}.",
)
FORCES = (
    "**As in the paper.** From 22 numbers per body and all forces at once, VN-3L leaves {vn_3.inn} of the power of "
    "accelerations on single forces and {vn_3.out} on mixtures, the GNN {gnn.inn} and {gnn.out}.",
    "**Fair controls.** Ridge regression on the same numbers leaves {ridge.out} on mixtures.",
    "From tokens of pairs, VN-3L leaves {tokens.out}, RBF ridge regression {tokens_rbf.out}, a small network "
    "{tokens_network.out}.",
    "**One part changed.** One pass per force, the outputs added, with the same weights: VN-3L {passes.out}, the MLP "
    "{mlp_passes.out} instead of {mlp.out}, the GNN {gnn_passes.out}.",
)
DIGITS = (
    "**As in the paper.** At {vn_1.inn} and {ae.inn} of the power of single digits, VN-1L leaves {vn_1.out} out of "
    "distribution, the autoencoder {ae.out}.",
    "**Fair controls.** Fixed cosines under the same inference, at {dct.inn} in distribution, leave {dct.out}; atoms "
    "by scikit-learn's rule {sklearn.out}; the largest principal components of each image {pca_largest.out}.",
    "An autoencoder with more units than pixels can copy: {overcomplete.out}.",
    "**One part changed.** A linear drawing from one pass instead of a settle leaves {one_pass.out}; a nonlinear one "
    "with codes searched for every image {searched.out}; atoms that are training digits {untrained.out}, at "
    "{untrained.inn} in distribution.",
)


def percent(share: float) -> str:
    """Two digits, with a space that does not break: 95 %, 0.005 %, 5e-9 %, 112 %."""
    value = 100 * share
    return (
        f"{value:.0f}\N{NO-BREAK SPACE}%" if value >= 99.5 else f"{value:.2g}\N{NO-BREAK SPACE}%".replace("e-0", "e-")
    )


def said(table: xr.Dataset | None, sentences: Sequence[str]) -> str:
    """Sentences with the medians of the rows that they name; those whose rows are not in the table are left out."""
    if table is None:
        return NOTHING
    middle = {side: table[side].median("seed") for side in ("inside", "outside")}
    known = {
        str(key): SimpleNamespace(
            inn=percent(float(middle["inside"][row])), out=percent(float(middle["outside"][row])),
            times=times(float(factor)),
        )
        for row, (key, factor) in enumerate(zip(table["key"].values, factors(table).values, strict=True))
    }  # fmt: skip
    lines: list[str] = []
    for sentence in sentences:
        try:
            text = sentence.format_map(known)
        except KeyError:
            continue
        # What does not open with bold words goes on where the one before ended.
        if text.startswith("**") or not lines:
            lines.append(f"- {text}")
        else:
            lines[-1] += f" {text}"
    return "\n".join(lines) or NOTHING


def counts(rows: Sequence[Mapping]) -> pd.DataFrame:
    """How many claims have which verdict, by paper and by protocol; claims that a protocol does not ask are apart."""
    table = {}
    for start, paper in PAPERS.items():
        for key, protocol in PROTOCOLS.items():
            found = Counter(row[key] or "not asked" for row in rows if row["source"].startswith(start))
            table[f"{paper}, {protocol}"] = {word: found[word] for word in (*VERDICTS, "not asked")}
    return pd.DataFrame.from_dict(table, orient="index").rename_axis(columns="claims")


def summary(rows: Sequence[Mapping]) -> str:
    """How many claims and single statements hold under each protocol."""
    tested = [row for row in rows if row["parts"]]
    if not tested:
        return NOTHING
    lines = []
    for verdict, parts, protocol in (("verdict", "parts", "paper's protocol"), ("verdict_fair", "parts_fair", "fair")):
        asked = [row for row in tested if row[parts]]
        whole = sum(row[verdict] == VERDICTS[0] for row in asked)
        all_parts = [part["holds"] for row in asked for part in row[parts]]
        lines.append(
            f"- **{protocol[0].upper()}{protocol[1:]}:** {whole} of {len(asked)} claims hold whole, and "
            f"{sum(all_parts)} of the {len(all_parts)} statements that they consist of."
        )
    weaker = [row for row in tested if row["parts_fair"] and row["verdict"] == VERDICTS[0] != row["verdict_fair"]]
    lines.append(
        f"- Of the claims that hold whole as the papers ran them, {len(weaker)} do not hold whole beside fair controls."
    )
    return "\n".join(lines)


def verdicts(rows: Sequence[Mapping], benchmark: str) -> str:
    """The claims of a benchmark by verdict and protocol, as a table in Markdown; ids link to the ledger."""
    own = [row for row in rows if row["chapter"] in CHAPTERS[benchmark]]
    used = [word for word in VERDICTS if any(word in (row["verdict"], row["verdict_fair"]) for row in own)]
    lines = [f"| | {' | '.join(used)} |", f"|---|{'---|' * len(used)}"]
    for key, protocol in PROTOCOLS.items():
        cells = [", ".join(_link(row["id"]) for row in own if row[key] == word) or "–" for word in used]
        lines.append(f"| **{protocol}** | {' | '.join(cells)} |")
    return "\n".join(lines)


def _link(claim: str) -> str:
    return f'<a href="../generated/ledger.html#claim-{claim.lower()}" style="white-space: nowrap">{claim}</a>'


def decides(tables: Mapping[str, xr.Dataset | None]) -> pd.DataFrame:
    """By benchmark and part: what was put in its place, and the factor of the OOD error."""
    rows = {}
    for benchmark, table in tables.items():
        cells = dict.fromkeys(PARTS, "")
        if table is not None:
            for row, factor in enumerate(factors(table).values):
                one = table.isel(row=row)
                part = str(one["part"].item())
                if part:
                    entry = f"{described(one)} {times(float(factor))}"
                    cells[part] = f"{cells[part]}; {entry}" if cells[part] else entry
        rows[benchmark] = {part: cell or "–" for part, cell in cells.items()}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(columns="benchmark")


def parts(tables: Mapping[str, xr.Dataset | None]) -> str:
    """The same as a table in Markdown, whose cells can break; benchmarks as columns."""
    found = decides(tables)
    lines = [f"| part | {' | '.join(found.index)} |", f"|---|{'---|' * len(found)}"]
    return "\n".join([*lines, *(f"| **{part}** | {' | '.join(found[part])} |" for part in found.columns)])


def described(row: xr.Dataset) -> str:
    """What a row puts in the place of a part, without the name of the part."""
    start = f"{row['part'].item()}: "
    text = next(str(row[k].item()) for k in ("name", "block") if str(row[k].item()).lower().startswith(start))
    return text[len(start) :]


def widest(tables: Mapping[str, xr.Dataset | None]) -> str:
    """In every benchmark how far swaps of one part reach, and the one that moves the OOD error most."""
    lines = []
    for benchmark, table in tables.items():
        if table is None or not (changed := np.flatnonzero(table["part"].values != "")).size:
            continue
        out, inn = (factors(table, side).values for side in ("outside", "inside"))
        most = max(changed, key=lambda row: abs(np.log(out[row])))
        one = table.isel(row=most)
        lines.append(
            f"- **{benchmark.capitalize()}:** between {times(out[changed].min())} and {times(out[changed].max())}; "
            f"most by {one['part'].item()} ({described(one)}: {times(out[most])}, in distribution {times(inn[most])})."
        )
    return "\n".join(lines) or NOTHING


def lacking(chapters: Mapping[str, xr.Dataset | None], table: xr.Dataset | None) -> str:
    """Why a picture is not there: results that are not stored, or lack its first row; "" where it is there."""
    if table is not None:
        return ""
    if absent := [name for name, results in chapters.items() if results is None]:
        return f"No picture: no results of {', '.join(absent)} here."
    return f"No picture: {', '.join(chapters)} without its first model."


def sources(known: Mapping[str, Mapping[str, str]]) -> pd.DataFrame | str:
    """Where the numbers of the pictures come from; `known` holds `provenance.facts` by chapter."""
    if not known:
        return NOTHING
    columns = {"date": "date (UTC)", "runs": "runs", "time": "compute time", "library": "library"}
    table = {name: {title: facts[key] for key, title in columns.items()} for name, facts in known.items()}
    return pd.DataFrame.from_dict(table, orient="index").rename_axis(columns="chapter")
