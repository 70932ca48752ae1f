"""A chapter at work: its parameters are checked, its settings read, its runs stored.

A chapter is a notebook with a sidecar of the same name, `chapters/NAME/NAME.toml`: title, claims,
what each parameter may be, settings of each profile. This module knows that form and no chapter.
"""

from __future__ import annotations

import ast
import ctypes
import json
import shlex
import sys
import tomllib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import scipy.linalg  # noqa: F401 - its BLAS can be limited once it is loaded
import torch
import xarray as xr
from IPython.display import HTML, display
from threadpoolctl import threadpool_limits

from vnlib import checks
from vnlib.book import html, paths, store
from vnlib.book.parameters import COMMON, checked, guess
from vnlib.book.store import provenance
from vnlib.book.store.runs import listed
from vnlib.book.store.variables import Labels, Variables, described

# Libraries that draw progress bars ask for widgets, which a page cannot show.
warnings.filterwarnings("ignore", message="IProgress not found")

Axes = dict[str, Any]  # of one run
Settings = Mapping[str, Any]
Run = Callable[["Chapter", Axes, Settings, Path], xr.Dataset]

# What a model's section of the sidecar may leave out.
MODEL = {"options": {}, "lr": 1e-3, "steps": 0, "batch_size": 64, "candidates": [{}]}


@dataclass(frozen=True)
class Spec:
    """The sidecar of one chapter and the defaults of its notebook."""

    name: str
    sidecar: Mapping[str, Any]
    defaults: Mapping[str, Any]

    @property
    def title(self) -> str:
        return self.sidecar["title"]

    @property
    def needs(self) -> list[str]:
        """The chapters whose results this one reads; where the sidecar says "all", all that store."""
        named = self.sidecar.get("needs", [])
        if named != "all":
            return named
        others = [name for name in paths.chapters() if name != self.name]
        return [name for name in others if _sidecar(name).get("stores", True)]

    @property
    def stores(self) -> bool:
        """Whether the chapter has results of its own; if not, it only reads those of others."""
        return self.sidecar.get("stores", True)

    @property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """Name -> what the parameter may be; common ones first."""
        own = self.sidecar.get("parameters", {})
        known = {n: rule | own.get(n, {}) for n, rule in COMMON.items() if n in self.defaults}
        if "models" in known:
            known["models"] = {"choices": list(self.sidecar["models"])} | known["models"]
        return known | {name: rule for name, rule in own.items() if name not in COMMON}

    def allowed(self, profile: object) -> dict[str, dict[str, Any]]:
        """The same in one profile, which may have bounds of its own."""
        return {name: rule | rule.get(str(profile), {}) for name, rule in self.parameters.items()}

    def check(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """All parameters, those given checked (ValueError), the others at their defaults."""
        for name in given:
            if name not in self.parameters:
                hint, known = guess(name, self.parameters), ", ".join(self.parameters)
                raise ValueError(
                    f"chapter {self.name!r} has no parameter {name!r}.{hint} It has: {known}"
                )
        return {
            name: checked(name, given.get(name, self.defaults[name]), rule, self.defaults[name])
            for name, rule in self.allowed(given.get("profile", "smoke")).items()
        }

    def settings(self, profile: str) -> dict[str, Any]:
        """The chapter's settings with those of the profile laid over them."""
        return overlay(self.sidecar.get("settings", {}), self.sidecar["profiles"][profile])


def spec(name: str) -> Spec:
    """The chapter of this name. Raises ValueError, which lists the chapters there are."""
    checks.choice("chapter", name, paths.chapters())
    sidecar = _sidecar(name)
    import papermill  # here, since it sets off the warning that is silenced above

    inspected = papermill.inspect_notebook(str(paths.notebook(name)))
    # Papermill reports a default as the source it found.
    defaults = {key: ast.literal_eval(value["default"]) for key, value in inspected.items()}
    return Spec(name, sidecar, defaults)


def _sidecar(name: str) -> dict[str, Any]:
    return tomllib.loads(paths.sidecar(name).read_text(encoding="utf-8"))


def open_chapter(name: str, namespace: Mapping[str, Any]) -> Chapter:
    """The chapter of a notebook's parameter cell, and its figures' style; first, with `globals()`.

    Papermill injects any name without a word, also one that the next cell overwrites. So the cells
    themselves are read, in IPython's history: ValueError for what is no parameter or out of range.
    """
    from vnlib.plots.style import use_style  # here, since only pages draw

    use_style()
    one = spec(name)
    given = dict.fromkeys(_assigned(namespace.get("_ih", ())))
    given |= {key: namespace[key] for key in one.parameters if key in namespace}
    prepare()
    return Chapter(one, one.check(given))


def _assigned(history: Sequence[str]) -> Iterator[str]:
    """The names that cells of parameters set: those that only assign values, before any other cell
    since a chapter was opened, if one was.
    """
    opened = [i for i, source in enumerate(history[:-1], 1) if "open_chapter(" in source]
    for source in history[max(opened, default=0) :]:
        try:
            body = ast.parse(source).body
        except SyntaxError:
            return
        loaded = [n for n in ast.walk(ast.Module(body, [])) if isinstance(n, ast.Name)]
        read = {n.id for n in loaded if isinstance(n.ctx, ast.Load)}
        if not all(isinstance(line, ast.Assign) for line in body) or read - {"float"}:  # of "nan"
            return
        yield from (n.id for n in loaded if isinstance(n.ctx, ast.Store))


def fill(name: str, given: Mapping[str, Any]) -> None:
    """Compute runs that are not stored yet, here, and draw nothing; ValueError for bad parameters."""
    one = spec(name)
    parameters = one.check(given)
    if study := paths.module(name, "study"):  # a chapter that only reads has none
        prepare()
        study.results(Chapter(one, parameters))


def prepare() -> None:
    """Set up this process for runs, before the first."""
    one_thread()
    keep_memory()
    torch.backends.cudnn.benchmark = True  # on a GPU: few shapes, each thousands of times


def one_thread() -> None:
    """Limit torch, NumPy and SciPy to one thread: the same bits whatever the cores and the load."""
    torch.set_num_threads(1)
    threadpool_limits(1)


def keep_memory() -> None:
    """Have glibc keep the memory of large tensors: each step of training asks for it again."""
    if sys.platform == "linux" and (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)):
        mallopt(-3, 2**30)  # M_MMAP_THRESHOLD: blocks up to this size come from the heap
        mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD: so much stays at the end of the heap


def _seeds(given: int | list[int]) -> list[int]:
    return list(range(given)) if isinstance(given, int) else list(given)


@dataclass(frozen=True)
class Chapter:
    """One execution of a chapter."""

    spec: Spec
    parameters: Mapping[str, Any]
    mixed: list[str] = field(default_factory=list, compare=False)
    """The parts whose runs were computed by more than one version of the code."""

    @property
    def profile(self) -> str:
        return self.parameters["profile"]

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The profile's settings, each overruled by a given parameter of the same name."""
        own, given = self.spec.settings(self.profile), self.parameters
        return own | {k: v for k, v in given.items() if k in own and v is not None}

    @property
    def seeds(self) -> list[int]:
        return _seeds(self.settings["seeds"])

    def first_seeds(self, count: int) -> list[int]:
        """The seeds without those that the profile has beyond its first `count`."""
        beyond = _seeds(self.spec.settings(self.profile)["seeds"])[count:]
        return [seed for seed in self.seeds if seed not in beyond]

    @property
    def models(self) -> dict[str, dict[str, Any]]:
        """Model name -> its section in the sidecar (see `model`), for the models asked for."""
        wanted = self.parameters.get("models") or self.settings.get("models")
        return {name: self.model(name) for name in wanted or self.spec.sidecar["models"]}

    def model(self, name: str) -> dict[str, Any]:
        """A model's section, laid over that of the model it is `like` or over the `defaults`."""
        own, defaults = self.spec.sidecar["models"][name], self.spec.sidecar.get("defaults", {})
        return (self.model(own["like"]) if "like" in own else MODEL | defaults) | own

    @property
    def labels(self) -> Labels:
        """What the result file keeps of each model for readers: label, group, ..."""
        kept = ("label", "group", *self.spec.sidecar.get("described", ()))
        models = {name: self.model(name) for name in self.spec.sidecar.get("models", {})}
        return {"model": {m: {k: one[k] for k in kept if k in one} for m, one in models.items()}}

    @cached_property
    def device(self) -> torch.device:
        """The device asked for, ValueError if it is not there; "auto" is CUDA where there is one."""
        name = self.parameters["device"]
        if name == "auto":
            name = "cuda" if torch.cuda.is_available() else "cpu"
        checks.device(name)
        return torch.device(name)

    @property
    def variant(self) -> str:
        """Changed parameters that change what is computed, which gets a result file of its own."""
        own = [n for n, rule in self.spec.parameters.items() if rule.get("variant")]
        return "-".join(f"{n}={self.changed[n]}" for n in own if n in self.changed)

    def file(self, part: str = "") -> Path:
        """Where the results of this chapter (or of a named part of it) are kept."""
        name = f"{self.spec.name}.{part}" if part else self.spec.name
        folder = self.parameters["results_dir"] or paths.RESULTS
        return paths.result_file(folder, self.profile, name, self.variant)

    def axes(self, **others: Sequence) -> dict[str, Sequence]:
        """The values of the axes: the models, if they can be asked for, `others`, the seeds."""
        models = {"model": list(self.models)} if "models" in self.parameters else {}
        return {**models, **others, "seed": self.seeds}

    def held(self, **others: Sequence) -> xr.Dataset:
        """What the chapter's file holds along these `axes`, but for values that no run has."""
        found, asked = store.read(self.file()), self.axes(**others).items()
        return found.sel({axis: [v for v in values if v in found[axis]] for axis, values in asked})

    def together(self, axes: Axes) -> tuple | None:
        """The group of a run, None for a run by itself: seeds and candidates of a model that the
        sidecar marks, where the parameter `together` asks for it, or on CUDA where it is None.
        """
        asked, models = self.parameters.get("together"), self.spec.sidecar.get("models", {})
        asked = self.device.type == "cuda" if asked is None else asked
        marked = axes.get("model") in models and self.model(axes["model"]).get("together")
        if not (asked and marked):
            return None
        return tuple(value for axis, value in axes.items() if axis not in ("seed", "candidate"))

    def grid(
        self,
        run: Run,
        axes: Mapping[str, Sequence] | None = None,
        settings: Settings | Callable[[Chapter, Axes], Settings] | None = None,
        *,
        variables: Variables,
        part: str = "",
    ) -> xr.Dataset:
        """The results over `axes` (None: models and seeds): read where they are stored, computed by
        `run(chapter, axes, settings, workdir)` where they are not (see `vnlib.book.store`).
        Settings of all runs are given, or `settings(chapter, axes)`; None for the chapter's.
        """
        if settings is None:
            settings = {k: v for k, v in self.settings.items() if k not in ("seeds", "models")}
        result = store.grid(
            partial(run, self),
            self.axes() if axes is None else axes,
            path=self.file(part),
            settings=lambda one: dict(settings(self, one) if callable(settings) else settings),
            title=f"{self.spec.title}{f' ({part})' if part else ''}",
            source=provenance.source_hash(self.spec.name),
            device=str(self.device),
            recompute=self.parameters["recompute"],
            stale=self.parameters.get("stale", "keep"),
            attrs={"chapter": self.spec.name, "profile": self.profile},
            describe=partial(described, variables=variables, labels=self.labels),
            together=self.together,
        )
        print(*result.notes, sep="\n")
        if 0 < len(result.older) < result.dataset["run_date"].size:
            self.mixed.append(part)
        if result.older:
            # Also where the notebook's output is not seen: on the terminal of who runs it.
            said = f"{len(result.older)} stored runs were computed by other code than is here now"
            todo = "They are kept; --stale recompute (-p stale recompute) renews them."
            print(f"{self.spec.name}: {said} ({listed(result.older)}). {todo}", file=sys.stderr)
        print(f"Results: {paths.shown(self.file(part))}")
        return result.dataset

    def results_of(self, name: str) -> xr.Dataset:
        """The stored results of a chapter that this one `needs` (ValueError for another one), of
        the same profile; where there are none, it is run.
        """
        checks.choice("name", name, self.spec.needs)
        one, same = spec(name), ("profile", "device", "results_dir")
        other = Chapter(one, one.check({k: self.parameters[k] for k in same}))
        if not other.file().exists():
            print(f"There are no results of {name} yet: it is run first.")
            fill(name, other.parameters)
        print(f"Results: {paths.shown(other.file())}")
        return store.of(store.read(other.file()), other.file(), chapter=name, profile=self.profile)

    def stored(self, name: str, part: str = "") -> xr.Dataset | None:
        """What is stored of another chapter that the sidecar `shows`, if anything; nothing is run."""
        path = self.file().with_name(f"{spec(name).name}{part and f'.{part}'}.nc")
        return store.of(store.read(path), path, chapter=name) if path.exists() else None

    @property
    def changed(self) -> dict[str, Any]:
        """The parameters that are not what they are by default, but for where results are."""
        given, defaults = self.parameters, self.spec.defaults
        return {n: v for n, v in given.items() if v != defaults[n] and n != "results_dir"}

    @property
    def command(self) -> str:
        """The papermill command that makes this page's results."""
        notebook = paths.notebook(self.spec.name).relative_to(paths.ROOT)
        flags = [_flag(n, v) for n, v in ({"profile": self.profile} | self.changed).items()]
        return " ".join(["papermill", str(notebook), "out.ipynb", *flags])

    def show(self, draw: Callable, *results: Any, **options: Any) -> None:
        """Show the figure `draw(*results, **options)`, and under it where code and data are."""
        import matplotlib.pyplot as plt

        from vnlib.plots.style import readable

        display(readable(draw(*results, **options)))
        plt.close("all")  # or the kernel shows it again
        display(HTML(html.links(self.spec.name, self.file(), self.command, draw, bool(self.mixed))))

    def glue(self, numbers: Callable[..., Mapping[str, str]], *results: Any) -> None:
        """Give the texts `numbers(*results)` to the prose on the shipped results, whose Markdown
        cells say {glue:text}`key`; pages of other or of fewer runs have no such prose.
        """
        from myst_nb import glue

        if self.profile == "paper" and not set(self.changed) - {"profile", "device", "recompute"}:
            for key, text in numbers(*results).items():
                glue(key, text, display=False)

    def caution(self, *remarks: str) -> None:
        """Show a box with what a reader must know before believing the figures, if anything."""
        if remarks:
            display(HTML(html.caution(remarks)))

    def verdicts(self, results: xr.Dataset, **others: xr.Dataset) -> None:
        """Show what the rules of this chapter's claims make of `results`, or of `others`."""
        name = self.spec.name
        display(HTML(html.verdicts(name, {name: results, **others}, self.variant)))

    def footer(self, results: xr.Dataset) -> None:
        """Show where the results come from, and whether the library changed since."""
        parts = paths.parts(self.file(), results.attrs.get("chapter", self.spec.name))
        files = [results, *map(store.read, parts)]
        display(HTML(html.footer(self.spec.name, files, self.profile, self.command)))


def _flag(name: str, value: Any) -> str:
    """A parameter as papermill's command line takes it: lists only as YAML."""
    if isinstance(value, list):
        return f"-y {shlex.quote(json.dumps({name: value}))}"
    return f"-p {name} {shlex.quote(str(value))}"


def overlay(base: Mapping[str, Any], top: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with the values of `top` in the place of its own, table by table."""
    merged = dict(base)
    for key, value in top.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = overlay(merged[key], value) if both else value
    return merged
