"""The claim of FR Sec. 4.2: stripes teach a decoder to compose."""

from __future__ import annotations

import numpy as np
import xarray as xr

from vnlib.book.evidence import known
from vnlib.book.ledger import Decision, Part, claim

STRIPES = "stripes+0"
FEW = "stripes+100"
ALONE = "bumps+100"
MOST = "bumps+all"
BOTH = {"cnn": "", "cnn_square": "square."}
PRODUCT = ("vn_axes", "vn_joint", "factorised")
TARGET = 0.8


def cell(r: xr.Dataset, name: str, model: str, diet: str) -> xr.DataArray:
    """A number per seed of one model on one diet. KeyError names what lacks."""
    for axis, value in (("model", model), ("diet", diet)):
        if value not in r[axis].values:
            raise KeyError(f"the {axis} {value}")
    return r[name].sel(model=model, diet=diet)


def middle(r: xr.Dataset, name: str, model: str, diet: str) -> float:
    """The median over seeds of one model on one diet."""
    return float(cell(r, name, model, diet).median("seed"))


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


def _law(r: xr.Dataset, kind: str, measure: str) -> dict[str, float]:
    """How the data needed for the target grows with the side: slope of log median need, sides that
    reach it.

    The lower median over seeds, inf where it is not reached; NaN for a slope unless every side
    reaches the target.
    """
    sides = sizes(r)
    if len(sides) < 3:
        raise KeyError("the models of three image sizes")
    need = r["need"].sel(model=list(sides), kind=kind, measure=measure, target=TARGET)
    ordered = np.sort(need.fillna(np.inf).transpose("model", "seed").values, axis=1)
    lower = ordered[:, (ordered.shape[1] - 1) // 2]
    reached, side = np.isfinite(lower), np.log(list(sides.values()))
    slope = float(np.polyfit(side, np.log(lower), 1)[0]) if reached.all() else float("nan")
    counts = {"sides_reached": float(reached.sum()), "sides": float(len(sides))}
    return {"exponent": slope} | counts


def _by_layer(r: xr.Dataset, name: str, diet: str) -> xr.DataArray:
    """A number of the CNN's ReLU layers, per seed."""
    values = cell(r, name, "cnn", diet)
    return values.sel(layer=hidden(values)).transpose("layer", "seed", ...)


def _part(says: str, holds: bool, name: str = "", **numbers: float) -> Part:
    """A statement with the numbers that exist, "name.key" where they share a name."""
    start = f"{name}." if name else ""
    return known(Part(says, bool(holds), {f"{start}{key}": v for key, v in numbers.items()}))


@claim(
    id="FR-4",
    source="FR Sec. 4.2, Figs. 4, 7 and 15",
    chapter="FR4_stripes",
    figure="FR4-accuracy",
    statement="Stripes teach a CNN to compose: with stripes alone it draws crosses at positions it "
    "never saw, with a few bumps more it draws bumps; as many bumps alone do not suffice; the "
    "data needed grows like N with stripes and like N^3 without; units go from stripes to bumps "
    "with depth, and the volume stays smooth in the hold-out.",
    rule="Medians over seeds; a hit is the strongest pixel within 1 px in x and in y, out of "
    "distribution; dark bumps, corner held out. (a) Stripes alone: at least 0.8 hits, at least "
    "0.8 of the images more like the additive cross than like the bump (correlation). (b) With "
    "100 bumps: at least 0.8 hits that are more like the bump. (c) 100 bumps without stripes: at "
    "most 0.5 hits. (d) Bumps alone reach 0.8 hits at every image side, with a number of items "
    "that grows with an exponent of 2.5 to 3.5. (e) With stripes, 0.8 hits are reached at every "
    "side and the exponent of all items is at most 1.5. (f) The share of a unit's map that no sum "
    "of stripes gives, median over units, is higher in the last ReLU layer than in the first, "
    "stripes + 100. (g) log10 volume is less rough in the hold-out, mean over ReLU layers, than "
    "with all bumps and no stripes. With controls: (a) and (b) also with the square held out, (a) "
    "with at least half of the cross's ink, (b) with an OOD error of at most half of a zero "
    "image's; (c) with all bumps of the training region, in both hold-outs, although 0.9 hit in "
    "distribution; (d) as before; (e) for hits that are more like the bump; (f) in every seed, "
    "over the variance of the whole layer as well, and the first layer is closer to stripes than "
    "with 100 bumps alone; (g) in every seed, also against 100 bumps alone; (h) stripes are what "
    "it takes: no decoder with a product readout (VN per axis, full VN, factorised decoder) "
    "reaches 0.8 such hits on 100 bumps alone.",
)
def stripes_compose(r: xr.Dataset) -> Decision:
    place, crosses = (middle(r, name, "cnn", STRIPES) for name in ("hit_ood", "cross_share_ood"))
    place_100, bumps_100 = (middle(r, name, "cnn", FEW) for name in ("hit_ood", "bump_hit_ood"))
    alone = middle(r, "hit_ood", "cnn", ALONE)
    cubic, linear = _law(r, "bumps", "hit"), _law(r, "stripes", "hit")
    grows = _part(
        "bumps alone need data like N^3", 2.5 <= cubic["exponent"] <= 3.5, "bumps", **cubic
    )
    units = _by_layer(r, "tuning_quantile", FEW).sel(quantile=0.5).median("seed").values
    first, last = float(units[0]), float(units[-1])
    rough = {d: _by_layer(r, "volume_rough", d).mean("layer") for d in (FEW, ALONE, MOST)}
    smooth = {d: float(v.median("seed")) for d, v in rough.items()}
    crosses_alone = "stripes alone give crosses in the right place"
    parts = [
        _part(crosses_alone, min(place, crosses) >= 0.8, joint_0=place, crosses_0=crosses),
        _part(
            "stripes and 100 bumps give bumps",
            bumps_100 >= 0.8,
            joint_100=place_100,
            bumps_100=bumps_100,
        ),
        _part("100 bumps alone do not", alone <= 0.5, joint_alone_100=alone),
        grows,
        _part("with stripes it grows like N", linear["exponent"] <= 1.5, "stripes", **linear),
        _part(
            "units go from stripes to bumps with depth",
            last > first,
            rest_first=first,
            rest_last=last,
        ),
        _part(
            "the volume is smoother in the hold-out",
            smooth[FEW] < smooth[MOST],
            **{f"roughness_{diet}": value for diet, value in smooth.items()},
        ),
    ]
    return Decision(parts, _with_controls(r, grows, rough))


def _with_controls(r: xr.Dataset, grows: Part, rough: dict[str, xr.DataArray]) -> list[Part]:
    def both(name: str, diet: str) -> dict[str, float]:
        return {model: middle(r, name, model, diet) for model in BOTH}

    place, crosses = both("hit_ood", STRIPES), both("cross_share_ood", STRIPES)
    ink, bumps = both("line_ood", STRIPES), both("bump_hit_ood", FEW)
    error = {m: e / zero_baseline(r, m) for m, e in both("mse_ood", FEW).items()}
    alone, learned = max(both("hit_ood", MOST).values()), min(both("hit_id", MOST).values())
    drawn = _law(r, "stripes", "bump_hit")
    each = _by_layer(r, "tuning_quantile", FEW).sel(quantile=0.5).values
    layer, without = (_by_layer(r, "tuning_rest", diet).values for diet in (FEW, ALONE))
    rises = min(float((v[-1] - v[0]).min()) for v in (each, layer))
    earlier = float((without[0] - layer[0]).min())
    smoother = {f"rough_vs_{d}": float((rough[FEW] / rough[d]).max("seed")) for d in (ALONE, MOST)}
    product = {model: middle(r, "bump_hit_ood", model, ALONE) for model in PRODUCT}
    shaped = min(*place.values(), *crosses.values()) >= 0.8 and min(ink.values()) >= 0.5
    return [
        _part(
            "crosses in both hold-outs, with their ink",
            shaped,
            **{f"ink.{model}": value for model, value in ink.items()},
            **{"square.joint_0": place["cnn_square"], "square.crosses_0": crosses["cnn_square"]},
        ),
        _part(
            "bumps in both hold-outs, with half of a zero image's error",
            min(bumps.values()) >= 0.8 and max(error.values()) <= 0.5,
            **{"square.bumps_100": bumps["cnn_square"]},
            **{f"{BOTH[model]}error_vs_blank": value for model, value in error.items()},
        ),
        _part(
            "all bumps alone do not compose, though learned",
            alone <= 0.5 and learned >= 0.9,
            joint_alone_all=alone,
            joint_id_all=learned,
        ),
        grows,
        _part(
            "with stripes it grows like N, for bumps that are drawn",
            drawn["exponent"] <= 1.5,
            "drawn",
            **drawn,
        ),
        _part(
            "units go from stripes to bumps in every seed, more so than without stripes",
            rises > 0 and earlier > 0,
            rest_rises_by=rises,
            first_layer_below_bumps_alone_by=earlier,
        ),
        _part(
            "the volume is smoother in every seed and at equal bumps",
            max(smoother.values()) < 1,
            **smoother,
        ),
        _part(
            "no product readout composes from 100 bumps alone",
            max(product.values()) < 0.8,
            "alone_100",
            **product,
        ),
    ]
