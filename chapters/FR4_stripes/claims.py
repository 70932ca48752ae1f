"""The claim of FR Sec. 4.2: stripes teach a decoder to compose."""

from __future__ import annotations

import numpy as np
import xarray as xr

from vnlib.book.evidence import bounded, one, part, select
from vnlib.book.ledger import Decision, claim

STRIPES, FEW = "stripes+0", "stripes+100"
ALONE, MOST = "bumps+100", "bumps+all"
PRODUCT = ("vn_axes", "vn_joint", "factorised")
TARGET = 0.8
HELD_OUT = {"region": "corner", "places": "pixels"}  # FR's reading, as far as the text goes


def middle(r: xr.Dataset, name: str, model: str, diet: str) -> float:
    """The median over seeds of one model on one diet. KeyError names what lacks."""
    return float(one(r[name], model=model, diet=diet).median("seed"))


def zero_baseline(r: xr.Dataset, model: str) -> float:
    """What a zero image costs at the held-out positions."""
    return float(r["zero_baseline_ood"].sel(model=model).median())


def hidden(r: xr.Dataset | xr.DataArray) -> list[str]:
    """The ReLU layers, first to last."""
    names = [name for name in r["layer"].values.tolist() if name.startswith("layer")]
    return sorted(names, key=lambda name: int(name.removeprefix("layer")))


def sizes(r: xr.Dataset) -> dict[str, int]:
    """The models of different image sides -> their side."""
    found = {m: int(m[5:]) for m in r["model"].values.tolist() if m.startswith("side_")}
    return dict(sorted(found.items(), key=lambda one: one[1]))


def _law(r: xr.Dataset, kind: str, measure: str, name: str) -> dict[str, float]:
    """How the data needed for the target in the hold-out grow with the side, as "name.exponent":
    slope of log need, the lower median over seeds, NaN unless every side reaches the target; sides
    that reach it.
    """
    sides = sizes(r)
    if len(sides) < 3:
        raise KeyError("the models of three image sizes")
    need = r["need"].sel(model=list(sides), **HELD_OUT, kind=kind, measure=measure, target=TARGET)
    lower = (
        need.dropna("seed", how="all").fillna(np.inf).quantile(0.5, "seed", method="lower").values
    )
    reached, side = np.isfinite(lower), np.log(list(sides.values()))
    slope = np.polyfit(side, np.log(lower), 1)[0] if reached.all() else np.nan
    found = {"exponent": slope, "sides_reached": reached.sum(), "sides": len(sides)}
    return {f"{name}.{key}": value for key, value in found.items()}


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
    "data needed grows like N with stripes and like N^3 without; units go from stripes to bumps "
    "with depth, and the volume stays smooth in the hold-out.",
    terms="All are medians over seeds of a CNN on dark bumps: as printed with the corner held out, "
    "with controls with the square, too. Hits are held-out images whose strongest pixel is within "
    "1 px in x and in y; drawn hits are more like the bump, crosses more like the additive cross, "
    "by correlation. Items are stripes and bumps. The rest is the share of a unit's map that no "
    "sum of stripes gives, median over units; roughness is that of log10 volume in the hold-out, "
    "mean over ReLU layers; the cross's ink is told by the weight of its two stripes in the "
    "image. Product readouts are those of VN-1L per axis, the full 2D VN and the "
    "factorised decoder.",
)
def stripes_compose(r: xr.Dataset) -> Decision:
    def both(name: str, diet: str) -> xr.DataArray:
        return one(select(r[name], model=("cnn", "cnn_square")), diet=diet).median("seed")

    place, crosses, ink = (both(f"{n}_ood", STRIPES) for n in ("hit", "cross_share", "line"))
    bumps, cnn, square = both("bump_hit_ood", FEW), {"model": "cnn"}, {"model": "cnn_square"}
    on_stripes = {"joint_0": place.sel(cnn), "crosses_0": crosses.sel(cnn)}
    with_bumps = {"joint_100": middle(r, "hit_ood", "cnn", FEW), "bumps_100": bumps.sel(cnn)}
    alone = middle(r, "hit_ood", "cnn", ALONE)
    cubic, linear = _law(r, "bumps", "joint", "bumps"), _law(r, "stripes", "joint", "stripes")
    reach = "{} reach 0.8 {} at every image side, with items that grow like its power {}"
    is_cubic = 2.5 <= cubic["bumps.exponent"] <= 3.5
    grows = part(reach.format("bumps alone", "hits", "2.5 to 3.5"), is_cubic, **cubic)
    like_n = reach.format("stripes and bumps", "{}", "1.5 at most")
    rest = _by_layer(r, "tuning_quantile", FEW)
    first, *_, last = rest.median("seed").values
    rough = {diet: _by_layer(r, "volume_rough", diet).mean("layer") for diet in (FEW, ALONE, MOST)}
    smooth = {f"roughness_{diet}": values.median("seed") for diet, values in rough.items()}
    few, _, most = smooth.values()
    deeper = "stripes and 100 bumps: more rest in the last ReLU layer than in the first"
    parts = [
        bounded("stripes alone: hits, and crosses", ">=", 0.8, **on_stripes),
        part("stripes and 100 bumps: at least 0.8 drawn hits", bumps.sel(cnn) >= 0.8, **with_bumps),
        bounded("100 bumps alone: hits", "<=", 0.5, joint_alone_100=alone),
        grows,
        part(like_n.format("hits"), linear["stripes.exponent"] <= 1.5, **linear),
        part(deeper, last > first, rest_first=first, rest_last=last),
        part("and less roughness than with all bumps and no stripes", few < most, **smooth),
    ]

    # With controls.
    inks = {f"ink.{model}": ink.sel(model=model) for model in ink["model"].values}
    also = {"square.joint_0": place.sel(square), "square.crosses_0": crosses.sel(square)}
    error = both("mse_ood", FEW) / r["zero_baseline_ood"].median("seed")
    errors = {"error_vs_zero": error.sel(cnn), "square.error_vs_zero": error.sel(square)}
    drawn = {"bumps_100": bumps.sel(cnn), "square.bumps_100": bumps.sel(square)}
    drawn_law = _law(r, "stripes", "drawn", "drawn")
    ever, learned = both("hit_ood", MOST), both("hit_id", MOST)
    layer, without = (_by_layer(r, "tuning_rest", diet) for diet in (FEW, ALONE))
    steps = {
        "rest_rises_by": np.minimum(*(v[-1] - v[0] for v in (rest.values, layer.values))),
        "first_layer_below_bumps_alone_by": without[0].values - layer[0].values,
    }
    over = {f"rough_vs_{diet}": rough[FEW] / rough[diet] for diet in (ALONE, MOST)}
    product = {f"alone_100.{model}": middle(r, "bump_hit_ood", model, ALONE) for model in PRODUCT}
    rises = (
        "in every seed, of units and of whole layers: rest gained from the first ReLU layer to the "
        "last, and rest that stripes take from the first"
    )
    controls = [
        bounded("stripes alone: hits, and crosses", ">=", 0.8, **on_stripes, **also)
        & bounded("weight of the cross's ink", ">=", 0.5, **inks),
        bounded("stripes and 100 bumps: drawn hits", ">=", 0.8, **drawn)
        & bounded("OOD error over a zero image's", "<=", 0.5, **errors),
        bounded("all bumps alone: hits", "<=", 0.5, joint_alone_all=ever)
        & bounded("ID hits", ">=", 0.9, joint_id_all=learned),
        grows,
        part(like_n.format("drawn hits"), drawn_law["drawn.exponent"] <= 1.5, **drawn_law),
        bounded(rises, ">", 0, **steps),
        bounded("in every seed: roughness over that of 100 bumps or all alone", "<", 1, **over),
        bounded("product readouts on 100 bumps alone: drawn hits", "<", 0.8, **product),
    ]
    return Decision(parts, controls)
