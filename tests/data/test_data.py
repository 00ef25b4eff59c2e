"""Datasets: files hold what was published or are refused by name, are fetched whole, and are split and resampled."""

import gzip
import hashlib
import io
import os
import struct
import tarfile
import threading
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepmech.core.random import Stream
from deepmech.data import (
    DataCorruptError,
    DataMissingError,
    catalogue,
    cli_fetch,
    cli_status,
    fingerprint,
    load,
    resize,
)
from deepmech.data.catalogue import state

SIZES = {"train": 30, "t10k": 20}


def idx(array: np.ndarray) -> bytes:
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


@pytest.fixture(scope="session")
def contents() -> dict[str, bytes]:
    """File name -> gzip file of a small MNIST look-alike: images of noise, labels in turn."""
    stream = Stream.of("test data", 0)
    out = {}
    for split, n in SIZES.items():
        images = (stream.uniform(f"{split} images", 0, (n, 28, 28)) * 256).astype(np.uint8)
        out[f"{split}-images-idx3-ubyte.gz"] = gzip.compress(idx(images), mtime=0)
        out[f"{split}-labels-idx1-ubyte.gz"] = gzip.compress(idx(np.arange(n) % 10), mtime=0)
    return out


@pytest.fixture
def small(monkeypatch, tmp_path, contents):
    """A data directory of its own, and a catalogue in which MNIST and Fashion-MNIST are the small look-alike."""
    monkeypatch.setenv("DEEPMECH_DATA", str(tmp_path))

    def shrink(source):
        known = []
        for file in source.files:
            content = hashlib.sha256(gzip.decompress(contents[file.name])).hexdigest()
            known.append(replace(file, count=SIZES[file.name.split("-")[0]], content_sha256=content))
        return replace(source, files=tuple(known))

    monkeypatch.setitem(catalogue.SOURCES, "mnist", shrink(catalogue.SOURCES["mnist"]))
    monkeypatch.setitem(catalogue.SOURCES, "fashion-mnist", shrink(catalogue.SOURCES["fashion-mnist"]))
    return tmp_path


@pytest.fixture
def installed(small, contents):
    """The small MNIST and Fashion-MNIST, lying where they belong."""
    for folder in ("mnist", "fashion-mnist"):
        (small / folder).mkdir()
        for name, raw in contents.items():
            (small / folder / name).write_bytes(raw)
    return small


TRAIN_IMAGES, TRAIN_LABELS = "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"
TEST_IMAGES, TEST_LABELS = "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"


def cut(installed, name, keep):
    path = installed / "mnist" / name
    path.write_bytes(path.read_bytes()[:keep])


def swap(installed, a, b):
    a, b = installed / "mnist" / a, installed / "mnist" / b
    first, second = a.read_bytes(), b.read_bytes()
    a.write_bytes(second)
    b.write_bytes(first)


def rewrite(installed, name, change):
    path = installed / "mnist" / name
    content = bytearray(gzip.decompress(path.read_bytes()))
    path.write_bytes(gzip.compress(bytes(change(content))))


def flip(content):
    content[40] ^= 1
    return content


def damage_stream(installed):
    path = installed / "mnist" / TRAIN_IMAGES
    raw = bytearray(path.read_bytes())
    raw[-6] ^= 0xFF  # inside the CRC
    path.write_bytes(bytes(raw))


FAULTS = {
    "half downloaded": (lambda d: cut(d, TRAIN_IMAGES, 5000), TRAIN_IMAGES),
    "empty": (lambda d: cut(d, TEST_LABELS, 0), TEST_LABELS),
    "web page": (lambda d: (d / "mnist" / TEST_IMAGES).write_text("<html>403</html>"), TEST_IMAGES),
    "bits in the stream": (damage_stream, TRAIN_IMAGES),
    "test for training": (lambda d: swap(d, TRAIN_IMAGES, TEST_IMAGES), TRAIN_IMAGES),
    "cut inside": (lambda d: rewrite(d, TRAIN_IMAGES, lambda c: c[:-1]), TRAIN_IMAGES),
    "too much": (lambda d: rewrite(d, TRAIN_IMAGES, lambda c: c + bytes(2 * 10**8)), TRAIN_IMAGES),
    "one pixel": (lambda d: rewrite(d, TRAIN_IMAGES, flip), TRAIN_IMAGES),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_nothing_but_the_published_content_is_read(installed, fault):
    make, name = FAULTS[fault]
    load("mnist")
    make(installed)
    with pytest.raises(DataCorruptError, match=rf"(?s){name}.*deepmech data fetch mnist.*digits"):
        load("mnist")


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist"])
def test_the_same_content_in_another_gzip_wrapping_is_the_same_data(installed, name):
    """Debian's package of Fashion-MNIST has other gzip headers than its authors' files."""
    before = load(name)
    path = installed / name / TRAIN_IMAGES
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()), compresslevel=1))
    assert load(name).fingerprint == before.fingerprint


OFFICIAL = [
    pytest.param(name, marks=pytest.mark.skipif(not ready, reason=f"{name} is not in the data directory"))
    for name in ("mnist", "fashion-mnist")
    for ready in [all(path.is_file() for path in catalogue.SOURCES[name].paths().values())]
]


@pytest.mark.parametrize("name", OFFICIAL)
def test_official_files_that_lie_here_are_accepted(name):
    assert state(name) == "ready (checksums agree)"


def test_absent_and_incomplete_data_name_the_command(small, contents):
    with pytest.raises(DataMissingError, match=r"deepmech data fetch mnist.*digits, .* need no download"):
        load("mnist")
    (small / "mnist").mkdir()
    (small / "mnist" / TRAIN_IMAGES).write_bytes(contents[TRAIN_IMAGES])
    with pytest.raises(DataMissingError, match=TRAIN_LABELS):
        load("mnist")


def test_cifar_is_read_channel_by_channel_and_other_pixels_have_another_name(small, monkeypatch):
    folder, record = small / "cifar-10-batches-bin", bytes([3]) + bytes(range(256)) * 12
    folder.mkdir()
    jpeg, content = catalogue.SOURCES["cifar10-jpeg"], hashlib.sha256(record * 10).hexdigest()
    few = replace(jpeg, files=tuple(replace(f, count=10, content_sha256=content) for f in jpeg.files))
    monkeypatch.setitem(catalogue.SOURCES, "cifar10-jpeg", few)
    for file in few.files:
        (folder / file.name).write_bytes(record * 10)
    for door, error in ((load, DataCorruptError), (lambda name: cli_fetch([name]), FileExistsError)):
        with pytest.raises(error, match=r"data_batch_1.bin: .*sha256.*'cifar10-jpeg'"):
            door("cifar10")
    data = load("cifar10-jpeg", n_train=4, n_test=2)
    assert data.shape == (3, 32, 32)
    assert "not the official pixels" in data.note
    # Channel by channel, row by row: the order of the file.
    np.testing.assert_array_equal(data.x_train[0], np.tile(np.arange(256), 12).astype(np.float32) / np.float32(255))
    assert set(data.y_train) == {3}
    (folder / few.files[3].name).write_bytes(record * 9)
    with pytest.raises(DataCorruptError, match=r"data_batch_4.bin: .*sha256"):
        load("cifar10-jpeg")


@pytest.fixture
def server(tmp_path_factory):
    """A folder and the address at which it is served; requested paths are listed in ``server.seen``."""
    folder = tmp_path_factory.mktemp("served")
    seen = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

        def do_GET(self):
            seen.append(self.path)
            super().do_GET()

    http = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=folder))
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    http.folder, http.url, http.seen = folder, f"http://127.0.0.1:{http.server_port}/", seen
    yield http
    http.shutdown()
    http.server_close()
    thread.join()


@pytest.fixture
def mirrored(small, server, contents, monkeypatch):
    for name, raw in contents.items():
        (server.folder / name).write_bytes(raw)
    source = replace(catalogue.SOURCES["mnist"], url=server.url)
    monkeypatch.setitem(catalogue.SOURCES, "mnist", source)
    return server


def test_fetch_brings_what_is_missing_and_leaves_good_files(mirrored, small, contents):
    assert ["mnist", "absent:", "deepmech"] in [line.split()[:3] for line in cli_status().splitlines()]
    assert cli_fetch(["mnist", "digits"]) == (
        "mnist: ready (checksums agree)\ndigits: ready (bundled with scikit-learn)"
    )
    assert load("mnist").x_train.shape == (30, 784)
    assert {path.name for path in (small / "mnist").iterdir()} == contents.keys()
    assert len(mirrored.seen) == 4
    cli_fetch(["mnist"])
    assert len(mirrored.seen) == 4


def test_fetch_never_replaces_a_file_and_brings_only_what_is_absent(mirrored, small, contents):
    cli_fetch(["mnist"])
    name = TRAIN_LABELS
    (small / "mnist" / name).write_bytes(contents[name][:20])
    assert f"{name}: cut, damaged" in cli_status()
    mirrored.seen.clear()
    with pytest.raises(FileExistsError, match=f"{name}: cut, damaged.*Move it away"):
        cli_fetch(["mnist"])
    assert (small / "mnist" / name).read_bytes() == contents[name][:20] and mirrored.seen == []
    (small / "mnist" / name).unlink()
    cli_fetch(["mnist"])
    assert mirrored.seen == [f"/{name}"]
    load("mnist")


def test_a_wrong_checksum_leaves_nothing_behind(mirrored, small, contents):
    (mirrored.folder / "train-images-idx3-ubyte.gz").write_bytes(b"something else")
    with pytest.raises(DataMissingError, match=r"another file than was published.*train-images-idx3-ubyte.gz"):
        cli_fetch(["mnist"])
    assert list((small / "mnist").iterdir()) == []
    (mirrored.folder / "train-images-idx3-ubyte.gz").unlink()
    with pytest.raises(DataMissingError, match=r"train-images-idx3-ubyte.gz could not be downloaded.*404"):
        cli_fetch(["mnist"])


def test_no_network_says_what_to_do(small, monkeypatch):
    source = replace(catalogue.SOURCES["mnist"], url="http://127.0.0.1:1/")
    monkeypatch.setitem(catalogue.SOURCES, "mnist", source)
    with pytest.raises(DataMissingError, match=r"refused.*digits, .* need no download"):
        cli_fetch(["mnist"])


def test_cifar_comes_out_of_its_archive(small, server, monkeypatch):
    batches = {f.name: bytes([i]) + bytes([i] * 3072) for i, f in enumerate(catalogue.SOURCES["cifar10"].files)}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, raw in batches.items():
            entry = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            entry.size = len(raw)
            tar.addfile(entry, io.BytesIO(raw))
    (server.folder / "cifar-10-binary.tar.gz").write_bytes(packed.getvalue())

    def sha(raw):
        return hashlib.sha256(raw).hexdigest()

    source = replace(
        catalogue.SOURCES["cifar10"],
        url=server.url,
        files=tuple(
            replace(f, count=1, content_sha256=sha(batches[f.name])) for f in catalogue.SOURCES["cifar10"].files
        ),
        archive=(catalogue.SOURCES["cifar10"].archive[0], sha(packed.getvalue())),
    )
    monkeypatch.setitem(catalogue.SOURCES, "cifar10", source)
    (small / source.archive[0]).write_bytes(b"an archive of the user's own")
    assert cli_fetch(["cifar10"]) == "cifar10: ready (checksums agree)"
    data = load("cifar10")
    assert sorted(data.y_train) == [0, 1, 2, 3, 4] and data.y_test.tolist() == [5]
    assert (small / source.archive[0]).read_bytes() == b"an archive of the user's own"
    assert sorted(p.name for p in small.rglob("*") if p.is_file()) == sorted([*batches, source.archive[0]])


def test_unknown_names_and_such_that_cannot_be_fetched_get_the_list(small):
    for door in (load, lambda name: cli_fetch([name])):
        with pytest.raises(ValueError, match=r"'mnits': unknown; the names are digits.*mean 'mnist'"):
            door("mnits")
    with pytest.raises(ValueError, match=r"'cifar10-jpeg': .*not downloadable"):
        cli_fetch(["cifar10-jpeg"])


def test_the_data_directory_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("DEEPMECH_DATA", str(tmp_path))
    assert catalogue.data_directory() == tmp_path
    assert cli_status().startswith(f"data directory: {tmp_path} (DEEPMECH_DATA)")
    monkeypatch.setenv("DEEPMECH_DATA", "")
    assert catalogue.data_directory().name == "deepmech"


REAL = Path(os.environ.get("DEEPMECH_DATA", "")) / "mnist" / "train-images-idx3-ubyte.gz"
needs_mnist = pytest.mark.skipif(not REAL.is_file(), reason="MNIST is not in DEEPMECH_DATA (deepmech data fetch mnist)")


def rows(x: np.ndarray) -> list[bytes]:
    return sorted(row.tobytes() for row in x)


def test_digits_are_all_there_once():
    from sklearn.datasets import load_digits

    data = load("digits")
    assert (data.x_train.shape, data.x_test.shape) == ((1000, 64), (797, 64))
    assert data.x_train.dtype == np.float32 and data.y_train.dtype == np.int64
    original = load_digits()
    assert rows(np.vstack([data.x_train, data.x_test])) == rows((original.data / 16).astype(np.float32))
    labels = {row.tobytes(): y for row, y in zip((original.data / 16).astype(np.float32), original.target, strict=True)}
    assert [labels[row.tobytes()] for row in data.x_train] == data.y_train.tolist()


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 1000), st.integers(1, 797))
def test_a_smaller_set_is_the_beginning_of_a_larger_one_and_never_meets_the_test_set(n_train, n_test):
    whole, part = load("digits"), load("digits", n_train=n_train, n_test=n_test)
    np.testing.assert_array_equal(part.x_train, whole.x_train[:n_train])
    np.testing.assert_array_equal(part.x_test, whole.x_test[-n_test:])
    assert (part.fingerprint == whole.fingerprint) == ((n_train, n_test) == (1000, 797))


def test_the_split_gives_way_where_one_side_asks_for_more():
    assert load("digits", n_train=1700).x_test.shape[0] == 97
    assert load("digits", n_test=1700).x_train.shape[0] == 97
    assert load("diabetes", n_train=20).x_test.shape[0] == 100
    with pytest.raises(ValueError, match="n_train = 1700 and n_test = 98 need more than its 1797"):
        load("digits", n_train=1700, n_test=98)


@pytest.mark.parametrize("bad", [{"n_train": 0}, {"n_train": 1.5}, {"n_train": 10_000}, {"size": 0}, {"size": 2.5}])
def test_numbers_out_of_range(bad):
    ((name, value),) = bad.items()
    with pytest.raises(ValueError, match=f"{name} = {value}"):
        load("digits", **bad)
    with pytest.raises(ValueError, match="patients are not images"):
        load("diabetes", size=8)


def test_seeds_choose_the_split_and_nothing_else():
    first, again, other = load("digits"), load("digits"), load("digits", seed=1)
    np.testing.assert_array_equal(first.x_train, again.x_train)
    assert first.fingerprint == again.fingerprint != other.fingerprint
    assert not np.array_equal(first.x_train, other.x_train)
    assert rows(np.vstack([first.x_train, first.x_test])) == rows(np.vstack([other.x_train, other.x_test]))


def test_diabetes_features_span_the_unit_interval():
    data = load("diabetes")
    x = np.vstack([data.x_train, data.x_test])
    np.testing.assert_array_equal([x.min(axis=0), x.max(axis=0)], [np.zeros(10), np.ones(10)])
    assert data.n_classes == 0 and data.y_train.dtype == np.float32
    assert (data.x_train.shape, data.x_test.shape) == ((342, 10), (100, 10))
    y = np.concatenate([data.y_train, data.y_test])
    assert (y.min(), y.max()) == (25, 346)


SEEDS = st.one_of(
    st.integers(-3, 3), st.integers(2**63 - 2, 2**64), st.integers(0, 3).map(np.int64), st.integers(0, 3).map(str),
    st.integers(0, 3).map(float), st.booleans(), st.none(),
)  # fmt: skip


@given(
    st.lists(
        st.tuples(st.sampled_from(["digits", "geomnist"]), SEEDS, st.sampled_from([None, 5, 8, np.int32(32)])),
        min_size=2,
        max_size=6,
    )
)
@settings(max_examples=30)
def test_equal_fingerprints_are_equal_samples_and_the_reverse(asked):
    """A seed is a whole number of any type, or refused alike by both ways to a fingerprint; images that have the size
    already are not resampled."""
    samples = {}
    for name, seed, size in asked:
        try:
            data = load(name, size, n_train=6, n_test=3, seed=seed)
        except ValueError as error:
            assert f"load({name!r}): seed = {seed!r}" in str(error)
            with pytest.raises(ValueError, match="seed = "):
                fingerprint(name, size, n_train=6, n_test=3, seed=seed)
            continue
        assert data.fingerprint == fingerprint(name, size, n_train=6, n_test=3, seed=seed)
        samples[data.fingerprint] = samples.get(data.fingerprint, set()) | {(name, data.x_train.tobytes())}
    assert all(len(each) == 1 for each in samples.values())
    assert len({one for each in samples.values() for one in each}) == len(samples)


def test_a_fingerprint_is_refused_where_its_samples_would_be():
    for wrong in ({"size": "10"}, {"size": 0}, {"split": "torhc"}, {"seed": "5"}, {"seed": -1}):
        for name in ("digits", "mnist", "geomnist"):
            with pytest.raises(ValueError, match=next(iter(wrong))):
                fingerprint(name, **wrong)


@pytest.mark.parametrize("name", sorted({*catalogue.SOURCES, *catalogue.GEOMNIST, "digits"}))
def test_an_images_own_size_is_no_size(name):
    own = catalogue.SOURCES[name].shape[1] if name in catalogue.SOURCES else 8 if name == "digits" else 32
    counts = {"n_train": 6, "n_test": 3}
    assert fingerprint(name, own, **counts) == fingerprint(name, **counts) != fingerprint(name, own - 1, **counts)


def test_images_keep_their_shape_for_convolutions():
    assert load("digits").shape == (1, 8, 8)
    data = load("digits", size=5)
    assert data.shape == (1, 5, 5) and data.x_train.shape == (1000, 25)
    assert "5×5" in data.note


def test_resampling_by_a_whole_factor_keeps_ramps_away_from_the_border():
    """An antialiased triangle kernel reproduces linear pictures; only border pixels see a cut kernel."""
    ramp = np.broadcast_to(np.linspace(0, 1, 24, dtype=np.float32), (1, 1, 24, 24))
    small = resize(np.ascontiguousarray(ramp), 8)[0, 0]
    centres = (np.arange(8) * 3 + 1) / 23
    np.testing.assert_allclose(small[:, 1:-1], np.broadcast_to(centres[1:-1], (8, 6)), atol=1e-6)
    np.testing.assert_allclose(small, small[:1].repeat(8, 0), atol=1e-7)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_resampling_stays_in_the_unit_interval_and_is_linear(height, size, seed):
    x = Stream.of("test resize", seed).uniform("x", 0, (3, 2, height, height)).astype(np.float32)
    small = resize(x, size)
    assert small.min() >= 0 and small.max() <= 1
    np.testing.assert_allclose(resize(x[:1] / 2 + x[1:2] / 2, size), small[:1] / 2 + small[1:2] / 2, atol=1e-6)


def test_an_image_is_resampled_alike_alone_and_in_company():
    x = load("digits").x_train.reshape(-1, 1, 8, 8)
    np.testing.assert_array_equal(resize(x, 5)[[7]], resize(x[[7]], 5))


def test_small_downloads_are_split_by_seed(installed):
    data = load("mnist", size=10, n_train=12, n_test=5)
    assert (data.x_train.shape, data.x_test.shape) == ((12, 100), (5, 100))
    whole = load("mnist", size=10)
    np.testing.assert_array_equal(whole.x_train[:12], data.x_train)
    np.testing.assert_array_equal(whole.y_test[:5], data.y_test)
    assert sorted(whole.y_train) == sorted(np.arange(30) % 10)
    assert not np.array_equal(load("mnist", size=10, seed=1).y_train, whole.y_train)
    with pytest.raises(ValueError, match=r"n_train = 31: must be a whole number from 1 to 30"):
        load("mnist", n_train=31)


@needs_mnist
def test_real_mnist_as_paper_a_uses_it():
    data = load("mnist", size=10, n_train=2560)
    assert (data.x_train.shape, data.x_test.shape, data.n_classes) == ((2560, 100), (10_000, 100), 10)
    assert np.bincount(data.y_test).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    # Bilinear resampling spreads every pixel's weight evenly but for the border, which is empty in MNIST.
    full = load("mnist", n_train=2560)
    np.testing.assert_array_equal(full.y_train, data.y_train)
    np.testing.assert_allclose(data.x_train.mean(1), full.x_train.mean(1), atol=0.01)
