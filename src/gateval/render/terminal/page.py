"""A page of text for a terminal or a log. Whatever is put on it is sanitised here."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from gateval.domain.text import Screen
from gateval.safe.sanitize import defuse_log, plain, plain_line

LINE_LIMIT = 600
"""Characters shown of one line before it is cut."""

COMMAND_LIMIT = 4_000
"""Characters of a command, which is of no use when it is cut."""

PIECE_LIMIT = 100_000
"""Characters of one text in a cell; what is longer was cut by whoever made it."""

ROWS = 50
"""Rows of a table that a person reads on: those come first that need it."""

_CELL_LIMIT = 80

_ROOMY = 90
"""Columns from which a table's columns stand two apart, else one."""

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}

_EDITED = {"+": "green", "-": "red"}

_EDITS = 40
"""Lines shown of a diff."""

Pieces = Sequence[tuple[str, str]]
"""Texts, each with its style: words of `_CODES`."""


class TerminalReport:
    """Collects lines and tables and lays them out for a width in columns."""

    def __init__(self, screen: Screen) -> None:
        self._width, self._color = screen
        self._lines: list[str] = []

    def heading(self, text: str, style: str = "bold") -> None:
        """Begin a section with an empty line and a title."""
        self._lines.append("")
        self.line(text, style=style)

    def line(self, text: str, *, indent: int = 0, hang: int = 0, style: str = "") -> None:
        """Add one paragraph; its wrapped lines keep the indentation, and hang in by some more."""
        first, *more = _wrapped(plain_line(text, LINE_LIMIT), self._width - indent - hang)
        self._add(first, indent, style)
        for line in more:
            self._add(line, indent + hang, style)

    def edit(self, lines: Sequence[str], *, indent: int) -> None:
        """Add what a diff changes."""
        for line in edited(lines):
            self.line(line, indent=indent, hang=2, style=_EDITED.get(line[0], ""))

    def verbatim(self, lines: Sequence[str], *, indent: int) -> None:
        """Add lines as they stand, dimmed, their own indentation kept."""
        for line in lines:
            self._add(" ".join(plain(line, LINE_LIMIT).split("\n")) or " ", indent, "dim")

    def command(self, text: str, *, indent: int = 2) -> None:
        """Add a line that people copy: it is wrapped as a shell takes it, never inside a word."""
        for line in command_lines(plain_line(text, COMMAND_LIMIT), self._width - indent):
            self._lines.append(f"{' ' * indent}{line}")

    def cell(self, pieces: Pieces) -> None:
        """Add several texts, each with its style, their lines kept."""
        self._lines += (self._styled(*line) for line in _laid_out(pieces, self._width))

    def columns(self, titles: tuple[str, str], rows: Sequence[tuple[Pieces, Pieces]]) -> None:
        """Add rows of two cells side by side, each as `cell` has it."""
        right = self._width // 2
        left = self._width - right
        for row in ([[(title, "bold")] for title in titles], *rows):
            self._lines.append("")
            cells = (_laid_out(row[0], left - 2), _laid_out(row[1], right))
            for one, other in zip_longest(*cells, fillvalue=("", "")):
                space = " " * (left - width_of(one[0]))
                self._lines.append(f"{self._styled(*one)}{space}{self._styled(*other)}")

    def table(
        self,
        header: Sequence[str],
        rows: Sequence[tuple[Sequence[str], str]],
        *,
        most: int = 0,
        spare: Sequence[str] = (),
    ) -> None:
        """Add a table, each row with its cells and a style for the last one; of many, the first
        `most` and a line that counts the others.

        No word of it is broken. Where it is too wide for that, columns are left out that are
        `spare`, the first of them first, and else each row is a paragraph. Of a table with such
        columns only the last one is wrapped.
        """
        if most and (left := len(rows) - most) > 0:
            self.table(header, rows[:most])
            self.line(f"and {left:,} more; JSON has them all", indent=2)
            return
        texts = [
            [plain_line(one, _CELL_LIMIT) for one in row]
            for row in (header, *(cells for cells, _ in rows))
        ]
        gap = 2 if self._width >= _ROOMY else 1
        waiting, gone = [one for one in spare if one in header[1:-1]], list[str]()
        while True:
            kept = [at for at, name in enumerate(header) if name not in gone]
            shown = [[row[at] for at in kept] for row in texts]
            room = self._width - gap * (len(kept) - 1)
            widths = column_widths(shown, room, whole=bool(spare))
            if widths is not None or not waiting:
                break
            gone.append(waiting.pop(0))
        styles = ["bold", *(style for _, style in rows)]
        self._lines.append("")
        if widths is None:
            self._paragraphs(texts, styles)
            return
        for number, (row, style) in enumerate(zip(shown, styles, strict=True)):
            self._row(row, widths, gap, style, "" if number else style)
        if gone:
            self.line(f"Left out, as the screen is narrow: {', '.join(gone)}.", style="dim")

    def text(self) -> str:
        """Return the page; no line of it is a command for a CI runner, however it was wrapped."""
        lines = "\n".join(self._lines).strip("\n").split("\n")
        return defuse_log("\n".join(line.rstrip() for line in lines)) + "\n"

    def _row(
        self, cells: Sequence[str], widths: Sequence[int], gap: int, last: str, others: str
    ) -> None:
        wrapped = [_wrapped(one, width) for one, width in zip(cells, widths, strict=True)]
        for parts in zip_longest(*wrapped, fillvalue=""):
            line = ""
            for part, width in zip(parts[:-1], widths, strict=False):
                line += self._styled(part, others) + " " * (width - width_of(part) + gap)
            self._lines.append(line + self._styled(parts[-1], last))

    def _paragraphs(self, rows: Sequence[Sequence[str]], styles: Sequence[str]) -> None:
        header = rows[0]
        for cells, style in zip(rows[1:], styles[1:], strict=True):
            self.line(f"{cells[0]}, {cells[1]}: {cells[-1]}", style=style)
            between = zip(header[2:-1], cells[2:-1], strict=True)
            self.line(", ".join(f"{name} {cell}" for name, cell in between), indent=2)

    def _add(self, text: str, indent: int, style: str) -> None:
        for line in _wrapped(text, self._width - indent):
            self._lines.append(" " * indent + self._styled(line, style))

    def _styled(self, text: str, style: str) -> str:
        codes = ";".join(_CODES[word] for word in style.split())
        return f"\x1b[{codes}m{text}\x1b[0m" if self._color and codes and text else text


def edited(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines that a diff changes, each behind its sign; of very many, the first."""
    changed = [line for line in lines if line[:1] in _EDITED]
    yield from (f"{line[0]} {line[1:]}" for line in changed[:_EDITS])
    if (left := len(changed) - _EDITS) > 0:
        yield f"and {left:,} more lines; `git diff` has them"


def _laid_out(pieces: Pieces, width: int) -> list[tuple[str, str]]:
    """Return lines, each with its style; all pieces but the first are indented: then no text looks
    like the title of another cell.
    """
    return [
        (" " * indent + line, style)
        for number, (text, style) in enumerate(pieces)
        for indent in (4 if number else 0,)
        for whole in plain(text, PIECE_LIMIT).split("\n")
        for line in _wrapped(whole, width - indent)
    ]


def _wrapped(text: str, width: int) -> list[str]:
    """Return the lines of a text; a word is broken only where it is wider than a line."""
    if text.isascii() and len(text) <= width:
        return [text.rstrip()]
    lines = [""]
    for word in re.findall(r"\s*\S+\s*", text):
        if lines[-1] and width_of(lines[-1]) + width_of(word.rstrip()) > width:
            lines.append("")
        *whole, rest = _chopped(word, width)
        lines[-1:] = [*whole, lines[-1] + rest]
    return [line.rstrip() for line in lines]


def _chopped(word: str, width: int) -> list[str]:
    if word.isascii() and len(word) <= width:
        return [word]
    pieces = [""]
    for character in word.rstrip():
        if pieces[-1] and width_of(pieces[-1] + character) > width:
            head, comma, tail = pieces[-1].rpartition(",")  # JSON and lists are cut between parts
            apart = [f"{head}{comma}", tail] if head and tail else [pieces[-1], ""]
            pieces[-1:] = apart
        pieces[-1] += character
    return [*pieces[:-1], pieces[-1] + word[len(word.rstrip()) :]]


def width_of(text: str) -> int:
    """Return how many columns a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def command_lines(text: str, room: int) -> list[str]:
    """Return a command on lines of at most `room` columns, if its words allow that.

    All but the last end as a shell wants it, and none breaks a word or what stands in quotes.
    """
    if width_of(text) <= room:
        return [text]
    try:
        words = [shlex.quote(word) for word in shlex.split(text)]
    except ValueError:  # no command line any more, since something was cut
        return [text]
    lines: list[str] = []
    for word in words:
        if lines and width_of(f"{lines[-1]} {word} \\") <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(f"  {word}" if lines else word)
    return [*(f"{line} \\" for line in lines[:-1]), lines[-1]]


def column_widths(
    rows: Sequence[Sequence[str]], room: int, *, whole: bool = False
) -> list[int] | None:
    """Return how wide each column is to be, all of them at most `room` columns of the terminal.

    None if that cannot be without breaking a word, or where all but the last are to be `whole`.
    """
    columns = list(zip(*rows, strict=True))
    widths = [max(map(width_of, column)) for column in columns]
    least = [
        max(width_of(word) for cell in one for word in cell.split() or [""]) for one in columns
    ]
    if whole:
        least[:-1] = widths[:-1]
    while sum(widths) > room:
        slack = [width - needed for width, needed in zip(widths, least, strict=True)]
        if not any(slack):
            return None
        widths[slack.index(max(slack))] -= 1
    return widths
