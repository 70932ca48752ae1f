"""What the figures and tables of all chapters share."""

from vnlib.plots.style import use_style

__all__ = ["use_style"]
