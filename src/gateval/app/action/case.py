"""What one run of the action is about, once that is known."""

from __future__ import annotations

from dataclasses import dataclass

from gateval.adapters.clock import SystemClock
from gateval.app.action.hearing import Hearing, open_hearing
from gateval.app.action.scene import Scene
from gateval.domain.forge.trigger import Trigger
from gateval.domain.history.audited import Occurrence
from gateval.domain.manifests.gate_config import Policy
from gateval.domain.verdicts import GateVerdict
from gateval.formats.github.action_inputs import ActionStep
from gateval.pipeline.labels import labels_of
from gateval.pipeline.resolved_event import ResolvedEvent
from gateval.ports.records import Stored
from gateval.publish.target import Target


@dataclass(frozen=True)
class Case:
    """A trigger with what it led to, and what is reported on.

    `audit` is the audit log if it was read already.
    """

    scene: Scene
    trigger: Trigger
    resolved: ResolvedEvent
    target: Target
    audit: Stored | None = None

    @property
    def publishes(self) -> bool:
        """Whether this run says on GitHub what it found."""
        return self.scene.inputs.step in {ActionStep.ALL, ActionStep.PUBLISH}

    @property
    def binds(self) -> bool:
        """Whether labels count in this run, and what it finds is recorded."""
        return self.publishes and self.trigger.trust.verified

    @property
    def occurrence(self) -> Occurrence:
        """Where and when this run gives its verdict."""
        return Occurrence(
            repository=self.trigger.repository,
            pull_request=self.target.pull_request,
            run=self.scene.run,
            at=SystemClock().utc_now(),
        )

    def hearing(self, policy: Policy, verdict: GateVerdict) -> Hearing:
        """Return what to hear labels with. GitHub is asked only where a label can matter:

        when the evals do not pass, or one of the gate's labels was there when the run began.
        """
        resolved, seen = self.resolved, self.resolved.pull_request
        there = seen is not None and bool(labels_of(seen))
        numbers: tuple[int, ...] = ()
        if self.binds and (there or verdict is not GateVerdict.PASS):
            numbers = resolved.group or ((seen.number,) if seen is not None else ())
        return open_hearing(
            self.scene,
            self.trigger,
            policy,
            numbers,
            self.target.head,
            group=bool(resolved.group),
            complete=resolved.group_known or not resolved.group,
            audit=self.audit,
        )
