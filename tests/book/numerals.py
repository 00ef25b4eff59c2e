"""The numbers that prose and captions may type, page by page, each with the reason why nothing has to compute it.

A number that is measured is none of these: it belongs into the ``detail`` of a claim or into a table, which are made
from the result. :mod:`test_prose` finds every number that no phrase of this list covers.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import xarray as xr
from scipy.special import erfinv

from deepmech.data.geomnist import TRIANGLE
from deepmech.metrics.curvature import curvature


@dataclass(frozen=True)
class Paper:
    """The paper's number, quoted."""

    text: str


@dataclass(frozen=True)
class Setting:
    """A number chosen for the figure: it stands in the code that the page runs, or in the modules named."""

    text: str
    modules: tuple[str, ...] = ()


@dataclass(frozen=True)
class Follows:
    """What follows from definitions, settings or data sets: ``numbers`` fill the places (``%.2f``) of ``text``."""

    text: str
    numbers: Callable[[], tuple[float, ...]]


@dataclass(frozen=True)
class Words:
    """No quantity at all, for a reason."""

    text: str
    because: str


FREE = Follows(r"\tau_{90} = %.4f\,", lambda: (1 / (4 * erfinv(0.9) ** 2),))
DOUBLE = "two points that make up a class"


def _bend(points: int, ratio: float) -> float:
    """The curvature of a load curve of so many points whose steps grow evenly from the first to ``ratio`` times it."""
    falls = np.cumsum(np.linspace(1, ratio, points - 1))
    return float(curvature(xr.DataArray(-np.append(0, falls), dims="layer")))


ALLOWED: dict[str, list[Paper | Setting | Follows | Words]] = {
    "beyond/your_network": [
        Setting("curvature above 0.05"),
        Setting("nowhere farther than 0.2 of the range"),
        Setting("curvature below −0.05"),
        Setting("descent below 0.5"),
        Setting("At $c = 0.05$ that is"),
        Words("nearly twice as much", "(1 + 6c)/(1 − 6c) at c = 0.05, as the formula beside it says"),
    ],
    "elastic_sde/collapse": [
        Setting(r"$\beta = -0.4\,e^{-t}$, which obey that"),
        Setting("stays above $-0.4$"),
    ],
    "elastic_sde/effects": [Setting(r"$\beta = -0.4\,\alpha$")],
    "elastic_sde/explorer": [
        Words("two classes of two points each", DOUBLE),
        Words("Euler steps of 0.01", "a setting in JavaScript: STEP of explorers/elastic.js"),
    ],
    "elastic_sde/extensions": [
        Words("about ten searches", "two or three from each guess of the shares, of which there are a few a rule"),
    ],
    "elastic_sde/imitation": [Setting("band: 16 to 84 %")],
    "elastic_sde/logits": [
        Paper("in even steps from −1 to 1, and the angle goes in even steps from 0 towards 176 degrees"),
        Setting("ellipses with half-axes of about 6", ("deepmech.data.geomnist",)),
        Follows("triangles about %.0f wide and %.0f high", lambda: (2 * TRIANGLE[0], TRIANGLE[1] + TRIANGLE[2])),
        Setting(
            "rotated by up to 176 degrees and blurred by a Gaussian of 0.9 to 1.1 pixels", ("deepmech.data.geomnist",)
        ),
        Setting("with step size 0.005, many times", ("deepmech_book.experiments.elastic_sde.networks",)),
        Setting("with step size 0.001 and 5,000 samples", ("deepmech_book.experiments.elastic_sde.data",)),
        Paper("accuracies above 90 %, from 300,000 iterations with a step size of 0.005"),
        Paper("the scripts have 30,000 with 0.001"),
        Setting("over 300,000 iterations with step size 0.005", ("deepmech_book.experiments.elastic_sde.networks",)),
        Setting("line: 90 %"),
    ],
    "elastic_sde/model": [
        Setting("between classes 0.2"),
        Setting("0.2 within a class and 1 between"),
        Setting(r"$\beta = -0.5$, no noise"),
        Words("a run to $t = 10^8$ costs what a run to $t = 1$ does", "any large time would do"),
    ],
    "elastic_sde/separation": [Setting("at $t = 10^6$ (closed form")],
    "glass/cifar": [
        Paper("$N/P_D$ = 0.097 and 0.66 at $P_D$"),
        Paper(r"$\lambda$ = 0.001, a tenth"),
        Words(r"Q(\tau_{90}) = 0.9", "the definition of τ₉₀"),
        Follows("temperatures are %.1f times the paper's", lambda: (60_000 / 50_000,)),
        Setting("in the paper's steps of 0.001, a million of them; MNIST in steps of 0.02"),
        Setting("displacements at $T = 10^{-8}$"),
        Paper("its own lies above 0.001, and no more"),
    ],
    "glass/displacement": [Paper("after some 300,000 steps")],
    "glass/landscape": [
        Setting("box at density 1.2", ("deepmech.simulators.binary_glass",)),
        Setting("to $T = 0.5$, where it has begun"),
        Setting("at the paper's $T = 0.01$"),
        Words("Both have some hundred coordinates", "an order of magnitude, to say that one scale serves"),
        Setting("What is not above $10^{-8}$"),
        Setting("what is below $10^{-4}$ drawn there"),
    ],
    "glass/relaxation": [
        Paper(r"with weight decay ($\lambda$ = 0.01) and few weights ($N/P_D$ = 0.08)"),
        Paper("many weights ($N/P_D$ = 0.45), in the paper enough"),
        Words("at which it falls to 0.9", "the definition of τ₉₀"),
        FREE,
        Words("(a data loss near 0.3)", "a size, that of the column in the result"),
        Words("narrower than 95 % asks for", "the level of all intervals"),
        Setting("with the program's steps of 0.001", ("deepmech_book.experiments.glass.walks",)),
        Paper("At $T = 10^{-4}$, the paper's red curve"),
        Paper(r"with $\mu$ = 0.001 and batches of"),
        Follows(
            r"that is a length $\mu t$ (rate times steps) of %.0f or of %.0f.",
            lambda: (7000 * 600 * 1e-3, 500 * 600 * 1e-3),
        ),
    ],
    "glass/superposition": [
        Paper("the paper measures $t^{-0.48}$"),
        Setting(r"$\epsilon = 0.1$, $2T = 1$"),
    ],
    "glass/transitions": [
        Paper("grows past 0.18"),
        Paper(r"$\lambda$ grows past 0.03"),
        Setting("gradient descent (steps of 0.02)"),
        Paper("the paper's floor of $10^{-20}$"),
        Paper("steps of 0.001, batches of 100"),
        Paper("steps of 0.001 and batches of 100"),
        Paper("the paper's 0.18. One network a size"),
    ],
    "spring_block/chain": [Setting(r"$\eta = 0.01$ where a page names no other")],
    "spring_block/convolutional": [
        Paper("Then 5 % dropout sets in"),
        Paper("Then 30 %: the curve"),
        Paper("at a learning rate of $10^{-4}$"),
    ],
    "spring_block/equilibria": [
        Setting(r"From $\mu_\rightarrow = 0.05$ on some blocks have not moved; at 1.2 none has"),
        Setting(r"for $\mu_\rightarrow = 0.1$ and $\mu_\leftarrow = 0.2$"),
        Follows("vanishes at one force only, $%.2f$ here", lambda: ((0.1 - 0.2) / 2,)),
        Setting(r"$\mu_\rightarrow = 0.1$, $\mu_\leftarrow = 0.2$, units of"),
        Setting(r"at fixed $\varepsilon = 0.003$"),
        Setting(r"at fixed $\bar\varepsilon = 0.03$"),
        Setting(r"$\mu_\rightarrow = 0.04$, $\mu_\leftarrow = 0.12$"),
        Setting(r"(three blocks, $\mu_\rightarrow = 0.03$)"),
        Setting(r"name no step have $\eta = 0.01$"),
    ],
    "spring_block/explorer": [
        Words(r"set $\mu_\leftarrow = 0.2$ and $\mu_\rightarrow = 0.12$", "an invitation to the reader"),
    ],
    "spring_block/figures_s4_to_s9": [
        Setting(r"three learning rates, $\alpha = 0.2$", ("deepmech_book.experiments.spring_block.networks_in_time",)),
        Setting("at a learning rate of 0.001, at fewer pixels"),
        Paper("400 units at a learning rate of 0.0005, and 2,500 units at 0.0001"),
        Paper("at a learning rate of 0.0005, on MNIST"),
        Paper("at a learning rate of 0.0001, as in Fig. S6(b)"),
        Setting("steps of 0.0001 a hundred epochs"),
        Paper("a step size of 0.001 and 1,000 epochs"),
    ],
    "spring_block/folding_ruler": [
        Setting("almost straight ($u=0.99$)", ("deepmech.simulators.folding_ruler",)),
        Setting("a mean extension of 0.6"),
        Setting("Table friction $f = 0.2$"),
    ],
    "spring_block/linear_networks": [
        Paper("the paper's small steps are 0.001; its large ones, 0.01,"),
        Setting("Dropout is 10 %"),
        Paper("the printed large step of 0.01"),
        Setting("at a negative slope of 0.5"),
        Setting(r"keep $\mu_\leftarrow = 0.1$"),
        Setting(r"$\mu_\leftarrow = 0.1$, $k = y = 1$, seven blocks"),
    ],
    "spring_block/how_straight": [
        Follows("has curvature %.2f when its last step is twice its first", lambda: (_bend(8, 2.0),)),
        Words("up to 0.05 either way", "the rule of the claims, which they show"),
    ],
    "spring_block/phase_diagram": [
        Setting(r"$\mu_\leftarrow = 0.2$, seven blocks, $t = 100$"),
        Setting(r"In steps of $\eta = 0.01$", ("deepmech.simulators.spring_block.simulate",)),
        Setting(r"$\mu_\leftarrow = 0.12$, seven blocks, $t = 100$"),
        Setting(r"$k = 0.1$, $\gamma = 1$, $\tau = 0.002$, $\mu_\leftarrow = 0.016$, seven blocks, $t = 300$"),
    ],
    "spring_block/regression": [Setting("(i) learning rate 0.001, (ii) 0.01, (iii) 0.02 with 30 % dropout")],
    "spring_block/three_regimes": [
        Setting(r"(b) $\mu_\rightarrow = 0.11$, $\mu_\leftarrow = 0.03$, $\varepsilon = 0.006$"),
        Setting(r"(c) $\mu_\rightarrow = \mu_\leftarrow = 0.04$, $\varepsilon = 0.01$"),
        Setting(r"(d) $\mu_\rightarrow = 0.04$, $\mu_\leftarrow = 0.12$, $\varepsilon = 0.011$"),
        Setting(
            "takes steps of $10^{-4}$ with batches of 200 and no dropout; (c) $10^{-3}$, batches of 100, dropout 0.1;"
        ),
        Setting(r"(d) $3 \cdot 10^{-3}$, batches of 50, dropout 0.2"),
        Words("some four hundred chains", "the size of a grid, to say that it is not small"),
    ],
}
