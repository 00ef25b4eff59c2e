"""The monitor as a callback of Lightning and of Hugging Face's Trainer; neither is imported before it is asked for.

Both log ``load_curve/<layer>`` for each layer and ``load_curve/curvature`` to the loggers of the run. Of several
processes the first one watches.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from deepmech.metrics.monitor import LoadCurveMonitor


def lightning_callback(monitor: LoadCurveMonitor) -> Any:
    """A callback of Lightning that lets a monitor watch the training: ``Trainer(callbacks=[lightning_callback(m)])``.

    Parameters
    ----------
    monitor
        Of the model that is trained.

    Returns
    -------
    lightning.pytorch.Callback

    Raises
    ------
    ModuleNotFoundError
        If Lightning is not installed.
    """
    base = _first("lightning.pytorch", "pytorch_lightning").Callback

    class LoadCurve(base):  # type: ignore[misc, valid-type]
        def on_train_start(self, trainer: Any, module: Any) -> None:
            if trainer.is_global_zero:
                monitor.on_record = lambda values: [
                    logger.log_metrics(values, step=trainer.global_step) for logger in trainer.loggers
                ]
                monitor.__enter__()

        def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, *_: Any) -> None:
            if trainer.is_global_zero:
                loss = outputs.get("loss") if isinstance(outputs, Mapping) else outputs
                monitor.step(**({} if loss is None else {"loss": loss}))

        def on_train_end(self, trainer: Any, module: Any) -> None:
            if trainer.is_global_zero:
                monitor.__exit__(None)

    return LoadCurve()


def transformers_callback(monitor: LoadCurveMonitor, trainer: Any) -> Any:
    """A callback of ``transformers.Trainer``: ``trainer.add_callback(transformers_callback(monitor, trainer))``.

    Parameters
    ----------
    monitor
        Of the model that is trained.
    trainer
        Only it can log.

    Returns
    -------
    transformers.TrainerCallback

    Raises
    ------
    ModuleNotFoundError
        If transformers is not installed.
    """
    base = _first("transformers").TrainerCallback

    class LoadCurve(base):  # type: ignore[misc, valid-type]
        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.is_world_process_zero:
                monitor.on_record = trainer.log
                monitor.__enter__()

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.is_world_process_zero:
                due = control.should_log
                monitor.step()
                control.should_log = due  # whoever logs takes the turn of the trainer's own loss

        def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.is_world_process_zero:
                monitor.__exit__(None)

    return LoadCurve()


def _first(*names: str) -> Any:
    for name in names:
        try:
            return import_module(name)
        except ModuleNotFoundError as missing:
            if not name.startswith(missing.name or name):
                raise
    raise ModuleNotFoundError(f"this callback needs {' or '.join(names)}: pip install {names[0].partition('.')[0]}")
