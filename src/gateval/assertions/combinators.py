"""Assertions that are made of others: `all`, `any` and `not`, and those that weigh others:
`composite`, `compositeScript`, `compositeJudge`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from math import fsum
from typing import ClassVar, NamedTuple

from pydantic import Field, JsonValue, field_validator

from gateval.assertions.base import (
    PASS_SCORE,
    Assertion,
    AssessmentContext,
    MinScore,
    Priced,
    error_of,
)
from gateval.assertions.code_judge import prompt_words, read_code_answer, scored
from gateval.assertions.evidence import CannotEvaluate, Evidence
from gateval.assertions.graded_judges import LlmJudge, filled
from gateval.assertions.own_checks import CommandInFolder
from gateval.domain.base import JsonObject
from gateval.domain.manifests.fixture import AssertionSpec
from gateval.domain.text import show_figure, show_threshold
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import add_usage
from gateval.domain.trials.trial import Assessed, Assessment, AssessmentStatus, Cause, NotAssessed
from gateval.safe.legible import shorten

_NAMED = 3
_REASON = 300


class Combinator(Assertion, ABC):
    """An assertion made of others, which have no weight, severity or axis of their own.

    An error is neither true nor false (Kleene's logic): it counts only where it matters.
    """

    verb: ClassVar[str] = "all"

    assertions: tuple[JsonObject, ...] = Field(
        min_length=1, description="The assertions it is made of, each with its `type` and keys."
    )

    async def assess_in(
        self, evidence: Evidence, spec: AssertionSpec, context: AssessmentContext
    ) -> Priced:
        """Assess the parts; what models took for them counts even if they cannot be combined."""
        from gateval.judging.judge import JudgeError

        found = await context.assess_all(spec.parts, self.view(evidence))
        spent = [usage for _, usage in found if usage is not None]
        parts = [part.replace(index=at) for at, (part, _) in enumerate(found)]
        more: Usage | None = None
        try:
            whole, more = await self.combine(Combined(parts, evidence, spec, context))
        except CannotEvaluate as error:
            whole = error_of(spec.type, error.cause, error.message)
        except JudgeError as error:
            whole, more = error_of(spec.type, error.cause, error.message), error.usage
        spent += [more] if more else []
        return whole, add_usage(spent) if spent else None

    def view(self, evidence: Evidence) -> Evidence:
        """Return the evidence as the parts are to see it."""
        return evidence

    @abstractmethod
    async def combine(self, found: Combined) -> Priced:
        """Return what follows from the parts. Raises `CannotEvaluate` and `JudgeError`."""

    def made(
        self, parts: Parts, *, met: bool, score: float, claimed: bool, absent: bool = False
    ) -> Assessment:
        """Return the assessment that these parts decided."""
        steps = [step for part in parts for step in part.steps]
        saw = f"that {_said(parts)}"
        found = self.result(met=met, expected=self._expected(), saw=saw, steps=steps)
        return found.replace(
            score=score,
            claimed=claimed,
            absent=absent,
            fatal=not met and any(part.fatal for part in parts),
            asked=max(part.asked for part in parts),
            parts=tuple(parts),
        )

    def undecided(self, parts: Parts) -> Assessment:
        """Return the error that it is if it hangs on parts which could not be evaluated.

        It is the judge's fault only if it is nobody else's, as policies may forgive that.
        """
        lost = unknown(parts)
        least = {Cause.UNCALIBRATED: 0, Cause.JUDGE: 1}
        blamed = max((part.cause for part in lost), key=lambda cause: least.get(cause, 2))
        return NotAssessed(
            type=self.type,
            reason=f"Expected {self._expected()}, but {_said(lost)}.",
            cause=blamed,
            parts=tuple(lost),
        )

    def _expected(self) -> str:
        count = len(self.assertions)
        return f"{self.verb} {count} assertions to pass" if count > 1 else self.one()

    def one(self) -> str:
        """What is expected where there is one part only."""
        return "its one assertion to pass"


Parts = Sequence[Assessment]


class Combined(NamedTuple):
    """The assessments of the parts, and what they were made with."""

    parts: Parts
    evidence: Evidence
    spec: AssertionSpec
    context: AssessmentContext


def unknown(parts: Parts) -> Sequence[NotAssessed]:
    """Return the parts that could not be evaluated."""
    return [part for part in parts if isinstance(part, NotAssessed)]


def scores(parts: Parts) -> list[float]:
    """Return the scores of parts that have one."""
    return [part.score for part in parts if isinstance(part, Assessed)]


def _said(parts: Parts) -> str:
    words = {
        AssessmentStatus.PASSED: "passed",
        AssessmentStatus.FAILED: "failed",
        AssessmentStatus.ERROR: "could not be evaluated",
    }
    named = [
        f"`{part.type}` {words[part.status]} ({shorten(part.reason, _REASON).rstrip('.')})"
        for part in parts[:_NAMED]
    ]
    more = len(parts) - len(named)
    return "; ".join(named) + (f"; and {more} more" if more else "")


class All(Combinator):
    """All of the assertions in it pass.

    It is of use inside `any` and `not`, and to weigh several assertions as one. One that fails
    decides; without one, an error in it is its error. Its score is the lowest among them.
    """

    async def combine(self, found: Combined) -> Priced:
        """See the class. Rests on what the parts rest on that failed, else on all."""
        parts = found.parts
        failed = [part for part in parts if part.failed]
        if not failed and unknown(parts):
            return self.undecided(parts), None
        deciding = failed or parts
        whole = self.made(
            deciding,
            met=not failed,
            score=min(scores(parts)),
            claimed=any(part.claimed for part in deciding),
            absent=any(part.absent for part in failed),
        )
        return whole, None


class Any(Combinator):
    """At least one of the assertions in it passes.

    One that passes decides; without one, an error in it is its error. Its score is the highest
    among them. All of them are evaluated, so that a judge in it is asked in any case.
    """

    verb: ClassVar[str] = "at least one of"

    async def combine(self, found: Combined) -> Priced:
        """See the class. Rests on what the parts rest on that passed, else on all."""
        parts = found.parts
        passed = [part for part in parts if part.passed]
        if not passed and unknown(parts):
            return self.undecided(parts), None
        deciding = passed or parts
        whole = self.made(
            deciding,
            met=bool(passed),
            score=max(scores(parts)),
            claimed=all(part.claimed for part in deciding),
            absent=any(part.absent for part in deciding) and not passed,
        )
        return whole, None


_ELSE = {
    "not": "two of them cancel out, so leave both away",
    "toolNotCalled": "write `toolCalled` beside it",
    "notContains": "write `contains` beside it",
    "judge": "a verdict that passes proves nothing; word the rubric the other way round",
}
"""What may not stand in a `not`, and what to do instead."""


class Not(Combinator):
    """None of the assertions in it passes.

    One that passes decides; without one, an error in it is its error. Where there is nothing to
    look at (no such `field`, no number), nothing is shown: the assertion in it fails, and so does
    `not`. A refused tool call counts as a call, as asking for a forbidden tool is what is asked
    about, and a claimed trace without a step is an error. In a `not`, at any depth, may stand no
    other `not`, no `toolNotCalled`, `notContains` or `judge`. Its score is 1 minus the highest.
    """

    verb: ClassVar[str] = "none of"

    @field_validator("assertions")
    @classmethod
    def _can_be_turned_round(cls, assertions: tuple[JsonObject, ...]) -> tuple[JsonObject, ...]:
        for kind in _types(list(assertions)):
            if kind in _ELSE:
                raise ValueError(f"`{kind}` may not stand in a `not`: {_ELSE[kind]}")
        return assertions

    def one(self) -> str:
        """See `Combinator`."""
        return "its one assertion not to pass"

    def view(self, evidence: Evidence) -> Evidence:
        """Return the evidence with each refused tool call as one that was made."""
        return evidence.with_refused_calls

    async def combine(self, found: Combined) -> Priced:
        """See the class. Rests on what the parts rest on that passed, else on all."""
        parts = found.parts
        passed = [part for part in parts if part.passed]
        claimed = any(part.claimed for part in passed or parts)
        if not passed and unknown(parts):
            return self.undecided(parts), None
        if not passed and claimed:
            found.evidence.refuse_empty_claim()
        absent = [part for part in parts if part.absent]
        met = not passed and not absent
        whole = self.made(
            passed or absent or parts,
            met=met,
            score=1 - max(scores(parts)) if met or passed else 0.0,
            claimed=claimed,
            absent=bool(absent) and not passed,
        )
        return whole, None


def _types(values: list[JsonValue]) -> Iterator[str]:
    for value in values:
        if isinstance(value, dict):
            kind, parts = value.get("type"), value.get("assertions")
            if isinstance(kind, str):
                yield kind
            if isinstance(parts, list):
                yield from _types(parts)


class Weighing(Combinator, ABC):
    """An assertion made of others, each with a `name` and a `weight` of its own.

    One that could not be evaluated leaves the whole so: an error is no score.
    """

    min_score: MinScore = PASS_SCORE

    async def combine(self, found: Combined) -> Priced:
        """See `Combinator`."""
        parts = found.parts
        if unknown(parts):
            return self.undecided(parts), None
        members = [Member(one, part) for one, part in zip(found.spec.parts, parts, strict=True)]
        whole, usage = await self._weigh(members, found)
        fatal = any(part.fatal for part in parts)
        update = {
            "fatal": fatal,
            "status": AssessmentStatus.FAILED if fatal and whole.passed else whole.status,
            "claimed": any(part.claimed for part in parts),
            "asked": max(whole.asked, *(part.asked for part in parts)),
            "parts": tuple(parts),
        }
        return whole.replace(**update), usage

    def _expected(self) -> str:
        count = len(self.assertions)
        return f"the scores of {count} assertions" if count > 1 else "the score of its assertion"

    @abstractmethod
    async def _weigh(self, members: Sequence[Member], found: Combined) -> Priced:
        """Return the score of members that were all evaluated. Raises as `combine`."""


class Member(NamedTuple):
    """A part as it is written, and what came of it."""

    spec: AssertionSpec
    found: Assessment

    @property
    def name(self) -> str:
        """What it is called."""
        return self.spec.name or self.spec.type

    @property
    def score(self) -> float:
        """Its score in [0, 1]; one that was evaluated has one."""
        return scores([self.found])[0]


def weighted_mean(pairs: Sequence[tuple[float, float]]) -> float:
    """Return Σ weight × score / Σ weight of (weight, score) pairs; 0 where nothing has weight."""
    total = fsum(weight for weight, _ in pairs)
    return fsum(weight * score for weight, score in pairs) / total if total else 0.0


class CompositeScript(CommandInFolder, Weighing):
    """A program gives the assertions in it one score, which is at least `minScore`.

    It gets `{"results": {NAME: {...}}}` on standard input, with `score`, `verdict`, `reasoning`,
    `hits`, `misses`, `type` and `weight` of each, and prints what a `codeJudge` prints; a `verdict`
    in it (`pass` or `fail`) decides in place of `minScore`. It runs as `script` does.
    """

    async def _weigh(self, members: Sequence[Member], found: Combined) -> Priced:
        told: JsonObject = {"results": results_of(members), "config": self.config or None}
        answer = await self.answer(told, found.spec.own, found.context, read_code_answer)
        whole = scored(
            self,
            answer,
            expected=f"the program {self.named} to give at least {show_threshold(self.min_score)}",
            steps=[step for member in members for step in member.found.steps],
        )
        if answer.passed is None:
            return whole, None
        status = AssessmentStatus.PASSED if answer.passed else AssessmentStatus.FAILED
        return whole.replace(status=status), None


def results_of(members: Sequence[Member]) -> dict[str, JsonValue]:
    """Return what an aggregator is told of the members, by name; a second one gets a number."""
    told: dict[str, JsonValue] = {}
    for member in members:
        name, number = member.name, 2
        while name in told:
            name, number = f"{member.name}-{number}", number + 1
        found = member.found
        rules = [one.rule for one in found.verdict.violations] if found.verdict else []
        told[name] = {
            "score": member.score,
            "type": found.type,
            "weight": member.spec.weight,
            "verdict": "pass" if found.passed else "fail",
            "reasoning": found.reason,
            "hits": [found.reason] if found.passed else [],
            "misses": [] if found.passed else [*(rules or [found.reason])],
        }
    return told


PROMPT = (
    "Several evaluators scored this run. Weigh what they found and give one score for the whole "
    "run.\n\n{{ EVALUATOR_RESULTS_JSON }}"
)


_TOLD = ("type", "score", "weight", "verdict")


class CompositeJudge(Weighing):
    """The Eval's judge weighs what the assertions in it found; its score is at least `minScore`.

    `prompt` is a template as that of `llmJudge`, in which `{{ EVALUATOR_RESULTS_JSON }}` stands for
    their scores and verdicts. Evidence counts as with `judge`.
    """

    needs_judge: ClassVar[bool] = True

    prompt: str = Field(
        default=PROMPT, min_length=1, max_length=20_000, description="What the judge is asked."
    )

    async def _weigh(self, members: Sequence[Member], found: Combined) -> Priced:
        """Ask; the judge is told no reasons, which quote what the agent said."""
        results: JsonObject = {
            name: {key: one[key] for key in _TOLD}
            for name, one in results_of(members).items()
            if isinstance(one, dict)
        }
        words = {**prompt_words(found.evidence, {}), "EVALUATOR_RESULTS_JSON": results}
        asked = LlmJudge(prompt=filled(self.prompt, words), min_score=self.min_score)
        return await asked.assess_as(found.spec, found.evidence, found.context)


_SHOWN = 8


class Composite(Weighing):
    """The weighted mean of the scores of the assertions in it is at least `minScore`.

    Each of them may have a `weight` (1 if it says none) and a `name`. With `threshold`, the share
    of them that pass decides instead, each counting once. One that could not be evaluated makes it
    an error. They may be composites again. If nothing has weight, the score is 0.
    """

    threshold: float | None = Field(
        default=None, ge=0, le=1, description="The share of them, from 0 to 1, that has to pass."
    )

    async def _weigh(self, members: Sequence[Member], found: Combined) -> Priced:
        del found
        steps = [step for member in members for step in member.found.steps]
        if self.threshold is None:
            score = weighted_mean([(one.spec.weight, one.score) for one in members])
            least = self.min_score
            expected = f"a weighted mean of at least {show_threshold(least)}"
        else:
            passed = sum(one.found.passed for one in members)
            score, least = passed / len(members), self.threshold
            expected = f"at least {show_threshold(least)} of {len(members)} assertions to pass"
        shown = [f"{shorten(one.name, 60)} {show_figure(one.score)}" for one in members[:_SHOWN]]
        more = f" and {len(members) - _SHOWN} more" if len(members) > _SHOWN else ""
        saw = f"{show_figure(score, least)} ({', '.join(shown)}{more})"
        return self.graded(score, least=least, expected=expected, saw=saw, steps=steps), None
