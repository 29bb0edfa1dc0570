"""Many runs of benchmarks as a table: a row for each Agent, a column for each benchmark."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue

from gateval.domain.base import Value
from gateval.domain.history.compared.scores import has_scores
from gateval.domain.history.runs.record import RunEval, RunRecord
from gateval.domain.manifests.axes import show_axis
from gateval.domain.score import score_of
from gateval.domain.text.figures import show_score


class TableCell(Value):
    """One benchmark of one Agent: its score as an interval in [0, 1], where and when.

    `low` and `high` are None where nothing was measured.
    """

    benchmark: str
    low: float | None
    high: float | None
    verdict: str = ""
    status: str = ""
    axes: tuple[tuple[str, float | None], ...] = ()
    run: str
    revision: str
    at: str

    @property
    def shown(self) -> str:
        """The score and what it is called: `0.83 partial`, or the interval, and the status."""
        score = show_score(score_of(self.low, self.high))
        ended = "" if self.status in {"", "completed"} else f", {self.status.replace('_', ' ')}"
        return f"{score} {self.verdict}".strip() + ended


class TableRow(Value):
    """One Agent, or one of several runs of it; `cells` are in the order of the columns."""

    name: str
    agent: str
    cells: tuple[TableCell | None, ...]


class Table(Value):
    """Agents and benchmarks; `benchmarks` are the columns, as `slug@version`."""

    benchmarks: tuple[str, ...] = ()
    rows: tuple[TableRow, ...] = ()

    def as_json(self) -> JsonValue:
        """Return the rows for programs, with camelCase keys."""
        return [
            {
                "agent": row.agent,
                "name": row.name,
                "benchmarks": {one.benchmark: _cell(one) for one in row.cells if one},
            }
            for row in self.rows
        ]


def table_of(runs: Sequence[Sequence[RunRecord]]) -> Table:
    """Return the table of these runs, each with the records of one revision, the newest first.

    Of one Agent there is one row, unless two runs measured the same benchmark with it: then each
    run has its own.
    """
    found: list[tuple[RunRecord, RunEval]] = []
    for records in runs:
        known: set[tuple[str, str]] = set()
        for record in records:
            for one in record.evals:
                if has_scores(one) and (one.agent, one.eval) not in known:
                    known.add((one.agent, one.eval))
                    found.append((record, one))
    columns = tuple(dict.fromkeys(_called(one) for _, one in found))
    crowded = _crowded(found)
    rows: dict[tuple[str, str], dict[str, TableCell]] = {}
    for record, one in found:
        name = f"{one.agent} ({record.revision})" if one.agent in crowded else one.agent
        cell = _cell_of(record, one)
        if cell.benchmark in rows.get((name, one.agent), {}):
            name = f"{one.agent} ({record.id})"
        rows.setdefault((name, one.agent), {})[cell.benchmark] = cell
    return Table(
        benchmarks=columns,
        rows=tuple(
            TableRow(name=name, agent=agent, cells=tuple(cells.get(one) for one in columns))
            for (name, agent), cells in rows.items()
        ),
    )


def _crowded(found: Sequence[tuple[RunRecord, RunEval]]) -> set[str]:
    """The Agents of which one benchmark was run several times."""
    names = [(one.agent, _called(one)) for _, one in found]
    return {name[0] for name in names if names.count(name) > 1}


def _called(run: RunEval) -> str:
    return f"{run.eval}@{run.version}" if run.version else run.eval


def _cell_of(record: RunRecord, run: RunEval) -> TableCell:
    return TableCell(
        benchmark=_called(run),
        low=run.low,
        high=run.high,
        verdict=run.called,
        status=run.status,
        axes=tuple((one.name, one.score) for one in run.axes),
        run=record.id,
        revision=record.commit,
        at=record.at,
    )


def _cell(one: TableCell) -> dict[str, JsonValue]:
    known = one.low is not None and one.low == one.high
    measured: dict[str, JsonValue] = {"score": one.low} if known else {}
    return {
        **measured,
        "low": one.low,
        "high": one.high,
        "verdict": one.verdict,
        "status": one.status,
        "axes": {show_axis(name): score for name, score in one.axes},
        "run": one.run,
        "revision": one.revision,
        "at": one.at,
    }
