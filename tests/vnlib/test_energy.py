"""The sum of the layers' energies against its parts."""

from __future__ import annotations

import torch
from settle_cases import X, single, some_codes, stack

from vnlib.layer import energy
from vnlib.settle import joint_energy
from vnlib.settle.energy import summed_energy


def test_the_sum_of_energies_counts_every_coupling_twice():
    layers = stack()
    codes, x, beta = some_codes(layers), X, 0.3
    alone, coupled = torch.zeros(len(X), dtype=X.dtype), []
    for index, (layer, code) in enumerate(zip(layers, codes, strict=True)):
        alone = alone + layer.penalty.value(code)
        if not index:
            alone = alone + 0.5 * (x - code @ layer.V.T).square().sum(1)
        else:
            missed = codes[index - 1] @ layers[index - 1].U.T - code @ layer.V.T
            coupled.append(0.5 * missed.square().sum(1))
    total = alone + (1 + beta) * sum(coupled)
    torch.testing.assert_close(summed_energy(layers, codes, x, beta), total)


def test_of_one_layer_all_energies_are_the_same():
    layers = single()
    codes = some_codes(layers)
    found = summed_energy(layers, codes, X, 0.3)
    torch.testing.assert_close(found, energy(layers[0], codes[0], X))
    torch.testing.assert_close(found, joint_energy(layers, codes, X))
