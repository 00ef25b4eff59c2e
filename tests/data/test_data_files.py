"""A file holds what was published, or is refused by name."""

import gzip
from dataclasses import replace

import numpy as np
import pytest

from deepmech.data import DataCorrupt, DataMissing, catalogue, files, fingerprint, load
from deepmech.data.fetch import state

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


def bomb(installed):
    (installed / "mnist" / TRAIN_IMAGES).write_bytes(gzip.compress(bytes(2**28), 1))


def swell(installed):
    with (installed / "mnist" / TRAIN_IMAGES).open("r+b") as file:
        file.truncate(2**33)  # a file with a hole: takes no room


def label_ten(content):
    content[8] = 10
    return content


FAULTS = {
    "half downloaded": (lambda d: cut(d, TRAIN_IMAGES, 5000), TRAIN_IMAGES),
    "header only": (lambda d: cut(d, TRAIN_LABELS, 6), TRAIN_LABELS),
    "empty": (lambda d: cut(d, TEST_LABELS, 0), TEST_LABELS),
    "web page": (lambda d: (d / "mnist" / TEST_IMAGES).write_text("<html>403</html>"), TEST_IMAGES),
    "bits in the stream": (damage_stream, TRAIN_IMAGES),
    "labels for images": (lambda d: swap(d, TRAIN_IMAGES, TRAIN_LABELS), TRAIN_IMAGES),
    "test for training": (lambda d: swap(d, TRAIN_IMAGES, TEST_IMAGES), TRAIN_IMAGES),
    "cut inside": (lambda d: rewrite(d, TRAIN_IMAGES, lambda c: c[:-1]), TRAIN_IMAGES),
    "one pixel": (lambda d: rewrite(d, TRAIN_IMAGES, flip), TRAIN_IMAGES),
    "bomb": (bomb, TRAIN_IMAGES),
    "8 GiB": (swell, TRAIN_IMAGES),
    "other labels": (lambda d: rewrite(d, TEST_LABELS, label_ten), TEST_LABELS),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_nothing_but_the_published_content_is_read(installed, fault):
    make, name = FAULTS[fault]
    load("mnist")
    make(installed)
    with pytest.raises(DataCorrupt, match=rf"(?s){name}.*deepmech data fetch mnist.*quick"):
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
    with pytest.raises(DataCorrupt, match=r"data_batch_1.bin: .*sha256.*load 'cifar10-jpeg'"):
        load("cifar10")
    data = load("cifar10-jpeg", n_train=4, n_test=2)
    assert data.shape == (3, 32, 32)
    assert "not the official pixels" in data.note
    # Channel by channel, row by row: the order of the file.
    np.testing.assert_array_equal(data.x_train[0], np.tile(np.arange(256), 12).astype(np.float32) / np.float32(255))
    assert set(data.y_train) == {3}
    (folder / "data_batch_4.bin").write_bytes(record * 9_999)
    with pytest.raises(DataCorrupt, match=r"data_batch_4.bin: 30726927 bytes instead"):
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
