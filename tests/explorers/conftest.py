"""Tabs for the explorers, and the host page that stands in for Jupyter."""

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from deepmech_book import explorers
from deepmech_book.explorers.page import bundle

WAITING = {kind: {"running": False} for kind in ("chain", "elastic", "ruler")}
"""How explorers of something that moves are made to wait for the reader."""


class Visit:
    """One browser tab that notes every console message, error and request."""

    def __init__(self, browser: Any, **context: Any) -> None:
        self.page = browser.new_context(**context).new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda m: self.complaints.append(m.text))
        self.page.on("pageerror", lambda e: self.complaints.append(str(e)))
        self.page.on("request", lambda r: self.requests.append(r.url))

    def open(self, path: Path) -> Any:
        self.page.goto(path.as_uri())
        self.page.wait_for_selector(".deepmech-explorer")
        return self.page


@pytest.fixture
def visit(chromium: Any) -> Iterator[Any]:
    """``visit(width=..., **context)`` opens a tab; afterwards nothing may have complained or asked for the network."""
    made: list[Visit] = []

    def new(width: int = 900, height: int = 900, **context: Any) -> Visit:
        made.append(Visit(chromium, viewport={"width": width, "height": height}, **context))
        return made[-1]

    yield new
    for one in made:
        one.page.context.close()
        assert one.complaints == []
        assert [url for url in one.requests if not url.startswith(("file:", "blob:", "data:"))] == []


@pytest.fixture(scope="session")
def still(tmp_path_factory: Any) -> Callable[..., Path]:
    """``still(kind, **values)`` is the page of an explorer that waits for the reader."""

    @cache
    def written(kind: str, **values: Any) -> Path:
        path = tmp_path_factory.mktemp("still") / f"{kind}.html"
        return explorers.cli_explore(kind, path, show=False, **WAITING.get(kind, {}) | values)

    return written


# What stands inside the scripts of explorers that tests call; $name is the module name.js.
INSIDE = {
    "chain": "Chain, diagramOf, curvature, equilibrium, largeNoiseLimit, $philox",
    "elastic": "Cloud, separation, $philox",
    "ruler": "Ruler, slowProfile, $philox",
    "training": "$network, $view",
}


@pytest.fixture(scope="session")
def engine() -> Any:
    """``engine(kind, script, argument)`` evaluates a JavaScript function of an explorer's module and an argument: in V8
    without a browser, by the package mini-racer of the extra ``test``."""
    from py_mini_racer import MiniRacer

    @cache
    def opened(kind: str) -> Any:
        context = MiniRacer()
        context.eval(bundle(kind).replace("export default", "globalThis.component ="))
        return context

    def evaluate(kind: str, script: str, argument: Any) -> Any:
        call = f"({script})({{ {INSIDE[kind]} }}, {json.dumps(argument)})"
        return json.loads(opened(kind).eval(f"JSON.stringify({call})"))

    return evaluate


# What Jupyter's front end gives to an anywidget, and a record of what the component asks of it.
HOST = """async ([source, state]) => {
  const module = await import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
  const listeners = new Map(), asked = new Set(), sent = [];
  const pending = {};
  window.model = {
    get(name) { asked.add(name); return state[name]; },
    set(name, value) {
      if (JSON.stringify(state[name]) === JSON.stringify(value)) return;
      state[name] = pending[name] = value;
      for (const react of listeners.get(`change:${name}`) ?? []) react();
    },
    save_changes() { sent.push({ ...pending }); for (const name in pending) delete pending[name]; },
    on(event, react) { listeners.set(event, [...(listeners.get(event) ?? []), react]); },
    off(event, react) { listeners.set(event, (listeners.get(event) ?? []).filter((f) => f !== react)); },
  };
  window.host = { state, asked: () => [...asked], sent, listening: () => [...listeners.values()].flat().length };
  window.leave = await module.default.render({ model: window.model, el: document.body });
}"""


@pytest.fixture
def jupyter(visit: Any) -> Any:
    """``jupyter(widget)`` shows an anywidget in a stand-in for Jupyter and returns the browser page."""

    def show(widget: Any, hidden: bool = False, **options: Any) -> Any:
        page = visit(**options).page
        page.set_content(f"<style>{widget._css}</style>{'<style>body { display: none }</style>' * hidden}")
        page.evaluate(HOST, [widget._esm, json.loads(json.dumps(widget.state))])
        return page

    return show
