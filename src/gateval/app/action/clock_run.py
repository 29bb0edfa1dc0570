"""A run by the clock: which Evals are due in it, and what it says where none is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from gateval.app.action.event import ActionEvent
from gateval.app.action.result import ActionResult
from gateval.app.history.due import due_evals, summary
from gateval.domain.forge.trigger import EventName
from gateval.domain.history.runs.due import measured_lately
from gateval.domain.history.runs.record import RunRecord
from gateval.domain.manifests.evaluation import Eval
from gateval.domain.plan.plan import Plan
from gateval.errors import EXIT_PASS, GatevalError

_DAY = timedelta(hours=20)
"""A nightly run is not always on time; what it measured yesterday is due again."""

_MOMENT = "%Y-%m-%dT%H:%M:%SZ"


class DueNow:
    """Chooses the Evals of a run by the clock: those that are due by their schedule.

    One without a schedule is due once a day, and on each new commit: the clock may tick each hour
    for the others. Where nobody can read what ran before, all of them are due. `said` tells what
    was found.
    """

    def __init__(self, event: ActionEvent) -> None:
        self._event = event
        self.left: tuple[str, ...] = ()
        self.said = ""

    def __call__(self, evals: Iterable[Eval]) -> frozenset[str]:
        """Return the names of those to run."""
        every = tuple(evals)
        try:
            records = self._records()
        except (GatevalError, OSError) as error:
            self.said = f"Earlier runs cannot be read, so every Eval counts as due: {error}\n"
            records = ()
        now = datetime.fromisoformat(self._event.context.clock.utc_now().replace("Z", "+00:00"))
        found = due_evals(every, records, now)
        done = self._done_today(every, records, now)
        self.left = (*(one.name for one in found if not one.due), *done)
        if found or not done:
            self.said += f"{summary(found)}\n"
        for name, at in done.items():
            self.said += f"{name} has no schedule, and this commit was measured at {at}.\n"
        return frozenset(one.name for one in every) - set(self.left)

    def _done_today(
        self, evals: Iterable[Eval], records: Iterable[RunRecord], now: datetime
    ) -> dict[str, str]:
        """Return when the Evals without a schedule were measured on this commit, within a day."""
        commit = self._event.resolved.revisions.head.commit or ""
        since, until = (moment.strftime(_MOMENT) for moment in (now - _DAY, now))
        measured = measured_lately(records, commit, since=since, now=until)
        free = (one.name for one in evals if one.schedule is None and one.name in measured)
        return {name: measured[name] for name in free}

    def _records(self) -> tuple[RunRecord, ...]:
        """The runs before this one; an earlier attempt of it is none: a person asks for more."""
        own = self._event.context.run.id
        return tuple(one for one in self._event.stored_runs() if str(one.run) != own)

    def narrowed(self, event: ActionEvent, plan: Plan) -> ActionEvent:
        """Return the event of a gate of its own where only some Evals are due.

        What they say must not stand for the others, whose check run is another one.
        """
        if not self.left or not plan.evals:
            return event
        names = tuple(sorted(one.name for one in plan.evals))
        narrowing = event.context.narrowing.model_copy(update={"evals": names})
        return replace(event, context=replace(event.context, narrowing=narrowing))


def nothing_due(event: ActionEvent, plan: Plan, due: DueNow) -> ActionResult | None:
    """Return the end of a run in which nothing is due: it says nothing on GitHub."""
    if event.trigger.event is EventName.SCHEDULE and not plan.evals and due.left:
        return ActionResult(EXIT_PASS, text=due.said)
    return None
