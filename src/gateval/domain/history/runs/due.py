"""Which Evals a run by the clock has to run: those whose time has come since they ran last."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from gateval.domain.base import Value
from gateval.domain.history.runs.record import RunRecord

OF_THE_BRANCH = ("push", "schedule")


class DueEval(Value):
    """An Eval with a schedule: `since` is the moment that was missed, empty if none was.

    Several missed moments are one: it is run once. `following` is the next one.
    """

    name: str
    schedule: str
    time_zone: str
    due: bool
    since: str = ""
    last_run_at: str = ""
    following: str = ""


class Moments(Value):
    """The newest moment that a schedule names up to now, and the first one after it."""

    last: datetime | None
    following: datetime | None


def last_runs(records: Iterable[RunRecord], now: str) -> Mapping[str, str]:
    """Return when each Eval was run last on the default branch; `records` come newest first.

    A run after `now` (ISO 8601) is none: whoever may push could write one, and nothing would be
    due until then.
    """
    found: dict[str, str] = {}
    for record in records:
        if record.event in OF_THE_BRANCH and record.at <= now:
            for run in record.evals:
                found.setdefault(run.eval, record.at)
    return found


def measured_lately(
    records: Iterable[RunRecord], commit: str, *, since: str, now: str
) -> Mapping[str, str]:
    """Return when runs on the default branch measured each Eval on this commit.

    Only moments (ISO 8601) between `since` and `now` count; the newest is returned. `records` come
    newest first.
    """
    return last_runs((one for one in records if one.commit == commit and since <= one.at), now)


def due_eval(name: str, schedule: str, zone: str, moments: Moments, last_run: str) -> DueEval:
    """Return whether an Eval is due; one that never ran is."""
    missed = _iso(moments.last)
    due = not last_run or (missed != "" and last_run < missed)
    return DueEval(
        name=name,
        schedule=schedule,
        time_zone=zone,
        due=due,
        since=missed if due else "",
        last_run_at=last_run,
        following=_iso(moments.following),
    )


def _iso(moment: datetime | None) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment else ""
