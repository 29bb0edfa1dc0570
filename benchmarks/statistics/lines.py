"""One line of the table: a figure, what stands beside it, and whether it keeps its bar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.figures import Figure

NAME = "statistics"


@dataclass(frozen=True)
class Line:
    """One figure.

    `reference` is the exact one or that of an independent simulation, `peer` is `signaltest`'s;
    `bar` is a least value where `least` is set, else a largest one.
    """

    setting: str
    what: str
    value: float
    unit: str = "%"
    reference: float | None = None
    peer: float | None = None
    bar: float | None = None
    least: bool = False

    @property
    def missed(self) -> bool:
        """Whether the value misses its bar."""
        if self.bar is None:
            return False
        return self.value < self.bar if self.least else self.value > self.bar

    def figure(self) -> Figure:
        """The line as a figure whose bar is a largest value: what is missed, in thousandths."""
        name, value, bar = f"{self.setting}: {self.what}", self.value, self.bar
        if self.unit != "%":
            return Figure(NAME, name, value, self.unit, bar)
        if self.least:
            name, value, bar = f"{name}, missed", 1 - value, None if bar is None else 1 - bar
        return Figure(NAME, name, 1000 * value, "‰", None if bar is None else 1000 * bar)


def table(lines: Sequence[Line]) -> str:
    """Return the lines as a text table without a closing newline."""
    rows: list[tuple[str, ...]] = [
        ("setting", "figure", "ours", "reference", "signaltest", "bar", "")
    ]
    rows += [_row(line) for line in lines]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _row(line: Line) -> tuple[str, ...]:
    def shown(value: float | None) -> str:
        if value is None:
            return ""
        if line.unit == "%":
            return f"{100 * value:.2f} %"
        return f"{value:.{3 if line.unit == 's' else 2}f} {line.unit}"

    sign = "" if line.bar is None else "≥ " if line.least else "≤ "
    verdict = "" if line.bar is None else "MISSED" if line.missed else "OK"
    return (
        line.setting,
        line.what,
        shown(line.value),
        shown(line.reference),
        shown(line.peer),
        sign + shown(line.bar),
        verdict,
    )
