"""The monitor as a callback of Lightning and of Hugging Face's Trainer; neither is imported before it is asked for.

Both log ``load_curve/<layer>`` for each layer and ``load_curve/curvature`` to the loggers of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from deepmech.metrics.curvature import curvature
from deepmech.metrics.monitor import LoadCurveMonitor


def lightning_callback(monitor: LoadCurveMonitor) -> Any:
    """A callback of Lightning that lets ``monitor`` watch the training: ``Trainer(callbacks=[lightning_callback(m)])``.

    Of several processes the first one watches.
    """
    base = _first("lightning.pytorch", "pytorch_lightning").Callback

    class LoadCurve(base):  # type: ignore[misc, valid-type]
        def on_train_start(self, trainer: Any, module: Any) -> None:
            if trainer.is_global_zero:
                self.watch = _Log(monitor, lambda values: self.log_to(trainer, values))
                self.watch.begin()

        def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, *_: Any) -> None:
            if trainer.is_global_zero:
                loss = outputs.get("loss") if isinstance(outputs, Mapping) else outputs
                self.watch.step(loss)

        def on_train_end(self, trainer: Any, module: Any) -> None:
            if trainer.is_global_zero:
                self.watch.end()

        def log_to(self, trainer: Any, values: dict[str, float]) -> None:
            for logger in trainer.loggers:
                logger.log_metrics(values, step=trainer.global_step)

    return LoadCurve()


def transformers_callback(monitor: LoadCurveMonitor, trainer: Any) -> Any:
    """A callback of ``transformers.Trainer``: ``trainer.add_callback(transformers_callback(monitor, trainer))``.

    Only the trainer can log, so it is given, too. Of several processes the first one watches.
    """
    base = _first("transformers").TrainerCallback
    watch = _Log(monitor, lambda values: trainer.log(values))

    class LoadCurve(base):  # type: ignore[misc, valid-type]
        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.is_world_process_zero:
                watch.begin()

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.is_world_process_zero:
                due = control.should_log
                watch.step(None)
                control.should_log = due  # whoever logs takes the turn of the trainer's own loss

        def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.is_world_process_zero:
                watch.end()

    return LoadCurve()


class _Log:
    """Tells a logger of every record that a monitor makes."""

    def __init__(self, monitor: LoadCurveMonitor, log: Callable[[dict[str, float]], None]) -> None:
        self.monitor, self.log, self.told = monitor, log, 0

    def begin(self) -> None:
        self.monitor.__enter__()
        self.told = 0
        self.tell()

    def step(self, loss: Any) -> None:
        self.monitor.step(**({} if loss is None else {"loss": loss}))
        self.tell()

    def end(self) -> None:
        self.monitor.__exit__(None)
        self.tell()

    def tell(self) -> None:
        curves = self.monitor.curves
        if len(curves) == self.told:
            return
        self.told, last = len(curves), curves[-1]
        values = {f"load_curve/{name}": float(d) for name, d in zip(last.layer.values, last.values, strict=True)}
        if last.size > 2:
            values["load_curve/curvature"] = float(curvature(last))
        self.log(values)


def _first(*names: str) -> Any:
    for name in names:
        try:
            return import_module(name)
        except ModuleNotFoundError as missing:
            if not name.startswith(missing.name or name):
                raise
    raise ModuleNotFoundError(f"this callback needs {' or '.join(names)}: pip install {names[0].partition('.')[0]}")
