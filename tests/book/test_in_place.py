"""Cells run in place show what they show in a kernel."""

from __future__ import annotations

import base64
import json
import re
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import forked_kernels
import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest
from IPython.core.pylabtools import print_figure
from matplotlib.artist import allow_rasterization
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from PIL import Image

from book.site import in_place

CELLS = (
    "number = 1  # a comment",
    "import sys\nprint('one', end=' ')\nprint('two')\nsys.stderr.write('a warning')",
    "from IPython.display import HTML, display\nprint('before')\ndisplay(HTML('<b>x</b>'))\nprint('after')\nnumber",
    "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([number, 2])",
    "display(fig)\nplt.close('all')",
    "number;",
    "get_ipython().system('true')\n[name for name in dir() if not name.startswith('_')][:3]",
)
RUN = """
import sys
import papermill
from book.site import in_place
how = sys.argv[1]
engine = {} if how == "kernel" else {"engine_name": in_place.NAME, "sharp": how == "sharp"}
papermill.execute_notebook("source.ipynb", sys.argv[1] + ".ipynb", {}, progress_bar=False, **engine)
"""


def run(folder: Path, cells: tuple[str, ...], how: str) -> tuple[int, nbformat.NotebookNode]:
    """The exit status of a process that runs these cells, and the notebook that it leaves."""
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    code = [nbformat.v4.new_code_cell(source, id=f"c{i}") for i, source in enumerate(cells)]
    nbformat.write(nbformat.v4.new_notebook(cells=code, metadata=metadata), folder / "source.ipynb")
    done = forked_kernels.python(RUN, how, cwd=folder)
    return done.returncode, nbformat.read(folder / f"{how}.ipynb", as_version=4)


def shown(notebook: nbformat.NotebookNode) -> list[list]:
    """What each cell shows, in its order; texts that follow each other are one."""
    found = []
    for cell in notebook.cells:
        outputs = []
        for one in cell.get("outputs", []):
            if one.output_type == "stream":
                if one.name == "stdout" and outputs and outputs[-1][0] == "stream":
                    outputs[-1][1] += one.text
                elif one.name == "stdout":
                    outputs.append(["stream", one.text])
            elif one.output_type == "error":
                outputs.append(["error", one.ename, one.evalue])
            else:
                data = re.sub("0x[0-9a-f]+", "", json.dumps(one.data, sort_keys=True))
                outputs.append([one.output_type, data, one.metadata])
        found.append(outputs)
    return found


@pytest.mark.slow
def test_cells_show_the_same_in_place_and_in_a_kernel(tmp_path):
    code, notebook = run(tmp_path, CELLS, "in_place")
    assert code == 0
    assert [kind for kind, *_ in shown(notebook)[2]] == [
        "stream",
        "display_data",
        "stream",
        "execute_result",
    ]
    assert shown(notebook) == shown(run(tmp_path, CELLS, "kernel")[1])


@pytest.mark.parametrize("failing", ["1 / 0", "1 +", "import no_such_module"])
def test_the_first_cell_that_fails_is_the_last(tmp_path, failing):
    code, notebook = run(tmp_path, ("print(1)", failing, "print(2)"), "in_place")
    kinds = [[kind for kind, *_ in cell] for cell in shown(notebook)]
    assert code == 1 and ["error"] in kinds and [] in kinds
    assert kinds.index(["error"]) < max(i for i, one in enumerate(kinds) if not one)


class Counted(Line2D):
    """A line that counts how often it is drawn."""

    times = 0

    @allow_rasterization
    def draw(self, renderer):
        self.times += 1
        super().draw(renderer)


@pytest.mark.parametrize("layout", ["constrained", "tight", None])
def test_a_figure_is_drawn_once_and_as_a_kernel_draws_it(layout):
    fig, ax = plt.subplots(layout=layout)
    ax.set(ylabel="long enough to be cut off without a layout\nof its own")
    line = ax.add_line(Counted([0, 1], [0, 1]))
    engine = fig.get_layout_engine()
    found, _ = in_place._picture(fig)
    assert line.times == 1
    assert fig.get_layout_engine() is engine
    assert found == print_figure(fig, base64=True, bbox_inches="tight")
    plt.close(fig)


def test_a_light_figure_is_a_drawing_with_text_and_a_heavy_one_a_picture(monkeypatch):
    fig, ax = plt.subplots()
    ax.set_title("words")
    line = ax.add_line(Counted([0, 1], [0, 1]))
    png, svg = in_place._picture(fig, sharp=True)
    assert png is None and svg.startswith("<?xml") and line.times == 1
    assert ">words</text>" in svg and "'DejaVu Sans'" in svg and "date" not in svg
    outlines = in_place._picture(fig, sharp=True, alone=True)[1]
    assert "<!-- words -->" in outlines and "<text" not in outlines, "a font may not be there"
    assert in_place._picture(fig, sharp=True) == (None, svg), "the same each time"
    monkeypatch.setattr(in_place, "HEAVIEST", len(svg))
    assert in_place._picture(fig, sharp=True) == (None, svg)
    monkeypatch.setattr(in_place, "HEAVIEST", len(svg) - 1)
    assert in_place._picture(fig, sharp=True) == in_place._picture(fig)
    assert in_place._picture(fig)[1] is None
    plt.close(fig)


def test_a_heavy_drawing_keeps_its_words_and_has_pictures_of_its_marks():
    draw = np.random.default_rng(0)
    fig, (points, shades) = plt.subplots(1, 2)
    points.set(title="very many points")
    points.plot(*draw.random((2, 20_000)), "o")
    pixels = shades.imshow(draw.random((20, 30)), aspect="auto")
    png, svg = in_place._picture(fig, sharp=True)
    assert png is None and len(svg) < in_place.HEAVIEST
    assert ">very many points</text>" in svg and ">0.6</text>" in svg
    pictures = [
        Image.open(BytesIO(base64.b64decode(one)))
        for one in re.findall(r'"data:image/png;base64,([^"]+)"', svg)
    ]
    assert len(pictures) == 2 and (30, 20) in {one.size for one in pictures}
    assert not points.lines[0].get_rasterized(), "the figure stays what it is"
    assert pixels.get_interpolation() == plt.rcParams["image.interpolation"]
    plt.close(fig)


@pytest.mark.slow
def test_a_page_has_one_of_the_two(tmp_path):
    cells = (
        *CELLS[:1],
        "import matplotlib.pyplot as plt\nplt.plot([1, 2]);",
        "import numpy as np\nplt.imshow(np.random.default_rng(0).random((500, 500)));",
    )
    code, notebook = run(tmp_path, cells, "sharp")
    assert code == 0
    kinds = [{kind for one in cell.outputs for kind in one.data} for cell in notebook.cells[1:]]
    assert [kind & {"image/png", "image/svg+xml"} for kind in kinds] == [
        {"image/svg+xml"},
        {"image/png"},
    ]


@pytest.mark.parametrize(("name", "narrow"), [("house", False), ("another", True)])
def test_a_figure_that_phones_move_is_not_drawn_for_them(monkeypatch, name, narrow):
    """Nobody would see it, and many panels take long."""
    makers: dict = {}
    kinds = {
        kind: SimpleNamespace(for_type=lambda _, make, kind=kind: makers.update({kind: make}))
        for kind in ("image/png", "image/svg+xml")
    }
    shell: Any = SimpleNamespace(figure=name, display_formatter=SimpleNamespace(formatters=kinds))
    monkeypatch.setattr(in_place, "for_phones", lambda _: {in_place.PHONE: "drawn"})
    in_place._show(shell, sharp=True)
    fig = Figure()
    fig.subplots().plot([1, 2])
    _, told = makers["image/svg+xml"](fig)
    assert told == ({in_place.PHONE: "drawn"} if narrow else {})
