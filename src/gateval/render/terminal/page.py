"""A page of text for a terminal or a log. Whatever is put on it is sanitised here."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from io import StringIO
from typing import TYPE_CHECKING

from gateval.safe.sanitize import defuse_log, plain, plain_line

if TYPE_CHECKING:
    from rich.console import Group

LINE_LIMIT = 600
"""Characters shown of one line before it is cut."""

COMMAND_LIMIT = 4_000
"""Characters of a command, which is of no use when it is cut."""

PIECE_LIMIT = 100_000
"""Characters of one text in a cell; what is longer was cut by whoever made it."""

_CELL_LIMIT = 80

_ROOMY = 90
"""Columns from which a table's columns stand two apart, else one."""


class Page:
    """Collects lines and tables and lays them out for a width in columns."""

    def __init__(self, width: int, *, color: bool) -> None:
        from rich.console import Console

        self._file = StringIO()
        self._console = Console(
            file=self._file,
            width=width,
            color_system="standard" if color else None,
            force_terminal=color,
            markup=False,
            emoji=False,
            highlight=False,
            _environ={},
        )

    def heading(self, text: str, style: str = "bold") -> None:
        """Begin a section with an empty line and a title."""
        self._console.print()
        self.line(text, style=style)

    def line(self, text: str, *, indent: int = 0, style: str = "") -> None:
        """Add one paragraph; its wrapped lines keep the indentation."""
        from rich.padding import Padding
        from rich.text import Text

        shown = Text(plain_line(text, LINE_LIMIT), style=style, overflow="fold")
        self._console.print(Padding(shown, (0, 0, 0, indent), expand=False))

    def verbatim(self, lines: Sequence[str], *, indent: int) -> None:
        """Add lines as they stand, dimmed, their own indentation kept."""
        from rich.padding import Padding
        from rich.text import Text

        for line in lines:
            shown = " ".join(plain(line, LINE_LIMIT).split("\n"))
            text = Text(shown or " ", style="dim", overflow="fold")
            self._console.print(Padding(text, (0, 0, 0, indent), expand=False))

    def command(self, text: str, *, indent: int = 2) -> None:
        """Add a line that people copy: it is wrapped as a shell takes it, never inside a word."""
        from rich.text import Text

        for line in command_lines(plain_line(text, COMMAND_LIMIT), self._console.width - indent):
            self._console.print(Text(f"{' ' * indent}{line}"), soft_wrap=True)

    def cell(self, pieces: Sequence[tuple[str, str]]) -> None:
        """Add several texts, each with its style, their lines kept."""
        self._console.print(self._joined(pieces))

    def columns(
        self,
        titles: tuple[str, str],
        rows: Sequence[tuple[Sequence[tuple[str, str]], Sequence[tuple[str, str]]]],
    ) -> None:
        """Add rows of two cells side by side, each as `cell` has it."""
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, show_edge=False, padding=(0, 2, 1, 0), expand=True)
        for title in titles:
            table.add_column(Text(title, style="bold"), ratio=1, overflow="fold")
        for left, right in rows:
            table.add_row(self._joined(left), self._joined(right))
        self._console.print()
        self._console.print(table)

    def _joined(self, pieces: Sequence[tuple[str, str]]) -> Group:
        """Indent all pieces but the first: then no text looks like the title of another cell."""
        from rich.console import Group
        from rich.padding import Padding
        from rich.text import Text

        texts = [
            Text(plain(text, PIECE_LIMIT), style=style, overflow="fold") for text, style in pieces
        ]
        return Group(*texts[:1], *(Padding(text, (0, 0, 0, 4)) for text in texts[1:]))

    def table(self, header: Sequence[str], rows: Sequence[tuple[Sequence[str], str]]) -> None:
        """Add a table; each row has its cells and a style for the last one.

        No word of it is broken: where the page is too narrow for that, each row is a paragraph.
        """
        from rich.table import Table
        from rich.text import Text

        shown = [
            ([plain_line(cell, _CELL_LIMIT) for cell in cells], style) for cells, style in rows
        ]
        gap = 2 if self._console.width >= _ROOMY else 1
        header = [plain_line(title, _CELL_LIMIT) for title in header]
        texts = [header, *(cells for cells, _ in shown)]
        widths = column_widths(texts, self._console.width - gap * (len(header) - 1))
        self._console.print()
        if widths is None:
            self._paragraphs(header, shown)
            return
        table = Table(box=None, pad_edge=False, show_edge=False, padding=(0, gap, 0, 0))
        for name, width in zip(header, widths, strict=True):
            table.add_column(Text(name, style="bold"), width=width, overflow="fold")
        for cells, style in shown:
            table.add_row(*map(Text, cells[:-1]), Text(cells[-1], style=style))
        self._console.print(table)

    def _paragraphs(self, header: Sequence[str], rows: Sequence[tuple[list[str], str]]) -> None:
        for cells, style in rows:
            self.line(f"{cells[0]}, {cells[1]}: {cells[-1]}", style=style)
            between = zip(header[2:-1], cells[2:-1], strict=True)
            self.line(", ".join(f"{name} {cell}" for name, cell in between), indent=2)

    def text(self) -> str:
        """Return the page; no line of it is a command for a CI runner, however it was wrapped."""
        lines = [line.rstrip() for line in self._file.getvalue().strip("\n").split("\n")]
        return defuse_log("\n".join(lines)) + "\n"


def command_lines(text: str, room: int) -> list[str]:
    """Return a command on lines of at most `room` columns, if its words allow that.

    All but the last end as a shell wants it, and none breaks a word or what stands in quotes.
    """
    from rich.cells import cell_len

    if cell_len(text) <= room:
        return [text]
    try:
        words = [shlex.quote(word) for word in shlex.split(text)]
    except ValueError:  # no command line any more, since something was cut
        return [text]
    lines: list[str] = []
    for word in words:
        if lines and cell_len(f"{lines[-1]} {word} \\") <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(f"  {word}" if lines else word)
    return [*(f"{line} \\" for line in lines[:-1]), lines[-1]]


def column_widths(rows: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """Return how wide each column is to be, all of them at most `room` columns of the terminal.

    None if that cannot be without breaking a word.
    """
    from rich.cells import cell_len

    columns = list(zip(*rows, strict=True))
    widths = [max(map(cell_len, column)) for column in columns]
    least = [
        max(cell_len(word) for cell in column for word in cell.split() or [""])
        for column in columns
    ]
    while sum(widths) > room:
        slack = [width - needed for width, needed in zip(widths, least, strict=True)]
        if not any(slack):
            return None
        widths[slack.index(max(slack))] -= 1
    return widths
