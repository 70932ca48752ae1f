"""The playground's data, what vnlib makes of them, and what a hand does on its page."""

from __future__ import annotations

import json

import torch

from benchmarks.images import playground
from vnlib.book import paths

DATA = paths.SOURCE / "book" / "_static" / "playground"
PATIENCE = 120_000  # milliseconds for a page on a busy machine


def settled(
    shipped: tuple,
    x: torch.Tensor,
    *,
    factor: float = 1.0,
    signed: bool = False,
    mask=None,
    config=None,
):
    """vnlib's settle of one picture at `factor` times the model's sparsity: code, reconstruction,
    energy.
    """
    network = shipped[0]
    own = playground.playground_network(
        network.V[0], sparsity=factor * network.layers[0].penalty.sparsity, nonnegative=not signed
    )
    found = own.settle(x[None], mask=None if mask is None else mask[None], config=config)
    assert config or bool(found.converged.all())
    return found.codes[0][0].numpy(), own.reconstruct(found)[0].numpy(), float(found.energy[0])


def read(page) -> dict:
    """All that the page made of what it shows now; arrays as lists, in one text, for that is fast."""
    return json.loads(
        page.evaluate(
            "JSON.stringify(vnPlayground.read(), (_, one) => ArrayBuffer.isView(one) ? [...one] : one)"
        )
    )


def pick(page, mode: str, digit: int) -> None:
    page.check(f"input[name=vn-pick][value={mode}]")
    page.click(f"#vn-digits button:nth-child({digit + 1})")


def slide(page, name: str, value: float) -> None:
    page.fill(f"#vn-{name}", str(value))
