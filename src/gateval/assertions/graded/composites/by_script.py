"""`compositeScript`: a program makes one score of several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pydantic import JsonValue

from gateval.assertions.evidence import Basis, Evidence
from gateval.assertions.graded.code_answer import read_code_answer
from gateval.assertions.graded.commands import CommandInFolder
from gateval.assertions.graded.composites.base import Member, Weighing
from gateval.assertions.own.program import OwnProgram
from gateval.assertions.world import Priced, World
from gateval.domain.base import JsonObject
from gateval.domain.manifests.fixture import AssertionSpec
from gateval.domain.trials.trial import Assessment, AssessmentStatus
from gateval.judging.neutral import shorten


class CompositeScript(CommandInFolder, Weighing, OwnProgram):
    """A program gives the assertions in it one score, which is at least `minScore`.

    It gets `{"results": {NAME: {...}}}` on standard input, with `score`, `verdict`, `reasoning`,
    `hits`, `misses`, `type` and `weight` of each, and prints what a `codeJudge` prints; a `verdict`
    in it (`pass` or `fail`) decides in place of `minScore`. It runs as `script` does.
    """

    type: ClassVar[str] = "compositeScript"
    basis: ClassVar[Basis] = Basis.TRACE
    verb: ClassVar[str] = "all"

    async def weigh(
        self, members: Sequence[Member], evidence: Evidence, spec: AssertionSpec, world: World
    ) -> Priced:
        """See the class. Rests on what the members rest on."""
        del evidence
        told: JsonObject = {"results": results_of(members), "config": self.config or None}
        answer = await self.answer(told, spec.own, world.bench, read_code_answer)
        said = f": {shorten(answer.words, 400).rstrip('.')}" if answer.words.strip() else ""
        found = self.graded(
            answer.score,
            least=self.min_score,
            expected=f"the program {self.named} to give at least {self.min_score:g}",
            saw=f"{answer.score:g}{said}",
            steps=[step for member in members for step in member.found.steps],
        )
        if answer.passed is None:
            return found, None
        status = AssessmentStatus.PASSED if answer.passed else AssessmentStatus.FAILED
        return found.model_copy(update={"status": status}), None


def results_of(members: Sequence[Member]) -> dict[str, JsonValue]:
    """Return what an aggregator is told of the members, by name; a second one gets a number."""
    told: dict[str, JsonValue] = {}
    for member in members:
        name, number = member.name, 2
        while name in told:
            name, number = f"{member.name}-{number}", number + 1
        told[name] = _result(member)
    return told


def _result(member: Member) -> JsonObject:
    found = member.found
    passed = found.passed
    return {
        "score": member.score,
        "type": found.type,
        "weight": member.spec.weight,
        "verdict": "pass" if passed else "fail",
        "reasoning": found.reason,
        "hits": [found.reason] if passed else [],
        "misses": [] if passed else _misses(found),
    }


def _misses(found: Assessment) -> list[JsonValue]:
    rules = [one.rule for one in found.verdict.violations] if found.verdict else []
    return list(rules or [found.reason])
