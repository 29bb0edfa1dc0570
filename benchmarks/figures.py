"""What a benchmark finds: named figures, some of them with a bar they must stay under."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Figure:
    """One number. `bar` is the largest value that is still good, or None for mere information."""

    benchmark: str
    name: str
    value: float
    unit: str
    bar: float | None = None

    @property
    def over(self) -> bool:
        """Whether the value misses its bar."""
        return self.bar is not None and self.value > self.bar

    def as_json(self) -> dict[str, object]:
        """The figure for machines, with the verdict spelled out."""
        return asdict(self) | {"over": self.over}


def median(values: Iterable[float]) -> float:
    """Return the median; raises `statistics.StatisticsError` for no values."""
    return statistics.median(values)


def table(figures: Sequence[Figure]) -> str:
    """Return the figures as a text table, one line each, without a closing newline."""
    rows = [("benchmark", "figure", "value", "bar", "")]
    rows += [
        (
            figure.benchmark,
            figure.name,
            _number(figure.value, figure.unit),
            "" if figure.bar is None else _number(figure.bar, figure.unit),
            "" if figure.bar is None else "over" if figure.over else "OK",
        )
        for figure in figures
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(_line(row, widths) for row in rows)


def _number(value: float, unit: str) -> str:
    digits = 2 if unit == "×" else 1 if unit in {"ms", "MB"} else 3 if unit == "s" else 0
    return f"{value:.{digits}f} {unit}".rstrip()


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    benchmark, name, value, bar, verdict = row
    cells = (
        benchmark.ljust(widths[0]),
        name.ljust(widths[1]),
        value.rjust(widths[2]),
        bar.rjust(widths[3]),
        verdict,
    )
    return "  ".join(cells).rstrip()
