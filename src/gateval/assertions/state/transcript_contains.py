"""`transcriptContains`: texts are said in the course of a trial."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import Basis, Evidence
from gateval.assertions.matching.final_message import quoted
from gateval.assertions.state.transcript import Speaker, first_with, said_by
from gateval.domain.trials.trial import Assessment

Phrase = Annotated[str, Field(min_length=1, max_length=2000)]


class TranscriptContains(Assertion):
    """All of these phrases are said, each anywhere in the transcript.

    In a turn's assertions, in that turn. Where steps are missing, it is an error.
    """

    type: ClassVar[str] = "transcriptContains"
    basis: ClassVar[Basis] = Basis.TRACE

    phrases: tuple[Phrase, ...] = Field(
        min_length=1, max_length=100, description="The texts to find, letter by letter."
    )
    speaker: Speaker = Field(
        default="assistant", description="Whose steps are looked at; of tools, calls and results."
    )
    ignore_case: bool = Field(default=False, description="Whether upper and lower case are alike.")

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the steps that say them."""
        steps = said_by(evidence, self.speaker)
        found = {one: first_with(steps, one, ignore_case=self.ignore_case) for one in self.phrases}
        lacking = [one for one, number in found.items() if number is None]
        said = ", ".join(map(quoted, self.phrases))
        told = [f"{quoted(one)} at step {number}" for one, number in found.items() if number]
        told += [f"{quoted(one)} nowhere" for one in lacking]
        return self.result(
            met=not lacking,
            expected=f"{said} to be said by {whom(self.speaker)}",
            saw=", ".join(told),
            steps=[number for number in found.values() if number is not None],
        )


def whom(speaker: Speaker) -> str:
    """Return the speaker for a sentence."""
    return "anybody" if speaker == "any" else f"the {speaker}"
