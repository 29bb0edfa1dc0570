"""Assertions whose score a judge gives: `llmJudge`, `judgeFromScript`, `rubric`.

A dotted name goes into what it names: `{{ metadata.language }}`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import Field, JsonValue, field_validator, model_validator

from gateval.assertions.base import (
    PASS_SCORE,
    AssessmentContext,
    JudgedAssertion,
    MinScore,
    Priced,
    error_of,
)
from gateval.assertions.code_judge import prompt_words
from gateval.assertions.evidence import Basis, CannotEvaluate, Evidence
from gateval.assertions.own_checks import CommandInFolder
from gateval.domain.base import JsonObject, Spec, json_text
from gateval.domain.manifests.fixture import AnyWeight, AssertionSpec
from gateval.domain.text import show_figure, show_threshold
from gateval.domain.trials.trace import add_usage
from gateval.domain.trials.trial import (
    Assessed,
    Assessment,
    AssessmentStatus,
    Cause,
    Juror,
    NotAssessed,
    Verdict,
)
from gateval.judging.presets import preset
from gateval.judging.verdict import POINTS, Band, Check, Checklist
from gateval.safe.legible import shorten

if TYPE_CHECKING:
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

    async def ask(
        self, evidence: Evidence, judge: Judge, spec: JudgeSpec, before: Sequence[Juror] = ()
    ) -> tuple[Assessment, Usage]:
        """See `JudgedAssertion`. Rests on the steps of the violations that are proven."""
        from gateval.judging.judge import JudgeError

        said = [self._assessment(one.verdict) for one in before if one.verdict]
        spent: list[Usage] = []
        while self._wants_more(said, spec):
            try:
                found, usage = await self.ask_once(evidence, judge, spec)
            except JudgeError as error:
                if not said:
                    raise
                spent += [error.usage] if error.usage else []
                lost = error_of(self.type, error.cause, error.message)
                return lost.replace(verdict=_unfinished(said), asked=len(said)), add_usage(spent)
            said.append(found)
            spent.append(usage)
        chosen = _most_said(said)
        many = len(said)
        return chosen if chosen.asked == many else chosen.replace(asked=many), add_usage(spent)

    def _wants_more(self, said: Sequence[Assessment], spec: JudgeSpec) -> bool:
        """Whether the judge is to be asked (again): until two of three agree, near `minScore`."""
        if not said or spec.is_scripted or not self._is_close(said[0]):
            return not said
        return len(said) == 1 or (len(said) == 2 and said[0].status is not said[1].status)

    async def ask_once(
        self, evidence: Evidence, judge: Judge, spec: JudgeSpec
    ) -> tuple[Assessment, Usage]:
        """See `JudgedAssertion`."""
        result = await judge.judge(
            rubric="\n\n".join(filter(None, (self.asked(evidence), evidence.about))),
            spec=spec,
            fixture_input=evidence.input,
            transcript=evidence.transcript,
            evidence_below=self.min_score,
        )
        return self._assessment(result.verdict), result.usage

    def _is_close(self, asked: Assessment) -> bool:
        """Whether the score is so near `minScore` that a judge may well say the other thing."""
        verdict = asked.verdict
        return verdict is not None and abs(verdict.score - self.min_score) <= CLOSE

    def _assessment(self, verdict: Verdict) -> Assessment:
        if verdict.undetermined:
            return cannot_determine(self.type, verdict)
        proven = [one for one in verdict.violations if one.supported]
        passed = verdict.score >= self.min_score
        least, saw = show_threshold(self.min_score), show_figure(verdict.score, self.min_score)
        summary = f"{saw}: {shorten(verdict.summary).rstrip('.')}"
        if not passed and not proven:
            reason = (
                f"The judge's score is below {least} but {_unproven(verdict)}, so it "
                f"does not count; the judge said {summary}."
            )
            return NotAssessed(type=self.type, reason=reason, cause=Cause.JUDGE, verdict=verdict)
        return Assessed(
            type=self.type,
            status=AssessmentStatus.PASSED if passed else AssessmentStatus.FAILED,
            score=verdict.score,
            reason=f"Expected a judge's score of at least {least}, saw {summary}.",
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


def cannot_determine(kind: str, verdict: Verdict) -> NotAssessed:
    """Return what comes of a judge that says the run does not show it: neither pass nor fail."""
    reason = f"The judge cannot determine it: {shorten(verdict.summary).rstrip('.')}."
    return NotAssessed(type=kind, reason=reason, cause=Cause.JUDGE, verdict=verdict)


def _unfinished(said: Sequence[Assessment]) -> Verdict | None:
    """Return what a judge said until it was lost, its first verdict first."""
    heard = [one.verdict for one in said if one.verdict]
    jurors = tuple(Juror(model=one.model, verdict=one) for one in heard)
    return heard[0].replace(jurors=jurors) if heard else None


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


def bands_of(ranges: Sequence[Band] | dict[str, str]) -> tuple[Band, ...]:
    """Return the bands of a list of ranges; `{0: …, 4: …, 8: …}` names the lowest points of each.

    Raises `ValueError` where a mapping does not name points, or does not begin at 0.
    """
    if not isinstance(ranges, dict):
        return tuple(ranges)
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
    return "" if value is None else json_text(value)


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


class JudgeFromScript(CommandInFolder):
    """The Eval's judge scores the run at least `minScore`, by a prompt that a program prints.

    The program gets on standard input what the prompt of `llmJudge` may name, as one JSON object,
    and prints the prompt. It runs as `script` does. What the agent said it gets as the name of a
    step; the judge reads it as data.
    """

    needs_judge: ClassVar[bool] = True
    basis: ClassVar[Basis] = Basis.TRACE

    async def assess_in(
        self, evidence: Evidence, spec: AssertionSpec, context: AssessmentContext
    ) -> Priced:
        """See `Assertion`."""
        context.judge_for(self.type)
        told = prompt_words(evidence, self.config)
        printed = await self.printed(told, spec.own, context)
        try:
            prompt = printed.decode("utf-8").strip()
        except UnicodeDecodeError:
            raise CannotEvaluate(Cause.CHECK, f"what {self.named} prints is not UTF-8") from None
        if not prompt or len(prompt) > _LONGEST:
            what = f"{len(prompt):,} characters" if prompt else "nothing"
            message = f"{self.named} printed {what}; a prompt has 1 to {_LONGEST:,}"
            raise CannotEvaluate(Cause.CHECK, message)
        asked = LlmJudge(prompt=prompt, min_score=self.min_score)
        return await asked.assess_as(spec, evidence, context)


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
    ranges: tuple[Band, ...] | dict[str, str] = Field(
        default=(), description="What points mean: a list, or a mapping from the lowest of each."
    )
    operator: Literal["correctness", "contradiction"] = Field(
        default="correctness", description="Whether it has to hold, or only not be contradicted."
    )

    @field_validator("ranges")
    @classmethod
    def _whole(cls, ranges: tuple[Band, ...] | dict[str, str]) -> tuple[Band, ...] | dict[str, str]:
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

    async def ask(
        self, evidence: Evidence, judge: Judge, spec: JudgeSpec, before: Sequence[Juror] = ()
    ) -> tuple[Assessment, Usage]:
        """See the class. Rests on the steps that the judge proves something with."""
        del before  # it is asked once, so what was lost was all
        about = "\n\n".join(filter(None, (what_is_expected(evidence), evidence.about)))
        checklist, usage = await judge.check(
            checks=self.checks,
            about=about,
            spec=spec,
            fixture_input=evidence.input,
            transcript=evidence.transcript,
        )
        return self._assessment(checklist), usage

    def _assessment(self, found: Checklist) -> Assessment:
        verdict = found.verdict
        if verdict.undetermined:
            return cannot_determine(self.type, verdict)
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
        saw = show_figure(verdict.score, self.min_score)
        assessed = self.graded(
            verdict.score,
            least=self.min_score,
            expected=f"checks worth at least {show_threshold(self.min_score)} to be satisfied",
            saw=f"{saw}{short if lacking else ''}{must} ({summary})",
            steps=steps,
            fatal=bool(broken),
        )
        return assessed.replace(verdict=verdict)

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
