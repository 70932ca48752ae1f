"""One product with H per step, in either form, and what layers tell one another."""

from __future__ import annotations

import pytest
import torch
from stack_cases import draw

from vnlib.layer import Layer, hessian, lipschitz
from vnlib.prox import L1
from vnlib.settle.quadratic import Coupling, Quadratic


@pytest.mark.parametrize(("d", "K"), [(30, 12), (6, 40)])
@pytest.mark.parametrize("coupled", [False, True])
def test_both_forms_of_the_quadratic_agree_with_the_hessian(d, K, coupled):
    layer = Layer(draw(d, K, seed=1), draw(5, K, seed=2), L1(sparsity=0.1))
    quadratic, code = Quadratic(layer, 0.7), draw(4, K, seed=3)
    exact = hessian(layer, 0.7 if coupled else 0.0)
    torch.testing.assert_close(quadratic.times(code, coupled), code @ exact)
    torch.testing.assert_close(
        quadratic.times(code, coupled, torch.ones(4, d, dtype=torch.float64)), code @ exact
    )
    assert quadratic.lipschitz() == pytest.approx(lipschitz(hessian(layer, 0.7)))
    assert 0.5 * lipschitz(exact) < quadratic.rough_lipschitz(coupled) <= lipschitz(exact)


def test_a_masked_quadratic_sees_the_observed_rows_only():
    layer, mask = (
        Layer(draw(9, 14, seed=1), None, L1(sparsity=0.1)),
        (draw(3, 9, seed=5) > 0).double(),
    )
    code = draw(3, 14, seed=2)
    expected = [a @ (layer.V.T * m) @ layer.V for a, m in zip(code, mask, strict=True)]
    torch.testing.assert_close(
        Quadratic(layer, 0.0).times(code, False, mask), torch.stack(expected)
    )


@pytest.mark.parametrize("m", [2, 40])
@pytest.mark.parametrize("activation", ["identity", "relu"])
@pytest.mark.parametrize("untied", [False, True])
def test_couplings_carry_messages_up_and_targets_down(m, activation, untied):
    below = Layer(
        draw(6, 9, seed=1),
        draw(m, 9, seed=2),
        L1(sparsity=0.1),
        draw(m, 9, seed=4) if untied else None,
    )
    above = Layer(draw(m, 7, seed=3), None, L1(sparsity=0.1))
    coupling, a, b = Coupling(below, above, activation), draw(4, 9, seed=5), draw(4, 7, seed=6)
    sent = a @ below.U.T
    torch.testing.assert_close(
        coupling.up(a), (sent.relu() if activation == "relu" else sent) @ above.V
    )
    torch.testing.assert_close(coupling.down(b), b @ above.V.T @ (below.B if untied else below.U))
    assert (coupling.cross is not None) == (m == 40 and activation == "identity" and not untied)
