"""What every assertion is: its options as frozen fields, and one method."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from gateval.assertions.evidence import Basis, Evidence, NotMeasured
from gateval.domain.base import Spec
from gateval.domain.manifests.fixtures.reference import Reference
from gateval.domain.trials.trial import Assessed, Assessment, AssessmentStatus, Cause

TOLERANCE = 1e-9
"""Scores are sums of products of decimals; a limit is met within this distance."""

if TYPE_CHECKING:
    from gateval.domain.manifests.evaluation import JudgeSpec
    from gateval.domain.trials.model_call import Usage
    from gateval.judging.judge import Judge
    from gateval.ports.model_calls import Embed


class Assertion(Spec, ABC):
    """One check on a trial. The fields are its YAML keys, without those all assertions share.

    A validator may refuse options with a `ValueError` whose text is a sentence; that happens when
    the manifest is read. `type` is the name in YAML, `basis` what the assertion looks at.
    `starts_program` says that a program runs for it, `asks_service` that a server of the trial is
    asked, which has ended when a sealed program is started.
    """

    type: ClassVar[str]
    needs_judge: ClassVar[bool] = False
    starts_program: ClassVar[bool] = False
    asks_service: ClassVar[bool] = False
    basis: ClassVar[Basis] = Basis.ANSWER

    @abstractmethod
    def assess(self, evidence: Evidence) -> Assessment:
        """Return passed or failed, made with `result`.

        Raises `NotMeasured` when the evidence lacks what this assertion looks at.
        """

    @property
    def asks(self) -> str:
        """The model (`provider/model-id`) that it asks for embeddings, empty for none."""
        return ""

    async def assess_asking(
        self, evidence: Evidence, embed: Embed | None
    ) -> tuple[Assessment, Usage | None]:
        """Do what `assess` does, where `asks` names a model; return the tokens that took, too.

        Raises `NotMeasured` when it cannot be asked.
        """
        raise NotImplementedError  # only those whose `asks` names a model have it

    def wants(self, reference: Reference) -> str:
        """Say in a sentence what of `reference` it lacks to look at a case; empty for nothing."""
        del reference
        return ""

    def result(self, *, met: bool, expected: str, saw: str, steps: Sequence[int] = ()) -> Assessed:
        """Return the assessment with the sentence "Expected …, saw …." and the steps it rests on.

        `expected` and `saw` are parts of a sentence; what strangers wrote in them is shortened.
        """
        return Assessed(
            type=self.type,
            status=AssessmentStatus.PASSED if met else AssessmentStatus.FAILED,
            score=1.0 if met else 0.0,
            reason=f"Expected {expected}, saw {saw}.",
            steps=tuple(sorted(set(steps))),
        )

    def graded(
        self,
        score: float,
        *,
        least: float,
        expected: str,
        saw: str,
        steps: Sequence[int] = (),
        fatal: bool = False,
    ) -> Assessed:
        """Return the assessment of something that has a score in [0, 1] and passes from `least` on.

        `fatal` says that a required part of it failed: see `Assessment`.
        """
        score = min(1.0, max(0.0, score))
        met = score >= least - TOLERANCE and not fatal
        found = self.result(met=met, expected=expected, saw=saw, steps=steps)
        return found.model_copy(update={"score": score, "fatal": fatal})

    def absent(self, *, expected: str, saw: str, steps: Sequence[int] = ()) -> Assessed:
        """Return failed, because what this assertion looks at is not there: see `result`.

        Its opposite fails then too: where there is nothing to look at, nothing is shown.
        """
        found = self.result(met=False, expected=expected, saw=saw, steps=steps)
        return found.model_copy(update={"absent": True})


class JudgedAssertion(Assertion, ABC):
    """An assertion that asks the judge."""

    needs_judge: ClassVar[bool] = True
    basis: ClassVar[Basis] = Basis.TRACE

    def assess(self, evidence: Evidence) -> Assessment:
        """Raise `NotMeasured`: without a judge there is nothing to say."""
        del evidence
        raise NotMeasured(Cause.GATE, f"`{self.type}` needs a judge and none was set up")

    @abstractmethod
    async def assess_with(
        self, evidence: Evidence, judge: Judge, spec: JudgeSpec
    ) -> tuple[Assessment, Usage]:
        """Return the assessment and the tokens the judge took.

        Raises `NotMeasured` or the judge's `JudgeError`.
        """
