"""Predictions in batches."""

from __future__ import annotations

import torch
from torch import nn

from vnlib.evaluate import predict


class Lengths(nn.Linear):
    """A linear map that notes how many samples it is asked for."""

    def __init__(self) -> None:
        super().__init__(3, 2)
        self.batches: list[int] = []

    def forward(self, x):
        self.batches.append(len(x))
        return super().forward(x)


def test_predict_does_not_depend_on_its_batches():
    model, x = Lengths(), torch.randn(20, 3)
    whole = predict(model, x)
    torch.testing.assert_close(predict(model, x, batch_size=7), whole)
    assert model.batches == [20, 7, 7, 6]
    assert not whole.requires_grad and whole.shape == (20, 2)
    torch.testing.assert_close(whole, x @ model.weight.T + model.bias)
