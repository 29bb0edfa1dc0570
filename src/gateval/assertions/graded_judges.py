"""Assertions whose score a judge gives: `llmJudge`, `judgeFromScript`, `rubric`.

A dotted name goes into what it names: `{{ metadata.language }}`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import Field, JsonValue, field_validator, model_validator

from gateval.assertions.base import (
    PASS_SCORE,
    Asker,
    AssessmentContext,
    JudgedAssertion,
    MinScore,
    Priced,
)
from gateval.assertions.code_judge import CommandInFolder, prompt_words
from gateval.assertions.evidence import Basis, CannotEvaluate, Evidence
from gateval.assertions.judge import ScoredByJudge
from gateval.assertions.own_checks import OwnProgram
from gateval.domain.base import JsonObject, Spec, canonical_json
from gateval.domain.manifests.fixture import AnyWeight, AssertionSpec
from gateval.domain.trials.trial import Assessment, Cause, NotAssessed
from gateval.judging.checklist import POINTS, Band, Check, Checklist
from gateval.judging.prompt import shorten

if TYPE_CHECKING:
    from gateval.domain.manifests.evaluation import JudgeSpec
    from gateval.domain.trials.model_call import Usage
    from gateval.judging.judge import Judge


class RubricBand(Spec):
    """What the points from `low` to `high` mean."""

    low: int = Field(ge=0, le=POINTS, description="The lowest points of the range.")
    high: int = Field(ge=0, le=POINTS, description="The highest points of the range.")
    text: str = Field(min_length=1, max_length=5_000, description="What they mean.")


def bands_of(ranges: Sequence[RubricBand] | dict[str, str]) -> tuple[Band, ...]:
    """Return the bands of a list of ranges; `{0: …, 4: …, 8: …}` names the lowest points of each.

    Raises `ValueError` where a mapping does not name points, or does not begin at 0.
    """
    if not isinstance(ranges, dict):
        return tuple(Band(low=one.low, high=one.high, text=one.text) for one in ranges)
    by_low = sorted((_points(key), text) for key, text in ranges.items())
    if by_low and by_low[0][0] != 0:
        raise ValueError("the first range begins at 0")
    if len({low for low, _ in by_low}) < len(by_low):
        raise ValueError("two ranges begin with the same points")
    highs = [*(low - 1 for low, _ in by_low[1:]), POINTS]
    return tuple(
        Band(low=low, high=high, text=text)
        for (low, text), high in zip(by_low, highs, strict=False)
    )


def refuse_gaps(bands: Sequence[Band]) -> None:
    """Raise `ValueError` unless every number of points from 0 to 10 stands in one range."""
    covered = [points for band in bands for points in range(band.low, band.high + 1)]
    for band in bands:
        if band.low > band.high:
            raise ValueError(f"the range from {band.low} to {band.high} is empty")
    for points in range(POINTS + 1):
        if points not in covered:
            raise ValueError(f"no range says what {points} points mean")
        if covered.count(points) > 1:
            raise ValueError(f"two ranges say what {points} points mean")


def _points(key: str) -> int:
    if not (key.isascii() and key.isdigit() and int(key) <= POINTS):
        raise ValueError(f"`{key[:40]}` is no number of points from 0 to {POINTS}")
    return int(key)


_PLACE = re.compile(r"\{\{\s*([A-Za-z_][\w.-]{0,199})\s*\}\}")


def filled(template: str, words: JsonObject) -> str:
    """Return the template with every known name replaced, once: what is put in is not read again.

    A value that is no text becomes JSON, null becomes empty.
    """
    return _PLACE.sub(lambda found: _text(found[1], words, found[0]), template)


def _text(name: str, words: JsonObject, as_written: str) -> str:
    value: JsonValue = words
    for key in name.split("."):
        if not isinstance(value, dict) or key not in value:
            return as_written
        value = value[key]
    if value is None:
        return ""
    return value if isinstance(value, str) else canonical_json(value)


EXPECTED = (
    "Score how well the run reaches the expected outcome. Where a reference answer is given, other "
    "words, another order and further help are fine; another meaning is not."
)


class LlmJudge(ScoredByJudge):
    """The Eval's judge scores the run at least `minScore`, by `prompt`.

    In the prompt, `{{ name }}` stands for what the case says: `question`, `expected_outcome` (or
    `criteria`), `reference_answer`, `input_messages`, `expected_messages`, `metadata` (or
    `sidecar`; `{{ metadata.key }}` goes into it), `config`. What the agent itself said
    (`candidate_answer`, `output_messages`) is not put there but named, as a step of the recorded
    run, where the judge reads it as data. Other names stay as they stand. Without `prompt`, the
    judge compares the run with what `reference` says. Evidence counts as with `judge`.
    """

    type: ClassVar[str] = "llmJudge"

    prompt: str = Field(
        default="", max_length=20_000, description="What the judge is asked, a template."
    )
    config: JsonObject = Field(default={}, description="Further values, as `config` in the prompt.")
    min_score: MinScore = PASS_SCORE

    def asked(self, evidence: Evidence) -> str:
        """The prompt, filled in, or what is expected."""
        if self.prompt:
            return filled(self.prompt, prompt_words(evidence, self.config))
        return what_is_expected(evidence, EXPECTED)


def what_is_expected(evidence: Evidence, beginning: str = "") -> str:
    """Return what a case says of a good answer, for a judge, after this beginning."""
    outcome, answer = evidence.reference.outcome, evidence.reference.text
    parts = [
        beginning,
        f"Expected outcome:\n{outcome}" if outcome else "",
        f"Reference answer:\n{answer}" if answer else "",
    ]
    return "\n\n".join(part for part in parts if part)


_LONGEST = 20_000


class JudgeFromScript(CommandInFolder, OwnProgram, Asker):
    """The Eval's judge scores the run at least `minScore`, by a prompt that a program prints.

    The program gets on standard input what the prompt of `llmJudge` may name, as one JSON object,
    and prints the prompt. It runs as `script` does. What the agent said it gets as the name of a
    step; the judge reads it as data.
    """

    type: ClassVar[str] = "judgeFromScript"
    needs_judge: ClassVar[bool] = True
    basis: ClassVar[Basis] = Basis.TRACE

    min_score: MinScore = PASS_SCORE

    async def assess_in(
        self, evidence: Evidence, spec: AssertionSpec, context: AssessmentContext
    ) -> Priced:
        """See `Asker`."""
        judge = context.judge_for(self.type)
        told = prompt_words(evidence, self.config)
        prompt = _prompt_text(await self.printed(told, spec.own, context.check_context), self.named)
        asked = LlmJudge(prompt=prompt, min_score=self.min_score)
        said = asked.assess_with(evidence.for_a_judge, judge, context.judge_spec)
        return await context.heard(said, self.type)


def _prompt_text(printed: bytes, named: str) -> str:
    try:
        text = printed.decode("utf-8").strip()
    except UnicodeDecodeError:
        raise CannotEvaluate(Cause.CHECK, f"what {named} prints is not UTF-8") from None
    if not text or len(text) > _LONGEST:
        what = f"{len(text):,} characters" if text else "nothing"
        message = f"{named} printed {what}; a prompt has 1 to {_LONGEST:,}"
        raise CannotEvaluate(Cause.CHECK, message)
    return text


ITEMS_LIMIT = 50


class RubricItem(Spec):
    """One check of a rubric. With `ranges` it has points from 0 to 10, else it holds or not."""

    id: str = Field(default="", max_length=200, description="Its name; `rubric-1` and so on.")
    text: str = Field(default="", max_length=5_000, description="What has to be the case.")
    weight: AnyWeight = Field(default=1.0, description="How much it counts beside the others.")
    required: bool = Field(
        default=False, description="Whether the whole case fails without it; with points, under 10."
    )
    min_points: float | None = Field(
        default=None, ge=0, le=POINTS, description="Points under which the whole case fails."
    )
    ranges: tuple[RubricBand, ...] | dict[str, str] = Field(
        default=(), description="What points mean: a list, or a mapping from the lowest of each."
    )
    operator: Literal["correctness", "contradiction"] = Field(
        default="correctness", description="Whether it has to hold, or only not be contradicted."
    )

    @field_validator("ranges")
    @classmethod
    def _whole(
        cls, ranges: tuple[RubricBand, ...] | dict[str, str]
    ) -> tuple[RubricBand, ...] | dict[str, str]:
        if ranges:
            refuse_gaps(bands_of(ranges))
        return ranges

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.text.strip() and not self.ranges:
            raise ValueError("a check needs `text`, or `ranges` that say what points mean")
        return self

    @property
    def bands(self) -> tuple[Band, ...]:
        """The ranges for the judge. Raises `ValueError` for a mapping that is none of points."""
        return bands_of(self.ranges)


class Rubric(JudgedAssertion):
    """The weighted share of the checks that the judge finds satisfied is at least `minScore`.

    As soon as one check has `ranges`, all of them get points from 0 to 10, which count in tenths. A
    check that the judge does not return counts as not satisfied. What it takes off it has to prove
    with a quote, which the gate checks; if it cannot, that is an error and not a score. A check
    that is `required`, or has fewer than `minPoints`, fails the whole case in the weighted model,
    and the assertion in any. The judge is told what `reference` says.
    """

    type: ClassVar[str] = "rubric"

    items: tuple[str | RubricItem, ...] = Field(
        min_length=1, max_length=ITEMS_LIMIT, description="The checks: texts, or mappings."
    )
    min_score: MinScore = PASS_SCORE

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [check.id for check in self.checks]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"two checks have the id `{twice}`")
        return self

    @property
    def written(self) -> list[RubricItem]:
        """The items; a text stands for a check that has nothing else."""
        return [RubricItem(text=one) if isinstance(one, str) else one for one in self.items]

    @property
    def checks(self) -> list[Check]:
        """The checks as the judge is asked them."""
        written = self.written
        pointed = any(item.ranges for item in written)
        return [
            Check(
                id=item.id or f"rubric-{number}",
                text=item.text,
                weight=item.weight,
                pointed=pointed,
                bands=item.bands,
                contradiction=item.operator == "contradiction",
            )
            for number, item in enumerate(written, 1)
        ]

    async def assess_with(
        self, evidence: Evidence, judge: Judge, spec: JudgeSpec
    ) -> tuple[Assessment, Usage]:
        """See the class. Rests on the steps that the judge proves something with."""
        about = "\n\n".join(filter(None, (what_is_expected(evidence), evidence.about)))
        result = await judge.check(
            checks=self.checks,
            about=about,
            spec=spec,
            fixture_input=evidence.input,
            transcript=evidence.transcript,
        )
        return self._assessment(result.checklist), result.usage

    def _assessment(self, found: Checklist) -> Assessment:
        verdict = found.verdict
        unproven = [one for one in verdict.violations if not one.supported]
        steps = tuple(sorted({one.evidence_step for one in verdict.violations if one.supported}))
        summary = shorten(verdict.summary).rstrip(".")
        if unproven:
            names = ", ".join(shorten(one.rule, 60) for one in unproven[:3])
            return NotAssessed(
                type=self.type,
                reason=f"The judge takes something off without proof ({names}), so its score does "
                f"not count; it said: {summary}.",
                steps=steps,
                cause=Cause.JUDGE,
                verdict=verdict,
            )
        broken = self._broken(found)
        lacking = [name for name, mark in found.marks.items() if mark < 1]
        short = f"; lacking: {', '.join(shorten(name, 60) for name in lacking[:5])}"
        must = f"; required: {', '.join(shorten(name, 60) for name in broken)}" if broken else ""
        assessed = self.graded(
            verdict.score,
            least=self.min_score,
            expected=f"checks worth at least {self.min_score:g} to be satisfied",
            saw=f"{verdict.score:.3g}{short if lacking else ''}{must} ({summary})",
            steps=steps,
            fatal=bool(broken),
        )
        return assessed.model_copy(update={"verdict": verdict})

    def _broken(self, found: Checklist) -> list[str]:
        """The checks that have to hold and do not."""
        return [
            check.id
            for check, item in zip(self.checks, self.written, strict=True)
            if found.marks[check.id] * POINTS < _least_points(item) - 1e-9
        ]


def _least_points(item: RubricItem) -> float:
    if item.min_points is not None:
        return item.min_points
    return POINTS if item.required else 0
