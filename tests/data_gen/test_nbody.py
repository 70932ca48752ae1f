"""The simulator against closed forms, conservation laws and its own order; the data set and its
splits.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import xarray as xr

from data_gen import nbody
from data_gen.nbody import NBodyConfig, Physics

OPEN = {"side": 1e6}  # far from the boundary
SMALL = NBodyConfig(n_train=3, n_val=2, n_test=2, steps=20, every=10)


def last(p, v, laws, physics, steps):
    *_, state = nbody.trajectory(np.array(p, float), np.array(v, float), laws, physics, steps=steps)
    return state


def test_drag_is_exponential_decay():
    physics = Physics(**OPEN)
    p, v = last([[0.3, -0.2]], [[1.0, -0.5]], ("drag",), physics, 400)
    left = np.exp(-physics.drag * 2)
    np.testing.assert_allclose(v, np.array([[1.0, -0.5]]) * left, rtol=1e-9)
    np.testing.assert_allclose(
        p, [[0.3, -0.2]] + np.array([[1.0, -0.5]]) * (1 - left) / physics.drag, rtol=1e-9
    )


def test_lorentz_is_a_circle_with_its_radius_and_period():
    turns = 800
    physics = Physics(rotation=1.5, dt=2 * np.pi / 1.5 / turns, **OPEN)
    states = [
        p[0]
        for p, _ in nbody.trajectory(
            np.array([[0.4, 0.1]]), np.array([[0.6, 0.8]]), ("lorentz",), physics, steps=turns
        )
    ]
    path = np.array(states)
    np.testing.assert_allclose(path[-1], path[0], atol=1e-9)  # one period, 2 pi / omega
    # a diameter, 2 |v| / omega
    assert np.linalg.norm(path[turns // 2] - path[0]) == pytest.approx(2 / 1.5, rel=1e-9)
    centre = (path[0] + path[turns // 2]) / 2
    np.testing.assert_allclose(np.linalg.norm(path - centre, axis=1), 1 / 1.5, rtol=1e-9)
    assert path[1, 1] - path[0, 1] < 0.8 * physics.dt  # omega (v_y, -v_x): clockwise


def test_a_spring_pair_oscillates_about_its_rest_length():
    """The separation obeys s'' = -2 k (s - r0)."""
    physics = Physics(stiffness=0.5, rest_length=1.5, **OPEN)
    steps = 1000
    p, v = last([[-1.0, 0.2], [1.0, 0.2]], [[0.0, 0.1], [0.0, 0.1]], ("spring",), physics, steps)
    time = steps * physics.dt
    separation = 1.5 + 0.5 * np.cos(np.sqrt(2 * 0.5) * time)
    np.testing.assert_allclose(p[1, 0] - p[0, 0], separation, rtol=1e-9)
    np.testing.assert_allclose(p[:, 1], 0.2 + 0.1 * time, rtol=1e-9)  # the pair as a whole drifts
    np.testing.assert_allclose(v[:, 1], 0.1, rtol=1e-9)


def test_gravity_is_softened_and_attracts():
    physics = Physics(gravity=2.0, softening=1.0)
    p = np.array([[0.0, 0.0], [3.0, 4.0]])
    a = nbody.acceleration(p, np.zeros_like(p), ("gravity",), physics)
    np.testing.assert_allclose(a[0], 2 * np.array([3, 4]) / 26**1.5)
    np.testing.assert_allclose(a[1], -a[0])


def closest(states) -> np.ndarray:
    """The smallest distance of two bodies on the way, per trajectory."""
    first, second = np.triu_indices(5, 1)
    return np.min(
        [np.linalg.norm(p[:, first] - p[:, second], axis=-1).min(1) for p, _ in states], axis=0
    )


@pytest.mark.parametrize(
    "laws", [("gravity",), ("spring",), ("gravity", "spring"), ("gravity", "spring", "lorentz")]
)
def test_energy_is_conserved_without_drag(laws):
    """The force of a spring jumps where two bodies meet, which no fixed step follows: such paths
    are left out.
    """
    physics = Physics(**OPEN)
    p, v = nbody.start(60, 5, 0)
    states = list(nbody.trajectory(p, v, laws, physics, steps=1000))
    apart = closest(states) > (0.05 if "spring" in laws else 0)
    assert apart.sum() >= 10
    before, after = (nbody.energy(*states[moment], laws, physics)[apart] for moment in (0, -1))
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-6)
    assert not np.allclose(states[0][0], states[100][0], atol=1e-2)


def test_drag_takes_energy_and_pairs_keep_momentum():
    physics = Physics(**OPEN)
    p, v = nbody.start(10, 4, 1)
    energies = [
        nbody.energy(*state, ("gravity", "drag"), physics)
        for state in nbody.trajectory(p, v, ("gravity", "drag"), physics, steps=300)
    ]
    assert all((after < before).all() for before, after in pairwise(energies))
    _, end = last(p, v, ("gravity", "spring"), physics, 300)
    np.testing.assert_allclose(end.sum(1), v.sum(1), atol=1e-9)


def test_the_integrator_is_of_fourth_order():
    p, v = nbody.start(8, 5, 2)
    laws, ends = nbody.LAWS, []
    for halvings in range(4):
        physics = Physics(dt=0.1 / 2**halvings, **OPEN)
        ends.append(last(p, v, laws, physics, 10 * 2**halvings)[0])
    steps = [np.abs(b - a).max() for a, b in pairwise(ends)]
    orders = [np.log2(a / b) for a, b in pairwise(steps)]
    assert all(3.7 < order < 4.5 for order in orders), orders


def test_forces_add_up_and_act_on_each_body_alone():
    physics = Physics()
    p, v = nbody.start(6, 5, 3)
    single = {law: nbody.acceleration(p, v, (law,), physics) for law in nbody.LAWS}
    for forces in nbody.FORCE_SETS:
        laws = nbody.laws_of(forces)
        np.testing.assert_allclose(
            nbody.acceleration(p, v, laws, physics), sum(single[law] for law in laws), atol=1e-12
        )
    order = np.array([3, 1, 4, 0, 2])
    np.testing.assert_allclose(
        nbody.acceleration(p[:, order], v[:, order], nbody.LAWS, physics),
        nbody.acceleration(p, v, nbody.LAWS, physics)[:, order],
        atol=1e-12,
    )


def test_the_boundary_draws_in_and_slows_whole_bodies():
    p, v = np.array([[2.6, 0.5], [2.4, -2.4], [0.0, -3.0]]), np.ones((3, 2))
    inside, slowed = nbody.bounded(p, v, Physics())
    np.testing.assert_allclose(inside, [[2.548, 0.49], [2.4, -2.4], [0, -2.94]])
    np.testing.assert_allclose(slowed, [[0.9, 0.9], [1, 1], [0.9, 0.9]])


def test_trajectories_at_once_are_those_one_by_one():
    p, v = nbody.start(4, 3, 5)
    together = last(p, v, nbody.LAWS, Physics(), 50)
    for index in range(4):
        alone = last(p[index], v[index], nbody.LAWS, Physics(), 50)
        for one, all_ in zip(alone, together, strict=True):
            np.testing.assert_allclose(one, all_[index], rtol=1e-12)


def test_there_are_fifteen_force_sets():
    assert len(nbody.FORCE_SETS) == 15 and nbody.FORCE_SETS[:4] == nbody.LAWS
    assert nbody.FORCE_SETS[-1] == "gravity+spring+drag+lorentz"


def test_the_data_set_holds_single_forces_in_training_and_all_sets_in_the_test():
    ds = nbody.make(SMALL)
    assert set(nbody.subset(ds, "train", "val")["forces"].values) == set(nbody.LAWS)
    assert set(nbody.subset(ds, "train", "val")["bodies"].values) == {5}
    test = nbody.subset(ds, "test")
    assert set(test["forces"].values) == set(nbody.FORCE_SETS) and set(test["bodies"].values) == {
        3,
        4,
        5,
    }
    assert ds.sizes["state"] == 3 * (4 * 3 + 4 * 2 + 15 * 3 * 2)
    tags = [set(nbody.subset(ds, split)["trajectory"].values) for split in nbody.SPLITS]
    assert not tags[0] & tags[1] and not (tags[0] | tags[1]) & tags[2]
    np.testing.assert_array_equal(ds["present"].sum("body"), ds["bodies"])
    for name in ("position", "velocity", "acceleration"):
        assert float(abs(ds[name].where(~ds["present"], 0)).max()) == 0
    three = nbody.subset(test, "test", forces=["gravity+drag"])
    three = three.isel(state=np.flatnonzero(three["bodies"].values == 3))
    expected = nbody.acceleration(
        three["position"].values[:, :3],
        three["velocity"].values[:, :3],
        ("gravity", "drag"),
        Physics(),
    )
    np.testing.assert_allclose(three["acceleration"].values[:, :3], expected)


def test_states_follow_their_seeds():
    one, same, other = (
        nbody.make(c) for c in (SMALL, SMALL, NBodyConfig(**{**vars(SMALL), "seed": 1}))
    )
    assert one.identical(same)
    assert nbody.subset(one, "test").equals(nbody.subset(other, "test"))
    assert not np.allclose(
        nbody.subset(one, "train")["position"], nbody.subset(other, "train")["position"]
    )


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: NBodyConfig(n_train=0), "n_train must be an integer >= 1, got 0"),
        (
            lambda: NBodyConfig(bodies=(6,)),
            "each of bodies must be an integer >= 1 and <= 5, got 6",
        ),
        (
            lambda: NBodyConfig(bodies=()),
            r"bodies must be numbers of bodies such as \(5, 4, 3\), got \(\)",
        ),
        (
            lambda: NBodyConfig(seed=4, test_seed=4),
            "test_seed must differ from seed, .* got 4 twice",
        ),
        (lambda: Physics(gravity=-1.0), "gravity must be a finite number >= 0, got -1.0"),
        (lambda: Physics(dt=0.0), "dt must be > 0, got 0.0"),
        (
            lambda: nbody.laws_of("gravity+glue"),
            r"forces must be different laws of .*, got 'gravity\+glue'",
        ),
        (
            lambda: nbody.laws_of("drag+drag"),
            r"forces must be different laws of .*, got 'drag\+drag'",
        ),
        (
            lambda: nbody.subset(nbody.make(SMALL), "ood"),
            "splits must be any of train, val, test, got 'ood'",
        ),
    ],
)
def test_bad_settings_are_named(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_integrate_follows_any_acceleration():
    physics = Physics(**OPEN)
    *_, (p, v) = nbody.integrate(
        lambda p, v: -p, np.array([[1.0, 0.0]]), np.array([[0.0, 2.0]]), physics, steps=200
    )
    np.testing.assert_allclose(p, [[np.cos(1), 2 * np.sin(1)]], rtol=1e-9)
    np.testing.assert_allclose(v, [[-np.sin(1), 2 * np.cos(1)]], rtol=1e-9)


def test_rollouts_keep_states_of_the_true_trajectories():
    config = nbody.RolloutConfig(panels=("drag", "gravity+spring"), n_starts=3, steps=20, every=8)
    found = nbody.rollouts(config)
    assert dict(found.sizes) == {"panel": 2, "start": 3, "step": 4, "body": 5, "axis": 2}
    assert found["step"].values.tolist() == [0, 8, 16, 20]
    one = found.sel(panel="gravity+spring").isel(start=1)
    states = list(
        nbody.trajectory(
            *(one[k].values[0] for k in ("position", "velocity")),
            ("gravity", "spring"),
            config.physics,
            steps=20,
        )
    )
    for row, step in enumerate(config.kept):
        np.testing.assert_allclose(one["position"].values[row], states[step][0], rtol=1e-12)
        np.testing.assert_allclose(one["velocity"].values[row], states[step][1], rtol=1e-12)
    path = np.array([p for p, _ in states])
    assert float(one["reach"]) == pytest.approx(np.abs(path).max())
    assert float(one["length"]) == pytest.approx(
        np.linalg.norm(np.diff(path, axis=0), axis=-1).sum(0).mean()
    )
    xr.testing.assert_identical(found, nbody.rollouts(config))
    alone = nbody.rollouts(
        nbody.RolloutConfig(panels=("gravity+spring",), n_starts=3, steps=20, every=8)
    )
    np.testing.assert_array_equal(alone["position"][0], found["position"][1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"panels": "gravity"}, "panels must be force sets"),
        ({"panels": ("glue",)}, "got 'glue'"),
        ({"n_starts": 0}, "n_starts must be an integer >= 1, got 0"),
        ({"bodies": 6}, "bodies must be an integer >= 1 and <= 5, got 6"),
    ],
)
def test_rollouts_name_what_is_wrong(options, message):
    with pytest.raises(ValueError, match=message):
        nbody.RolloutConfig(**options)
