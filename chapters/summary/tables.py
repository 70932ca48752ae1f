"""The summary in words and tables, computed from the ledger and from the tables of
`summary_swaps`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace

import pandas as pd
import xarray as xr

from chapters.summary.figures import times
from chapters.summary.figures_swaps import PARTS, factors

NOTHING = "Not computed in this profile."
VERDICTS = ("reproduced", "partly", "not reproduced", "not testable")
CHAPTERS = {
    "positions": (
        "fig2_spatial",
        "F_spatial",
        "FR1_failure",
        "FR2_manifold",
        "FR3_low_rank",
        "FR4_stripes",
        "FR5_rotation",
    ),
    "signals": ("fig3_functions", "G_functions"),
    "forces": ("fig4_nbody", "H_nbody"),
    "digits": ("fig5_mnist", "I_mnist"),
}

# The page in one table: what was found as the papers ran it, what beside fair controls, and the
# part that decides.
SHORT = {
    "positions": (
        "Inside the hold-out the Vector Network leaves {vn_full.out}, the CNN {cnn.out}, "
        "the MLP {mlp.out}.",
        "With the same product a decoder built by hand leaves {by_hand.out}, back-propagation "
        "{linear_pass.out}, atoms that never learned {random.out}.",
        "**Readout**: flat instead of a product {flat.times}",
    ),
    "signals": (
        "On hidden parts of compositions VN-1L leaves {vn_1.out}, the Transformer "
        "{transformer.out}, which is not told what is hidden.",
        "Linear interpolation leaves {interpolation.out}, least squares in principal "
        "components {pca.out}.",
        "**Inference**: solved to its end {solved.times}; fixed atoms {fixed.times}",
    ),
    "forces": (
        "On mixtures VN-3L leaves {vn_3.out}, the GNN {gnn.out}: neither composes.",
        "One pass per force, added up, leaves {mlp_passes.out} with the MLP, {gnn_passes.out} "
        "with the GNN, {passes.out} with VN-3L.",
        "**Readout**: a sum of passes {passes.times}; **input**: tokens of pairs {tokens.times}",
    ),
    "digits": (
        "On images that are no single digits VN-1L leaves {vn_1.out}, the autoencoder {ae.out}, "
        "at {vn_1.inn} and {ae.inn} on digits.",
        "Fixed cosines under the same inference leave {dct.out}, principal components {pca.out}.",
        "**Dictionary**, but little: fixed cosines {dct.times}",
    ),
}
SPATIAL = (
    "**One part changed.** With a flat readout the same Vector Network leaves {flat.out}, at "
    "{flat.inn} in distribution; with the product, but the image itself as input, {image.out}; "
    "behind one ReLU pass the product leaves {relu_pass.out}.",
    "**Depth.** With three layers for each axis a Vector Network leaves {axes_3.out}.",
    "**Forced Rendering.** Without a product, the embedding network leaves {free_maps.out}, "
    "{penalty.out} once a penalty presses its maps towards rank 1; a CNN {bumps.out} after all "
    "bumps, {stripes.out} after stripes and a hundred bumps.",
)
FUNCTIONS = (
    "**One part changed.** The masked problem solved to its end, instead of five rounds: "
    "{solved.out}.",
    "In five rounds, atoms that never learned leave {untrained.out}, fixed ones {fixed.out}; "
    "solved to the end, {untrained_solved.out} and {fixed_solved.out}.",
    "**Told what is hidden.** A Transformer trained with masks leaves {transformer_masked.out}.",
)
FORCES = (
    "**Single forces** come first: from 22 numbers per body VN-3L leaves {vn_3.inn} of "
    "their power, the GNN {gnn.inn}.",
    "**One part changed.** From tokens of pairs VN-3L leaves {tokens.out} on mixtures.",
    "On the same tokens RBF ridge regression leaves {tokens_rbf.out}, a small network "
    "{tokens_network.out}.",
)
DIGITS = (
    "**One part changed.** A linear drawing from one pass instead of a settle leaves "
    "{one_pass.out}; a nonlinear one with codes searched for every image {searched.out}; atoms "
    "that are training digits {untrained.out}, at {untrained.inn} in distribution.",
    "**Same inference.** Atoms by scikit-learn's rule leave {sklearn.out}.",
    "**A low error alone says little.** An autoencoder with more units than pixels can "
    "copy: {overcomplete.out}.",
)


def percent(share: float) -> str:
    """Two digits, with a space that does not break: 95 %, 0.005 %, 5e-9 %, 112 %."""
    value = 100 * share
    return (
        f"{value:.0f}\N{NO-BREAK SPACE}%"
        if value >= 99.5
        else f"{value:.2g}\N{NO-BREAK SPACE}%".replace("e-0", "e-")
    )


def _named(table: xr.Dataset) -> dict[str, SimpleNamespace]:
    """Medians of every row, as sentences name them: `key.inn` and `key.out` in %, `key.times` over
    the first row.
    """
    middle = {side: table[side].median("seed") for side in ("inside", "outside")}
    return {
        str(key): SimpleNamespace(
            inn=percent(float(middle["inside"][row])),
            out=percent(float(middle["outside"][row])),
            times=times(float(factor)),
        )
        for row, (key, factor) in enumerate(
            zip(table["key"].values, factors(table).values, strict=True)
        )
    }


def said(table: xr.Dataset | None, sentences: Sequence[str]) -> str:
    """Sentences with the medians of the rows that they name; those whose rows are not in the table
    are left out.
    """
    if table is None:
        return NOTHING
    known = _named(table)
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


def short(tables: Mapping[str, xr.Dataset | None]) -> str:
    """The page in one table, in Markdown: a dash where the results lack a model that the cell
    names.
    """
    lines = [
        "| benchmark | as the papers ran it | beside fair controls | what decides |",
        "|---|---|---|---|",
    ]
    for benchmark, cells in SHORT.items():
        table = tables[benchmark]
        found = [said(table, [cell]).removeprefix("- ") for cell in cells]
        told = " | ".join("–" if cell == NOTHING else cell for cell in found)
        lines.append(f"| [{benchmark.capitalize()}](#summary-of-{benchmark}) | {told} |")
    return "\n".join(lines)


def summary(rows: Sequence[Mapping]) -> str:
    """How many claims and single statements hold under each protocol."""
    tested = [row for row in rows if row["parts"]]
    if not tested:
        return NOTHING
    lines = []
    for verdict, parts, protocol in (
        ("verdict", "parts", "As the papers ran it"),
        ("verdict_controls", "parts_controls", "Beside fair controls"),
    ):
        asked = [row for row in tested if row[parts]]
        whole, partly, none = (sum(row[verdict] == word for row in asked) for word in VERDICTS[:3])
        all_parts = [part["holds"] for row in asked for part in row[parts]]
        lines.append(
            f"- **{protocol}:** {whole} of {len(asked)} claims hold whole, {partly} in part, "
            f"{none} not at all; of the {len(all_parts)} statements that they consist of, "
            f"{sum(all_parts)} hold."
        )
    weaker = [
        row
        for row in tested
        if row["parts_controls"] and row["verdict"] == VERDICTS[0] != row["verdict_controls"]
    ]
    lines.append(
        f"- Of the claims that hold whole as the papers ran them, {len(weaker)} no longer "
        "do beside fair controls."
    )
    return "\n".join(lines)


def verdicts(rows: Sequence[Mapping], benchmark: str) -> str:
    """The claims of a benchmark by verdict, a line for each protocol, in Markdown; ids link to the
    ledger.
    """
    own = [row for row in rows if row["chapter"] in CHAPTERS[benchmark]]
    lines = []
    for key, protocol in (
        ("verdict", "Claims as printed"),
        ("verdict_controls", "Beside fair controls"),
    ):
        found = {word: [_link(row["id"]) for row in own if row[key] == word] for word in VERDICTS}
        told = "; ".join(f"{word} {', '.join(ids)}" for word, ids in found.items() if ids)
        lines.append(f"- **{protocol}:** {told or 'none'}.")
    return "\n".join(lines)


def _link(claim: str) -> str:
    return (
        f'<a href="../generated/ledger.html#claim-{claim.lower()}" style="white-space: '
        f'nowrap">{claim}</a>'
    )


def decides(tables: Mapping[str, xr.Dataset | None]) -> pd.DataFrame:
    """By benchmark and part: what was put in its place, and the factor of the OOD error (of the ID
    error).
    """
    rows = {}
    for benchmark, table in tables.items():
        cells = dict.fromkeys(PARTS, "")
        if table is not None:
            inside = factors(table, "inside").values
            for row, factor in enumerate(factors(table).values):
                one = table.isel(row=row)
                part = str(one["part"].item())
                if part:
                    entry = (
                        f"{described(one)} **{times(float(factor))}** ({times(float(inside[row]))})"
                    )
                    cells[part] = f"{cells[part]}; {entry}" if cells[part] else entry
        rows[benchmark] = {part: cell or "–" for part, cell in cells.items()}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(columns="benchmark")


def parts(tables: Mapping[str, xr.Dataset | None]) -> str:
    """The same as a table in Markdown, whose cells can break; benchmarks as columns."""
    found = decides(tables)
    lines = [f"| part | {' | '.join(found.index)} |", f"|---|{'---|' * len(found)}"]
    return "\n".join(
        [*lines, *(f"| **{part}** | {' | '.join(found[part])} |" for part in found.columns)]
    )


def described(row: xr.Dataset) -> str:
    """What a row puts in the place of a part, without the name of the part."""
    start = f"{row['part'].item()}: "
    text = next(
        str(row[k].item())
        for k in ("name", "block")
        if str(row[k].item()).lower().startswith(start)
    )
    return text[len(start) :]


def lacking(chapters: Mapping[str, xr.Dataset | None], table: xr.Dataset | None) -> str:
    """Why a picture is not there: results that are not stored, or lack its first row; "" where it
    is there.
    """
    if table is not None:
        return ""
    if absent := [name for name, results in chapters.items() if results is None]:
        return f"No picture: no results of {', '.join(absent)} here."
    return f"No picture: {', '.join(chapters)} without its first model."
