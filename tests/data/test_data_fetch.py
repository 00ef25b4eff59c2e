"""Downloads through pooch, from a server on this machine's loopback."""

import hashlib
import io
import tarfile
import threading
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from deepmech.data import DataMissing, catalogue, cli_fetch, cli_status, load


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


class Server(ThreadingHTTPServer):
    def handle_error(self, *args):
        """Clients hang up in the middle: that is what some tests are about."""


@pytest.fixture
def server(tmp_path_factory):
    """A folder and the address at which it is served; requested paths are listed in ``server.seen``."""
    folder = tmp_path_factory.mktemp("served")
    seen = []

    class Handler(Quiet):
        def do_GET(self):
            seen.append(self.path)
            super().do_GET()

    http = Server(("127.0.0.1", 0), partial(Handler, directory=folder))
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
    source = replace(catalogue.SOURCES["mnist"], mirrors=(server.url + "gone/", server.url))
    monkeypatch.setitem(catalogue.SOURCES, "mnist", source)
    return server


def leftovers(folder, contents):
    return [p.name for p in folder.iterdir() if p.name not in contents]


def test_fetch_brings_what_is_missing_falls_back_to_the_next_mirror_and_leaves_good_files(mirrored, small, contents):
    assert ["mnist", "absent:", "deepmech"] in [line.split()[:3] for line in cli_status().splitlines()]
    assert cli_fetch(["mnist", "digits"]) == (
        "mnist: ready (checksums agree)\ndigits: ready (bundled with scikit-learn)"
    )
    assert load("mnist").x_train.shape == (30, 784)
    assert leftovers(small / "mnist", contents) == []
    assert sum(p.startswith("/gone/") for p in mirrored.seen) == 4
    mirrored.seen.clear()
    cli_fetch(["mnist"])
    assert mirrored.seen == []


def test_fetch_replaces_a_broken_file_only(mirrored, small, contents):
    cli_fetch(["mnist"])
    name = "train-labels-idx1-ubyte.gz"
    (small / "mnist" / name).write_bytes(contents[name][:20])
    assert f"{name}: cut, damaged" in cli_status()
    mirrored.seen.clear()
    cli_fetch(["mnist"])
    assert mirrored.seen == [f"/gone/{name}", f"/{name}"]
    load("mnist")


def test_a_wrong_checksum_leaves_nothing_behind(mirrored, small, contents):
    (mirrored.folder / "train-images-idx3-ubyte.gz").write_bytes(b"something else")
    with pytest.raises(DataMissing, match=r"train-images-idx3-ubyte.gz could not be downloaded.*404.*another file"):
        cli_fetch(["mnist"])
    assert list((small / "mnist").iterdir()) == []


def test_no_network_says_what_to_do(small, monkeypatch):
    source = replace(catalogue.SOURCES["mnist"], mirrors=("http://127.0.0.1:1/",))
    monkeypatch.setitem(catalogue.SOURCES, "mnist", source)
    with pytest.raises(DataMissing, match=r"refused.*'quick', which needs no download"):
        cli_fetch(["mnist"])


def test_cifar_comes_out_of_its_archive(small, server, monkeypatch):
    batches = {f.name: bytes([i]) + bytes([i] * 3072) for i, f in enumerate(catalogue.CIFAR10.files)}
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
        catalogue.CIFAR10,
        mirrors=(server.url,),
        files=tuple(replace(f, count=1, content_sha256=sha(batches[f.name])) for f in catalogue.CIFAR10.files),
        archive=(catalogue.CIFAR10.archive[0], sha(packed.getvalue())),
    )
    monkeypatch.setitem(catalogue.SOURCES, "cifar10", source)
    assert cli_fetch(["cifar10"]) == "cifar10: ready (checksums agree)"
    data = load("cifar10")
    assert sorted(data.y_train) == [0, 1, 2, 3, 4] and data.y_test.tolist() == [5]
    assert sorted(p.name for p in small.rglob("*") if p.is_file()) == sorted(batches)


def test_names_that_cannot_be_fetched(small):
    with pytest.raises(
        ValueError,
        match="digits, diabetes, geomnist, geomnist-independent, mnist, fashion-mnist, cifar10;",
    ):
        cli_fetch(["mnst"])
    with pytest.raises(ValueError, match="'cifar10-jpeg': unknown"):
        cli_fetch(["cifar10-jpeg"])


def test_the_data_directory_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("DEEPMECH_DATA", str(tmp_path))
    assert catalogue.data_directory() == tmp_path
    assert cli_status().startswith(f"data directory: {tmp_path} (DEEPMECH_DATA)")
    monkeypatch.setenv("DEEPMECH_DATA", "")
    assert catalogue.data_directory().name == "deepmech"
