"""`transcriptForbids`: texts are never said in the course of a trial."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import Basis, Evidence
from gateval.assertions.matching.final_message import quoted
from gateval.assertions.state.transcript import Speaker, first_with, said_by
from gateval.assertions.state.transcript_contains import Phrase, whom
from gateval.domain.trials.trial import Assessment


class TranscriptForbids(Assertion):
    """None of these phrases is said anywhere in the transcript.

    In a turn's assertions, in that turn. Where steps are missing, it is an error.
    """

    type: ClassVar[str] = "transcriptForbids"
    basis: ClassVar[Basis] = Basis.TRACE

    phrases: tuple[Phrase, ...] = Field(
        min_length=1, max_length=100, description="The texts that must not be said."
    )
    speaker: Speaker = Field(
        default="assistant", description="Whose steps are looked at; of tools, calls and results."
    )
    ignore_case: bool = Field(default=True, description="Whether upper and lower case are alike.")

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the steps that say them."""
        evidence.refuse_empty_claim()
        steps = said_by(evidence, self.speaker)
        found = {
            one: number
            for one in self.phrases
            if (number := first_with(steps, one, ignore_case=self.ignore_case)) is not None
        }
        told = [f"{quoted(one)} at step {number}" for one, number in found.items()]
        return self.result(
            met=not found,
            expected=f"none of {', '.join(map(quoted, self.phrases))} said by {whom(self.speaker)}",
            saw=", ".join(told) or "none of them",
            steps=[*found.values()] or evidence.final,
        )
