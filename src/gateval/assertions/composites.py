"""Assertions that weigh others: `composite`, `compositeScript`, `compositeJudge`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import fsum
from typing import ClassVar, NamedTuple

from pydantic import Field, JsonValue

from gateval.assertions.base import PASS_SCORE, AssessmentContext, MinScore, Priced
from gateval.assertions.code_judge import CommandInFolder, prompt_words, read_code_answer
from gateval.assertions.combinators import Combinator, Parts, scores, unknown
from gateval.assertions.evidence import Basis, CannotEvaluate, Evidence
from gateval.assertions.graded_judges import LlmJudge, filled
from gateval.assertions.own_checks import OwnProgram
from gateval.domain.base import JsonObject
from gateval.domain.manifests.fixture import AssertionSpec
from gateval.domain.trials.trial import Assessment, AssessmentStatus, Cause
from gateval.judging.prompt import shorten


class Weighing(Combinator, ABC):
    """An assertion made of others, each with a `name` and a `weight` of its own.

    One that could not be evaluated leaves the whole so: an error is no score.
    """

    min_score: MinScore = PASS_SCORE

    def combine(self, parts: Parts, evidence: Evidence) -> Assessment:
        """Raise `CannotEvaluate`: it takes weights to combine them."""
        del parts, evidence
        raise CannotEvaluate(Cause.GATE, f"`{self.type}` cannot be assessed without its weights")

    async def aggregate(
        self, parts: Parts, evidence: Evidence, spec: AssertionSpec, context: AssessmentContext
    ) -> Priced:
        """Return what follows from the assessments of the parts, which stand in `spec`.

        Raises `CannotEvaluate` or the judge's `JudgeError`.
        """
        if unknown(parts):
            return self.undecided(parts), None
        members = [Member(one, part) for one, part in zip(spec.parts, parts, strict=True)]
        found, usage = await self.weigh(members, evidence, spec, context)
        fatal = any(part.fatal for part in parts)
        whole = {
            "fatal": fatal,
            "status": AssessmentStatus.FAILED if fatal and found.passed else found.status,
            "claimed": any(part.claimed for part in parts),
            "asked": max(found.asked, *(part.asked for part in parts)),
            "parts": tuple(parts),
        }
        return found.model_copy(update=whole), usage

    def _expected(self) -> str:
        count = len(self.assertions)
        return f"the scores of {count} assertions" if count > 1 else "the score of its assertion"

    @abstractmethod
    async def weigh(
        self,
        members: Sequence[Member],
        evidence: Evidence,
        spec: AssertionSpec,
        context: AssessmentContext,
    ) -> Priced:
        """Return the score of members that were all evaluated. Raises as `aggregate`."""


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


class CompositeScript(CommandInFolder, Weighing, OwnProgram):
    """A program gives the assertions in it one score, which is at least `minScore`.

    It gets `{"results": {NAME: {...}}}` on standard input, with `score`, `verdict`, `reasoning`,
    `hits`, `misses`, `type` and `weight` of each, and prints what a `codeJudge` prints; a `verdict`
    in it (`pass` or `fail`) decides in place of `minScore`. It runs as `script` does.
    """

    basis: ClassVar[Basis] = Basis.TRACE
    verb: ClassVar[str] = "all"

    async def weigh(
        self,
        members: Sequence[Member],
        evidence: Evidence,
        spec: AssertionSpec,
        context: AssessmentContext,
    ) -> Priced:
        """See the class. Rests on what the members rest on."""
        del evidence
        told: JsonObject = {"results": results_of(members), "config": self.config or None}
        answer = await self.answer(told, spec.own, context.check_context, read_code_answer)
        said = f": {shorten(answer.words, 400).rstrip('.')}" if answer.words.strip() else ""
        found = self.graded(
            answer.score,
            least=self.min_score,
            expected=f"the program {self.named} to give at least {self.min_score:g}",
            saw=f"{answer.score:g}{said}",
            steps=[step for member in members for step in member.found.steps],
        )
        if answer.passed is None:
            return found, None
        status = AssessmentStatus.PASSED if answer.passed else AssessmentStatus.FAILED
        return found.model_copy(update={"status": status}), None


def results_of(members: Sequence[Member]) -> dict[str, JsonValue]:
    """Return what an aggregator is told of the members, by name; a second one gets a number."""
    told: dict[str, JsonValue] = {}
    for member in members:
        name, number = member.name, 2
        while name in told:
            name, number = f"{member.name}-{number}", number + 1
        told[name] = _result(member)
    return told


def _result(member: Member) -> JsonObject:
    found = member.found
    passed = found.passed
    return {
        "score": member.score,
        "type": found.type,
        "weight": member.spec.weight,
        "verdict": "pass" if passed else "fail",
        "reasoning": found.reason,
        "hits": [found.reason] if passed else [],
        "misses": [] if passed else _misses(found),
    }


def _misses(found: Assessment) -> list[JsonValue]:
    rules = [one.rule for one in found.verdict.violations] if found.verdict else []
    return list(rules or [found.reason])


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
    verb: ClassVar[str] = "all"

    prompt: str = Field(
        default=PROMPT, min_length=1, max_length=20_000, description="What the judge is asked."
    )

    async def weigh(
        self,
        members: Sequence[Member],
        evidence: Evidence,
        spec: AssertionSpec,
        context: AssessmentContext,
    ) -> Priced:
        """See the class. Rests on the steps of the violations that are proven."""
        del spec
        judge = context.judge_for(self.type)
        words = {**prompt_words(evidence, {}), "EVALUATOR_RESULTS_JSON": _results(members)}
        asked = LlmJudge(prompt=filled(self.prompt, words), min_score=self.min_score)
        said = asked.assess_with(evidence.for_a_judge, judge, context.judge_spec)
        return await context.heard(said, self.type)


def _results(members: Sequence[Member]) -> JsonValue:
    """Return what a judge is told of the members: no reasons, which quote what the agent said."""
    told = results_of(members)
    return {
        name: {key: one[key] for key in _TOLD}
        for name, one in told.items()
        if isinstance(one, dict)
    }


_SHOWN = 8


class Composite(Weighing):
    """The weighted mean of the scores of the assertions in it is at least `minScore`.

    Each of them may have a `weight` (1 if it says none) and a `name`. With `threshold`, the share
    of them that pass decides instead, each counting once. One that could not be evaluated makes it
    an error. They may be composites again. If nothing has weight, the score is 0.
    """

    verb: ClassVar[str] = "all"

    threshold: float | None = Field(
        default=None, ge=0, le=1, description="The share of them, from 0 to 1, that has to pass."
    )

    async def weigh(
        self,
        members: Sequence[Member],
        evidence: Evidence,
        spec: AssertionSpec,
        context: AssessmentContext,
    ) -> Priced:
        """See the class. Rests on what the members rest on."""
        del evidence, spec, context
        steps = [step for member in members for step in member.found.steps]
        if self.threshold is None:
            score = weighted_mean([(one.spec.weight, one.score) for one in members])
            least, expected = self.min_score, f"a weighted mean of at least {self.min_score:g}"
        else:
            passed = sum(one.found.passed for one in members)
            score, least = passed / len(members), self.threshold
            expected = f"at least {least:g} of {len(members)} assertions to pass"
        saw = f"{score:.3f} ({_listed(members)})"
        return self.graded(score, least=least, expected=expected, saw=saw, steps=steps), None


def _listed(members: Sequence[Member]) -> str:
    shown = [f"{shorten(one.name, 60)} {one.score:.3g}" for one in members[:_SHOWN]]
    more = len(members) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
