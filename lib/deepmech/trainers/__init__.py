"""Train many small networks: specs with labelled numbers in, load curves with the same labels out.

A name is imported from its module when it is first asked for.
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from deepmech.trainers.langevin import Dynamics, Preparation, prepare, walk
    from deepmech.trainers.lenet import train_lenet
    from deepmech.trainers.specs import CNN, MLP, SingleSample, Training
    from deepmech.trainers.training import train

__getattr__, __dir__, _ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "langevin": ["Dynamics", "Preparation", "prepare", "walk"],
        "lenet": ["train_lenet"],
        "specs": ["CNN", "MLP", "SingleSample", "Training"],
        "training": ["train"],
    },
)
__all__ = [
    "CNN", "MLP", "Dynamics", "Preparation", "SingleSample", "Training", "prepare", "train", "train_lenet", "walk",
]  # fmt: skip
