"""Rows of what stands as tables for a terminal. Only the page sanitises.

Whatever is put on it is sanitised here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from textwrap import wrap

from pydantic import JsonValue

from gateval.domain.text import DASH
from gateval.safe.sanitize import defuse_log, plain_line

LINE_LIMIT = 600
CELL_LIMIT = 80
ROWS = 50
"""Rows of a table that a person reads on: those come first that need it."""

GAP = 2
_LAST = 20
_COLORS = {"red": 31, "green": 32, "yellow": 33, "bold": 1, "dim": 2}


class TerminalReport:
    """Collects lines and tables for a terminal of so many columns."""

    def __init__(self, width: int, *, color: bool) -> None:
        self._width = width
        self._color = color
        self._lines: list[str] = []

    def line(self, text: str, *, indent: int = 0, style: str = "") -> None:
        """Add one line, wrapped at words."""
        for part in self._wrapped(plain_line(text, LINE_LIMIT), indent):
            self._lines.append(" " * indent + self._styled(part, style))

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

        Where it is too wide for the screen, columns are left out that are `spare`, the first of
        them first. Else each row is a paragraph. A long last cell is wrapped.
        """
        if most and (left := len(rows) - most) > 0:
            self.table(header, rows[:most])
            self.line(f"and {left:,} more; JSON has them all", indent=2)
            return
        header = [plain_line(title, CELL_LIMIT) for title in header]
        cells = [[plain_line(cell, CELL_LIMIT) for cell in row] for row, _ in rows]
        kept, left_out = self._that_fit(header, cells, spare)
        if self._lines:
            self._lines.append("")
        if not kept:
            self._paragraphs(header, cells, [style for _, style in rows])
            return
        header, *cells = [[row[at] for at in kept] for row in (header, *cells)]
        widths = [max(map(width_of, column)) for column in zip(header, *cells, strict=True)]
        self._lines.append(_row(header, widths).rstrip())
        for row, (_, style) in zip(cells, rows, strict=True):
            start = _row(row[:-1], widths) + " " * GAP
            for part in self._wrapped(row[-1], width_of(start)):
                self._lines.append(f"{start}{self._styled(part, style)}".rstrip())
                start = " " * width_of(start)
        if left_out:
            self.line(f"Left out, as the screen is narrow: {', '.join(left_out)}.", style="dim")

    def _that_fit(
        self, header: Sequence[str], cells: Sequence[Sequence[str]], spare: Sequence[str]
    ) -> tuple[list[int], list[str]]:
        """Return the columns to show, none where all that may go does not help, and what goes."""
        widths = [max(map(width_of, column)) for column in zip(header, *cells, strict=True)]
        least = [*widths[:-1], min(widths[-1], _LAST)]
        kept, waiting = list(range(len(header))), [one for one in spare if one in header[1:-1]]
        gone: list[str] = []
        while sum(least[at] + GAP for at in kept) - GAP > self._width:
            if not waiting:
                return [], []
            gone.append(waiting.pop(0))
            kept.remove(header.index(gone[-1]))
        return kept, gone

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


Row = Mapping[str, JsonValue]
Column = tuple[str, Callable[[Row], str]]

STYLES = {"Failed": "red", "Fail": "red", "Error": "yellow", "Stale": "yellow", "Passed": "green"}


def render_rows(kind: str, rows: Sequence[Row], *, width: int, color: bool, wide: bool) -> str:
    """Return all rows of a kind as one table; a sentence where there are none."""
    page = TerminalReport(width, color=color)
    if not rows:
        page.line(f"There are no {kind} here.")
        return page.text()
    columns = [*_COLUMNS[kind], *(_WIDE[kind] if wide else ())]
    # The style is for the last cell, so the state stands there, except where more is asked for.
    page.table(
        [title for title, _ in columns],
        [([cell(row) for _, cell in columns], _style(columns[-1][1](row))) for row in rows],
        spare=() if wide else _SPARE,
    )
    return page.text()


def render_one(row: Row, *, width: int, color: bool) -> str:
    """Return one thing with all its details: what is a list of rows becomes a table."""
    page = TerminalReport(width, color=color)
    for key, value in row.items():
        if not (isinstance(value, list) and value and isinstance(value[0], dict)):
            page.line(f"{key}: {_text(value)}", style=_style(str(value)))
    for value in row.values():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            _table(page, [one for one in value if isinstance(one, dict)])
    return page.text()


def _table(page: TerminalReport, rows: Sequence[Row]) -> None:
    keys = list(dict.fromkeys(key for row in rows for key in row if key != "message"))
    page.table(
        keys,
        [
            ([_text(row.get(key, "")) for key in keys], _style(str(row.get("result"))))
            for row in rows
        ],
        most=ROWS,
    )
    for row in rows[:ROWS]:
        if row.get("message"):
            page.line(f"{row.get('name') or row.get('eval')}: {row['message']}", indent=2)


def _style(text: str) -> str:
    return STYLES.get(text, "")


def _text(value: JsonValue) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {one}" for key, one in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


def _key(name: str) -> Callable[[Row], str]:
    return lambda row: _text(row.get(name, ""))


def _when(row: Row) -> str:
    return str(row.get("lastRunAt", "never")).replace("T", " ").removesuffix("Z")


def _counts(row: Row) -> str:
    if "lastResult" not in row:
        return f"{row['totalFixtures']}"
    return f"{row.get('passingFixtures', DASH)}/{row['totalFixtures']}"


def _axes(row: Row) -> str:
    axes = row.get("axes")
    found = [one for one in axes if isinstance(one, dict)] if isinstance(axes, list) else []
    return ", ".join(f"{_text(one.get('name'))} {_text(one.get('score'))}" for one in found)


def _versioned(row: Row) -> str:
    version = row.get("version")
    return f"{row.get('name')}@{version}" if version else _text(row.get("name", ""))


_COLUMNS: Mapping[str, Sequence[Column]] = {
    "evals": (
        ("NAME", _key("name")),
        ("AGENT", _key("targetAgent")),
        ("SCORE", _key("lastScore")),
        ("PASSING", _counts),
        ("LAST RUN", _when),
        ("REVISION", lambda row: str(row.get("revision", ""))[:7]),
        ("PHASE", _key("phase")),
    ),
    "benchmarks": (
        ("NAME", _versioned),
        ("AGENT", _key("targetAgent")),
        ("SCORE", _key("lastScore")),
        ("VERDICT", _key("verdict")),
        ("AXES", _axes),
        ("LAST RUN", _when),
        ("REVISION", lambda row: str(row.get("revision", ""))[:7]),
        ("STATUS", _key("status")),
        ("PHASE", _key("phase")),
    ),
    "experiments": (
        ("NAME", _key("name")),
        ("AGENT", _key("targetAgent")),
        ("SCORE", _key("lastScore")),
        ("SCORERS", _axes),
        ("LAST RUN", _when),
        ("REVISION", lambda row: str(row.get("revision", ""))[:7]),
        ("PHASE", _key("phase")),
    ),
    "agents": (
        ("NAME", _key("name")),
        ("RUNTIME", _key("runtime")),
        ("EVALS", _key("evals")),
        ("LAST RUN", _when),
        ("PHASE", _key("phase")),
    ),
    "fixtures": (
        ("NAME", _key("name")),
        ("AGENT", _key("agent")),
        ("KIND", _key("kind")),
        ("SEVERITY", _key("severity")),
        ("EVALS", _key("evals")),
        ("RESULT", _key("result")),
    ),
    "calibrations": (
        ("NAME", _key("name")),
        ("PHASE", _key("phase")),
        ("AGREEMENT", _key("agreement")),
        ("EXAMPLES", _key("examples")),
        ("EVALS", _key("evals")),
        ("MODELS", _key("judgeModels")),
    ),
}
_SPARE = (
    "REVISION", "LAST RUN", "RUNTIME", "KIND", "MODELS", "AXES", "SCORERS", "EXAMPLES", "EVALS",
    "SEVERITY",
)  # fmt: skip
"""What is left out first where the screen is narrow; JSON has it."""
_MORE: Sequence[Column] = (
    ("RESULT", _key("lastResult")),
    ("THRESHOLD", _key("passThreshold")),
    ("JUDGE", _key("judgeAgreement")),
    ("SCHEDULE", _key("schedule")),
    ("EVENT", _key("event")),
    ("RUN", _key("run")),
)
_WIDE: Mapping[str, Sequence[Column]] = {
    "evals": _MORE,
    "benchmarks": _MORE,
    "experiments": _MORE,
    "agents": (("MODELS", _key("models")), ("CLOSURE", _key("revision")), ("PLACE", _key("place"))),
    "fixtures": (("PLACE", _key("place")),),
    "calibrations": (("LAST REPLAY", _key("lastReplayAt")), ("PLACE", _key("place"))),
}
