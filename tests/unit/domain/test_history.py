"""Stored verdicts: bounded, checked when read, and never the reason for a pass."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateval.domain.audit import AuditRun
from gateval.domain.base import ascii_json
from gateval.domain.decision.decision import make_report
from gateval.domain.forge.check_run import CheckRun, Stamp
from gateval.domain.history.verdicts import (
    BYTES_KEPT,
    LISTED,
    RECORDS_KEPT,
    HistoryRecord,
    StoredReason,
    add_record,
    find_record,
    inputs_digest,
    outdated,
    overtaken,
    plan_digest,
    record_digest,
    record_of,
)
from gateval.domain.manifests.gate_config import policy_digest
from gateval.domain.planning.selection import Narrowing
from gateval.domain.results.results import Results
from gateval.domain.tree import Revision
from gateval.domain.verdicts import PRECEDENCE, GateVerdict, ReasonCode
from gateval.errors import RecordsError
from tests.helpers.hostile import ATTACK, hostile_results
from tests.helpers.reports import make_results

NOW = "2026-11-21T13:05:00Z"
RUN = AuditRun(id="4711", url="https://github.com/acme/shop/actions/runs/4711", actor="alice")


FAILING = "support-eval one base:pass head:fail"


def committed(results: Results) -> Results:
    """The same results on a commit."""
    commit = {"commit": "a" * 40, "worktree": False}
    head = results.plan.head.model_copy(update=commit)
    plan = results.plan.model_copy(update={"head": head, "base": head})
    return results.model_copy(update={"plan": plan})


def record(number: int = 1, **changes: object) -> HistoryRecord:
    made = record_of(make_report(committed(make_results(FAILING))), run=RUN, recorded_at=NOW)
    assert made is not None
    return made.model_copy(update={"head": f"{number:040x}", **changes})


def test_a_report_in_short() -> None:
    report = make_report(
        committed(make_results(f"{FAILING}\nsupport-eval two base:pass head:candidate"))
    )
    made = record_of(report, run=RUN, recorded_at=NOW)
    assert made is not None
    assert made.head == "a" * 40
    assert made.verdict is GateVerdict.FAIL
    assert made.regressions == ("support-eval/one", "support-eval/two")
    assert [reason.text for reason in made.reasons] == [r.text for r in report.decision.reasons]
    (stored,) = made.evals
    assert (stored.passed, stored.failed, stored.unmeasured) == (0, 2, 0)
    assert made.policy == policy_digest(report.results.plan.policy)
    assert made.plan == plan_digest(report.results.plan)
    assert made.trials == len(report.results.trials) == 8


def test_a_working_tree_has_no_commit_to_file_it_under() -> None:
    results = make_results(FAILING)
    head = results.plan.head.model_copy(update={"commit": None})
    plan = results.plan.model_copy(update={"head": head})
    report = make_report(results.model_copy(update={"plan": plan}))
    assert record_of(report, run=RUN, recorded_at=NOW) is None


def test_hostile_results_make_a_small_record_of_one_plain_line() -> None:
    report = make_report(committed(hostile_results(make_results(FAILING), ATTACK * 50)))
    made = record_of(report, run=RUN, recorded_at=NOW)
    if made is None:
        pytest.fail("no record")
    content = add_record(b"", made)
    assert content.count(b"\n") == 1
    assert content.decode("ascii").strip().isprintable()
    assert find_record(content, made.head) == made


def test_the_newest_record_of_a_head_takes_the_place_of_the_older() -> None:
    content = add_record(add_record(b"", record(1)), record(2))
    newer = record(1, verdict=GateVerdict.INCOMPLETE)
    content = add_record(content, newer)
    assert content.count(b"\n") == 2
    assert find_record(content, newer.head) == newer
    assert find_record(content, "f" * 40) is None


def test_the_oldest_go_when_there_are_too_many() -> None:
    content = b""
    lines = [ascii_json(record(n).model_dump(mode="json")) for n in range(RECORDS_KEPT + 20)]
    content = add_record("".join(f"{line}\n" for line in lines).encode(), record(9999))
    assert content.count(b"\n") == RECORDS_KEPT
    assert find_record(content, record(20).head) is None
    assert find_record(content, record(21).head) == record(21)
    assert find_record(content, record(9999).head) == record(9999)


def test_the_oldest_go_when_they_take_too_much_room() -> None:
    reason = StoredReason(verdict=GateVerdict.FAIL, code=ReasonCode.REGRESSION, text="😀" * 200)
    big = {"reasons": (reason,) * LISTED}
    content = b""
    for number in range(12):
        content = add_record(content, record(number, **big))
    assert len(content) <= BYTES_KEPT
    assert find_record(content, record(11).head) == record(11, **big)
    assert find_record(content, record(0).head) is None


@given(st.binary(max_size=300))
def test_whatever_stands_in_the_file_never_hides_our_record(garbage: bytes) -> None:
    content = add_record(garbage + b"\n", record(7))
    assert find_record(content, record(7).head) == record(7)
    assert find_record(content + garbage, record(7).head) is not None


def _scored(low: float | str) -> dict[str, object]:
    scored = {"eval": "e", "low": low, "high": 1, "threshold": 1}
    return {"evals": [{**scored, "passed": 1, "failed": 0, "unmeasured": 0}]}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"version": "history.v1"}, r'version "history.v1"; this Gateval reads history.v2'),
        ({"version": None}, "version null"),
        ({"surprise": 1}, "not as Gateval writes it: surprise"),
        ({"verdict": "bypassed-by-magic"}, "not as Gateval writes it: verdict"),
        (_scored("nan"), "not as Gateval writes it: evals.0.low"),
        (_scored("inf"), "not as Gateval writes it: evals.0.low"),
        (_scored(1.01), "not as Gateval writes it: evals.0.low"),
        ({"policy": "short"}, "not as Gateval writes it: policy"),
    ],
)
def test_a_record_that_is_not_ours_is_refused(changes: dict[str, object], said: str) -> None:
    body = record(3).model_dump(mode="json") | changes
    with pytest.raises(RecordsError, match=said):
        find_record(ascii_json(body).encode() + b"\n", record(3).head)


def test_records_of_another_version_are_kept_for_whoever_wrote_them() -> None:
    other = json.dumps({"version": "history.v9", "head": "9" * 40}).encode() + b"\n"
    assert other in add_record(other, record(1))


NOW_DIGESTS = {"head": record().head, "policy": record().policy, "plan": record().plan}


NOT_PASSED = [verdict for verdict in PRECEDENCE if verdict is not GateVerdict.PASS]


def check(conclusion: str, confirms: HistoryRecord | None = None) -> CheckRun:
    """A check run of ours; a completed one names the digest of what it confirms."""
    digest = record_digest(confirms) if confirms else ""
    return CheckRun(
        number=1,
        name="gateval",
        head_sha="a" * 40,
        external_id=str(Stamp(started=NOW, run=1, attempt=1, record=digest)),
        completed=conclusion != "in_progress",
        conclusion=conclusion,
    )


@pytest.mark.parametrize("verdict", NOT_PASSED)
@pytest.mark.parametrize("shown", ["failure", "success", "neutral"])
def test_a_verdict_that_a_check_run_confirms_may_be_restated(
    verdict: GateVerdict, shown: str
) -> None:
    found = record(verdict=verdict)
    assert outdated(found, **NOW_DIGESTS) is None
    assert overtaken(found, check(shown, found)) is None
    unconfirmed = "no check run of this gate confirms the stored verdict"
    assert overtaken(found, None) == unconfirmed
    assert overtaken(found, check(shown)) == unconfirmed
    assert overtaken(found, check(shown, record(verdict=verdict, trials=99))) == unconfirmed


@pytest.mark.parametrize("verdict", list(PRECEDENCE))
def test_nothing_is_restated_while_a_run_evaluates(verdict: GateVerdict) -> None:
    assert "another run" in (overtaken(record(verdict=verdict), check("in_progress")) or "")
    accepted = record(verdict=verdict, accepted="ada")
    assert "was accepted" in (overtaken(accepted, check("success", accepted)) or "")


@pytest.mark.parametrize("shown", ["failure", "neutral", "action_required", "cancelled"])
def test_a_stored_pass_makes_nothing_green(shown: str) -> None:
    passed = record(verdict=GateVerdict.PASS)
    why = overtaken(passed, check(shown, passed))
    assert why == "a pass is given by evals that ran, never by a stored verdict"
    assert overtaken(passed, check("success", passed)) is None


def test_no_record_says_that_it_was_bypassed() -> None:
    body = record().model_dump(mode="json") | {"verdict": "bypassed"}
    with pytest.raises(RecordsError, match="not as Gateval writes it: verdict"):
        find_record(ascii_json(body).encode() + b"\n", record().head)


@pytest.mark.parametrize(
    ("now", "why"),
    [
        ({"head": "9" * 40}, "about another commit"),
        ({"policy": "9" * 64}, "the policy has changed"),
        ({"plan": "9" * 64}, "what would run has changed"),
    ],
)
def test_when_the_evals_have_to_run(now: dict[str, str], why: str) -> None:
    said = outdated(record(), **(NOW_DIGESTS | now))
    assert said is not None
    assert why in said


def test_the_digest_of_a_plan_is_that_of_what_runs() -> None:
    plan = committed(make_results(FAILING)).plan
    head = plan.head
    renamed = plan.model_copy(update={"head": head.model_copy(update={"name": "refs/pull/1/head"})})
    moved = plan.model_copy(update={"base_tip": head, "policy_source": "elsewhere"})
    other = plan.model_copy(update={"head": head.model_copy(update={"tree": "9" * 40})})
    fewer = plan.model_copy(update={"only": ("one",)})
    assert plan_digest(renamed) == plan_digest(moved) == plan_digest(plan)
    assert len({plan_digest(plan), plan_digest(other), plan_digest(fewer)}) == 3


def test_another_commit_config_or_narrowing_is_another_input() -> None:
    def made(head: str = "a", base: str = "b", tip: str = "c", **more: str) -> str:
        named = {"config": ".github/gateval.yml", "gate": "", **more}
        head_side, base_side, tip_side = (
            Revision(name="x", commit=one * 40 or None, tree="e" * 40, worktree=not one)
            for one in (head, base, tip)
        )
        evals = tuple(named["gate"].split())
        return inputs_digest(
            head=head_side,
            base=base_side,
            base_tip=tip_side,
            config=named["config"],
            narrowing=Narrowing(evals=evals),
        )

    others = [made("d"), made(base="d"), made(tip="d"), made(config="x.yml"), made(gate="tone")]
    assert len({made(), *others}) == 6
    assert made(base="c", tip="b") != made(), "which is which counts"
    assert made("") == "", "a working tree has no commit that would name its content"
