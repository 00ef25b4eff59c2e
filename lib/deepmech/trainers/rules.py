"""Losses and optimizers by the names that :class:`deepmech.trainers.Training` knows, and the rule by which networks
walk, for many networks at once.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

#: A loss gets one network's outputs, (samples, outputs), and its targets, (samples,): classes, or real numbers.
Loss = Callable[[Tensor, Tensor], Tensor]

#: An optimizer changes parameters p, (networks, numbers), in place. It gets their gradient g, each network's learning
#: rate and momentum, (networks, 1), the number of the step, from 1, and a place for what it remembers between steps.
Optimizer = Callable[[Tensor, Tensor, Tensor, Tensor, int, dict[str, Tensor]], None]


def mse(output: Tensor, target: Tensor) -> Tensor:
    """Mean squared error, of classes against their one-hot vectors."""
    if not target.is_floating_point():
        target = F.one_hot(target, output.shape[1]).to(output.dtype)
    return F.mse_loss(output, target.view_as(output))


def sgd(p: Tensor, g: Tensor, rate: Tensor, momentum: Tensor, step: int, memory: dict[str, Tensor]) -> None:
    """As ``torch.optim.SGD``."""
    if not memory:
        memory["velocity"] = torch.zeros_like(p)
    p.sub_(rate * memory["velocity"].mul_(momentum).add_(g))


def adam(p: Tensor, g: Tensor, rate: Tensor, momentum: Tensor, step: int, memory: dict[str, Tensor]) -> None:
    """As ``torch.optim.Adam`` with β₁ = 0.9, β₂ = 0.999, ε = 1e-8."""
    if not memory:
        memory |= {name: torch.zeros_like(p) for name in ("first", "second")}
    first, second = memory["first"], memory["second"]
    first.lerp_(g, 1 - 0.9)
    second.mul_(0.999).addcmul_(g, g, value=1 - 0.999)
    denominator = (second.sqrt() / (1 - 0.999**step) ** 0.5).add_(1e-8)
    p.sub_(rate / (1 - 0.9**step) * (first / denominator))


def hinge_slope(output: Tensor, sign: Tensor) -> Tensor:
    """The slope in the output f of ½ max(0, 1 - y f)², the loss of networks that walk (glass paper, Eq. 1)."""
    return -sign * F.relu(1 - sign * output)


def langevin(w: Tensor, gradient: Tensor, rate: Tensor, decay: Tensor, noise: Tensor | None = None) -> None:
    """A step of weights that walk (glass paper, Eqs. 1-3), in place; ``noise`` is √(2Tμ/P_D) ξ."""
    w.sub_(rate * (gradient + decay * w))
    if noise is not None:
        w.add_(noise)


LOSSES: dict[str, Loss] = {"cross_entropy": F.cross_entropy, "mse": mse}
OPTIMIZERS: dict[str, Optimizer] = {"adam": adam, "sgd": sgd}
