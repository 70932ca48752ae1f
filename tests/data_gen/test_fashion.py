"""Fashion-MNIST: where it is looked for and what is refused, on made files. All of it offline."""

import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from data_gen import fashion, mnist
from data_gen.fashion import MD5, load
from data_gen.mnist import MnistError, MnistUnavailable


@pytest.fixture(autouse=True)
def isolated(monkeypatch, tmp_path):
    """No named folder, an empty cache, no network."""
    monkeypatch.delenv("VNBOOK_DATA", raising=False)
    monkeypatch.setenv("VNBOOK_OFFLINE", "1")
    monkeypatch.setattr(fashion.pooch, "os_cache", lambda name: tmp_path / "cache" / name)


def idx(array):
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return gzip.compress(
        bytes([0, 0, 8, array.ndim]) + sizes + array.astype(np.uint8).tobytes(), mtime=0
    )


@pytest.fixture
def tiny(monkeypatch):
    """The gzipped files of a small set, registered as if they were the published ones."""
    rng = np.random.default_rng(0)
    files = {}
    for size, names in ((40, mnist.PARTS["train"]), (10, mnist.PARTS["test"])):
        images, labels = (f"{name}.gz" for name in names)
        files[images] = idx(rng.integers(0, 256, (size, 28, 28)))
        files[labels] = idx(np.arange(size) % 10)
    monkeypatch.setattr(
        fashion, "MD5", {name: hashlib.md5(data).hexdigest() for name, data in files.items()}
    )
    return files


@pytest.fixture
def folder(tiny, monkeypatch, tmp_path):
    monkeypatch.setenv("VNBOOK_DATA", str(tmp_path / "data"))
    where = tmp_path / "data" / "fashion"
    where.mkdir(parents=True)
    for name, data in tiny.items():
        (where / name).write_bytes(data)
    return where


@pytest.fixture
def mirrors(tiny, monkeypatch):
    """Two mirrors without a network: what they answer, by address, and what was asked of them."""
    answers, asked = {}, []

    class Downloader:
        def __init__(self, **_):
            pass

        def __call__(self, url, target, _):
            asked.append(url)
            if url not in answers:
                raise ConnectionError(f"404 for {url}")
            Path(target).write_bytes(answers[url])

    monkeypatch.delenv("VNBOOK_OFFLINE")
    monkeypatch.setattr(fashion, "MIRRORS", ("a/", "b/"))
    monkeypatch.setattr(fashion.pooch, "HTTPDownloader", Downloader)
    monkeypatch.setattr(mnist, "_answers", lambda url: True)
    return answers, asked


def test_sums_are_of_the_four_files():
    names = sorted(f"{name}.gz" for part in mnist.PARTS.values() for name in part)
    assert sorted(MD5) == names
    assert all(len(bytes.fromhex(total)) == 16 for total in MD5.values())
    assert len(set(MD5.values())) == 4


def test_contract(folder):
    ds = load("train")
    assert ds["image"].dims == ("sample", "y", "x")
    assert ds["image"].shape == (40, 28, 28)
    assert ds["image"].dtype == np.float32
    assert (ds["image"].min(), ds["image"].max()) == (0, 1)
    assert ds["label"].values.tolist() == [k % 10 for k in range(40)]
    assert ds.attrs["source"] == "Fashion-MNIST"
    expected = np.random.default_rng(0).integers(0, 256, (40, 28, 28)).astype(np.float32) / 255
    np.testing.assert_array_equal(ds["image"], expected)
    assert len(fashion.CLASSES) == 10


def test_a_subset_is_drawn_by_its_seed_and_grows(folder):
    few, more, other = (
        load("train", n=5, seed=1),
        load("train", n=9, seed=1),
        load("train", n=5, seed=2),
    )
    xr.testing.assert_identical(few, more.isel(sample=slice(5)))
    assert few["sample"].values.tolist() != other["sample"].values.tolist()
    xr.testing.assert_equal(few["image"], load("train")["image"].sel(sample=few["sample"]))


def test_a_file_missing_from_the_folder_is_an_error(folder):
    (folder / "t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(MnistError, match=f"{folder} lacks t10k-labels-idx1-ubyte.gz; put it there"):
        load("test")
    assert load("train").sizes["sample"] == 40


@pytest.mark.parametrize(
    "spoil",
    [lambda data: data[:-1], lambda data: b"", lambda data: idx(np.zeros((10, 28, 28)))],
    ids=["short", "empty", "foreign"],
)
def test_files_that_are_not_the_published_ones_are_refused(folder, spoil):
    path = folder / "t10k-images-idx3-ubyte.gz"
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(MnistError, match="is not the published file: its MD5 sum is") as caught:
        load("test")
    assert str(path) in str(caught.value)


def test_a_file_that_cannot_be_unpacked_is_named(folder, monkeypatch):
    name = "t10k-images-idx3-ubyte.gz"
    data = (folder / name).read_bytes()[:-20]
    (folder / name).write_bytes(data)
    monkeypatch.setitem(fashion.MD5, name, hashlib.md5(data).hexdigest())
    with pytest.raises(MnistError, match=f"{name} cannot be read .* replace it by the original"):
        load("test")


def test_offline_without_the_set_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("VNBOOK_DATA", str(tmp_path))  # holds no fashion/
    with pytest.raises(
        MnistUnavailable, match=r"VNBOOK_OFFLINE forbids .* fashion/ in the folder that VNBOOK_DATA"
    ):
        load("test")


def test_download_fills_the_cache_once(mirrors, tiny, monkeypatch):
    answers, asked = mirrors
    answers |= {f"a/{name}": data for name, data in tiny.items()}
    first = load("test", progress=False)
    assert asked == ["a/t10k-images-idx3-ubyte.gz", "a/t10k-labels-idx1-ubyte.gz"]
    monkeypatch.setenv("VNBOOK_OFFLINE", "1")
    xr.testing.assert_identical(load("test"), first)
    assert len(asked) == 2


def test_second_mirror_serves_what_the_first_one_spoils(mirrors, tiny):
    answers, asked = mirrors
    answers |= {f"b/{name}": data for name, data in tiny.items()}
    answers["a/t10k-images-idx3-ubyte.gz"] = b"<html>please log in</html>"
    assert load("test", progress=False).sizes["sample"] == 10
    assert len(asked) == 4


def test_failing_mirrors_are_named(mirrors):
    with pytest.raises(
        MnistUnavailable, match=r"train-images-idx3-ubyte.gz could not .*404 for a/.* 404 for b/"
    ):
        load("train", progress=False)


def test_a_silent_server_counts_as_absent(mirrors, monkeypatch):
    monkeypatch.setattr(mnist, "_answers", lambda url: False)
    with pytest.raises(MnistUnavailable, match=r"no answer from a/.* no answer from b/"):
        load("train")
    assert mirrors[1] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"part": "val"}, "part must be one of 'train', 'test', got 'val'"),
        ({"part": None}, "part must be one of"),
        ({"n": 0}, "n must be an integer >= 1 or None for all images, got 0"),
        ({"n": 41}, "n must be <= 40, the size of the train part of Fashion-MNIST, got 41"),
        ({"seed": -1}, "seed must be an integer >= 0 and <= 9223372036854775807, got -1"),
    ],
)
def test_bad_arguments_are_named(folder, arguments, message):
    with pytest.raises(ValueError, match=message):
        load(**({"part": "train"} | arguments))
