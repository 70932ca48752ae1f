"""The claims of VN Fig. 4: force composition. Errors are medians over seeds unless a rule says
otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence

import xarray as xr

from vnlib.book.evidence import bounded, of, part, tagged
from vnlib.book.ledger import Decision, Part, claim

BASELINES = ("mlp", "gnn", "transformer", "mamba", "film", "factorized")
OTHERS = (*BASELINES, "random")
LITERAL, GATED, TOKENS = "vn_literal_3", "vn_gated_3", "vn_token_3"
PRINTED = (LITERAL, GATED, *OTHERS)
SAME_TOKENS = ("token_mlp", "rbf_tokens")
LINEAR = {LITERAL: "linear_literal", GATED: "linear_gated"}
SINGLE = ("gravity", "spring", "drag", "lorentz")
BODIES = (5, 4, 3)
FITS = 0.1  # of the mean square of accelerations


def errors_of(
    r: xr.Dataset, models: Sequence[str], way: str = "joint", *, relative: bool = False
) -> xr.DataArray:
    """Errors of models with five, four and three bodies. KeyError says what lacks."""
    if lacking := [str(n) for n in BODIES if n not in r["bodies"].values]:
        raise KeyError(f"the numbers of bodies {', '.join(lacking)}")
    error = r["mse"].sel(way=way)
    return of(error / r["power"] if relative else error, model=models).sel(bodies=list(BODIES))


def cells(r: xr.Dataset, models: Sequence[str], way: str = "joint", **kind: bool) -> xr.DataArray:
    """Median errors (model, number, bodies): mean over the force sets of 1 to 4 forces."""
    number = (r["forces"].str.count(r"\+") + 1).rename("number")
    grouped = errors_of(r, models, way, **kind).groupby(number).mean()
    return grouped.median("seed").transpose("model", "number", "bodies")


def lowest(says: str, name: str, values: xr.DataArray, own: str, others: Sequence[str]) -> Part:
    """Whether a model is below the least of others on all mixtures and numbers of bodies."""
    mixed = values.sel(number=[2, 3, 4])
    return bounded(
        says, "<", 1, **{name: mixed.sel(model=own) / of(mixed, model=others).min("model")}
    )


def growth(values: xr.DataArray, kind: str = "") -> list[Part]:
    """Whether the errors of the six grow with the number of forces (per model the least ratio of
    n + 1 and n forces, five bodies), and with fewer bodies (three over five, mixtures).
    """
    six = values.sel(model=list(BASELINES))
    five, mean = six.sel(bodies=5), six.sel(number=[2, 3, 4]).mean("number")
    rise = (five.shift(number=-1) / five).min("number")
    drop = mean.sel(bodies=3) / mean.sel(bodies=5)
    tag, start = (f"{kind}_", f"{kind} errors") if kind else ("", "errors")
    return [
        bounded(f"{start} rise with the number of forces", ">", 1, **shown(rise, f"{tag}rise")),
        bounded(f"{start} rise with fewer bodies", ">", 1, **shown(drop, f"{tag}dropout")),
    ]


def shown(values: xr.DataArray, tag: str) -> dict[str, float]:
    """Numbers of models as the ledger shows them."""
    return tagged(values.to_series().to_dict(), tag)


@claim(
    id="VN-F4b",
    source="VN Fig. 4b",
    figure="fig4-errors",
    statement="Trained on single forces, all models fit them; errors grow with two, three and four "
    "forces at once, and further with fewer bodies, while VN-3L stays low against all others.",
)
def errors(r: xr.Dataset) -> Decision:
    plain, relative = cells(r, PRINTED), cells(r, PRINTED, relative=True)
    fit = relative.sel(model=[LITERAL, *BASELINES], number=1, bodies=5)
    low = relative.sel(model=[LITERAL, GATED], number=[2, 3, 4]).min("model")
    each = of(errors_of(r, [LITERAL, *BASELINES], relative=True), forces=SINGLE)
    worst = each.sel(bodies=5).median("seed").max("forces")
    apart = cells(r, [TOKENS, *OTHERS, *SAME_TOKENS])
    passes = cells(r, [LITERAL, *BASELINES], "passes")
    ends, same = "is lowest in all nine cells", "it is below other learners on the same tokens"
    in_passes = "in passes, VN-3L reading 22 numbers is below the six"
    return Decision(
        [
            bounded("all fit single forces", "<=", FITS, **shown(fit, "id")),
            *growth(plain),
            lowest(f"VN-3L reading 22 numbers {ends}", "literal_vs_best", plain, LITERAL, OTHERS),
            lowest(f"VN-3L reading gated features {ends}", "gated_vs_best", plain, GATED, OTHERS),
            bounded("one of them stays low", "<=", FITS, highest_relative=low),
        ],
        [
            bounded("all fit each law", "<=", FITS, **shown(worst, "worst_law")),
            *growth(relative, "relative"),
            lowest(f"VN-3L on tokens {ends}", "tokens_vs_best", apart, TOKENS, OTHERS),
            lowest(same, "tokens_vs_same_tokens", apart, TOKENS, SAME_TOKENS),
            lowest(in_passes, "literal_passes_vs_best", passes, LITERAL, BASELINES),
        ],
    )


def means(r: xr.Dataset, models: Sequence[str], way: str = "joint") -> xr.Dataset:
    """Median over seeds of the mean ID error (single forces, five bodies), of the mean OOD error
    (mixtures, 5 to 3), and of their ratio.
    """
    error, mixed = errors_of(r, models, way), r["forces"].str.contains(r"\+")
    inside = error.where(~mixed).sel(bodies=5, drop=True).mean("forces")
    outside = error.where(mixed).mean(("forces", "bodies"))
    return xr.Dataset({"ood": outside, "ratio": outside / inside}).median("seed")


@claim(
    id="VN-F4c",
    source="VN Fig. 4c",
    figure="fig4-diagonal",
    statement="Of all models VN is nearest to the diagonal of mean ID against mean OOD error, on "
    "logarithmic axes.",
)
def diagonal(r: xr.Dataset) -> Decision:
    mean = means(r, [*PRINTED, TOKENS, *SAME_TOKENS, *LINEAR.values()]).to_dataframe()
    ratio, ood = mean["ratio"].to_dict(), mean["ood"].to_dict()
    nearest, ends = min(ratio[m] for m in BASELINES), "is nearest the diagonal"
    both = {"literal_ratio": ratio[LITERAL], "nearest_other": nearest}
    best, least = min(ood[LITERAL], ood[GATED]), min(ood[m] for m in OTHERS)
    passes = means(r, [LITERAL, *BASELINES], "passes")["ratio"].to_series()
    apart = passes[LITERAL] / passes[list(BASELINES)].min()
    own, same = ratio[TOKENS], "it is nearer than other learners on the same tokens"
    learned = {
        f"{m}.{name}_vs_linear": values[m] / values[linear]
        for m, linear in LINEAR.items()
        for name, values in (("ood", ood), ("ratio", ratio))
    }
    more = all(v < 1 if "ood" in name else v <= 1 for name, v in learned.items())
    printed = [
        part(f"VN-3L reading 22 numbers {ends}", ratio[LITERAL] < nearest, **both),
        bounded(f"VN-3L reading gated features {ends}", "<", nearest, gated_ratio=ratio[GATED]),
        part("one of them has the lowest OOD error", best < least, ood=best, ood_other=least),
    ]
    controls = [
        part(
            "on tokens, errors grow no more than power",
            own <= 1.25 * ratio["random"],
            tokens_ratio=own,
            random_ratio=ratio["random"],
        ),
        bounded(same, "<", 1, tokens_vs_same_tokens=own / min(ratio[m] for m in SAME_TOKENS)),
        part("nearness is more than linearity", more, **learned),
        bounded("in passes, VN-3L reading 22 numbers is nearest", "<", 1, passes_vs_nearest=apart),
    ]
    return Decision(printed, controls)


@claim(
    id="VN-H1",
    source="VN App. H.1",
    figure="fig4-task",
    statement="The simulator: softened gravity, springs, linear drag and Lorentz rotation, which "
    "add up, in a box with a soft boundary, by fourth-order Runge-Kutta.",
)
def simulator(r: xr.Dataset) -> Decision:
    sim = r.isel(model=0, seed=0)
    exact, energy = shown(sim["sim_exact"], "from_exact"), shown(sim["sim_energy"], "energy")
    momentum, order = sim["sim_momentum"], sim["sim_order"]
    forms = len(exact) == 4 and max(exact.values()) <= 1e-6
    kept = momentum <= 1e-9 and max(energy.values()) <= 1e-6
    return Decision(
        [
            part("four laws follow their closed forms", forms, **exact),
            bounded("forces add up", "<=", 1e-12, superposition=sim["sim_superposition"]),
            part("momentum and energy are conserved", kept, momentum=momentum, **energy),
            part("the integrator is of fourth order", abs(order - 4) <= 0.25, order=order),
            bounded("the boundary is soft as printed", "<=", 1e-12, boundary=sim["sim_boundary"]),
        ]
    )
