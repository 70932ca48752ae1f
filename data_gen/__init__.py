"""Benchmarks as data: every maker returns an `xarray.Dataset` with named dimensions and units.

Nothing here knows of models. A dataset follows from its configuration and seeds alone: same seed,
same bits.
"""
