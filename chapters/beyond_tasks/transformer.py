"""A decoder whose pixels are tokens that attend to each other."""

from __future__ import annotations

from torch import nn

from benchmarks.spatial.coordinates import CoordinateMLP

HEADS = 4
WIDEN = 4  # units of the perceptron in a layer, over its width


class PixelTransformer(CoordinateMLP):
    """The coordinate MLP with layers of self-attention with `HEADS` heads in place of perceptrons,
    so that pixels see each other (FR's public code, at width 128 and with dropout; it is not in the
    paper).

    The parameters number (n_inputs + 1) w + depth (12 w^2 + 13 w) + w + 1, with w = width.
    """

    def block(self) -> nn.Module:
        units = WIDEN * self.width
        return nn.TransformerEncoderLayer(self.width, HEADS, units, dropout=0.0, batch_first=True)
