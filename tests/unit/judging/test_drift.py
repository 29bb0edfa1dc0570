"""The version in which a judge's model answers: what is kept of it, and what it makes stale."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from gateval.domain.base import JsonObject
from gateval.domain.calibration import (
    FINGERPRINTS,
    Agreement,
    CalibrationReplay,
    ModelVersion,
    Retest,
    binding_of,
)
from gateval.domain.manifests.evaluation import Calibration, JudgeSpec
from gateval.domain.plan.plan import Plan
from gateval.domain.results.doubts import version_warnings
from gateval.domain.trials.model_call import ModelReply, ModelRequest
from gateval.domain.trials.trial import Side, Trial
from gateval.judging.agreements import Agreements
from gateval.judging.calibrating import prompt_digest
from gateval.judging.judge import Judge
from gateval.wire.registry import WIRE_FORMATS
from tests.helpers.calibrations import verdict
from tests.helpers.reports import make
from tests.helpers.trials import PROMPT, trace

SPEC = JudgeSpec(model="openai/gpt-5", calibration="tone", min_agreement=0.6)
RUN = trace("user: Hello", "says: Get lost")
ROW = "support-eval refund base:pass head:pass"


class Versioned:
    """Model calls that are answered by the next version each, the last one over and over."""

    def __init__(self, versions: Sequence[str]) -> None:
        self._versions = [*versions]
        self.calls, self.wrong_from = 0, 1_000

    async def call(self, model: str, request: ModelRequest, *, side: Side) -> ModelReply:
        """Fulfil `ModelCalls.call`."""
        del model, side
        self.calls += 1
        own = self._versions
        version = own.pop(0) if len(own) > 1 else own[0]
        right = any("All right" in one.text for one in request.messages)
        good = right is (self.calls < self.wrong_from)
        text = verdict(0.9 if good else 0.1, "Get lost")
        return ModelReply(text=text, model=version, fingerprint=f"fp-{version}")


def calibration() -> Calibration:
    examples = [
        {"candidate_output": said, "human_score": score}
        for said, score in (("All right", 1.0), ("Get lost", 0.0)) * 5
    ]
    return Calibration.model_validate(
        {
            "name": "tone",
            "rubric": "Is it kind?",
            "judge_models": ["openai/gpt-5"],
            "examples": examples,
            "place": {"file": "tone.yaml", "line": 1},
            "path": "tone.yaml",
            "digest": "0" * 64,
        }
    )


def planned(versions: tuple[ModelVersion, ...]) -> Plan:
    """A plan of a judged Eval, and an agreement that an earlier run made with these versions."""
    plan = make(ROW).results.plan
    (one,) = plan.evals
    judged = one.fixtures[0].assertions[0].replace(type="judge", needs_judge=True)
    fixture = one.fixtures[0].replace(assertions=(judged,))
    one = one.replace(judge=SPEC, calibration=calibration(), fixtures=(fixture,))
    known = CalibrationReplay(
        calibration="tone",
        binding=binding_of(calibration(), SPEC, prompt=prompt_digest()),
        counts=Agreement(true_pass=20, true_fail=20),
        run="earlier",
        versions=versions,
        retest=Retest(asked=50, right=50, steady=(1,)),
    )
    return plan.replace(evals=(one,), agreements=(known,))


async def doubted(plan: Plan, judge: Judge) -> tuple[str, list[CalibrationReplay]]:
    made: list[CalibrationReplay] = []
    agreements = Agreements(plan, judge, keep=made.append)
    await judge.judge(rubric="Is it kind?", spec=SPEC, fixture_input=PROMPT, transcript=RUN)
    return await agreements.doubt(plan.evals[0]), made


MAY = ModelVersion(model="openai/gpt-5", version="gpt-5-may")
MET = "fp-gpt-5-may"
MANY = tuple(f"fp-{number:02}" for number in range(FINGERPRINTS))


@pytest.mark.parametrize(
    ("stored", "asked", "prints"),
    [
        ((), [10], None),  # of an earlier Gateval, which kept no versions
        ((MAY,), [10], ()),  # the provider named none
        ((MAY.replace(fingerprints=(MET, "old")),), [10], (MET, "old")),
        ((MAY.replace(fingerprints=("old",)),), [10, 20], (MET, "old")),
        ((MAY.replace(fingerprints=MANY),), [10], MANY),
        ((MAY.replace(version="gpt-5-april", fingerprints=(MET,)),), [], (MET,)),
    ],
)
def test_a_new_version_makes_an_agreement_stale_and_a_new_fingerprint_asks_more_canaries(
    stored: tuple[ModelVersion, ...], asked: list[int], prints: tuple[str, ...] | None
) -> None:
    calls = Versioned(["gpt-5-may"])
    doubt, made = asyncio.run(doubted(planned(stored), Judge(calls)))
    assert doubt == ""
    assert [one.watch.asked for one in made if one.watch] == asked
    assert calls.calls == 1 + (asked[-1] if asked else 10), "what is stale is measured again"
    assert bool(made[-1].examples) is not bool(asked)
    assert made[-1].versions == (() if prints is None else (MAY.replace(fingerprints=prints),))


def test_a_judge_that_fell_under_its_new_fingerprint_is_not_believed() -> None:
    """Ten right answers and ten wrong ones; one fingerprint more asks no third time."""
    calls = Versioned(["gpt-5-may"])
    plan = planned((MAY.replace(fingerprints=("old",)),))

    async def go() -> tuple[list[str], list[CalibrationReplay]]:
        made: list[CalibrationReplay] = []
        judge = Judge(calls)
        agreements = Agreements(plan, judge, keep=made.append)
        found = [await agreements.doubt(plan.evals[0]) for _ in range(3)]
        judge.seen.add("openai/gpt-5", ModelReply(text="", model="gpt-5-may", fingerprint="other"))
        return [*found, await agreements.doubt(plan.evals[0])], made

    calls.wrong_from = 11
    found, (first, second) = asyncio.run(go())
    assert first.watch is not None
    assert second.watch is not None
    assert (first.watch.fallen, second.watch.fallen) == (False, True)
    assert second.watch.asked == 20
    assert len({*found}) == 1
    assert "was now wrong about 10" in found[0]


def test_a_version_that_the_runs_own_replay_did_not_meet_is_not_believed() -> None:
    stored = (ModelVersion(model="openai/gpt-5", version="gpt-5-april"),)
    calls = Versioned(["gpt-5-june", "gpt-5-may"])
    doubt, _ = asyncio.run(doubted(planned(stored), Judge(calls)))
    assert doubt == (
        "openai/gpt-5 answers as gpt-5-june, and tone was replayed with another version"
    )


def test_versions_that_differ_between_head_and_base_are_said() -> None:
    def of(trial: Trial, version: str) -> Trial:
        judge = Judge(Versioned([version]))
        found = asyncio.run(
            judge.judge(rubric="Is it kind?", spec=SPEC, fixture_input=PROMPT, transcript=RUN)
        )
        assert found.verdict.fingerprint == f"fp-{version}"
        return trial.replace(assessments=(trial.assessments[0].replace(verdict=found.verdict),))

    base, head = sorted(make(ROW).results.trials, key=lambda one: one.key.side)
    assert not [*version_warnings([of(base, "gpt-5"), of(head, "gpt-5")])]
    (said,) = version_warnings([of(base, "gpt-5"), of(head, "gpt-5-may")])
    assert {"openai/gpt-5 answered as", "Name a version that stays."} <= {said[10:34], said[-26:]}
    sides = {base.key.side: "gpt-5", head.key.side: "gpt-5-may"}
    assert f"as {sides[Side.HEAD]} on head and as {sides[Side.BASE]} on base" in said


def test_a_fingerprint_is_read_where_the_format_has_one() -> None:
    body: JsonObject = {
        "choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}],
        "model": "gpt-5-may",
        "system_fingerprint": "fp_1",
    }
    reply = WIRE_FORMATS["openai-chat"].reply_in(body)
    assert (reply.model, reply.fingerprint) == ("gpt-5-may", "fp_1")
