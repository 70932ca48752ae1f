"""The result store: runs are filled in one by one, kept with where they come from, and merged into
NetCDF files.
"""

from vnlib.book.store.netcdf import FORMAT, StoreError, of, read, write
from vnlib.book.store.runs import Cell
from vnlib.book.store.store import GridResult, grid

__all__ = ["FORMAT", "Cell", "GridResult", "StoreError", "grid", "of", "read", "write"]
