"""The event that a run of the action answers, with what it led to."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from gateval.app.action.context import ActionContext
from gateval.domain.forge.trigger import Trigger
from gateval.domain.history.audited import Occurrence
from gateval.domain.history.runs.file import newest_first
from gateval.domain.history.runs.record import RunRecord
from gateval.domain.ruling import GateLabel
from gateval.formats.github.action_inputs import ActionStep
from gateval.pipeline.labels import labels_of
from gateval.pipeline.resolved_event import ResolvedEvent
from gateval.ports.records import RUNS, Stored
from gateval.publish.target import PublishTarget


@dataclass(frozen=True)
class ActionEvent:
    """A trigger, the revisions it led to, and what is reported on.

    `audit` is the audit log if it was read already.
    """

    context: ActionContext
    trigger: Trigger
    resolved: ResolvedEvent
    target: PublishTarget
    audit: Stored | None = None

    @property
    def publishes(self) -> bool:
        """Whether this run says on GitHub what it found."""
        return self.context.inputs.step in {ActionStep.ALL, ActionStep.PUBLISH}

    @property
    def binds(self) -> bool:
        """Whether labels count in this run, and what it finds is recorded."""
        return self.publishes and self.trigger.trust.verified

    @property
    def labels(self) -> tuple[GateLabel, ...]:
        """The gate's labels that were on the pull request when the run began."""
        seen = self.resolved.pull_request
        return labels_of(seen) if seen is not None else ()

    @property
    def closed(self) -> bool:
        """Whether a label started it on a closed pull request, whose head another one may have."""
        seen = self.resolved.pull_request
        return self.trigger.label is not None and seen is not None and not seen.open

    def stored_runs(self, naming: Collection[str] = ()) -> Iterator[RunRecord]:
        """Return the runs that are kept in git, newest first; with `naming`, those that name one.

        Raises `GatevalError` and `OSError` where they cannot be read.
        """
        with self.context.open_records() as records:
            stored = records.read(RUNS)
        return newest_first((stored and stored.content) or b"", naming)

    def occurrence(self, at: str) -> Occurrence:
        """Return where and when this run gives its verdict; `at` is UTC to the second."""
        return Occurrence(
            repository=self.trigger.repository,
            pull_request=self.target.pull_request,
            run=self.context.run,
            at=at,
        )
