"""Join the JavaScript modules of an explorer into one, so that it needs no server, no build step and no network."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOM = Path(__file__).parent
_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./(\w+)\.js";$', re.M)
_EXPORT = re.compile(r"^export (?=(?:class|const|function) (\w+))", re.M)


@cache
def bundle(entry: str) -> str:
    """The module ``<entry>.js`` of this room with everything that it imports, as the text of one ES module.

    Each imported module becomes a function that is called once, so that names private to one module stay private; the
    entry itself stands at the end, unchanged but for its imports.

    Examples
    --------
    >>> text = bundle("chain")
    >>> "export default { render };" in text, "import " in text
    (True, False)
    """
    parts: dict[str, str] = {}

    def visit(name: str, wrap: bool) -> None:
        text = (ROOM / f"{name}.js").read_text(encoding="utf-8")
        for other in _IMPORT.findall(text):
            if other[1] not in parts:
                visit(other[1], True)
        text = _IMPORT.sub(r"const \1 = $\2;", text)
        if wrap:
            names = ", ".join(_EXPORT.findall(text))
            text = f"const ${name} = (() => {{\n{_EXPORT.sub('', text)}return {{ {names} }};\n}})();\n"
        parts[name] = text

    visit(entry, False)
    return "\n".join(parts.values())
