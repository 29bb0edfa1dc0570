"""Lines and tables for a terminal without a layout library: `get` has to be there at once.

Whatever is put on it is sanitised here.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from gateval.safe.sanitize import plain_line
from gateval.safe.triggers import defuse_log

LINE_LIMIT = 600
CELL_LIMIT = 80
GAP = 2
_LAST = 20
_COLORS = {"red": 31, "green": 32, "yellow": 33, "bold": 1, "dim": 2}


class Sheet:
    """Collects lines and tables for a terminal of so many columns."""

    def __init__(self, width: int, *, color: bool) -> None:
        self._width = width
        self._color = color
        self._lines: list[str] = []

    def line(self, text: str, *, indent: int = 0, style: str = "") -> None:
        """Add one line, wrapped at words."""
        for part in self._wrapped(plain_line(text, LINE_LIMIT), indent):
            self._lines.append(" " * indent + self._styled(part, style))

    def table(self, header: Sequence[str], rows: Sequence[tuple[Sequence[str], str]]) -> None:
        """Add a table, each row with its cells and a style for the last one.

        Where it is too wide for the screen, each row is a paragraph; a long last cell is wrapped.
        """
        cells = [[plain_line(cell, CELL_LIMIT) for cell in row] for row, _ in rows]
        widths = [max(map(width_of, column)) for column in zip(header, *cells, strict=True)]
        if self._lines:
            self._lines.append("")
        least = [*widths[:-1], min(widths[-1], _LAST)]
        if sum(least) + GAP * (len(least) - 1) > self._width:
            self._paragraphs(header, cells, [style for _, style in rows])
            return
        self._lines.append(_row(header, widths).rstrip())
        for row, (_, style) in zip(cells, rows, strict=True):
            start = _row(row[:-1], widths) + " " * GAP
            for part in self._wrapped(row[-1], width_of(start)):
                self._lines.append(f"{start}{self._styled(part, style)}".rstrip())
                start = " " * width_of(start)

    def text(self) -> str:
        """Return all of it; no line is a command for a CI runner."""
        return defuse_log("\n".join(self._lines)) + "\n"

    def _paragraphs(
        self, header: Sequence[str], rows: Sequence[Sequence[str]], styles: Sequence[str]
    ) -> None:
        for row, style in zip(rows, styles, strict=True):
            self.line(f"{row[0]}: {row[-1]}", style=style)
            for name, cell in zip(header[1:-1], row[1:-1], strict=True):
                if cell:
                    self.line(f"{name.lower()}: {cell}", indent=2)

    def _wrapped(self, text: str, before: int) -> list[str]:
        """Return the lines of a text that begins after so many columns; no word is broken."""
        if before + width_of(text) <= self._width:
            return [text]
        room = max(self._width - before, _LAST)
        return wrap(text, room, break_long_words=False, break_on_hyphens=False) or [text]

    def _styled(self, text: str, style: str) -> str:
        code = _COLORS.get(style)
        return f"\x1b[{code}m{text}\x1b[0m" if self._color and code and text else text


def width_of(text: str) -> int:
    """Return how many columns a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    both = zip(cells, widths, strict=False)
    return (" " * GAP).join(cell + " " * (width - width_of(cell)) for cell, width in both)
