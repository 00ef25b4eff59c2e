"""The convolutional network: its shape, its draws, and laws of its features and records."""

import numpy as np
import pytest
import torch
from oracle import Oracle
from trainer_data import pictures

from deepmech import over
from deepmech.metrics.separation import data_separation
from deepmech.trainers import CNN, MLP, Training, train
from deepmech.trainers.modules import build_network
from deepmech.trainers.specs import Member

DATA = pictures()


def fresh(network, data=DATA):
    member = Member(network, Training(dtype="float64"), 0)
    return build_network(member, data.shape, data.n_classes)


def layers(network, data=DATA):
    """Layers of the training samples in evaluation mode, without the output."""
    with torch.no_grad():
        return [h.flatten(1).numpy() for h in network.eval().layers(torch.from_numpy(data.x_train).double())[:-1]]


def test_result_has_the_labels_of_the_spec_and_a_point_per_layer():
    network = CNN(convolutions=over("convolutions", [1, 3]), channels=3, dropout=0.1)
    result = train(network, Training(epochs=2), DATA, seed=over("seed", [0, 1]), class_means=True)
    assert dict(result["load_curve"].sizes) == {"convolutions": 2, "seed": 2, "split": 2, "layer": 4}
    assert np.isfinite(result["load_curve"]).sum("layer").sel(convolutions=1).values.tolist() == [[2, 2], [2, 2]]
    assert result.attrs["engine"] == "torch" and result.attrs["fallback_reason"] == "it does not know CNN"
    assert result["class_mean"].sizes["unit"] == 3 * 36


def test_every_intermediate_layer_has_the_image_s_size_and_blocks_of_equal_numbers():
    found = layers(fresh(CNN(convolutions=3, channels=4)))
    assert [f.shape for f in found] == [(40, 72), *[(40, 4 * 36)] * 3]
    for f in found[1:]:
        blocks = f.reshape(40, 4, 3, 2, 3, 2)
        assert np.array_equal(blocks, np.broadcast_to(blocks[:, :, :, :1, :, :1], blocks.shape))
        # Upsampling repeats numbers: the separation is that of the pooled map.
        pooled = blocks[:, :, :, 0, :, 0].reshape(40, -1)
        assert np.isclose(data_separation(f, DATA.y_train), data_separation(pooled, DATA.y_train), rtol=1e-9)


@pytest.mark.parametrize("side", [5, 7])
def test_odd_images_keep_their_size(side):
    data = pictures(side=side)
    assert layers(fresh(CNN(convolutions=2, channels=3), data), data)[-1].shape == (40, 3 * side * side)


def test_average_pooling_keeps_the_mean_of_every_map():
    network = fresh(CNN(convolutions=1, channels=4, pooling="average", slope=1.0)).eval()
    features = network.layers(torch.from_numpy(DATA.x_train).double())
    before = network.norm[0](network.convolution[0](features[0]))
    torch.testing.assert_close(features[1].mean((2, 3)), before.mean((2, 3)))


def test_initial_weights_are_uniform_with_torch_s_bound_and_a_convolution_s_bias_stays():
    network = fresh(CNN(convolutions=2, channels=16))
    before = {name: p.detach().clone().numpy() for name, p in network.named_parameters()}
    for name, fan_in in (("convolution.0", 18), ("convolution.1", 144), ("linear", 576)):
        weight = before[f"{name}.weight"]
        bound = 1 / np.sqrt(fan_in)
        assert np.abs(weight).max() <= bound
        assert abs(weight.var() / (bound**2 / 3) - 1) < 5 * np.sqrt(0.8 / weight.size)
        assert np.abs(before[f"{name}.bias"]).max() <= bound and before[f"{name}.bias"].std() > 0
    one = Oracle(network, Member(CNN(convolutions=2, channels=16), Training(epochs=3), 0), DATA)
    for epoch in (1, 2, 3):
        one.step(epoch)
    changed = {name for name, p in network.named_parameters() if not np.array_equal(before[name], p.detach())}
    assert {k for k in before if "convolution" in k and "bias" in k}.isdisjoint(changed)
    assert {"convolution.0.weight", "convolution.1.weight", "linear.weight", "linear.bias", "norm.1.bias"} <= changed


@pytest.mark.parametrize("network", [CNN(convolutions=2, channels=3), MLP(depth=3, width=7)])
def test_class_means_and_spreads_make_up_the_separation(network):
    """D = log(Σ_k p_k spread_k / Σ_k p_k |mean_k - mean|²): the paper's Eq. 3 from what was recorded."""
    data = pictures(n=31)  # classes of unequal size
    result = train(network, Training(epochs=3), data, record=[1, 3], class_means=True)
    share = np.bincount(data.y_train) / 31
    mean, spread = result["class_mean"].astype(float), result["class_spread"]
    weights = np.expand_dims(share, -1)
    between = (weights * (mean - (mean * weights).sum("class")) ** 2).sum("unit").sum("class")
    ours = np.log((spread * share).sum("class") / between)
    np.testing.assert_allclose(ours, result["load_curve"].sel(split="train"), rtol=1e-4, atol=1e-5)
    first = [data.x_train[data.y_train == k].mean(0) for k in range(3)]
    if isinstance(network, CNN):
        np.testing.assert_allclose(mean.isel(layer=0, at_epoch=0)[:, : data.x_train.shape[1]], first, atol=1e-6)
