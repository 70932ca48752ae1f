"""Randomness by name: every random stream follows from an explicit seed and the stream's name."""

from __future__ import annotations

import hashlib

import torch


def derive(seed: int, *stream: object) -> int:
    """A 63-bit seed for the stream that `stream` names; equal names give equal seeds."""
    digest = hashlib.sha256(repr((int(seed), *stream)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def generator(seed: int, *stream: object, device: torch.device | str = "cpu") -> torch.Generator:
    """A generator for one stream; a function of its name, it needs no saving in checkpoints."""
    return torch.Generator(device=device).manual_seed(derive(seed, *stream))
