"""`similar`: the final message is like a reference, by letters, by words or by meaning."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field, model_validator

from gateval.assertions.base import AssessmentContext, EvidenceAssertion, Priced
from gateval.assertions.evidence import CannotEvaluate, Evidence
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
from gateval.domain.manifests.fixture import AssertionSpec
from gateval.domain.trials.trial import Assessment, Cause

if TYPE_CHECKING:
    from gateval.domain.trials.model_call import Usage
    from gateval.ports.model_calls import Embed


_MEASURES = {"levenshtein": levenshtein, "rouge-l": rouge_l, "bleu": bleu}
_SECONDS = 60


class Similar(EvidenceAssertion):
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

    async def assess_in(
        self, evidence: Evidence, spec: AssertionSpec, context: AssessmentContext
    ) -> Priced:
        """See `Assertion`; it asks a model for embeddings."""
        if self.model is None:
            return await super().assess_in(evidence, spec, context)
        try:
            text, reference = self._texts(evidence)
        except NoText as lack:
            return self._nothing(lack, evidence), None
        if not text:
            return self._found(0.0, text, evidence), None
        likeness, usage = await embedded_likeness(context.embed, self.model, text, reference)
        return self._found(likeness, text, evidence), usage

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the final message; its score is the likeness."""
        try:
            text, reference = self._texts(evidence)
        except NoText as lack:
            return self._nothing(lack, evidence)
        return self._found(_MEASURES[self.metric](text, reference), text, evidence)

    @property
    def _expected(self) -> str:
        by = f"embeddings of {self.model}" if self.model else self.metric
        return f"{where(self.field)} at least {self.min:g} like {quoted(self.to)} by {by}"

    def _texts(self, evidence: Evidence) -> tuple[str, str]:
        """Return the text and the reference. Raises `NoText` and `CannotEvaluate`."""
        text = text_at(evidence, self.field).strip()
        refuse_longer(text, self.field, "`similar` compares")
        reference = self.to.strip()
        return (text.casefold(), reference.casefold()) if self.ignore_case else (text, reference)

    def _nothing(self, lack: NoText, evidence: Evidence) -> Assessment:
        return self.absent(expected=self._expected, saw=str(lack), steps=evidence.final)

    def _found(self, measured: float, text: str, evidence: Evidence) -> Assessment:
        likeness = min(1.0, measured)
        met = likeness >= self.min - 1e-9
        saw = f"{likeness:.3f} in {quoted(text)}"
        found = self.result(met=met, expected=self._expected, saw=saw, steps=evidence.final)
        return found.replace(score=likeness)


async def embedded_likeness(
    embed: Embed | None, model: str, text: str, reference: str
) -> tuple[float, Usage | None]:
    """Return how alike two texts are to a model, in [0, 1], and the tokens that it took: the cosine
    of the angle between its vectors for them. Raises `CannotEvaluate`.
    """
    import asyncio

    from gateval.ports.model_calls import ModelCallError, ModelCallFault

    if embed is None:
        raise CannotEvaluate(Cause.GATE, "no model can be asked for embeddings here")
    try:
        async with asyncio.timeout(_SECONDS):
            found = await embed(model, (text, reference))
    except TimeoutError:
        message = f"{model} gave no embeddings within {_SECONDS} seconds"
        raise CannotEvaluate(Cause.PROVIDER, message) from None
    except ModelCallError as error:
        ours = error.fault is ModelCallFault.UNCONFIGURED
        message = f"{model} gave no embeddings: {error.message}"
        raise CannotEvaluate(Cause.GATE if ours else Cause.PROVIDER, message) from None
    likeness = cosine(*found.vectors)
    if likeness is None:
        message = f"{model} gave embeddings that cannot be compared"
        raise CannotEvaluate(Cause.PROVIDER, message)
    return max(0.0, likeness), found.usage


def cosine(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Return the cosine of the angle between two vectors, in [-1, 1].

    None where there is none: their lengths differ, one is zero, or a number is not finite.
    """
    if len(one) != len(other):
        return None
    product = math.hypot(*one) * math.hypot(*other)
    if not product or not math.isfinite(product):
        return None
    return max(-1.0, min(1.0, math.fsum(a * b for a, b in zip(one, other, strict=True)) / product))
