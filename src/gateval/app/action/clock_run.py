"""A run by the clock: which Evals are due in it, and what it says where none is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from gateval.app.action.event import ActionEvent
from gateval.app.action.result import ActionResult
from gateval.app.history.due import due_evals, summary
from gateval.domain.forge.trigger import EventName
from gateval.domain.history.runs.file import newest_first
from gateval.domain.history.runs.record import RunRecord
from gateval.domain.manifests.evaluation import Eval
from gateval.domain.plan.plan import Plan
from gateval.errors import EXIT_PASS, GatevalError
from gateval.ports.run_file import RUNS


class DueNow:
    """Chooses the Evals of a run by the clock: all without a schedule, and those that are due.

    Where nobody can read what ran before, all of them are due. `said` tells what was found.
    """

    def __init__(self, event: ActionEvent) -> None:
        self._event = event
        self.left: tuple[str, ...] = ()
        self.said = ""

    def __call__(self, evals: Iterable[Eval]) -> frozenset[str]:
        """Return the names of those to run."""
        every = tuple(evals)
        if not any(one.schedule for one in every):
            return frozenset(one.name for one in every)
        try:
            records = self._records()
        except (GatevalError, OSError) as error:
            self.said = f"Earlier runs cannot be read, so every Eval counts as due: {error}\n"
            records = ()
        now = datetime.fromisoformat(self._event.context.clock.utc_now().replace("Z", "+00:00"))
        found = due_evals(every, records, now)
        self.left = tuple(one.name for one in found if not one.due)
        self.said += f"{summary(found)}\n"
        return frozenset(one.name for one in every) - set(self.left)

    def _records(self) -> tuple[RunRecord, ...]:
        with self._event.context.open_records() as records:
            stored = records.read(RUNS)
        return tuple(newest_first(stored.content)) if stored and stored.content else ()

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
