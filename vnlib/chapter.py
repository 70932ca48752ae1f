"""A chapter at work: its parameters are checked, its settings read, its runs stored, its links and footer drawn.

A chapter is a notebook with a sidecar of the same name, `chapters/NAME.toml`, which holds the title, the claims, what
each parameter may be, and the settings of each profile. This module knows that form and no chapter.
"""

from __future__ import annotations

import ast
import difflib
import json
import re
import shlex
import tempfile
import tomllib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import xarray as xr
from IPython.display import HTML, display

from vnlib import checks, claims, paths, provenance, source, store

# Libraries that draw progress bars ask for widgets, which a page cannot show.
warnings.filterwarnings("ignore", message="IProgress not found")

PROFILES = ("smoke", "fast", "paper")
# Every chapter has these; its sidecar may add to them and narrow `models`.
COMMON: dict[str, dict[str, Any]] = {
    "profile": {"type": "str", "choices": list(PROFILES), "help": "how large the runs are"},
    "seeds": {"type": "seeds", "help": "a list of seeds, or how many; None: the profile's"},
    "models": {"type": "names", "help": "a list of models, or 'a,b'; None: all of the profile"},
    "device": {"type": "str", "pattern": "auto, cpu, cuda or cuda:N", "help": "where to compute"},
    "recompute": {"type": "bool", "help": "compute anew what is already stored"},
    "results_dir": {"type": "str", "help": "the folder that holds <profile>/<chapter>.nc"},
}
# The colour of each verdict, by sphinx-design's names.
COLOR = {
    claims.REPRODUCED: "success",
    claims.PARTLY: "warning",
    claims.NOT: "danger",
    claims.NOT_TESTABLE: "muted",
}
MAX_SEEDS = 1000  # a slip of the keyboard should not ask for more runs than memory holds
MAX_TEXT = 12 * MAX_SEEDS  # characters of a value; as many seeds must fit
# What an IPython kernel defines by itself.
_KERNEL_NAMES = {"In", "Out", "exit", "quit", "get_ipython", "open", "display"}


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
        """The chapters whose results this one reads (see `Chapter.results_of`)."""
        return self.sidecar.get("needs", [])

    @property
    def stores(self) -> bool:
        """Whether the chapter has results of its own; if not, it only reads those of others."""
        return self.sidecar.get("stores", True)

    @property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """Name -> what the parameter may be; common ones first."""
        own = self.sidecar.get("parameters", {})
        known = {name: rule | own.get(name, {}) for name, rule in COMMON.items() if name in self.defaults}
        if "models" in known:
            known["models"] = {"choices": list(self.sidecar["models"])} | known["models"]
        return known | {name: rule for name, rule in own.items() if name not in COMMON}

    def check(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """All parameters, those given checked and the others at their defaults. Raises ValueError."""
        for name in given:
            if name not in self.parameters:
                close = difflib.get_close_matches(name, self.parameters, n=1)
                hint = f" Did you mean {close[0]!r}?" if close else ""
                raise ValueError(
                    f"chapter {self.name!r} has no parameter {name!r}.{hint} It has: {', '.join(self.parameters)}"
                )
        return {
            name: _checked(name, given.get(name, self.defaults[name]), rule, self.defaults[name])
            for name, rule in self.parameters.items()
        }

    def settings(self, profile: str) -> dict[str, Any]:
        """The chapter's settings with those of the profile laid over them."""
        return overlay(self.sidecar.get("settings", {}), self.sidecar["profiles"][profile])


def names() -> list[str]:
    """The chapters of this book, by name."""
    return sorted(path.stem for path in paths.CHAPTERS.glob("*.ipynb") if path.with_suffix(".toml").exists())


def spec(name: str) -> Spec:
    """The chapter of this name. Raises ValueError, which lists the chapters there are."""
    checks.choice("chapter", name, names())
    sidecar = tomllib.loads((paths.CHAPTERS / f"{name}.toml").read_text(encoding="utf-8"))
    import papermill  # here, since it sets off the warning that is silenced above

    inspected = papermill.inspect_notebook(str(paths.CHAPTERS / f"{name}.ipynb"))
    # Papermill reports a default as the source it found.
    defaults = {key: ast.literal_eval(value["default"]) for key, value in inspected.items()}
    return Spec(name, sidecar, defaults)


def open_chapter(name: str, namespace: Mapping[str, Any]) -> Chapter:
    """The chapter that a notebook's parameter cell describes; call it first, with `globals()`.

    Papermill injects misspelled names without a word. They are found here, as names that the kernel, the imports and
    the chapter's parameters do not explain. Raises ValueError for these and for values out of range.
    """
    chapter_spec = spec(name)
    given = {
        key: value
        for key, value in namespace.items()
        if not key.startswith("_")
        and key not in _KERNEL_NAMES
        and not isinstance(value, (ModuleType, type))
        and not (callable(value) and hasattr(value, "__module__"))
    }
    # One thread: the same bits whatever the machine's load, and two processes fill a grid faster than two threads.
    torch.set_num_threads(1)
    return Chapter(chapter_spec, chapter_spec.check(given))


def fill(name: str, given: Mapping[str, Any]) -> None:
    """Compute the runs of a chapter that are not stored yet and draw nothing: what a slice on a cluster does.

    The notebook's statements down to its last call of `chapter.grid` are executed in this process, without a kernel. So
    a few of the models will do, with which its figures could not be drawn. Raises ValueError for bad parameters and
    whatever a run raises.
    """
    namespace = {"__name__": "__main__", **spec(name).check(given)}
    exec(compile(_filling(name), f"{name}.ipynb", "exec"), namespace)


def _filling(name: str) -> ast.Module:
    """The statements of a notebook that fill its grids, after those of its parameters."""
    cells = source.code_cells(paths.CHAPTERS / f"{name}.ipynb")
    statements, end = [one for text in cells for one in ast.parse(text).body], 0
    for index, statement in enumerate(statements, 1):
        if any(isinstance(node, ast.Call) and ast.unparse(node.func) == "chapter.grid" for node in ast.walk(statement)):
            end = index
    return ast.Module(statements[:end], [])


@dataclass(frozen=True)
class Chapter:
    """One execution of a chapter."""

    spec: Spec
    parameters: Mapping[str, Any]

    @property
    def profile(self) -> str:
        return self.parameters["profile"]

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The profile's settings, each overruled by the parameter of the same name where one is given."""
        settings = self.spec.settings(self.profile)
        given = {k: v for k, v in self.parameters.items() if k in settings and v is not None}
        return settings | given

    @property
    def seeds(self) -> list[int]:
        seeds = self.parameters.get("seeds")
        seeds = self.settings["seeds"] if seeds is None else seeds
        return list(range(seeds)) if isinstance(seeds, int) else list(seeds)

    @property
    def models(self) -> dict[str, dict[str, Any]]:
        """Model name -> its section in the sidecar, for the models asked for."""
        wanted = self.parameters.get("models") or self.settings.get("models") or list(self.spec.sidecar["models"])
        return {name: self.spec.sidecar["models"][name] for name in wanted}

    @cached_property
    def device(self) -> torch.device:
        """The device asked for; "auto" is CUDA where there is one. Raises ValueError if it is not there."""
        name = self.parameters["device"]
        if name == "auto":
            name = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            torch.empty(0, device=name)
        except (RuntimeError, AssertionError) as error:
            raise ValueError(
                f"device {name!r} cannot be used here ({str(error).splitlines()[0]}); use device='cpu' or 'auto'"
            ) from error
        return torch.device(name)

    @property
    def variant(self) -> str:
        """Non-default values of parameters that change what is computed; they get a result file of their own."""
        own = [n for n, rule in self.spec.parameters.items() if rule.get("variant")]
        changed = [n for n in own if self.parameters[n] != self.spec.defaults[n]]
        return "-".join(f"{n}={self.parameters[n]}" for n in changed)

    def file(self, part: str = "") -> Path:
        """Where the results of this chapter (or of a named part of it) are kept."""
        name = f"{self.spec.name}.{part}" if part else self.spec.name
        folder = self.parameters["results_dir"] or paths.RESULTS
        return paths.result_file(folder, self.profile, name, self.variant)

    def grid(
        self,
        run: Callable[[dict[str, Any], dict[str, Any], Path], xr.Dataset],
        axes: Mapping[str, Sequence],
        settings: Callable[[dict[str, Any]], dict[str, Any]],
        *,
        part: str = "",
    ) -> xr.Dataset:
        """The results over `axes`: read where they are stored, computed where they are not (see `vnlib.store`)."""
        result = store.grid(
            run,
            axes,
            path=self.file(part),
            settings=settings,
            title=f"{self.spec.title}{f' ({part})' if part else ''}",
            source=provenance.source_hash(self.spec.name),
            device=str(self.device),
            recompute=self.parameters["recompute"],
            attrs={"chapter": self.spec.name, "profile": self.profile},
        )
        for note in result.notes:
            print(note)
        print(f"Results: {paths.shown(self.file(part))}")
        return result.dataset

    def results_of(self, name: str) -> xr.Dataset:
        """The stored results of a chapter that this one `needs`, of the same profile; where there are none, it is run.

        Raises ValueError for another chapter.
        """
        checks.choice("name", name, self.spec.needs)
        other = Chapter(
            spec(name), spec(name).check({k: self.parameters[k] for k in ("profile", "device", "results_dir")})
        )
        if not other.file().exists():
            from vnlib import book  # which knows this module

            print(f"There are no results of {name} yet: it is run first.")
            with tempfile.TemporaryDirectory(prefix="vnbook-", ignore_cleanup_errors=True) as folder:
                book.run_chapter(name, other.parameters, Path(folder) / f"{name}.ipynb")
        print(f"Results: {paths.shown(other.file())}")
        return store.read(other.file())

    def stored(self, name: str) -> xr.Dataset | None:
        """What is stored of another chapter in the same folder, if anything; nothing is run for it."""
        path = self.file().with_name(f"{spec(name).name}.nc")
        return store.read(path) if path.exists() else None

    @property
    def command(self) -> str:
        """The papermill command that makes this page's results."""
        changed = {n: v for n, v in self.parameters.items() if v != self.spec.defaults[n] and n != "results_dir"}
        flags = [_flag(n, v) for n, v in ({"profile": self.profile} | changed).items()]
        return " ".join([f"papermill chapters/{self.spec.name}.ipynb out.ipynb", *flags])

    def links(self) -> None:
        """Show, under a figure, where its code and data are and how to make it again."""
        name = self.spec.name
        data = f'<a href="../../data/{self.file().name}" download>data (NetCDF)</a> · ' if self.file().exists() else ""
        display(
            HTML(
                '<p class="vn-links">'
                f'<a href="../../notebooks/{name}.ipynb" download>notebook</a> · {data}'
                f"re-make with <code>{self.command}</code></p>"
            )
        )

    def caution(self, *remarks: str) -> None:
        """Show a box with what a reader must know before believing the figures; nothing where there is nothing."""
        if remarks:
            text = " ".join(remarks)
            display(HTML(f'<div class="admonition warning"><p class="admonition-title">Caution</p><p>{text}</p></div>'))

    def verdicts(self, results: xr.Dataset, **others: xr.Dataset) -> None:
        """Show what the rules of this chapter's claims make of `results`, or of those of `others` that they read."""
        rows = []
        for one in claims.CLAIMS.values():
            if one.chapter == self.spec.name:
                row = claims.judge(one, {self.spec.name: results, **others}.get(one.results))
                rows.append(
                    f'<tr><th><a href="../generated/ledger.html#claim-{one.id.lower()}">{one.id}</a></th>'
                    f"<td>{escape(one.statement)}</td>"
                    f"<td>{_decided(row['verdict'], row['parts'], row.get('missing', ''))}</td>"
                    f"<td>{_decided(row['verdict_fair'], row['parts_fair'])}</td></tr>"
                )
        head = "<tr><th>claim</th><th>in our words</th><th>paper's protocol</th><th>fair</th></tr>"
        note = f"<p>These runs differ from the printed task: {self.variant}.</p>" if self.variant else ""
        display(HTML(f'{note}<table class="vn-verdicts"><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table>'))

    def footer(self, results: xr.Dataset) -> None:
        """Show where the results come from, and whether the library changed since."""
        a, known = results.attrs, provenance.facts(results)
        rows = {
            "profile": self.profile,
            "computed": f"{known['date']} UTC on {known['hardware']}",
            "compute time": f"{known['time']}, summed over {known['runs']} runs",
            "revision": f"{a['git_revision'][:12]}{' with uncommitted changes' if a['git_dirty'] == 1 else ''}",
            "versions": known["versions"],
            "library": f"{known['library']}; its source is now {provenance.source_hash(self.spec.name)}",
            "command": f"<code>{self.command}</code>",
        }
        cells = "".join(f"<tr><th>{k}</th><td>{v}</td></tr>" for k, v in rows.items())
        display(HTML(f'<table class="vn-footer">{cells}</table>'))


def _decided(verdict: str | None, parts: Sequence[Mapping[str, Any]], missing: str = "") -> str:
    """A verdict as HTML: the word, then every part of its rule. The classes are those of sphinx-design."""
    if verdict is None:
        return ""
    color = COLOR[verdict]
    marks = "".join(f"<li>{'✓' if p['holds'] else '✗'} {escape(p['says'])}</li>" for p in parts)
    return f'<b class="sd-badge sd-bg-{color} sd-bg-text-{color}">{verdict}</b><ul>{marks}</ul>{escape(missing)}'


def _checked(name: str, value: Any, rule: Mapping[str, Any], default: Any) -> Any:
    """One parameter's value in its own type. Raises ValueError that names it and what is allowed."""
    if value is None and default is None:
        return None
    _check_size(name, value)
    kind = rule["type"]
    if kind == "bool":
        if not isinstance(value, bool):
            raise ValueError(f"{name} must be true or false, got {value!r}")
    elif kind in ("int", "float"):
        checks.number(name, value, low=rule.get("low"), high=rule.get("high"), above=rule.get("above"),
                      integer=kind == "int")  # fmt: skip
    elif kind == "seeds":
        seeds = value
        if isinstance(value, int) and not isinstance(value, bool):
            seeds = range(value) if value <= MAX_SEEDS else ()
        if not isinstance(seeds, (list, tuple, range)) or not seeds or len(set(map(repr, seeds))) != len(seeds):
            wanted = f"a count >= 1 and <= {MAX_SEEDS} or a list of different integers >= 0"
            raise ValueError(f"{name} must be {wanted}, got {value!r}")
        for seed in seeds:
            checks.number(f"each of {name}", seed, low=0, high=2**31 - 1, integer=True)
        return list(seeds)
    elif kind == "names":
        value = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
        if not isinstance(value, (list, tuple)) or not value:
            raise ValueError(f"{name} must be a list of names, got {value!r}; allowed: {', '.join(rule['choices'])}")
        for one in value:
            checks.choice(f"each of {name}", one, rule["choices"])
        if len(set(value)) != len(value):
            raise ValueError(f"{name} must not name anything twice, got {value!r}")
        return list(value)
    elif not isinstance(value, str) or not value:
        raise ValueError(f"{name} must be text, got {value!r}")
    if "choices" in rule:
        checks.choice(name, value, rule["choices"])
    if name == "results_dir" and not _is_folder_name(value):
        raise ValueError(f"results_dir must be the name of a folder, got {value!r}")
    if name == "device" and not re.fullmatch(r"auto|cpu|cuda(:[0-9]{1,3})?", value):
        raise ValueError(f"device must be {rule['pattern']}, got {value!r}")
    return value


def _check_size(name: str, value: Any) -> None:
    """Raises ValueError for a value that is too large to be meant, or even to be printed."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits, lists thousands deep
        text = ""
    if not text or len(text) > MAX_TEXT or (isinstance(value, int) and abs(value) >= 2**63):
        raise ValueError(
            f"{name} must be below 2**63 and of at most {MAX_TEXT} characters, got {text[:60] or 'more'}..."
        )


def _is_folder_name(text: str) -> bool:
    try:
        Path(text).expanduser()
        return b"\0" not in text.encode()
    except (RuntimeError, UnicodeError):  # no such user; half a character
        return False


def _flag(name: str, value: Any) -> str:
    """A parameter as papermill's command line takes it: lists only as YAML."""
    if isinstance(value, list):
        return f"-y {shlex.quote(json.dumps({name: value}))}"
    return f"-p {name} {shlex.quote(str(value))}"


def overlay(base: Mapping[str, Any], top: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in top.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = overlay(merged[key], value) if both else value
    return merged
