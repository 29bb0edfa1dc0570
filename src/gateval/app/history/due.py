"""What `due` does, and how the action finds the Evals that a run by the clock has to run."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from gateval.domain.history.runs.due import DueEval, Moments, due_eval, last_runs
from gateval.domain.history.runs.record import RunRecord
from gateval.domain.history.runs.rows import shown
from gateval.domain.manifests.evaluation import Eval
from gateval.errors import EXIT_PASS
from gateval.formats.native.cron import last_time, next_time


def due_evals(
    evals: Iterable[Eval], records: Iterable[RunRecord], now: datetime
) -> tuple[DueEval, ...]:
    """Return the Evals that have a schedule, each with whether it is due `now`."""
    last = last_runs(records, now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
    return tuple(
        due_eval(
            one.name,
            one.schedule,
            one.time_zone,
            Moments(
                last=last_time(one.schedule, one.time_zone, now),
                following=next_time(one.schedule, one.time_zone, now),
            ),
            last.get(one.name, ""),
        )
        for one in sorted(evals, key=lambda one: one.name)
        if one.schedule is not None
    )


def show_due(environ: Mapping[str, str], *, as_json: bool, fetch: bool) -> int:
    """Print the names of the Evals that are due, one a line; the rest is said on stderr."""
    from gateval.app.history.present import look_here

    here = look_here(environ, fetch=fetch)
    evals = here.snapshot.catalogue.evals
    found = due_evals(evals, here.runs.newest(), datetime.now(UTC))
    if as_json:
        print(json.dumps([shown(one) for one in found]))
        return EXIT_PASS
    for one in found:
        if one.due:
            print(one.name)
    print(summary(found), file=sys.stderr)
    return EXIT_PASS


def summary(found: Iterable[DueEval]) -> str:
    """Return a sentence on what is due, and when something is next."""
    every = tuple(found)
    due = [one for one in every if one.due]
    if due:
        each = [f"{one.name} (since {one.since or 'ever'})" for one in due]
        return f"Due: {', '.join(each)}."
    upcoming = min(
        (one for one in every if one.following), key=lambda one: one.following, default=None
    )
    if upcoming is None:
        return "No Eval has a schedule."
    return f"No Eval is due; the next is {upcoming.name} at {upcoming.following}."
