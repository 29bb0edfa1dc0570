"""`similar`: the final message is like a reference, by letters, by words or by meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import Field, model_validator

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import Evidence
from gateval.assertions.matching import (
    FieldPath,
    NoText,
    bleu,
    levenshtein,
    quoted,
    refuse_longer,
    rouge_l,
    text_at,
    where,
)
from gateval.domain.base import ModelName
from gateval.domain.trials.trial import Assessment

if TYPE_CHECKING:
    from gateval.domain.trials.model_call import Usage
    from gateval.ports.model_calls import Embed


_MEASURES = {"levenshtein": levenshtein, "rouge-l": rouge_l, "bleu": bleu}


class Similar(Assertion):
    """The agent's final message, or a field of it, is at least `min` like the text `to`.

    `levenshtein` compares characters: 1 minus the edits that lead from one to the other, over the
    length of the longer. `rouge-l` compares words: the F-measure of their longest common
    subsequence; case and punctuation do not matter. `bleu` compares runs of up to four words and
    punctuation marks, as the measure of machine translation does, for one sentence, smoothed.
    `embeddings` compares what a `model` makes of both texts: the cosine of the angle between their
    vectors, negative ones counting as 0; the call goes through the gate, which holds the key, and
    what the model does not measure is an error. White space around the texts is ignored. Likeness
    is not truth: "is" and "is not" are much alike.
    """

    type: ClassVar[str] = "similar"

    to: str = Field(min_length=1, max_length=20_000, description="The text to compare with.")
    metric: Literal["levenshtein", "rouge-l", "bleu", "embeddings"] = Field(
        default="levenshtein", description="How likeness is measured."
    )
    model: ModelName | None = Field(
        default=None,
        description="The model that embeds both texts, as `provider/model-id`; for `embeddings`.",
    )
    min: float = Field(gt=0, le=1, description="The lowest likeness that passes, up to 1.")
    field: FieldPath = None
    ignore_case: bool = Field(default=False, description="Whether upper and lower case are alike.")

    @model_validator(mode="after")
    def _names_a_model_for_embeddings(self) -> Self:
        if (self.metric == "embeddings") is not (self.model is not None):
            raise ValueError("`model` and `metric: embeddings` go together")
        return self

    @property
    def asks(self) -> str:
        """The model for embeddings."""
        return self.model or ""

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the final message; its score is the likeness."""
        try:
            text, reference = self._texts(evidence)
        except NoText as absent:
            return self.absent(expected=self._expected, saw=str(absent), steps=evidence.final)
        return self._found(_MEASURES[self.metric](text, reference), text, evidence)

    async def assess_asking(
        self, evidence: Evidence, embed: Embed | None
    ) -> tuple[Assessment, Usage | None]:
        """See the class and `Assertion`."""
        from gateval.assertions.embeddings import embedded_likeness  # brings asyncio

        try:
            text, reference = self._texts(evidence)
        except NoText as absent:
            found = self.absent(expected=self._expected, saw=str(absent), steps=evidence.final)
            return found, None
        if not text:
            return self._found(0.0, text, evidence), None
        likeness, usage = await embedded_likeness(embed, self.asks, text, reference)
        return self._found(likeness, text, evidence), usage

    @property
    def _expected(self) -> str:
        by = f"embeddings of {self.model}" if self.model else self.metric
        return f"{where(self.field)} at least {self.min:g} like {quoted(self.to)} by {by}"

    def _texts(self, evidence: Evidence) -> tuple[str, str]:
        """Return the text and the reference. Raises `NoText` and `NotMeasured`."""
        text = text_at(evidence, self.field).strip()
        refuse_longer(text, self.field, "`similar` compares")
        reference = self.to.strip()
        if self.ignore_case:
            text, reference = text.casefold(), reference.casefold()
        return text, reference

    def _found(self, measured: float, text: str, evidence: Evidence) -> Assessment:
        likeness = min(1.0, measured)
        met = likeness >= self.min - 1e-9
        saw = f"{likeness:.3f} in {quoted(text)}"
        found = self.result(met=met, expected=self._expected, saw=saw, steps=evidence.final)
        return found.model_copy(update={"score": likeness})
