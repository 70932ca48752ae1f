"""MNIST as a dataset: from a local folder, from the public mirrors, or, if allowed, a stand-in that
says so.

Looked for in this order:

1. the folder that the environment variable VNBOOK_DATA names: `mnist/` in it or the folder itself,
   with the idx files raw or gzipped. If it lacks them, or holds other ones, that is an error, not a
   reason to go on;
2. the user's cache, filled from the public mirrors on first use (not if VNBOOK_OFFLINE=1);
3. scikit-learn's own 8x8 digits, enlarged, only with `allow_fallback=True`.

The real files are checked by the sha256 of their uncompressed bytes.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import math
import os
import threading
import zlib
from numbers import Integral
from pathlib import Path

import numpy as np
import pooch
import xarray as xr

from data_gen import guards

PARTS = {
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}
SHA256 = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
CONNECT_SECONDS = 5
READ_SECONDS = 30

MNIST = "MNIST"
DIGITS = "scikit-learn digits, 8x8, enlarged to 28x28"
DIGITS_TRAIN = 1437  # of 1797


# At its usual level it announces every attempt, with the user's own paths, on pages that others
# read.
pooch.get_logger().setLevel("WARNING")


class MnistError(RuntimeError):
    """The files of MNIST, or the folder named for them, are not as they should be."""


class MnistUnavailable(MnistError):
    """MNIST is neither on this machine nor to be had from the mirrors."""


def load(
    part: str,
    *,
    n: int | None = None,
    seed: int = 0,
    allow_fallback: bool = False,
    progress: bool = True,
) -> xr.Dataset:
    """One part of MNIST: `image` (sample, y, x), float32 in [0, 1], ink is 1, and `label` (sample),
    0 to 9.

    The coordinate `sample` is the number of the image in the file.

    Parameters
    ----------
    part
        "train" (60,000 images) or "test" (10,000).
    n
        A random subset of that size, drawn by `seed` without replacement; a larger n adds to a
        smaller one. None: all, in the order of the file.
    allow_fallback
        Take scikit-learn's digits (1437 and 360) where MNIST is not to be had. The attributes
        `source` and `fallback` (0 or 1) say which it is.
    progress
        Show a bar while downloading.

    Raises
    ------
    MnistUnavailable
        If there is no MNIST and no fallback is allowed.
    MnistError
        If the folder named by VNBOOK_DATA lacks the files or holds damaged or foreign ones.
    ValueError
        For a bad argument.
    """
    if not isinstance(part, str) or part not in PARTS:
        raise ValueError(f"part must be one of {', '.join(map(repr, PARTS))}, got {part!r}")
    if n is not None:
        _integer("n", n, low=1, remark="or None for all images")
    guards.seeds(seed=seed)
    _integer("seed", seed, low=0)
    try:
        images, labels = _mnist(part, progress)
        source = MNIST
    except MnistUnavailable:
        if not allow_fallback:
            raise
        images, labels = _digits(part)
        source = DIGITS
    if n is not None and n > len(images):
        raise ValueError(
            f"n must be <= {len(images)}, the size of the {part} part of {source}, got {n}"
        )

    index = (
        np.arange(len(images))
        if n is None
        else np.random.default_rng(seed).permutation(len(images))[:n]
    )
    variables = {
        "image": (
            ("sample", "y", "x"),
            images[index].astype(np.float32) / 255,
            {"units": "1", "long_name": "ink, from 0 to 1"},
        ),
        "label": ("sample", labels[index].astype(np.int64), {"units": "1", "long_name": "digit"}),
    }
    coordinates = {
        "sample": (
            "sample",
            index,
            {"units": "1", "long_name": "number of the image in the source"},
        ),
        "y": ("y", np.arange(28), {"units": "px", "long_name": "row, from the top"}),
        "x": ("x", np.arange(28), {"units": "px", "long_name": "column"}),
    }
    name = MNIST if source == MNIST else "scikit-learn digits in place of MNIST"
    attrs = {
        "title": f"{name}, {part} part",
        "source": source,
        "fallback": int(source != MNIST),
        "part": part,
    }
    return xr.Dataset(variables, coordinates, attrs)


def parse_idx(data: bytes, origin: str) -> np.ndarray:
    """The array of unsigned bytes in an idx file; `origin` names the file in errors.

    The format: two zero bytes, the type (8: unsigned byte), the number of dimensions, each
    dimension as a big-endian 32-bit integer, then exactly as many bytes as the dimensions say.
    Anything else: MnistError.
    """
    if len(data) < 4 or data[:3] != b"\x00\x00\x08" or data[3] == 0:
        raise MnistError(
            f"{origin} is not an idx file of unsigned bytes: it begins with {data[:4].hex(' ')!r}"
        )
    start = 4 + 4 * data[3]
    if len(data) < start:
        raise MnistError(
            f"{origin} is truncated: its header of {start} bytes ends after {len(data)}"
        )
    shape = tuple(int(size) for size in np.frombuffer(data[4:start], dtype=">u4"))
    guards.array_shape(shape, origin, MnistError)
    found, wanted = len(data) - start, math.prod(shape)
    if found != wanted:
        problem = "truncated" if found < wanted else "too long"
        raise MnistError(
            f"{origin} is {problem}: {found} bytes of data, {wanted} wanted for shape {shape}"
        )
    return np.frombuffer(data, dtype=np.uint8, offset=start).reshape(shape)


def _mnist(part: str, progress: bool) -> tuple[np.ndarray, np.ndarray]:
    """Images (sample, 28, 28) and labels (sample,) of the real set, as unsigned bytes."""
    named = os.environ.get("VNBOOK_DATA", "")
    paths = _in_folder(Path(named).expanduser(), part) if named else _in_cache(part, progress)
    images, labels = (_read(path) for path in paths)
    return images, labels


def _in_folder(folder: Path, part: str) -> list[Path]:
    """The files of a part in the folder that the user named."""
    paths, missing = [], []
    for name in PARTS[part]:
        candidates = [folder / sub / (name + end) for sub in ("mnist", "") for end in ("", ".gz")]
        found = next((path for path in candidates if path.is_file()), None)
        paths.append(found)
        if found is None:
            missing.append(name)
    if missing:
        raise MnistError(
            f"VNBOOK_DATA names the folder {folder}, but neither it nor {folder / 'mnist'} holds "
            f"{' and '.join(missing)} (.gz or not); put the files there, or unset VNBOOK_DATA"
        )
    return paths


def _in_cache(part: str, progress: bool) -> list[Path]:
    """The files of a part in the user's cache, downloaded if they are not there yet."""
    folder = Path(pooch.os_cache("vnbook")) / "mnist"
    return [_fetch(name, folder, progress) for name in PARTS[part]]


def _fetch(name: str, folder: Path, progress: bool) -> Path:
    """One file, checked and uncompressed, from the cache or the first mirror that has it, each
    tried once.
    """

    def download(url: str, target: str, _: object) -> None:
        if os.environ.get("VNBOOK_OFFLINE", "0") not in ("", "0"):
            raise ConnectionError("VNBOOK_OFFLINE forbids the download")
        if not _answers(url):
            raise ConnectionError(f"no answer from {url} within {CONNECT_SECONDS} s")
        packed = io.BytesIO()
        timeout = (CONNECT_SECONDS, READ_SECONDS)
        pooch.HTTPDownloader(progressbar=progress, chunk_size=2**16, timeout=timeout)(
            url, packed, None
        )
        Path(target).write_bytes(_unpack(packed.getvalue()))

    failures = []
    for mirror in MIRRORS:
        try:
            # pooch checks what `download` writes, so the sum is that of the uncompressed file.
            url, known_hash = f"{mirror}{name}.gz", f"sha256:{SHA256[name]}"
            return Path(
                pooch.retrieve(url, known_hash, fname=name, path=folder, downloader=download)
            )
        # ValueError: a wrong checksum; OSError covers the network, the disk and a page that is no
        # gzip file.
        except (ValueError, OSError, EOFError, zlib.error) as error:
            failures.append(str(error))
    files = ", ".join(f"{file}.gz" for part in PARTS.values() for file in part)
    raise MnistUnavailable(
        f"MNIST is not on this machine, and {name} could not be downloaded "
        f"({'; '.join(dict.fromkeys(failures))}). Connect to the network once, or set "
        f"VNBOOK_DATA to a folder that holds {files}, unpacked or not, in itself or in mnist/"
    )


def _answers(url: str) -> bool:
    """Whether the server answers anything within CONNECT_SECONDS in all.

    A timeout of the HTTP client counts for each address of a host, and the mirrors have many: where
    a firewall swallows the packets, that would add up to minutes.
    """
    answered = threading.Event()

    def ask() -> None:
        with contextlib.suppress(OSError):  # the errors of `requests` among them
            pooch.HTTPDownloader(timeout=CONNECT_SECONDS)(url, None, None, check_only=True)
            answered.set()

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(CONNECT_SECONDS)
    return answered.is_set()


def _unpack(data: bytes) -> bytes:
    """Gunzip, unless it has been done already, whatever the file's name says."""
    guards.unpacked_size(data)
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def _read(path: Path) -> np.ndarray:
    """Read one file of MNIST, raw or gzipped, and check it."""
    name, advice = path.name.removesuffix(".gz"), "replace it by the original"
    try:
        guards.file_size(path)
        data = _unpack(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise MnistError(f"{path} cannot be read ({error}); {advice}") from error
    try:
        array = parse_idx(data, str(path))
    except MnistError as error:
        raise MnistError(f"{error}; {advice}") from error
    found = hashlib.sha256(data).hexdigest()
    if found != SHA256[name]:
        raise MnistError(
            f"{path} is not the {name} of MNIST: the sha256 of its uncompressed bytes is {found}, "
            f"not {SHA256[name]}; {advice}"
        )
    return array


def _digits(part: str) -> tuple[np.ndarray, np.ndarray]:
    """scikit-learn's 8x8 digits, enlarged to 20x20 and centred in 28x28 as MNIST's are, as unsigned
    bytes.
    """
    import torch
    from sklearn.datasets import load_digits

    small = load_digits()
    order = np.random.default_rng(0).permutation(len(small.target))
    chosen = order[:DIGITS_TRAIN] if part == "train" else order[DIGITS_TRAIN:]
    pixels = torch.from_numpy(small.images[chosen] / 16)[:, None]
    large = torch.nn.functional.interpolate(
        pixels, size=(20, 20), mode="bilinear", align_corners=False
    )
    framed = torch.nn.functional.pad(large[:, 0], (4, 4, 4, 4))
    return (framed * 255).round().to(torch.uint8).numpy(), small.target[chosen]


def _integer(name: str, value: object, *, low: int, remark: str = "") -> None:
    """Raise ValueError unless `value` is an integer >= low."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < low:
        raise ValueError(
            f"{name} must be an integer >= {low}{' ' * bool(remark)}{remark}, got {value!r}"
        )
