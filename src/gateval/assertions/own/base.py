"""What own checks share: what a program is told of a trial, and how its answer is read."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from pydantic import Field, JsonValue

from gateval.assertions.evidence import Basis, Evidence, NotMeasured
from gateval.assertions.own.answer import CheckAnswer, read_answer
from gateval.assertions.own.program import OwnProgram
from gateval.assertions.world import Bench
from gateval.domain.base import JsonObject
from gateval.domain.manifests.fixture import CheckFiles, Fixture
from gateval.domain.trials.trace import STEPS_LIMIT
from gateval.domain.trials.trial import Assessment, Cause
from gateval.judging.neutral import shorten

VERSION = 1
"""Of what a check is told. Keys may be added; another meaning is another version."""


class OwnCheck(OwnProgram, ABC):
    """A program of the repository that is told of the trial and answers with a score."""

    basis: ClassVar[Basis] = Basis.TRACE

    min_score: float = Field(
        default=0.5, ge=0, le=1, description="The lowest score that passes, if it does not say so."
    )
    vars: JsonObject = Field(default={}, description="What the check is told besides, as `vars`.")

    async def assess_by(
        self, evidence: Evidence, files: CheckFiles | None, bench: Bench
    ) -> Assessment:
        """Run the check. Rests on the steps that it names, else on the final message.

        Raises `NotMeasured` for a check that crashes, is late or does not answer as it should.
        """
        printed = await self.printed(self._told(evidence, bench.fixture), files, bench)
        try:
            answer = read_answer(printed, [one.number for one in evidence.transcript.steps])
        except ValueError as error:
            message = f"the answer of the check {self.named} cannot be used: {error}"
            raise NotMeasured(Cause.CHECK, message) from None
        return self._assessment(answer, evidence)

    def _told(self, evidence: Evidence, fixture: Fixture) -> JsonObject:
        trace, answer = evidence.transcript, evidence.answer
        steps: list[JsonValue] = [
            step.model_dump(mode="json", exclude_defaults=True, exclude={"seconds", "retries"})
            for step in trace.steps
        ]
        recorded = answer.recorded
        whole = recorded is not None and len(recorded.steps) < STEPS_LIMIT
        return {
            "version": VERSION,
            "fixture": {"name": fixture.name, "labels": dict(fixture.labels)},
            "input": evidence.input.model_dump(mode="json"),
            "prompt": evidence.input.prompt,
            "output": answer.output,
            "steps": steps,
            "trace": recorded.source if recorded else "none",
            "complete": whole,
            "usage": answer.usage.model_dump(mode="json"),
            "seconds": answer.seconds,
            "reference": evidence.reference.model_dump(mode="json", exclude_defaults=True),
            "vars": self.vars,
        }

    def _assessment(self, answer: CheckAnswer, evidence: Evidence) -> Assessment:
        score = answer.score if answer.score is not None else float(bool(answer.passed))
        met = score >= self.min_score if answer.passed is None else answer.passed
        asks = f"the check {self.named} to pass"
        if answer.passed is None:
            asks = f"the check {self.named} to score at least {self.min_score:g}"
        said = f": {shorten(answer.reason, 400).rstrip('.')}" if answer.reason.strip() else ""
        steps = answer.steps or evidence.final
        found = self.result(met=met, expected=asks, saw=f"{score:g}{said}", steps=steps)
        return found.model_copy(update={"score": score})
