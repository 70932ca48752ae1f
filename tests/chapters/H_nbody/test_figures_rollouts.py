"""Figures of rollouts show what the dataset holds, and pick the starts that the rules name."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

from chapters.H_nbody import figures_paths, figures_rollouts
from chapters.H_nbody.figures_looks import CAP, drawn
from chapters.H_nbody.figures_paths import Pick, choose
from chapters.H_nbody.figures_rollouts import FLOOR

PANELS = ["gravity", "spring", "gravity+lorentz", "spring+drag"]
STEPS = [0, 10, 20, 30]
GROUPS = {
    "vn_token_3": "vn",
    "vn_literal_3": "vn",
    "factorized": "printed",
    "mlp": "printed",
    "random": "printed",
    "rbf_tokens": "control",
}


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture
def truth():
    rng = np.random.default_rng(0)
    p = rng.uniform(-2, 2, (4, 5, 4, 5, 2))
    reach, length = np.full((4, 5), 2.0), np.full((4, 5), 3.0)
    dims = ("panel", "start", "step", "body", "axis")
    return xr.Dataset(
        {"position": (dims, p), "reach": (dims[:2], reach), "length": (dims[:2], length)},
        {"panel": PANELS, "step": STEPS},
    )


@pytest.fixture
def ds(truth):
    """Drifts grow with step and start; the models' order is that of `GROUPS`; paths are of seed 7
    only.
    """
    models, scenes = list(GROUPS), PANELS[2:]
    shape = (len(models), 2, 4, 5, 4)
    size = (
        np.arange(1, len(models) + 1)[:, None, None, None, None]
        * np.array([0.1, 0.2])[:, None, None, None]
    )
    drift = size * np.arange(1, 6)[:, None] * np.array(STEPS) / 30 * np.ones(shape)
    energy = np.broadcast_to(-3.0 + drift, shape).copy()
    true = np.full(shape, -3.0)
    energy[:, :, 3], true[:, :, 3] = np.nan, np.nan
    path = np.full((len(models), 2, 2, *truth["position"].shape[1:]), np.nan)
    path[:, 1] = truth["position"].sel(panel=scenes).values
    dims = ("model", "seed", "panel", "start", "step")
    return xr.Dataset(
        {
            "drift": (dims, drift),
            "energy": (dims, energy),
            "energy_true": (dims, true),
            "path": (("model", "seed", "scene", "start", "step", "body", "axis"), path),
        },
        {
            "model": models,
            "seed": [3, 7],
            "panel": PANELS,
            "scene": scenes,
            "step": STEPS,
            "label": ("model", [m.upper() for m in models]),
            "group": ("model", list(GROUPS.values())),
        },
    )


def titled(fig):
    return {ax.get_title().split("\n")[0]: ax for ax in fig.axes if ax.get_title()}


def test_drift_is_the_median_over_seeds_of_that_over_starts(ds):
    axes = titled(figures_rollouts.drift(ds))
    assert list(axes) == [
        "gravity (ID)",
        "spring (ID)",
        "gravity + Lorentz (OOD)",
        "spring + drag (OOD)",
    ]
    lines = axes["spring (ID)"].get_lines()
    assert len(lines) == 5, "without the controls"
    time, middle = lines[0].get_data()
    assert np.allclose(time, [0.05, 0.1, 0.15])
    wanted = np.median([0.1, 0.2]) * 3
    assert middle[-1] == pytest.approx(wanted) and middle[0] == pytest.approx(wanted / 3)
    assert len(titled(figures_rollouts.drift(ds, ["rbf_tokens"]))["spring (ID)"].get_lines()) == 1


def test_lost_rollouts_are_drawn_at_the_cap_and_exact_ones_at_the_floor(ds):
    ds["drift"].loc[{"model": "mlp", "panel": "gravity"}] = np.inf
    ds["drift"].loc[{"model": "factorized", "panel": "gravity"}] = 0
    lines = dict(
        zip(
            drawn(ds, "drift", None),
            titled(figures_rollouts.drift(ds))["gravity (ID)"].get_lines(),
            strict=True,
        )
    )
    assert (lines["mlp"].get_ydata() == CAP).all() and (
        lines["factorized"].get_ydata() == FLOOR
    ).all()


def test_models_that_were_not_followed_are_left_out(ds):
    ds["drift"].loc[{"model": ["mlp", "random"]}] = np.nan
    assert len(titled(figures_rollouts.drift(ds))["gravity (ID)"].get_lines()) == 3
    fig = figures_rollouts.final(ds)
    assert [t.get_text() for t in fig.axes[0].get_yticklabels()] == [
        "VN_TOKEN_3",
        "VN_LITERAL_3",
        "FACTORIZED",
        "RBF_TOKENS",
    ]
    for draw in (figures_rollouts.drift, figures_rollouts.final):
        assert "was asked for" in draw(ds, ["mlp"]).axes[0].texts[0].get_text()


def test_the_end_has_a_point_for_every_seed(ds):
    fig = figures_rollouts.final(ds)
    ax = titled(fig)["spring + drag"]
    assert [t.get_text() for t in fig.axes[0].get_yticklabels()][-1] == "RBF_TOKENS"
    points = np.concatenate([one.get_offsets() for one in ax.collections])
    first = points[points[:, 1].round() == 0, 0]
    assert sorted(first) == pytest.approx([0.3, 0.6])
    dotted = [line for line in ax.get_lines() if line.get_ls() == ":"]
    # Over starts, then over seeds, as the bars.
    assert dotted[0].get_xdata()[0] == pytest.approx(5 * 3 * np.median([0.1, 0.2]))


def test_energy_is_compared_with_the_truths_where_no_drag_acts(ds):
    axes = titled(figures_rollouts.energy(ds))
    assert list(axes) == ["gravity", "spring", "gravity + Lorentz"]
    first, *_, boundary = axes["gravity"].get_lines()
    assert first.get_ydata()[-1] == pytest.approx(np.median([0.1, 0.2]) * 3)
    assert boundary.get_ydata() == pytest.approx(3.0)
    assert (
        "Drag acts"
        in figures_rollouts.energy(ds.sel(panel=["spring+drag"])).axes[0].texts[0].get_text()
    )


def test_the_paper_picks_the_vector_networks_best_start_of_those_that_pass(ds, truth):
    scene = "spring+drag"
    ds["drift"].loc[{"model": "vn_literal_3", "seed": 7, "panel": scene, "step": 30}] = [
        5,
        4,
        3,
        2,
        1,
    ]
    ds["drift"].loc[{"model": "vn_token_3", "seed": 7, "panel": scene, "step": 30}] = [
        0.5,
        0.1,
        0.3,
        0.2,
        0.4,
    ]
    # has no paths
    ds["drift"].loc[{"model": "vn_token_3", "seed": 3, "panel": scene, "step": 30}] = [
        0,
        1,
        1,
        1,
        1,
    ]
    assert choose(ds, truth, scene, "printed") == Pick(1, 5, 5, "vn_token_3")
    truth["reach"].loc[{"panel": scene}] = [2, 2.5, 2, 2, 2]
    assert choose(ds, truth, scene, "printed") == Pick(3, 4, 5, "vn_token_3")
    truth["length"].loc[{"panel": scene}] = [3, 3, 3, 0.9, 3]
    assert choose(ds, truth, scene, "printed") == Pick(2, 3, 5, "vn_token_3")
    assert choose(ds, truth, scene, "printed", reach=3, length=0) == Pick(1, 5, 5, "vn_token_3")
    none = choose(ds, truth, scene, "printed", length=9)
    assert (
        none == Pick(1, 0, 5, "vn_token_3")
        and figures_paths.told(none) == "start 1: none of 5 passes"
    )


def test_the_neutral_pick_is_the_start_in_the_middle(ds, truth):
    scene = "spring+drag"
    assert choose(ds, truth, scene, "median") == Pick(2, 5, 5, "")
    ds["drift"].loc[{"seed": 7, "panel": scene, "step": 30}] *= np.array([9, 1, 1, 1, 1])
    assert choose(ds, truth, scene, "median").start == 3, "drifts 9, 2, 3, 4, 5"
    # one model does not turn the order
    ds["drift"].loc[{"model": "vn_token_3", "seed": 7, "panel": scene}] = 0
    assert choose(ds, truth, scene, "median").start == 3
    with pytest.raises(ValueError, match="pick must be one of 'printed', 'median', got 'best'"):
        choose(ds, truth, scene, "best")
    with pytest.raises(ValueError, match="ds must hold a model of the group vn"):
        choose(ds.sel(model=["mlp"]), truth, scene, "printed")


def test_paths_show_the_truth_above_the_models(ds, truth):
    ds["path"].loc[{"model": "mlp", "seed": 7, "scene": "spring+drag", "step": [20, 30]}] = np.nan
    ds["drift"].loc[{"model": "mlp", "seed": 7, "panel": "spring+drag", "step": [20, 30]}] = np.inf
    fig = figures_paths.paths(ds, truth, "median", ["mlp", "rbf_tokens"])
    axes = np.array(fig.axes).reshape(3, 2)
    assert [ax.get_ylabel() for ax in axes[:, 0]] == ["truth", "MLP", "RBF_TOKENS"]
    assert axes[0, 1].get_title() == "spring + drag\nstart 2: the median of 5"
    found = axes[0, 1].get_lines()[0].get_xydata()
    assert np.allclose(found, truth["position"].sel(panel="spring+drag")[2, :, 0])
    assert [ax.get_xlabel() for ax in axes[1]] == ["2.4", "lost"]
    with pytest.raises(ValueError, match="ds must hold a path"):
        choose(ds.drop_vars("path"), truth, "spring+drag")
    assert (
        "was asked for"
        in figures_paths.paths(ds.drop_vars("path"), truth).axes[0].texts[0].get_text()
    )


def test_many_models_stand_in_two_blocks_each_below_the_truth(ds, truth, monkeypatch):
    monkeypatch.setattr(figures_paths, "BELOW", 2)
    fig = figures_paths.paths(ds, truth, "median", ["vn_token_3", "mlp", "rbf_tokens"])
    at = {(s.rowspan.start, s.colspan.start): ax for ax in fig.axes if (s := ax.get_subplotspec())}
    assert [at[0, side].get_ylabel() for side in (0, 2)] == ["truth", "truth"]
    assert [at[row, 0].get_ylabel() for row in (1, 2)] == ["VN_TOKEN_3", "MLP"]
    assert at[1, 2].get_ylabel() == "RBF_TOKENS" and (2, 2) not in at
    assert at[0, 0].get_title() == at[0, 2].get_title()
    wide, high = fig.get_size_inches()
    assert high < wide


def test_the_example_has_the_truth_first_and_says_how_far_each_model_ends(ds, truth):
    axes = figures_paths.example(ds, truth).axes
    assert [ax.get_title() for ax in axes] == [
        "the truth",
        "VN_TOKEN_3",
        "FACTORIZED",
        "VN_LITERAL_3",
    ]
    start = choose(ds, truth, PANELS[-1]).start
    end = ds["drift"].sel(model="factorized", seed=7, panel=PANELS[-1]).isel(step=-1, start=start)
    assert axes[2].get_xlabel() == f"off by {float(end):.2g} box²"
