"""All models of all chapters train and predict on another device to the numbers of the CPU: nothing
that a run computes depends on where.

The other device is that of `fake_device`, runs are those of `light_chapters`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
import xarray as xr
from fake_device import DEVICE, elsewhere
from light_chapters import FEW, brief, form, make_light, spec

from benchmarks.baselines import lengthened
from chapters.A_predictive_coding import study as predictive
from chapters.B_attention import measure as attention
from chapters.C_inference import measure as inference
from data_gen import signals
from vnlib.book import chapter, paths, store
from vnlib.checkpoint import History
from vnlib.fit import Course, GradientLearner
from vnlib.settle import Settled, Settler
from vnlib.settle.quadratic import Quadratic

CPU, CUDA = torch.device("cpu"), torch.device("cuda")
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
CLOSE = {"meta": 1e-4, "cuda": 1e-2}  # what losses and energies may differ by, relatively
# Its targets are settled codes, which a gap leaves further apart than energies: by .051 on a GPU.
LEARNS_CODES = {"beyond_initialiser"}
# Measure the same of all models of which this part of their sections is the same.
ALIKE = {"FR1_failure": "group", "beyond_kernel": "group", "beyond_capacity": "benchmark"}
# Compute on the CPU whatever the device is: one model shows that nothing comes to the device.
ON_THE_CPU = {
    "best_bodies",
    "best_digits",
    "best_positions",
    "best_signals",
    "beyond_capacity",
    "beyond_definitions",
    "beyond_kernel",
    "beyond_representation",
    "beyond_tasks",
}
SMALLEST = ("F_spatial", "fig2_spatial")  # images on which decoders are trained
EVERY = {"fig4_nbody": "vn"}  # the group of a chapter of which all models run
# Fewer numbers that go the same way through the code.
FEWER: dict[str, dict[str, Any]] = {
    # Starts are learned and compared on the CPU, whatever the device is.
    "beyond_initialiser": {"study": {"starts": ["cold", "linear"]}, "sizes": {"end": 10}},
    "B_attention": {"n_test": 8, "measures": {"n_ranks": 2}},  # one backward pass for each image
    "beyond_kernel": {"iterations": [1], "probes": 2},
    "C_inference": {"factors": [1.0, 2.5]},
    # A mask for all signals, and one for each.
    "fig3_functions": {"masks": ["forecast_25", "block_128"]},
    "beyond_capacity": {"masks": ["forecast_25", "block_128"]},
    "best_signals": {"masks": ["forecast_25"], "picture_masks": ["forecast_25"]},
    "I_mnist": {"test": {"n": 50}, "study": {"end": 4, "shuffles": 2, "watched": 4}},
    # `smoke` has small sizes for the models that it runs itself.
    "I_mnist-vn_3_equal": {"network": {"atoms": [48, 48, 48], "interface": [32, 32]}},
    "I_mnist-vn_3_top24": {"network": {"atoms": [64, 48, 32], "interface": [32, 32]}},
    "D_learning": {
        "sparsities": [0.2],
        "upkeep_sparsities": [0.2],
        "contrasts": [1.0],
        "stages": [0, 2],
        "local": {"batch_sizes": [1, 4]},
    },
}
# What is left out, and why.
LEFT_OUT = {
    "J_cost.runs",  # runs of chapters that are here themselves, in processes of their own
    "C_inference.speed",  # times, on the CPU whatever the device is; so are the parts behind it
}
# Models that make no results of the size `smoke`, each of which is asked whether it still does not.
TOO_SMALL = {
    ("fig5_mnist", "vn_2"),
    ("fig5_mnist", "vn_3_literal"),
    ("fig5_mnist", "vn_3_frozen"),
    ("fig5_mnist", "vn_3_top24"),
    ("fig5_mnist", "vn_1_top24"),
    ("fig5_mnist", "ksparse_linear"),
    ("fig5_mnist", "ksparse_24"),
    ("fig5_mnist", "dct_count"),
    ("fig5_mnist", "m_ksparse"),
}


def models() -> Iterator[tuple[str, str | None]]:
    """Chapter and model, one for each way through the code: models whose settings differ in numbers
    go the same one. Of models that go one that another chapter has, a chapter needs the first of
    each family only, for what it measures of it; or of each group, where it measures all alike.
    None for a chapter that has no models and stores results.
    """
    trained: set[str] = set()
    for name in sorted(paths.chapters(), key=lambda name: name not in SMALLEST):
        one, measured = spec(name), set()
        if "models" not in one.parameters:
            if one.stores:
                yield name, None
            continue
        if name in ON_THE_CPU:
            yield name, next(iter(one.sidecar["models"]))
            continue
        every = chapter.Chapter(one, one.check({"profile": "smoke"}))
        for model, own in one.sidecar["models"].items():
            section = every.model(model)
            way = {"family": section.get("family")} | form(section["options"])
            if not section.get("family"):
                own = {k: v for k, v in own.items() if k not in ("label", "group")}
                way = {"chapter": name} | (form(own) or {"model": model})
            kind, way = section.get("family") or str(way), str(way)
            if name in ALIKE:
                kind = section[ALIKE[name]]
            asked = section.get("group") == EVERY.get(name, "")
            if asked or way not in trained or kind not in measured:
                yield name, model
            trained.add(way)
            measured.add(kind)


TWICE = f".{lengthened.PART}"
ON_CPU: dict[tuple[str, ...], xr.Dataset] = {}


class Enough(Exception):
    """The chapter goes on with parts that are left out."""


def computed(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    name: str,
    model: str | None,
    device: torch.device,
) -> tuple[list[xr.Dataset], Told]:
    """What the first run of each grid of a chapter finds for a model, or without models, and what
    it told; a grid of twice the updates has the run of another. What the chapter reads of others is
    computed on the CPU once for all tests: the others are tested themselves.
    """
    found: list[xr.Dataset] = []
    stored: dict[str, list[xr.Dataset]] = {}
    told, asked = Told(), []

    def grid(run, axes, *, path: Path, settings, **_: Any) -> store.GridResult:
        if path.stem in LEFT_OUT:
            raise Enough
        if path.suffixes[0] == TWICE:  # of two updates that is the same run again
            return store.GridResult(xr.Dataset(), ())
        first = {axis: values[0] for axis, values in axes.items()}
        fewer = FEWER.get(path.stem, {}) | FEWER.get(f"{path.stem}-{model}", {})
        given = brief(chapter.overlay(settings(first), fewer))
        asked.append(json.dumps(given))
        key = (path.stem, str(first), asked[-1])
        if path.stem.split(".")[0] == name:
            with told.listening(), elsewhere() if device == DEVICE else nullcontext() as there:
                found.append(made := run(first, given, folder))
            told.used |= there is not None and there.used
            if device == CPU:
                ON_CPU[key] = made
        elif (made := ON_CPU.get(key)) is None:  # the first pass is that on the CPU
            made = ON_CPU[key] = run(first, given, folder)
        every = made.expand_dims({axis: list(values) for axis, values in axes.items()})
        stored.setdefault(path.stem, []).append(every)
        return store.GridResult(every, ())

    def read(path: Path) -> xr.Dataset:
        merged = xr.merge(stored[path.stem], join="outer", compat="no_conflicts")
        return merged.assign(run_settings=((), asked[0]))

    folder.mkdir()
    monkeypatch.setattr(store, "grid", grid)
    monkeypatch.setattr(store, "read", read)
    monkeypatch.setattr(chapter.Chapter, "device", device)
    make_light(monkeypatch)
    monkeypatch.setattr(attention, "ITERATIONS", FEW)
    monkeypatch.setattr(signals, "MASKS", FEWER["fig3_functions"]["masks"])
    monkeypatch.setattr(predictive, "SAMPLES_MOVED", 2)
    # What is measured of a network that has learned is on the CPU, whatever the device is.
    monkeypatch.setitem(inference.resumed.__kwdefaults__, "half", FEW // 2)
    if device == DEVICE:
        monkeypatch.setattr(torch.cuda, "synchronize", lambda _: None)
    one = spec(name)
    given = {"profile": "smoke", "results_dir": str(folder)}
    given |= {} if model is None else {"models": [model]}
    with suppress(Enough):
        paths.module(name, "study").results(chapter.Chapter(one, one.check(given)))
    return found, told


def test_all_chapters_that_store_results_are_here_and_few_models_are_left_out():
    asked = list(models())
    assert {name for name, _ in asked} == {n for n in paths.chapters() if spec(n).stores}
    assert sum(name == "fig4_nbody" and model.startswith("vn_") for name, model in asked) == 6
    assert set(asked) >= TOO_SMALL


@pytest.mark.filterwarnings("ignore")  # few sweeps settle nothing
@pytest.mark.parametrize(("name", "model"), list(models()))
@pytest.mark.parametrize(
    "device", [DEVICE, pytest.param(CUDA, marks=[pytest.mark.gpu, needs_cuda])], ids=str
)
def test_the_device_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
    model: str | None,
    device: torch.device,
):
    if (name, model) in TOO_SMALL:
        with pytest.raises(ValueError):
            computed(monkeypatch, tmp_path / "cpu", name, model, CPU)
        pytest.skip("made for larger sizes than those of smoke")
    cpu, told = computed(monkeypatch, tmp_path / "cpu", name, model, CPU)
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    other, told_there = computed(monkeypatch, tmp_path / "other", name, model, device)
    assert not (name in ON_THE_CPU and told_there.used)
    for one, two in zip(cpu, other, strict=True):
        timed = [variable for variable in one if "time" in str(variable)]
        one, two = one.drop_vars(timed), two.drop_vars(timed)
        assert set(one) == set(two) and one.sizes == two.sizes
        if device == DEVICE:
            xr.testing.assert_allclose(two, one, rtol=1e-4, atol=1e-6)
    near = CLOSE[device.type]
    losses = 0.1 if name in LEARNS_CODES and device == CUDA else near
    told.same(told_there, near, losses=losses)


@dataclass
class Told:
    """What does not hang on supports, signs or noise, which rounding and a GPU's generators may
    change: the losses of trainings that draw no noise, as they come, and the mean energy that each
    settle ends at, which is that of a minimum however its code is reached.
    """

    losses: list[list[float]] = field(default_factory=list)
    energies: list[float] = field(default_factory=list)
    used: bool = False  # whether anything was asked of the fake device

    def same(self, other: Told, rtol: float, *, losses: float | None = None) -> None:
        """That the other's are alike to a relative tolerance; losses to their own if it is given."""
        assert list(map(len, other.losses)) == list(map(len, self.losses))
        assert len(other.energies) == len(self.energies)
        for one, two in zip(self.losses, other.losses, strict=True):
            assert two == pytest.approx(one, rel=losses or rtol, abs=1e-6)
        assert other.energies == pytest.approx(self.energies, rel=rtol, abs=1e-6)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Within, trainings and settles are written down."""
        settle, step, train = Settler.__call__, GradientLearner.step, Course.alone
        noisy: list[bool] = []

        def settling(settler: Settler, *given: Any, **options: Any) -> Settled:
            settled = settle(settler, *given, **options)
            if settled.energy.numel():  # a force that does not act has no inputs
                self.energies.append(float(settled.energy.mean()))
            return settled

        def stepping(learner: GradientLearner, *given: Any, generator: Any, **options: Any) -> Any:
            state = generator.get_state()
            loss = step(learner, *given, generator=generator, **options)
            if noisy:  # a training, not a single step
                noisy[-1] |= not torch.equal(state, generator.get_state())
            return loss

        def training(course: Course, *given: Any) -> History:
            noisy.append(False)
            history = train(course, *given)
            if not noisy.pop():
                self.losses.append(list(history.train))
            return history

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Settler, "__call__", settling)
            patch.setattr(GradientLearner, "step", stepping)
            patch.setattr(Course, "alone", training)
            yield


def test_a_broken_device_is_found_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """One whose products are a twentieth too large, but where nothing else is wrong."""
    times = Quadratic.times

    def wrong(quadratic: Quadratic, *given: Any) -> torch.Tensor:
        return (1.05 if quadratic.V.device.type == DEVICE.type else 1.0) * times(quadratic, *given)

    monkeypatch.setattr(Quadratic, "times", wrong)
    _, cpu = computed(monkeypatch, tmp_path / "cpu", "fig5_mnist", "vn_3", CPU)
    _, other = computed(monkeypatch, tmp_path / "other", "fig5_mnist", "vn_3", DEVICE)
    assert len(cpu.losses) == 1 and len(cpu.energies) > 3
    with pytest.raises(AssertionError):
        cpu.same(other, CLOSE["cuda"])
