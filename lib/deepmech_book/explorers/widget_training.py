"""Train one: a small network trained live in Jupyter, with ipywidgets, progress and a way to stop."""

from __future__ import annotations

import html
import threading
from typing import Any

import anywidget
import ipywidgets
import numpy as np
import traitlets
import xarray as xr

from deepmech.metrics.curvature import curvature
from deepmech_book.explorers.bundle import bundle
from deepmech_book.explorers.page import style
from deepmech_book.explorers.training import BATCHES, RATES, Epoch, Settings, chain_curves, in_words, training


class TrainingCurves(anywidget.AnyWidget):
    """Load curves of a network and of the chain beside it, epoch by epoch; what :class:`TrainOne` draws."""

    _esm = bundle("training")
    _css = style("training")

    epochs = traitlets.Int(1, min=1).tag(sync=True)
    about = traitlets.Unicode().tag(sync=True)
    curves: Any = traitlets.List().tag(sync=True)
    accuracy: Any = traitlets.List().tag(sync=True)
    chain: Any = traitlets.List().tag(sync=True)
    shown = traitlets.Int(min=0).tag(sync=True)


class TrainOne(ipywidgets.VBox):
    """A small network to train in Jupyter: choose, press *Train*, and watch its load curve beside the chain's.

    The network trains in a thread of its own, so that the notebook goes on and *Cancel* is heard after the epoch. The
    controls are ipywidgets: ``one.slope.value = 0.5`` moves a slider, ``one.dropout.observe(...)`` listens to one.

    Parameters
    ----------
    slope, dropout, learning_rate, batch_size, epochs, seed
        As for :class:`~deepmech_book.explorers.training.Settings`; the first four can be chosen anew for each run.

    Raises
    ------
    ValueError
        If a setting is out of range.

    Examples
    --------
    >>> one = TrainOne(epochs=2, dropout=0.0)
    >>> one.train()
    >>> one.wait()
    >>> one.result().load_curve.sizes
    Frozen({'epoch': 3, 'layer': 8})
    """

    def __init__(self, **settings: Any) -> None:
        how = Settings(**settings)
        wide = {"style": {"description_width": "8em"}, "layout": {"width": "24em"}}
        self.slope = ipywidgets.FloatSlider(how.slope, min=0, max=1, step=0.1, description="slope α", **wide)
        self.dropout = ipywidgets.FloatSlider(how.dropout, min=0, max=0.5, step=0.02, description="dropout", **wide)
        self.learning_rate = ipywidgets.SelectionSlider(
            options=[(f"{rate:g}", rate) for rate in sorted({*RATES, how.learning_rate})], value=how.learning_rate,
            description="learning rate", **wide,
        )  # fmt: skip
        self.batch_size = ipywidgets.SelectionSlider(
            options=sorted({*BATCHES, how.batch_size}), value=how.batch_size, description="batch size", **wide
        )
        self.start = ipywidgets.Button(description="Train", button_style="primary", tooltip="Train a network anew")
        self.cancel = ipywidgets.Button(description="Cancel", disabled=True, tooltip="Stop after this epoch")
        self.progress = ipywidgets.IntProgress(0, min=0, max=how.epochs, description="epoch", **wide)
        self.said = ipywidgets.HTML()
        self.curves = TrainingCurves()
        self.settings = how
        self._stop, self._thread = threading.Event(), threading.Thread()
        self._made: list[Epoch] = []
        self.start.on_click(lambda _: self.train())
        self.cancel.on_click(lambda _: self._stop.set())
        rows = [
            (self.slope, self.dropout),
            (self.learning_rate, self.batch_size),
            (self.start, self.cancel, self.progress),
        ]
        wrap = ipywidgets.Layout(flex_flow="row wrap")
        super().__init__([*(ipywidgets.HBox(row, layout=wrap) for row in rows), self.said, self.curves])
        # Something to see before the first run: the network as it is drawn.
        self._begin(how)
        self._add(next(training(how)))
        self._say("not trained yet: press Train")

    def train(self) -> None:
        """Train a network with the settings as they stand; what the button does.

        Raises
        ------
        ValueError
            If one is in training.
        """
        if self._thread.is_alive():
            raise ValueError("TrainOne.train: a network is in training; wait() for it, or press Cancel")
        chosen = {name: getattr(self, name).value for name in ("slope", "dropout", "learning_rate", "batch_size")}
        self._begin(Settings(**chosen, epochs=self.settings.epochs, seed=self.settings.seed))
        self._stop.clear()
        self.start.disabled, self.cancel.disabled = True, False
        self._thread = threading.Thread(target=self._train, daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait until the network is trained or cancelled."""
        if self._thread.is_alive():
            self._thread.join()

    def result(self) -> xr.Dataset:
        """The run so far: ``load_curve`` (epoch, layer), its ``curvature`` and the test ``accuracy`` (epoch)."""
        curves = xr.DataArray(np.array([epoch.curve for epoch in self._made]), dims=("epoch", "layer"))
        accuracy = ("epoch", [epoch.accuracy for epoch in self._made])
        made = xr.Dataset({"load_curve": curves, "curvature": curvature(curves), "accuracy": accuracy})
        return made.assign_coords(epoch=range(len(self._made))).assign_attrs(settings=in_words(self.settings))

    def _begin(self, how: Settings) -> None:
        self.settings, self._made = how, []
        self.progress.value = 0
        self._chain = chain_curves(how)

    def _add(self, epoch: Epoch) -> None:
        self._made.append(epoch)
        self.progress.value = len(self._made) - 1
        with self.curves.hold_sync():
            self.curves.epochs, self.curves.about, self.curves.chain = (
                self.settings.epochs,
                in_words(self.settings),
                self._chain,
            )
            self.curves.accuracy = [one.accuracy for one in self._made]
            self.curves.curves = [one.curve for one in self._made]
            self.curves.shown = len(self._made) - 1

    def _say(self, words: str) -> None:
        self.said.value = f'<span role="status">{html.escape(words)}</span>'

    def _train(self) -> None:
        try:
            for epoch in training(self.settings):
                self._add(epoch)
                self._say(f"training: {in_words(self.settings)}")
                if self._stop.is_set():
                    self._say(f"cancelled after epoch {len(self._made) - 1}")
                    return
            self._say(f"trained: test accuracy {100 * self._made[-1].accuracy:.1f} %")
        except Exception as error:  # a thread's error would be seen by nobody
            self._say(f"training failed: {error}")
            raise
        finally:
            self.start.disabled, self.cancel.disabled = False, True
