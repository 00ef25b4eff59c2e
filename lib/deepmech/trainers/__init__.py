"""Train many small networks: specs with labelled numbers in, load curves with the same labels out.

A name is imported from its module when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deepmech.trainers.langevin import settle, walk
    from deepmech.trainers.langevin_specs import Dynamics, Preparation
    from deepmech.trainers.lenet import train_lenet
    from deepmech.trainers.specs import CNN, MLP, SingleSample, Training
    from deepmech.trainers.training import train

_MODULES = {
    "langevin": ("settle", "walk"),
    "langevin_specs": ("Dynamics", "Preparation"),
    "lenet": ("train_lenet",),
    "specs": ("CNN", "MLP", "SingleSample", "Training"),
    "training": ("train",),
}
_HOMES = {name: f"{__name__}.{module}" for module, names in _MODULES.items() for name in names}
__all__ = [
    "CNN", "MLP", "Dynamics", "Preparation", "SingleSample", "Training", "settle", "train", "train_lenet", "walk",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
