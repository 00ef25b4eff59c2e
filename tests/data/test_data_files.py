"""What is wrong with a file is told apart, and the file is named."""

import gzip
import struct
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepmech.data import DataCorrupt, DataMissing, catalogue, files, fingerprint, load
from deepmech.data.fetch import state
from deepmech.data.files import parse_idx

TRAIN_IMAGES, TRAIN_LABELS = "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"
TEST_IMAGES, TEST_LABELS = "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"


@given(st.lists(st.integers(1, 6), min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_idx_gives_back_what_was_written(shape, random):
    values = np.array([random.randrange(256) for _ in range(int(np.prod(shape)))], np.uint8).reshape(shape)
    header = struct.pack(f">HBB{len(shape)}I", 0, 8, len(shape), *shape)
    parsed = parse_idx(header + values.tobytes())
    assert parsed.dtype == np.uint8
    np.testing.assert_array_equal(parsed, values)


@given(st.integers(0, 12 + 24 - 1))
def test_idx_cut_anywhere_is_an_error(length):
    whole = struct.pack(">HBB2I", 0, 8, 2, 4, 6) + bytes(24)
    parse_idx(whole)
    with pytest.raises(DataCorrupt, match=r"truncated|not an IDX magic number"):
        parse_idx(whole[:length])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x1f\x8b\x08\x01", "not an IDX magic number"),
        (b"\0\0\x08\0", "not an IDX magic number"),
        (b"\0\0\x0d\x01\0\0\0\0", "type 0x0d"),
        (b"\0\0\x08\x01\0\0\0\x01\x05\x06", "1 bytes more"),
        # A header that promises 2^96 values must not overflow into something plausible; -1 is 2^32 - 1.
        (b"\0\0\x08\x03" + b"\xff" * 12, "truncated"),
        (b"\0\0\x08\x01" + struct.pack(">i", -1) + bytes(9), "truncated, 17 of the 4294967303"),
        (b"\0\0\x08\x03" + b"\xff" * 8 + bytes(4), r"sizes \(4294967295, 4294967295, 0\)"),
        (b"\0\0\x08\x04" + b"\0\0\0\1" * 4 + b"\0", "images have three"),
        (b"\0\0\x08\xff" + b"\0\0\0\1" * 255 + b"\0", "images have three"),
    ],
)
def test_idx_names_the_fault(content, message):
    with pytest.raises(DataCorrupt, match=message):
        parse_idx(content)


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


def bomb(installed):
    (installed / "mnist" / TRAIN_IMAGES).write_bytes(gzip.compress(bytes(2**28), 1))


def swell(installed):
    with (installed / "mnist" / TRAIN_IMAGES).open("r+b") as file:
        file.truncate(2**33)  # a file with a hole: takes no room


def label_ten(content):
    content[8] = 10
    return content


FAULTS = {
    "half downloaded": (lambda d: cut(d, TRAIN_IMAGES, 5000), TRAIN_IMAGES, "truncated or half downloaded"),
    "header only": (lambda d: cut(d, TRAIN_LABELS, 6), TRAIN_LABELS, "truncated or half downloaded"),
    "empty": (lambda d: cut(d, TEST_LABELS, 0), TEST_LABELS, "empty"),
    "web page": (
        lambda d: (d / "mnist" / TEST_IMAGES).write_text("<html>403</html>"),
        TEST_IMAGES,
        "a web page",
    ),
    "not gzip": (lambda d: (d / "mnist" / TEST_IMAGES).write_bytes(b"\0\0\x08\x03"), TEST_IMAGES, "not a gzip file"),
    "bits in the stream": (damage_stream, TRAIN_IMAGES, "damaged"),
    "labels for images": (
        lambda d: swap(d, TRAIN_IMAGES, TRAIN_LABELS),
        TRAIN_IMAGES,
        "holds labels where images are expected",
    ),
    "test for training": (lambda d: swap(d, TRAIN_IMAGES, TEST_IMAGES), TRAIN_IMAGES, "holds 20 images, expected 30"),
    "cut inside": (lambda d: rewrite(d, TRAIN_IMAGES, lambda c: c[:-1]), TRAIN_IMAGES, "truncated, 23535 of the 23536"),
    "one pixel": (lambda d: rewrite(d, TRAIN_IMAGES, flip), TRAIN_IMAGES, "sha256 of its content"),
    "bomb": (bomb, TRAIN_IMAGES, r"unpack to more than 67108864"),
    "8 GiB": (swell, TRAIN_IMAGES, "8589934592 bytes; no file"),
    "other labels": (lambda d: rewrite(d, TEST_LABELS, label_ten), TEST_LABELS, "sha256 of its content"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_told_apart_and_named(installed, fault):
    make, name, message = FAULTS[fault]
    load("mnist")
    make(installed)
    with pytest.raises(DataCorrupt, match=message) as error:
        load("mnist")
    assert name in str(error.value)
    assert "deepmech data fetch mnist" in str(error.value)
    assert "quick" in str(error.value)


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


def test_mnist_in_the_place_of_a_look_alike_is_recognised(installed, monkeypatch):
    """Two files of the same kind and count, exchanged between datasets: only the content tells."""
    mnist = catalogue.SOURCES["mnist"]
    other = replace(mnist.files[0], name="other-images.gz", content_sha256="0" * 64)
    monkeypatch.setitem(catalogue.SOURCES, "mnist", replace(mnist, files=(other, *mnist.files[1:])))
    monkeypatch.setitem(catalogue.SOURCES, "fashion-mnist", mnist)
    (installed / "mnist" / TRAIN_IMAGES).rename(installed / "mnist" / "other-images.gz")
    with pytest.raises(DataCorrupt, match=f"other-images.gz: holds the content of {TRAIN_IMAGES}"):
        load("mnist")


def test_absent_and_incomplete_data_name_the_command(small, contents):
    with pytest.raises(DataMissing, match=r"deepmech data fetch mnist.*'quick' needs no download"):
        load("mnist")
    (small / "mnist").mkdir()
    (small / "mnist" / TRAIN_IMAGES).write_bytes(contents[TRAIN_IMAGES])
    with pytest.raises(DataMissing, match=TRAIN_LABELS):
        load("mnist")


def test_cifar_files_of_a_wrong_length_or_content(small):
    folder = small / "cifar-10-batches-bin"
    folder.mkdir()
    record = bytes([3]) + bytes(range(256)) * 12
    for name in [*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]:
        (folder / name).write_bytes(record * 10_000)
    with pytest.raises(DataCorrupt, match=r"data_batch_1.bin: sha256.*load 'cifar10-jpeg'"):
        load("cifar10")
    data = load("cifar10-jpeg", n_train=4, n_test=2)
    assert data.shape == (3, 32, 32)
    assert "not the official pixels" in data.note
    # Channel by channel, row by row: the order of the file.
    np.testing.assert_array_equal(data.x_train[0], np.tile(np.arange(256), 12).astype(np.float32) / np.float32(255))
    assert set(data.y_train) == {3}
    (folder / "data_batch_4.bin").write_bytes(record * 9_999)
    with pytest.raises(DataCorrupt, match=r"data_batch_4.bin: truncated or half downloaded"):
        load("cifar10-jpeg")
    (folder / "data_batch_4.bin").write_bytes((bytes([10]) + record[1:]) * 10_000)
    with pytest.raises(DataCorrupt, match=r"data_batch_4.bin: holds the label 10"):
        load("cifar10-jpeg")


def test_a_fingerprint_reads_a_file_of_unknown_content_once_until_it_changes(small, monkeypatch):
    """Copies of CIFAR-10 from JPEG images differ: these are known by what lies here."""
    jpeg = catalogue.CIFAR10_JPEG
    few = replace(jpeg, files=tuple(replace(f, count=10) for f in jpeg.files))
    monkeypatch.setitem(catalogue.SOURCES, "cifar10-jpeg", few)
    folder = small / jpeg.folder
    folder.mkdir()
    for i, file in enumerate(jpeg.files):
        (folder / file.name).write_bytes((bytes([i]) + bytes(3072)) * 10)
    seen, real = [], files.read
    monkeypatch.setattr(files, "read", lambda path, source: seen.append(path.name) or real(path, source))
    expected = load("cifar10-jpeg").fingerprint
    seen.clear()
    assert fingerprint("cifar10-jpeg") == fingerprint("cifar10-jpeg") == expected
    assert len(seen) == 6
    (folder / jpeg.files[0].name).write_bytes((bytes([9]) + bytes(3072)) * 10)
    assert fingerprint("cifar10-jpeg") != expected
