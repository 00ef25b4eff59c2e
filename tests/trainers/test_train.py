"""Labels, records, states and independence of members; the physics of Figure 1(c) in small."""

import numpy as np
import pytest
import torch
import xarray as xr
from trainer_data import clusters

from deepmech import over
from deepmech.data import load
from deepmech.metrics.curvature import curvature
from deepmech.metrics.separation import data_separation
from deepmech.trainers import MLP, Training, train

DATA = clusters(90, 6, 3)
SHORT = Training(epochs=3)


def test_result_carries_every_label_and_its_provenance():
    network = MLP(depth=3, width=5, slope=over("slope", [0.0, 0.5]), dropout=over("dropout", [0.0, 0.1, 0.2]))
    result = train(network, SHORT, DATA, seed=over("seed", [3, 4]), metrics=("D", "D_hat"))
    cells = {"slope": 2, "dropout": 3, "seed": 2}
    assert dict(result["load_curve"].sizes) == dict(result["load_curve_hat"].sizes) == cells | {"split": 2, "layer": 3}
    assert dict(result["accuracy"].sizes) == cells | {"split": 2}
    assert dict(result["loss"].sizes) == cells | {"epoch": 3}
    assert dict(result["state"].sizes) == cells
    assert result.dropout.values.tolist() == [0.0, 0.1, 0.2]
    assert result.attrs["engine"] == "compiled" and result.attrs["data"] == DATA.fingerprint
    assert "MLP" in result.attrs["spec"] and "torch" in result.attrs["versions"]
    assert np.isfinite(result["load_curve"]).all()


def test_without_labels_the_result_has_none():
    result = train(MLP(depth=3, width=5), SHORT, DATA)
    assert dict(result["load_curve"].sizes) == {"split": 2, "layer": 3}
    assert result["state"].item() == "finished" and result["epochs_run"].item() == 3


def test_members_do_not_know_their_neighbours():
    """Different slopes, dropout, rates, batches, noise, depths, early stops: same bits alone, in 7, in 28."""

    def trained(seeds, cells, threads):
        cell = np.arange(7)[cells]

        def values(*numbers):
            return xr.DataArray(np.array(numbers)[cells], dims="cell", coords={"cell": cell})

        network = MLP(
            depth=values(4, 4, 3, 4, 5, 4, 4),
            width=values(8, 9, 8, 8, 8, 31, 8),
            slope=values(0.0, 0.2, 0.5, 1.0, 0.0, 0.0, 0.1),
            dropout=values(0.0, 0.1, 0.0, 0.3, 0.2, 0.05, 0.0),
        )
        training = Training(
            learning_rate=values(1e-3, 1e-2, 5e-2, 1e-3, 1e-3, 1e-3, 0.1),
            batch_size=values(90, 30, 20, 90, 7, 90, 90),
            data_noise=values(0.0, 0.0, 0.0, 0.1, 0.0, 0.2, 0.0),
            epochs=values(4, 4, 30, 4, 3, 4, 30),
            stop_loss=values(0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 0.3),
        )
        return train(network, training, DATA, seed=over("seed", seeds), threads=threads).transpose("cell", "seed", ...)

    many = trained([0, 1, 2, 3], slice(0, 7), 2)
    assert "stopped" in many["state"], "the case must contain early stops"
    seven = trained([2], slice(0, 7), 1)
    alone = [trained([2], slice(i, i + 1), 1) for i in range(7)]
    for name in ("load_curve", "accuracy", "loss", "epochs_run", "state"):
        np.testing.assert_array_equal(many[name].sel(seed=[2]), seven[name])
        for i, single in enumerate(alone):
            extent = {d: slice(0, single.sizes[d]) for d in ("layer", "epoch") if d in single[name].dims}
            np.testing.assert_array_equal(seven[name].isel(cell=[i], **extent), single[name])


def test_shallower_networks_are_padded_with_nan():
    result = train(MLP(depth=over("depth", [2, 4]), width=5), SHORT, DATA)
    finite = np.isfinite(result["load_curve"].sel(split="train"))
    assert finite.sum("layer").values.tolist() == [2, 4]


def test_records_are_states_along_one_and_the_same_training():
    network = MLP(depth=3, width=6, dropout=0.1)
    long = train(network, Training(epochs=6), DATA, record=[0, 2, 6])
    for epochs in (0, 2, 6):
        short = train(network, Training(epochs=epochs), DATA)
        np.testing.assert_array_equal(long["load_curve"].sel(at_epoch=epochs), short["load_curve"])
        np.testing.assert_array_equal(long["accuracy"].sel(at_epoch=epochs), short["accuracy"])


def test_a_member_that_stops_early_keeps_its_last_state():
    training = Training(epochs=over("epochs", [5, 40]), stop_loss=0.5, learning_rate=0.01)
    result = train(MLP(depth=3, width=20), training, DATA, record=[0, 3, 5]).sel(epochs=40)
    assert result["state"].item() == "stopped"
    last = int(result["epochs_run"])
    assert last < 40 and result["loss"].sel(epoch=last) < 0.5 <= result["loss"].sel(epoch=last - 1)
    assert np.isnan(result["loss"].sel(epoch=slice(last + 1, None))).all()
    training = Training(epochs=40, stop_loss=0.5, learning_rate=0.01)
    whole = train(MLP(depth=3, width=20), training, DATA, record=[last, 40])
    np.testing.assert_array_equal(whole["load_curve"].sel(at_epoch=last), whole["load_curve"].sel(at_epoch=40))


def test_no_change_of_the_loss_stops_training():
    # A learning rate below the resolution of single precision leaves the full-batch loss as it is.
    result = train(MLP(depth=3, width=6), Training(optimizer="sgd", learning_rate=1e-30), DATA)
    assert result["state"].item() == "stopped" and result["epochs_run"].item() == 2


def test_a_scheduled_dropout_changes_nothing_before_its_epoch():
    network = MLP(depth=3, width=6)
    plain = train(network, Training(epochs=6), DATA)["loss"]
    later = train(network, Training(epochs=6, schedule=((4, "dropout", 0.3),)), DATA)["loss"]
    np.testing.assert_array_equal(plain.sel(epoch=slice(1, 3)), later.sel(epoch=slice(1, 3)))
    assert (plain != later).sel(epoch=slice(4, 6)).all()


def test_a_function_of_features_and_labels_is_measured_like_a_metric_of_this_library():
    def separation(features, labels):
        return data_separation(features, labels, n_classes=3)

    how = {"network": MLP(depth=3, width=5), "training": SHORT, "data": DATA, "record": 1}
    for engine in ("compiled", "torch"):
        made = train(**how, engine=engine, metrics=["D", separation])
        np.testing.assert_array_equal(made.separation, made.load_curve)
        assert made.separation.long_name == "separation" and made.separation.sizes["at_epoch"] == 4

    def accuracy(features, labels):
        return 0.0

    for wrong in ((lambda x, y: 0.0), "F", accuracy):
        with pytest.raises(ValueError, match="train: metrics = "):
            train(**how, metrics=[wrong])


@pytest.mark.parametrize("engine", ["compiled", "torch"])
@pytest.mark.parametrize(
    "network", [MLP(depth=3, width=5, dropout=0.2), MLP(depth=4, width=6, batch_norm=False, slope=0.1)]
)
def test_a_network_that_is_kept_has_the_features_that_were_measured_and_is_nobody_elses(network, engine):
    seeds, x = over("seed", [0, 1]), torch.from_numpy(DATA.x_test)
    made = train(network, SHORT, DATA, seed=seeds, engine=engine, ensemble_size=2, keep_models=True)
    for seed in seeds.values:
        one, model = made.sel(seed=seed, split="test"), made.model.sel(seed=seed).item()
        *layers, output = model(x, every=True)
        curve = [data_separation(layer.detach(), DATA.y_test) for layer in layers]
        np.testing.assert_allclose(curve, one.load_curve, rtol=1e-4)
        assert (output.argmax(1).numpy() == DATA.y_test).mean() == one.accuracy
        assert (not model.training and not torch.equal(model.train()(x), output)) or not network.dropout
    assert not torch.equal(*(model.linear[0].weight for model in made.model.values))


def test_a_network_of_ones_own_comes_back_as_it_was_written():
    def narrow(rate):
        return torch.nn.Sequential(
            torch.nn.Linear(6, 4), torch.nn.Tanh(), torch.nn.Dropout(rate), torch.nn.Linear(4, 3)
        )

    made = train(narrow, SHORT, DATA, rate=over("rate", [0.0, 0.5]), keep_models=True)
    for rate in (0.0, 0.5):
        model, x = made.model.sel(rate=rate).item(), torch.from_numpy(DATA.x_test)
        again = narrow(rate).eval()
        again.load_state_dict(model.state_dict())
        assert torch.equal(again(x), model(x)) and model[2].p == rate and "forward" not in vars(model[2])
        assert (model(x).argmax(1).numpy() == DATA.y_test).mean() == made.accuracy.sel(rate=rate, split="test")


def test_d_hat_cannot_tell_the_layers_of_a_narrow_linear_network_apart():
    """With fewer features than classes D̂ is invariant under invertible linear maps; D is not."""
    training = Training(epochs=30, learning_rate=1e-2, dtype="float64")
    network = MLP(depth=4, width=3, slope=1.0)
    result = train(network, training, clusters(90, 3, 5), metrics=("D", "D_hat")).sel(split="train")
    assert np.ptp(result["load_curve_hat"].values) < 1e-6
    assert np.ptp(result["load_curve"].values) > 0.1


@pytest.mark.slow
def test_digits_go_from_concave_to_convex_along_dropout():
    """Figure 1(c) in small: ReLU, bundled digits, 100 epochs of full-batch Adam."""
    result = train(MLP(dropout=over("dropout", [0.0, 0.1, 0.3])), Training(), load("digits"), seed=over("seed", [0, 1]))
    bend = curvature(result["load_curve"].sel(split="train")).mean("seed").values
    assert bend[0] > bend[1] > bend[2] and bend[0] > 0.1 and bend[2] < 0
    accuracy = result["accuracy"].sel(split="test").mean("seed").values
    assert accuracy.argmax() == 1
