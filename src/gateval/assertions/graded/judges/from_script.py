"""`judgeFromScript`: a program of the repository writes what the judge is asked."""

from __future__ import annotations

from typing import ClassVar

from gateval.assertions.evidence import Basis, Evidence, NotMeasured
from gateval.assertions.graded.commands import CommandInFolder
from gateval.assertions.graded.judges.llm_judge import LlmJudge
from gateval.assertions.graded.least import PASS_SCORE, MinScore
from gateval.assertions.graded.told import prompt_words
from gateval.assertions.own.program import OwnProgram
from gateval.assertions.world import Asker, Priced, World
from gateval.domain.manifests.fixture import AssertionSpec
from gateval.domain.trials.trial import Cause

_LONGEST = 20_000


class JudgeFromScript(CommandInFolder, OwnProgram, Asker):
    """The Eval's judge scores the run at least `minScore`, by a prompt that a program prints.

    The program gets on standard input what the prompt of `llmJudge` may name, as one JSON object,
    and prints the prompt. It runs as `script` does. What the agent said it gets as the name of a
    step; the judge reads it as data.
    """

    type: ClassVar[str] = "judgeFromScript"
    needs_judge: ClassVar[bool] = True
    basis: ClassVar[Basis] = Basis.TRACE

    min_score: MinScore = PASS_SCORE

    async def assess_in(self, evidence: Evidence, spec: AssertionSpec, world: World) -> Priced:
        """See `Asker`."""
        judge = world.judge_for(self.type)
        told = prompt_words(evidence, self.config)
        prompt = _text(await self.printed(told, spec.own, world.bench), self.named)
        asked = LlmJudge(prompt=prompt, min_score=self.min_score)
        said = asked.assess_with(evidence.for_a_judge, judge, world.judge_spec)
        return await world.heard(said, self.type)


def _text(printed: bytes, named: str) -> str:
    try:
        text = printed.decode("utf-8").strip()
    except UnicodeDecodeError:
        raise NotMeasured(Cause.CHECK, f"what {named} prints is not UTF-8") from None
    if not text or len(text) > _LONGEST:
        what = f"{len(text):,} characters" if text else "nothing"
        message = f"{named} printed {what}; a prompt has 1 to {_LONGEST:,}"
        raise NotMeasured(Cause.CHECK, message)
    return text
