"""The Vector Network as a scikit-learn transformer: samples in, sparse codes out, and back."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score
from sklearn.utils import Tags, check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data
from torch import Tensor

from vnlib import checks, guards, seeding
from vnlib.evaluate import reconstruction_error, settled_energy
from vnlib.learning.learner import LocalLearner, learn
from vnlib.learning.online import OnlineDictionaryLearner
from vnlib.network import VectorNetwork
from vnlib.settle import SettleConfig, SettleWarning

# What arrays become; scikit-learn annotates its options by the types of their defaults.
_LAYOUT: dict[str, Any] = {"dtype": (np.float64, np.float32), "order": "C"}

_ROWS = 2048  # samples that are settled at a time; a code does not depend on its companions


class VectorNetworkCoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Sparse codes over atoms that are learned locally.

    `transform` gives the settled code of the top layer, `inverse_transform` what such a code alone
    says of the input (`VectorNetwork.decode`). Input of type float32 or float64 keeps its type.

    Attributes: `network_`, the fitted `VectorNetwork`, which can be saved; `components_` (atoms of
    layer 1, n_features), its atoms V; `mean_` (n_features), zero where nothing is centred;
    `sparsity_`, as used; `validation_`, the held-out errors on the way; `n_features_in_`,
    `feature_names_in_`.

    Parameters
    ----------
    atoms
        Atoms, or a list with those of every layer.
    sparsity
        The l1 weight, relative to the r.m.s. norm of a layer's input, one number or one per layer.
        "auto" finds one for all, by bisection on training samples, for `n_active` in the top code.
    n_active
        Mean number of active atoms that "auto" asks for; None for a tenth of the atoms.
    center
        Subtract the mean of the training samples, and add it to what is read back; None: unless
        `nonnegative`. An offset costs atoms.
    feedback
        Weight of the top-down term.
    top_k
        Most active atoms of the top layer, None for no cap.
    nonnegative
        Codes and atoms >= 0, for data >= 0.
    learning
        "hebb" (`LocalLearner`), "online" (`OnlineDictionaryLearner`, for one layer) or "auto", the
        latter where it fits.
    steps, batch_size, learning_rate
        Of the learning, the last one of "hebb". A tenth of the samples is held out: the state of
        the least energy on it is kept, or, in a stack, whose energy would reward messages that say
        nothing, of the least squared error.
    max_sweeps, tol
        Of the settle (see `vnlib.settle.SettleConfig`).
    fit_tol
        Of the settle in learning, which may be coarser.
    sparse_output
        Codes as a SciPy CSR array.
    random_state
        As in scikit-learn; an integer gives the same bits again.
    device
        Where to compute.
    """

    def __init__(
        self,
        atoms: int | Sequence[int] = 64,
        *,
        sparsity: float | Sequence[float] | str = "auto",
        n_active: float | None = None,
        center: bool | None = None,
        feedback: float = 0.1,
        top_k: int | None = None,
        nonnegative: bool = False,
        learning: str = "auto",
        steps: int = 200,
        batch_size: int = 256,
        learning_rate: float = 0.01,
        max_sweeps: int = 300,
        tol: float = 1e-4,
        fit_tol: float = 1e-3,
        sparse_output: bool = False,
        random_state: int | np.random.RandomState | None = None,
        device: str = "cpu",
    ) -> None:
        self.atoms = atoms
        self.sparsity = sparsity
        self.n_active = n_active
        self.center = center
        self.feedback = feedback
        self.top_k = top_k
        self.nonnegative = nonnegative
        self.learning = learning
        self.steps = steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.max_sweeps = max_sweeps
        self.tol = tol
        self.fit_tol = fit_tol
        self.sparse_output = sparse_output
        self.random_state = random_state
        self.device = device

    def fit(self, X: ArrayLike, y: object = None) -> VectorNetworkCoder:
        """Learn the atoms from X (n_samples, n_features).

        Raises
        ------
        ValueError
            For bad data or settings.
        """
        x = self._begin(self._validated(X, ensure_min_samples=2))
        rounds = 2 if isinstance(self.sparsity, str) else 1  # learned atoms have other codes
        for _ in range(rounds):
            self._adjust(x)
            with _quiet():
                self.validation_ = learn(
                    self.network_,
                    x,
                    seed=self._seed,
                    steps=-(-self.steps // rounds),
                    batch_size=self.batch_size,
                    learner=self._kind,
                    error=settled_energy if len(self.network_.V) == 1 else reconstruction_error,
                    **self._options,
                )
        return self._end(x)

    def partial_fit(self, X: ArrayLike, y: object = None) -> VectorNetworkCoder:
        """One step of learning from X (n_samples, n_features); nothing is held out.

        `mean_` is that of all samples so far, the unit of `sparsity` that of the first ones. Errors
        as for `fit`.
        """
        fresh = not hasattr(self, "network_")
        samples = self._validated(X, reset=fresh)
        if fresh:
            self._begin(samples)
        else:
            self.n_samples_seen_ += len(samples)
            if self._centred:
                change = samples.mean(0) - self.mean_
                self.mean_ = self.mean_ + change * (len(samples) / self.n_samples_seen_)
        x = torch.tensor(samples - self.mean_, device=self.device)
        if fresh:  # later the end of the call before has done it
            self._adjust(x)
        self._learner = self._learner or self._kind(self.network_, **self._options)
        rng = seeding.generator(self._seed, "partial", self.n_samples_seen_, device=x.device)
        self._learner.step((x.to(self.network_.V[0]),), scale=1.0, generator=rng)
        return self._end(x)

    def _begin(self, samples: NDArray) -> Tensor:
        """A new network for these samples, which are returned centred."""
        guards.flags(nonnegative=self.nonnegative, sparse_output=self.sparse_output)
        guards.kind("center", self.center, bool, np.bool_, type(None))
        if self.nonnegative:
            if self.center:
                raise ValueError("center must be False or None where nonnegative is True, got True")
            check_non_negative(samples, f"{type(self).__name__}.fit with nonnegative=True")
        for name in ("steps", "batch_size"):
            checks.number(name, getattr(self, name), low=1, integer=True)
        checks.number("learning_rate", self.learning_rate, above=0)
        checks.number("fit_tol", self.fit_tol, low=0)
        checks.choice("learning", self.learning, ("auto", "hebb", "online"))
        checks.device(self.device)
        given: Any = self.atoms
        atoms = tuple(given) if isinstance(given, (list, tuple, np.ndarray)) else (given,)
        for layer, K in enumerate(atoms, 1):
            checks.number(f"atoms of layer {layer}", K, low=1, integer=True)
        self.mean_ = samples.mean(0) * self._centred
        self.n_samples_seen_, self._learner = len(samples), None
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        x = torch.tensor(samples - self.mean_, device=self.device)
        if isinstance(self.sparsity, str):
            checks.choice("sparsity", self.sparsity, ("auto",))
            if self.n_active is not None:
                checks.number("n_active", self.n_active, above=0, high=(*atoms, 1)[-2])
        self.network_ = VectorNetwork.for_data(
            _enough(x, max(atoms, default=1), nonnegative=self.nonnegative, seed=self._seed),
            atoms=atoms,
            seed=self._seed,
            sparsity=0.1 if isinstance(self.sparsity, str) else self.sparsity,
            feedback=self.feedback,
            top_k=self.top_k,
            nonnegative=self.nonnegative,
            settle=self._settle(self.tol),
        )
        return x

    def _end(self, x: Tensor) -> VectorNetworkCoder:
        self._adjust(x)
        self.sparsity_ = self.network_.config.sparsity
        self.components_ = self.network_.V[0].T.cpu().numpy()
        return self

    def _adjust(self, x: Tensor) -> None:
        """Bisect the logarithm of an automatic sparsity until `n_active` atoms are active (2 %)."""
        if not isinstance(self.sparsity, str):
            return
        network, (low, high) = self.network_, (1e-4, 1.0)
        wanted = max(1.0, network.config.atoms[-1] / 10) if self.n_active is None else self.n_active
        some = x[:: max(1, len(x) // 256)].to(network.V[0])
        for _ in range(12):
            value = (low * high) ** 0.5
            network.config = replace(network.config, sparsity=(value,) * len(network.V))
            with _quiet():
                code = network.settle(some).codes[-1]
            active = float((code != 0).sum(1).double().mean())
            if abs(active / wanted - 1) < 0.02:
                return
            low, high = (value, high) if active > wanted else (low, value)

    def transform(self, X: ArrayLike) -> NDArray[np.floating] | csr_array:
        """The codes of the top layer, (n_samples, atoms).

        Warns (ConvergenceWarning) of samples that have not settled.
        """
        check_is_fitted(self)
        samples = self._validated(X, reset=False)
        left = 0

        def code(x: Tensor) -> Tensor:
            nonlocal left
            settled = self.network_.settle(x)
            left += int((~settled.converged).sum())
            return settled.codes[-1]

        with _quiet():
            codes = self._by_rows(code, samples - self.mean_.astype(samples.dtype))
        if left:
            warnings.warn(
                f"{left} of {len(samples)} samples have not settled in max_sweeps="
                f"{self.max_sweeps} to tol={self.tol:g}; raise one of them",
                ConvergenceWarning,
                stacklevel=2,
            )
        return csr_array(codes) if self.sparse_output else codes

    def inverse_transform(self, X: ArrayLike | csr_array) -> NDArray[np.floating]:
        """What codes of the top layer, (n_samples, atoms), dense or CSR, stand for: (n_samples,
        n_features).
        """
        check_is_fitted(self)
        either: Any = "csr"  # annotated by its default, too
        codes: Any = check_array(X, estimator=self, accept_sparse=either, **_LAYOUT)
        codes = codes.toarray() if issparse(codes) else codes
        if codes.shape[1] != self._n_features_out:
            raise ValueError(
                f"X must have one column per atom ({self._n_features_out}), got shape {codes.shape}"
            )
        return self._by_rows(self.network_.decode, codes) + self.mean_.astype(codes.dtype)

    def score(self, X: ArrayLike, y: object = None) -> float:
        """The share of the variance of X (n_samples, n_features) that the top code explains, as
        `sklearn.metrics.r2_score`; it has no units, unlike a squared error.
        """
        back = self.inverse_transform(self.transform(X))
        x = self._validated(X, reset=False)
        return float(r2_score(x, back, multioutput="variance_weighted"))

    @property
    def _centred(self) -> bool:
        return not self.nonnegative if self.center is None else bool(self.center)

    @property
    def _kind(self) -> type[LocalLearner]:
        single = len(self.network_.V) == 1
        online = self.learning == "online" or (self.learning == "auto" and single)
        return OnlineDictionaryLearner if online else LocalLearner

    @property
    def _options(self) -> dict[str, Any]:
        return {"lr": self.learning_rate, "revive_after": 20, "settle": self._settle(self.fit_tol)}

    def _settle(self, tol: float) -> SettleConfig:
        return SettleConfig(max_sweeps=self.max_sweeps, tol=tol)

    def _validated(self, X: Any, **options: Any) -> NDArray:
        valid: Any = validate_data(self, X, **_LAYOUT, **options)  # a pair only with y
        return valid

    def _by_rows(self, function: Callable[[Tensor], Tensor], X: NDArray) -> NDArray:
        like = self.network_.V[0]
        parts = torch.tensor(X, dtype=like.dtype, device=like.device).split(_ROWS)
        found = torch.cat([function(part) for part in parts])
        return found.cpu().numpy().astype(X.dtype, copy=False)

    @property
    def _n_features_out(self) -> int:
        return self.network_.config.atoms[-1]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.positive_only = bool(self.nonnegative)
        return tags


def _quiet() -> warnings.catch_warnings:
    """Learning goes on with what has not settled, and `transform` tells it in its own words."""
    return warnings.catch_warnings(action="ignore", category=SettleWarning)


def _enough(x: Tensor, wanted: int, *, nonnegative: bool, seed: int) -> Tensor:
    """The samples, and random ones of their size until `wanted` are nonzero: a start per atom."""
    norms = x.norm(dim=1)
    missing = wanted - int((norms > 1e-6).sum())
    if missing <= 0:
        return x
    rng = torch.Generator().manual_seed(seed)
    noise = torch.randn(missing, x.shape[1], dtype=x.dtype, generator=rng).to(x.device)
    noise = noise.abs() if nonnegative else noise
    size = norms.square().mean().sqrt() / x.shape[1] ** 0.5
    return torch.cat([x, noise * torch.where(size > 0, size, 1)])
