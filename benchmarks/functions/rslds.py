"""The recurrent switching linear dynamical system (Linderman et al. 2017; Zoltowski et al. 2020),
by variational EM.

A signal is cut into tokens y_t of `patch` samples. A latent z_t moves by one of K linear dynamics,
and where it is decides, with the state before, which one comes next::

    p(k_t | k_{t-1}, z_t) = softmax(r_{k_{t-1}} + R z_t),
    z_{t+1} = A_k z_t + b_k + N(0, Q_k)  with k = k_t,
    y_t = C z_t + d + N(0, diag S).

The posterior is q(z) q(k), each a whole chain: q(z) by the Kalman smoother, q(k) by
forward-backward, in turn. The recurrent terms enter both by Böhning's quadratic bound (`switching`)
where the papers have a Laplace approximation; what EM reports is therefore a lower bound of the log
likelihood, plus the log prior, and never falls. It is exact for K = 1. The M step is in closed form
but for r and R, which take a few steps up their bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from benchmarks.baselines.parts import check_sizes
from benchmarks.functions import switching
from benchmarks.functions.kalman import LOG_2PI, Chain, Smoothed, evidence, maximal_emission, smooth
from benchmarks.functions.reconstructor import check_patch, check_signals
from vnlib import checks, seeding
from vnlib.checkpoint import History

CHUNK = 256  # signals inferred at once
NOISE_FLOOR = 1e-6  # least variance of a sample
TRANSITION_STEPS = 3  # steps up the bound for r and R per M step
START_ROUNDS = 20  # rounds of clustering transitions before EM


class Posterior(NamedTuple):
    """q(z); q(k_{t-1}, k_t), (batch, steps = tokens - 1, contexts, states); the lower bound of log
    p(y) per signal.
    """

    latent: Smoothed
    pairs: Tensor
    bound: Tensor

    @property
    def states(self) -> Float[Tensor, "batch steps states"]:
        return self.pairs.sum(2)


class RecurrentSLDS(nn.Module):
    """K linear dynamics in a latent space, and a state that the latent itself switches.

    All numbers are float64.

    An arbitrary model until `fit`, fixed by `seed`.

    Parameters
    ----------
    length
        Samples per signal.
    patch
        Samples per token, a divisor of length that leaves two tokens or more.
    latent
        Dimensions of z, 1..patch.
    states
        K >= 1.
    sweeps
        Updates of q(z) and of q(k) per inference.

    Raises
    ------
    ValueError
        For anything else.
    """

    def __init__(
        self,
        *,
        length: int,
        patch: int = 16,
        latent: int = 8,
        states: int = 4,
        sweeps: int = 5,
        seed: int = 0,
    ) -> None:
        super().__init__()
        checks.number("length", length, low=2, integer=True)
        if check_patch(length, patch) < 2:
            raise ValueError(
                f"patch must leave 2 tokens or more of the length {length}, got {patch}"
            )
        checks.number("latent", latent, low=1, high=patch, integer=True)
        check_sizes(states=states, sweeps=sweeps)
        checks.number("seed", seed, low=0, integer=True)
        self.length, self.patch, self.sweeps = length, patch, sweeps
        self.latent, self.states = latent, states
        rng = seeding.generator(seed, "rslds")
        emission = torch.randn(patch, latent, generator=rng, dtype=torch.float64)
        turned = torch.linalg.qr(
            torch.randn(states, latent, latent, generator=rng, dtype=torch.float64)
        ).Q
        eye = torch.eye(latent, dtype=torch.float64)
        initial = {
            "transition": 0.9 * turned,
            "transition_bias": torch.zeros(states, latent),
            "transition_noise": 0.1 * eye.repeat(states, 1, 1),
            "emission": emission / math.sqrt(patch),
            "emission_bias": torch.zeros(patch),
            "emission_noise": torch.ones(patch),
            "start_mean": torch.zeros(latent),
            "start_covariance": eye.clone(),
            "switch": torch.zeros(states + 1 + latent, states),
        }
        for name, value in initial.items():
            self.register_buffer(name, value.double().contiguous())

    # --- Use --------------------------------------------------------------------------------------

    @torch.no_grad()
    def complete(
        self, x: Float[Tensor, "batch time"], observed: Bool[Tensor, "batch time"]
    ) -> Float[Tensor, "batch time"]:
        """C E[z_t] + d given the observed samples alone; what x holds where hidden is never looked
        at (NaN allowed).

        Where samples are hidden, q has several optima. So inference starts K + 1 times, from
        uniform states and from each state alone, and the posteriors are mixed with the weights
        softmax(bound). After the last observation the dynamics run on, averaged over q(k), which
        the sweeps settle together with q(z).

        Raises
        ------
        ValueError
            For other shapes.
        """
        check_signals(x, observed, self.length)
        starts = [None, *range(self.states)] if self.states > 1 else [None]
        drawn = []
        for i in range(0, len(x), CHUNK):
            found = [
                self.infer(x[i : i + CHUNK], observed[i : i + CHUNK], start=start)
                for start in starts
            ]
            weight = torch.stack([q.bound for q in found]).softmax(0)
            drawn.append(
                sum(w[:, None] * self._draw(q) for w, q in zip(weight, found, strict=True))
            )
        return torch.cat(drawn).to(x.dtype) if drawn else x.clone()

    @torch.no_grad()
    def reconstruct(self, x: Float[Tensor, "batch time"]) -> Float[Tensor, "batch time"]:
        """Smoothed signals, everything observed; from uniform states alone, as there z leaves
        little to settle.
        """
        check_signals(x, None, self.length)
        drawn = [self._draw(self.infer(piece)) for piece in x.split(CHUNK)] if len(x) else [x]
        return torch.cat(drawn).to(x.dtype)

    def zero_filled(
        self, x: Float[Tensor, "batch time"], observed: Bool[Tensor, "batch time"]
    ) -> Float[Tensor, "batch time"]:
        """Smoothed signals where hidden samples are taken for observed zeros (VN App. G.4)."""
        check_signals(x, observed, self.length)
        return self.reconstruct(torch.where(observed, x, torch.zeros_like(x)))

    @torch.no_grad()
    def infer(
        self,
        x: Float[Tensor, "batch time"],
        observed: Bool[Tensor, "batch time"] | None = None,
        *,
        start: int | None = None,
    ) -> Posterior:
        """q(z) and q(k) after `sweeps` rounds from one state `start`, None from all alike; exact
        for one state.
        """
        check_signals(x, observed, self.length)
        if start is not None:
            checks.number("start", start, low=0, high=self.states - 1, integer=True)
        y, seen = self._tokens(x), None if observed is None else self._tokens(observed)
        states = y.new_full(
            (len(y), y.shape[1] - 1, self.states), 1 / self.states if start is None else 0
        )
        if start is not None:
            states[..., start] = 1
        mean = None
        for _ in range(self.sweeps if self.states > 1 else 1):
            posterior = self._sweep(y, seen, states, mean)
            states, mean = posterior.states, posterior.latent.mean
        return posterior

    def _draw(self, posterior: Posterior) -> Tensor:
        return (posterior.latent.mean @ self.emission.mT + self.emission_bias).flatten(1)

    # --- Training ---------------------------------------------------------------------------------

    @torch.no_grad()
    def fit(
        self,
        train: Float[Tensor, "n time"],
        *,
        iterations: int = 30,
        seed: int = 0,
        validate: Callable[[], float] | None = None,
        eval_every: int = 5,
    ) -> History:
        """EM from PCA and clustered transitions, on all signals at once; each iteration goes on
        from its own q and is noted with its bound plus log prior (nats per signal) as `train`.

        Parameters
        ----------
        seed
            Of the clusters.
        validate
            An error, looked at every `eval_every` iterations and after the last; the model is left
            where it was least (without it, after the last iteration).

        Raises
        ------
        ValueError
            For signals that are not (n >= states, length) or not finite, and for counts < 1.
        """
        check_sizes(iterations=iterations, eval_every=eval_every)
        checks.number("seed", seed, low=0, integer=True)
        checks.matrix("train", train, self.length, "signals of `length` samples")
        if len(train) < self.states:
            raise ValueError(
                f"train must hold at least as many signals as states, {self.states}, got "
                f"{len(train)}"
            )
        y = self._tokens(train)
        states, mean = self._start(y, seeding.generator(seed, "rslds", "start")), None
        history, best = History(), None
        for iteration in range(1, iterations + 1):
            pieces = [
                self._sweep(y[i], None, states[i], None if mean is None else mean[i])
                for i in torch.arange(len(y), device=y.device).split(CHUNK)
            ]
            posterior = Posterior(
                Smoothed(
                    *(
                        torch.cat([getattr(p.latent, f.name) for p in pieces])
                        for f in fields(Smoothed)
                    )
                ),
                torch.cat([p.pairs for p in pieces]),
                torch.cat([p.bound for p in pieces]),
            )
            history.train.append(float(posterior.bound.sum() + self._log_prior()) / len(y))
            states, mean = posterior.states, posterior.latent.mean
            self._maximise(y, posterior)
            due = iteration % eval_every == 0 or iteration == iterations
            if validate is not None and due and history.add(float(validate()), iteration):
                best = {name: buffer.clone() for name, buffer in self.named_buffers()}
        if best is not None:
            self.load_state_dict(best)
        return history

    def _start(self, y: Tensor, rng: torch.Generator) -> Float[Tensor, "n steps states"]:
        """PCA with unit variances for z; states cluster its transitions, each first fitted to a few
        random signals.
        """
        flat = y.flatten(0, 1)
        self.emission_bias.copy_(flat.mean(0))
        values, vectors = torch.linalg.eigh(
            (flat - self.emission_bias).mT @ (flat - self.emission_bias) / len(flat)
        )
        size = values[-self.latent :].flip(0).clamp(min=NOISE_FLOOR).sqrt()
        basis = vectors[:, -self.latent :].flip(1)
        # eigenvectors have no sign of their own
        basis = basis * torch.where(basis.sum(0) < 0, -1, 1)
        z = (y - self.emission_bias) @ (basis / size)
        self.emission.copy_(basis * size)
        self.emission_noise.copy_(
            (y - self.emission_bias - z @ self.emission.mT).pow(2).mean((0, 1)) + NOISE_FLOOR
        )
        self.start_mean.copy_(z[:, 0].mean(0))
        self.start_covariance.copy_(
            z[:, 0].mT.cov(correction=0) + switching.PRIOR_VARIANCE * torch.eye(self.latent).to(z)
        )
        self.switch.zero_()
        zero = z.new_zeros(1, 1, self.latent, self.latent).expand(*z.shape, -1)
        known = Smoothed(z, zero, zero[:, 1:], z.new_zeros(len(z)), z.new_zeros(len(z)))
        few = max(1, min(len(z) // self.states, 16))
        states = z.new_zeros(len(z), z.shape[1] - 1, self.states)
        for k, rows in enumerate(
            torch.randperm(len(z), generator=rng).to(z.device)[: few * self.states].split(few)
        ):
            states[rows, :, k] = 1
        for _ in range(START_ROUNDS):
            self._set_dynamics(
                switching.maximal_dynamics(switching.moments(states, known), states.sum((0, 1)))
            )
            likely = switching.expected_log_density(self._dynamics(), known).argmax(-1)
            states = nn.functional.one_hot(likely, self.states).to(z)
        self._set_dynamics(
            switching.maximal_dynamics(switching.moments(states, known), states.sum((0, 1)))
        )
        return states

    def _sweep(
        self, y: Tensor, seen: Tensor | None, states: Tensor, mean: Tensor | None
    ) -> Posterior:
        """q(z) for the given q(k), then q(k) for that q(z).

        Parameters
        ----------
        mean
            E z so far, where recurrent terms are bounded.
        """
        precision, linear, constant = evidence(y, seen, *self._emission())
        first = torch.linalg.inv(self.start_covariance)
        prior = switching.expected_chain(self._dynamics(), states)
        prior.precision[:, 0] += first
        prior.linear[:, 0] += first @ self.start_mean
        if mean is not None:
            bounded, pull = switching.transition_evidence(self.switch, states, mean[:, :-1])
            prior.precision[:, :-1] += bounded
            prior.linear[:, :-1] += pull
        latent = smooth(
            Chain(prior.precision + precision, prior.coupling, prior.linear + linear, constant)
        )
        factors = switching.expected_log_density(self._dynamics(), latent)[:, :, None, :]
        factors = factors + switching.log_transition(self.switch, latent.mean[:, :-1])
        pairs, discrete = switching.forward_backward(factors)
        quadratic = (
            latent.mean * (linear - 0.5 * (precision @ latent.mean[..., None])[..., 0])
        ).sum((1, 2))
        emitted = constant + quadratic - 0.5 * (precision * latent.covariance).sum((1, 2, 3))
        off = latent.mean[:, 0] - self.start_mean
        began = -0.5 * ((off @ first * off).sum(-1) + (first * latent.covariance[:, 0]).sum((1, 2)))
        began = began - 0.5 * (torch.logdet(self.start_covariance) + self.latent * LOG_2PI)
        lost = switching.variance_cost(self.switch, latent.covariance[:, :-1]).sum(1)
        return Posterior(latent, pairs, emitted + began + discrete - lost + latent.entropy)

    def _maximise(self, y: Tensor, posterior: Posterior) -> None:
        """All parameters, given q."""
        latent, states = posterior.latent, posterior.states
        mean, covariance = latent.mean, latent.covariance
        self._set_dynamics(
            switching.maximal_dynamics(switching.moments(states, latent), states.sum((0, 1)))
        )
        for buffer, value in zip(
            self._emission(), maximal_emission(y, latent, floor=NOISE_FLOOR), strict=True
        ):
            buffer.copy_(value)
        eye = torch.eye(self.latent, dtype=y.dtype, device=y.device)
        self.start_mean.copy_(mean[:, 0].mean(0))
        off = mean[:, 0] - self.start_mean
        spread = (
            off.mT @ off
            + covariance[:, 0].sum(0)
            + switching.PRIOR * switching.PRIOR_VARIANCE * eye
        )
        self.start_covariance.copy_(spread / (len(y) + switching.PRIOR))
        steps = TRANSITION_STEPS if self.states > 1 else 0
        self.switch.copy_(
            switching.ascend(self.switch, posterior.pairs, mean[:, :-1], covariance[:, :-1], steps)
        )

    def _log_prior(self) -> Tensor:
        """Up to a constant."""
        start = self.start_covariance
        began = torch.logdet(start) + switching.PRIOR_VARIANCE * torch.linalg.inv(start).trace()
        return switching.log_prior(self._dynamics()) - 0.5 * switching.PRIOR * (
            began + self.switch.pow(2).sum()
        )

    def _emission(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.emission, self.emission_bias, self.emission_noise

    def _dynamics(self) -> switching.Dynamics:
        return switching.Dynamics(self.transition, self.transition_bias, self.transition_noise)

    def _set_dynamics(self, dynamics: switching.Dynamics) -> None:
        for buffer, value in zip(self._dynamics(), dynamics, strict=True):
            buffer.copy_(value)

    def _tokens(self, x: Tensor) -> Tensor:
        return (x if x.dtype == torch.bool else x.double()).unflatten(1, (-1, self.patch))
