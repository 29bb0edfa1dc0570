"""The sets of experiments that the file of runs holds, to hold a new one against."""

from __future__ import annotations

from gateval.app.action.event import ActionEvent
from gateval.domain.history.runs.file import newest_first
from gateval.domain.history.runs.sets import earlier_sets, experiments
from gateval.domain.plan.plan import Plan
from gateval.domain.results.models.averages import EarlierSet
from gateval.errors import GatevalError
from gateval.ports.records import RUNS


def sets_stored(event: ActionEvent, plan: Plan) -> tuple[EarlierSet, ...]:
    """Return the newest set of each experiment of a plan; none where the file cannot be read.

    They are shown and decide nothing, so that no proof is asked for.
    """
    names = [one.own_name for one in experiments(plan)]
    if not names or not event.binds:
        return ()
    try:
        with event.context.open_records() as records:
            stored = records.read(RUNS)
    except (GatevalError, OSError):
        return ()
    content = stored.content if stored else None
    return earlier_sets(plan, newest_first(content, names)) if content else ()
