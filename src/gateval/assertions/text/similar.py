"""`similar`: the final message is like a reference, by a measure that needs no model."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import Evidence, NotMeasured
from gateval.assertions.matching.final_message import Absent, FieldPath, quoted, text_at, where
from gateval.assertions.matching.similarity import bleu, levenshtein, rouge_l
from gateval.domain.trials.trial import Assessment, Cause

_TEXT_LIMIT = 100_000
_MEASURES = {"levenshtein": levenshtein, "rouge-l": rouge_l, "bleu": bleu}


class Similar(Assertion):
    """The agent's final message, or a field of it, is at least `min` like the text `to`.

    `levenshtein` compares characters: 1 minus the edits that lead from one to the other, over the
    length of the longer. `rouge-l` compares words: the F-measure of their longest common
    subsequence; case and punctuation do not matter. `bleu` compares runs of up to four words and
    punctuation marks, as the measure of machine translation does, for one sentence, smoothed. White
    space around the texts is ignored. Likeness is not truth: "is" and "is not" are much alike.
    """

    type: ClassVar[str] = "similar"

    to: str = Field(min_length=1, max_length=20_000, description="The text to compare with.")
    metric: Literal["levenshtein", "rouge-l", "bleu"] = Field(
        default="levenshtein", description="How likeness is measured."
    )
    min: float = Field(gt=0, le=1, description="The lowest likeness that passes, up to 1.")
    field: FieldPath = None
    ignore_case: bool = Field(default=False, description="Whether upper and lower case are alike.")

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the final message; its score is the likeness."""
        expected = f"{where(self.field)} at least {self.min:g} like {quoted(self.to)}"
        expected += f" by {self.metric}"
        try:
            text = text_at(evidence, self.field).strip()
        except Absent as absent:
            return self.absent(expected=expected, saw=str(absent), steps=evidence.final)
        if len(text) > _TEXT_LIMIT:
            raise NotMeasured(
                Cause.GATE,
                f"{where(self.field)} has {len(text):,} characters; `similar` compares at most "
                f"{_TEXT_LIMIT:,}",
            )
        reference = self.to.strip()
        if self.ignore_case:
            text, reference = text.casefold(), reference.casefold()
        likeness = min(1.0, _MEASURES[self.metric](text, reference))
        met = likeness >= self.min - 1e-9
        saw = f"{likeness:.3f} in {quoted(text)}"
        found = self.result(met=met, expected=expected, saw=saw, steps=evidence.final)
        return found.model_copy(update={"score": likeness})
