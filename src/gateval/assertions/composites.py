"""Assertions that weigh others: `composite`, `compositeScript`, `compositeJudge`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import fsum
from typing import ClassVar, NamedTuple

from pydantic import Field, JsonValue

from gateval.assertions.base import PASS_SCORE, MinScore, Priced
from gateval.assertions.code_judge import prompt_words, read_code_answer, scored
from gateval.assertions.combinators import Combinator, Combined, scores, unknown
from gateval.assertions.graded_judges import LlmJudge, filled
from gateval.assertions.own_checks import CommandInFolder
from gateval.domain.base import JsonObject
from gateval.domain.manifests.fixture import AssertionSpec
from gateval.domain.text import show_figure, show_threshold
from gateval.domain.trials.trial import Assessment, AssessmentStatus
from gateval.judging.prompt import shorten


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
        return await asked.assess_as(self.type, found.evidence, found.context)


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
