"""`fieldAccuracy`: how many fields of the answer, read as JSON, are as expected."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, JsonValue

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import Evidence, NotMeasured
from gateval.assertions.graded.composites.base import weighted_mean
from gateval.assertions.graded.least import PASS_SCORE, MinScore
from gateval.assertions.graded.measures.fields import ExpectedField, FieldScore, json_in, mark
from gateval.assertions.matching.final_message import message, quoted
from gateval.domain.trials.trial import Assessment, Cause
from gateval.judging.neutral import shorten

_SHOWN = 5


class FieldAccuracy(Assertion):
    """The weighted share of the message's fields that are as expected is at least `minScore`.

    The message is read as JSON, in a fence or amid other text too. A field is compared with the
    same field of `expected`, or of the reference's answer. A field that is not expected to be there
    is a hit, whatever the message has; one that lacks is missed if it is `required`, else it does
    not count. With `allOrNothing`, one that is missed makes the score 0. A message without JSON
    scores 0.
    """

    type: ClassVar[str] = "fieldAccuracy"

    fields: tuple[ExpectedField, ...] = Field(
        min_length=1, max_length=500, description="The fields, each with how it is compared."
    )
    aggregation: Literal["weightedAverage", "allOrNothing"] = Field(
        default="weightedAverage", description="How the fields make one score."
    )
    expected: JsonValue = Field(
        default=None, description="The JSON expected; without it, the reference's answer."
    )
    min_score: MinScore = PASS_SCORE

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the final message."""
        wanted = self._wanted(evidence)
        text = message(evidence)
        given = json_in(text)
        if given is None:
            saw = f"a final message without JSON: {quoted(text)}"
            return self.graded(
                0.0, least=self.min_score, expected=self._words(), saw=saw, steps=evidence.final
            )
        marks = [(field, mark(field, wanted, given)) for field in self.fields]
        score = self._score([(field.weight, marked) for field, marked in marks])
        wrong = [shorten(f"{field.path}: {one.words}", 120) for field, one in marks if one.words]
        return self.graded(
            score,
            least=self.min_score,
            expected=self._words(),
            saw=f"{score:.3g}" + (f" ({'; '.join(wrong[:_SHOWN])})" if wrong else ""),
            steps=evidence.final,
        )

    def _score(self, marks: list[tuple[float, FieldScore]]) -> float:
        counted = [(weight, one.score) for weight, one in marks if one.score is not None]
        if self.aggregation == "allOrNothing":
            return float(all(score == 1 for _, score in counted))
        return weighted_mean(counted)

    def _words(self) -> str:
        return f"fields worth at least {self.min_score:g} to be as expected"

    def _wanted(self, evidence: Evidence) -> JsonValue:
        wanted = self.expected if self.expected is not None else evidence.reference.wanted
        if isinstance(wanted, str):
            wanted = json_in(wanted)
        if wanted is None:
            raise NotMeasured(
                Cause.GATE,
                "there is no JSON to compare the fields with; write `expected`, or an answer that "
                "is JSON in the fixture's `reference`",
            )
        return wanted
