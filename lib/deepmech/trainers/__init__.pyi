from .langevin import Dynamics as Dynamics
from .langevin import Preparation as Preparation
from .langevin import prepare as prepare
from .langevin import walk as walk
from .lenet import train_lenet as train_lenet
from .specs import CNN as CNN
from .specs import MLP as MLP
from .specs import SingleSample as SingleSample
from .specs import Training as Training
from .training import train as train

__all__: list[str]
