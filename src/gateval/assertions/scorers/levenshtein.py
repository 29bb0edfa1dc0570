"""`levenshtein`: how near the final message is to the expected answer, by letters."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, JsonValue

from gateval.assertions.evidence import Evidence, NotMeasured
from gateval.assertions.matching.final_message import TEXT_LIMIT, message, quoted
from gateval.assertions.matching.similarity import levenshtein
from gateval.assertions.scorers.base import Scorer
from gateval.domain.trials.trial import Assessment, Cause


class Levenshtein(Scorer):
    """1 minus the edits between the agent's final message and the expected answer, over the length
    of the longer. Insertions, deletions and substitutions cost 1 each; white space around the texts
    is ignored, and two empty texts are alike. It is `similar` with a score for every case.
    """

    type: ClassVar[str] = "levenshtein"

    ignore_case: bool = Field(default=False, description="Whether upper and lower case are alike.")

    def score(self, expected: JsonValue, evidence: Evidence) -> Assessment:
        """See the class. Rests on the final message."""
        del expected  # its text is compared
        texts = [message(evidence).strip(), evidence.reference.text.strip()]
        if max(map(len, texts)) > TEXT_LIMIT:
            what = f"`{self.type}` compares at most {TEXT_LIMIT:,} characters"
            raise NotMeasured(Cause.GATE, what)
        said, wanted = (one.casefold() for one in texts) if self.ignore_case else texts
        likeness = levenshtein(said, wanted)
        return self.graded(
            likeness,
            least=self.min_score,
            expected=f"a message like {quoted(texts[1])}",
            saw=f"{likeness:.3f} in {quoted(texts[0])}",
            steps=evidence.final,
        )
