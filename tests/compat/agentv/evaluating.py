"""Reads the evaluators of a case as AgentV writes them, and has them look at an answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gateval.assertions.assess import assess
from gateval.domain.manifests.evaluation import ScoringModel, ScoringSpec
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.results.trial_verdict import TrialVerdict, trial_verdict
from gateval.domain.trials.trial import Answer, Assessment
from gateval.judging.judge import Judge
from tests.helpers.agentv import agentv, read
from tests.helpers.own_checks import runner, with_files
from tests.helpers.scripted_calls import ScriptedCalls, says
from tests.helpers.trials import JUDGE

SUITE = "evals/suite.yaml"


class Looked:
    """What evaluators made of an answer, and what the judge was asked for it."""

    def __init__(self, fixture: Fixture, found: tuple[Assessment, ...], calls: ScriptedCalls):
        self.fixture = fixture
        self.found = found
        self.asked = [
            "\n".join(one.text for one in request.messages) for _, request, _ in calls.asked
        ]

    @property
    def scores(self) -> list[float | None]:
        return [one.score for one in self.found]

    @property
    def only(self) -> Assessment:
        (one,) = self.found
        return one

    @property
    def verdict(self) -> TrialVerdict:
        return trial_verdict(ScoringSpec(model=ScoringModel.WEIGHTED), self.fixture, self.found)


def fixture_of(path: Path, case: str, files: Mapping[str, str] | None = None) -> Fixture:
    """The fixture of a case with this body, each line indented by four."""
    suite = (
        f"evalcases:\n  - id: one\n    expected_outcome: Says 42\n    input: What is 6 x 7?\n{case}"
    )
    snapshot = read(agentv(path / "repo", {SUITE: suite, **(files or {})}))
    assert snapshot.problems == (), snapshot.problems
    (fixture,) = snapshot.catalogue.fixtures
    return fixture


def looked(
    path: Path,
    case: str,
    answer: Answer,
    *replies: Mapping[str, Any] | str,
    files: Mapping[str, str] | None = None,
) -> Looked:
    """Have the evaluators of a case look at an answer; the judge says `replies`, the last for ever."""
    fixture = fixture_of(path, case, files)
    told = [says(one if isinstance(one, str) else json.dumps(one)) for one in replies]
    calls = ScriptedCalls(told, forever=True)
    found = asyncio.run(_assess(fixture, answer, Judge(calls), path / "repo" / "evals"))
    return Looked(fixture, found, calls)


async def _assess(
    fixture: Fixture, answer: Answer, judge: Judge, folder: Path
) -> tuple[Assessment, ...]:
    async with runner(folder) as checks:
        found, _ = await assess(with_files(fixture), answer, judge, JUDGE, checks=checks)
    return found


def verdict(score: float, *violations: Mapping[str, Any]) -> dict[str, Any]:
    """A judge's verdict."""
    return {
        "score": score, "confidence": 1, "summary": "So it is.", "violations": [*violations],
        "what_would_raise_score": "",
    }  # fmt: skip


def checked(*checks: Mapping[str, Any]) -> dict[str, Any]:
    """A judge's answer to a list of checks."""
    return {"checks": [*checks], "overall_reasoning": "So it is."}


def blames(quote: str, step: int = 2) -> dict[str, Any]:
    """A violation of a verdict."""
    return {"rule": "wrong", "severity": "high", "evidence_step": step, "quote": quote}
