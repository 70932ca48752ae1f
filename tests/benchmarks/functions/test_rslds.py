"""The recurrent switching linear dynamical system: its parts against enumeration, its EM against
exact likelihoods.
"""

from __future__ import annotations

import itertools

import pytest
import torch
from safetensors.torch import load_file, save_file

from benchmarks.functions import kalman, switching
from benchmarks.functions.rslds import RecurrentSLDS

LENGTH, PATCH = 48, 4


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def randn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=generator(seed), dtype=torch.float64)


def waves(n: int, seed: int = 0) -> torch.Tensor:
    """Sines and decays with a little noise, (n, LENGTH) float32."""
    rng = generator(seed)
    t = torch.linspace(0, 1, LENGTH)
    phase, speed = torch.rand(n, 1, generator=rng), 1 + 3 * torch.rand(n, 1, generator=rng)
    decays = (torch.arange(n) % 2 == 1)[:, None]
    clean = torch.where(
        decays, 2 * torch.exp(-2 * speed * t), torch.sin(2 * torch.pi * (speed * t + phase))
    )
    return clean + 0.05 * torch.randn(n, LENGTH, generator=rng)


def small(states: int = 3, **options: int) -> RecurrentSLDS:
    return RecurrentSLDS(
        **{"length": LENGTH, "patch": PATCH, "latent": 2, "states": states} | options
    )


# --- Discrete states ------------------------------------------------------------------------------


def test_forward_backward_is_the_sum_over_all_paths():
    batch, time, states = 3, 4, 3
    factor = 2 * randn(batch, time, states + 1, states)
    pairs, total = switching.forward_backward(factor)
    expected, weights = torch.zeros_like(pairs), torch.zeros(batch, dtype=torch.float64)
    for path in itertools.product(range(states), repeat=time):
        # (t, state before, state)
        steps = list(zip(range(time), (states, *path), path, strict=False))
        weight = torch.exp(sum(factor[:, t, before, after] for t, before, after in steps))
        weights += weight
        for t, before, after in steps:
            expected[:, t, before, after] += weight
    torch.testing.assert_close(total, weights.log(), rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(
        pairs, expected / weights[:, None, None, None], rtol=1e-10, atol=1e-10
    )
    torch.testing.assert_close(switching.contexts(pairs.sum(2)), pairs.sum(3))


def centred(features: int, states: int) -> torch.Tensor:
    weight = randn(features, states, seed=5)
    return weight - weight.mean(1, keepdim=True)


def test_the_bound_lies_below_the_expected_log_transition_and_touches_without_variance():
    states, d = 3, 2
    weight, mean = centred(states + 1 + d, states), randn(1, 1, d)
    covariance = torch.tensor([[0.8, 0.3], [0.3, 0.5]], dtype=torch.float64)
    noise = randn(1, 20_000, d, seed=1) @ torch.linalg.cholesky(covariance).mT
    exact = switching.log_transition(weight, mean + noise).mean(1)
    plugged = switching.log_transition(weight, mean)[:, 0]
    bound = plugged - switching.variance_cost(weight, covariance)
    assert bool((bound < exact).all())
    assert float(switching.variance_cost(weight, 0 * covariance)) == 0


def test_what_states_say_about_z_is_the_gradient_of_their_log_transitions():
    states, d = 3, 2
    weight, z = centred(states + 1 + d, states), randn(1, 4, d).requires_grad_()
    q = randn(1, 4, states, seed=2).softmax(-1)
    expected = (
        switching.contexts(q)[..., None] * q[:, :, None] * switching.log_transition(weight, z)
    ).sum()
    (gradient,) = torch.autograd.grad(expected, z)
    precision, linear = switching.transition_evidence(weight, q, z.detach())
    torch.testing.assert_close(linear - z.detach() @ precision, gradient)


def test_transitions_climb_to_where_their_gradient_is_zero():
    states, d = 3, 2
    pairs, _ = switching.forward_backward(randn(40, 6, states + 1, states))
    mean, root = randn(40, 6, d, seed=3), 0.3 * randn(40, 6, d, d, seed=4)
    covariance, weight = root @ root.mT, torch.zeros(states + 1 + d, states, dtype=torch.float64)

    def objective(w: torch.Tensor) -> torch.Tensor:
        fitted = (pairs * switching.log_transition(w, mean)).sum() - switching.variance_cost(
            w, covariance
        ).sum()
        return fitted - 0.5 * switching.PRIOR * w.pow(2).sum()

    values = [float(objective(weight))]
    for _ in range(10):
        weight = switching.ascend(weight, pairs, mean, covariance, 20)
        values.append(float(objective(weight)))
    assert (
        all(b >= a - 1e-9 for a, b in itertools.pairwise(values)) and values[-1] > values[0] + 0.5
    )
    (gradient,) = torch.autograd.grad(objective(weight.requires_grad_()), weight)
    assert float(gradient.abs().max()) < 1e-6


# --- Dynamics under q -----------------------------------------------------------------------------


def latent(batch: int = 3, time: int = 5, d: int = 2) -> kalman.Smoothed:
    """A posterior with correlated steps."""
    y = randn(batch, time, d)
    a = 0.8 * randn(1, time - 1, d, d, seed=7)
    eye = torch.eye(d, dtype=torch.float64)
    return kalman.kalman_smoother(
        y,
        dynamics=(a, 0 * a[..., 0], eye.expand(1, time - 1, d, d)),
        emission=(eye, y[0, 0], torch.ones(d, dtype=torch.float64)),
        start=(y[0, 0], eye),
    )


def dynamics(states: int = 3, d: int = 2) -> switching.Dynamics:
    root = randn(states, d, d, seed=9)
    noise = root @ root.mT + 0.2 * torch.eye(d, dtype=torch.float64)
    return switching.Dynamics(randn(states, d, d, seed=10), randn(states, d, seed=11), noise)


def test_expected_log_density_is_that_of_samples_of_z():
    z, given = latent(), dynamics()
    found = switching.expected_log_density(given, z)[0, 1]
    whole = torch.cat(
        [
            torch.cat([z.covariance[0, 1], z.cross[0, 1]], 1),
            torch.cat([z.cross[0, 1].mT, z.covariance[0, 2]], 1),
        ]
    )
    # Exact by a quadrature of +-sqrt(n) along each axis, since the log density is quadratic.
    axes = torch.linalg.cholesky(whole).mT * len(whole) ** 0.5
    points = torch.cat([z.mean[0, 1], z.mean[0, 2]]) + torch.cat([axes, -axes])
    for k in range(3):
        normal = torch.distributions.MultivariateNormal(
            torch.zeros(2, dtype=torch.float64), given.noise[k]
        )
        off = points[:, 2:] - points[:, :2] @ given.transition[k].mT - given.bias[k]
        assert float(found[k]) == pytest.approx(float(normal.log_prob(off).mean()), rel=1e-9)


def test_the_averaged_chain_of_a_sure_state_is_its_own_chain():
    given, path = dynamics(), torch.tensor([[0, 2, 1, 1]])
    start = torch.zeros(2, dtype=torch.float64), torch.eye(2, dtype=torch.float64)
    expected = kalman.linear_chain(*(x[path] for x in given), *start)
    found = switching.expected_chain(given, torch.nn.functional.one_hot(path, 3).double())
    found.precision[:, 0] += start[1]
    for name in ("precision", "coupling", "linear"):
        torch.testing.assert_close(getattr(found, name), getattr(expected, name))


def test_maximal_dynamics_are_where_the_gradient_of_the_bound_is_zero():
    z, states = latent(), randn(3, 4, 3).softmax(-1)
    found = switching.maximal_dynamics(switching.moments(states, z), states.sum((0, 1)))
    free = switching.Dynamics(*(x.clone().requires_grad_() for x in found))
    value = (states * switching.expected_log_density(free, z)).sum() + switching.log_prior(free)
    transition, bias, noise = torch.autograd.grad(value, free)
    # Q is symmetric, its gradient as a free matrix is not
    for gradient in (transition, bias, noise + noise.mT):
        assert float(gradient.abs().max()) < 1e-9


# --- EM -------------------------------------------------------------------------------------------


def test_one_state_is_a_linear_system_whose_bound_is_its_exact_log_likelihood():
    model, x = small(1), waves(20)
    history = model.fit(x, iterations=25)
    steps = LENGTH // PATCH - 1
    seen = torch.rand(x.shape, generator=generator(1)) < 0.7
    for mask in (None, seen):
        exact = kalman.kalman_smoother(
            x.double().unflatten(1, (-1, PATCH)),
            None if mask is None else mask.unflatten(1, (-1, PATCH)),
            dynamics=tuple(v.expand(1, steps, *v.shape[1:]) for v in model._dynamics()),
            emission=(model.emission, model.emission_bias, model.emission_noise),
            start=(model.start_mean, model.start_covariance),
        )
        posterior = model.infer(x, mask)
        torch.testing.assert_close(posterior.bound, exact.log_normaliser, rtol=1e-8, atol=1e-8)
        torch.testing.assert_close(posterior.latent.mean, exact.mean, rtol=1e-8, atol=1e-8)
    never_falls(history.train)


def never_falls(bound: list[float]) -> None:
    assert all(after >= before - 1e-8 * abs(before) for before, after in itertools.pairwise(bound))
    assert bound[-1] > bound[0] + 1


@pytest.mark.parametrize("seed", [0, 1])
def test_the_bound_never_falls_with_switching(seed):
    model = small(3)
    never_falls(model.fit(waves(40), iterations=25, seed=seed).train)
    assert float(model.switch.abs().max()) > 0.1  # so the recurrent terms took part


def test_the_bound_of_inference_never_falls_with_missing_samples():
    model, x = small(3), waves(40)
    model.fit(x, iterations=10)
    seen = torch.rand(x.shape, generator=generator(1)) < 0.7
    bounds = []
    for model.sweeps in range(1, 8):
        bounds.append(float(model.infer(x, seen).bound.mean()))
    assert all(b >= a - 1e-8 * abs(a) for a, b in itertools.pairwise(bounds))


def planted(n: int, length: int = 100, seed: int = 0) -> torch.Tensor:
    """A latent turning fast where its first entry is positive and slowly, the other way, elsewhere;
    (n, length).
    """
    rng = generator(seed)
    turns = [torch.tensor([[c, -s], [s, c]]) for c, s in ((0.70, 0.714), (0.955, 0.296))]
    z, path = torch.randn(n, 2, generator=rng), []
    for _ in range(length // 2):
        path.append(z)
        z = torch.where(z[:, :1] > 0, z @ turns[0].mT, z @ turns[1].mT) + 0.05 * torch.randn(
            n, 2, generator=rng
        )
    return (torch.stack(path, 1) + 0.02 * torch.randn(n, length // 2, 2, generator=rng)).flatten(1)


def one_step_error(model: RecurrentSLDS, x: torch.Tensor) -> float:
    """Mean squared error of the last token, told all before it."""
    seen = torch.ones_like(x, dtype=torch.bool)
    seen[:, -2:] = False
    return float((model.complete(x, seen) - x)[:, -2:].pow(2).mean())


def test_a_planted_switching_system_is_predicted_better_than_by_one_linear_system():
    errors = {}
    for states in (1, 2):
        model = RecurrentSLDS(length=100, patch=2, latent=2, states=states)
        model.fit(planted(60), iterations=15)
        errors[states] = one_step_error(model, planted(200, seed=1))
    assert errors[2] < 0.5 * errors[1]


# --- Interface ------------------------------------------------------------------------------------


def test_missing_samples_are_never_looked_at():
    model, x = small(3), waves(12)
    model.fit(waves(30), iterations=5)
    seen = torch.rand(x.shape, generator=generator(1)) < 0.6
    nan, huge = torch.where(seen, x, torch.nan), torch.where(seen, x, 1e6)
    for fill in (model.complete, model.zero_filled):
        assert torch.equal(fill(nan, seen), fill(huge, seen)) and bool(
            fill(nan, seen).isfinite().all()
        )
        assert fill(nan, seen).shape == x.shape and fill(nan, seen).dtype == x.dtype
    assert torch.equal(model.zero_filled(x, seen), model.reconstruct(torch.where(seen, x, 0)))


def test_completion_mixes_the_starts_by_their_bounds_signal_by_signal():
    model, x = small(3), waves(9)
    model.fit(waves(30), iterations=5)
    seen = torch.ones_like(x, dtype=torch.bool)
    seen[:, 30:] = False
    found = [model.infer(x, seen, start=start) for start in (None, 0, 1, 2)]
    drawn = torch.stack(
        [(q.latent.mean @ model.emission.mT + model.emission_bias).flatten(1) for q in found]
    )
    weight = torch.stack([q.bound for q in found]).softmax(0)
    torch.testing.assert_close(model.complete(x, seen), (weight[..., None] * drawn).sum(0).float())
    torch.testing.assert_close(model.complete(x[:2], seen[:2]), model.complete(x, seen)[:2])


def test_it_fills_in_better_than_zeros_and_reconstructs():
    model, x = small(3), waves(40, seed=1)
    model.fit(waves(60), iterations=15)
    seen = torch.ones_like(x, dtype=torch.bool)
    seen[:, 20:28] = False
    hidden = x[:, 20:28]
    assert float((model.complete(x, seen)[:, 20:28] - hidden).pow(2).mean()) < 0.3 * float(
        hidden.pow(2).mean()
    )
    assert float((model.zero_filled(x, seen)[:, 20:28] - hidden).pow(2).mean()) > 0.3 * float(
        hidden.pow(2).mean()
    )
    assert float((model.reconstruct(x) - x).pow(2).mean()) < 0.01


def test_same_seed_same_bits_and_tensors_survive_a_file(tmp_path):
    x, models = waves(20), [small(3, seed=s) for s in (0, 0, 1)]
    assert torch.equal(models[0].transition, models[1].transition)
    assert not torch.equal(models[0].transition, models[2].transition)
    histories = [
        model.fit(x, iterations=4, seed=s) for model, s in zip(models, (0, 0, 1), strict=True)
    ]
    assert histories[0] == histories[1] and histories[0] != histories[2]
    save_file(models[0].state_dict(), tmp_path / "model.safetensors")
    other = small(3, seed=5)
    other.load_state_dict(load_file(tmp_path / "model.safetensors"))
    assert torch.equal(other.reconstruct(x), models[1].reconstruct(x))


def test_validation_keeps_the_best_iteration():
    model, x = small(2), waves(20)
    errors = iter([3.0, 1.0, 2.0])
    history = model.fit(x, iterations=5, validate=lambda: next(errors), eval_every=2)
    assert history.validation == [3.0, 1.0, 2.0] and history.best_step == 4
    stopped = small(2)
    stopped.fit(x, iterations=4)
    assert all(torch.equal(a, b) for a, b in zip(model.buffers(), stopped.buffers(), strict=True))


def test_fitting_does_not_depend_on_what_the_model_was():
    x, first, second = waves(20), small(2), small(2, seed=3)
    first.fit(x, iterations=2)
    second.fit(x, iterations=2)
    first.fit(x, iterations=2)
    assert torch.equal(first.transition, second.transition)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"length": 1}, "length must be an integer >= 2, got 1"),
        ({"patch": 5}, "patch must divide the length 48, got 5"),
        ({"patch": 48}, "patch must leave 2 tokens or more of the length 48, got 48"),
        ({"latent": 5}, "latent must be an integer >= 1 and <= 4, got 5"),
        ({"states": 0}, "states must be an integer >= 1, got 0"),
        ({"sweeps": 0}, "sweeps must be an integer >= 1, got 0"),
        ({"seed": -1}, "seed must be an integer >= 0, got -1"),
    ],
)
def test_bad_options_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        small(**options)


def test_bad_data_are_refused():
    model, x = small(3), waves(10)
    seen = torch.ones_like(x, dtype=torch.bool)
    for call, words in [
        (lambda: model.fit(x[:, :-1]), r"train must have shape \(batch, 48\)"),
        (lambda: model.fit(x / 0), "train holds 480 value"),
        (lambda: model.fit(x[:2]), "at least as many signals as states, 3, got 2"),
        (lambda: model.fit(x, iterations=0), "iterations must be an integer >= 1, got 0"),
        (lambda: model.fit(x, eval_every=0), "eval_every must be an integer >= 1, got 0"),
        (lambda: model.reconstruct(x[:, :-1]), r"x must have the shape \(batch, length=48\)"),
        (
            lambda: model.complete(x, seen[:, :-1]),
            r"observed must be bool and have the shape of x, \(10, 48\)",
        ),
        (lambda: model.complete(x, seen.float()), "observed must be bool"),
        (lambda: model.infer(x, start=3), "start must be an integer >= 0 and <= 2, got 3"),
    ]:
        with pytest.raises(ValueError, match=words):
            call()
