"""Fashion-MNIST, a second real set in the format of MNIST: from a local folder or from the public
mirrors.

If the folder that VNBOOK_DATA names has a folder `fashion/`, the four gzipped idx files must lie in
it, as published. Otherwise they are downloaded to the user's cache on first use (not if
VNBOOK_OFFLINE=1). Both are checked by the MD5 sums that the makers of the set publish
(https://github.com/zalandoresearch/fashion-mnist). There is no stand-in.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from pathlib import Path

import numpy as np
import pooch
import xarray as xr

from data_gen import guards, mnist
from data_gen.mnist import CONNECT_SECONDS, PARTS, READ_SECONDS, MnistError, MnistUnavailable

MD5 = {
    "train-images-idx3-ubyte.gz": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "train-labels-idx1-ubyte.gz": "25c81989df183df01b3e8a0aad5dffbe",
    "t10k-images-idx3-ubyte.gz": "bef4ecab320f06d8554ea6380940ec79",
    "t10k-labels-idx1-ubyte.gz": "bb300cfdad3c16e7a12a480ee83cd310",
}
MIRRORS = (
    "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
    "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
)
CLASSES = (
    "T-shirt/top",
    "trouser",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
)


def load(part: str, *, n: int | None = None, seed: int = 0, progress: bool = True) -> xr.Dataset:
    """One part of Fashion-MNIST: `image` (sample, y, x), float32 in [0, 1], and `label` (sample),
    an index of CLASSES.

    Parameters
    ----------
    part, n, seed, progress
        As in `data_gen.mnist.load`.

    Raises
    ------
    MnistUnavailable
        If the set is neither here nor to be had.
    MnistError
        If a file is missing from `fashion/` or is not the published one.
    ValueError
        For a bad argument.
    """
    if not isinstance(part, str) or part not in PARTS:
        raise ValueError(f"part must be one of {', '.join(map(repr, PARTS))}, got {part!r}")
    if n is not None:
        mnist._integer("n", n, low=1, remark="or None for all images")
    guards.seeds(seed=seed)
    mnist._integer("seed", seed, low=0)
    images, labels = (_read(_find(f"{name}.gz", progress)) for name in PARTS[part])
    if n is not None and n > len(images):
        raise ValueError(
            f"n must be <= {len(images)}, the size of the {part} part of Fashion-MNIST, got {n}"
        )
    index = (
        np.arange(len(images))
        if n is None
        else np.random.default_rng(seed).permutation(len(images))[:n]
    )
    pixels = images[index].astype(np.float32) / 255
    variables = {
        "image": (
            ("sample", "y", "x"),
            pixels,
            {"units": "1", "long_name": "brightness, from 0 to 1"},
        ),
        "label": (
            "sample",
            labels[index].astype(np.int64),
            {"units": "1", "long_name": "kind of clothing"},
        ),
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
    attrs = {"title": f"Fashion-MNIST, {part} part", "source": "Fashion-MNIST", "part": part}
    return xr.Dataset(variables, coordinates, attrs)


def _find(name: str, progress: bool) -> Path:
    """The file in the folder named by the user, in the cache, or from the first mirror that has
    it.
    """
    folder = Path(os.environ.get("VNBOOK_DATA", "")).expanduser() / "fashion"
    if os.environ.get("VNBOOK_DATA") and folder.is_dir():
        if not (folder / name).is_file():
            raise MnistError(
                f"{folder} lacks {name}; put it there, or remove that folder to have it downloaded"
            )
        return folder / name

    def download(url: str, target: str, _: object) -> None:
        if os.environ.get("VNBOOK_OFFLINE", "0") not in ("", "0"):
            raise ConnectionError("VNBOOK_OFFLINE forbids the download")
        if not mnist._answers(url):
            raise ConnectionError(f"no answer from {url} within {CONNECT_SECONDS} s")
        pooch.HTTPDownloader(progressbar=progress, timeout=(CONNECT_SECONDS, READ_SECONDS))(
            url, target, None
        )

    failures, cache = [], Path(pooch.os_cache("vnbook")) / "fashion"
    for mirror in MIRRORS:
        try:
            return Path(
                pooch.retrieve(
                    mirror + name, f"md5:{MD5[name]}", fname=name, path=cache, downloader=download
                )
            )
        except (ValueError, OSError) as error:  # a wrong sum; the network or the disk
            failures.append(str(error))
    raise MnistUnavailable(
        f"Fashion-MNIST is not on this machine, and {name} could not be downloaded "
        f"({'; '.join(dict.fromkeys(failures))}). Connect to the network once, or put "
        f"{', '.join(MD5)} into fashion/ in the folder that VNBOOK_DATA names"
    )


def _read(path: Path) -> np.ndarray:
    """The array in a file of the set; MnistError unless its MD5 sum is the published one."""
    try:
        data = path.read_bytes()
        found = hashlib.md5(data, usedforsecurity=False).hexdigest()
        if found != MD5[path.name]:
            raise MnistError(
                f"{path} is not the published file: its MD5 sum is {found}, not {MD5[path.name]}"
            )
        return mnist.parse_idx(mnist._unpack(data), str(path))
    except (OSError, EOFError, zlib.error) as error:
        raise MnistError(f"{path} cannot be read ({error}); replace it by the original") from error
