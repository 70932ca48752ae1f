"""The claims of VN Fig. 5: image composition.

Errors are medians over seeds unless a rule says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import xarray as xr

from vnlib.book.evidence import of, tagged
from vnlib.book.ledger import Decision, Part, claim

DIGITS = {
    "add_subtract": ("add2", "sub2", "add3", "addsub4"),
    "max": ("max2", "max3", "max5"),
    "corruption": ("occlude0", "occlude1", "stripes0", "stripes1", "invert", "salt_pepper"),
}
ALL_DIGITS = tuple(name for family in DIGITS.values() for name in family)
LADDERS = {
    "steps_single": ("single", "single_x1.5", "single_x2", "single_x3"),
    "steps_RTS": ("RTS", "RTS_x1.5", "RTS_x2", "RTS_x3"),
    "digits_single": ("single", "single_2d", "single_3d"),
    "digits_RTS": ("RTS", "RTS_2d", "RTS_3d"),
    "digits_RTS_x2": ("RTS_x2", "RTS_x2_2d", "RTS_x2_3d"),
}
ALL_MOTIONS = (
    "RT",
    "RS",
    "TS",
    "RTS",
    "single_x1.5",
    "single_x2",
    "single_x3",
    "RTS_x1.5",
    "RTS_x2",
    "RTS_x3",
    "single_2d",
    "RTS_2d",
    "RTS_x2_2d",
    "single_3d",
    "RTS_3d",
    "RTS_x2_3d",
)
STRONGEST = 2  # sets in which the autoencoder errs most


def _mean(values: xr.DataArray) -> xr.DataArray:
    """Geometric mean over sets."""
    return np.exp(np.log(values).mean("set"))


class _Benchmark:
    """Median errors of a benchmark: its sets, the one in distribution first."""

    def __init__(
        self, r: xr.Dataset, inside: str, outside: Sequence[str], prefix: str = ""
    ) -> None:
        self.mse = of(r["mse"], set=[inside, *outside])
        self.inside, self.outside, self.prefix = inside, list(outside), prefix
        self.known: dict[tuple[str, str], xr.DataArray] = {}

    def seeds(self, model: str, reading: str = "own") -> xr.DataArray:
        """Errors (seed, set). KeyError where the model or its reading lacks."""
        if (model, reading) not in self.known:
            name = f"{self.prefix}{model}"
            found = of(self.mse, model=[name], reading=[reading]).isel(
                model=0, reading=0, drop=True
            )
            if bool(found.isnull().any()):
                raise KeyError(
                    f"the model(s) {name} in the reading {reading!r}, on all sets and seeds"
                )
            self.known[model, reading] = found
        return self.known[model, reading]

    def error(self, model: str, reading: str = "own") -> xr.DataArray:
        """Errors (set), medians over seeds."""
        return self.seeds(model, reading).reduce(np.median, "seed")

    def ood(self, model: str, reading: str = "own") -> xr.DataArray:
        return self.error(model, reading).sel(set=self.outside)

    def id(self, model: str, reading: str = "own") -> float:
        return float(self.error(model, reading).sel(set=self.inside))

    def growth(self, model: str, reading: str = "own") -> xr.DataArray:
        """Errors over own ID error, over the other sets."""
        return self.ood(model, reading) / self.id(model, reading)

    def ratio(self, model: str, other: str, reading: str = "own", against: str = "own") -> float:
        """Geometric mean over the sets outside of a model's error over another's."""
        return float(_mean(self.ood(model, reading) / self.ood(other, against)))

    def worst(self, model: str, other: str, reading: str = "own") -> float:
        """Where `model` errs most, the least ratio of its error to that of `other`."""
        errors = self.ood(model, reading)
        sets = errors.sortby(errors, ascending=False)["set"].values[:STRONGEST]
        return float((errors / self.ood(other)).sel(set=sets).min())

    def against_vn(self, model: str) -> dict[str, float]:
        """A model's error over that of VN-1L: on ID, and the least of all sets outside."""
        return {
            "id": self.id(model) / self.id("vn_1"),
            "least_ood": float((self.ood(model) / self.ood("vn_1")).min()),
        }

    def always_below(self, model: str, other: str) -> float:
        """The largest error of a model in any seed over the least of another in any seed, over all
        sets outside.
        """
        high, low = self.seeds(model).max("seed"), self.seeds(other).min("seed")
        return float((high / low).sel(set=self.outside).max())


@claim(
    id="VN-F5a",
    source="VN Fig. 5a",
    chapter="fig5_mnist",
    figure="fig5-errors",
    statement="Trained on single digits, all models draw them well; on sums, differences, maxima "
    "and damaged digits errors of autoencoders rise strongly while VN stays near its ID error, "
    "about ten times lower in the strongest conditions; autoencoders of the same sparsity are "
    "worse on both.",
    rule="Growth is an error over the same model's error on single digits; means over sets are "
    "geometric. (a) VN-1L, VN-3L, the AE matched on ID and the k-sparse AE matched on VN-1L's "
    "active units draw single digits with at most 0.15 of their power as error; (b) the AE grows "
    "at least twofold in each of three families, add/subtract, max and corruption, in the mean "
    "over the family's sets; (c) VN-1L and VN-3L grow less than both AEs in each of 13 sets; (d) "
    "in the two sets where the matched AE errs most, its error is at least 5 times that of "
    "VN-1L; (e) the k-sparse AE has more error than VN-1L on single digits and in all 13 sets. "
    "Fair: (a) the AE's ID error is within 5 % of VN-1L's; (b) VN-1L is below the AE in all 13 "
    "sets, its worst seed against the AE's best; (c) the factor of 5 holds as well for an AE "
    "trained on x and -x, in the two sets where that one errs most; (d) and for the matched AE "
    "with its code optimised for every image; (e) VN-1L has less mean error over the 13 sets "
    "than PCA of the same ID error, (f) than the largest PCA coefficients of each image, as many "
    "as VN-1L has active units, (g) than fixed DCT atoms with a lasso of the same ID error, (h) "
    "than scikit-learn's dictionary learning with the same lasso and (i) than its own untrained "
    "start; (j) with 24 coefficients for everyone, VN-1L is below the k-sparse AE on single "
    "digits and in the mean over the 13 sets; (k) so is VN-3L read from the code of its top "
    "layer alone, of 24; (l) a k-sparse AE of as many units without hidden layers has more error "
    "on single digits and in all 13 sets, too.",
)
def _digits(r: xr.Dataset) -> Decision:
    b = _Benchmark(r, "id", ALL_DIGITS)
    power = float(_zero_baseline(r, "vn_1").sel(set="id"))
    fit = {m: b.id(m) / power for m in ("vn_1", "vn_3", "ae", "ksparse")}
    families = {
        name: float(_mean(b.growth("ae").sel(set=list(sets)))) for name, sets in DIGITS.items()
    }
    near = {
        m: float((b.growth(m) / np.minimum(b.growth("ae"), b.growth("ksparse"))).max())
        for m in ("vn_1", "vn_3")
    }
    factor = b.worst("ae", "vn_1")
    sparse = b.against_vn("ksparse")
    return Decision(
        [
            Part("all draw single digits", max(fit.values()) <= 0.15, tagged(fit, "id_share")),
            Part(
                "the AE at least doubles its error in each family",
                min(families.values()) >= 2,
                tagged(families, "ae_growth"),
            ),
            Part(
                "VN-1L and VN-3L grow less in every set",
                max(near.values()) < 1,
                tagged(near, "growth_vs_ae"),
            ),
            Part(
                "the AE has 5 times the error of VN-1L in its two worst sets",
                factor >= 5,
                {"ae_worst": factor},
            ),
            Part(
                "at equal sparsity the AE is worse on ID and everywhere else",
                min(sparse.values()) > 1,
                tagged(sparse, "ksparse_vs_vn"),
            ),
        ],
        _fair_digits(b),
    )


def _fair_digits(b: _Benchmark) -> list[Part]:
    matched, always = b.id("ae") / b.id("vn_1"), b.always_below("vn_1", "ae")
    signed, searched = b.worst("ae_signed", "vn_1"), b.worst("ae", "vn_1", "searched")
    controls = {
        "pca_matched": "PCA of the same ID error",
        "pca_adaptive": "the largest PCA coefficients of each image",
        "dct": "fixed DCT atoms at the same ID error",
        "dictionary_learning": "scikit-learn's dictionary learning",
        "vn_untrained": "its own untrained start",
    }
    ratios = {name: b.ratio("vn_1", name) for name in controls}
    linear = b.against_vn("ksparse_linear")
    capped = {
        "id": b.id("vn_1_top24") / b.id("ksparse_24"),
        "ood": b.ratio("vn_1_top24", "ksparse_24"),
    }
    strict = {
        "id": b.id("vn_3_top24", "top") / b.id("ksparse_24"),
        "ood": b.ratio("vn_3_top24", "ksparse_24", reading="top"),
    }
    return [
        Part(
            "the AE is matched on ID within 5 %", abs(matched - 1) <= 0.05, {"ae_id_vs_vn": matched}
        ),
        Part(
            "VN-1L is below the AE in every set and seed",
            always < 1,
            {"vn_worst_vs_ae_best": always},
        ),
        Part(
            "the factor of 5 holds for an AE trained on x and -x",
            signed >= 5,
            {"signed_worst": signed},
        ),
        Part(
            "it holds for the AE with optimised codes", searched >= 5, {"searched_worst": searched}
        ),
        *(
            Part(
                f"VN-1L has less OOD error than {said}",
                ratios[name] < 1,
                {f"vn_vs_{name}": ratios[name]},
            )
            for name, said in controls.items()
        ),
        Part(
            "with 24 coefficients VN-1L is below the k-sparse AE",
            max(capped.values()) < 1,
            tagged(capped, "top24"),
        ),
        Part(
            "so is VN-3L read from its top layer",
            max(strict.values()) < 1,
            tagged(strict, "strict24"),
        ),
        Part(
            "VN-1L is below a linear k-sparse AE on ID and everywhere",
            min(linear.values()) > 1,
            tagged(linear, "linear_vs_vn"),
        ),
    ]


@claim(
    id="VN-F5b",
    source="VN Fig. 5b, c",
    chapter="fig5_mnist",
    figure="fig5-motions",
    statement="Trained on motion signals of single rotations, translations and scalings, all "
    "models draw them alike; with larger steps, several moves and several digits the errors of "
    "autoencoders grow steadily and VN's gracefully.",
    rule="Growth and means as in VN-F5a; 16 sets out of distribution. (a) On single moves of "
    "step 1 the errors of VN-1L, VN-3L and the matched AE are within a factor of 1.5; (b) the "
    "AE's and the k-sparse AE's errors rise from every step to the next (1, 1.5, 2, 3; one move "
    "and all three) and from one to two to three digits (one move, all three, all three of step "
    "2); (c) VN-1L and VN-3L grow less than both AEs in each of 16 sets; (d) VN-1L and VN-3L "
    "have less error than both in each of them; (e) for three digits with all moves of step 2 "
    "and one with all of step 3, VN-1L has at most half of the matched AE's error. Fair: (a) the "
    "AE's ID error is within 5 % of VN-1L's; (b) VN-1L is below the AE in all 16 sets, its worst "
    "seed against the AE's best; (c) the AEs' errors over the mean square of the signals rise "
    "along all of these ladders too, since larger moves have more power; (d) the errors of VN-1L "
    "and VN-3L grow no more than this power does in any set; (e) VN-1L has less mean error over "
    "the sets than the AE with its code optimised for every signal, (f) than PCA of the same ID "
    "error, (g) than fixed DCT atoms with a lasso of the same ID error, (h) than scikit-learn's "
    "dictionary learning with the same lasso and (i) than its own untrained start; (j) VN-3L "
    "read from the code of its top layer alone grows less than the AE in the mean.",
)
def _motions(r: xr.Dataset) -> Decision:
    b = _Benchmark(r, "single", ALL_MOTIONS, "m_")
    ids = {m: b.id(m) for m in ("vn_1", "vn_3", "ae")}
    alike = max(ids.values()) / min(ids.values())
    rise = {m: _rise(b.error(m)) for m in ("ae", "ksparse")}
    least = {
        m: np.minimum(f("ae"), f("ksparse")) for m, f in (("growth", b.growth), ("error", b.ood))
    }
    near = {m: float((b.growth(m) / least["growth"]).max()) for m in ("vn_1", "vn_3")}
    below = {m: float((b.ood(m) / least["error"]).max()) for m in ("vn_1", "vn_3")}
    far = float((b.ood("vn_1") / b.ood("ae")).sel(set=["RTS_x2_3d", "RTS_x3"]).max())
    return Decision(
        [
            Part("all draw single moves alike", alike <= 1.5, {"id_ratio": alike}),
            Part(
                "errors of AEs rise with every step and digit",
                min(rise.values()) > 1,
                tagged(rise, "least_rise"),
            ),
            Part(
                "VN-1L and VN-3L grow less in every set",
                max(near.values()) < 1,
                tagged(near, "growth_vs_ae"),
            ),
            Part(
                "they have less error in every set", max(below.values()) < 1, tagged(below, "vs_ae")
            ),
            Part(
                "at the extremes VN-1L has at most half the AE's error",
                far <= 0.5,
                {"extreme_vs_ae": far},
            ),
        ],
        _fair_motions(r, b),
    )


def _fair_motions(r: xr.Dataset, b: _Benchmark) -> list[Part]:
    matched, always = b.id("ae") / b.id("vn_1"), b.always_below("vn_1", "ae")
    power = _zero_baseline(r, "m_vn_1").sel(set=[b.inside, *b.outside])
    rise = {m: _rise(b.error(m) / power) for m in ("ae", "ksparse")}
    gain = power.sel(set=b.outside) / float(power.sel(set=b.inside))
    beyond = {m: float((b.growth(m) / gain).max()) for m in ("vn_1", "vn_3")}
    searched = b.ratio("vn_1", "ae", against="searched")
    controls = {
        "pca_matched": "PCA of the same ID error",
        "dct": "fixed DCT atoms at the same ID error",
        "dictionary_learning": "scikit-learn's dictionary learning",
        "untrained": "its own untrained start",
    }
    ratios = {name: b.ratio("vn_1", name) for name in controls}
    strict = float(_mean(b.growth("vn_3", "top") / b.growth("ae")))
    return [
        Part(
            "the AE is matched on ID within 5 %", abs(matched - 1) <= 0.05, {"ae_id_vs_vn": matched}
        ),
        Part(
            "VN-1L is below the AE in every set and seed",
            always < 1,
            {"vn_worst_vs_ae_best": always},
        ),
        Part(
            "errors of AEs rise beyond the power of the signals",
            min(rise.values()) > 1,
            tagged(rise, "least_relative_rise"),
        ),
        Part(
            "errors of VN-1L and VN-3L do not",
            max(beyond.values()) <= 1,
            tagged(beyond, "growth_vs_power"),
        ),
        Part(
            "VN-1L has less OOD error than the AE with optimised codes",
            searched < 1,
            {"vn_vs_searched": searched},
        ),
        *(
            Part(
                f"VN-1L has less OOD error than {said}",
                ratios[name] < 1,
                {f"vn_vs_{name}": ratios[name]},
            )
            for name, said in controls.items()
        ),
        Part(
            "VN-3L read from its top layer grows less than the AE",
            strict < 1,
            {"strict_growth_vs_ae": strict},
        ),
    ]


def _zero_baseline(r: xr.Dataset, model: str) -> xr.DataArray:
    """The mean square of the images of each set, as stored with a model."""
    return of(r["zero_baseline"], model=[model]).isel(model=0, drop=True).median("seed")


def _rise(errors: xr.DataArray) -> float:
    """The least ratio of errors of successive sets of all ladders."""
    pairs = [pair for ladder in LADDERS.values() for pair in pairwise(ladder)]
    return min(float(errors.sel(set=more) / errors.sel(set=less)) for less, more in pairs)
