"""Write the schematic that the README shows: `python -m book.schematics`."""

from book.schematics import DRAWINGS
from book.schematics.pen import STYLE

(STYLE.parent / "layer.svg").write_text(
    DRAWINGS["layer"]().svg(alone=True) + "\n", encoding="utf-8"
)
