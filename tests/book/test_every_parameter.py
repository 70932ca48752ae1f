"""Every parameter of every chapter, as far as that is cheap: the check, and pages of one model drawn from
shipped results. `tests/tools/every_parameter.py` computes and draws them all.
"""

from __future__ import annotations

import ast
import math

import every_parameter
import matplotlib.pyplot as plt
import nbformat
import pytest
from fuzz_parameters import complaint

from vnlib.book import chapter, paths, store

NAMES = paths.chapters()
ALONE = {
    "A_predictive_coding": ["vn_random", "pc_sparse"],
    "FR1_failure": ["mlp_ramp"],
    "FR3_low_rank": ["factorised", "decay"],
    "FR5_rotation": ["mlp"],
    "beyond_tasks": ["outer"],
    "fig3_functions": ["rnn"],
}
"""Models whose pages lack the most."""


@pytest.mark.parametrize("name", NAMES)
def test_every_documented_value_is_taken(name):
    one = chapter.spec(name)
    for given in every_parameter.cases(one, pairs=20, seed=0):
        try:
            one.check(given)
        except ValueError as error:
            # of the values drawn, a list may lack what it must hold
            assert set(given) & {"betas"} and not complaint(str(error), "betas"), given


@pytest.mark.parametrize("name", NAMES)
def test_what_lies_beyond_an_end_is_refused_by_name(name):
    one = chapter.spec(name)
    for parameter, rule in every_parameter.own(one).items():
        if rule["type"] in ("int", "float"):
            low = rule["low"] - 1 if "low" in rule else rule["above"]
            for value in (low, math.nextafter(rule["high"], math.inf), rule["high"] + 1):
                with pytest.raises(ValueError, match=rf"^{parameter} must be ") as caught:
                    one.check({parameter: value})
                assert not complaint(str(caught.value), parameter)


def test_a_profile_may_have_bounds_of_its_own():
    one = chapter.spec("beyond_continual")
    assert one.check({"profile": "paper", "kept": 50})["kept"] == 50
    with pytest.raises(ValueError, match=r"kept must be .* <= 30, got 50"):
        one.check({"profile": "smoke", "kept": 50})


@pytest.mark.slow
@pytest.mark.parametrize(("name", "model"), [(n, m) for n, many in ALONE.items() for m in many])
def test_a_page_of_one_model_is_drawn_and_says_what_lacks(name, model, monkeypatch):
    def attempt(self, cells, *_) -> None:
        pytest.fail(f"{name} would compute {cells[0].key} anew: its shipped file is not complete")

    monkeypatch.setattr(store.store._Fill, "attempt", attempt)
    monkeypatch.setattr(chapter.Chapter, "show", lambda _, draw, *of, **how: draw(*of, **how))
    one = chapter.spec(name)
    given = {"profile": "paper", "device": "cpu", "models": [model]}
    space: dict = {"chapter": chapter.Chapter(one, one.check(given))}
    for cell in nbformat.read(paths.notebook(name), as_version=4).cells:
        lines = [line for line in cell.source.splitlines() if "open_chapter" not in line]
        if cell.cell_type == "code":
            body = ast.parse("\n".join(lines)).body
            last = body.pop() if isinstance(body[-1], ast.Expr) else None
            exec(compile(ast.Module(body, []), name, "exec"), space)
            shown = last and eval(compile(ast.Expression(last.value), name, "eval"), space)
            if hasattr(shown, "_repr_mimebundle_"):
                shown._repr_mimebundle_()
        plt.close("all")
