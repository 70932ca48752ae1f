"""Figures: every function takes a dataset of results and returns a matplotlib figure; nothing is computed anew."""

from vnlib.figures.style import use_style

__all__ = ["use_style"]
