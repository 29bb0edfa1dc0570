"""What all plots share: the document, and texts that strangers may have written."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape

from gateval.safe.sanitize import plain_line


def svg(width: float, height: float, parts: Iterable[str]) -> str:
    """Return an SVG document of this size with `parts` on a white ground."""
    box = f"0 0 {width:.0f} {height:.0f}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" font-family="sans-serif">',
        '<rect width="100%" height="100%" fill="white"/>',
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def text(x: float, y: float, said: str, *, anchor: str = "start", size: int = 13) -> str:
    """Return a text at this place."""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"'
    return f"<text {place}>{safe(said)}</text>"


def safe(said: str) -> str:
    """Return a text as it may stand in SVG."""
    return escape(plain_line(said, 300), {'"': "&quot;"})
