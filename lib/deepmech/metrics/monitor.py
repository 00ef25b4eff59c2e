"""The load curve of a network while it trains, in anyone's training loop."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import torch
import xarray as xr
from torch import nn

from deepmech.core import specs
from deepmech.core.provenance import attributes
from deepmech.metrics.curvature import curvature
from deepmech.metrics.evaluation import Batches, unwrap
from deepmech.metrics.load_curve import LoadCurve, load_curve

__all__ = ["LoadCurveMonitor"]


class LoadCurveMonitor:
    """Records the load curve of ``model`` on the samples ``x``, ``y`` during training.

    Call :meth:`step` once per training step, best after the optimiser's. Inside ``with`` the curve is also recorded on
    entering and, unless training failed, on leaving. Training does not notice: parameters, buffers, gradients,
    train/eval flags and random states are as they were, so that with and without a monitor it gives the same bits (the
    limits are those of :func:`deepmech.metrics.evaluation.evaluation`).

    Parameters
    ----------
    model, x, y
        As for :func:`~deepmech.metrics.load_curve.load_curve`; the model may move to another device on the way. A few
        hundred samples will do. A loader is read once, here, and its samples are kept: they are the same at every
        record, even if it shuffles. Give ``n_samples=500``, say.
    every : int
        Record each ``every``-th step. A record costs about as much as a forward pass over the samples.
    **measure : object
        Further arguments of :func:`~deepmech.metrics.load_curve.load_curve`: ``layers``, ``metric``, ``pool``, …;
        ``groups=20`` for intervals, which are left out by default, to save time.

    Attributes
    ----------
    steps : int
        Training steps counted so far.
    seconds : float
        Time spent on recording so far.
    on_record : callable, optional
        Called after each record with its numbers by name, ``load_curve/<layer>`` and ``load_curve/curvature``: hand it
        the function of your logger, ``monitor.on_record = wandb.log``.

    Raises
    ------
    ValueError
        If ``every`` is out of range; from the first record on as ``load_curve`` does, except that layers
        with values that are not finite are recorded as nan: a diverging training goes on.

    Examples
    --------
    >>> from deepmech.data import load
    >>> digits = load("digits", n_train=200)
    >>> x, y = torch.tensor(digits.x_train), torch.tensor(digits.y_train)
    >>> model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    >>> optimiser = torch.optim.Adam(model.parameters())
    >>> with LoadCurveMonitor(model, x, y, every=2) as monitor:
    ...     for _ in range(5):
    ...         optimiser.zero_grad()
    ...         loss = nn.functional.cross_entropy(model(x), y)
    ...         loss.backward()
    ...         optimiser.step()
    ...         monitor.step(loss=loss)
    >>> monitor.result().load_curve.sizes, monitor.result().step.values.tolist()
    (Frozen({'step': 4, 'layer': 2}), [0, 2, 4, 5])
    """

    def __init__(self, model: nn.Module, x: Any, y: Any = None, every: int = 100, **measure: Any) -> None:
        specs.check_type("LoadCurveMonitor: model", model, nn.Module)
        specs.check_int("LoadCurveMonitor: every", every, allowed="a whole number of steps, at least 1")
        known = list(inspect.signature(load_curve).parameters)[3:]
        if unknown := sorted(measure.keys() - set(known)):
            raise ValueError(f"LoadCurveMonitor: {', '.join(unknown)}: load_curve takes {', '.join(known)}")
        self.model, self.every = model, every
        samples = {name: measure.pop(name) for name in ("batch_size", "n_samples", "units") if name in measure}
        self._measure = LoadCurve(model, **({"groups": 1} | measure))
        self._measure.diverged_to_nan = True
        self._batches = Batches(x, y, **samples)
        self._batches.require_classes()
        self._batches.cache()
        self.steps, self.seconds = 0, 0.0
        self.records: list[tuple[int, xr.DataArray, dict[str, float]]] = []  # step, curve, values
        self._latest: dict[str, Any] = {}
        self.on_record: Callable[[dict[str, float]], Any] | None = None

    def __enter__(self) -> Self:
        self.record()
        return self

    def __exit__(self, failure: object, *_: object) -> None:
        if failure is None and self.records[-1][0] != self.steps:
            self.record()

    def step(self, **values: Any) -> None:
        """Count one training step and record the curve if its turn has come.

        ``values``, such as ``loss=loss``, are kept beside recorded curves; single numbers or tensors of one element.
        """
        for name, value in values.items():
            single = value.numel() == 1 if isinstance(value, torch.Tensor) else specs.is_real(value)
            allowed = "a single number or a tensor of one element"
            specs.check(f"LoadCurveMonitor.step: {name}", value, single, allowed)
        self.steps += 1
        # Detached, since a loss would keep its whole graph; a copy, since it may be summed up in place.
        self._latest = {k: v.detach().clone() if isinstance(v, torch.Tensor) else v for k, v in values.items()}
        if self.steps % self.every == 0:
            self.record()

    def record(self) -> xr.DataArray:
        """Measure the load curve now, whatever the cadence; also returned."""
        begin = time.perf_counter()
        self._measure.reset()
        curve = self._measure.update(self._batches).compute()
        layers = curve.layer.values.tolist()
        if self.records and (before := self.records[0][1].layer.values.tolist()) != layers:
            raise ValueError(
                f"LoadCurveMonitor: layers were {before}, at step {self.steps} they are {layers}: a model that "
                "changes its layers needs layers=[...] that stay"
            )
        self.records.append((self.steps, curve.copy(), {k: float(v) for k, v in self._latest.items()}))
        self.seconds += time.perf_counter() - begin
        if self.on_record is not None:
            values = {f"load_curve/{name}": float(d) for name, d in zip(layers, curve.values, strict=True)}
            self.on_record(values | ({"load_curve/curvature": float(curvature(curve))} if curve.size > 2 else {}))
        return curve

    def result(self) -> xr.Dataset:
        """All records so far.

        Returns
        -------
        Dataset
            ``load_curve`` (step, layer), ``curvature`` (step) for curves of three layers or more, and each of the
            values given to :meth:`step` (step), nan where it was not given. Attributes: provenance, and what was
            measured on how many samples.

        Raises
        ------
        ValueError
            If nothing was recorded yet.
        """
        if not self.records:
            raise ValueError("LoadCurveMonitor: nothing recorded yet; use it in a with statement, or call record()")
        steps, measured, noted = zip(*self.records, strict=True)
        curves = xr.concat(measured, "step", coords="minimal", compat="override", combine_attrs="override")
        curves = curves.assign_coords(step=("step", np.array(steps)))
        for name in ("unresolved", "jackknife"):  # of the first record alone, as the largest shares are
            curves.attrs.pop(name, None)
        curves = curves.drop_vars("largest_share", errors="ignore")
        out: xr.Dataset = curves.to_dataset(name="load_curve")
        out.attrs = {k: v for k, v in curves.attrs.items() if k not in ("long_name", "units")}
        if curves.sizes["layer"] > 2:
            out["curvature"] = curvature(curves)
        for name in dict.fromkeys(k for values in noted for k in values):
            if name in out.variables:
                raise ValueError(f"LoadCurveMonitor.step: {name!r} is a name of the result's own; give it another")
            out[name] = "step", [values.get(name, np.nan) for values in noted]
        parameter = next(unwrap(self.model).parameters(), torch.zeros(0))
        out.attrs |= attributes(
            spec=f"load curve of {type(unwrap(self.model)).__name__}",
            seed="nothing drawn",
            device=str(parameter.device),
            dtype=str(parameter.dtype).removeprefix("torch."),
            wall_seconds=self.seconds,
        )
        return out
