"""The image of the house: the rooms of `src/gateval` in the order that `make lint` holds them to.

Names and order are those of the import contracts in `pyproject.toml`, sentences those of the
rooms' docstrings. Imports point down.
"""

from __future__ import annotations

import ast
import textwrap
import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "gateval"
_ROW, _LEFT, _TEXT, _WIDTH = 26, 16, 200, 1000
_LONGEST = 104
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1f2328}.name{font-weight:600}"
    ".room{fill:#f6f8fa;stroke:#d0d7de}.inner{fill:#fff;stroke:#d0d7de}"
)


def image() -> str:
    """Return the image as SVG, one row a layer; the rooms of `domain` stand inside it."""
    outer, inner = (_layers(name) for name in ("gateval", "gateval.domain"))
    rows: list[tuple[int, str, str]] = []
    for layer in outer:
        rows.append((0, layer, _sentence(SOURCE, layer)))
        if layer == "domain":
            rows += [(1, name, _sentence(SOURCE / "domain", name)) for name in inner]
    pieces = [piece for at, row in enumerate(rows) for piece in _row(at, *row)]
    height = len(rows) * _ROW + 16
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
            "<title>The rooms of the program: imports point down</title>",
            f"<style>{_STYLE}</style>",
            f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
            *pieces,
            "</svg>\n",
        ]
    )


def _layers(container: str) -> list[str]:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    for contract in config["tool"]["importlinter"]["contracts"]:
        if contract["type"] == "layers" and contract["containers"] == [container]:
            return [str(layer) for layer in contract["layers"]]
    raise LookupError(f"pyproject.toml has no layers of {container}")


def _row(at: int, depth: int, name: str, text: str) -> list[str]:
    left, top = _LEFT + 24 * depth, 8 + at * _ROW
    shown = name.replace(" | ", ", ")
    box = f'x="{left}" y="{top}" width="{_WIDTH - _LEFT - left}" height="{_ROW - 4}" rx="4"'
    return [
        f'<rect class="{"inner" if depth else "room"}" {box}/>',
        f'<text class="name" x="{left + 8}" y="{top + 15}">{escape(shown)}</text>',
        f'<text x="{_TEXT + 24 * depth}" y="{top + 15}">{escape(text)}</text>',
    ]


def _sentence(folder: Path, layer: str) -> str:
    """Return the first sentence of the room's docstring; of several rooms beside, of none."""
    if "|" in layer:
        return "side by side: none of them knows the others"
    path = folder / layer / "__init__.py"
    path = path if path.exists() else folder / f"{layer}.py"
    said = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    first = " ".join(said.partition("\n\n")[0].split())
    return textwrap.shorten(first.partition(". ")[0].rstrip("."), _LONGEST, placeholder=" …")
