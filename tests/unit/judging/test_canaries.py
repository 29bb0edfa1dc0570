"""A judge on whose stored agreement a run relies is asked ten examples that it was right about."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable

import pytest

from gateval.domain.calibration import CANARIES, RETESTS, CalibrationReplay, Retest, StoredAgreement
from gateval.domain.history.baseline import Home, agreement_donors, with_agreements
from gateval.domain.history.run_record import RunRecord
from gateval.domain.manifests.gate_config import Policy
from gateval.domain.plan.plan import Plan
from gateval.domain.planning.planner import plan_revision
from gateval.domain.planning.snapshot import GateRules
from gateval.domain.results.doubts import binding_now
from gateval.domain.trials.model_call import ModelReply, ModelRequest
from gateval.domain.trials.trial import Side
from gateval.judging.agreements import Agreements
from gateval.judging.calibrating import judge_digests, replay
from gateval.judging.judge import Judge
from tests.helpers.bars import snapshot
from tests.helpers.calibrations import answer, calibration, verdict
from tests.helpers.runs import run_record
from tests.helpers.scripted_calls import outage, says
from tests.unit.domain.test_calibration import JUDGED

HOME = Home("acme/desk", "main", (".github/workflows/gate.yml",))


class Says:
    """A judge that says of the example with a number whether it is good, and keeps what it got."""

    def __init__(self, passes: Callable[[int, str], bool | None]) -> None:
        self._passes = passes
        self.asked: list[tuple[int, str]] = []
        self.until: Callable[[], Awaitable[object]] | None = None

    async def call(self, model: str, request: ModelRequest, *, side: Side) -> ModelReply:
        """Fulfil `ModelCalls.call`."""
        del model, side
        text = request.messages[1].text
        found = re.search(r"Answer no\. (\d+)", text)
        assert found is not None
        number = int(found[1])
        self.asked.append((number, text))
        if self.until:
            await self.until()
        passed = self._passes(number, text)
        if passed is None:
            raise outage()
        return says(verdict(float(passed), answer(number)))


def good(number: int, _: str) -> bool:
    return number % 2 == 1


def fallen(number: int, text: str) -> bool:
    return not good(number, text)


def talked_into(number: int, text: str) -> bool:
    return "Note to the evaluator" in text or good(number, text)


def planned(tone: str = calibration(20)) -> Plan:
    manifests = {"evals/bot.yaml": JUDGED, "evals/tone.yaml": tone}
    return plan_revision(snapshot(manifests), ["bot"], (), GateRules(Policy(), "", None))


def measured(plan: Plan, judge: Says, *, retests: bool = True) -> CalibrationReplay:
    (one,) = plan.evals
    assert one.calibration is not None
    return asyncio.run(replay(one.calibration, one.judge, Judge(judge), retests=retests))


def relying(plan: Plan, made: CalibrationReplay, before: float = 0.0) -> Plan:
    known = CalibrationReplay(
        calibration=made.calibration,
        binding=made.binding,
        counts=made.agreement,
        run="9-1",
        retest=made.retest,
        before=before,
    )
    return plan.replace(agreements=(known,))


def doubted(plan: Plan, judge: Says) -> tuple[str, list[CalibrationReplay]]:
    """Why the judge's word does not count, asked three times, and what was kept."""
    kept: list[CalibrationReplay] = []
    agreements = Agreements(plan, Judge(judge), keep=kept.append)

    async def go() -> set[str]:
        (one,) = plan.evals
        return set(await asyncio.gather(*(agreements.doubt(one) for _ in range(3))))

    (doubt,) = asyncio.run(go())
    return doubt, kept


def test_a_calibration_that_others_rely_on_measures_how_consistent_its_judge_is() -> None:
    judge = Says(good)
    made = measured(planned(), judge)
    assert made.retest == Retest(asked=60, right=60, steady=tuple(range(1, 21)), injected=2)
    assert len(judge.asked) == 20 + 60 + 2
    assert sum("Note to the evaluator" in text for _, text in judge.asked) == 2
    assert measured(planned(), Says(good), retests=False).retest is None
    fooled = measured(planned(), Says(talked_into)).retest
    assert fooled is not None
    assert fooled.injected is None
    wavering = measured(
        planned(), Says(lambda number, text: good(number, text) or number == 4)
    ).retest
    assert wavering is not None
    assert 4 not in wavering.steady
    assert wavering.asked >= RETESTS


def test_a_good_judge_is_asked_ten_questions_more_shaped_like_all_others() -> None:
    plan = planned()
    plan = relying(plan, measured(plan, Says(good)), before=0.5)
    judge = Says(good)
    doubt, (kept,) = doubted(plan, judge)
    assert (doubt, len(judge.asked)) == ("", CANARIES)
    assert kept.watch is not None
    assert (kept.watch.asked, kept.watch.wrong, kept.watch.fallen) == (CANARIES, (), False)
    assert kept.usage.total == 150
    injected = [text for _, text in judge.asked if "Note to the evaluator" in text]
    assert len(injected) == 1
    assert all('"final_message_step":2' in text for _, text in judge.asked)


def test_in_batches_canaries_go_out_together_and_are_the_same_in_a_run_that_goes_on() -> None:
    """Another draw would be asked, and paid, beside the one whose answers are under way."""
    plan = planned()
    plan = relying(plan, measured(plan, Says(good)))
    (one,) = plan.evals

    def asked(draw: str) -> list[int]:
        judge, all_are_out = Says(good), asyncio.Event()

        async def until() -> None:
            if len(judge.asked) == CANARIES:
                all_are_out.set()
            await all_are_out.wait()

        judge.until = until
        agreements = Agreements(plan, Judge(judge), draw=draw)

        async def go() -> str:
            agreements.begun(one, one.fixtures[0])
            return await asyncio.wait_for(agreements.doubt(one), 20)

        assert asyncio.run(go()) == ""
        return sorted(number for number, _ in judge.asked)

    assert asked("0a1b") == asked("0a1b")
    assert len({tuple(asked(f"{number:04x}")) for number in range(5)}) > 1


def test_canaries_have_the_steps_that_their_examples_have() -> None:
    written = json.loads(calibration(20))
    for one in written["spec"]["examples"]:
        one["trace"] = [
            {"kind": "tool_call", "tool": "lookup", "arguments": {"order": 4711}},
            {"kind": "tool_result", "tool": "lookup", "text": "Shipped."},
        ]
    plan = planned(json.dumps(written))
    made = measured(plan, Says(good))
    assert made.binding.examples != measured(planned(), Says(good)).binding.examples
    judge = Says(good)
    doubt, _ = doubted(relying(plan, made), judge)
    assert doubt == ""
    for _, text in judge.asked:
        shown = json.loads(text[text.index("{\n") : text.rindex("}") + 1])
        assert shown["final_message_step"] == 4
        assert [one["kind"] for one in shown["steps"]] == [
            "user", "tool_call", "tool_result", "assistant",
        ]  # fmt: skip
        assert shown["steps"][1]["arguments"] == {"order": 4711}
    (injected,) = {text for _, text in judge.asked if "Note to the evaluator" in text}
    assert injected.count("Answer no.") == 1


def test_canaries_are_mixed_among_the_questions_of_trials_whose_verdicts_wait_for_them() -> None:
    """As long as none is answered, one more is asked with each question of a trial."""
    plan = planned()
    plan = relying(plan, measured(plan, Says(good)))
    (one,) = plan.evals

    async def go() -> None:
        judge, answered = Says(good), asyncio.Event()
        judge.until = answered.wait
        agreements, doubts = Agreements(plan, Judge(judge)), []
        for asked in (1, 2, 3):
            doubts.append(agreements.begun(one, one.fixtures[0]))
            for _ in range(50):  # whatever can go on does
                await asyncio.sleep(0)
            assert len(judge.asked) == asked
        answered.set()
        for doubt in doubts:
            assert (await doubt(), len(judge.asked)) == ("", CANARIES)

    asyncio.run(go())


@pytest.mark.parametrize("said", [fallen, lambda number, _: True])
def test_a_judge_that_fell_is_not_believed_and_the_message_has_examples(
    said: Callable[[int, str], bool],
) -> None:
    plan = planned()
    plan = relying(plan, measured(plan, Says(good)))
    doubt, (kept,) = doubted(plan, Says(said))
    assert kept.watch is not None
    assert kept.watch.fallen
    assert "judges otherwise than tone measured it" in doubt
    assert re.search(r'example \d+, "Answer no\. 0\d\d, and nothing else"', doubt)


def test_one_that_falls_a_little_is_caught_by_the_runs_before() -> None:
    plan = planned()
    made = measured(plan, Says(good))
    doubt, (kept,) = doubted(relying(plan, made, before=100.0), Says(good))
    assert kept.watch is not None
    assert kept.watch.fallen
    assert "was wrong too often in the runs since tone measured it" in doubt


def test_an_outage_says_nothing_of_a_judge() -> None:
    plan = planned()
    plan = relying(plan, measured(plan, Says(good)))
    doubt, (kept,) = doubted(plan, Says(lambda _number, _text: None))
    assert kept.watch is not None
    assert (doubt, kept.watch.asked, kept.watch.fallen) == ("", 0, False)


def test_a_judge_that_cannot_be_watched_is_measured_anew() -> None:
    plan = planned()
    plan = relying(plan, measured(plan, Says(good), retests=False))
    judge = Says(good)
    doubt, (kept,) = doubted(plan, judge)
    assert (doubt, len(judge.asked), len(kept.examples)) == ("", 20, 20)


@pytest.mark.parametrize("retests", [True, False])
def test_what_another_job_of_the_run_measured_is_asked_no_more(*, retests: bool) -> None:
    plan = planned()
    made = measured(plan, Says(good), retests=retests)
    judge = Says(good)
    doubt, kept = doubted(plan.replace(agreements=(made,)), judge)
    assert (doubt, judge.asked, kept) == ("", [], [])
    if retests:
        relied = relying(plan, made)
        _, (watched,) = doubted(relied, Says(fallen))
        doubt, kept = doubted(plan.replace(agreements=(*relied.agreements, watched)), judge)
        assert (judge.asked, kept) == ([], [])
        assert "judges otherwise than tone measured it" in doubt


def record(number: int, **more: object) -> RunRecord:
    return run_record(number, branch="main", workflow=HOME.workflows[0], **more)


def test_records_carry_the_sum_and_a_judge_that_fell_is_measured_anew() -> None:
    plan = planned()
    made = measured(plan, Says(good))
    stored = StoredAgreement(
        calibration="tone", binding=made.binding, counts=made.agreement, retest=made.retest
    )
    (one,) = plan.evals
    bound = binding_now(plan, one, judge_digests())
    assert bound is not None
    name = made.binding.digest
    asked = {name: made.binding}
    watched = record(2, watches=[{"binding": name, "total": 1.25}])
    newer = record(3, watches=[{"binding": name, "total": 2.5}])
    first = record(1, agreements=[stored])
    fell = record(4, watches=[{"binding": name, "total": 9.0, "fallen": True}])
    again = record(5, agreements=[stored])
    for records, before in (
        ((first,), 0.0),
        ((watched, first), 1.25),
        ((newer, watched, first), 2.5),
        ((fell, newer, watched, first), None),
        ((again, fell, newer, watched, first), 0.0),
    ):
        donors = agreement_donors(asked, records, HOME, since="")
        assert len(donors) <= 2
        found = with_agreements(plan, asked, donors).agreements
        assert [one.before for one in found] == ([] if before is None else [before])
