"""`judge`: an LLM judge scores the run against a rubric, and must prove what it blames."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import Field, model_validator

from gateval.assertions.base import JudgedAssertion
from gateval.assertions.evidence import CannotEvaluate, Evidence
from gateval.domain.trials.trace import add_usage
from gateval.domain.trials.trial import (
    Assessed,
    Assessment,
    AssessmentStatus,
    Cause,
    NotAssessed,
    Verdict,
)
from gateval.judging.presets.registry import preset
from gateval.judging.prompt import shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateval.domain.manifests.evaluation import JudgeSpec
    from gateval.domain.manifests.fixture import Reference
    from gateval.domain.trials.model_call import Usage
    from gateval.judging.judge import Judge


KEYS = {"expected": "answer", "reference": "context"}
"""What the keys are called in a fixture's `reference` that a preset needs."""

CLOSE = 0.1
"""A score this near `minScore` is asked for again; two of three decide."""


class ScoredByJudge(JudgedAssertion, ABC):
    """An assertion whose score is that of a judge's verdict."""

    min_score: float = Field(
        default=0.5, ge=0, le=1, description="The lowest score that passes, from 0 to 1."
    )

    @abstractmethod
    def asked(self, evidence: Evidence) -> str:
        """What the run is scored against, in prose: what of it a stranger wrote is data there."""

    async def assess_with(
        self, evidence: Evidence, judge: Judge, spec: JudgeSpec
    ) -> tuple[Assessment, Usage]:
        """See the class. Rests on the steps of the violations that are proven."""
        found = [await self._ask(evidence, judge, spec)]
        if self._is_close(found[0]) and not spec.is_scripted:
            found.append(await self._ask(evidence, judge, spec))
            if found[0][0].status is not found[1][0].status:
                found.append(await self._ask(evidence, judge, spec))
        usage = add_usage([spent for _, spent in found])
        chosen = _most_said([assessment for assessment, _ in found])
        many = len(found)
        return chosen if chosen.asked == many else chosen.model_copy(update={"asked": many}), usage

    async def _ask(
        self, evidence: Evidence, judge: Judge, spec: JudgeSpec
    ) -> tuple[Assessment, Usage]:
        result = await judge.judge(
            rubric="\n\n".join(filter(None, (self.asked(evidence), evidence.about))),
            spec=spec,
            fixture_input=evidence.input,
            transcript=evidence.transcript,
            evidence_below=self.min_score,
        )
        return self._assessment(result.verdict), result.usage

    def _is_close(self, asked: tuple[Assessment, Usage]) -> bool:
        """Whether the score is so near `minScore` that a judge may well say the other thing."""
        verdict = asked[0].verdict
        return verdict is not None and abs(verdict.score - self.min_score) <= CLOSE

    def _assessment(self, verdict: Verdict) -> Assessment:
        proven = [one for one in verdict.violations if one.supported]
        passed = verdict.score >= self.min_score
        summary = f"{verdict.score:g}: {shorten(verdict.summary).rstrip('.')}"
        if not passed and not proven:
            reason = (
                f"The judge's score is below {self.min_score:g} but {_unproven(verdict)}, so it "
                f"does not count; the judge said {summary}."
            )
            return NotAssessed(type=self.type, reason=reason, cause=Cause.JUDGE, verdict=verdict)
        return Assessed(
            type=self.type,
            status=AssessmentStatus.PASSED if passed else AssessmentStatus.FAILED,
            score=verdict.score,
            reason=f"Expected a judge's score of at least {self.min_score:g}, saw {summary}.",
            steps=tuple(sorted({one.evidence_step for one in proven})),
            verdict=verdict,
        )


class JudgeAssertion(ScoredByJudge):
    """The Eval's judge scores the run at least `minScore`.

    The judge reads the rubric, the input and the numbered steps, and names for every violation the
    step and a quote from it; the gate checks that the quote stands there. A lower score fails only
    with at least one violation so proven; without one it is an error, since a verdict that cannot
    be checked blames nobody. The Eval must name `judge.model`. In place of `rubric`, `preset` names
    one that comes with the gate; some of these show the judge what `reference` says.
    """

    type: ClassVar[str] = "judge"

    rubric: str = Field(
        default="",
        min_length=1,
        max_length=20_000,
        description="What the run is scored against, in prose.",
    )
    preset: str = Field(
        default="",
        min_length=1,
        max_length=100,
        description="A rubric that comes with the gate: its name, or `NAME@VERSION`.",
    )
    kind: Literal["rubric"] = Field(default="rubric", description="How the judge is asked.")

    @model_validator(mode="after")
    def _asks_one_thing(self) -> Self:
        if bool(self.rubric) is bool(self.preset):
            raise ValueError("Write `rubric` or `preset`, one of them")
        if self.preset:
            preset(self.preset)
        return self

    def asked(self, evidence: Evidence) -> str:
        """The rubric as it is written, or that of the preset with what it shows the judge.

        Raises `CannotEvaluate` where the case does not say what the preset needs.
        """
        if not self.preset:
            return self.rubric
        if lack := self.wants(evidence.reference):
            raise CannotEvaluate(Cause.GATE, lack.rstrip("."))
        return preset(self.preset).asked(evidence.reference)

    @property
    def question(self) -> str:
        """What the judge is asked of every answer."""
        return preset(self.preset).rubric if self.preset else self.rubric

    @property
    def shows(self) -> tuple[str, ...]:
        """What of `expected` and `reference` it shows the judge."""
        return preset(self.preset).needs if self.preset else ()

    def wants(self, reference: Reference) -> str:
        """See `Assertion`: what the preset shows the judge has to be there."""
        chosen = preset(self.preset) if self.preset else None
        if chosen is None or not chosen.lacks(reference):
            return ""
        needs = " or ".join(f"`{KEYS[one]}`" for one in chosen.needs)
        return f"The preset {chosen.name} needs {needs} of the case's `reference`."


def _most_said(found: Sequence[Assessment]) -> Assessment:
    """Return the first that says what most say; an error that counts for nothing if none does."""
    said = [assessment.status for assessment in found]
    most = max(found, key=lambda one: said.count(one.status))
    if said.count(most.status) > 1 or len(found) == 1:
        return most
    return next(one for one in found if isinstance(one, NotAssessed))


def _unproven(verdict: Verdict) -> str:
    count = len(verdict.violations)
    if count == 0:
        return "it names no violation"
    return "its violation is not proven" if count == 1 else f"none of its {count} is proven"
