"""What runs the chapters says what fails in them."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

CELLS = ("profile = 'fast'", "print('said on the way')", "1 / len(profile[:0])")


def test_a_cell_that_fails_is_told_and_the_next_chapter_runs(chapter_server, tmp_path: Path):
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    for cells, name in ((CELLS, "bad"), (CELLS[:2], "good")):
        made = [nbformat.v4.new_code_cell(source, metadata={"tags": []}) for source in cells]
        made[0].metadata.tags.append("parameters")
        notebook = nbformat.v4.new_notebook(cells=made, metadata=metadata)
        notebook.metadata["language_info"] = {"name": "python"}
        nbformat.write(notebook, tmp_path / f"{name}.ipynb")
    with pytest.raises(AssertionError, match=r"(?s)1 / len.*ZeroDivisionError"):
        chapter_server.run(tmp_path / "bad.ipynb")
    chapter_server.run(tmp_path / "good.ipynb")
