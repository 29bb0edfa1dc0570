"""Two runs with scores side by side, and many in a table: for a terminal and as markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gateval.domain.history.compared.scores import ComparedScore, ComparedScores
from gateval.domain.history.compared.table import Table
from gateval.domain.manifests.axes import show_axis
from gateval.domain.text.figures import DASH
from gateval.render.history.sheet import Sheet
from gateval.safe.sanitize import inline

_CELL = 60

_TITLES = {
    "Benchmark": ("TASK", "AXIS", "CRITERION"),
    "Experiment": ("ROW", "SCORER", "ROW: SCORER"),
}


def show_scores(sheet: Sheet, found: ComparedScores, names: tuple[str, str]) -> None:
    """Add the tasks that moved, all axes, and the criteria that moved."""
    if found.version[0] != found.version[1]:
        sheet.line(f"version {found.version[0]} before, {found.version[1]} after", indent=2)
    moved = [one for one in found.tasks if one.delta or one.said]
    task, axis, criterion = _TITLES.get(found.kind, _TITLES["Benchmark"])
    _table(sheet, task, names, moved)
    if same := len(found.tasks) - len(moved):
        sheet.line(f"{same} more with equal scores", indent=2)
    axes = [one.model_copy(update={"name": show_axis(one.name)}) for one in found.axes]
    if len(axes) > 1:
        _table(sheet, axis, names, axes)
    _table(sheet, criterion, names, found.criteria)
    if found.whole.p_value is not None:
        chance = f"P {found.whole.p_value:.3f} ({found.whole.pairs} in pairs)"
        sheet.line(f"all {task.lower()}s together: {chance}", indent=2)


def _table(
    sheet: Sheet, title: str, names: tuple[str, str], scores: Iterable[ComparedScore]
) -> None:
    rows = [
        (
            (
                one.name,
                _score(one.before),
                _score(one.after),
                "" if one.delta is None else f"{one.delta:+.2f}",
                one.said or ("" if one.p_value is None else f"P {one.p_value:.3f}"),
            ),
            "red" if (one.delta or 0) < 0 else "green" if (one.delta or 0) > 0 else "",
        )
        for one in scores
    ]
    if rows:
        sheet.table((title, *names, "\N{INCREMENT}", ""), rows)


def _score(score: float | None) -> str:
    return DASH if score is None else f"{score:.2f}"


def render_table(table: Table, *, width: int, color: bool) -> str:
    """Return the table for a terminal; a sentence where nothing was measured."""
    sheet = Sheet(width, color=color)
    if not table.rows:
        sheet.line("No run of a benchmark is known here. `gateval run BENCHMARK` makes the first.")
    else:
        rows = [((row.name, *_cells(row.cells)), "") for row in table.rows]
        sheet.table(("AGENT", *table.benchmarks), rows)
    return sheet.text()


def render_markdown(table: Table) -> str:
    """Return the table as GitHub markdown."""
    head = ["Agent", *(inline(one, _CELL) for one in table.benchmarks)]
    lines = [f"| {' | '.join(head)} |", f"|---|{'--:|' * len(table.benchmarks)}"]
    for row in table.rows:
        cells = [inline(one, _CELL) for one in (row.name, *_cells(row.cells))]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cells(cells: Sequence[object]) -> list[str]:
    return [getattr(one, "shown", DASH) for one in cells]
