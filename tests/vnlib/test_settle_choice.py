"""What "auto" chooses, and coordinate descent of stacks and under masks: against plain proximal
steps on F, scikit-learn and the optimality conditions.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import ElasticNet as SklearnElasticNet
from sklearn.linear_model import Lasso as SklearnLasso
from stack_cases import FEEDBACK, X, draw, stack

from vnlib.layer import Layer
from vnlib.prox import L0, L1, MCP, ElasticNet, NonNegativeL1, TopK, WeightedL1
from vnlib.settle import SettleConfig, Settler, SettleWarning, Stop, duality_gap, stopping, to_csr

MASK = (draw(6, 16, seed=8) > -0.3).double()
TIGHT = SettleConfig(tol=1e-12)


def net(sparsity: float) -> ElasticNet:
    return ElasticNet(sparsity=sparsity, ridge=0.3)


def by_plain_steps(layers, x, feedback, mask=None, sweeps=4000):
    """The minimum of F by proximal gradient steps with momentum, in all codes at once."""
    mask = torch.ones_like(x) if mask is None else mask
    codes = [x.new_zeros(len(x), layer.V.shape[1]) for layer in layers]
    ahead, t = codes, 1.0
    # A layer's curvature in F, twice for the layers it is coupled with, over feedback^(l-1).
    steps = [
        0.5
        / float(
            torch.linalg.matrix_norm(layer.V, 2) ** 2
            + (0 if layer.U is None else feedback * torch.linalg.matrix_norm(layer.U, 2) ** 2)
        )
        for layer in layers
    ]
    for _ in range(sweeps):
        r = [mask * (x - ahead[0] @ layers[0].V.T)]
        for i in range(1, len(layers)):
            r.append(ahead[i - 1] @ layers[i - 1].U.T - ahead[i] @ layers[i].V.T)
        new = []
        for i, layer in enumerate(layers):
            down = r[i] @ layer.V
            if layer.U is not None:
                down = down - feedback * r[i + 1] @ layer.U
            new.append(layer.penalty.prox(ahead[i] + steps[i] * down, steps[i]))
        t, before = (1 + (1 + 4 * t**2) ** 0.5) / 2, t
        ahead = [b + (before - 1) / t * (b - a) for a, b in zip(codes, new, strict=True)]
        codes = new
    return codes


# --- the choice ---


@pytest.mark.parametrize(
    ("penalty", "depth", "options", "chosen"),
    [
        (L1, 1, {}, ("cd", "gap")),
        (NonNegativeL1, 3, {}, ("cd", "gap")),
        (net, 2, {}, ("cd", "gap")),
        (L1, 3, {"feedback": 0.0, "activation": "relu"}, ("cd", "gap")),
        (L1, 3, {"activation": "relu"}, ("line_search", "energy")),
        (L0, 1, {}, ("cd", "energy")),
        (L0, 2, {}, ("line_search", "energy")),
        (lambda sparsity: L1(sparsity=0.0), 2, {}, ("line_search", "energy")),
        (
            lambda sparsity: TopK(penalty=L1(sparsity=sparsity), k=2),
            1,
            {},
            ("line_search", "energy"),
        ),
    ],
)
def test_auto_takes_coordinates_where_they_fit_and_the_gap_where_there_is_one(
    penalty, depth, options, chosen
):
    settler = Settler(stack(depth, penalty=penalty), **({"feedback": FEEDBACK} | options))
    assert (settler.config.method, settler.config.criterion) == chosen
    assert settler.config == replace(SettleConfig(), method=chosen[0], criterion=chosen[1])


@pytest.mark.parametrize(
    "option",
    [{"schedule": "recurrent"}, {"steps": 2}, {"monotone": True}, {"mix": 0.5}],
    ids=lambda option: next(iter(option)),
)
def test_options_of_the_sweeps_ask_for_sweeps(option):
    chosen = Settler(stack(2), feedback=FEEDBACK, config=SettleConfig(**option)).config
    assert (chosen.method, chosen.criterion) == ("line_search", "gap")


def test_what_is_named_is_taken():
    named = SettleConfig(method="restart", criterion="energy")
    assert Settler(stack(2), feedback=FEEDBACK, config=named).config == named
    by_energy = Settler(stack(1), config=SettleConfig(criterion="energy")).config
    assert by_energy.method == "line_search"
    assert Settler(stack(1), config=SettleConfig(method="cd")).config.criterion == "gap"


def test_a_new_criterion_is_asked_and_not_passed_over(monkeypatch):
    """Coordinate descent would stop on its gap, whatever was named."""
    monkeypatch.setitem(stopping.CRITERIA, "new", stopping.EnergyStall)
    assert Settler(stack(1), config=SettleConfig(criterion="new")).config.method == "line_search"
    with pytest.raises(ValueError, match="stops on the duality gap"):
        Settler(stack(1), config=SettleConfig(method="cd", criterion="new"))


def test_the_choice_does_not_look_at_the_device():
    layers = [
        Layer(x.V.to("meta"), None if x.U is None else x.U.to("meta"), x.penalty) for x in stack(2)
    ]
    here, there = (Settler(some, feedback=FEEDBACK).config for some in (stack(2), layers))
    assert here == there


def test_untied_feedback_and_mixed_penalties_go_in_sweeps():
    first, second = stack(2)
    untied = Settler([replace(first, B=draw(10, 20, seed=0)), second], feedback=FEEDBACK)
    assert (untied.config.method, untied.config.criterion) == ("line_search", "energy")
    for other in (NonNegativeL1(sparsity=0.1), L1(sparsity=0.0)):
        mixed = [first, replace(second, penalty=other)]
        chosen = Settler(mixed, feedback=FEEDBACK).config
        criterion = "gap" if other.sparsity else "energy"
        assert (chosen.method, chosen.criterion) == ("line_search", criterion)
        with pytest.raises(ValueError, match="method 'cd' needs one kind of penalty"):
            Settler(mixed, feedback=FEEDBACK, config=SettleConfig(method="cd"))


@pytest.mark.parametrize("penalty", [TopK(penalty=L1(sparsity=0.1), k=2)])
def test_coordinate_descent_says_what_it_cannot_do(penalty):
    layers = [replace(stack(1)[0], penalty=penalty)]
    with pytest.raises(ValueError, match=r"'cd' needs other penalties than TopK.* layer 1.*auto"):
        Settler(layers, config=SettleConfig(method="cd"))
    with pytest.raises(ValueError, match="'cd' needs identity messages and tied dictionaries"):
        Settler(stack(2), feedback=0.1, activation="relu", config=SettleConfig(method="cd"))


# --- stacks ---


@pytest.mark.parametrize("feedback", [0.03, 2.0])
@pytest.mark.parametrize("penalty", [L1, NonNegativeL1, net])
@pytest.mark.parametrize("masked", [False, True])
def test_stacks_end_where_plain_steps_on_f_end(penalty, feedback, masked):
    layers, mask = stack(3, penalty=penalty), MASK if masked else None
    found = Settler(layers, feedback=feedback, config=TIGHT)(X, mask=mask)
    assert found.converged.all()
    expected = by_plain_steps(layers, X, feedback, mask)
    for code, exact in zip(found.codes, expected, strict=True):
        torch.testing.assert_close(code, exact, rtol=0, atol=2e-5)
    gap = duality_gap(layers, found.codes, X, feedback, mask)
    assert (gap <= 1e-9 * found.energy).all()


@pytest.mark.parametrize("depth", [1, 2])
def test_settles_of_stacks_have_the_same_bits_in_every_batch(depth):
    layers, mask = stack(depth), MASK
    settler = Settler(layers, feedback=FEEDBACK)
    for hidden in (None, mask):
        whole = settler(X, mask=hidden)
        for rows in (slice(0, 1), slice(2, 5)):
            part = settler(X[rows], mask=None if hidden is None else hidden[rows])
            for a, b in zip(whole.codes, part.codes, strict=True):
                assert torch.equal(a[rows], b)


def test_threads_change_no_bit_under_masks():
    settler, threads = Settler(stack(2), feedback=FEEDBACK), torch.get_num_threads()
    x, mask = X.repeat(40, 1), MASK.repeat(40, 1)
    once = settler(x, mask=mask)
    try:
        torch.set_num_threads(2)
        twice = settler(x, mask=mask)
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(a, b) for a, b in zip(once.codes, twice.codes, strict=True))


def test_float32_stacks_settle_to_the_default():
    layers = [Layer(x.V.float(), None if x.U is None else x.U.float(), x.penalty) for x in stack(3)]
    found = Settler(layers, feedback=FEEDBACK)(X.float())
    exact = Settler(stack(3), feedback=FEEDBACK, config=TIGHT)(X)
    assert found.converged.all()
    assert (found.energy.double() <= exact.energy * (1 + 2e-4)).all()


# --- one layer ---


def test_an_elastic_net_is_that_of_scikit_learn():
    layer = stack(1, penalty=net)[0]
    codes = Settler([layer], config=TIGHT)(X).codes[0]
    model = SklearnElasticNet(
        alpha=(0.4 + 0.3) / 16, l1_ratio=0.4 / 0.7, fit_intercept=False, tol=1e-14, max_iter=100_000
    )
    expected = np.stack([model.fit(layer.V.numpy(), row).coef_ for row in X.numpy()])
    np.testing.assert_allclose(codes.numpy(), expected, atol=1e-7)


@pytest.mark.parametrize("penalty", [L1, NonNegativeL1])
def test_masks_give_the_lasso_of_the_rows_that_are_seen(penalty):
    layer = stack(1, penalty=penalty)[0]
    codes = Settler([layer], config=TIGHT)(X, mask=MASK).codes[0]
    for code, x, seen in zip(codes, X, MASK > 0, strict=True):
        model = SklearnLasso(
            alpha=0.4 / int(seen.sum()),
            fit_intercept=False,
            positive=penalty is NonNegativeL1,
            tol=1e-14,
            max_iter=100_000,
        )
        expected = model.fit(layer.V[seen].numpy(), x[seen].numpy()).coef_
        np.testing.assert_allclose(code.numpy(), expected, atol=1e-7)


def test_a_mask_of_the_first_layer_leaves_the_others_alone():
    layers = stack(3)
    found = Settler(layers, config=TIGHT)(X, mask=MASK)
    upper = Settler(layers[1:], config=TIGHT)(found.inputs[1])
    assert torch.equal(found.codes[2], upper.codes[1])
    assert torch.equal(found.inputs[1], found.codes[0] @ layers[0].U.T)


# --- what is said of a settle ---


@pytest.mark.parametrize("depth", [1, 3])
def test_a_settle_goes_on_from_codes_and_from_a_settle(depth):
    layers = stack(depth)
    settler = Settler(layers, feedback=FEEDBACK, config=SettleConfig(tol=1e-6))
    found = settler(X)
    copies = [code.clone() for code in found.codes]
    for start in (found, found.codes):
        again = settler(X, start)
        assert not again.sweeps.any()
        for code, copy in zip(again.codes, copies, strict=True):
            torch.testing.assert_close(code, copy)
    assert all(torch.equal(a, b) for a, b in zip(found.codes, copies, strict=True))
    # A settle in sweeps starts from it as well, and finds nothing left to do.
    swept = Settler(
        layers,
        feedback=FEEDBACK,
        config=SettleConfig(method="line_search", criterion="gap", tol=1e-5),
    )
    assert (swept(X, found).sweeps <= 2).all()
    random = [draw(6, layer.V.shape[1], seed=i) for i, layer in enumerate(layers)]
    torch.testing.assert_close(settler(X, random).energy, found.energy, rtol=2e-6, atol=0)


def test_a_trace_by_coordinates_is_the_end():
    settler = Settler(stack(3), feedback=FEEDBACK)
    found = settler(X, trace=True)
    assert found.trace.sweep == [int(found.sweeps.max())]
    assert torch.equal(found.trace.energy[0], found.energy)
    active = torch.stack([(code != 0).sum(1) for code in found.codes])
    assert torch.equal(found.trace.active[0], active)
    assert settler(X).trace is None and settler(X[:0], trace=True).trace is None


@pytest.mark.parametrize("depth", [1, 2])
def test_rounding_is_told_apart_from_the_end_of_the_budget(depth):
    settler = Settler(stack(depth), feedback=FEEDBACK, config=SettleConfig(tol=1e-30))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = settler(X)
    assert found.converged.all() and Stop.ROUNDING in found.reasons
    assert set(found.reasons) <= {Stop.ROUNDING, Stop.GAP}
    few = Settler(stack(depth), feedback=FEEDBACK, config=SettleConfig(tol=1e-12, max_sweeps=1))
    with pytest.warns(SettleWarning, match="of 6 samples have not settled") as said:
        short = few(X)
    assert len(said) == 1 and Stop.MAX_SWEEPS in short.reasons
    assert short.converged.tolist() == [r is Stop.GAP for r in short.reasons]
    loose = Settler(stack(depth), feedback=FEEDBACK, config=SettleConfig(tol=1e-3))(X)
    assert set(loose.reasons) == {Stop.GAP}


def test_layers_alone_warn_once():
    settler = Settler(stack(3), config=SettleConfig(tol=1e-12, max_sweeps=1))
    with pytest.warns(SettleWarning) as said:
        found = settler(X)
    assert len(said) == 1 and not found.converged.all()


def test_nonconvex_layers_stop_on_their_energy():
    penalty = MCP(sparsity=0.2, gamma=3.0)
    found = Settler([replace(stack(1)[0], penalty=penalty)])(X)
    assert set(found.reasons) == {Stop.CONVERGED}


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("masked", [False, True])
def test_a_lambda_per_atom_ends_where_plain_steps_end(depth, masked):
    layers = [
        replace(layer, penalty=WeightedL1(sparsity=0.3, weights=0.3 + draw(K, seed=K).abs()))
        for layer, K in ((layer, layer.V.shape[1]) for layer in stack(depth))
    ]
    mask = MASK if masked else None
    settler = Settler(layers, feedback=FEEDBACK, config=TIGHT)
    found = settler(X, mask=mask)
    assert settler.config.method == "cd" and found.converged.all()
    expected = by_plain_steps(layers, X, FEEDBACK, mask)
    for code, exact in zip(found.codes, expected, strict=True):
        torch.testing.assert_close(code, exact, rtol=0, atol=2e-5)
    assert (duality_gap(layers, found.codes, X, FEEDBACK, mask) <= 1e-9 * found.energy).all()
    again = settler(X, found, mask=mask)
    torch.testing.assert_close(again.codes[0], found.codes[0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("weights", [torch.ones(2, 3), torch.tensor([1.0, 0.0])])
def test_weights_are_positive_numbers_one_per_atom(weights):
    with pytest.raises(ValueError, match=r"weights must be \(atoms,\), all > 0"):
        WeightedL1(sparsity=0.1, weights=weights)
    few = replace(stack(1)[0], penalty=WeightedL1(sparsity=0.1, weights=torch.ones(3)))
    with pytest.raises(ValueError, match=r"weights must have shape \(batch, 20\)"):
        Settler([few])


def test_codes_as_sparse_arrays():
    code = Settler(stack(1))(X).codes[0]
    sparse = to_csr(code)
    assert sparse.format == "csr" and sparse.nnz == int((code != 0).sum()) > 0
    assert sparse.dtype == np.float64 and np.array_equal(sparse.toarray(), code.numpy())
