"""MNIST: where it is looked for, what is refused, what the stand-in says of itself.

All of it offline.
"""

import gzip
import hashlib
import os
import threading
import tracemalloc
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
import xarray as xr

from data_gen import mnist
from data_gen.mnist import MnistError, MnistUnavailable, load, parse_idx

REAL = os.environ.get("VNBOOK_DATA")


@pytest.fixture(autouse=True)
def isolated(monkeypatch, tmp_path):
    """No named folder, an empty cache, no network."""
    monkeypatch.delenv("VNBOOK_DATA", raising=False)
    monkeypatch.setenv("VNBOOK_OFFLINE", "1")
    monkeypatch.setattr(mnist.pooch, "os_cache", lambda name: tmp_path / "cache" / name)


def idx(array):
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.astype(np.uint8).tobytes()


@pytest.fixture
def tiny(monkeypatch):
    """The bytes of a small set in the format of MNIST, registered as if it were the real one."""
    rng = np.random.default_rng(0)
    files = {}
    for size, (images, labels) in zip((40, 10), mnist.PARTS.values(), strict=True):
        files[images] = idx(rng.integers(0, 256, (size, 28, 28)))
        files[labels] = idx(np.arange(size) % 10)
    monkeypatch.setattr(
        mnist, "SHA256", {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    )
    return files


@pytest.fixture
def folder(tiny, monkeypatch, tmp_path):
    """The small set, gzipped, in the folder that VNBOOK_DATA names."""
    monkeypatch.setenv("VNBOOK_DATA", str(tmp_path / "data"))
    where = tmp_path / "data" / "mnist"
    where.mkdir(parents=True)
    for name, data in tiny.items():
        (where / f"{name}.gz").write_bytes(gzip.compress(data))
    return where


# The parser


@pytest.mark.parametrize("shape", [(5,), (3, 4, 2), (0,)])
def test_idx_round_trip(shape):
    array = np.random.default_rng(1).integers(0, 256, shape).astype(np.uint8)
    parsed = parse_idx(idx(array), "it")
    assert parsed.dtype == np.uint8
    np.testing.assert_array_equal(parsed, array)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda data: data[:-1], "some.idx is truncated: 23 bytes of data, 24 wanted"),
        (lambda data: data[:9], "truncated: its header of 16 bytes ends after 9"),
        (lambda data: data + b"\0", "too long: 25 bytes of data, 24 wanted"),
        (
            lambda data: b"\0\0\x0d" + data[3:],
            "not an idx file of unsigned bytes: it begins with '00 00 0d 03'",
        ),
        (lambda data: b"\0\0\x08\0" + data[4:], "not an idx file"),
        (lambda data: b"<html>", "not an idx file"),
        (lambda data: b"", "not an idx file"),
    ],
)
def test_idx_refuses_what_is_not_exact(spoil, message):
    with pytest.raises(MnistError, match=message):
        parse_idx(spoil(idx(np.zeros((2, 3, 4)))), "some.idx")


@pytest.mark.parametrize(
    "shape",
    [
        (0, 2**31, 2**31),
        (0, 2**32 - 1, 2**31),
        (0, 2**31, 2**31, 2),
        (0,) * 64,
        (0,) * 65,
        (2**32 - 1,) * 254 + (0,),
    ],
)
def test_shapes_that_no_array_has_are_refused_with_the_name_of_the_file(shape):
    data = bytes([0, 0, 8, len(shape)]) + b"".join(size.to_bytes(4, "big") for size in shape)
    try:
        wanted = np.empty(0, np.uint8).reshape(shape).shape
    except ValueError:
        with pytest.raises(MnistError, match=r"some\.idx claims"):
            parse_idx(data, "some.idx")
    else:
        assert parse_idx(data, "some.idx").shape == wanted


# The dataset


def test_dataset_holds_the_bytes_of_the_files(folder, tiny):
    ds = load("test")
    images = np.frombuffer(tiny["t10k-images-idx3-ubyte"][16:], np.uint8).reshape(10, 28, 28)
    assert ds["image"].dims == ("sample", "y", "x")
    assert ds["image"].dtype == np.float32
    np.testing.assert_allclose(ds["image"], images / 255, rtol=1e-6)
    assert ds["image"].min() == 0 and ds["image"].max() == 1
    assert ds["label"].values.tolist() == list(range(10))
    assert (ds.attrs["source"], ds.attrs["fallback"]) == ("MNIST", 0)
    assert all(ds[name].attrs["units"] for name in (*ds.data_vars, *ds.coords))


def test_dataset_survives_a_file(folder, tmp_path):
    ds = load("test", n=4)
    ds.to_netcdf(tmp_path / "mnist.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "mnist.nc", engine="h5netcdf") as read:
        xr.testing.assert_identical(read.load(), ds)


def test_parts_are_different_files(folder):
    assert load("train").sizes["sample"] == 40
    assert load("test").sizes["sample"] == 10


def test_subset_follows_from_its_seed(folder):
    everything = load("train")
    first, again, other = (load("train", n=12, seed=seed) for seed in (1, 1, 2))
    xr.testing.assert_identical(first, again)
    assert first["sample"].values.tolist() != other["sample"].values.tolist()
    assert len(set(first["sample"].values.tolist())) == 12
    np.testing.assert_array_equal(first["image"], everything["image"].sel(sample=first["sample"]))
    np.testing.assert_array_equal(first["label"], everything["label"].sel(sample=first["sample"]))


def test_larger_subset_begins_with_the_smaller_one(folder):
    small, large = load("train", n=5), load("train", n=9)
    xr.testing.assert_identical(small, large.isel(sample=slice(5)))
    assert sorted(load("train", n=40)["sample"].values) == list(range(40))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"part": "val"}, "part must be one of 'train', 'test', got 'val'"),
        ({"part": None}, "part must be one of"),
        ({"n": 0}, "n must be an integer >= 1 or None for all images, got 0"),
        ({"n": 2.0}, "n must be an integer"),
        ({"n": True}, "n must be an integer"),
        ({"n": 41}, "n must be <= 40, the size of the train part of MNIST, got 41"),
        ({"seed": -1}, "seed must be an integer >= 0 and <= 9223372036854775807, got -1"),
        ({"seed": None}, "seed must be"),
    ],
)
def test_bad_arguments_are_named(folder, arguments, message):
    with pytest.raises(ValueError, match=message):
        load(**({"part": "train"} | arguments))


# The named folder


def test_folder_may_hold_raw_files_and_hold_them_itself(tiny, monkeypatch, tmp_path):
    monkeypatch.setenv("VNBOOK_DATA", str(tmp_path))
    images, labels = mnist.PARTS["test"]
    (tmp_path / images).write_bytes(tiny[images])
    # unpacked by a browser that kept the name
    (tmp_path / f"{labels}.gz").write_bytes(tiny[labels])
    assert load("test").sizes["sample"] == 10


def test_named_folder_without_the_set_is_an_error_even_with_fallback(folder, tmp_path):
    (folder / "t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(
        MnistError, match=f"{tmp_path / 'data'}, but .* holds t10k-labels-idx1-ubyte .*unset VNBOOK"
    ):
        load("test", allow_fallback=True)
    assert load("train").sizes["sample"] == 40


def test_missing_folder_is_an_error_even_with_fallback(monkeypatch, tmp_path):
    monkeypatch.setenv("VNBOOK_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(MnistError, match="nowhere"):
        load("test", allow_fallback=True)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda packed, data: packed[: len(packed) // 2], "cannot be read"),
        (lambda packed, data: packed[:2] + b"\xff" * 50, "cannot be read"),
        (lambda packed, data: packed[:-8] + bytes(8), "cannot be read"),
        (lambda packed, data: gzip.compress(data[:-100]), "truncated"),
        (lambda packed, data: b"<html>404</html>", "not an idx file"),
        (lambda packed, data: b"", "not an idx file"),
        (
            lambda packed, data: gzip.compress(data[:-1] + bytes([data[-1] ^ 1])),
            "is not the .* of MNIST: the sha256",
        ),
    ],
    ids=["half", "garbage", "crc", "short", "foreign", "empty", "one bit"],
)
def test_damaged_files_are_named_and_never_replaced_silently(folder, tiny, spoil, message):
    path = folder / "t10k-images-idx3-ubyte.gz"
    path.write_bytes(spoil(path.read_bytes(), tiny["t10k-images-idx3-ubyte"]))
    with pytest.raises(MnistError, match=message) as caught:
        load("test", allow_fallback=True)
    assert str(path) in str(caught.value)
    assert "replace it by the original" in str(caught.value)
    assert not isinstance(caught.value, MnistUnavailable)


BOMB = gzip.compress(bytes(2**20)) * 100
"""100 MiB in 100 KiB; each of its members is small, and so is the size that its end tells."""


def peak(call):
    """The most bytes that `call` asked for at once, as far as Python knows."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_small_file_that_unpacks_to_a_huge_one_is_refused_in_little_memory(folder):
    path = folder / "t10k-images-idx3-ubyte.gz"
    path.write_bytes(BOMB)

    def refused():
        with pytest.raises(MnistError, match=r"cannot be read .it unpacks to more than") as caught:
            load("test", allow_fallback=True)
        assert str(path) in str(caught.value)

    assert peak(refused) < 2**24


def test_a_huge_file_is_refused_before_it_is_read(folder):
    path = folder / "t10k-images-idx3-ubyte"  # is looked for first
    with path.open("wb") as file:
        file.truncate(2**26 + 1)

    def refused():
        with pytest.raises(MnistError, match=r"cannot be read .it has 67108865 bytes"):
            load("test", allow_fallback=True)

    assert peak(refused) < 2**20


# Cache and mirrors


@pytest.fixture
def mirror(monkeypatch):
    """A mirror on this machine: the paths asked for, in order, and the answers it gives (404 by
    default).
    """
    asked, answers = [], {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            body = answers.get(self.path)
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def do_HEAD(self):
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("VNBOOK_OFFLINE")
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(mnist, "MIRRORS", (f"{address}/a/", f"{address}/b/"))
    yield asked, answers
    server.shutdown()
    server.server_close()


def test_download_fills_the_cache_once(mirror, tiny, monkeypatch):
    asked, answers = mirror
    answers |= {f"/a/{name}.gz": gzip.compress(data) for name, data in tiny.items()}
    first = load("test", progress=False)
    assert asked == ["/a/t10k-images-idx3-ubyte.gz", "/a/t10k-labels-idx1-ubyte.gz"]
    monkeypatch.setenv("VNBOOK_OFFLINE", "1")
    xr.testing.assert_identical(load("test"), first)
    assert len(asked) == 2


def test_second_mirror_serves_what_the_first_one_spoils(mirror, tiny):
    asked, answers = mirror
    images, labels = mnist.PARTS["test"]
    answers[f"/a/{images}.gz"] = b"<html>please log in</html>"
    answers[f"/a/{labels}.gz"] = gzip.compress(tiny[labels])[:20]
    answers |= {f"/b/{name}.gz": gzip.compress(tiny[name]) for name in (images, labels)}
    assert load("test", progress=False).sizes["sample"] == 10
    assert len(asked) == 4


def test_a_mirror_that_sends_a_bomb_counts_as_absent(mirror):
    _, answers = mirror
    answers[f"/a/{mnist.PARTS['test'][0]}.gz"] = BOMB
    with pytest.raises(MnistUnavailable, match="it unpacks to more than 67108864 bytes"):
        load("test", progress=False)


def test_damaged_cache_is_filled_anew(mirror, tiny, tmp_path):
    _, answers = mirror
    answers |= {f"/a/{name}.gz": gzip.compress(data) for name, data in tiny.items()}
    good = load("test", progress=False)
    (cached,) = (tmp_path / "cache").rglob("t10k-images-idx3-ubyte")
    cached.write_bytes(b"damaged")
    xr.testing.assert_identical(load("test", progress=False), good)


def test_failing_mirrors_are_tried_once_each_for_one_file_only(mirror):
    asked, _ = mirror
    with pytest.raises(MnistUnavailable, match="404"):
        load("train", progress=False)
    assert asked == ["/a/train-images-idx3-ubyte.gz", "/b/train-images-idx3-ubyte.gz"]


def test_silent_server_counts_as_absent(mirror, monkeypatch):
    asked, _ = mirror
    over = threading.Event()

    def hang(*_, **__):
        over.wait(60)
        raise OSError("hung up")

    monkeypatch.setattr(mnist, "CONNECT_SECONDS", 0.05)
    monkeypatch.setattr("requests.head", hang)
    with pytest.raises(
        MnistUnavailable, match=r"no answer from .*/a/.* within 0\.05 s; no answer from .*/b/"
    ):
        load("test")
    assert asked == []
    over.set()


def test_closed_port_counts_as_absent(monkeypatch):
    monkeypatch.delenv("VNBOOK_OFFLINE")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(mnist, "MIRRORS", ("http://127.0.0.1:9/",))
    with pytest.raises(MnistUnavailable, match="no answer"):
        load("test")
    assert load("test", allow_fallback=True).attrs["fallback"] == 1


# The stand-in


def test_offline_without_fallback_says_what_to_do():
    with pytest.raises(MnistUnavailable) as caught:
        load("train")
    message = str(caught.value)
    assert message.count("VNBOOK_OFFLINE forbids the download") == 1
    for hint in ("VNBOOK_DATA", "train-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"):
        assert hint in message


def test_fallback_says_so_and_looks_like_mnist():
    train, test = (load(part, allow_fallback=True) for part in ("train", "test"))
    assert (train.sizes["sample"], test.sizes["sample"]) == (1437, 360)
    for ds in (train, test):
        assert ds.attrs["fallback"] == 1
        assert ds.attrs["source"] == "scikit-learn digits, 8x8, enlarged to 28x28"
        assert "in place of MNIST" in ds.attrs["title"]
        image = ds["image"].values
        assert image.shape[1:] == (28, 28)
        assert image.dtype == np.float32
        assert image.min() >= 0 and 0.9 < image.max() <= 1
        # The digit fills the middle 20 pixels; the frame is empty.
        assert image[:, 4:24, 4:24].sum() == image.sum()
        assert (image.max(axis=(0, 1))[4:24] > 0).all()
        assert set(ds["label"].values.tolist()) == set(range(10))


def test_fallback_keeps_each_label_with_its_image():
    from sklearn.datasets import load_digits

    small = load_digits()
    ds = load("test", allow_fallback=True)
    # Averages over the blocks that came from one pixel recover the small image well enough to find
    # it again.
    shrunk = ds["image"].values[:, 4:24, 4:24].reshape(-1, 10, 2, 10, 2).mean((2, 4))
    rows = np.rint((np.arange(8) + 0.5) * 10 / 8 - 0.5).astype(int)
    coarse = shrunk[:, rows][:, :, rows].reshape(len(shrunk), -1)
    flat = small.images.reshape(-1, 64) / 16
    nearest = ((coarse[:, None] - flat) ** 2).sum(2).argmin(1)
    assert (small.target[nearest] == ds["label"].values).mean() > 0.99


def test_fallback_parts_share_no_image_and_are_stable():
    train, test = (load(part, allow_fallback=True) for part in ("train", "test"))
    joined = np.concatenate([train["image"], test["image"]]).reshape(1797, -1)
    assert len(np.unique(joined, axis=0)) == 1797
    xr.testing.assert_identical(train, load("train", allow_fallback=True))


def test_fallback_subset_too_large_names_the_sizes():
    with pytest.raises(
        ValueError, match=r"n must be <= 360, the size of the test part of scikit-learn .* 2000"
    ):
        load("test", n=2000, allow_fallback=True)


# The real set


@pytest.mark.skipif(not REAL, reason="VNBOOK_DATA is not set: the real MNIST is not at hand")
@pytest.mark.parametrize(
    ("part", "size", "first", "per_class"),
    [
        (
            "train",
            60000,
            [5, 0, 4, 1, 9],
            [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949],
        ),
        ("test", 10000, [7, 2, 1, 0, 4], [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]),
    ],
)
def test_real_set(monkeypatch, part, size, first, per_class):
    monkeypatch.setenv("VNBOOK_DATA", REAL)
    ds = load(part)  # checks the sums
    assert ds["image"].shape == (size, 28, 28)
    assert ds["label"][:5].values.tolist() == first
    assert np.bincount(ds["label"]).tolist() == per_class
    assert (ds["image"].min(), ds["image"].max()) == (0, 1)
    assert ds.attrs["fallback"] == 0
