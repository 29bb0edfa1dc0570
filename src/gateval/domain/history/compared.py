"""Two revisions or runs held against each other, from what was stored; nothing is measured.

Of a revision one run counts, Eval by Eval: of those that measured most of it, the newest. Trials of
several runs are never added up, since what made somebody run again is in the earlier ones.

The tasks of both are pairs, and so are their scores on an axis: the p-value is that of the exact
paired permutation test that the second is worse. It is a description. Nothing blocks by it, and
many axes are many tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from pydantic import JsonValue

from gateval.domain.base import Value
from gateval.domain.history.run_record import (
    RunEval,
    RunFixture,
    RunRecord,
    RunScore,
    TrialStatus,
)
from gateval.domain.manifests.fixture import show_axis
from gateval.domain.statistics.design import fisher
from gateval.domain.statistics.graded import sign_flip
from gateval.domain.text import show_score
from gateval.domain.verdicts import Measured, Score, score_of


class ComparedScore(Value):
    """One task, axis or criterion on both: mean scores in [0, 1], None where there is none.

    `name` of a criterion is `TASK: LABEL`. `pairs` are the tasks that both have and that ask the
    same; `p_value` needs some. `said` tells why the two are not alike.
    """

    name: str
    before: float | None = None
    after: float | None = None
    pairs: int = 0
    p_value: float | None = None
    said: str = ""

    @property
    def delta(self) -> float | None:
        """The second minus the first."""
        if self.before is None or self.after is None:
            return None
        return round(self.after - self.before, 6)


class ComparedScores(Value):
    """The scores of two runs: tasks and axes all, criteria those that moved.

    `kind` is that of the manifest: an experiment's tasks are rows, its axes scorers.
    """

    kind: str = "Benchmark"
    version: tuple[str, str]
    verdict: tuple[str, str]
    whole: ComparedScore
    tasks: tuple[ComparedScore, ...]
    axes: tuple[ComparedScore, ...]
    criteria: tuple[ComparedScore, ...]

    @property
    def moved(self) -> tuple[ComparedScore, ...]:
        """The tasks that did not stay as they were, the worst first."""
        return tuple(one for one in self.tasks if one.delta or one.said)

    @property
    def shown_axes(self) -> tuple[ComparedScore, ...]:
        """The axes, as people call them, where there are several: one alone is the whole."""
        told = self.axes if len(self.axes) > 1 else ()
        return tuple(one.replace(name=show_axis(one.name)) for one in told)


def compare_scores(before: RunEval, after: RunEval) -> ComparedScores:
    """Compare two runs of Evals with scores, task by task."""
    old, new = before.by_name, after.by_name
    same = [
        (old[name], new[name])
        for name in sorted(old.keys() & new.keys())
        if old[name].digest == new[name].digest
    ]
    tasks = [
        ComparedScore(
            name=name,
            before=_known_score(one),
            after=_known_score(other),
            pairs=not _unlike(one, other, (before, after)),
            said=_unlike(one, other, (before, after)) or _unmeasured(one, other),
        )
        for name in _worst_first(after, before)
        for one, other in [(old.get(name), new.get(name))]
    ]
    old_axes, new_axes = _named(before.axes), _named(after.axes)
    return ComparedScores(
        kind=after.kind,
        version=(before.version, after.version),
        verdict=(before.called, after.called),
        whole=_score("", before.low, after.low, [(a.score, b.score) for a, b in same]),
        tasks=tuple(sorted(tasks, key=lambda one: one.delta or 0.0)),
        axes=tuple(
            _score(
                axis,
                old_axes.get(axis),
                new_axes.get(axis),
                [
                    (_named(a.axes)[axis], _named(b.axes).get(axis))
                    for a, b in same
                    if axis in _named(a.axes)
                ],
            )
            for axis in {**old_axes, **new_axes}
        ),
        criteria=tuple(
            ComparedScore(
                name=f"{a.fixture}: {one.name}", before=one.score, after=other.score, pairs=1
            )
            for a, b in same
            for one, other in zip(a.criteria, b.criteria, strict=False)
            if one.score != other.score
        ),
    )


def has_scores(run: RunEval) -> bool:
    """Whether trials of a run have scores, or would, had they been measured."""
    return run.model.graded or any(one.score is not None for one in run.named)


def _known_score(one: RunFixture | None) -> float | None:
    score = one.whole_score if one else None
    return score.value if isinstance(score, Measured) else None


def _unlike(
    old: RunFixture | None, new: RunFixture | None, runs: tuple[RunEval | None, RunEval | None]
) -> str:
    """Why two fixtures of one name are no pair; empty if they are one."""
    if old is None or new is None:
        gone, where, there = ("first", 0, "second") if old is None else ("second", 1, "first")
        run = runs[where]
        return f"not listed in the {gone}" if run and run.cut else f"only in the {there}"
    return "" if old.digest == new.digest else "edited"


def _unmeasured(old: RunFixture | None, new: RunFixture | None) -> str:
    """Which of the two says nothing of itself; empty where both do."""
    sides = [(one, name) for one, name in ((old, "first"), (new, "second")) if one]
    if stands := [name for one, name in sides if one.stands]:
        return f"stands from an earlier run in the {' and the '.join(stands)}"
    lost = [name for one, name in sides if not one.measured]
    return f"not measured in the {' and the '.join(lost)}" if lost else ""


def _score(
    name: str,
    before: float | None,
    after: float | None,
    pairs: Sequence[tuple[float | None, float | None]],
) -> ComparedScore:
    moved = [new - old for old, new in pairs if old is not None and new is not None]
    return ComparedScore(
        name=name,
        before=before,
        after=after,
        pairs=len(moved),
        p_value=sign_flip(moved) if moved else None,
    )


def _named(scores: Sequence[RunScore]) -> Mapping[str, float | None]:
    return {one.name: one.score for one in scores}


class ComparedFixture(Value):
    """One fixture: passes of measured trials on both, and how likely that is by chance alone.

    `p_value` is that of Fisher's one-sided exact test that the second is worse; None where one of
    them has no trials, or the fixture asks something else.
    """

    fixture: str
    before: str = ""
    after: str = ""
    p_value: float | None = None
    worse: bool = False
    differs: bool = False
    said: str = ""


class ComparedRun(Value):
    """The run that stands for one of the two: it measured it as head, or `as_base`.

    `low` and `high` are the Eval's score as an interval in [0, 1], None where nothing was measured,
    and `runs` those that say something, of how many, where it was measured in part.
    `newer` are later runs of the revision that are less complete and left out. It names `listed` of
    its `total` fixtures first ones first, and `beyond` them those that did not pass; `others` says
    whether the rest is known to have passed.
    """

    run: str
    at: str
    revision: str
    as_base: bool = False
    complete: bool = True
    low: float | None = None
    high: float | None = None
    runs: tuple[int, int] = (0, 0)
    newer: tuple[str, ...] = ()
    listed: int
    beyond: int = 0
    total: int
    others: Literal["", "passed", "unknown"] = ""

    @property
    def score(self) -> Score:
        """The score of the Eval."""
        return score_of(self.low, self.high, *self.runs)

    @property
    def taken(self) -> str:
        """Which run it is, and why not another one, in words."""
        run = f"the run {self.run} ({self.at[:16].replace('T', ' ')})"
        said = f"base of {run}" if self.as_base else run
        if not self.complete:
            return f"{said}, not complete"
        if not self.newer:
            return said
        return f"{said}, the newest that is complete; left out: {', '.join(self.newer)}"

    @property
    def naming(self) -> str:
        """Which part of its fixtures it names, as a sentence; empty where it names them all."""
        if not self.others:
            return ""
        more = f", and {self.beyond:,} more that did not pass" if self.beyond else ""
        passed = self.others == "passed"
        others = "all others passed" if passed else "how the others ended is not kept"
        return f"{self.run} lists {self.listed:,} of {self.total:,} fixtures{more}; {others}."


class ComparedEval(Value):
    """One Eval on both; `otherwise` says what else differs, empty if nothing does.

    `of` are the runs that stand for the two, None where there is none. `scores` hold one against
    the other where trials have scores. A score is None where nothing was measured; `lacking` says
    which of the two has no run of it at all.
    """

    eval: str
    before: float | None = None
    after: float | None = None
    lacking: Literal["", "before", "after"] = ""
    otherwise: str = ""
    fixtures: tuple[ComparedFixture, ...] = ()
    scores: ComparedScores | None = None
    of: tuple[ComparedRun | None, ComparedRun | None] = (None, None)

    @property
    def delta(self) -> float | None:
        """The second score minus the first."""
        if self.before is None or self.after is None:
            return None
        return self.after - self.before

    @property
    def moved(self) -> tuple[ComparedFixture, ...]:
        """The fixtures that did not stay as they were, the worst first."""
        return tuple(one for one in self.fixtures if one.differs)

    @property
    def naming(self) -> tuple[str, ...]:
        """Which part of their fixtures the two runs name, where that is not all."""
        return tuple(dict.fromkeys(of.naming for of in self.of if of and of.naming))


class ComparedRecord(NamedTuple):
    """A record and whether it is of what a run measured as base."""

    record: RunRecord
    as_base: bool = False


class _Taken(NamedTuple):
    eval: RunEval
    said: ComparedRun


def measured_on(commit: str, records: Iterable[RunRecord]) -> Iterator[ComparedRecord]:
    """Yield what runs measured on a commit, as head or as base, in the order of `records`."""
    for record in records:
        if record.commit == commit:
            yield ComparedRecord(record)
        elif record.base == commit and (base := record.of_base).evals:
            yield ComparedRecord(base, as_base=True)


def compare_runs(
    before: Sequence[ComparedRecord], after: Sequence[ComparedRecord]
) -> tuple[ComparedEval, ...]:
    """Compare what two sets of runs say, each of one revision, the newest first."""
    names = {one.eval for of in (*before, *after) for one in of.record.evals}
    return tuple(_compare(name, _take(name, before), _take(name, after)) for name in sorted(names))


def _take(name: str, runs: Sequence[ComparedRecord]) -> _Taken | None:
    """Return the newest of the runs that measured most of an Eval; None without any."""
    found = [(of, run) for of in runs if (run := of.record.eval(name)) is not None]
    if not found:
        return None
    index = min(range(len(found)), key=lambda at: found[at][1].lacks)
    (record, as_base), run = found[index]
    return _Taken(
        run,
        ComparedRun(
            run=record.id,
            at=record.at,
            revision=record.commit,
            as_base=as_base,
            complete=run.complete,
            low=run.low,
            high=run.high,
            runs=run.runs,
            newer=tuple(of.record.id for of, _ in found[:index]),
            listed=len(run.fixtures),
            beyond=len(run.beyond),
            total=run.total,
            others=("passed" if run.unnamed_passed else "unknown") if run.cut else "",
        ),
    )


def _compare(name: str, before: _Taken | None, after: _Taken | None) -> ComparedEval:
    old, new = before and before.eval, after and after.eval
    scored = old and new and has_scores(old) and has_scores(new)
    fixtures = [_fixture(one, old, new) for one in _worst_first(new, old)]
    otherwise = ""
    if old and new and old.closure == new.closure:
        otherwise = "The Agent is the same in both."
        if old.setting != new.setting:
            otherwise = "The Agent is the same; judge, models or Gateval differ."
    return ComparedEval(
        eval=name,
        before=old.low if old and old.complete else None,
        after=new.low if new and new.complete else None,
        lacking="" if old and new else "after" if old else "before",
        otherwise=otherwise,
        fixtures=tuple(
            sorted(
                fixtures,
                key=lambda one: (not one.worse, not one.differs, not (one.before or one.after)),
            )
        ),
        scores=compare_scores(old, new) if old and new and scored else None,
        of=(before and before.said, after and after.said),
    )


def _worst_first(*runs: RunEval | None) -> Sequence[str]:
    """Return the names of all fixtures of these runs, in the order of the first that has them."""
    return list(dict.fromkeys(one.fixture for run in runs if run for one in run.worst_first))


def _fixture(name: str, before: RunEval | None, after: RunEval | None) -> ComparedFixture:
    """Compare one fixture. One that a run of equally many does not name passed there, if all that
    it does not name did.
    """
    old, new = (run.by_name.get(name) if run else None for run in (before, after))
    if before and after and before.total == after.total:
        old = old or _unnamed(before, new)
        new = new or _unnamed(after, old)
    unlike = _unlike(old, new, (before, after) if before and after else (None, None))
    rates = [one.passes / one.measured if one and one.measured else None for one in (old, new)]
    pair = old is not None and new is not None and not unlike and None not in rates
    return ComparedFixture(
        fixture=name,
        before=_shown(old),
        after=_shown(new),
        p_value=fisher(old.passes, old.measured, new.passes, new.measured)
        if pair and old and new
        else None,
        worse=pair and (rates[1] or 0) < (rates[0] or 0),
        differs=bool(unlike) or None in rates or rates[0] != rates[1],
        said=unlike or _unmeasured(old, new),
    )


def _unnamed(run: RunEval, known: RunFixture | None) -> RunFixture | None:
    """The fixture that the other run knows, as one that passed; None if it is not known to have."""
    if known is None or not run.cut or not run.unnamed_passed:
        return None
    reps = max((len(one.trials) for one in run.named), default=1)
    return known.replace(trials=TrialStatus.PASSED * reps, regressed=False)


def _shown(one: RunFixture | None) -> str:
    """Return passes of measured trials; empty where none was measured."""
    return f"{one.passes}/{one.measured}" if one and one.measured else ""


class TableCell(NamedTuple):
    """One benchmark of one Agent, as a run measured it."""

    record: RunRecord
    run: RunEval

    @property
    def benchmark(self) -> str:
        """Its name and version."""
        return f"{self.run.eval}@{self.run.version}" if self.run.version else self.run.eval

    @property
    def shown(self) -> str:
        """The score and what it is called: `0.83 partial`, or the interval, and the status."""
        score, status = show_score(score_of(self.run.low, self.run.high)), self.run.status
        ended = "" if status in {"", "completed"} else f", {status.replace('_', ' ')}"
        return f"{score} {self.run.called}".strip() + ended

    def as_json(self) -> dict[str, JsonValue]:
        """Return it for programs."""
        return {
            **({"score": self.run.low} if self.run.complete else {}),
            "low": self.run.low,
            "high": self.run.high,
            "verdict": self.run.called,
            "status": self.run.status,
            "axes": {one.name: one.score for one in self.run.shown_axes},
            "run": self.record.id,
            "revision": self.record.commit,
            "at": self.record.at,
        }


class TableRow(NamedTuple):
    """One Agent, or one of several runs of it; `cells` are in the order of the columns."""

    name: str
    agent: str
    cells: tuple[TableCell | None, ...]


class Table(NamedTuple):
    """Agents and benchmarks; `benchmarks` are the columns, as `slug@version`."""

    benchmarks: tuple[str, ...] = ()
    rows: tuple[TableRow, ...] = ()

    def as_json(self) -> JsonValue:
        """Return the rows for programs, with camelCase keys."""
        return [
            {
                "agent": row.agent,
                "name": row.name,
                "benchmarks": {one.benchmark: one.as_json() for one in row.cells if one},
            }
            for row in self.rows
        ]


def table_of(runs: Sequence[Sequence[RunRecord]]) -> Table:
    """Return the table of these runs, each with the records of one revision, the newest first.

    Of one Agent there is one row, unless two runs measured the same benchmark with it: then each
    run has its own.
    """
    found: list[TableCell] = []
    for records in runs:
        known: dict[tuple[str, str], TableCell] = {}
        for record in records:
            for one in filter(has_scores, record.evals):
                known.setdefault((one.agent, one.eval), TableCell(record, one))
        found += known.values()
    names = [(one.run.agent, one.benchmark) for one in found]
    crowded = {agent for agent, benchmark in names if names.count((agent, benchmark)) > 1}
    rows: dict[tuple[str, str], dict[str, TableCell]] = {}
    for cell in found:
        name = agent = cell.run.agent
        if agent in crowded:
            name = f"{agent} ({cell.record.revision})"
        if cell.benchmark in rows.get((name, agent), {}):
            name = f"{agent} ({cell.record.id})"
        rows.setdefault((name, agent), {})[cell.benchmark] = cell
    columns = tuple(dict.fromkeys(one.benchmark for one in found))
    return Table(
        columns,
        tuple(
            TableRow(name, agent, tuple(map(cells.get, columns)))
            for (name, agent), cells in rows.items()
        ),
    )
