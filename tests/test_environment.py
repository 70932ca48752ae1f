"""What is installed: all that is imported is declared, all that is declared is used, and conda gets
the same.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib

import pytest
import yaml

from vnlib.book import paths

ROOT = paths.SOURCE
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
DISTRIBUTIONS = {
    "IPython": "ipython",
    "PIL": "pillow",
    "axe_playwright_python": "axe-playwright-python",
    "markdown_it": "jupyter-book",
    "myst_nb": "jupyter-book",
    "sklearn": "scikit-learn",
    "spams": "spams-bin",
    "torch_geometric": "torch-geometric",
    "yaml": "pyyaml",
}
CONDA = {
    "pytorch": "torch",
    "matplotlib-base": "matplotlib",
    "seaborn-base": "seaborn",
    "playwright-python": "playwright",
}
BROUGHT = {
    "bs4",
    "docutils",
    "fontTools",
    "joblib",
    "jsonschema",
    "jupyter_client",
    "mdit_py_plugins",
    "packaging",
    "sphinx",
}  # by jupyter-book, matplotlib, nbconvert, ipykernel, pytest and scikit-learn, for tests
# Commands, and what others load: Sphinx, Jupyter, pytest.
NOT_IMPORTED = {
    "sphinxcontrib-bibtex",
    "sphinx-proof",
    "nbconvert",
    "pytest-cov",
    "pytest-xdist",
    "beartype",
    "ruff",
    "basedpyright",
    "codespell",
    "nbstripout",
    "pre-commit",
}


def bounds(requirements: list[str]) -> dict[str, str]:
    """Name, as packages are called, and allowed versions."""
    parts = [re.fullmatch(r"([\w.-]+)(.*)", one) for one in requirements]
    return {found[1].lower().replace("_", "-"): found[2] for found in parts}


def imported(*folders: str) -> set[str]:
    """Distributions of other people that Python files in these folders import."""
    names = set()
    for path in (path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names.add(node.module.split(".")[0])
    local = {path.stem for path in (ROOT / "tests").rglob("*.py")} | {
        "vnlib",
        "book",
        "data_gen",
        "benchmarks",
        "chapters",
    }
    return {DISTRIBUTIONS.get(name, name) for name in names - local - set(sys.stdlib_module_names)}


RUN, DEV = bounds(PROJECT["dependencies"]), bounds(EXTRAS["dev"])
SPEED = bounds(EXTRAS["speed"])


def test_what_is_imported_is_declared():
    assert imported("vnlib", "book/site", "data_gen") <= RUN.keys()
    assert (
        imported("benchmarks", "chapters", "tests")
        <= (RUN | DEV | bounds(EXTRAS["cluster"]) | SPEED).keys() | BROUGHT
    )


def test_what_is_declared_is_used():
    # conftest.py lies in no folder
    used = imported("vnlib", "book/site", "data_gen", "benchmarks", "chapters", "tests") | {
        "nbmake"
    }
    assert (RUN | DEV | SPEED).keys() - used == NOT_IMPORTED


def test_conda_gets_the_same_bounds():
    *conda, pip = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))[
        "dependencies"
    ]
    found = {
        CONDA.get(name, name): bound for name, bound in bounds([*conda, *pip["pip"][:-1]]).items()
    }
    assert pip["pip"][-1] == "-e ."
    assert found.pop("python") == PROJECT["requires-python"] and found.keys() - (
        RUN | DEV
    ).keys() == {"pip", "make"}
    assert {name: found[name].replace("==", "=") for name in RUN | DEV} == {
        name: bound.replace("==", "=") for name, bound in (RUN | DEV).items()
    }


def test_exact_versions_are_known_of_all():
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    pinned = {
        name.lower().replace("_", "-") for name in re.findall(r"^([\w.-]+)==", text, re.MULTILINE)
    }
    others = bounds(EXTRAS["cluster"]) | bounds(EXTRAS["audit"]) | SPEED
    assert (RUN | DEV | others).keys() <= pinned


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_what_was_looked_at_and_hold_no_rights(path):
    """A tag can be moved to other code, a commit cannot; the token of a checkout is not kept."""
    text = path.read_text(encoding="utf-8")
    used = re.findall(r"uses: (.*)", text)
    assert used and all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d[\d.]*", one) for one in used)
    told = yaml.safe_load(text)
    assert told["permissions"] == {"contents": "read"}
    steps = [step for job in told["jobs"].values() for step in job["steps"]]
    taken = [step for step in steps if step.get("uses", "").startswith("actions/checkout@")]
    assert all(step["with"]["persist-credentials"] is False for step in taken)
