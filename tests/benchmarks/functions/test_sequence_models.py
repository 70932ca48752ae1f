"""Sequence models of signals: what each output may depend on, what fixes the weights, and that they
learn.
"""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
import torch
from torch import Tensor, nn
from torchdiffeq import odeint

from benchmarks.baselines import mamba
from benchmarks.baselines.parts import built
from benchmarks.functions.mamba import MambaReconstructor
from benchmarks.functions.neural_ode import METHODS, NeuralODE
from benchmarks.functions.reconstructor import Reconstructor
from benchmarks.functions.recurrent import RecurrentAutoencoder
from benchmarks.functions.transformer import TransformerReconstructor
from vnlib.fit import FitConfig, GradientLearner, fit

LENGTH, PATCH = 32, 4
SMALL: dict[str, tuple[type[Reconstructor], dict[str, object]]] = {
    "recurrent": (RecurrentAutoencoder, {"hidden": 16, "latent": 3}),
    "transformer": (TransformerReconstructor, {"d_model": 16, "heads": 2, "width": 16}),
    "mamba": (MambaReconstructor, {"d_model": 16}),
    "mamba_bottleneck": (MambaReconstructor, {"d_model": 16, "latent": 3}),
    "neural_ode": (NeuralODE, {"hidden": 16, "latent": 3, "width": 16}),
}
every_model = pytest.mark.parametrize("name", SMALL)
every_bottleneck = pytest.mark.parametrize("name", ["recurrent", "mamba_bottleneck", "neural_ode"])


def small(name: str, *, length: int = LENGTH, seed: int = 0, **options: object) -> Reconstructor:
    family, own = SMALL[name]
    return built(family, length=length, seed=seed, **{"patch": PATCH} | own | options).double()


def signals(n: int = 5, *, length: int = LENGTH, seed: int = 0) -> Tensor:
    return torch.randn(
        n, length, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )


def tail_hidden(n: int = 5) -> Tensor:
    return (torch.arange(LENGTH) < LENGTH // 2).expand(n, LENGTH)


def same_weights(a: nn.Module, b: nn.Module) -> bool:
    return all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))


@every_model
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("length, patch", [(32, 4), (24, 8), (6, 2), (8, 8)])
def test_signals_keep_their_shape(name, masked, length, patch):
    x = signals(length=length)
    assert small(name, length=length, patch=patch, masked=masked)(x).shape == x.shape


@every_model
def test_the_defaults_read_signals_of_512_samples(name):
    own = {"latent": 32} if name == "mamba_bottleneck" else {}
    model = built(SMALL[name][0], length=512, seed=0, **own)
    assert model(signals(2, length=512).float()).shape == (2, 512)


@every_model
@pytest.mark.parametrize("masked", [False, True])
def test_hidden_samples_are_never_looked_at(name, masked):
    model, x, observed = small(name, masked=masked), signals(), tail_hidden()
    assert torch.equal(model(x.where(observed, torch.nan), observed), model(x, observed))


@every_model
def test_only_a_masked_model_tells_a_hidden_sample_from_an_observed_zero(name):
    observed = tail_hidden()
    x = signals() * observed
    for masked in (False, True):
        model = small(name, masked=masked)
        assert torch.equal(model(x, observed), model(x)) is not masked


@every_model
def test_one_seed_gives_the_same_bits_and_leaves_the_global_random_state(name):
    before = torch.get_rng_state()
    models = [small(name, seed=seed) for seed in (0, 0, 1)]
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(7)  # a global state that differs must not reach the weights
    models.append(small(name, seed=0))
    assert same_weights(models[0], models[1]) and same_weights(models[0], models[3])
    assert not same_weights(models[0], models[2])
    assert torch.equal(models[0](signals()), models[3](signals()))


@every_model
def test_a_signal_does_not_depend_on_its_companions(name):
    model, x = small(name), signals()
    order = torch.tensor([3, 0, 4, 1, 2])
    torch.testing.assert_close(model(x[order]), model(x)[order])
    torch.testing.assert_close(model(x[:1]), model(x)[:1])


@every_model
def test_every_weight_has_a_gradient(name):
    model = small(name, masked=True)
    model.loss(signals(), generator=torch.Generator().manual_seed(0)).backward()
    assert all(
        p.grad is not None and p.grad.isfinite().all() and p.grad.any() for p in model.parameters()
    )


@every_model
def test_a_few_updates_halve_the_error_of_the_best_constant(name):
    # their mean is zero
    x = torch.linspace(-1.5, 1.5, 16)[:, None] * torch.linspace(0, 2 * torch.pi, LENGTH).sin()
    model = small(name).float()

    @torch.no_grad()
    def error() -> float:
        return float((model(x) - x).square().mean())

    fit(
        GradientLearner(model, lr=1e-2),
        (x,),
        FitConfig(steps=60, batch_size=16),
        seed=0,
        validate=error,
    )
    assert error() < 0.5 * float(x.square().mean())


@every_bottleneck
def test_the_output_depends_on_the_signal_through_latent_numbers_only(name):
    model, x = small(name), signals(1)
    jacobian = torch.autograd.functional.jacobian(lambda signal: model(signal[None])[0], x[0])
    assert torch.linalg.matrix_rank(jacobian, rtol=1e-9) == 3


@every_bottleneck
def test_a_model_is_its_decoder_applied_to_its_code(name):
    model, codes = small(name), []
    model.to_latent.register_forward_hook(lambda _module, _inputs, z: codes.append(z))
    outputs = model(signals())
    assert codes[0].shape == (5, 3)
    assert torch.equal(model.decode(codes[0]), outputs)


@pytest.mark.parametrize("name", ["transformer", "mamba"])
def test_without_a_bottleneck_every_degree_of_freedom_reaches_the_output(name):
    model = small(name)
    jacobian = torch.autograd.functional.jacobian(
        lambda signal: model(signal[None])[0], signals(1)[0]
    )
    assert torch.linalg.matrix_rank(jacobian, rtol=1e-9) == LENGTH


def reached(name: str) -> Tensor:
    """Which patches of the output (rows) change with which patches of the signal (columns)."""
    model = small(name)
    jacobian = torch.autograd.functional.jacobian(
        lambda signal: model(signal[None])[0], signals(1)[0]
    )
    n = LENGTH // PATCH
    return jacobian.view(n, PATCH, n, PATCH).abs().amax((1, 3)) > 0


def test_mamba_is_causal_in_patches_and_the_others_are_not():
    n = LENGTH // PATCH
    assert torch.equal(reached("mamba"), torch.ones(n, n, dtype=torch.bool).tril())
    for name in SMALL.keys() - {"mamba"}:
        assert reached(name).all()


def test_the_transformer_knows_where_a_patch_is():
    model, x = small("transformer"), signals()
    moved = model(x.roll(PATCH, dims=1)).roll(-PATCH, dims=1)
    assert not torch.allclose(moved, model(x))
    with torch.no_grad():
        model.position.zero_()
    torch.testing.assert_close(model(x.roll(PATCH, dims=1)).roll(-PATCH, dims=1), model(x))


@pytest.mark.parametrize("method", METHODS)
def test_more_steps_of_the_flow_approach_its_exact_solution(method):
    z = signals(4, length=3)
    model = small("neural_ode")
    times = torch.arange(LENGTH // PATCH, dtype=torch.float64)
    exact = odeint(
        lambda _, state: model.flow(state), z, times, method="dopri5", rtol=1e-11, atol=1e-11
    )
    wanted = model.readout(exact).transpose(0, 1).flatten(1)
    errors = []
    for steps in (4, 8):
        # the same weights: neither option has any
        model = small("neural_ode", method=method, steps=steps)
        errors.append(float((model.decode(z) - wanted).abs().max().detach()))
    order = {"euler": 1, "midpoint": 2, "rk4": 4}[method]
    assert errors[0] / errors[1] == pytest.approx(2**order, rel=0.3)


def test_the_fused_kernel_is_kept_for_tensors_on_a_gpu(monkeypatch):
    x = signals().float()
    plain = small("mamba").float()
    kernel = ModuleType("mamba_ssm.ops.selective_scan_interface")
    kernel.selective_scan_fn = lambda *_args, **_options: pytest.fail(
        "the CUDA kernel was given a CPU tensor"
    )
    for name in ("mamba_ssm", "mamba_ssm.ops"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, kernel.__name__, kernel)
    monkeypatch.setattr(mamba, "find_spec", lambda name: object() if name == "mamba_ssm" else None)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    fused = small("mamba").float()
    assert fused.encoder.fused and not plain.encoder.fused
    assert same_weights(plain, fused)
    assert torch.equal(fused(x), plain(x))


BAD = [
    *(
        (name, option, value)
        for name in SMALL
        for option, value in (("patch", 5), ("patch", 0), ("length", 1))
    ),
    *(("recurrent", option, 0) for option in ("hidden", "latent")),
    *(("transformer", option, 0) for option in ("d_model", "heads", "layers", "width")),
    ("transformer", "heads", 3),
    *(("mamba", option, 0) for option in ("d_model", "layers", "d_state", "expand")),
    ("mamba_bottleneck", "latent", 0),
    ("mamba_bottleneck", "latent", 2.5),
    *(("neural_ode", option, 0) for option in ("hidden", "latent", "width", "steps")),
    ("neural_ode", "method", "dopri5"),
]


@pytest.mark.parametrize("name, option, value", BAD)
def test_a_bad_option_is_named(name, option, value):
    with pytest.raises(ValueError, match=rf"{option}.*got {value!r}"):
        small(name, **{option: value})


@every_model
def test_an_unknown_option_is_named_with_the_known_ones(name):
    with pytest.raises(ValueError, match=r"no option depth; it has .*patch"):
        small(name, depth=2)
