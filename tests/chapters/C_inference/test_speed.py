"""The benchmarks measure what they say: all solvers solve the same problem, to the gap, and costs
add up.
"""

from __future__ import annotations

import builtins
import itertools
from pathlib import Path

import numpy as np
import pytest
import torch
import xarray as xr

from chapters.C_inference.speed import clock, layers, memory, peers, speed
from chapters.C_inference.speed.problems import Problem, Workloads, relative_gap, size_of
from vnlib.layer import Layer
from vnlib.prox import L1
from vnlib.settle import duality_gap, joint_energy

SPARSITY = 0.3


def problem(d: int = 12, K: int = 20, n: int = 30) -> Problem:
    rng = torch.Generator().manual_seed(0)
    V = torch.nn.functional.normalize(
        torch.randn(d, K, generator=rng) + torch.randn(d, 1, generator=rng), dim=0
    )
    return Problem(V, 2 * torch.randn(n, d, generator=rng), SPARSITY)


def energy(task: Problem, codes: torch.Tensor) -> torch.Tensor:
    task = task.to(torch.float64)
    return joint_energy([Layer(task.V, None, L1(sparsity=SPARSITY))], [codes.double()], task.x)


def optimum(task: Problem) -> torch.Tensor:
    return peers.CoordinateDescent().solve(None, task.to(torch.float64), 1e-12, 1).dense


def images(n: int, seed: int) -> torch.Tensor:
    return torch.rand(n, 36, generator=torch.Generator().manual_seed(seed))


def installed(name: str) -> None:
    if name.startswith("spams"):
        pytest.importorskip("spams")


# What solves.


@pytest.mark.parametrize("name", peers.SOLVERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_every_solver_reaches_the_gap(name, dtype):
    installed(name)
    task, gap, solver = problem().to(dtype), 1e-3, peers.SOLVERS[name]()
    found = solver.search(task, gap)
    codes = solver.solve(solver.prepare(task, found.setting), task, found.setting, 1).dense
    assert codes.shape == (30, 20)
    assert peers.reached(relative_gap(task, codes), gap)
    assert float(energy(task, codes).mean()) <= float(energy(task, optimum(task)).mean()) * (
        1 + gap
    )


@pytest.mark.parametrize("name", ["fista", "sklearn_cd"])
def test_a_setting_is_the_loosest_that_does(name):
    task, gap, solver = problem(), 1e-3, peers.SOLVERS[name]()
    found = solver.search(task, gap)
    assert float(found.gaps.max()) <= gap
    looser = found.setting - 10 if name == "fista" else 2 * found.setting
    some = task.first(peers.SEARCH // (8 if name == "fista" else 1))
    assert looser <= gap or name == "fista"
    codes = solver.solve(solver.prepare(task, looser), some, looser, 1).dense
    assert float(relative_gap(some, codes).max()) > gap


def test_plain_fista_is_that_of_the_library():
    from vnlib.settle import SettleConfig, Settler

    task = problem().to(torch.float64)
    config = SettleConfig(method="fista", max_sweeps=40, tol=0)
    settled = Settler([Layer(task.V, None, L1(sparsity=SPARSITY))], config=config)
    L = settled.quadratics[0].lipschitz()
    codes = next(itertools.islice(peers.fista(task, L), 39, None))
    torch.testing.assert_close(codes, settled(task.x).codes[0])


def test_part_of_the_work():
    fista, lars = peers.PlainFista(), peers.SklearnLars()
    part, setting = fista.part(problem(), 100, 0.25)
    assert (len(part.x), setting) == (30, 25)
    part, setting = lars.part(problem(), 1e-3, 0.25)
    assert (len(part.x), setting) == (8, 1e-3)


# What is measured.


def test_the_gap_bounds_what_is_left_and_is_the_best_of_the_scales():
    task = problem().to(torch.float64)
    layer = [Layer(task.V, None, L1(sparsity=SPARSITY))]
    best = optimum(task)
    for codes in (best + 0.01, 0.9 * best, torch.zeros_like(best)):
        gap = relative_gap(task, codes) * energy(task, codes)
        assert bool((gap >= energy(task, codes) - energy(task, best) - 1e-12).all())
        assert bool((gap <= duality_gap(layer, [codes], task.x) + 1e-12).all())
    assert float(relative_gap(task, best).max()) < 1e-11
    assert float(relative_gap(task, best + 0.01).min()) > 1e-6


def test_no_energy_no_gap():
    task = problem().first(2)
    task.x[:] = 0
    assert not relative_gap(task, torch.zeros(2, 20)).any()


@pytest.mark.parametrize("name", ["784", "10x20", "axbxc", "1x0x3", "1x-2x3"])
def test_sizes_that_are_none(name):
    with pytest.raises(ValueError, match="dxKxB"):
        size_of(name)
    assert size_of("3x4x5") == (3, 4, 5)


def test_workloads_follow_from_images_and_seed():
    def made(seed: int, size: str) -> Problem:
        return Workloads(images(120, 0), images(40, 1), seed=seed, steps=2).problem(size)

    for size, d in (("36x20x10", 36), ("9x20x40", 9)):
        one, again, other = made(0, size), made(0, size), made(1, size)
        assert one.V.shape == (d, 20) and one.x.shape == (int(size.split("x")[2]), d)
        assert (
            torch.equal(one.V, again.V)
            and torch.equal(one.x, again.x)
            and one.sparsity == again.sparsity
        )
        assert not torch.equal(one.V, other.V)
        torch.testing.assert_close(one.V.norm(dim=0), torch.ones(20))
        assert one.sparsity == pytest.approx(0.1 * float((one.x @ one.V).abs().amax(1).mean()))


def test_workloads_learn_and_are_kept():
    work = Workloads(images(120, 0), images(40, 1), steps=2)
    fresh = Workloads(images(120, 0), images(40, 1), steps=0)
    assert not torch.equal(work.problem("36x20x10").V, fresh.problem("36x20x10").V)
    assert work.network(36, atoms=(20,)) is work.network(36, atoms=(20,))
    below, above = work.stack((20, 10), (8,))
    assert (below.U.shape, above.V.shape, above.U) == ((8, 20), (8, 10), None)
    with pytest.raises(ValueError, match="B of size"):
        work.problem("36x20x41")
    with pytest.raises(ValueError, match="d of size"):
        work.problem("37x20x4")


def test_few_numbers_are_principal_components():
    work = Workloads(images(120, 0), images(40, 1))
    x = work.train - work.train.mean(0)
    assert float(work.reduced(x, 5).square().sum() / x.square().sum()) == pytest.approx(
        float(torch.linalg.svdvals(x)[:5].square().sum() / x.square().sum()), rel=1e-4
    )


def test_threads_are_given_back():
    before = torch.get_num_threads()
    with pytest.raises(RuntimeError, match="stop"), clock.limited(2):
        assert torch.get_num_threads() == 2
        raise RuntimeError("stop")
    assert torch.get_num_threads() == before
    with pytest.raises(ValueError, match="threads must be"), clock.limited(0):
        pass


def test_costs():
    result, cost = clock.timed(lambda: sum(range(10_000)))
    assert result == 49_995_000 and cost.wall > 0 and cost.cpu > 0
    assert clock.Cost(1, 5).least(clock.Cost(2, 3)) == clock.Cost(1, 3)
    assert clock.Cost(1, 5) + clock.Cost(2, 3).times(2) == clock.Cost(5, 11)
    assert 1e8 < clock.gemm_rate(torch.float32) < 1e15


# The tables.


@pytest.fixture(scope="module")
def table() -> xr.Dataset:
    pytest.importorskip("spams")
    return speed.one_layer(problem(), gap=1e-3, repeats=1, patience=5.0)


def test_a_case(table):
    assert dict(table.sizes) == {"solver": len(peers.SOLVERS), "threads": 1}
    assert bool((table.reached == 1).all()) and bool((table.gap_q95 <= 1e-3).all())
    assert bool((table.share == 1).all()) and bool((table.wall >= table.setup_wall).all())
    assert bool((table.wall > 0).all()) and not table.note.values.any()
    assert float(table.active.max() - table.active.min()) < 2
    V = problem().V
    gram = (V.T @ V).double()
    assert float(table.lipschitz) == pytest.approx(float(torch.linalg.eigvalsh(gram)[-1]))
    assert float(table.coherence) == pytest.approx(
        float((gram - torch.eye(20)).abs().max()), abs=1e-6
    )
    assert set(speed.TEXTS) <= set(table.data_vars)
    assert all(table[name].attrs["units"] for name in speed.TEXTS)


def test_share_of_the_machine(table):
    with_products = ["vn_line_search", "vn_restart", "fista"]
    share = table.gemm_share.sel(solver=with_products)
    assert bool(((share > 0) & (share < 1)).all())
    assert bool(table.gemm_share.drop_sel(solver=with_products).isnull().all())


class Sleeper(peers.Solver):
    """Takes a tenth of a second for each sample, by a clock of its own."""

    now = 0.0

    def solve(self, prepared, problem, setting, threads):
        Sleeper.now += 0.1 * len(problem.x)
        return peers.Solved(torch.zeros(len(problem.x), problem.V.shape[1]), 1.0)


def test_slow_solvers_are_timed_on_a_share(monkeypatch):
    monkeypatch.setattr(clock.time, "perf_counter", lambda: Sleeper.now)
    monkeypatch.setitem(peers.SOLVERS, "sleeper", Sleeper)
    monkeypatch.setattr(speed, "gemm_rate", lambda *_: 1.0)
    ds = speed.one_layer(problem(n=64), gap=1e-3, solvers=["sleeper"], patience=1.0, repeats=3)
    assert float(ds.share.item()) == 8 / 64
    assert float(ds.wall.item()) == pytest.approx(6.4)
    assert float(ds.reached.item()) == 0


def test_without_spams_its_rows_are_empty(monkeypatch):
    true_import = builtins.__import__

    def importing(name, *args, **options):
        if name == "spams":
            raise ModuleNotFoundError("No module named 'spams'", name="spams")
        return true_import(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", importing)
    ds = speed.one_layer(problem(), gap=1e-3, solvers=["vn_cd", "spams_lars"], repeats=1)
    assert (
        np.isnan(ds.wall.sel(solver="spams_lars").item()) and ds.wall.sel(solver="vn_cd").item() > 0
    )
    assert ds.note.sel(solver="spams_lars").item() == "not installed: spams"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gap": 0.0}, "gap must be"),
        ({"repeats": 0}, "repeats must be"),
        ({"patience": 0}, "patience must be"),
        ({"solvers": ["lars"]}, "solver must be one of"),
        ({"threads": [0]}, "threads must be"),
    ],
)
def test_bad_arguments(change, message):
    with pytest.raises(ValueError, match=message):
        speed.one_layer(problem(), **{"gap": 1e-3, "solvers": ["vn_cd"]} | change)


def test_the_command(monkeypatch, tmp_path, capsys):
    smoke = {
        "sizes": ("36x20x30",),
        "gaps": (1e-3,),
        "repeats": 1,
        "patience": 0.1,
        "images": (120, 40),
    }
    monkeypatch.setitem(speed.PROFILES, "smoke", smoke)
    monkeypatch.setattr(speed, "images", lambda n, m, fallback: (images(n, 0), images(m, 1)))
    out = tmp_path / "speed.nc"
    monkeypatch.setattr("sys.argv", ["speed", "--profile", "smoke", "--out", str(out)])
    speed.main()
    assert "36x20x30, gap 0.001" in capsys.readouterr().out
    ds = xr.load_dataset(out, engine="h5netcdf")
    assert dict(ds.sizes) == {"size": 1, "gap": 1, "solver": len(peers.SOLVERS), "threads": 1}


def test_images_are_rows():
    train, test = speed.images(7, 5, fallback=True)
    assert (train.shape, test.shape, train.dtype) == ((7, 784), (5, 784), torch.float32)


# Several layers, and memory.


def test_several_layers():
    stack = Workloads(images(120, 0), images(40, 1), steps=1).stack((20, 10), (8,))
    x = images(6, 2)
    ds = layers.several_layers(stack, x, feedback=0.5, repeats=1)
    assert dict(ds.sizes) == {"solver": 4, "schedule": 3}
    assert bool((ds.reached == 1).all()) and bool((ds.sweeps <= ds.sweeps_max).all())
    # All end within the gap of the same energy.
    assert float(ds.energy.max() / ds.energy.min()) < 1 + 1e-3
    plain, restarted = (ds.sweeps.sel(solver=one, schedule="sweep") for one in ("ista", "restart"))
    assert float(restarted) < float(plain)


@pytest.mark.slow
def test_memory_is_that_of_another_process():
    ds = memory.memory(problem(40, 400, 600), methods=["cd"])
    rise, sample = float(ds.rise.item()), float(ds.per_sample.item())
    # Gram matrix, and codes, products and inputs of each sample; less than the interpreter with its
    # libraries.
    assert 400 * 400 * 4 < rise < 40e6 < float(ds.peak.item())
    assert sample < 100 * 400 * 4


def test_memory_says_what_went_wrong(tmp_path):
    with pytest.raises(RuntimeError, match="method must be one of"):
        memory.memory(problem(), methods=["magic"])
    assert not list(Path(tmp_path).iterdir())


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_on_cuda():
    ds = speed.one_layer(problem(64, 128, 256), gap=1e-3, repeats=1, device="cuda")
    there = ["vn_line_search", "vn_restart", "fista"]
    assert bool((ds.reached.sel(solver=there) == 1).all()) and bool(
        (ds.gemm_share.sel(solver=there) > 0).all()
    )
    assert bool(ds.wall.drop_sel(solver=there).isnull().all())
    assert set(ds.note.drop_sel(solver=there).values) == {"runs on the CPU only"}
