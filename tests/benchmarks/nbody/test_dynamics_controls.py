"""The controls of force composition: ridge regressions, the mean, and the network on tokens."""

from __future__ import annotations

import pytest
import torch

from benchmarks.baselines.parts import built
from benchmarks.nbody.bodies import LAWS, Bodies, Samples, in_passes, scales_of, tokens
from benchmarks.nbody.forces import relative_errors
from benchmarks.nbody.ridge import (
    Kernels,
    Linear,
    MeanPrediction,
    Ridge,
    drawn_centres,
    ridge,
    solutions,
)
from benchmarks.nbody.tokens import TokenNetwork, acting
from vnlib.fit import FitConfig, GradientLearner, fit

NAMES = ("constant", "literal", "gated", "tokens", "tokens_rbf")


def made(n=200, seed=0) -> Samples:
    """Springs without rest length, drag and rotation are linear; gravity is not."""
    rng = torch.Generator().manual_seed(seed)
    p, v = (torch.rand(n, 5, 2, generator=rng) * 4 - 2 for _ in range(2))
    present = torch.ones(n, 5, dtype=torch.bool)
    present[::7, 4] = False
    forces = torch.eye(4)[torch.arange(n) % 4]
    d = torch.where(
        (present[:, None] & present[:, :, None])[..., None], p[:, None] - p[:, :, None], 0.0
    )
    pull = (d / (1 + d.square().sum(-1, keepdim=True)) ** 1.5).sum(2)
    turned = torch.stack([v[..., 1], -v[..., 0]], -1)
    a = torch.stack([2 * pull, 0.5 * d.sum(2), -v, turned])[torch.arange(n) % 4, torch.arange(n)]
    return Samples(p, v, present, forces, a)


@pytest.fixture(scope="module")
def train():
    return made(400)


@pytest.fixture(scope="module")
def val():
    return made(80, seed=1)


@pytest.fixture(scope="module")
def scales(train):
    return scales_of(train)


def fitted(train, val, scales, features, seed=0, **options):
    def criterion(predict):
        return float(relative_errors(predict, val).mean())

    return ridge(train, scales=scales, criterion=criterion, seed=seed, features=features, **options)


@pytest.mark.parametrize("name", ["gated", "tokens"])
def test_gated_features_find_linear_forces_and_their_sum(train, val, scales, name):
    model = fitted(train, val, scales, name)
    gravity, *linear = relative_errors(model, val).tolist()
    assert max(linear) < 1e-4 and 0.02 < gravity < 0.9
    # What acts together adds up, since a sum of forces is a sum of features.
    both = val.bodies._replace(forces=torch.tensor([0.0, 1, 1, 0]).expand(80, 4))
    alone = [model(val.bodies._replace(forces=torch.eye(4)[law].expand(80, 4))) for law in (1, 2)]
    assert torch.allclose(model(both), sum(alone), atol=1e-5)


def test_kernels_find_gravity_too(train, val, scales):
    model = fitted(train, val, scales, "tokens_rbf", centres=60)
    assert relative_errors(model, val).max() < 0.01 and model.features.bandwidth in (
        0.2,
        0.3,
        0.45,
        0.7,
    )
    assert relative_errors(fitted(train, val, scales, "literal"), val).mean() > 0.5


def test_weights_are_the_solution_of_the_penalised_problem(train, scales):
    features = Linear("gated", scales)
    x = features(Bodies(*(t.double() if t.is_floating_point() else t for t in train.bodies)))[
        train.present
    ]
    y = train.acceleration[train.present].double() / scales.acceleration
    for penalty, weights in solutions(features, train, (1e-6, 1.0)):
        amount = penalty * x.square().sum() / x.shape[1]
        wanted = torch.linalg.solve(x.T @ x + amount * torch.eye(88, dtype=torch.float64), x.T @ y)
        assert torch.allclose(weights, wanted, atol=1e-9)


def test_the_criterion_chooses_penalty_and_bandwidth(train, scales):
    seen = []

    def criterion(predict):
        seen.append(predict)
        return abs(predict.penalty - 0.1) + predict.features.bandwidth

    model = ridge(
        train,
        scales=scales,
        criterion=criterion,
        seed=0,
        features="tokens_rbf",
        penalties=(1.0, 0.1, 0.01),
        bandwidths=(2.0, 1.0),
        centres=5,
    )
    assert len(seen) == 6 and model.penalty == 0.1 and model.features.bandwidth == 1.0


def test_kernels_are_gaussians_of_tokens_of_the_same_force(val, scales):
    read = tokens(val.bodies, scales)
    centres = drawn_centres(read, 6, seed=3)
    features = Kernels(centres, 0.8, scales)
    wanted = torch.zeros(80, 5, 4, 6)
    for law in range(4):
        square = (read[:, :, law, :, None] - centres[law]).square().sum(-1)
        there = read[:, :, law].any(-1, keepdim=True)
        wanted[:, :, law] = torch.where(there, (-square / (2 * 0.8**2)).exp(), 0.0).sum(2)
    found = features(val.bodies)
    assert torch.allclose(found[..., 28:], wanted.flatten(2), atol=1e-5)
    assert torch.equal(found[..., :28], read.sum(3).flatten(2))
    weights = torch.randn(features.width, 2, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(features.read(val.bodies, weights), found @ weights, atol=1e-4)


def test_centres_are_training_tokens_and_follow_the_seed(val, scales):
    read = tokens(val.bodies, scales)
    one, same, other = (drawn_centres(read, 6, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(one, same) and not torch.equal(one, other)
    for law in range(4):
        rows = read[:, :, law].flatten(0, 2)
        assert all((rows == centre).all(-1).any() and centre.any() for centre in one[law])


@pytest.mark.parametrize("name", NAMES)
def test_what_is_absent_gives_and_gets_nothing(train, val, scales, name):
    model = fitted(train, val, scales, name, **({"centres": 20} if name == "tokens_rbf" else {}))
    spoilt = val.position.clone()
    spoilt[~val.present] = torch.nan
    found = model(val.bodies._replace(position=spoilt))
    assert (found[~val.present] == 0).all() and torch.equal(found, model(val.bodies))
    if name not in ("constant", "literal"):
        assert (model(val.bodies._replace(forces=torch.zeros(80, 4))) == 0).all()


def test_the_mean_is_the_mean_of_present_bodies(train, val, scales):
    model = MeanPrediction(train, scales=scales)
    mean = train.acceleration[train.present].mean(0)
    assert torch.allclose(
        model(val.bodies)[val.present], mean.expand(int(val.present.sum()), 2), atol=1e-6
    )
    none = train._replace(present=torch.zeros_like(train.present))
    with pytest.raises(ValueError, match="samples must hold bodies that are present, got none"):
        MeanPrediction(none, scales=scales)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"features": "cubic"}, "features must be one of 'constant', .*'tokens_rbf', got 'cubic'"),
        ({"penalties": ()}, r"penalties must hold at least one number, got \(\)"),
        ({"penalties": (0.0,)}, "each of penalties must be a finite number > 0, got 0.0"),
        ({"bandwidths": (-1.0,)}, "each of bandwidths must be a finite number > 0, got -1.0"),
        ({"presence": -1.0}, "presence must be a finite number >= 0, got -1.0"),
        (
            {"features": "tokens_rbf", "centres": 10**6},
            f"centres of {LAWS[0]} must be an integer >= 1 and <= .*",
        ),
    ],
)
def test_bad_options_are_named(train, val, scales, options, said):
    with pytest.raises(ValueError, match=said):
        fitted(train, val, scales, **({"features": "tokens"} | options))


def test_weights_must_fit_the_features(scales):
    with pytest.raises(ValueError, match=r"weights must have the shape \(28, 2\), got \(27, 2\)"):
        Ridge(scales=scales, features=Linear("tokens", scales), weights=torch.zeros(27, 2))


@pytest.fixture(scope="module")
def network(scales):
    return built(TokenNetwork, scales=scales, seed=0, hidden=(16, 8))


def test_the_token_network_adds_up_over_tokens_in_the_block_of_their_force(network, val, scales):
    read = tokens(val.bodies, scales)
    wanted = torch.zeros(80, 5, 2)
    for law in range(4):
        for place in range(5):
            token = read[:, :, law, place]
            space = torch.zeros(80, 5, 28)
            space[..., 7 * law : 7 * law + 7] = token
            wanted += torch.where(token.any(-1, keepdim=True), network.layers(space), 0.0)
    found = network(val.bodies) / scales.acceleration
    assert torch.allclose(found, torch.where(val.present[..., None], wanted, 0.0), atol=1e-5)


def test_the_token_network_is_silent_without_forces_and_additive_in_them(network, val):
    assert (network(val.bodies._replace(forces=torch.zeros(80, 4))) == 0).all()
    everything = val.bodies._replace(forces=torch.ones(80, 4))
    assert torch.allclose(network(everything), in_passes(network, everything), atol=1e-5)


def test_the_token_network_hears_others_only_where_they_are(network, val):
    garbled = val.position.clone()
    garbled[~val.present] = 1e3
    assert torch.equal(network(val.bodies), network(val.bodies._replace(position=garbled)))
    alone = val.bodies._replace(present=torch.arange(5).expand(80, 5) == 0)
    moved = alone._replace(position=alone.position + torch.randn(80, 5, 2))
    assert torch.equal(network(alone), network(moved)), (
        "a lone body has its own token, and that holds no position"
    )


def test_acting_tokens_know_their_body_and_law(val, scales):
    read = tokens(val.bodies._replace(forces=torch.ones(80, 4)), scales)
    found, owner, law = acting(read)
    again = torch.zeros(400, 4)
    again.index_put_((owner, law), found.square().sum(1), accumulate=True)
    assert torch.allclose(again.view(80, 5, 4), read.square().sum((-1, -2)), atol=1e-4)


def test_the_token_network_learns(train, val, scales):
    network = built(TokenNetwork, scales=scales, seed=0, hidden=(32,))
    history = fit(
        GradientLearner(network, lr=0.02),
        tuple(train),
        FitConfig(steps=100, batch_size=32, eval_every=100),
        seed=0,
        validate=lambda: float(relative_errors(network, val).detach().mean()),
    )
    assert history.best_value < 0.3 < history.train[0]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"hidden": (0,)}, "each of hidden must be an integer >= 1, got 0|hidden"),
        ({"presence": -1.0}, "presence must be a finite number >= 0, got -1.0"),
        ({"relative_velocity": -0.1}, "relative_velocity must be a finite number >= 0, got -0.1"),
        (
            {"width": 3},
            "TokenNetwork has no option width; it has hidden, presence, relative_velocity",
        ),
    ],
)
def test_bad_options_of_the_token_network_are_named(scales, options, said):
    with pytest.raises(ValueError, match=said):
        built(TokenNetwork, scales=scales, seed=0, **options)
