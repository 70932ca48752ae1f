"""Do the tests notice?

One fault at a time is put into a copy of the library, and a few fast tests must fail.

`python tests/tools/mutation.py` tries all faults, prints a table and ends with 1 if one survives; names
as arguments choose some. A fault counts as caught only where a test fails: an error of collection
or a run that does not end is none.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue

import numba
import pytest

ROOT = Path(__file__).resolve().parents[2]
NEEDED = (
    "vnlib",
    "data_gen",
    "benchmarks",
    "tests/vnlib",
    "tests/fake_device.py",
    "pyproject.toml",
)


@dataclass(frozen=True)
class Fault:
    """`old`, which occurs once in `file`, becomes `new`; the tests ("file::function") are those
    that must notice.

    Choose fast tests, and none that hypothesis drives: without the conftest it would judge by the
    clock.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


FAULTS = (
    Fault(
        "sign of the drive in the gradient",
        "vnlib/settle/steps.py",
        "gradient = problem.times(state.code) - drive",
        "gradient = problem.times(state.code) + drive",
        ("test_settle.py::test_the_solution_satisfies_the_kkt_conditions",),
    ),
    Fault(
        "beta missing from the gradient",
        "vnlib/layer.py",
        "gram + feedback * reader.mT @ reader",
        "gram + reader.mT @ reader",
        ("test_settle.py::test_the_solution_satisfies_the_kkt_conditions",),
    ),
    Fault(
        "V instead of its transpose in the drive",
        "vnlib/settle/schedule.py",
        "self.mask * self.x) @ self.layers[0].V",
        "self.mask * self.x) @ self.layers[0].V.T",
        ("test_settle.py::test_orthonormal_atoms_give_the_soft_threshold",),
    ),
    Fault(
        "beta missing from the drive",
        "vnlib/settle/schedule.py",
        "drive = drive + self.feedback * self.couplings",
        "drive = drive + self.couplings",
        ("test_settle.py::test_the_solution_satisfies_the_kkt_conditions",),
    ),
    Fault(
        "beta missing from the weights of the joint energy",
        "vnlib/settle/energy.py",
        "weight *= feedback\n    return total",
        "weight *= 1\n    return total",
        ("test_settle.py::test_joint_energy_counts_each_layer_once_with_its_weight",),
    ),
    Fault(
        "a step longer than 1/L",
        "vnlib/settle/quadratic.py",
        "= lipschitz(gram)",
        "= 0.45 * lipschitz(gram)",
        ("test_settle_descent.py::test_every_ista_step_decreases_the_energy_by_the_stated_amount",),
    ),
    Fault(
        "a firm threshold that does not rise",
        "vnlib/settle/working_set.py",
        "(abs(z) - lam * step) / rise",
        "(abs(z) - lam * step)",
        ("test_coordinate_firm.py::test_orthonormal_atoms_take_one_proximal_step",),
    ),
    Fault(
        "hidden entries in the gradient",
        "vnlib/settle/quadratic.py",
        "(seen if mask is None else mask * seen) @ self.V",
        "seen @ self.V",
        ("test_settle_quadratic.py::test_a_masked_quadratic_sees_the_observed_rows_only",),
    ),
    Fault(
        "a threshold that ignores the step",
        "vnlib/prox.py",
        "        return soft_threshold(z, self.sparsity * step)\n",
        "        return soft_threshold(z, self.sparsity)\n",
        ("test_prox.py::test_the_step_scales_the_threshold",),
    ),
    Fault(
        "top-k of the values instead of the magnitudes",
        "vnlib/prox.py",
        "keep = z.abs().topk(k, dim=-1).indices",
        "keep = z.topk(k, dim=-1).indices",
        ("test_settle.py::test_orthonormal_atoms_with_a_cap_keep_the_largest",),
    ),
    Fault(
        "momentum under a hard cap",
        "vnlib/settle/steps.py",
        "lip, momentum = problem.lipschitz, problem.penalty.accelerable",
        "lip, momentum = problem.lipschitz, True",
        ("test_settle_descent.py::test_energy_falls_under_a_hard_cap_too",),
    ),
    Fault(
        "momentum restarted for the whole batch",
        "vnlib/settle/steps.py",
        "((start - new) * (new - code)).sum(-1, keepdim=True) > 0",
        "((start - new) * (new - code)).sum() > 0",
        ("test_settle.py::test_a_sample_settles_the_same_alone_in_a_batch_and_permuted",),
    ),
    Fault(
        "a stop on the sum over the batch",
        "vnlib/settle/stopping.py",
        "(change <= self.tol * look.since * look.before.abs())",
        "(change.sum() <= self.tol * look.since * look.before.abs().sum() + 0 * change)",
        ("test_settle.py::test_a_sample_settles_the_same_alone_in_a_batch_and_permuted",),
    ),
    Fault(
        "a stop that does not count the sweeps since the last look",
        "vnlib/settle/stopping.py",
        "self.tol * look.since * look.before.abs()",
        "self.tol * look.before.abs()",
        ("test_stopping.py::test_an_energy_stalls_where_it_falls_by_less_than_tol_per_sweep",),
    ),
    Fault(
        "an absolute gap instead of a relative one",
        "vnlib/settle/stopping.py",
        "return gap <= self.tol * energy",
        "return gap <= self.tol",
        ("test_stopping.py::test_a_gap_is_closed_at_its_share_of_the_energy",),
    ),
    Fault(
        "the best step kept where the last was asked for",
        "vnlib/fit.py",
        'name.startswith("model.") and keeps]',
        'name.startswith("model.")]',
        ("test_fit.py::test_the_best_or_the_last_step_is_kept",),
    ),
    Fault(
        "accept and reject exchanged",
        "vnlib/settle/schedule.py",
        "accepted = now <= before",
        "accepted = now > before",
        ("test_settle_descent.py::test_monotone_never_raises_the_energy",),
    ),
    Fault(
        "the update is not divided by the batch size",
        "vnlib/learning/rules.py",
        "return residual.mT @ code / code.shape[-2]",
        "return residual.mT @ code",
        ("test_learning.py::test_a_batch_and_its_copy_teach_as_much_as_the_batch",),
    ),
    Fault(
        "rows renormalised instead of columns",
        "vnlib/learning/rules.py",
        "W.norm(dim=-2, keepdim=True)",
        "W.norm(dim=-1, keepdim=True)",
        ("test_network.py::test_dictionaries_have_unit_columns_and_the_right_shapes",),
    ),
    Fault(
        "Adam moves idle atoms by their momentum",
        "vnlib/learning/rules.py",
        "    W.copy_(torch.where(active[..., None, :], unit_columns(moved) if unit_norm else moved, W))\n",
        "    W.copy_(unit_columns(moved) if unit_norm else moved)\n",
        ("test_learning.py::test_inactive_columns_and_their_moments_keep_every_bit",),
    ),
    Fault(
        "subspace rule without its scale",
        "vnlib/learning/rules.py",
        "scale = min(1.0, U.shape[-2] / U.shape[-1])",
        "scale = 1.0",
        ("test_learning.py::test_subspace_rule_is_the_printed_formula",),
    ),
    Fault(
        "sign of the target's residual",
        "vnlib/learning/learner.py",
        "atomic_hebb(target - code @ network.U[index].mT, code)",
        "atomic_hebb(code @ network.U[index].mT - target, code)",
        ("test_learner.py::test_one_update_follows_the_rules_at_the_old_dictionaries",),
    ),
    Fault(
        "the cap on every layer",
        "vnlib/network.py",
        "caps = [*[None] * (len(self.atoms) - 1), self.top_k]",
        "caps = [self.top_k] * len(self.atoms)",
        ("test_network.py::test_settings_reach_the_layers",),
    ),
    Fault(
        "a sample of a replica goes on after it has arrived",
        "vnlib/settle/record.py",
        "fresh = done & ~self.converged",
        "fresh = done",
        ("test_replicas.py::test_the_record_of_a_settle_is_that_of_each",),
    ),
    Fault(
        "one step size for all replicas",
        "vnlib/layer.py",
        "largest[..., None, None] if",
        "largest[:1, None, None] if",
        ("test_replicas.py::test_each_has_its_own_step_size",),
    ),
)


def occurrences(fault: Fault, root: Path = ROOT) -> int:
    """How often the text to be replaced stands in its file."""
    return (root / fault.file).read_text(encoding="utf-8").count(fault.old)


def copy(folder: Path) -> None:
    """What the tests need, and no conftest: it would load the notebooks' tools in every process."""
    folder.mkdir(exist_ok=True)
    for name in NEEDED:
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy2(ROOT / name, folder / name)


class Failures:
    """A pytest plugin that keeps the names of tests that fail."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.failed:
            self.names.append(report.nodeid)


def _run(tree: Path, tests: Sequence[str], sender: Connection) -> None:
    """In a process of its own: run the tests of a copy, and send pytest's exit code and the tests
    that failed.
    """
    os.chdir(tree)
    sys.path.insert(0, str(tree))
    # a file that changes twice in a second would be read from its old bytecode
    sys.dont_write_bytecode = True
    os.environ |= {
        "OMP_NUM_THREADS": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_ADDOPTS": "",
    }
    numba.config.DISABLE_JIT = True  # to compile the solver would take longer than all tests
    failures = Failures()
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        code = pytest.main(["-x", "-q", "--tb=no", *tests], plugins=[failures])
    sender.send((int(code), failures.names))


def failing(tree: Path, tests: Iterable[str], *, timeout: float = 120) -> str | None:
    """The first of these tests that fails in a copy; None if none does, or if they did not run."""
    # A server that has imported the libraries, but nothing of the copy, saves each run these
    # imports.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["pytest", "torch", "xarray", "numba", "jaxtyping"])
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(
        target=_run, args=(tree, [f"tests/vnlib/{test}" for test in tests], sender)
    )
    process.start()
    sender.close()
    try:
        code, failed = receiver.recv() if receiver.poll(timeout) else (None, [])
    except EOFError:  # it died
        code, failed = None, []
    process.kill()
    process.join()
    return failed[0] if code == 1 and failed else None


def attempt(fault: Fault, tree: Path) -> str | None:
    """Put a fault into a copy, run its tests, take it out. Returns the test that noticed."""
    path = tree / fault.file
    source = path.read_text(encoding="utf-8")
    if source.count(fault.old) != 1:
        raise ValueError(f"{fault.name}: {fault.old!r} must stand once in {fault.file}")
    path.write_text(source.replace(fault.old, fault.new), encoding="utf-8")
    try:
        return failing(tree, fault.tests)
    finally:
        path.write_text(source, encoding="utf-8")


def trial(faults: Sequence[Fault] = FAULTS) -> Iterator[tuple[Fault, str | None, float]]:
    """Each fault, the test that noticed it (None: it survived) and the seconds it took.

    Raises RuntimeError if a test fails without any fault. Two are tried at a time, each in a copy of
    its own.
    """
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        trees: SimpleQueue[Path] = SimpleQueue()
        for name in ("one", "two"):
            copy(Path(folder) / name)
            trees.put(Path(folder) / name)

        def tried(fault: Fault) -> tuple[str | None, float]:
            tree, begin = trees.get(), time.perf_counter()
            try:
                return attempt(fault, tree), time.perf_counter() - begin
            finally:
                trees.put(tree)

        every = dict.fromkeys(test for fault in faults for test in fault.tests)
        if broken := failing(Path(folder) / "one", every):
            raise RuntimeError(f"{broken} fails without any fault")
        with ThreadPoolExecutor(max_workers=2) as pool:
            for fault, (by, seconds) in zip(faults, pool.map(tried, faults), strict=True):
                yield fault, by, seconds


def main(names: Sequence[str]) -> int:
    """Print the table; 1 if a fault survived."""
    known = {fault.name for fault in FAULTS}
    if unknown := set(names) - known:
        sys.exit(
            f"no fault is called {', '.join(sorted(unknown))}; there are: "
            f"{'; '.join(sorted(known))}"
        )
    survived = 0
    for fault, by, seconds in trial(
        [fault for fault in FAULTS if not names or fault.name in names]
    ):
        survived += by is None
        noticed = f"caught by {by.removeprefix('tests/vnlib/')}" if by else "SURVIVED"
        print(f"{fault.name:50} {fault.file:26} {seconds:5.1f} s  {noticed}", flush=True)
    print(f"{survived} survived" if survived else "all caught")
    return int(bool(survived))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
