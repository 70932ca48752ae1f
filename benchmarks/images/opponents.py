"""What the playground shows beside its network, at the same number of coefficients: an autoencoder,
principal axes and cosines.

The autoencoder serves every length of code: training draws the number of entries that are kept anew
for each batch. As for the network, weights are stored as int8, and what is read from the file, in
Python or in the browser, computes with just these.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn

from benchmarks.baselines import parts
from benchmarks.images import playground
from benchmarks.images.controls import cosines, principal_axes
from benchmarks.images.networks import ImageAutoencoder
from vnlib import checks
from vnlib.fit import FitConfig, GradientLearner, fit

LONGEST = 64  # entries of a code that training keeps at most
VALIDATED = (8, 16, 32)  # the lengths at which training is judged
LAYERS = 4  # linear maps of the autoencoder, two in and two out

Affine = tuple[Float[Tensor, "out in"], Float[Tensor, " out"]]


class AnyLength(ImageAutoencoder):
    """A k-sparse autoencoder for codes of any length: k is drawn anew for each batch, 1..`LONGEST`."""

    def loss(self, x: Float[Tensor, "batch pixels"], *, generator: Generator) -> Float[Tensor, ""]:
        """Mean squared error over images and pixels, at the k that was drawn."""
        longest = min(LONGEST, self.latent)
        self.k = int(torch.randint(1, longest + 1, (), generator=generator))
        return super().loss(x, generator=generator)


@dataclass(frozen=True)
class Opponents:
    """An autoencoder, as its affine maps with ReLUs after the first and the third, and principal axes.

    Parameters
    ----------
    layers
        Weights and biases; the second map gives the code, the third reads it.
    mean, axes
        Of the training images; the axes are columns of unit norm, the largest variance first.
    """

    layers: tuple[Affine, ...]
    mean: Float[Tensor, " pixels"]
    axes: Float[Tensor, "pixels axes"]

    def draw(
        self, x: Float[Tensor, "batch pixels"], k: Int[Tensor, " batch"]
    ) -> dict[str, Float[Tensor, "batch pixels"]]:
        """What each opponent draws of images, each with the k coefficients of largest size."""
        enter, encode, decode, leave = self.layers
        code = largest(affine(encode, affine(enter, x).relu()), k)
        V = cosines(x.shape[1]).to(x)
        return {
            "autoencoder": affine(leave, affine(decode, code).relu()),
            "pca": self.mean + largest((x - self.mean) @ self.axes, k) @ self.axes.T,
            "dct": largest(x @ V, k) @ V.T,
        }


def affine(layer: Affine, x: Float[Tensor, "batch in"]) -> Float[Tensor, "batch out"]:
    """W x + b."""
    return x @ layer[0].T + layer[1]


def largest(
    z: Float[Tensor, "batch entries"], k: Int[Tensor, " batch"]
) -> Float[Tensor, "batch entries"]:
    """Each row with all but its own k entries of largest size set to zero."""
    order = z.abs().argsort(dim=1, descending=True, stable=True)
    return torch.where(order.argsort(dim=1) < k[:, None], z, 0)


def learn_opponents(
    train: Float[Tensor, "n pixels"],
    validation: Float[Tensor, "m pixels"],
    *,
    seed: int,
    steps: int,
    latent: int = 256,
    hidden: int = 256,
    axes: int = 256,
    lr: float = 1e-3,
    batch_size: int = 256,
) -> Opponents:
    """Train the autoencoder, and keep it where its error on validation images, over the lengths
    `VALIDATED`, is least; take the principal axes of the training images.
    """
    checks.number("axes", axes, low=1, high=train.shape[1], integer=True)
    sizes = {"pixels": train.shape[1], "hidden": (hidden,), "latent": latent}
    model = parts.built(AnyLength, seed=seed, **sizes)

    @torch.no_grad()
    def error() -> float:
        errors = []
        for k in VALIDATED:
            model.k = min(k, latent)
            errors.append(float((model(validation) - validation).square().mean()))
        return sum(errors) / len(errors)

    config = FitConfig(steps=steps, batch_size=batch_size, eval_every=max(1, steps // 40))
    fit(GradientLearner(model, lr=lr), (train,), config, seed=seed, validate=error)
    maps = [one for one in (*model.encoder, *model.decoder) if isinstance(one, nn.Linear)]
    mean, directions = principal_axes(train)
    layers = tuple((one.weight.detach(), one.bias.detach()) for one in maps)
    return Opponents(layers, mean, directions[:, :axes])


def export(opponents: Opponents, folder: str | Path, *, about: str) -> Path:
    """Write `opponents.js` into a folder; returns its path.

    Raises
    ------
    ValueError
        For an autoencoder of another depth, and where `about` does not say how they were made.
    """
    if len(opponents.layers) != LAYERS:
        raise ValueError(f"opponents must have {LAYERS} maps, got {len(opponents.layers)}")
    if not isinstance(about, str) or not about.strip():
        raise ValueError(f"about must say how the opponents were made, got {about!r}")
    value = {
        "format": playground.FORMAT,
        "about": about,
        "layers": [_packed(W, b) for W, b in opponents.layers],
        "mean": _numbers(opponents.mean),
        "axes": {
            "count": opponents.axes.shape[1],
            "int8": playground.encoded(playground.quantise(opponents.axes)),
        },
    }
    return playground.write(Path(folder), "opponents", value)


def read(folder: str | Path) -> Opponents:
    """The opponents that `export` wrote, as the page has them: in float64, from eight bits.

    Raises
    ------
    FileNotFoundError
        Where there is no such file.
    ValueError
        For a file of another kind.
    """
    value = playground.parsed(Path(folder) / "opponents.js")
    try:
        layers = tuple(_unpacked(one) for one in value["layers"])
        whole = np.frombuffer(base64.b64decode(value["axes"]["int8"]), np.int8)
        axes = playground.restore(whole.reshape(value["axes"]["count"], -1))
        return Opponents(layers, torch.tensor([*value["mean"]], dtype=torch.float64), axes)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{folder} holds a damaged opponents.js ({error}); export it again"
        ) from error


def _packed(W: Tensor, b: Tensor) -> dict[str, object]:
    """Weights as whole steps of 1/127 of the largest of their row, steps and biases as numbers."""
    checks.finite("weights", W)
    rows = W.detach().cpu().double().numpy()
    step = np.abs(rows).max(1) / 127
    whole = np.rint(rows / np.where(step, step, 1)[:, None]).astype(np.int8)
    return {
        "int8": playground.encoded(whole),
        "step": _numbers(torch.tensor(step)),
        "bias": _numbers(b),
    }


def _unpacked(stored: Mapping) -> Affine:
    step, bias = (torch.tensor(stored[name], dtype=torch.float64) for name in ("step", "bias"))
    whole = np.frombuffer(base64.b64decode(stored["int8"]), np.int8).reshape(len(step), -1)
    return torch.tensor(whole, dtype=torch.float64) * step[:, None], bias


def _numbers(values: Tensor) -> list[float]:
    """Seven digits, which is all that float32 has."""
    return [float(f"{value:.7g}") for value in values.tolist()]
