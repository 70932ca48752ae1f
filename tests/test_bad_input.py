"""Bad input: every mistake is refused in one short paragraph: its name, its value, what is allowed
or what to do.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import h5netcdf
import pytest
import torch
import xarray as xr

from benchmarks.spatial import registry
from benchmarks.spatial.decoders import build_vn, train_decoder
from data_gen import bumps, mnist
from vnlib.book import build as book
from vnlib.book import chapter, cli, store
from vnlib.book import ledger as claims
from vnlib.fit import FitConfig, GradientLearner, fit
from vnlib.learning.learner import LocalLearner
from vnlib.network import VectorNetwork, VNConfig
from vnlib.prox import L1, make_penalty
from vnlib.settle import SettleConfig, Settler

Call = Callable[[Path, pytest.MonkeyPatch], object]


# --- Each of these makes one mistake; `tmp` is an empty folder ------------------------------------


def spec(**given: object) -> Call:
    """A parameter of a chapter."""
    return lambda tmp, patch: chapter.spec("fig2_spatial").check(given)


def opened(**given: object) -> Call:
    """The first cell of a chapter, with these names in its namespace."""
    return lambda tmp, patch: chapter.open_chapter("fig2_spatial", given)


def device(name: str) -> Call:
    def call(tmp, patch):
        one = chapter.spec("fig2_spatial")
        return chapter.Chapter(one, one.check({"device": name})).device

    return call


def command(*arguments: str) -> Call:
    """The command line; what it says before it ends with 1 is the text of SystemExit."""

    def call(tmp, patch):
        patch.setattr(
            sys, "argv", ["vnbook", *(word.replace("TMP", str(tmp)) for word in arguments)]
        )
        cli.main()

    return call


def made(function: Callable, *args: object, **kwargs: object) -> Call:
    """A call of the library."""
    return lambda tmp, patch: function(*args, **kwargs)


def network(**changes: object) -> VectorNetwork:
    return VectorNetwork(VNConfig(**({"n_inputs": 6, "atoms": (8,)} | changes)), seed=0)


def settled(x: torch.Tensor, **options: object) -> Call:
    return lambda tmp, patch: network().settle(x, **options)


def trained(**changes: object) -> Call:
    """A decoder of the benchmark's codes, trained for a moment."""

    def call(tmp, patch):
        pair = (torch.rand(4, 6), torch.rand(4, 3, 3))
        given = {
            "family": "mlp",
            "options": {"hidden": (4,)},
            "lr": 0.1,
            "steps": 2,
            "batch_size": 2,
            "seed": 0,
        }
        return train_decoder(pair, pair, workdir=tmp, **(given | changes))

    return call


def fitted(*data: torch.Tensor) -> Call:
    def call(tmp, patch):
        model = registry.build("mlp", n_inputs=6, image_shape=(3, 3), seed=0, hidden=(4,))
        return fit(
            GradientLearner(model, lr=0.1), data, FitConfig(steps=1), seed=0, validate=lambda: 1.0
        )

    return call


def foreign_checkpoint(tmp, patch):
    """A run that finds the checkpoint of another."""
    model = registry.build("mlp", n_inputs=6, image_shape=(3, 3), seed=0, hidden=(4,))
    (tmp / "fit.safetensors").write_bytes(b"not a checkpoint")
    data = (torch.rand(4, 6), torch.rand(4, 3, 3))
    fit(
        GradientLearner(model, lr=0.1),
        data,
        FitConfig(steps=1),
        seed=0,
        validate=lambda: 1.0,
        checkpoint=tmp / "fit.safetensors",
    )


def grid(path: Path, axes: object = None, result: object = None, settings: object = None) -> object:
    return store.grid(
        lambda *_: xr.Dataset({"y": ((), 1.0)}) if result is None else result,
        {"seed": [0]} if axes is None else axes,
        path=path,
        settings=lambda axes: {} if settings is None else settings,
        title="test",
        progress=False,
    )


def gridded(**options: object) -> Call:
    return lambda tmp, patch: grid(tmp / "fig.nc", **options)


def below_a_file(tmp, patch):
    (tmp / "file").write_text("")
    grid(tmp / "file" / "smoke" / "fig.nc")


def read_only(tmp, patch):
    # the tests may run as root, who may write anywhere
    patch.setattr(os, "access", lambda *args: False)
    grid(tmp / "fig.nc")


def truncated(use: Callable[[Path], object]) -> Call:
    def call(tmp, patch):
        grid(tmp / "fig2_spatial.nc")
        whole = (tmp / "fig2_spatial.nc").read_bytes()
        (tmp / "fig2_spatial.nc").write_bytes(whole[: len(whole) // 2])
        use(tmp)

    return call


def foreign(tmp, patch):
    with h5netcdf.File(tmp / "theirs.nc", "w") as file:
        file.attrs["title"] = "somebody's weather"
    grid(tmp / "theirs.nc")


def other_axes(tmp, patch):
    grid(tmp / "fig.nc")
    grid(tmp / "fig.nc", axes={"model": ["a"], "seed": [0]})


def offline(tmp, patch):
    """No data, no network, no stand-in: what the `paper` profile finds."""
    patch.delenv("VNBOOK_DATA", raising=False)
    patch.setenv("VNBOOK_OFFLINE", "1")
    patch.setattr(mnist.pooch, "os_cache", lambda name: tmp / name)
    mnist.load("train", allow_fallback=False)


def empty_data_folder(tmp, patch):
    patch.setenv("VNBOOK_DATA", str(tmp / "nothing"))
    mnist.load("train", allow_fallback=True)


def too_many_digits(tmp, patch):
    patch.delenv("VNBOOK_DATA", raising=False)
    patch.setattr(mnist.pooch, "os_cache", lambda name: tmp / name)
    mnist.load("test", n=70_000, allow_fallback=True)


NAN = torch.full((2, 6), float("nan"))
V = torch.eye(4, 3)

# Name of the mistake -> what is raised, what makes it, what the message must say.
MISTAKES: dict[str, tuple[type[BaseException], Call, tuple[str, ...]]] = {
    # Chapters and their parameters
    "unknown chapter": (
        ValueError,
        made(chapter.spec, "fig9"),
        ("chapter", "'fig9'", "'fig2_spatial'"),
    ),
    "unknown chapter, typed": (
        SystemExit,
        command("run", "fig9"),
        ("chapter", "'fig9'", "'fig2_spatial'"),
    ),
    "unknown chapter, exported": (
        SystemExit,
        command("export", "fig9", "--to", "html"),
        ("'fig9'", "'fig2_spatial'"),
    ),
    "unknown parameter": (
        ValueError,
        spec(sead=1),
        ("'sead'", "Did you mean 'seeds'?", "hold_out", "results_dir"),
    ),
    "unknown parameter, injected": (
        ValueError,
        opened(prfile="fast"),
        ("'prfile'", "'profile'", "results_dir"),
    ),
    "unknown parameter, typed": (
        SystemExit,
        command("run", "fig2_spatial", "-p", "sgima", "1"),
        ("'sgima'", "'sigma'"),
    ),
    "unknown profile": (
        ValueError,
        spec(profile="quick"),
        ("profile", "'quick'", "'smoke', 'fast', 'paper'"),
    ),
    "unknown profile, built": (
        SystemExit,
        command("build", "--profile", "quick"),
        ("profile", "'quick'", "'paper'"),
    ),
    "unknown profile, ledger": (
        SystemExit,
        command("ledger", "--profile", "quick"),
        ("profile", "'quick'", "paper"),
    ),
    "unknown model": (
        ValueError,
        spec(models=["cnn2", "cnn3"]),
        ("models", "'cnn3'", "'cnn4'", "'vn_full'"),
    ),
    "models empty": (ValueError, spec(models=""), ("models", "''", "'cnn4'")),
    "models no list": (ValueError, spec(models=3), ("models", "3", "cnn4")),
    "models twice": (ValueError, spec(models="mlp,mlp"), ("models", "twice", "'mlp'")),
    "unknown encoding": (
        ValueError,
        spec(encoding="onehot"),
        ("encoding", "'onehot'", "'one_hot'", "'fourier'"),
    ),
    "unknown hold-out": (
        ValueError,
        spec(hold_out="disc"),
        ("hold_out", "'disc'", "'square'", "'ring'", "'corner'"),
    ),
    "unknown device": (
        ValueError,
        spec(device="gpu"),
        ("device", "'gpu'", "auto, cpu, cuda or cuda:N"),
    ),
    "device that is not there": (ValueError, device("cuda:99"), ("device", "'cuda:99'", "cpu")),
    "sparsity negative": (ValueError, spec(sparsity=-0.1), ("sparsity", ">= 0", "-0.1")),
    "sparsity NaN": (ValueError, spec(sparsity=float("nan")), ("sparsity", "finite", "nan")),
    "n_atoms 0": (ValueError, spec(n_atoms=0), ("n_atoms", ">= 1", "0")),
    "n_atoms a fraction": (ValueError, spec(n_atoms=2.5), ("n_atoms", "integer", "2.5")),
    "n_atoms text": (
        SystemExit,
        command("run", "fig2_spatial", "-p", "n_atoms", "many"),
        ("n_atoms", "integer", "'many'"),
    ),
    "sigma 0": (ValueError, spec(sigma=0), ("sigma", ">= 0.3", "0")),
    "seeds empty": (
        ValueError,
        spec(seeds=[]),
        ("seeds", "[]", "count >= 1 and <= 1000", "list of different integers"),
    ),
    "seeds 0": (ValueError, spec(seeds=0), ("seeds", "0", "count >= 1 and <= 1000")),
    "seeds twice": (ValueError, spec(seeds=[1, 1]), ("seeds", "[1, 1]", "different")),
    "seeds negative": (ValueError, spec(seeds=[0, -1]), ("seeds", ">= 0", "-1")),
    "seeds text": (ValueError, spec(seeds="all"), ("seeds", "'all'", "count")),
    "seeds without end": (ValueError, spec(seeds=10**12), ("seeds", "1000000000000", "count")),
    "recompute as text": (
        ValueError,
        spec(recompute="yes"),
        ("recompute", "'yes'", "true or false"),
    ),
    "results_dir a number": (
        SystemExit,
        command("run", "fig2_spatial", "-p", "results_dir", "7"),
        ("results_dir", "7", "text"),
    ),
    "results_dir below a file": (
        SystemExit,
        command("run", "fig2_spatial", "-p", "results_dir", f"{__file__}/x"),
        ("test_bad_input.py/x", "Not a directory", "choose another results_dir"),
    ),
    "jobs 0": (
        ValueError,
        lambda tmp, patch: book.run_chapter("fig2_spatial", {}, tmp / "x.ipynb", jobs=0),
        ("jobs", ">= 1", "0"),
    ),
    "no results to judge": (
        SystemExit,
        command("ledger", "--profile", "fast", "--results-dir", "TMP/none"),
        ("none/fast", "vnbook run"),
    ),
    # The network and its learning
    "K = 0": (ValueError, made(network, atoms=(0,)), ("atoms of layer 1", ">= 1", "0")),
    "no layers": (
        ValueError,
        made(network, atoms=(), sparsity=()),
        ("atoms", "at least one layer", "()"),
    ),
    "n_inputs 0": (ValueError, made(network, n_inputs=0), ("n_inputs", ">= 1", "0")),
    "interface missing": (
        ValueError,
        made(network, atoms=(8, 4), sparsity=(0.1, 0.1)),
        ("interface", "1 or 2 entries", "()"),
    ),
    "sparsity of one layer only": (
        ValueError,
        made(network, atoms=(8, 4), interface=(5,)),
        ("sparsity", "(2)", "(0.1,)"),
    ),
    "sparsity of a layer negative": (
        ValueError,
        made(network, sparsity=(-1.0,)),
        ("sparsity of layer 1", ">= 0", "-1.0"),
    ),
    "sparsity of a penalty": (
        ValueError,
        made(L1, sparsity=float("inf")),
        ("sparsity", "finite", "inf"),
    ),
    "feedback negative": (ValueError, made(network, feedback=-1), ("feedback", ">= 0", "-1")),
    "top_k 0": (ValueError, made(network, top_k=0), ("top_k", ">= 1", "<= 8", "0")),
    "top_k above K": (ValueError, made(network, top_k=9), ("top_k", "<= 8", "9")),
    "top_k of a penalty": (
        ValueError,
        made(make_penalty, sparsity=0.1, top_k=0),
        ("top_k", ">= 1", "0"),
    ),
    "unknown activation": (
        ValueError,
        made(network, activation="tanh"),
        ("activation", "'tanh'", "'identity', 'relu'"),
    ),
    "unknown interface rule": (
        ValueError,
        made(network, interface_rule="hebb"),
        ("interface_rule", "'hebb'", "'subspace'"),
    ),
    "unknown method": (
        ValueError,
        made(SettleConfig, method="adam"),
        ("method", "'adam'", "'ista', 'fista'"),
    ),
    "max_sweeps 0": (ValueError, made(SettleConfig, max_sweeps=0), ("max_sweeps", ">= 1", "0")),
    "tol negative": (ValueError, made(SettleConfig, tol=-1e-3), ("tol", ">= 0", "-0.001")),
    "cap after the end": (
        ValueError,
        made(SettleConfig, max_sweeps=5, cap_from=5),
        ("cap_from", "<= 4", "5"),
    ),
    "NaN in the data": (ValueError, settled(NAN), ("x", "12 value(s)", "NaN", "remove or impute")),
    "inputs too narrow": (ValueError, settled(torch.zeros(2, 5)), ("x", "(batch, 6)", "(2, 5)")),
    "inputs without a batch": (ValueError, settled(torch.zeros(6)), ("x", "(batch, 6)", "(6,)")),
    "whole numbers as inputs": (
        ValueError,
        settled(torch.zeros(2, 6, dtype=torch.int64)),
        ("x", "floating-point", "int64"),
    ),
    "start of the wrong shape": (
        ValueError,
        settled(torch.zeros(2, 6), start=[torch.zeros(2, 7)]),
        ("start", "(2, 8)", "(2, 7)"),
    ),
    "layer without an operator": (
        ValueError,
        lambda tmp, patch: (n := network()).operator(n.settle(torch.rand(1, 6))),
        ("layer", "interface", "0"),
    ),
    "layers that do not fit": (
        ValueError,
        lambda tmp, patch: Settler(
            [network(interface=(5,)).layers[0], network(n_inputs=4).layers[0]]
        ),
        ("layer 1 sends 5", "layer 2 reads 4"),
    ),
    "too few samples to start from": (
        ValueError,
        lambda tmp, patch: network().start_from_samples(torch.rand(3, 6), seed=0),
        ("layer 1", "at least 8", "3"),
    ),
    "lr negative": (
        ValueError,
        lambda tmp, patch: LocalLearner(network(), lr=-1),
        ("lr", "> 0", "-1"),
    ),
    # Training
    "lr of a decoder": (ValueError, trained(lr=-1), ("lr", "> 0", "-1")),
    "batch_size 0": (ValueError, trained(batch_size=0), ("batch_size", ">= 1", "0")),
    "steps 0": (ValueError, trained(steps=0), ("steps", ">= 1", "0")),
    "unknown family": (ValueError, trained(family="gan"), ("family", "'gan'", "'vn'", "'cnn'")),
    "unknown option": (ValueError, trained(options={"width": 3}), ("width", "hidden", "mlp")),
    "lr that explodes": (
        FloatingPointError,
        trained(lr=1e30, steps=50),
        ("loss", "step", "lower the learning rate"),
    ),
    "no data": (
        ValueError,
        fitted(torch.zeros(0, 6), torch.zeros(0, 3, 3)),
        ("data", "[0, 0]", "one length > 0"),
    ),
    "unequal data": (
        ValueError,
        fitted(torch.zeros(4, 6), torch.zeros(5, 3, 3)),
        ("data", "[4, 5]", "one length"),
    ),
    "damaged checkpoint": (
        ValueError,
        foreign_checkpoint,
        ("fit.safetensors", "not a readable checkpoint", "delete it"),
    ),
    "unknown baseline": (
        ValueError,
        made(registry.build, "gan", n_inputs=2, image_shape=(3, 3), seed=0),
        ("'gan'", "'cnn'", "'vae'"),
    ),
    "unknown streams": (
        ValueError,
        made(build_vn, n_inputs=6, image_shape=(3, 3), seed=0, streams="both"),
        ("streams", "'both'", "'axes', 'joint'"),
    ),
    "code that cannot be halved": (
        ValueError,
        made(build_vn, n_inputs=7, image_shape=(3, 3), seed=0, streams="axes"),
        ("streams='axes'", "7", "halves"),
    ),
    "flat readout of two streams": (
        ValueError,
        made(build_vn, n_inputs=6, image_shape=(3, 3), seed=0, streams="axes", readout="flat"),
        ("readout 'flat'", "streams='joint'"),
    ),
    # Data
    "sigma of a bump": (ValueError, made(bumps.BumpConfig, sigma=0), ("sigma", "> 0", "0")),
    "grid too large": (ValueError, made(bumps.BumpConfig, grid=100), ("grid", "<= 64", "100")),
    "unknown part of MNIST": (
        ValueError,
        made(mnist.load, "valid"),
        ("part", "'valid'", "'train', 'test'"),
    ),
    "n 0": (ValueError, made(mnist.load, "test", n=0), ("n must be", ">= 1", "0")),
    "n too large": (ValueError, too_many_digits, ("n must be <= 360", "70000")),
    "no MNIST": (
        mnist.MnistUnavailable,
        offline,
        ("VNBOOK_OFFLINE", "set VNBOOK_DATA", "t10k-labels-idx1-ubyte.gz"),
    ),
    "VNBOOK_DATA without data": (
        mnist.MnistError,
        empty_data_folder,
        ("VNBOOK_DATA", "nothing", "unset VNBOOK_DATA"),
    ),
    # Results
    "results below a file": (
        store.StoreError,
        below_a_file,
        ("file/smoke", "cannot be written", "choose another"),
    ),
    "results folder read-only": (
        store.StoreError,
        read_only,
        ("results folder", "read-only", "choose another"),
    ),
    "truncated NetCDF": (
        store.StoreError,
        truncated(lambda tmp: store.read(tmp / "fig2_spatial.nc")),
        ("fig2_spatial.nc", "truncated", "delete it"),
    ),
    "truncated NetCDF, computed": (
        store.StoreError,
        truncated(lambda tmp: grid(tmp / "fig2_spatial.nc")),
        ("fig2_spatial.nc", "truncated", "delete it"),
    ),
    "truncated NetCDF, judged": (
        store.StoreError,
        truncated(claims.ledger),
        ("fig2_spatial.nc", "truncated", "delete it"),
    ),
    "foreign NetCDF": (
        store.StoreError,
        foreign,
        ("theirs.nc", "not one of our result files", "move it away"),
    ),
    "NetCDF of other axes": (
        store.StoreError,
        other_axes,
        ("fig.nc", "'seed'", "'model'", "another file"),
    ),
    "missing NetCDF": (
        store.StoreError,
        lambda tmp, patch: store.read(tmp / "x.nc"),
        ("x.nc", "does not exist", "compute it"),
    ),
    "no axes": (ValueError, gridded(axes={}), ("axes", "at least one", "none")),
    "axis given twice": (
        ValueError,
        gridded(axes={"seed": [1, 1]}),
        ("axis seed", "(1, 1)", "once"),
    ),
    "axis as text": (ValueError, gridded(axes={"model": "mlp"}), ("axis model", "'mlp'", "list")),
    "settings that are no JSON": (
        ValueError,
        gridded(settings={"f": partial}),
        ("settings of seed=0", "JSON", "partial"),
    ),
    "run without a dataset": (ValueError, gridded(result=3), ("xarray.Dataset", "int")),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_bad_input_is_refused_in_one_paragraph(mistake, tmp_path, monkeypatch):
    exception, call, words = MISTAKES[mistake]
    with pytest.raises(exception) as caught:
        call(tmp_path, monkeypatch)
    assert caught.type is exception, f"{caught.type.__name__} is not what the documentation says"
    message = str(caught.value)
    lacking = [word for word in words if word not in message]
    assert not lacking, f"{lacking} not in: {message}"
    assert "\n\n" not in message and "Traceback" not in message, message
    assert 20 < len(message) < 600, message
