"""What training means, in plain autograd: one network, one step at a time, with the numbers of its own stream."""

from itertools import pairwise

import numpy as np
import torch
from torch import nn

from deepmech.trainers.modules import Dropout
from deepmech.trainers.specs import FactoryNetwork

OPTIMIZERS = {
    "adam": lambda p, t: torch.optim.Adam(p, lr=t.learning_rate),
    "sgd": lambda p, t: torch.optim.SGD(p, lr=t.learning_rate, momentum=t.momentum),
}


class Oracle:
    """Trains ``module`` in place as ``member`` says."""

    def __init__(self, module, member, data):
        self.module, self.member = module, member
        self.x, self.y, self.n_classes = np.asarray(data.x_train), np.asarray(data.y_train), data.n_classes
        trained = [p for p in module.parameters() if p.requires_grad]
        self.dtype, self.optimizer = trained[0].dtype, OPTIMIZERS[member.training.optimizer](trained, member.training)

    def step(self, epoch):
        self.optimizer.param_groups[0]["lr"] = self.member.settings(epoch).learning_rate
        losses = []
        for step, index in self.member.batches(epoch, len(self.y)):
            self.optimizer.zero_grad()
            loss = self.loss(epoch, step, index)
            loss.backward()
            group = self.optimizer.param_groups[0]
            for p in group["params"]:
                p.data.mul_(1 - group["lr"] * self.member.training.weight_decay)
            self.optimizer.step()
            losses.append(loss.item() * len(index))
        return sum(losses) / len(self.y)

    def loss(self, epoch, step, index):
        now, stream = self.member.settings(epoch), self.member.stream
        x, y = self.x[index].astype(float), self.y[index]
        noise = stream.normal("input noise", step, (x[0].size, len(y))).T.reshape(x.shape)
        x += now.data_noise * self.x.std(dtype=float) * noise
        if self.n_classes:
            y = noisy_labels(stream, y, step, now.label_noise, self.n_classes)
        self.module.train()
        found = (m for m in self.module.modules() if isinstance(m, Dropout | nn.modules.dropout._DropoutNd))
        for number, dropout in enumerate(found, start=1):
            self.draw(dropout, now, step, "" if number == 1 else f" of {number}")
        output, target = self.module(torch.from_numpy(x).to(self.dtype)), torch.from_numpy(y)
        if self.member.training.loss == "cross_entropy":
            return nn.functional.cross_entropy(output, target)
        target = nn.functional.one_hot(target, self.n_classes) if self.n_classes else target[:, None]
        return ((output - target.to(self.dtype)) ** 2).mean()

    def draw(self, dropout, now, step, of):
        """Its masks are those of the member's stream; every call in one step has its own."""
        stream, calls = self.member.stream, iter(range(1, 100))

        def drawn(shape, rate):
            return torch.from_numpy(stream.mask(f"dropout {next(calls)}{of}", step, shape, rate))

        if not isinstance(dropout, Dropout):
            whole = {nn.Dropout1d: -1, nn.Dropout2d: 2, nn.Dropout3d: -3}.get(type(dropout))

            def forward(x):
                rate, shape = dropout.p, (*x.shape[:whole], *[1] * len(x.shape[whole:])) if whole else x.shape
                kept = drawn(tuple(shape), rate) if dropout.training and rate else torch.ones(tuple(shape))
                made = x * kept.to(x.dtype) / (1 - rate * dropout.training)
                return x.copy_(made) if dropout.inplace else made

            dropout.forward = forward
            return
        own = isinstance(self.member.network, FactoryNetwork)
        rate = 1 - 1 / dropout.factor.item() if own else now.dropout
        dropout.draw_mask = lambda _, __, shape: drawn(shape, rate)[None]
        dropout.factor.copy_(1 / (1 - torch.tensor(rate, dtype=torch.float64)))


def noisy_labels(stream, labels, step, share, n_classes):
    """``labels``, of which a ``share`` are replaced by uniform random classes (the same one included)."""
    true = stream.mask("label noise", step, len(labels), share)
    return np.where(true, labels, np.floor(stream.uniform("random label", step, len(labels)) * n_classes).astype(int))


def hinge_gradient(weights, sizes, x, y, dtype=torch.float64, softplus=0.0):
    """Gradient of the mean of ½ max(0, 1 - y f)² in the flat weights of a bias-free network of ReLU or softplus."""
    flat = torch.tensor(weights, dtype=dtype, requires_grad=True)
    a, start = torch.tensor(x, dtype=dtype), 0
    for i, (below, above) in enumerate(pairwise(sizes)):
        a = a @ flat[start : start + above * below].view(above, below).T
        if i < len(sizes) - 2:
            a = torch.logaddexp(0 * a, softplus * a) / softplus if softplus else torch.relu(a)
        start += above * below
    (0.5 * torch.relu(1 - torch.tensor(y, dtype=dtype) * a[:, 0]) ** 2).mean().backward()
    return flat.grad.double().numpy()
