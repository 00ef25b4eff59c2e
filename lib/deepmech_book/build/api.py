"""The library's reference: one page a package, which Sphinx makes of the docstrings."""

from __future__ import annotations

import importlib
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import deepmech

#: Packages in the order of the front door.
PACKAGES = ("metrics", "simulators", "trainers", "plots", "data", "sweeps", "core")
#: What nobody calls from outside: engines, the command line, and the plumbing below.
_INSIDE = (
    "deepmech.core.compiled",
    "deepmech.metrics.layers",
    "deepmech.simulators.spring_block.kernels",
    "deepmech.trainers.engines",
    "deepmech.sweeps.example",
)


LIBRARY = Path(deepmech.__file__).parent


def _inside(name: str) -> bool:
    return any(name == i or name.startswith(f"{i}.") for i in _INSIDE)


# Names of types: Sphinx would print what typing says of them.
_ALIASES = {"deepmech.trainers.rules": "Loss, Optimizer", "deepmech.trainers.modules": "MaskFunction"}
#: A bar, but in code, in a formula or in an example.
_BAR = re.compile(r"(``.*?``|:math:`[^`]*`|^ *>>>.*|^( *)\.\. math::.*(?:\n(?:\2 +.*| *$))*)|\|", re.MULTILINE)


@cache
def modules(package: str) -> dict[str, Path]:
    """The files of a package that the reference shows, by the name of their module, packages before what is in them."""
    files = {path.relative_to(LIBRARY.parent).with_suffix(""): path for path in (LIBRARY / package).rglob("*.py")}
    found = {".".join(name.parts).removesuffix(".__init__"): path for name, path in files.items()}
    return {name: found[name] for name in sorted(found) if not _inside(name)}


def pages(book: Path) -> dict[str, str]:
    """The pages of the reference in MyST markdown, by name; ``book`` is the folder that the site is made from."""
    front = "\n".join(f"   {name}" for name in sorted(deepmech.__all__) if name != "__version__")
    packages = "\n".join(f"- {{doc}}`/generated/api/{package}`" for package in PACKAGES)
    out = {"index": INDEX.format(front=front, packages=packages)}
    for package in PACKAGES:
        parts = [f"# {package.capitalize()}", ""]
        for name, source in modules(package).items():
            if name != f"deepmech.{package}":
                parts += [f"## {name.removeprefix('deepmech.')}", ""]
            parts += [f"Source: {{download}}`{source.name} </{os.path.relpath(source, book)}>`", ""]
            # What a package hands on stands where it is defined.
            own = ["   :members:", "   :show-inheritance:", "   :ignore-module-all:"]
            if hidden := _ALIASES.get(name):
                own.append(f"   :exclude-members: {hidden}")
            parts += ["```{eval-rst}", f".. automodule:: {name}", *own, "```", ""]
        out[package] = "\n".join(parts)
    return out


INDEX = """\
# The library, name by name

`from deepmech import …` gives what most people need:

```{{eval-rst}}
.. currentmodule:: deepmech

.. autosummary::
   :nosignatures:

{front}
```

Everything, package by package, each module with its source to take away:

{packages}
"""


@cache
def library() -> tuple[Any, ...]:
    """The modules that the reference shows."""
    return tuple(importlib.import_module(module) for package in PACKAGES for module in modules(package))


def add_addresses(app: Any, env: Any) -> None:
    """What packages hand on has an entry under each of its addresses, as ``deepmech.load_curve``."""
    objects = env.get_domain("py").objects
    if not objects or "deepmech.load_curve" in objects:
        return  # a site without the reference, or one that goes on from the last one
    for package in (deepmech, *library()):
        for name in getattr(package, "__all__", ()):
            home = f"{getattr(getattr(package, name), '__module__', None)}.{name}"
            if home in objects:
                objects.setdefault(f"{package.__name__}.{name}", objects[home]._replace(aliased=True))


def escape_pipes(app: Any, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """Bars in docstrings are moduli, as people write them, not reStructuredText's substitutions."""
    lines[:] = _BAR.sub(lambda m: m[1] or r"\|", "\n".join(lines)).split("\n")


def resolve_missing_reference(app: Any, env: Any, node: Any, text: Any) -> Any:
    """Names of what the reference does not show stay plain text; all other names of ours must lead somewhere."""
    return text if node.get("refdomain") == "py" and _inside(node.get("reftarget", "")) else None
