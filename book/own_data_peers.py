"""`VectorNetworkCoder` beside scikit-learn's dictionary learning, at equal code length: the table of
the page "Use it on your own data", and the atoms that it shows.

    python book/own_data_peers.py

writes `own_data_peers.csv` and `own_data_atoms.csv` beside this file. All see the same centred samples, train with the same
lambda (the one that the coder finds for `n_active`) and code the held-out samples by l1
with a lambda that is bisected, for each dictionary, to that mean number of active atoms on these
samples. Errors are relative to their variance; times are CPU time on one thread, medians of three
calls. scikit-learn learns and codes by coordinate descent.
"""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from sklearn.datasets import load_digits
from sklearn.decomposition import DictionaryLearning, MiniBatchDictionaryLearning
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from threadpoolctl import threadpool_limits

from vnlib import VectorNetworkCoder
from vnlib.plots.statistics import short

FILE = Path(__file__).with_suffix(".csv")
LEARNED = FILE.with_name("own_data_atoms.csv")
ATOMS = 64
ACTIVE = {"digits": 10, "signals with an offset": 6, "tf-idf of docstrings": 20}
DESCENT = {"fit_algorithm": "cd", "transform_algorithm": "lasso_cd", "random_state": 0}
PEERS = {
    "MiniBatchDictionaryLearning": partial(MiniBatchDictionaryLearning, **DESCENT),
    "DictionaryLearning, 20 iterations": partial(DictionaryLearning, max_iter=20, **DESCENT),
}


def signals(n: int, *, seed: int = 0) -> np.ndarray:
    """Sums of 5 of 40 wave packets of 128 samples with noise, and an offset 30 times their size."""
    rng, t = np.random.default_rng(seed), np.arange(128)[:, None]
    centre, width, rate = rng.uniform(0, 128, 40), rng.uniform(5, 20, 40), rng.uniform(0.1, 1, 40)
    packets = np.exp(-(((t - centre) / width) ** 2)) * np.cos(rate * (t - centre))
    packets /= np.linalg.norm(packets, axis=0)
    on = rng.random((n, 40)).argsort(1)[:, :5]
    code = np.zeros((n, 40))
    np.put_along_axis(code, on, rng.normal(size=(n, 5)), 1)
    return code @ packets.T + 0.02 * rng.normal(size=(n, 128)) + 6 * (1 + np.sin(t[:, 0] / 40))


def docstrings() -> np.ndarray:
    """Texts that are at hand offline: what NumPy, SciPy and pandas say of their functions."""
    import scipy.signal
    import scipy.stats

    modules = (np, np.linalg, scipy.signal, scipy.stats, scipy.ndimage, pd.DataFrame)
    found = {inspect.getdoc(getattr(m, name)) or "" for m in modules for name in dir(m)}
    texts = sorted(text for text in found if len(text) > 500)
    vectors = TfidfVectorizer(max_features=400, stop_words="english").fit_transform(texts)
    return vectors.toarray()


def data() -> dict[str, np.ndarray]:
    """The samples of each kind, by the names in `ACTIVE`."""
    return dict(zip(ACTIVE, (load_digits().data, signals(1500), docstrings()), strict=True))


def clock(function: Callable) -> tuple[float, object]:
    """The CPU seconds of a call, median of three, and what it returns."""
    taken = []
    for _ in range(3):
        begin = time.process_time()
        found = function()
        taken.append(time.process_time() - begin)
    return float(np.median(taken)), found


def of_length(code: Callable[[float], np.ndarray], wanted: float, high: float) -> None:
    """Call `code` with a lambda at which so many atoms are active on average (1 %), by bisection."""
    low = 1e-4 * high
    for _ in range(20):
        middle = (low * high) ** 0.5
        active = (code(middle) != 0).sum(1).mean()
        if abs(active / wanted - 1) < 0.01:
            break
        low, high = (middle, high) if active > wanted else (low, middle)


def compare(X: np.ndarray, wanted: float, *, steps: int = 200) -> pd.DataFrame:
    """A row per method for samples X (n, d)."""
    order = np.random.default_rng(0).permutation(len(X))
    train, test = np.split(X[order], [4 * len(X) // 5])
    mean = train.mean(0)
    train, test = train - mean, test - mean
    variance, rows = ((test - test.mean(0)) ** 2).mean(), {}
    for learning in ("online", "hebb"):
        coder = VectorNetworkCoder(
            ATOMS, n_active=wanted, learning=learning, steps=steps, random_state=0
        )
        coder.fit(train[: 2 * ATOMS])  # which compiles
        fit, _ = clock(partial(coder.fit, train))
        (found,) = coder.sparsity_
        if learning == "online":
            weight = found * float(coder.network_.input_scale[0])

        def coded(value: float, coder: VectorNetworkCoder = coder) -> np.ndarray:
            coder.network_.config = replace(coder.network_.config, sparsity=(value,))
            return coder.transform(test)

        of_length(coded, wanted, 10 * found)
        transform, code = clock(partial(coder.transform, test))
        rows[f"VectorNetworkCoder, {learning}"] = (
            coder.inverse_transform(code),
            code,
            fit,
            transform,
        )
    for name, make in PEERS.items():
        model = make(n_components=ATOMS, alpha=weight)
        fit, _ = clock(partial(model.fit, train))

        def coded(value: float, model: object = model) -> np.ndarray:
            return model.set_params(transform_alpha=value).transform(test)

        of_length(coded, wanted, 10 * weight)
        transform, code = clock(partial(model.transform, test))
        rows[name] = (code @ model.components_, code, fit, transform)
    table = [
        {
            "method": name,
            "active atoms": short((code != 0).sum(1).mean()),
            "squared error / variance": short(((back - test) ** 2).mean() / variance),
            "fit, s": short(fit),
            "transform, µs a sample": short(1e6 * transform / len(test)),
        }
        for name, (back, code, fit, transform) in rows.items()
    ]
    return pd.DataFrame(table)


def learned(X: np.ndarray, *, steps: int = 200) -> pd.DataFrame:
    """The atoms that `VectorNetworkCoder` learns from samples X (n, d), online and with as many
    active as on digits: a row each, the most used first.
    """
    coder = VectorNetworkCoder(ATOMS, n_active=ACTIVE["digits"], steps=steps, random_state=0)
    use = (coder.fit_transform(X) != 0).mean(0)
    atoms = coder.components_[np.argsort(-use, kind="stable")]
    return pd.DataFrame(atoms, columns=[f"pixel {i}" for i in range(X.shape[1])]).round(3)


def main() -> None:
    """Compute the table and the atoms and write them."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", ConvergenceWarning)  # of 20 iterations
    with threadpool_limits(1):
        parts = [compare(X, ACTIVE[name]).assign(data=name) for name, X in data().items()]
    table = pd.concat(parts)
    table.insert(0, "data", table.pop("data"))
    table.to_csv(FILE, index=False)
    print(table.to_string(index=False))
    learned(load_digits().data).to_csv(LEARNED, index=False)


if __name__ == "__main__":
    main()
