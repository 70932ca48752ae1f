"""What is shown of signals with hidden samples, and which share a mask."""

from __future__ import annotations

import pytest
import torch

from benchmarks.functions.masks import by_mask, shown


def test_rows_come_once_and_with_their_mask():
    masks = torch.tensor([[True, False], [True, True], [True, False], [False, True]])
    found = {tuple(mask.tolist()): rows.tolist() for mask, rows in by_mask(masks)}
    assert found == {(True, False): [0, 2], (True, True): [1], (False, True): [3]}


def test_what_is_hidden_is_never_looked_at():
    x, seen = (
        torch.tensor([[1.0, torch.nan], [2.0, 3.0]]),
        torch.tensor([[True, False], [True, True]]),
    )
    assert torch.equal(shown(x, seen), torch.tensor([[1.0, 0.0], [2.0, 3.0]]))
    with pytest.raises(ValueError, match="got 1 with nothing observed"):
        shown(x, torch.tensor([[False, False], [True, True]]))
    with pytest.raises(ValueError, match="bool tensor"):
        shown(x, seen.float())
    with pytest.raises(ValueError, match=r"\(batch, 3\)"):
        shown(x, seen, 3)
