"""The claim of FR Sec. 4.2: stripes teach a decoder to compose."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from benchmarks.baselines.longer import lasting, twins
from benchmarks.baselines.paired import over
from benchmarks.spatial.claims import have_learned, settled
from vnlib.book.evidence import bounded, detail, given, one, paper, scaled, select, within
from vnlib.book.ledger import Decision, Part, claim

STRIPES, FEW = "stripes+0", "stripes+100"
ALONE, MOST = "bumps+100", "bumps+all"
PRODUCT = ("vn_axes", "vn_joint", "factorised")
TARGET = 0.8
HELD_OUT = {"region": "corner", "places": "pixels"}  # FR's reading, as far as the text goes
OPEN = {"region": "none", "places": "anywhere"}  # where neither hold-out nor pixels bound a law


def middle(r: xr.Dataset, name: str, model: str, diet: str) -> float:
    """The median over seeds of one model on one diet. KeyError names what lacks."""
    return float(one(r[name], model=model, diet=diet).median("seed"))


def zero_baseline(r: xr.Dataset, model: str) -> float:
    """What the zero baseline costs at the held-out positions."""
    return float(r["zero_baseline_ood"].sel(model=model).median())


def hidden(r: xr.Dataset | xr.DataArray) -> list[str]:
    """The ReLU layers, first to last."""
    names = [name for name in r["layer"].values.tolist() if name.startswith("layer")]
    return sorted(names, key=lambda name: int(name.removeprefix("layer")))


def sizes(r: xr.Dataset) -> dict[str, int]:
    """The models of different image sides -> their side."""
    found = {m: int(m[5:]) for m in r["model"].values.tolist() if m.startswith("side_")}
    return dict(sorted(found.items(), key=lambda one: one[1]))


def _settled(r: xr.Dataset, *diets: str, models: Sequence[str] = ("cnn",)) -> list[Part]:
    """That the trainings on some diets have settled, of the models without twins; stripes alone by
    their training error, since no bump is kept. KeyError says what lacks.
    """
    runs = select(r[["curve_step", "curve_val"]], model=models, diet=diets)
    alone = [model for model in models if model not in twins(r)]
    whose = [f"{model} decoder" for model in alone if model not in ("cnn", "cnn_square")]
    says = ", ".join([*diets, *whose]) + (" in both hold-outs" if len(alone) > 1 else "")
    return [settled(runs.sel(model=alone), says)] if alone else []


def _law(r: xr.Dataset, says: str, kind: str, measure: str, where: dict[str, str]) -> Part:
    """That the data needed for the target grow with the side as FR say: bumps alone like N^3, with
    stripes like N.

    The exponent is the slope of log need, the lower median over seeds, inf unless every side
    reaches the target. Bumps alone must reach it at every side; with stripes the exponent is 1 by
    construction where the 2N stripes alone suffice. NaN where no run was made; KeyError says which
    models lack.
    """
    sides = sizes(r)
    if len(sides) < 3:
        raise KeyError("the models of three image sizes")
    reading = {**where, "kind": kind, "measure": measure, "target": TARGET}
    need = r["need"].sel(model=list(sides), **reading).dropna("seed", how="all").fillna(np.inf)
    side, ran = np.array(list(sides.values()), float), need.sizes["seed"] > 0
    lower = need.quantile(0.5, "seed", method="lower").values if ran else np.full(len(side), np.inf)
    reached = np.isfinite(lower)
    slope = np.polyfit(np.log(side), np.log(lower), 1)[0] if reached.all() else np.inf
    slope, share = (slope, float(reached.mean())) if ran else (np.nan, np.nan)
    tag = ".".join((kind, measure, where["region"], where["places"]))
    if kind == "bumps":
        found = within(f"{says}: exponent of the need", 2.5, 3.5, **{f"{tag}.exponent": slope})
        all_sides = {f"{tag}.reached": share}
        return given(found, bounded(f"{says}: share of the sides reached", ">=", 1, **all_sides))
    found = bounded(f"{says}: exponent of the need", "<=", 1.5, **{f"{tag}.exponent": slope})
    alone = float((need.values <= 2 * side[:, None]).mean()) if ran else np.nan
    few = f"{says}: share of runs that the stripes alone bring there"
    return given(found, bounded(few, "<=", 0.5, **{f"{tag}.at_once": alone}))


def _by_layer(r: xr.Dataset, name: str, diet: str) -> xr.DataArray:
    """A number of the CNN's ReLU layers, per seed; of the quantiles over units the median."""
    values = one(r[name], model="cnn", diet=diet)
    values = values.sel(quantile=0.5) if "quantile" in values.dims else values
    return values.sel(layer=hidden(values)).transpose("layer", "seed")


@claim(
    id="FR-4",
    source="FR Sec. 4.2, Figs. 4, 7 and 15",
    figure="FR4-accuracy",
    statement="Stripes teach a CNN to compose: with stripes alone it draws crosses at positions it "
    "never saw, with a few bumps more it draws bumps; as many bumps alone do not suffice; the "
    "data needed grows like N with stripes and like N³ without; units go from stripes to bumps "
    "with depth, and the volume stays smooth in the hold-out.",
    terms="All are medians over seeds of a CNN on dark bumps: as printed with the corner held out, "
    "with controls with the square, too. Hits are held-out images whose strongest pixel is within "
    "1 px in x and in y; drawn hits are more like the bump, crosses more like the additive cross, "
    "by correlation. The need is the fewest stripes and bumps that reach a share. The rest is the share of a unit's map that no "
    "sum of stripes gives, median over units; roughness is that of log10 volume in the hold-out, "
    "mean over ReLU layers; the cross's ink is told by the weight of its two stripes in the "
    "image. Product readouts are those of VN-1L per axis, the full 2D VN and the "
    "factorised decoder. Of the CNN in both hold-outs, what was not trained with twice the updates must have settled.",
)
@lasting
def stripes_compose(r: xr.Dataset) -> Decision:
    def both(name: str, diet: str) -> xr.DataArray:
        return one(select(r[name], model=("cnn", "cnn_square")), diet=diet).median("seed")

    def told(values: xr.DataArray, name: str) -> dict[str, xr.DataArray]:
        return {f"{m}.{name}": values.sel(model=m) for m in values["model"].values}

    def draws(says: str, values: xr.DataArray) -> Part:
        part = bounded(f"{says}: drawn hits", ">=", TARGET, **told(values, "bumps_100"))
        return scaled(part, limit=1)

    def law(kind: str, measure: str, where: dict[str, str]) -> Part:
        place = "in the hold-out" if where is HELD_OUT else "nothing held out, bumps anywhere"
        fed = "bumps alone" if kind == "bumps" else "stripes and bumps"
        what = "0.8 drawn hits" if measure == "drawn" else "0.8 hits"
        grows = "with the cube of the side" if kind == "bumps" else "linearly with the side"
        return paper(_law(r, f"{fed}, {what}, {place}", kind, measure, where), grows)

    place, crosses, ink = (both(f"{n}_ood", STRIPES) for n in ("hit", "cross_share", "line"))
    bumps, printed, squares = both("bump_hit_ood", FEW), ["cnn"], ("cnn", "cnn_square")
    rest = _by_layer(r, "tuning_quantile", FEW)
    rough = {diet: _by_layer(r, "volume_rough", diet).mean("layer") for diet in (FEW, ALONE, MOST)}
    deeper = "stripes and 100 bumps: rest gained from the first ReLU layer to the last"
    smoother = "stripes and 100 bumps: roughness over that with all bumps and no stripes"
    smoother_than_few = "stripes and 100 bumps: roughness over that with 100 bumps alone"
    cubic, open_cubic = law("bumps", "joint", HELD_OUT), law("bumps", "joint", OPEN)
    alone = {"cnn.joint_alone_100": middle(r, "hit_ood", "cnn", ALONE)}
    with_few, lines = _settled(r, FEW), (_settled(r, STRIPES), _settled(r, STRIPES, models=squares))
    drawn = have_learned(one(r[["mse_id", "zero_baseline_id"]], diet=ALONE), ALONE, *printed)
    crossed = told(crosses.sel(model=printed), "crosses_0")
    hits = bounded("stripes alone: hits", ">=", 0.8, **told(place.sel(model=printed), "joint_0"))
    parts = [
        given(hits, *lines[0]),
        given(bounded("stripes alone: crosses", ">=", 0.8, **crossed), *lines[0]),
        given(draws("stripes and 100 bumps", bumps.sel(model=printed)), *with_few),
        given(bounded("100 bumps alone: hits", "<=", 0.5, **alone), drawn, *_settled(r, ALONE)),
        cubic,
        open_cubic,
        law("stripes", "joint", HELD_OUT),
        given(bounded(deeper, ">", 0, gained=(rest[-1] - rest[0]).median()), *with_few),
        given(
            bounded(smoother, "<", 1, rough_to_all=(rough[FEW] / rough[MOST]).median()),
            *_settled(r, FEW, MOST),
        ),
    ]

    # With controls.
    few = one(select(r[["mse_ood", "zero_baseline_ood"]], model=squares), diet=FEW)
    error = over(few["mse_ood"], few["zero_baseline_ood"])
    ever, able = both("hit_ood", MOST), both("hit_id", MOST)
    first, without = (_by_layer(r, "tuning_rest", diet)[0] for diet in (FEW, ALONE))
    to_alone = (rough[FEW] / rough[ALONE]).median()
    product = {f"alone_100.{model}": middle(r, "bump_hit_ood", model, ALONE) for model in PRODUCT}
    taken = "rest that stripes take from the first ReLU layer of as many bumps alone"
    controls = [
        given(
            bounded("both hold-outs, stripes alone: hits", ">=", 0.8, **told(place, "joint_0")),
            *lines[1],
        ),
        given(
            bounded(
                "both hold-outs, stripes alone: crosses", ">=", 0.8, **told(crosses, "crosses_0")
            )
            & bounded("weight of the cross's ink", ">=", 0.5, **told(ink, "ink")),
            *lines[1],
        ),
        given(
            draws("both hold-outs, stripes and 100 bumps", bumps)
            & bounded("OOD error over the zero baseline's", "<=", 0.5, **told(error, "of_zero")),
            *_settled(r, FEW, models=squares),
        ),
        given(
            bounded("both hold-outs, all bumps alone: hits", "<=", 0.5, **told(ever, "joint_all")),
            bounded("both hold-outs, all bumps alone: ID hits", ">=", 0.9, **told(able, "id_all")),
            *_settled(r, MOST, models=squares),
        ),
        cubic,
        open_cubic,
        law("stripes", "drawn", HELD_OUT),
        detail(law("stripes", "drawn", OPEN)),
        given(detail(bounded(taken, ">", 0, taken=(without - first).median("seed"))), *with_few),
        given(
            bounded(
                smoother_than_few,
                "<",
                1,
                rough_to_100=to_alone,
            ),
            *_settled(r, FEW, ALONE),
        ),
        given(
            bounded("product readouts on 100 bumps alone: drawn hits", "<", 0.8, **product),
            *_settled(r, ALONE, models=("factorised",)),  # of Vector Networks no curve is kept
        ),
    ]
    return Decision(parts, controls)
