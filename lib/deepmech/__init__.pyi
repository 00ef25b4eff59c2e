from .core.labels import over as over
from .data import load as load
from .metrics.curvature import curvature as curvature
from .metrics.interpret import compare as compare
from .metrics.interpret import interpret as interpret
from .metrics.load_curve import LoadCurve as LoadCurve
from .metrics.load_curve import load_curve as load_curve
from .metrics.separation import data_separation as data_separation
from .plots.load_curves import plot_load_curve as plot_load_curve
from .simulators import simulate as simulate
from .simulators.brownian import Well as Well
from .simulators.elastic_sde import ElasticSDE as ElasticSDE
from .simulators.folding_ruler import Pull as Pull
from .simulators.folding_ruler import Ruler as Ruler
from .simulators.spring_block import Chain as Chain
from .sweeps import Sweep as Sweep
from .trainers import CNN as CNN
from .trainers import MLP as MLP
from .trainers import Dynamics as Dynamics
from .trainers import Preparation as Preparation
from .trainers import SingleSample as SingleSample
from .trainers import Training as Training
from .trainers import prepare as prepare
from .trainers import train as train
from .trainers import train_lenet as train_lenet
from .trainers import walk as walk

__version__: str
__all__: list[str]
