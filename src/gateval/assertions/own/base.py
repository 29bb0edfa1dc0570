"""What own checks share: what a program is told of a trial, and how its answer is read."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from functools import partial
from typing import ClassVar, Self

from pydantic import Field, JsonValue, ValidationError, model_validator

from gateval.assertions.evidence import Basis, Evidence
from gateval.assertions.own.program import OwnProgram, first_mistake
from gateval.assertions.world import Asker, Priced, World
from gateval.domain.base import JsonObject, Value, canonical_json
from gateval.domain.manifests.fixture import AssertionSpec, Fixture
from gateval.domain.text.quoting import quote
from gateval.domain.text.strict_json import NotStrictJson, read_json
from gateval.domain.trials.trace import STEPS_LIMIT
from gateval.domain.trials.trial import Assessment
from gateval.judging.neutral import shorten

VERSION = 1
"""Of what a check is told. Keys may be added; another meaning is another version."""

_SHOWN = 120
"""Characters shown of what is no JSON."""


class OwnCheck(OwnProgram, Asker, ABC):
    """A program of the repository that is told of the trial and answers with a score."""

    basis: ClassVar[Basis] = Basis.TRACE

    min_score: float = Field(
        default=0.5, ge=0, le=1, description="The lowest score that passes, if it does not say so."
    )
    vars: JsonObject = Field(default={}, description="What the check is told besides, as `vars`.")

    async def assess_in(self, evidence: Evidence, spec: AssertionSpec, world: World) -> Priced:
        """Run the check. Rests on the steps that it names, else on the final message.

        Raises `NotMeasured` for a check that crashes, is late or does not answer as it should.
        """
        told = self._told(evidence, world.bench.fixture)
        read = partial(read_answer, steps=[one.number for one in evidence.transcript.steps])
        answer = await self.answer(told, spec.own, world.bench, read)
        return self._assessment(answer, evidence), None

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


class CheckAnswer(Value):
    """What a check found. `passed` decides if it is there, else `score` does."""

    score: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)
    passed: bool | None = None
    reason: str = Field(default="", max_length=10_000)
    steps: tuple[int, ...] = Field(default=(), max_length=1000)

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.score is None and self.passed is None:
            raise ValueError("it has neither `score` nor `passed`")
        return self


def read_answer(printed: bytes, steps: Sequence[int]) -> CheckAnswer:
    """Return the answer of a check on a trial with these numbers of steps.

    Raises `ValueError` with the end of a sentence for anything but one JSON object of this form,
    and for a step that the trial does not have.
    """
    if not printed.strip():
        raise ValueError("it printed nothing on standard output")
    try:
        text = printed.decode("utf-8")
        value = read_json(text)
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    except NotStrictJson as error:
        raise ValueError(f"{error}; it printed {quote(text.strip()[:_SHOWN])}") from None
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object with `score` or `passed`")  # noqa: TRY004 - one kind
    try:
        answer = CheckAnswer.model_validate_json(canonical_json(value), strict=True)
    except ValidationError as error:
        raise ValueError(first_mistake(error)) from None
    wrong = [number for number in answer.steps if number not in steps]
    if wrong:
        known = f"{steps[0]} to {steps[-1]}"
        raise ValueError(f"it names step {wrong[0]}, and there are steps {known}")
    return answer
