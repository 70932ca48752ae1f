"""The study of layers: what it measures, on decoders whose layers are known."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import xarray as xr

from chapters.FR2_manifold import measure
from data_gen import bumps

OPTIONS = {"margin": 2, "folds": 4, "seed": 0, "samples": [5, 70], "maps": True}
SIDE = 12


def data(polarity: str = "dark") -> xr.Dataset:
    return bumps.make(bumps.BumpConfig(grid=SIDE, sigma=1.0, polarity=polarity))


@pytest.fixture(scope="module")
def perfect() -> xr.Dataset:
    return measure.report(measure.reference("perfect", data()), data(), plane=True, **OPTIONS)


def at(report: xr.Dataset, name: str, layer: str) -> float:
    return float(report[name].sel(layer=layer))


def test_a_perfect_decoder_errs_nowhere_and_keeps_F_but_not_its_single_factors(perfect):
    assert all(float(perfect[f"mse_{split}"]) == 0 for split in ("train", "val", "id", "ood"))
    assert at(perfect, "F", "output") > 0.99
    assert at(perfect, "one_factor", "input") == pytest.approx(1)
    assert at(perfect, "terms", "input") == pytest.approx(2)
    assert at(perfect, "one_factor", "output") < 0.6
    assert at(perfect, "terms", "output") < 1.5
    assert at(perfect, "probe_ood", "output") < at(perfect, "probe_ood", "input")


def test_layers_that_a_decoder_lacks_are_nan_and_the_others_in_order(perfect):
    assert list(perfect["layer"].values) == list(measure.LAYERS)
    present = [
        str(n)
        for n, u in zip(perfect["layer"].values, perfect["units"].values, strict=True)
        if u == u
    ]
    assert present == ["input", "output"]


def test_a_sum_keeps_single_factors_and_a_table_is_one_term():
    crosses = measure.report(measure.reference("crosses", data()), data(), **OPTIONS)
    assert at(crosses, "one_factor", "output") == pytest.approx(1, abs=1e-6)
    # A column and a row cut off at the edge add a small term of both.
    assert at(crosses, "terms", "output") == pytest.approx(2, abs=1e-3)
    table = measure.report(measure.reference("table", data()), data(), **OPTIONS)
    assert at(table, "terms", "output") < 1.05
    with pytest.raises(ValueError, match="'perfect', 'crosses', 'table'"):
        measure.reference("other", data())


def test_measures_do_not_depend_on_polarity():
    one, other = data(), data("bright")
    code = torch.from_numpy(one["code"].values)
    reports = [
        measure.report(
            {"input": code, "output": torch.from_numpy(d["image"].values).flatten(1)}, d, **OPTIONS
        )
        for d in (one, other)
    ]
    for name in ("F", "volume_in", "spread_in", "probe", "one_factor", "terms", "map_terms"):
        np.testing.assert_allclose(reports[0][name], reports[1][name], rtol=1e-3, err_msg=name)


def test_regions_are_the_hold_out_and_what_lies_around_it():
    """A layer twice as stretched inside: log10 of its volume differs by that of 4 between the two
    regions.
    """
    d = data()
    inside = torch.from_numpy((d["split"] == "ood").values)
    x, y = (torch.from_numpy(d[f"position_{a}"].values).float() for a in "xy")
    scale = 1 + inside.float()
    found = {
        "input": torch.stack([x, y], 1),
        "output": torch.stack([scale * x, scale * y], 1).repeat(1, 72),
    }
    report = measure.report(found, d, **(OPTIONS | {"maps": False}))
    assert at(report, "spread_in", "input") == pytest.approx(0, abs=1e-6)
    assert at(report, "volume_in", "input") == pytest.approx(0, abs=1e-6)
    assert at(report, "volume_in", "output") - at(report, "volume_out", "output") > 0
    assert report["log_volume"].isnull().all() and report["sample_image"].isnull().all()
    with pytest.raises(ValueError, match="margin must be"):
        measure.report(found, d, **(OPTIONS | {"margin": SIDE}))


def test_planes_show_the_first_components_of_the_stages(perfect):
    plane = perfect["plane"].values
    assert plane.shape == (4, SIDE**2, 2)
    np.testing.assert_allclose(plane[:, :, 0].std(axis=1, ddof=1), 1, rtol=1e-4)
    assert (plane[:, :, 1].std(axis=1) <= plane[:, :, 0].std(axis=1) + 1e-6).all()
    image = data()["image"].values.reshape(SIDE**2, -1).astype(float)
    u, s, _ = np.linalg.svd(image - image.mean(0), full_matrices=False)
    first = u[:, 0] * s[0]
    # The first components of the images come in pairs of equal weight, so only the span is
    # determined.
    both = plane[2] - plane[2].mean(0)
    inside = np.linalg.lstsq(both, first, rcond=None)[0]
    if s[0] > 1.01 * s[1] and s[1] > 1.01 * s[2]:
        np.testing.assert_allclose(both @ inside, first, atol=1e-3 * s[0])


@pytest.mark.parametrize(
    "options",
    [
        {"streams": "axes", "depth": 2, "n_atoms": 16},
        {"streams": "joint", "n_atoms": 20},
        {"streams": "joint", "n_atoms": 20, "readout": "flat"},
    ],
)
def test_the_layers_of_a_vector_network_lead_to_its_image(options):
    x = torch.from_numpy(data("bright")["code"].values)[:30]
    model = measure.untrained(
        family="vn", options=options, n_inputs=2 * SIDE, image_shape=(SIDE, SIDE), seed=1
    )
    found = measure.layers(model, x)
    depth, streams = options.get("depth", 1), 2 if options["streams"] == "axes" else 1
    factors = [] if "readout" in options else ["factors"]
    assert list(found) == ["input", *[f"layer{n + 1}" for n in range(depth)], *factors, "output"]
    assert found["layer1"].shape == (30, streams * options["n_atoms"])
    torch.testing.assert_close(found["output"], model(x).flatten(1))
    if factors:
        row, column = found["factors"].chunk(2, dim=1)
        torch.testing.assert_close(
            (row[:, :, None] * column[:, None, :]).flatten(1), found["output"]
        )


def test_untrained_is_where_training_starts(tmp_path):
    from benchmarks.spatial.decoders import train_decoder

    d = data()
    pair = tuple(torch.from_numpy(d[name].values) for name in ("code", "image"))
    chosen = {"family": "mlp", "options": {"hidden": [8]}, "seed": 5}
    trained = train_decoder(pair, pair, lr=1e-12, steps=1, batch_size=8, workdir=tmp_path, **chosen)
    start = measure.untrained(**chosen, n_inputs=2 * SIDE, image_shape=(SIDE, SIDE))
    for one, other in zip(trained.parameters(), start.parameters(), strict=True):
        torch.testing.assert_close(one, other)


def test_reports_stand_side_by_side_and_what_is_missing_is_nan(perfect):
    both = measure.with_untrained(perfect, perfect)
    assert list(both["weights"].values) == ["trained", "untrained"]
    assert at(both.sel(weights="untrained"), "F", "output") == at(perfect, "F", "output")
    assert both["log_volume"].sel(weights="untrained").isnull().all()
    alone = measure.with_untrained(perfect, None)
    assert alone["F"].sel(weights="untrained").isnull().all()
    assert both.sizes == alone.sizes
