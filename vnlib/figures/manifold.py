"""Figures of the layers' geometry."""

import xarray as xr


def summary(results: xr.Dataset) -> str:
    return ""
