"""How an Eval's score went from run to run, with the runs in which it regressed."""

from __future__ import annotations

from collections.abc import Iterable

from gateval.domain.base import Value
from gateval.domain.history.runs.record import RunRecord
from gateval.domain.history.runs.status import PULL_REQUESTS
from gateval.domain.results.averages import ScorerAverage
from gateval.domain.verdicts import GateVerdict


class Point(Value):
    """One run of an Eval: its score and limits (about 95 %) in [0, 1], None if not measured.

    `regressed` names the fixtures that a comparison with an earlier commit found regressed (`*` for
    all together); `changed` says that the Agent is another one than in the run before. `passed_on`
    is the commit of the run before if that passed and this one fails. `averages` are those of an
    experiment's scorers.
    """

    at: str
    revision: str
    run: str
    event: str
    score: float | None
    low: float | None
    high: float | None
    threshold: float | None = None
    verdict: str
    passing: int | None
    total: int
    regressed: tuple[str, ...] = ()
    base: str = ""
    changed: bool = False
    passed_on: str = ""
    averages: tuple[ScorerAverage, ...] = ()


ALL = "*"


def trend(records: Iterable[RunRecord], name: str, *, limit: int) -> tuple[Point, ...]:
    """Return the last `limit` runs of an Eval, the oldest first; `records` come newest first.

    Runs of pull requests are left out: they measure what somebody proposes.
    """
    found: list[tuple[Point, str]] = []
    for record in records:
        run = record.eval(name)
        if run is None or record.event in PULL_REQUESTS:
            continue
        names = [one.fixture for one in run.named if one.regressed]
        point = Point(
            at=record.at,
            revision=record.commit,
            run=record.id,
            event=record.event,
            score=run.low,
            low=run.limits and run.limits[0],
            high=run.limits and max(run.limits[1], run.high or 0.0),
            threshold=run.threshold,
            verdict=run.verdict.value,
            passing=None if run.sealed else run.passing,
            total=run.total,
            regressed=(*names, *([ALL] if run.slipped else [])),
            base=record.base,
            averages=run.averages,
        )
        found.append((point, run.closure))
        if len(found) == limit:
            break
    found.reverse()
    before: list[tuple[Point, str] | None] = [None, *found[:-1]] if found else []
    return tuple(
        _after(point, closure, old) for (point, closure), old in zip(found, before, strict=True)
    )


def _after(point: Point, closure: str, before: tuple[Point, str] | None) -> Point:
    if before is None:
        return point
    old, old_closure = before
    turned = old.verdict == GateVerdict.PASS and point.verdict == GateVerdict.FAIL
    return point.model_copy(
        update={"changed": old_closure != closure, "passed_on": old.revision if turned else ""}
    )
