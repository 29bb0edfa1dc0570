"""`codeJudge`: a program written for AgentV scores the trial."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from pydantic import Field

from gateval.assertions.evidence import Basis, Evidence
from gateval.assertions.graded.code_answer import CodeAnswer, read_code_answer
from gateval.assertions.graded.commands import CommandInFolder
from gateval.assertions.graded.least import PASS_SCORE, MinScore
from gateval.assertions.graded.told import trial_words
from gateval.assertions.own.program import OwnProgram
from gateval.assertions.world import Asker, Priced, World
from gateval.domain.manifests.fixture import AssertionSpec
from gateval.domain.trials.trial import Assessment
from gateval.judging.neutral import shorten


class CodeJudge(CommandInFolder, OwnProgram, Asker):
    """A program scores the run at least `minScore`, by the contract of AgentV's code judges.

    It gets one JSON object on standard input: `question`, `expected_outcome`, `reference_answer`,
    `candidate_answer`, `input_messages`, `output_messages`, `expected_messages`, `input_files`,
    `guideline_files`, `trace_summary`, `config`, `sidecar`, and the newer words for them. It prints
    `score` from 0 to 1 with `hits`, `misses`, `reasoning` and `details`, or `assertions` with
    `text` and `passed`, whose share is the score. It runs as `script` does. A crash, a time-out or
    any other answer is an error, never a score of 0.
    """

    type: ClassVar[str] = "codeJudge"
    basis: ClassVar[Basis] = Basis.TRACE

    plain_text: bool = Field(
        default=False,
        description="Whether a program that ends well and prints no JSON has passed the run.",
    )
    min_score: MinScore = PASS_SCORE

    async def assess_in(self, evidence: Evidence, spec: AssertionSpec, world: World) -> Priced:
        """See `Asker`. Rests on the final message."""
        told = trial_words(evidence, self.config)
        read = partial(read_code_answer, plain=self.plain_text)
        answer = await self.answer(told, spec.own, world.bench, read)
        return self._assessment(answer, evidence), None

    def _assessment(self, answer: CodeAnswer, evidence: Evidence) -> Assessment:
        said = f": {shorten(answer.words, 400).rstrip('.')}" if answer.words.strip() else ""
        return self.graded(
            answer.score,
            least=self.min_score,
            expected=f"the check {self.named} to score at least {self.min_score:g}",
            saw=f"{answer.score:g}{said}",
            steps=evidence.final,
        )
