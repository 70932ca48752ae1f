"""The Vector Network as a scikit-learn transformer: samples in, sparse codes out, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags, check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data
from torch import Tensor

from vnlib import checks
from vnlib.learning.learner import learn
from vnlib.network import VectorNetwork
from vnlib.settle import SettleConfig

# What arrays become; scikit-learn annotates its options by the types of their defaults.
_LAYOUT: dict[str, Any] = {"dtype": (np.float64, np.float32), "order": "C"}

_ROWS = 2048  # samples that are settled at a time; a code does not depend on its companions


class VectorNetworkCoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Sparse codes over atoms that are learned locally.

    `transform` gives the settled code of the top layer, `inverse_transform` what such a code alone
    says of the input (`VectorNetwork.decode`). Input of type float32 or float64 keeps its type.

    Attributes: `network_`, the fitted `VectorNetwork`, which can be saved; `components_` (n_atoms
    of layer 1, n_features), its atoms V; `validation_`, the held-out mean squared errors on the
    way; `n_features_in_`, `feature_names_in_`.

    Parameters
    ----------
    n_atoms
        Atoms, or a list with those of every layer.
    sparsity
        The l1 weight, relative to the r.m.s. norm of a layer's input, one number or one per layer.
    feedback
        Weight of the top-down term.
    top_k
        Most active atoms of the top layer, None for no cap.
    nonnegative
        Codes and atoms >= 0, for data >= 0.
    n_steps, batch_size, learning_rate
        Of the learning, which holds out a tenth of the samples and keeps the state that
        reconstructed them best.
    max_sweeps, tol
        Of the settle (see `vnlib.settle.SettleConfig`).
    fit_tol
        Of the settle in learning, which may be coarser.
    random_state
        As in scikit-learn; an integer gives the same bits again.
    device
        Where to compute.
    """

    def __init__(
        self,
        n_atoms: int | Sequence[int] = 64,
        *,
        sparsity: float | Sequence[float] = 0.02,
        feedback: float = 0.1,
        top_k: int | None = None,
        nonnegative: bool = False,
        n_steps: int = 200,
        batch_size: int = 256,
        learning_rate: float = 0.01,
        max_sweeps: int = 300,
        tol: float = 1e-5,
        fit_tol: float = 1e-3,
        random_state: int | np.random.RandomState | None = None,
        device: str = "cpu",
    ) -> None:
        self.n_atoms = n_atoms
        self.sparsity = sparsity
        self.feedback = feedback
        self.top_k = top_k
        self.nonnegative = nonnegative
        self.n_steps = n_steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.max_sweeps = max_sweeps
        self.tol = tol
        self.fit_tol = fit_tol
        self.random_state = random_state
        self.device = device

    def fit(self, X: ArrayLike, y: object = None) -> VectorNetworkCoder:
        """Learn the atoms from X (n_samples, n_features).

        Raises
        ------
        ValueError
            For bad data or settings.
        """
        samples = self._validated(X, ensure_min_samples=2)
        if self.nonnegative:
            check_non_negative(samples, f"{type(self).__name__}.fit with nonnegative=True")
        for name in ("n_steps", "batch_size"):
            checks.number(name, getattr(self, name), low=1, integer=True)
        checks.number("learning_rate", self.learning_rate, above=0)
        checks.number("fit_tol", self.fit_tol, low=0)
        given: Any = self.n_atoms
        atoms = tuple(given) if isinstance(given, (list, tuple, np.ndarray)) else (given,)
        for layer, K in enumerate(atoms, 1):
            checks.number(f"n_atoms of layer {layer}", K, low=1, integer=True)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        x = torch.tensor(samples, device=self.device)
        network = VectorNetwork.for_data(
            _enough(x, max(atoms, default=1), nonnegative=self.nonnegative, seed=seed),
            atoms=atoms,
            seed=seed,
            sparsity=self.sparsity,
            feedback=self.feedback,
            top_k=self.top_k,
            nonnegative=self.nonnegative,
            settle=SettleConfig(max_sweeps=self.max_sweeps, tol=self.tol),
        )
        self.validation_ = learn(
            network,
            x,
            seed=seed,
            steps=self.n_steps,
            batch_size=self.batch_size,
            lr=self.learning_rate,
            settle=SettleConfig.training(max_sweeps=self.max_sweeps, tol=self.fit_tol),
        )
        self.network_ = network
        self.components_ = network.V[0].T.cpu().numpy()
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.floating]:
        """The codes of the top layer, (n_samples, n_atoms)."""
        check_is_fitted(self)
        samples = self._validated(X, reset=False)
        return self._by_rows(lambda x: self.network_.settle(x).codes[-1], samples)

    def inverse_transform(self, X: ArrayLike) -> NDArray[np.floating]:
        """What codes of the top layer, (n_samples, n_atoms), stand for: (n_samples, n_features)."""
        check_is_fitted(self)
        codes: NDArray = check_array(X, estimator=self, **_LAYOUT)
        if codes.shape[1] != self._n_features_out:
            raise ValueError(
                f"X must have one column per atom ({self._n_features_out}), got shape {codes.shape}"
            )
        return self._by_rows(self.network_.decode, codes)

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
