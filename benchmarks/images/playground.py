"""The data of the playground page: a dictionary of one layer and some images as small scripts, and
back.

A page opened from a disk may not fetch files, but it may load scripts; so each file is one
assignment of JSON to a global name, with arrays of bytes in base64. An atom is stored as int8, its
largest entry as 127. No scale is stored: atoms have unit norm, and whoever reads the file, in
Python or in the browser, divides by the norm again. The page itself shows the lines that make its
files.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int8, UInt8
from torch import Tensor

from vnlib import checks
from vnlib.book import paths
from vnlib.layer import hessian, lipschitz
from vnlib.network import VectorNetwork, VNConfig
from vnlib.prox import L1
from vnlib.settle import SettleConfig

FORMAT = 1
# <name>.js sets this global name
FILES = {
    "dictionary": "vnDictionary",
    "digits": "vnDigits",
    "opponents": "vnOpponents",
    "layers": "vnLayers",
}
# as settle.js does
SETTLE = SettleConfig.exact(method="restart", tol=1e-12, max_sweeps=20_000)


def quantise(V: Float[Tensor, "d atoms"]) -> Int8[np.ndarray, "atoms d"]:
    """One row per atom, its largest entry scaled to 127. ValueError for an atom that is zero."""
    checks.finite("V", V)
    atoms = V.detach().cpu().double().numpy().T
    largest = np.abs(atoms).max(1, keepdims=True)
    if not largest.all():
        raise ValueError(f"V must have no zero columns, got one at {int(np.argmin(largest))}")
    return np.rint(127 * atoms / largest).astype(np.int8)


def restore(atoms: Int8[np.ndarray, "atoms d"]) -> Float[Tensor, "d atoms"]:
    """The dictionary that quantised atoms stand for: float64, columns of unit norm."""
    V = torch.tensor(atoms.T, dtype=torch.float64)
    return V / V.norm(dim=0)


def export(
    network: VectorNetwork,
    images: UInt8[np.ndarray, "n height width"],
    labels: Sequence[int],
    folder: str | Path,
    *,
    about: str,
) -> list[Path]:
    """Write `dictionary.js` and `digits.js` into a folder, which is made if it is missing; returns
    their paths. ValueError for a network or images that the page cannot show; nothing is written.

    Parameters
    ----------
    network
        One layer with an l1 penalty and no cap.
    images
        0 is paper, 255 full ink, which is 1 for the network; `labels` say what each shows.
    about
        How the network was made, which the page tells the reader: "learned from ...".
    """
    config = network.config
    if len(config.atoms) != 1 or config.penalty != "l1" or config.top_k is not None:
        raise ValueError(
            "network must have one layer with penalty 'l1' and no top_k, "
            f"got atoms={config.atoms}, penalty={config.penalty!r}, top_k={config.top_k}"
        )
    is_array = isinstance(images, np.ndarray)
    if not is_array or images.dtype != np.uint8 or images.ndim != 3 or not len(images):
        found = f"{images.dtype} {images.shape}" if is_array else type(images).__name__
        raise ValueError(f"images must be a uint8 array (n, height, width), n >= 1, got {found}")
    size, wanted = [int(n) for n in images.shape[1:]], config.n_inputs
    if size[0] * size[1] != wanted:
        raise ValueError(f"images must have {wanted} pixels, as the network's inputs, got {size}")
    labels, n = [int(label) for label in labels], len(images)
    if len(labels) != n:
        raise ValueError(f"labels must name each of the {n} images, got {len(labels)} labels")
    if not isinstance(about, str) or not about.strip():
        raise ValueError(f"about must say how the network was made, got {about!r}")
    penalty = network.layers[0].penalty
    if not isinstance(penalty, L1):
        raise ValueError(f"the penalty must be an l1 penalty here, got {penalty!r}")
    atoms, sparsity = quantise(network.V[0]), penalty.sparsity
    layer = playground_network(restore(atoms), sparsity=sparsity).layers[0]
    dictionary = {
        "format": FORMAT,
        "size": size,
        "atoms": len(atoms),
        "about": about,
        "sparsity": sparsity,
        "nonnegative": config.nonnegative,
        "lipschitz": lipschitz(hessian(layer)),
        "int8": encoded(atoms),
    }
    digits = {"format": FORMAT, "labels": labels, "uint8": encoded(images)}
    files = {"dictionary": dictionary, "digits": digits}
    return [write(Path(folder), name, value) for name, value in files.items()]


def read(folder: str | Path) -> tuple[VectorNetwork, Float[Tensor, "n d"], list[int]]:
    """The network, the images and their labels that `export` wrote, as the page has them: in
    float64, atoms quantised. FileNotFoundError; ValueError for files of another kind.
    """
    folder = Path(folder)
    dictionary, digits = parsed(folder / "dictionary.js"), parsed(folder / "digits.js")
    try:
        atoms = np.frombuffer(base64.b64decode(dictionary["int8"]), np.int8)
        images = np.frombuffer(base64.b64decode(digits["uint8"]), np.uint8)
        images = images.reshape(len(digits["labels"]), -1)
        known = {name: dictionary[name] for name in ("sparsity", "nonnegative")}
        network = playground_network(restore(atoms.reshape(dictionary["atoms"], -1)), **known)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{folder} holds damaged playground files ({error}); export them again"
        ) from error
    return network, torch.tensor(images / 255), digits["labels"]


def playground_network(
    V: Float[Tensor, "d atoms"], *, sparsity: float, nonnegative: bool = False
) -> VectorNetwork:
    """One layer with this dictionary and an absolute lambda, which settles to a tiny gap."""
    shape = {"n_inputs": V.shape[0], "atoms": (V.shape[1],)}
    config = VNConfig(**shape, sparsity=(sparsity,), nonnegative=nonnegative, settle=SETTLE)
    network = VectorNetwork(config, seed=0).double()
    network.V[0].data.copy_(V)
    return network


def encoded(array: np.ndarray) -> str:
    """The bytes of an array, row after row, in base64."""
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")


def write(folder: Path, name: str, value: Mapping) -> Path:
    """Write a file of `FILES` into a folder, which is made if it is missing; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.js"
    paths.replace(path, f"globalThis.{FILES[name]} = {json.dumps(value)};\n")
    return path


def parsed(path: Path) -> dict:
    """What `write` wrote. FileNotFoundError; ValueError for a file of another kind."""
    start, end = f"globalThis.{FILES[path.stem]} = ", ";\n"
    try:
        text = path.read_text(encoding="ascii")
    except FileNotFoundError as error:
        raise FileNotFoundError(f"there is no file {path}; export it first") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not a file of the playground: it is not plain text") from error
    try:
        value = json.loads(text.removeprefix(start).removesuffix(end))
        known = text.startswith(start) and value["format"] == FORMAT
    except (TypeError, KeyError, ValueError):
        known = False
    if not known:
        raise ValueError(f"{path} is not a file of the playground in format {FORMAT}")
    return value
