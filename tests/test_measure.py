"""``deepmech measure``, and what draws a load curve in one call."""

import json
import zipfile
from pathlib import Path

import matplotlib
import numpy as np
import pytest
import torch
import xarray as xr
from matplotlib import pyplot
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import deepmech
from deepmech import cli
from deepmech.data import load
from deepmech.metrics.load_curve import load_curve
from deepmech.plots import DARK, in_words

matplotlib.use("agg")

FACTORY = """
import torch
from torch import nn
from torch.nn import functional as F

def mlp():
    return nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 10))

class Half(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.act, self.second = nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)

    def forward(self, x):
        return F.relu(self.second(self.act(self.first(x))))

number = 3
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a model, its weights and data, as somebody has them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    name = f"somebodys_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(FACTORY)
    module = __import__(name)
    model = module.mlp()
    with torch.no_grad():
        for i, parameter in enumerate(model.parameters()):
            parameter.copy_(torch.linspace(-1, 1, parameter.numel()).reshape(parameter.shape).roll(3 * i))
    torch.save({"epoch": 3, "state_dict": model.state_dict()}, tmp_path / "weights.pt")
    digits = load("digits", n_train=200)
    np.savez(tmp_path / "data.npz", x=digits.x_train, y=digits.y_train)
    return name, model, digits


def test_measure_prints_the_curve_and_writes_it(here, capsys, tmp_path):
    name, model, digits = here
    assert cli.main(["measure", f"{name}:mlp", "data.npz", "--weights", "weights.pt", "-o", "out"]) == 0
    said, asides = capsys.readouterr()
    curve = load_curve(model, digits.x_train, digits.y_train)
    lines = said.splitlines()
    assert lines[0] == "data separation on 200 samples" and asides == ""
    assert lines[1:4] == [f"{n:<5}  {d:7.3f}" for n, d in zip(("input", "1", "3"), curve.values, strict=True)]
    assert lines[4] == str(curve.deepmech.read())
    written = xr.load_dataarray(tmp_path / "out" / "load_curve.nc")
    np.testing.assert_array_equal(written, curve)
    assert written.name == "data_separation" and written.attrs["long_name"] == "data separation"
    assert (tmp_path / "out" / "load_curve.pdf").read_bytes().startswith(b"%PDF")
    assert in_words(curve) in (tmp_path / "out" / "load_curve.svg").read_text()
    assert (tmp_path / "out" / "load_curve.png").stat().st_size > 5000


def test_measure_without_weights_by_name_of_data_set_and_layers(here, capsys):
    name, *_ = here
    assert cli.main(["measure", f"{name}:mlp", "digits", "--samples", "150", "--layers", "input", "0", "output"]) == 0
    said, asides = capsys.readouterr()
    assert "on 150 samples" in said and "output" in said and "as its factory makes it" in asides
    assert cli.main(["measure", f"{name}:Half", "digits"]) == 0
    assert "\nrelu()  " in capsys.readouterr().out
    assert cli.main(["measure", f"{name}:mlp", "digits", "--regression"]) == 0
    assert "error of a linear probe" in capsys.readouterr().out


class Evil:
    def __reduce__(self):
        return open, ("touched", "w")


def test_measure_says_what_is_wrong_and_unpickles_nothing(here, capsys, tmp_path):
    name, *_ = here
    torch.save(Evil(), tmp_path / "evil.pt")
    (tmp_path / "words.pt").write_text("no weights")
    torch.save(nn.Linear(2, 2).state_dict(), tmp_path / "other.pt")
    np.savez(tmp_path / "objects.npz", x=np.array([{}], object), y=[0])
    np.savez(tmp_path / "names.npz", images=[0.0])
    (tmp_path / "text.pt").write_text("The quick brown fox\njumps over the lazy dog\n")
    (tmp_path / "empty.npz").touch()
    np.save(tmp_path / "single.npy", [0.0])
    (tmp_path / "single.npy").rename(tmp_path / "single.npz")
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (4000000000000,)}\n"
    with zipfile.ZipFile(tmp_path / "huge.npz", "w") as file:
        for array in ("x.npy", "y.npy"):
            file.writestr(array, b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    np.savez(tmp_path / "wide.npz", x=np.zeros((8, 5), np.float32), y=np.arange(8) % 2)
    for arguments, words in (
        ([f"{name}:mlp", "digits", "--weights", "evil.pt"], "or holds more, which could run code when it is read"),
        ([f"{name}:mlp", "digits", "--weights", "text.pt"], "is no file of plain tensors"),
        ([f"{name}:mlp", "empty.npz"], "empty.npz: must hold plain arrays x and y"),
        ([f"{name}:mlp", "single.npz"], "single.npz: must hold plain arrays x and y"),
        ([f"{name}:mlp", "huge.npz"], "huge.npz: must hold plain arrays x and y"),
        ([f"{name}:mlp", "wide.npz"], "the model does not take this batch, (8, 5) float32"),
        ([f"{name}:mlp", "digits", "--weights", "words.pt"], "is no file of plain tensors"),
        ([f"{name}:mlp", "digits", "--weights", "other.pt"], "does not fit the model: Error(s) in loading"),
        ([f"{name}:mlp", "digits", "--weights", "absent.pt"], "absent.pt"),
        ([f"{name}:mlp", "objects.npz"], "objects.npz: must hold plain arrays"),
        ([f"{name}:mlp", "names.npz"], "names.npz: must hold plain arrays"),
        ([f"{name}:number", "digits"], "gives a int, not a torch.nn.Module"),
        ([f"{name}:absent", "digits"], "give 'module:factory' of a function"),
        (["nowhere", "digits"], "give 'module:factory' of a function"),
    ):
        assert cli.main(["measure", *arguments]) == 1
        told = capsys.readouterr().err
        assert words in told and "Traceback" not in told and "weights_only" not in told, arguments
    assert not (tmp_path / "touched").exists()


def test_the_readmes_five_lines_run(here, capsys, tmp_path):
    _, model, digits = here
    text = (Path(__file__).parents[1] / "README.md").read_text().partition("## Measure my network")[2]
    code = text.partition("```python\n")[2].partition("```")[0]
    data = TensorDataset(torch.tensor(digits.x_train), torch.tensor(digits.y_train))
    exec(code, {"model": model, "loader": DataLoader(data, batch_size=50)})
    assert capsys.readouterr().out.startswith(
        load_curve(model, DataLoader(data, batch_size=50)).deepmech.read().verdict
    )
    assert (tmp_path / "load_curve.pdf").read_bytes().startswith(b"%PDF")
    pyplot.close("all")


def test_one_call_draws():
    data = load("digits", n_train=200)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 20), nn.ReLU(), nn.Linear(20, 20), nn.ReLU())
    curve = load_curve(model, data.x_train, data.y_train)
    try:
        ax = curve.deepmech.plot()
        line, chord = ax.get_lines()
        np.testing.assert_array_equal(line.get_ydata(), curve)
        np.testing.assert_array_equal(chord.get_xydata(), [[0, float(curve[0])], [2, float(curve[-1])]])
        assert [t.get_text() for t in ax.get_xticklabels()] == ["input", "1 ReLU", "3 ReLU"]
        assert (ax.get_ylabel(), ax.get_title(loc="left")) == ("data separation", curve.deepmech.read().verdict)
        _, own = pyplot.subplots()
        assert deepmech.plot(curve, ax=own, theme=DARK, title="mine") is own and own.get_title(loc="left") == "mine"
        history = xr.concat([curve, curve - 1], "step").assign_coords(step=[0, 10])
        assert len(deepmech.plot(history).get_lines()) == 2
        with pytest.raises(ValueError, match="curve is a list: give a load curve"):
            deepmech.plot([1.0, 2.0])
        with pytest.raises(ValueError, match="dimensions are"):
            deepmech.plot(history.expand_dims("seed"))
    finally:
        pyplot.close("all")
    json.dumps(curve.attrs)
