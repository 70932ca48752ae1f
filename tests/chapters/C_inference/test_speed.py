"""The benchmarks measure what they say: all solvers solve the same problem, to the gap, and costs
add up.
"""

from __future__ import annotations

import builtins
import importlib.util
import itertools
import os
import signal
from pathlib import Path

import forked_kernels
import numpy as np
import pytest
import torch
import xarray as xr

from chapters.C_inference import study, tables_speed
from chapters.C_inference.speed import clock, layers, memory, peers, pursuit, solvers, speed
from chapters.C_inference.speed.problems import (
    Problem,
    Workloads,
    patches,
    relative_gap,
    size_of,
)
from vnlib.layer import Layer
from vnlib.prox import L1
from vnlib.settle import coordinate, duality_gap, joint_energy

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
    return solvers.CoordinateDescent().solve(None, task.to(torch.float64), 1e-12).dense


def images(n: int, seed: int) -> torch.Tensor:
    return torch.rand(n, 36, generator=torch.Generator().manual_seed(seed))


def hidden(task: Problem) -> Problem:
    """The same with half of the inputs of every sample hidden."""
    ranks = torch.rand(task.x.shape, generator=torch.Generator().manual_seed(2)).argsort(1)
    mask = (ranks >= task.x.shape[1] // 2).to(task.x)
    return Problem(task.V, task.x * mask, task.sparsity, mask)


def installed(name: str) -> None:
    package = name.partition("_")[0]
    if package in ("spams", "celer", "skglm"):
        pytest.importorskip(package)


# What solves.


def solved(name: str, task: Problem, gap: float) -> torch.Tensor:
    solver = peers.SOLVERS[name]()
    found = solver.search(task, gap)
    return solver.solve(solver.prepare(task, found.setting), task, found.setting).dense


@pytest.mark.parametrize("name", peers.SOLVERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_every_solver_reaches_the_gap(name, dtype):
    installed(name)
    task, gap = problem().to(dtype), 1e-3
    codes = solved(name, task, gap)
    assert codes.shape == (30, 20)
    assert float(relative_gap(task, codes).quantile(0.95)) <= gap
    assert float(energy(task, codes).mean()) <= float(energy(task, optimum(task)).mean()) * (
        1 + gap
    )


@pytest.mark.parametrize("name", [n for n, make in peers.SOLVERS.items() if make().masks])
def test_with_hidden_inputs_it_solves_what_is_seen(name):
    installed(name)
    task = hidden(problem())
    codes = solved(name, task, 1e-3).double()
    for x, a, rows in zip(task.x, codes, task.mask.bool(), strict=True):
        seen = Problem(task.V[rows], x[rows][None], task.sparsity).to(torch.float64)
        gap = float(energy(seen, a[None]) / energy(seen, optimum(seen))) - 1
        assert gap <= 2e-3
    some = float(relative_gap(task, codes + 0.01).min())
    assert some > float(relative_gap(task, codes).max())


@pytest.mark.parametrize("name", ["fista", "sklearn_cd"])
def test_a_setting_is_the_loosest_that_does(name):
    task, gap, solver = problem(), 1e-3, peers.SOLVERS[name]()
    found = solver.search(task, gap)
    assert float(found.gaps.max()) <= gap
    looser = found.setting - 10 if name == "fista" else 2 * found.setting
    some = task.first(solvers.SEARCH // (4 if name == "fista" else 1))
    assert looser <= gap or name == "fista"
    codes = solver.solve(solver.prepare(task, looser), some, looser).dense
    assert float(relative_gap(some, codes).max()) > gap


def test_plain_fista_is_that_of_the_library():
    from vnlib.settle import SettleConfig, Settler

    task = problem().to(torch.float64)
    config = SettleConfig(method="fista", max_sweeps=40, tol=0)
    settled = Settler([Layer(task.V, None, L1(sparsity=SPARSITY))], config=config)
    L = settled.quadratics[0].lipschitz()
    codes = next(itertools.islice(solvers.fista(task, L), 39, None))
    torch.testing.assert_close(codes, settled(task.x).codes[0])


def test_part_of_the_work():
    fista, lars = solvers.PlainFista(), peers.SklearnLars()
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
    assert size_of("3x4x5") == ("learned", 3, 4, 5)
    with pytest.raises(ValueError, match="kind of size must be one of"):
        size_of("3x4x5 easy")


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


def test_kinds_of_problems():
    work = Workloads(images(120, 0), images(40, 1), steps=1)
    learned, dense, masked = (work.problem(f"36x20x10{k}") for k in ("", " dense", " masked"))
    assert dense.sparsity == pytest.approx(learned.sparsity / 10) and learned.mask is None
    assert bool((masked.mask.sum(1) == 18).all()) and not bool(masked.x[masked.mask == 0].any())
    assert torch.equal(masked.x[masked.mask == 1], learned.x[masked.mask == 1])
    V = work.problem("36x20x10 exemplars").V
    torch.testing.assert_close(V[:, 3], work.train[3] / work.train[3].norm())
    with pytest.raises(ValueError, match="K of size"):
        work.problem("36x121x10 exemplars")
    seen = work.problem("49x20x10 patches")
    torch.testing.assert_close(seen.x.mean(1), torch.zeros(10), atol=1e-5, rtol=0)


def test_patches_are_those_of_their_half():
    one, again, other = (patches(49, 9, part=p, seed=0) for p in (0, 0, 1))
    assert one.shape == (9, 49) and torch.equal(one, again) and not torch.equal(one, other)
    assert float(one.var(1).max()) < 1
    with pytest.raises(ValueError, match="d of size"):
        patches(50, 9, part=0, seed=0)


def test_few_numbers_are_principal_components():
    work = Workloads(images(120, 0), images(40, 1))
    x = work.train - work.train.mean(0)
    assert float(work.reduced(x, 5).square().sum() / x.square().sum()) == pytest.approx(
        float(torch.linalg.svdvals(x)[:5].square().sum() / x.square().sum()), rel=1e-4
    )


def test_threads_are_given_back():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    with pytest.raises(RuntimeError, match="stop"), clock.one_thread():
        assert torch.get_num_threads() == 1
        raise RuntimeError("stop")
    assert torch.get_num_threads() == 2
    torch.set_num_threads(before)


def test_costs():
    result, cost = clock.timed(lambda: sum(range(10_000)))
    assert result == 49_995_000 and cost.wall > 0 and cost.cpu > 0
    costs = [clock.Cost(1, 5), clock.Cost(2, 3), clock.Cost(9, 4)]
    assert clock.typical(costs) == clock.Cost(2, 4)
    assert clock.Cost(1, 5) + clock.Cost(2, 3).times(2) == clock.Cost(5, 11)
    assert 1e8 < clock.gemm_rate(torch.float32) < 1e15


def test_calls_take_turns_until_patience_ends(monkeypatch):
    made, now = [], [0.0]
    monkeypatch.setattr(clock.time, "perf_counter", lambda: now[0])

    def call(name: str, seconds: float) -> str:
        made.append(name)
        now[0] += seconds
        return f"{name}{len(made)}"

    calls = {"slow": lambda: call("slow", 3.0), "quick": lambda: call("quick", 0.5)}
    found = clock.in_turns(calls, repeats=3, patience=2.0)
    assert made == ["slow", "quick", "quick", "quick"]
    assert found["slow"][0] == "slow1" and found["quick"][0] == "quick4"
    assert found["slow"][1].wall == 3.0 and found["quick"][1].wall == 0.5


# The tables.


def there(name: str) -> bool:
    """Whether a solver takes whole inputs and is installed."""
    package = name.partition("_")[0]
    known = package not in ("spams", "celer", "skglm") or importlib.util.find_spec(package)
    return peers.SOLVERS[name]().whole and bool(known)


@pytest.fixture(scope="module")
def table() -> xr.Dataset:
    return speed.one_layer(problem(), gap=1e-3, repeats=1, patience=5.0)


def test_a_case(table):
    assert dict(table.sizes) == {"solver": len(peers.SOLVERS)}
    absent = [name for name in peers.SOLVERS if not there(name)]
    assert bool(table.wall.sel(solver=absent).isnull().all())
    assert all(table.note.sel(solver=absent).values)
    table = table.drop_sel(solver=absent)
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
    assert int(table.n_samples) == 30 and set(map(str, table.variables)) <= set(study.COSTS)


def test_under_masks_and_the_price_of_a_call():
    names = ["vn_auto", "fista", "sklearn_one", "sklearn_cd"]
    ds = speed.one_layer(hidden(problem()), gap=1e-3, solvers=names, repeats=1)
    assert ds.note.values.tolist() == ["", "takes no mask", "", "takes no mask"]
    assert ds.overhead.isnull().values.tolist() == [True, True, False, True]
    assert 0 < float(ds.overhead.sel(solver="sklearn_one")) < 0.1


def test_share_of_the_machine(table):
    with_products = ["vn_line_search", "vn_restart", "fista"]
    share = table.gemm_share.sel(solver=with_products)
    assert bool(((share > 0) & (share < 1)).all())
    assert bool(table.gemm_share.drop_sel(solver=with_products).isnull().all())


class Sleeper(solvers.Solver):
    """Takes a tenth of a second for each sample, by a clock of its own."""

    now = 0.0

    def solve(self, prepared, problem, setting):
        Sleeper.now += 0.1 * len(problem.x)
        return solvers.Solved(torch.zeros(len(problem.x), problem.V.shape[1]), 1.0)


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
    ],
)
def test_bad_arguments(change, message):
    with pytest.raises(ValueError, match=message):
        speed.one_layer(problem(), **{"gap": 1e-3, "solvers": ["vn_cd"]} | change)


# Several layers, and memory.


@pytest.mark.parametrize("gap", [1e-3, 1e-6])
def test_several_layers(gap):
    stack = Workloads(images(120, 0), images(40, 1), steps=1).stack((20, 10), (8,))
    ds = layers.several_layers(stack, images(6, 2), feedback=0.5, gap=gap, repeats=1)
    assert dict(ds.sizes) == {"solver": 3} and set(map(str, ds.variables)) <= set(study.COSTS)
    assert bool((ds.reached == 1).all()) and int(ds.n_samples) == 6
    # All end within the gap of the same energy.
    assert float(ds.energy.max() / ds.energy.min()) < 1 + gap
    assert float(ds.sweeps.sel(solver="auto")) < float(ds.sweeps.sel(solver="line_search"))


def test_pursuits_pick_alike_but_for_spams_which_looks_at_what_an_atom_gains():
    ds = pursuit.pursuit(problem(), k=4, repeats=1)
    assert set(map(str, ds.variables)) <= set(study.COSTS)
    found = ds.dropna("solver")
    ours, other = (float(found.error.sel(solver=one)) for one in ("vn_omp", "sklearn_omp"))
    assert found.error.sel(solver="vn_swaps") <= ours
    assert bool((found.active == 4).all())
    assert ours == pytest.approx(other, rel=1e-5)
    assert float(found.error.min()) >= 0.5 * ours and float(found.error.max()) <= 1.001 * ours
    with pytest.raises(ValueError, match="k must be"):
        pursuit.pursuit(problem(), k=13)


def costs(**by_solver: float) -> xr.Dataset:
    """Microseconds per sample of two problems; the second takes twice as long."""
    cpu = 1e-6 * np.outer([1.0, 2.0], list(by_solver.values()))[:, None]
    names = {"size": ["8x9x1", "784x512x1 masked"], "gap": [1e-3], "solver": list(by_solver)}
    ds = xr.Dataset({"cpu": (tuple(names), cpu)}, names)
    return ds.assign(n_samples=1, reached=xr.ones_like(ds.cpu))


def deep(by_layers: list[float]) -> xr.Dataset:
    """Seconds of the default settle, where line search takes one, and a place that is not there."""
    times = np.stack([[*by_layers, np.nan], [*[1.0] * len(by_layers), np.nan]])
    dims = ("vary", "seed", "task", "place", "repeat")
    places = [[[*range(1, len(by_layers) + 1), np.nan]]]
    ds = xr.Dataset({"time": (dims, times[None, None, ..., None])})
    ds = ds.assign_coords(vary=["depth"], task=["settle", "line_search"])
    return ds.assign(size=(("vary", "seed", "place"), places))


def judged(
    alone: xr.Dataset, line_search: float = 4.0, layers: list[float] | None = None
) -> list[str]:
    joint = costs(auto=1, line_search=line_search).rename(size="stack")
    greedy = costs(vn_omp=1.1, spams_omp=1.0).isel(gap=0).drop_vars("reached").rename(size="k")
    stacks = deep([0.5, 1.0] if layers is None else layers)
    found = tables_speed.targets(alone, joint, greedy, stacks).frame
    return [verdict.partition(" ")[0] for verdict in found["verdict"]]


def test_targets_are_judged_by_what_is_stored():
    names = {"vn_line_search": 900.0, "vn_restart": 900.0, "spams_lars_cholesky": 900.0}
    good = costs(vn_auto=100, vn_cd=98, spams_lars=150, **names)
    assert judged(good) == ["met"] * 6
    assert judged(good, layers=[0.5, 3.4])[2] == "missed"
    assert judged(costs(vn_auto=150, vn_cd=98, spams_lars=150, **names))[:2] == ["missed"] * 2
    assert judged(costs(vn_auto=201, vn_cd=201, spams_lars=500, **names))[3] == "missed"
    assert judged(good, line_search=2.9)[4] == "missed"
    failed = good.assign(reached=good.reached.where(good.solver != "vn_auto", 0))
    assert [judged(failed)[row] for row in (0, 1, 3)] == ["missed"] * 3
    absent = good.assign(cpu=good.cpu.where(~good.solver.str.startswith("spams")))
    assert judged(absent)[0] == "not"
    part = good.assign(cpu=good.cpu.where(good["size"] == "8x9x1", 3 * good.cpu.max()))
    others = costs(auto=1, line_search=4), costs(vn_omp=1, spams_omp=1)
    frame = tables_speed.targets(part, *others)
    assert frame.frame["holds in"].iloc[0] == "1 of 2"
    assert frame.frame["verdict"].iloc[2] == "not measured", "no stacks of J_cost are stored"
    assert tables_speed.targets(part, *others, deep([1, 3])).frame["where"].iloc[2] == "2 layers"
    assert frame.frame["where"].iloc[0] == "784x512x1 masked"


@pytest.mark.slow
def test_memory_is_that_of_another_process(monkeypatch):
    monkeypatch.setattr(memory.subprocess, "run", forked_kernels.run)
    ds = memory.memory(problem(40, 400, 600), methods=["cd"])
    rise, sample = float(ds.rise.item()), float(ds.per_sample.item())
    # Gram matrix, and codes, products and inputs of each sample; less than the interpreter with its
    # libraries.
    assert 400 * 400 * 4 < rise < 40e6 < float(ds.peak.item())
    assert sample < 100 * 400 * 4


def test_memory_says_what_went_wrong(tmp_path, monkeypatch):
    monkeypatch.setattr(memory.subprocess, "run", forked_kernels.run)
    with pytest.raises(RuntimeError, match="method must be one of"):
        memory.memory(problem(), methods=["magic"])
    assert not list(Path(tmp_path).iterdir())


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_on_cuda():
    ds = speed.one_layer(problem(64, 128, 256), gap=1e-3, repeats=1, device="cuda")
    run = ["vn_line_search", "vn_restart", "fista"]
    assert bool((ds.reached.sel(solver=run) == 1).all()) and bool(
        (ds.gemm_share.sel(solver=run) > 0).all()
    )
    assert bool(ds.wall.drop_sel(solver=run).isnull().all())
    assert set(ds.note.drop_sel(solver=run).values) == {"runs on the CPU only"}


def test_a_solver_that_ends_the_process_is_told_and_left_out(monkeypatch):
    class Deadly(solvers.CoordinateDescent):
        fragile = True

        def solve(self, *given):
            os.kill(os.getpid(), signal.SIGKILL)  # as by a fault, but without a report of it

    monkeypatch.setitem(peers.SOLVERS, "vn_cd", Deadly)
    found = speed.one_layer(problem(), gap=1e-3, solvers=["vn_cd", "vn_auto"], repeats=1)
    assert found.note.sel(solver="vn_cd") == "ends the program by a fault of its own"
    assert np.isnan(found.cpu.sel(solver="vn_cd")) and found.cpu.sel(solver="vn_auto") > 0


def test_many_atoms_take_no_gram_matrix(monkeypatch):
    formed, given, task = (
        [],
        {"gap": 1e-3, "solvers": ["vn_auto", "vn_cd"], "repeats": 1},
        problem(),
    )
    plain = speed.one_layer(task, **given)
    for module in (solvers, speed, coordinate):
        monkeypatch.setattr(module, "MANY", 16)
    monkeypatch.setattr(coordinate, "gram_matrix", formed.append)
    found = speed.one_layer(task, **given)
    assert not formed and found["reached"].all()
    for name in ("lipschitz", "coherence"):
        assert float(found[name]) == pytest.approx(float(plain[name]), rel=1e-5)
    shown = tables_speed.wide(found.expand_dims(size=["12x20x30"]))
    assert next(iter(shown.frame.index.get_level_values("solver"))).startswith("ours")
    assert "profile" in tables_speed.wide(None)
