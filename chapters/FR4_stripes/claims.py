"""The claim of FR Sec. 4.2: stripes teach a decoder to compose."""

from __future__ import annotations

import numpy as np
import xarray as xr

from vnlib.book import evidence
from vnlib.book.ledger import Decision, Part, claim

STRIPES, FEW = "stripes+0", "stripes+100"
ALONE, MOST = "bumps+100", "bumps+all"
BOTH = {"cnn": "", "cnn_square": "square."}
PRODUCT = ("vn_axes", "vn_joint", "factorised")
TARGET = 0.8


def middle(r: xr.Dataset, name: str, model: str, diet: str) -> float:
    """The median over seeds of one model on one diet. KeyError names what lacks."""
    return float(evidence.one(r[name], model=model, diet=diet).median("seed"))


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
    lower = need.fillna(np.inf).quantile(0.5, "seed", method="lower").values
    reached, side = np.isfinite(lower), np.log(list(sides.values()))
    slope = float(np.polyfit(side, np.log(lower), 1)[0]) if reached.all() else float("nan")
    return {"exponent": slope, "sides_reached": float(reached.sum()), "sides": float(len(sides))}


def _by_layer(r: xr.Dataset, name: str, diet: str) -> xr.DataArray:
    """A number of the CNN's ReLU layers, per seed; of the quantiles over units the median."""
    values = evidence.one(r[name], model="cnn", diet=diet)
    values = values.sel(quantile=0.5) if "quantile" in values.dims else values
    return values.sel(layer=hidden(values)).transpose("layer", "seed")


def _part(says: str, holds: bool, name: str = "", **numbers: float) -> Part:
    """A statement with the numbers that exist, "name.key" where they share a name."""
    start = f"{name}." if name else ""
    return Part(says, holds, {f"{start}{key}": v for key, v in numbers.items()})


@claim(
    id="FR-4",
    source="FR Sec. 4.2, Figs. 4, 7 and 15",
    figure="FR4-accuracy",
    statement="Stripes teach a CNN to compose: with stripes alone it draws crosses at positions it "
    "never saw, with a few bumps more it draws bumps; as many bumps alone do not suffice; the "
    "data needed grows like N with stripes and like N^3 without; units go from stripes to bumps "
    "with depth, and the volume stays smooth in the hold-out.",
)
def stripes_compose(r: xr.Dataset) -> Decision:
    def both(name: str, diet: str) -> dict[str, float]:
        return {model: middle(r, name, model, diet) for model in BOTH}

    place, crosses, ink = (both(f"{n}_ood", STRIPES) for n in ("hit", "cross_share", "line"))
    bumps, cnn, square = both("bump_hit_ood", FEW), *BOTH
    found = {"joint_100": middle(r, "hit_ood", cnn, FEW), "bumps_100": bumps[cnn]}
    alone = middle(r, "hit_ood", cnn, ALONE)
    cubic, linear = _law(r, "bumps", "hit"), _law(r, "stripes", "hit")
    is_cubic = 2.5 <= cubic["exponent"] <= 3.5
    grows = _part("bumps alone need data like N^3", is_cubic, "bumps", **cubic)
    each = _by_layer(r, "tuning_quantile", FEW)
    first, *_, last = each.median("seed").values.tolist()
    ends = {"rest_first": first, "rest_last": last}
    rough = {d: _by_layer(r, "volume_rough", d).mean("layer") for d in (FEW, ALONE, MOST)}
    smooth = {f"roughness_{d}": float(v.median("seed")) for d, v in rough.items()}
    few, _, most = smooth.values()
    at_0 = {"joint_0": place[cnn], "crosses_0": crosses[cnn]}
    parts = [
        _part("stripes alone give crosses in the right place", min(at_0.values()) >= 0.8, **at_0),
        _part("stripes and 100 bumps give bumps", bumps[cnn] >= 0.8, **found),
        _part("100 bumps alone do not", alone <= 0.5, joint_alone_100=alone),
        grows,
        _part("with stripes it grows like N", linear["exponent"] <= 1.5, "stripes", **linear),
        _part("units go from stripes to bumps with depth", last > first, **ends),
        _part("the volume is smoother in the hold-out", few < most, **smooth),
    ]

    # With controls.
    shaped = min(*place.values(), *crosses.values()) >= 0.8 and min(ink.values()) >= 0.5
    inks = {f"ink.{model}": value for model, value in ink.items()}
    inks |= {"square.joint_0": place[square], "square.crosses_0": crosses[square]}
    error = {m: e / zero_baseline(r, m) for m, e in both("mse_ood", FEW).items()}
    good = min(bumps.values()) >= 0.8 and max(error.values()) <= 0.5
    errors = {"square.bumps_100": bumps[square]}
    errors |= {f"{BOTH[model]}error_vs_blank": value for model, value in error.items()}
    ever, learned = max(both("hit_ood", MOST).values()), min(both("hit_id", MOST).values())
    useless = {"joint_alone_all": ever, "joint_id_all": learned}
    drawn = _law(r, "stripes", "bump_hit")
    layer, without = (_by_layer(r, "tuning_rest", diet) for diet in (FEW, ALONE))
    rises = min(float((v[-1] - v[0]).min()) for v in (each.values, layer.values))
    earlier = float((without.values[0] - layer.values[0]).min())
    steps = {"rest_rises_by": rises, "first_layer_below_bumps_alone_by": earlier}
    over = {f"rough_vs_{d}": float((rough[FEW] / rough[d]).max("seed")) for d in (ALONE, MOST)}
    product = {model: middle(r, "bump_hit_ood", model, ALONE) for model in PRODUCT}
    smoother = "the volume is smoother in every seed and at equal bumps"
    no_product = "no product readout composes from 100 bumps alone"
    like_n, by_depth = drawn["exponent"] <= 1.5, all(step > 0 for step in steps.values())
    little = ever <= 0.5 and learned >= 0.9
    controls = [
        _part("crosses in both hold-outs, with their ink", shaped, **inks),
        _part("bumps in both hold-outs, with half of a zero image's error", good, **errors),
        _part("all bumps alone do not compose, though learned", little, **useless),
        grows,
        _part("with stripes it grows like N, for bumps that are drawn", like_n, "drawn", **drawn),
        _part(
            "units go from stripes to bumps in every seed, more so than without stripes",
            by_depth,
            **steps,
        ),
        _part(smoother, max(over.values()) < 1, **over),
        _part(no_product, max(product.values()) < 0.8, "alone_100", **product),
    ]
    return Decision(parts, controls)
