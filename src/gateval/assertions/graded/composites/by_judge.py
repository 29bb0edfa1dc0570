"""`compositeJudge`: the judge makes one score of several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field, JsonValue

from gateval.assertions.evidence import Evidence
from gateval.assertions.graded.composites.base import Member, Weighing
from gateval.assertions.graded.composites.by_script import results_of
from gateval.assertions.graded.judges.llm_judge import LlmJudge
from gateval.assertions.graded.templates import filled
from gateval.assertions.graded.told import prompt_words
from gateval.assertions.world import Priced, World
from gateval.domain.manifests.fixture import AssertionSpec

PROMPT = (
    "Several evaluators scored this run. Weigh what they found and give one score for the whole "
    "run.\n\n{{ EVALUATOR_RESULTS_JSON }}"
)


_TOLD = ("type", "score", "weight", "verdict")


class CompositeJudge(Weighing):
    """The Eval's judge weighs what the assertions in it found; its score is at least `minScore`.

    `prompt` is a template as that of `llmJudge`, in which `{{ EVALUATOR_RESULTS_JSON }}` stands for
    their scores and verdicts. Evidence counts as with `judge`.
    """

    type: ClassVar[str] = "compositeJudge"
    needs_judge: ClassVar[bool] = True
    verb: ClassVar[str] = "all"

    prompt: str = Field(
        default=PROMPT, min_length=1, max_length=20_000, description="What the judge is asked."
    )

    async def weigh(
        self, members: Sequence[Member], evidence: Evidence, spec: AssertionSpec, world: World
    ) -> Priced:
        """See the class. Rests on the steps of the violations that are proven."""
        del spec
        judge = world.judge_for(self.type)
        words = {**prompt_words(evidence, {}), "EVALUATOR_RESULTS_JSON": _results(members)}
        asked = LlmJudge(prompt=filled(self.prompt, words), min_score=self.min_score)
        said = asked.assess_with(evidence.for_a_judge, judge, world.judge_spec)
        return await world.heard(said, self.type)


def _results(members: Sequence[Member]) -> JsonValue:
    """Return what a judge is told of the members: no reasons, which quote what the agent said."""
    told = results_of(members)
    return {
        name: {key: one[key] for key in _TOLD}
        for name, one in told.items()
        if isinstance(one, dict)
    }
