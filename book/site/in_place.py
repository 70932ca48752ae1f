"""Papermill's cells run in the process that asks for it, and show what they would in a kernel.

A kernel is a Python that imports all libraries anew; a process that was forked from one which has
them (see `book.site.processes`) needs none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from io import StringIO, TextIOBase
from typing import Any, TextIO

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.history import HistoryManager
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.pylabtools import print_figure, select_figure_formats
from matplotlib import rc_context, rcParams
from matplotlib.figure import Figure
from nbformat.v4 import new_output
from papermill.engines import Engine, NotebookExecutionManager, papermill_engines

from book.site import moved, phones
from book.site.in_place_measures import measured_once

NAME = "in_place"
"""What papermill calls this engine."""
HEAVIEST = 300_000
"""Characters of a drawing; in one of more, mostly of images or of very many points, the marks are a
picture, and a figure in which they are still too many is PNG. One with outlines of letters may have
twice as many."""
PHONE = "phone"
"""Under this name the metadata of a figure hold its drawing for phones."""
STYLE: Any = {
    "figure.constrained_layout.use": False,
    "figure.autolayout": False,
    "font.sans-serif": ["DejaVu Sans"],  # which pages bring, and matplotlib has
    "svg.fonttype": "none",
    "svg.hashsalt": NAME,
}
ALONE: Any = {"svg.fonttype": "path"}  # an image knows no font of the page


class _Stream(TextIOBase):
    """What a cell writes to a stream, among what it shows, and in a file where there is one."""

    encoding = "utf-8"

    def __init__(self, name: str, shown: list, file: TextIO | None = None) -> None:
        self.name, self.shown, self.file = name, shown, file

    def write(self, text: str) -> int:
        if self.shown and self.shown[-1].get("name") == self.name:
            self.shown[-1].text += text
        elif text:
            self.shown.append(new_output("stream", name=self.name, text=text))
        if self.file:
            self.file.write(text)
            self.file.flush()
        return len(text)


class _Publisher(DisplayPublisher):
    shell: _Shell

    def publish(self, data: dict, metadata: dict | None = None, **others: Any) -> None:
        """Keep what is displayed."""
        self.shell.shown.append(new_output("display_data", data, metadata=metadata or {}))


class _Hook(DisplayHook):
    shell: _Shell

    def write_output_prompt(self) -> None:
        """Say nothing: the notebook has the number."""

    def write_format_data(self, format_dict: dict, md_dict: dict | None = None) -> None:
        """Keep the value of a cell."""
        count = self.exec_result.execution_count if self.exec_result else None
        kept = {"metadata": md_dict or {}, "execution_count": count}
        self.shell.shown.append(new_output("execute_result", format_dict, **kept))


class _Shell(InteractiveShell):
    """An IPython that keeps what a cell shows, in its order."""

    shown: list
    figure: str = ""  # which the cell at work shows
    display_formatter: Any

    def init_history(self) -> None:
        """Write none."""
        self.history_manager = HistoryManager(shell=self, parent=self, enabled=False)

    def enable_gui(self, gui: str | None = None) -> None:
        """Open no windows: figures are shown in the page."""

    def _showtraceback(self, etype: type, evalue: BaseException, stb: Sequence[str]) -> None:
        failed = {"ename": etype.__name__, "evalue": str(evalue), "traceback": list(stb)}
        self.shown.append(new_output("error", **failed))


class _TooHeavy(Exception):
    """A drawing is, and need not be drawn to its end."""


class _Light(StringIO):
    """Takes no heavy drawing."""

    most = HEAVIEST

    def write(self, text: str) -> int:
        """Add to the drawing."""
        if self.tell() + len(text) > self.most:
            raise _TooHeavy
        return super().write(text)


def _drawing(figure: Figure, shown: Any, most: int) -> str:
    """What a figure shows there, as SVG; _TooHeavy where that is."""
    undated: Any = {"Date": None}  # the same bytes each time
    look: Any = {"facecolor": figure.get_facecolor(), "edgecolor": figure.get_edgecolor()}
    look |= {"dpi": figure.dpi, "bbox_inches": shown, "metadata": undated}
    with _Light() as svg:
        svg.most = most
        figure.canvas.print_figure(svg, format="svg", **look)
        return svg.getvalue()


@contextmanager
def _marks_as_pictures(figure: Figure) -> Iterator[None]:
    """Has the marks of all panels drawn as pixels, and images by the pixels that they have, while axes and
    words stay what they are.
    """
    kept: list[tuple[Callable[[Any], None], Any]] = []
    for axes in figure.axes:
        for one in (*axes.collections, *axes.lines, *axes.patches):
            kept.append((one.set_rasterized, one.get_rasterized()))
            one.set_rasterized(True)
        for image in axes.images:
            kept.append((image.set_interpolation, image.get_interpolation()))
            image.set_interpolation("none")
    try:
        yield
    finally:
        for put_back, before in kept:
            put_back(before)


def _picture(figure: Figure, sharp: bool = False, alone: bool = False) -> tuple[Any, Any]:
    """A figure as PNG, as a kernel shows it; or, if `sharp`, as a drawing where that is light, with its
    letters as outlines if it is to be shown `alone`. The other one is None.

    To know the layout and what to cut off, matplotlib would first draw it all where nobody looks, as
    it does for "none", which is a layout engine, too.
    """
    engine = figure.get_layout_engine()
    try:
        with rc_context(STYLE | (ALONE if alone else {})):
            if figure.axes and engine:
                engine.execute(figure)
            figure.set_layout_engine(None)
            shown: Any = figure.get_tightbbox().padded(rcParams["savefig.pad_inches"])
            if sharp and (figure.axes or figure.lines):
                with suppress(_TooHeavy):
                    return None, _drawing(figure, shown, HEAVIEST * (2 if alone else 1))
                if not alone:
                    with suppress(_TooHeavy), _marks_as_pictures(figure):
                        return None, _drawing(figure, shown, HEAVIEST)
            return print_figure(figure, base64=True, bbox_inches=shown), None
    finally:
        figure.set_layout_engine(engine)


def for_phones(figure: Figure) -> dict[str, str]:
    """The same figure as a drawing for phones, where it can be laid out for one; it is so afterwards."""
    drawn = phones.rearrange(figure) and _picture(figure, sharp=True, alone=True)[1]
    return {PHONE: drawn} if drawn else {}


def _show(shell: _Shell, sharp: bool) -> None:
    """Have figures shown by `_picture`, each drawn when its SVG is asked for, the first of the two. A
    drawing for phones comes with either, unless the page shows none.
    """
    drawn: dict[int, Any] = {}

    def narrow(figure: Figure) -> dict[str, str]:
        return {} if shell.figure in moved.MOVED else for_phones(figure)

    def svg(figure: Figure) -> Any:
        drawn[id(figure)], found = _picture(figure, sharp)
        return found and (found, narrow(figure))

    def png(figure: Figure) -> Any:
        if not sharp:
            return _picture(figure)[0]
        found = drawn.pop(id(figure))
        return found and (found, narrow(figure))

    of: Any = shell.display_formatter
    of.formatters["image/png"].for_type(Figure, png)
    if sharp:
        of.formatters["image/svg+xml"].for_type(Figure, svg)


class InPlace(Engine):
    """Papermill's engine of this name: once in a process, whose IPython and matplotlib it sets up."""

    @classmethod
    def execute_managed_notebook(
        cls,
        nb_man: NotebookExecutionManager,
        kernel_name: str,
        *,
        formats: Iterable[str] = ("png",),
        sharp: bool = False,
        stderr_file: TextIO | None = None,
        **others: Any,
    ) -> None:
        """Run the cells up to the first that fails.

        Parameters
        ----------
        formats
            In which figures are drawn.
        sharp
            Light figures are drawn as SVG instead of PNG.
        stderr_file
            Where progress and warnings go too.
        """
        shell = _Shell.instance(display_pub_class=_Publisher, displayhook_class=_Hook)
        shell.enable_matplotlib("inline")
        select_figure_formats(shell, set(formats), bbox_inches="tight")  # as in a kernel
        _show(shell, sharp)
        for index, cell in enumerate(nb_man.nb.cells):
            if cell.cell_type != "code":
                continue
            nb_man.cell_start(cell, index)
            shell.shown = []
            shell.figure = cell.metadata.get("mystnb", {}).get("figure", {}).get("name", "")
            out, err = _Stream("stdout", shell.shown), _Stream("stderr", shell.shown, stderr_file)
            with redirect_stdout(out), redirect_stderr(err), measured_once():
                done = shell.run_cell(cell.source, store_history=True)
            cell.outputs, cell.execution_count = shell.shown, done.execution_count
            if not done.success:
                nb_man.cell_exception(cell, index)
            nb_man.cell_complete(cell, index)
            if not done.success:
                break


papermill_engines.register(NAME, InPlace)
