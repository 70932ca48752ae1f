"""Networks whose operator is applied, and closed forms by law, against what they promise."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import Ridge

from benchmarks.nbody import by_law, measure, operators
from benchmarks.nbody.bodies import LAWS, in_passes, scales_of, tokens
from benchmarks.nbody.forces import relative_errors

SMALL = {"n_train": 24, "n_val": 6, "n_test": 1, "seed": 11, "test_seed": 12}


@pytest.fixture(scope="module")
def parts():
    data = measure.states(**SMALL)
    train, val, test = (measure.samples(measure.split(data, n)) for n in ("train", "val", "test"))
    return train, val, test, scales_of(train)


def network(parts, **options):
    train, val, _, scales = parts
    return operators.operator_network(train, val, scales, seed=0, **options)


def law_states(parts, name: str = "spring"):
    return by_law.states_of(parts[0], parts[3], LAWS.index(name))


def start(states, readout: str = "operator") -> operators.Library:
    V = {k: operators.unit(x) for k, x in operators.guards(states.tokens, 8).items()}
    return operators.Library(V, readout)


def squared_error(tell: by_law.Readable, states: by_law.LawStates) -> float:
    """Mean squared error over the mean square of what is to be told."""
    return float(np.square(tell(states.tokens) - states.y).mean() / np.square(states.y).mean())


def test_tokens_are_those_that_all_models_read(parts):
    train, _, _, scales = parts
    law = LAWS.index("gravity")
    found = by_law.tokens_of(train.bodies, scales, law)
    acts = train.forces[:, law] != 0
    wanted = tokens(train.bodies, scales)[acts, :, law].sum(2).flatten(0, 1).double().numpy()
    rows = np.flatnonzero(np.repeat(acts.numpy(), 5))
    for kind, columns in by_law.KINDS.items():
        x, owner = found.kinds[kind]
        total = by_law.summed(x, owner, found.rows)
        np.testing.assert_allclose(total[rows], wanted[:, columns], atol=1e-5)
    assert (found.kinds["pair"].x[:, 2] == np.float32(operators.PRESENCE)).all()


def test_ridge_solves_the_normal_equations():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(50, 7)), rng.normal(size=(50, 2))
    for penalty in (1e-6, 0.1):
        absolute = penalty * np.trace(x.T @ x) / 7
        wanted = Ridge(alpha=absolute, fit_intercept=False).fit(x, y).coef_.T
        np.testing.assert_allclose(by_law.solutions(x, y, [penalty])[0], wanted, rtol=1e-8)
        np.testing.assert_allclose(by_law.solved(x, y, penalty), wanted, rtol=1e-8)


def test_the_penalty_is_the_one_that_validates_best(parts):
    states, held = (by_law.states_of(one, parts[3], 1) for one in parts[:2])
    found = by_law.chosen([start(states)], states, held, (1e-9, 1e-3, 10.0))
    errors = {
        p: squared_error(by_law.Linear(start(states), w, p), held)
        for p, w in zip(
            (1e-9, 1e-3, 10.0),
            by_law.solutions(start(states)(states.tokens), states.y, (1e-9, 1e-3, 10.0)),
            strict=True,
        )
    }
    assert found.penalty == min(errors, key=errors.get)


@pytest.mark.parametrize("readout", operators.READOUTS)
def test_linear_laws_are_told_up_to_rounding_and_recruit_nothing(parts, readout):
    found, facts = network(parts, readout=readout, recruits=20)
    errors = relative_errors(found.predict, parts[1])
    assert (errors[2:] < 1e-13).all() and (errors[:2] > 1e-7).all()
    assert facts["atoms_drag"] == facts["atoms_lorentz"] == 16
    assert facts["atoms_gravity"] == facts["atoms_spring"] == 36


def test_features_are_the_code_and_its_products_with_the_token(parts):
    states = law_states(parts)
    library = start(states)
    V, pair = library.V["pair"], states.tokens.kinds["pair"]
    codes = library.codes(states.tokens)
    rng = np.random.default_rng(1)
    B = rng.normal(size=(V.shape[1], 2, 3))
    own = library.V["own"].shape[1] * 3
    weights = np.concatenate([np.zeros((own, 2)), B.swapaxes(1, 2).reshape(-1, 2)])
    told = library(states.tokens) @ weights
    atoms, a, _ = codes["pair"]
    each = np.einsum("nk,nkij,nj->ni", a, B[atoms], pair.x)  # W(x) x
    np.testing.assert_allclose(told, by_law.summed(each, pair.owner, states.tokens.rows))
    vector = operators.Library(library.V, "vector")(states.tokens).toarray()
    np.testing.assert_allclose(
        vector[:, -V.shape[1] :] @ V.T, by_law.summed(pair.x, pair.owner, len(states.y)), atol=1e-9
    )


@pytest.mark.parametrize("by", operators.RECRUITING)
def test_recruits_are_tokens_none_twice_and_lower_the_error(parts, by):
    states, held = law_states(parts), by_law.states_of(parts[1], parts[3], 1)
    first = start(states)
    how = {"by": by, "penalty": 1e-10, "seed": 0, "name": "spring"}
    grown = operators.recruited(first, states, recruits=60, **how)
    V = grown.V["pair"]
    assert V.shape[1] == 68 and grown.V["own"].shape[1] == 8
    near = V.T @ V - 2 * np.eye(68)
    assert near.max() < 1 - 1e-12, "no two are the same"
    tokens_ = operators.unit(states.tokens.kinds["pair"].x)
    np.testing.assert_allclose((tokens_.T @ V[:, 8:]).max(0), 1)
    errors = [squared_error(by_law.chosen([one], states, held), held) for one in (first, grown)]
    assert errors[1] < 0.2 * errors[0]


def test_the_best_rows_lie_on_facets_of_their_own():
    score, facet = np.array([3.0, 5.0, 4.0, 0.0, 1.0]), np.array([0, 1, 1, 2, 3])
    assert operators.best(score, facet, 9).tolist() == [1, 0, 4]
    assert operators.best(score, facet, 2).tolist() == [1, 0]
    assert operators.best(score, np.arange(5), 3).tolist() == [1, 2, 0]


def test_recruiting_where_it_errs_beats_random_atoms(parts):
    errors = {}
    for by in operators.RECRUITING:
        found, _ = network(parts, recruits=80, recruit=by)
        errors[by] = float(relative_errors(found.predict, parts[1])[1])
    assert errors["error"] < errors["random"]


def test_forces_superpose_and_absent_bodies_have_none(parts):
    found, _ = network(parts, recruits=10)
    test = parts[2].bodies
    told = found.predict(test)
    torch.testing.assert_close(told, in_passes(found.predict, test), atol=1e-4, rtol=1e-4)
    assert (told[~test.present] == 0).all() and (told[test.present] != 0).any()


def test_the_delta_rule_comes_to_what_the_closed_form_has():
    """Consistent equations: both end at a solution without error."""
    rng = np.random.default_rng(3)
    x, wanted = rng.normal(size=(40, 5)), rng.normal(size=(5, 2))
    sparse = by_law.csr_array(x)
    found = operators.delta_rule(sparse, x @ wanted, 200, np.random.default_rng(0))
    np.testing.assert_allclose(found, wanted, atol=1e-8)
    one = operators.delta_rule(sparse[:1], (x @ wanted)[:1], 1, np.random.default_rng(0), rate=0.5)
    step = 0.5 * np.outer(x[0], x[0] @ wanted) / (x[0] @ x[0])
    np.testing.assert_allclose(one, step)


def test_kernels_are_gaussians_of_tokens_summed(parts):
    states = law_states(parts)
    pair = states.tokens.kinds["pair"]
    centres = {"own": np.zeros((0, 2)), "pair": pair.x[:6]}
    found = by_law.Kernels(centres, 0.8)(states.tokens)
    wanted = by_law.summed(RBF(0.8)(pair.x, pair.x[:6]), pair.owner, len(states.y))
    np.testing.assert_allclose(found[:, -6:], wanted, atol=1e-10)
    np.testing.assert_allclose(
        found[:, 2:5], by_law.summed(pair.x, pair.owner, len(states.y)), atol=1e-10
    )


def test_rbf_ridge_has_a_width_for_each_law(parts):
    train, val, _, scales = parts
    found, facts = by_law.rbf_ridge(train, val, scales, centres=40, seed=0)
    errors = relative_errors(found.predict, val)
    assert (errors[2:] < 1e-12).all() and (errors[:2] < 0.3).all()
    assert facts["atoms_spring"] == 40 and facts["width_spring"] in by_law.BANDWIDTHS
    with pytest.raises(ValueError, match="centres of gravity"):
        by_law.rbf_ridge(train, val, scales, centres=10**6, seed=0)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"readout": "matrix"}, "readout"),
        ({"recruit": "most"}, "recruit"),
        ({"recruits": -1}, "recruits"),
        ({"own": 10**6}, r"atoms \(own\) of gravity"),
        ({"penalty": 0.0}, "penalty"),
    ],
)
def test_bad_options_are_refused(parts, options, match):
    with pytest.raises(ValueError, match=match):
        network(parts, **options)


def test_a_law_without_states_is_refused(parts):
    train = parts[0]
    none = train._replace(forces=torch.ones_like(train.forces))
    with pytest.raises(ValueError, match="got none of gravity"):
        by_law.states_of(none, parts[3], 0)
