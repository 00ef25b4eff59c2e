"""Train many small networks: specs with labelled numbers in, load curves with the same labels out."""

from deepmech.trainers.lenet import train_lenet
from deepmech.trainers.specs import CNN, MLP, SingleSample, Training
from deepmech.trainers.train import train

__all__ = ["CNN", "MLP", "SingleSample", "Training", "train", "train_lenet"]
