import numpy as np
import pytest

from deepmech import over
from deepmech.trainers import CNN, MLP, Training
from deepmech.trainers.specs import Member


@pytest.mark.parametrize(
    ("spec", "field", "value", "remedy"),
    [
        (MLP, "depth", 1, "at least 2"),
        (MLP, "depth", 2.5, "whole"),
        (MLP, "width", 0, "at least 1"),
        (MLP, "slope", 1.5, "between 0"),
        (MLP, "slope", "steep", "number"),
        (MLP, "dropout", 1.0, "below 1"),
        (MLP, "dropout", float("nan"), "finite"),
        (MLP, "dropout_profile", [1.0, 1.0], "depth - 1 numbers"),
        (MLP, "batch_norm", "yes", "True, False"),
        (MLP, "scale", 2.0, "batch_norm"),
        (MLP, "layer_norm", True, "batch_norm"),
        (MLP, "init", "zeros", "orthogonal"),
        (MLP, "activation", "softsign", "tanh"),
        (CNN, "convolutions", 0, "at least 1"),
        (CNN, "pooling", "median", "average"),
        (Training, "optimizer", "lbfgs", "sgd"),
        (Training, "learning_rate", 0.0, "positive"),
        (Training, "momentum", 0.9, "adam"),
        (Training, "batch_size", 0, "at least 1"),
        (Training, "weight_decay", -0.1, "zero or positive"),
        (Training, "epochs", -1, "at least 0"),
        (Training, "data_noise", -0.1, "zero or positive"),
        (Training, "data_noise", 1.5, "label_noise"),
        (Training, "label_noise", 1.5, "fraction"),
        (Training, "loss", "poisson", "mse"),
        (Training, "stop_loss", -1, "at least 0"),
        (Training, "dtype", "float16", "float64"),
        (Training, "schedule", ((10, "width", 5.0),), "dropout"),
        (Training, "schedule", ((10, "dropout", 1.0),), "value it allows"),
        (Training, "schedule", ((0, "dropout", 0.1),), "epoch >= 1"),
        (Training, "schedule", ((1, "learning_rate", 0.0),), "value it allows"),
    ],
)
def test_errors_name_field_value_and_remedy(spec, field, value, remedy):
    with pytest.raises(ValueError, match=rf"{spec.__name__}\.{field}.*{remedy}") as error:
        spec(**{field: value})
    assert str(value if not isinstance(value, str) else repr(value)) in str(error.value)


def test_a_smooth_activation_has_no_slope_and_wants_its_scale():
    with pytest.raises(ValueError, match=r"MLP\.slope = 0\.1: must be 0 with a smooth"):
        MLP(activation="tanh", slope=0.1)
    with pytest.raises(ValueError, match=r"MLP\.scale = None: must be a number with a smooth"):
        MLP(activation="gelu", batch_norm=False)
    assert MLP(activation="gelu", batch_norm=False, scale=1.5).scale == 1.5


def test_a_bad_value_inside_a_labelled_array_is_named():
    with pytest.raises(ValueError, match=r"MLP\.dropout.*1\.2"):
        MLP(dropout=over("dropout", [0.1, 1.2]))


def test_specs_survive_json_and_hash_by_content():
    network = MLP(slope=over("slope", [0.0, 0.5]), dropout=0.1)
    training = Training(batch_size=20, schedule=[[5, "dropout", 0.1]])
    for spec in (network, training):
        again = type(spec).from_json(spec.to_json())
        assert again == spec
        assert hash(again) == hash(spec)
    assert MLP(slope=0.1) != MLP(slope=0.2)
    assert training.schedule == ((5, "dropout", 0.1),)


def test_schedule_sets_what_holds_in_each_epoch():
    schedule = ((30, "dropout", 0.3), (10, "dropout", 0.05), (20, "data_noise", 0.2))
    member = Member(MLP(), Training(schedule=schedule), 0)
    assert [member.settings(e).dropout for e in (1, 9, 10, 29, 30)] == [0.0, 0.0, 0.05, 0.05, 0.3]
    assert member.settings(20).label_noise == 0.2, "label noise follows data noise unless given"


def test_scale_keeps_the_mean_square_at_initialisation():
    # E x² is kept by c² (1 + α²)/2 E h² with E h² = E x² / 3 (uniform weights in ±1/√n) or E x² (orthogonal).
    for init, share in (("torch", 1 / 3), ("orthogonal", 1.0)):
        for slope in (0.0, 0.4, 1.0):
            c = Member(MLP(slope=slope, batch_norm=False, init=init), Training(), 0).scale
            assert np.isclose(c**2 * (1 + slope**2) / 2 * share, 1.0)
