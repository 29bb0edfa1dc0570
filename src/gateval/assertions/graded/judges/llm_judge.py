"""`llmJudge`: the judge scores the run by a prompt of one's own, or against what is expected."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from gateval.assertions.evidence import Evidence
from gateval.assertions.graded.least import PASS_SCORE, MinScore
from gateval.assertions.graded.templates import filled
from gateval.assertions.graded.told import prompt_words
from gateval.assertions.judge import ScoredByJudge
from gateval.domain.base import JsonObject

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
