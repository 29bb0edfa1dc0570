"""`preference`: the Eval's judge is shown head's answer beside base's. What is said of one trial is
nothing; of all pairs of an Eval there is a test.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from gateval.assertions.base import Assertion, AssessmentContext, Priced, error_of
from gateval.assertions.evidence import CannotEvaluate, Evidence
from gateval.domain.manifests.fixture import PREFERENCE, AssertionSpec
from gateval.domain.text import listing
from gateval.domain.trials.preference import Choice, Preference
from gateval.domain.trials.trace import add_usage
from gateval.domain.trials.trial import (
    Assessed,
    Assessment,
    AssessmentStatus,
    Cause,
    Trial,
    final_step,
)
from gateval.safe.legible import shorten

if TYPE_CHECKING:
    from gateval.domain.manifests.evaluation import JudgeSpec
    from gateval.domain.manifests.fixture import FixtureInput
    from gateval.domain.trials.model_call import Usage
    from gateval.judging.judge import Judge
    from gateval.judging.preference import Preferred


class PreferenceAssertion(Assertion):
    """The Eval's judge does not prefer base's answers to head's, over all fixtures that ask it.

    The judge sees both answers to the same input, made in this run, and does not know whose they
    are: once base's first and once head's. Where it keeps to a place, that is a tie. The pairs of
    all fixtures of an Eval are tested together, by a share of its budget for false alarms; above an
    observed win rate of 0.40 nothing blocks. It says nothing of a single trial, so that a fixture
    needs another assertion besides, and it has no weight. Stored base trials have no answers: where
    it is asked, base is measured.
    """

    type: ClassVar[str] = PREFERENCE
    needs_judge: ClassVar[bool] = True

    rubric: str = Field(
        min_length=1, max_length=20_000, description="What makes an answer the better one."
    )

    async def assess_in(
        self, evidence: Evidence, spec: AssertionSpec, context: AssessmentContext
    ) -> Priced:
        """Say that there is nothing to say of one answer. Raises `CannotEvaluate`."""
        del evidence, spec, context
        why = "the judge was not shown head's answer beside base's"
        raise CannotEvaluate(Cause.GATE, why)

    async def compared(
        self, base: Trial, head: Trial, asked: FixtureInput, judge: Judge, spec: JudgeSpec
    ) -> tuple[Assessment, Usage]:
        """Return the assessment of head's answer beside base's, and the tokens of the judge.

        Where the judge gives no usable answer in one of the orders it is an error.
        """
        import asyncio

        from gateval.judging.judge import JudgeError
        from gateval.judging.preference import AnswerPair

        old, new = _answer(base), _answer(head)
        if old == new:
            said = Preference(base_first=Choice.TIE, head_first=Choice.TIE, alike=True)
            return self._told(said, "both answers are the same"), add_usage([])

        async def prefer(first: str, second: str) -> tuple[Preferred, Usage] | JudgeError:
            pair = AnswerPair(asked, first, second)
            try:
                return await judge.prefer(rubric=self.rubric, spec=spec, pair=pair)
            except JudgeError as error:
                return error

        both = await asyncio.gather(prefer(old, new), prefer(new, old))
        failed = [one for one in both if isinstance(one, JudgeError)]
        usage = add_usage(_spent(both))
        if failed:
            return error_of(self.type, failed[0].cause, failed[0].message), usage
        (ours, _), (theirs, _) = (one for one in both if not isinstance(one, JudgeError))
        said = Preference(base_first=ours.choice, head_first=theirs.choice)
        words = dict.fromkeys(shorten(one.summary).rstrip(".") for one in (ours, theirs))
        return self._told(said, listing(list(filter(None, words)))), usage

    def _told(self, said: Preference, why: str) -> Assessment:
        kept = f"it kept to the place: {said.base_first} both times; " if said.place else ""
        which = {1: "head's answer", 0: "neither answer", -1: "base's answer"}[said.won]
        return Assessed(
            type=self.type,
            status=AssessmentStatus.FAILED if said.won < 0 else AssessmentStatus.PASSED,
            score=(1 + said.won) / 2,
            reason=f"Shown both answers in both orders, the judge prefers {which}: {kept}{why}.",
            preference=said,
        )


def _spent(both: Sequence[tuple[Preferred, Usage] | Exception]) -> list[Usage]:
    """Return what the calls of both orders took, as far as it is known."""
    found = (getattr(one, "usage", None) if isinstance(one, Exception) else one[1] for one in both)
    return [one for one in found if one is not None]


def _answer(trial: Trial) -> str:
    """Return what a trial finally said, from its trace where its output was cut."""
    last = final_step(trial.trace) if trial.output_truncated and trial.trace else None
    return last.text if last else trial.output or ""
