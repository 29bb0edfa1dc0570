"""`rubric`: the judge answers a list of checks, each with a weight."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from gateval.assertions.base import JudgedAssertion
from gateval.assertions.evidence import Evidence
from gateval.assertions.graded.judges.bands import RubricBand, bands_of, refuse_gaps
from gateval.assertions.graded.judges.llm_judge import what_is_expected
from gateval.assertions.graded.least import PASS_SCORE, MinScore
from gateval.domain.base import Spec
from gateval.domain.manifests.severity import AnyWeight
from gateval.domain.trials.trial import Assessment, Cause, NotAssessed
from gateval.judging.checklist import POINTS, Band, Check, Checklist
from gateval.judging.neutral import shorten

if TYPE_CHECKING:
    from gateval.domain.manifests.evaluation import JudgeSpec
    from gateval.domain.trials.model_call import Usage
    from gateval.judging.judge import Judge

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
