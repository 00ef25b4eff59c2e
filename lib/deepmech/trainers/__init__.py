"""Train many small networks: specs with labelled numbers in, load curves with the same labels out.

A name is imported from its module when it is first asked for.
"""

from typing import TYPE_CHECKING

from deepmech.core import provenance

if TYPE_CHECKING:
    from deepmech.trainers.langevin import Dynamics, Preparation, settle, walk
    from deepmech.trainers.lenet import train_lenet
    from deepmech.trainers.specs import CNN, MLP, SingleSample, Training
    from deepmech.trainers.training import train

__getattr__, __dir__, _HOMES = provenance.homes(__name__)
__all__ = [
    "CNN", "MLP", "Dynamics", "Preparation", "SingleSample", "Training", "settle", "train", "train_lenet", "walk",
]  # fmt: skip
