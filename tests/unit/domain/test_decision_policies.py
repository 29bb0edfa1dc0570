"""What lets a reason inform and not block: a quarantine, a policy on judges, an accepted bar."""

from __future__ import annotations

from typing import Any

import pytest

from gateval.domain.decision.decision import make_report
from gateval.domain.decision.reasons import budget_reasons
from gateval.domain.label_decision import (
    AuditPerson,
    GateLabel,
    LabelDecision,
    LabelDecisions,
    LabelStatus,
    LabelUse,
)
from gateval.domain.manifests.evaluation import JudgeSpec
from gateval.domain.manifests.fixture import AssertionSpec
from gateval.domain.manifests.gate_config import (
    InconclusivePolicy,
    JudgePolicy,
    Policy,
    RegressionPolicy,
    UncalibratedPolicy,
)
from gateval.domain.plan.absent import Lacking
from gateval.domain.plan.plan import SkippedEval
from gateval.domain.plan.planned_eval import Bar, KnownRegression, Lowered, Quarantined
from gateval.domain.problems import SourceLocation
from gateval.domain.results.results import Results
from gateval.domain.trials.trial import AssessmentStatus, Cause, Outcome, Side, Trial
from gateval.domain.verdicts import GateVerdict, ReasonCode
from tests.helpers.assessments import make_assessment
from tests.helpers.reports import edit_fixture, edit_plan, make_results

FAIL, PASS = GateVerdict.FAIL, GateVerdict.PASS
INCOMPLETE, INCONCLUSIVE = GateVerdict.INCOMPLETE, GateVerdict.INCONCLUSIVE
WARNS = Policy(judge=JudgePolicy(uncalibrated=UncalibratedPolicy.WARN))

Said = list[tuple[GateVerdict, ReasonCode]]


def said(results: Results) -> Said:
    return [(one.verdict, one.code) for one in make_report(results).decision.reasons]


def edit_evals(results: Results, **fields: Any) -> Results:
    evals = tuple(one.model_copy(update=fields) for one in results.plan.evals)
    return edit_plan(results, evals=evals)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("a-eval f base:pass head:fail", [(PASS, ReasonCode.REGRESSION)]),
        ("a-eval f base:pass head:candidate", [(PASS, ReasonCode.NO_ANSWER)]),
        ("a-eval f base:pass head:provider", [(PASS, ReasonCode.PROVIDER_ERROR)]),
        ("a-eval f base:pass head:pass\na-eval g base:pass head:fail", [(FAIL, ReasonCode.REGRESSION)]),
    ],
)  # fmt: skip
def test_what_is_in_quarantine_informs_and_blocks_nothing(rows: str, expected: Said) -> None:
    apart = Quarantined(fixture="f", owner="ada", until="2026-12-01")
    results = edit_evals(make_results(rows, threshold=None), quarantined=(apart,))
    decision = make_report(results).decision
    assert said(results) == expected
    assert decision.verdict is expected[0][0]
    marked = "; in quarantine until 2026-12-01 (ada)" in decision.reasons[0].text
    assert marked == (decision.reasons[0].fixture == "f")


@pytest.mark.parametrize(
    ("base", "head", "counts"),
    [
        ((5, 5), (1, 4), "passed 5 of 5 before, 1 of 4 then; "),
        ((4, 5), (0, 1), "passed 4 of 5 before, 0 of 1 then; "),
        ((4, 5), (4, 5), ""),  # of scores nothing is kept
        ((1, 2), (3, 4), ""),
    ],
)
def test_what_an_earlier_run_found_stands(
    base: tuple[int, int], head: tuple[int, int], counts: str
) -> None:
    known = KnownRegression(
        fixture="f", found_at="3f2a", base_passes=base[0], base_trials=base[1],
        head_passes=head[0], head_trials=head[1],
    )  # fmt: skip
    results = edit_evals(
        make_results("a-eval f base:pass head:pass", threshold=None), standing=(known,)
    )
    report = make_report(results)
    (reason,) = report.decision.reasons
    found = "found at 3f2a, and a new run does not take it back"
    assert (reason.verdict, reason.text) == (FAIL, f"f regressed: {counts}{found}")
    (fixture,) = report.comparison.evals[0].fixtures
    assert fixture.base_all is not None
    assert (fixture.base_all.passes, fixture.base_all.trials) == base
    assert (fixture.head_all.passes, fixture.head_all.trials) == head


UNCOUNTED = make_assessment(
    index=1, type="rubric", status=AssessmentStatus.ERROR, reason="No.", cause=Cause.UNCALIBRATED
)


def judged(rows: str, policy: Policy, **judge: Any) -> Results:
    """The rows with a judge beside each check whose word is not counted in any trial."""
    made = make_results(rows, threshold=None, policy=policy)
    spec = JudgeSpec(model="openai/gpt-x", **judge)
    made = edit_evals(made, judge=spec)
    place = SourceLocation(file="evals/f.yaml", line=9)
    check = AssertionSpec(type="contains", place=place)
    rubric = AssertionSpec(type="rubric", place=place, needs_judge=True)
    return edit_fixture(made, "f", assertions=(check, rubric))


def unheard(trial: Trial) -> Trial:
    return trial.model_copy(update={"assessments": (*trial.assessments, UNCOUNTED)})


def unheard_once(trial: Trial) -> Trial:
    first = (trial.key.side, trial.key.repetition) == (Side.HEAD, 1)
    return unheard(trial) if first else trial


def only_judged(trial: Trial) -> Trial:
    fields = {"outcome": Outcome.ERROR, "cause": Cause.UNCALIBRATED, "assessments": (UNCOUNTED,)}
    return trial.model_copy(update=fields)


@pytest.mark.parametrize(
    ("policy", "made", "expected"),
    [
        (Policy(), unheard, INCONCLUSIVE),
        (WARNS, unheard, PASS),
        (Policy(), unheard_once, INCONCLUSIVE),
        (Policy(), only_judged, INCONCLUSIVE),
        (WARNS, only_judged, INCONCLUSIVE),
    ],
)
@pytest.mark.parametrize("asked", [{"calibration": "people"}, {"min_agreement": 0.7}], ids=str)
def test_a_judge_that_is_not_calibrated_decides_nothing(
    policy: Policy, made: Any, expected: GateVerdict, asked: dict[str, Any]
) -> None:
    results = judged("a-eval f base:pass head:pass", policy, **asked)
    results = results.model_copy(update={"trials": tuple(map(made, results.trials))})
    decision = make_report(results).decision
    assert said(results) == [(expected, ReasonCode.UNCALIBRATED_JUDGE)]
    alone = "There is no other assertion that decides here." in decision.reasons[0].text
    assert alone == (policy is WARNS and made is only_judged)


TEN = f"base:{','.join(['pass'] * 10)} head:{','.join(['pass'] * 8)},"


@pytest.mark.parametrize(
    ("lost", "threshold", "expected"),
    [
        ("judge,judge", 0.8, []),
        ("judge,judge", 0.9, [(INCONCLUSIVE, ReasonCode.GATE_ERROR)]),
        ("provider,judge", 0.9, [(INCONCLUSIVE, ReasonCode.GATE_ERROR)]),
        ("pass,judge", 0.9, []),
        ("fail,judge", 0.9, [(INCONCLUSIVE, ReasonCode.GATE_ERROR)]),
    ],
)
@pytest.mark.parametrize(
    "policy", [Policy(), Policy(inconclusive=InconclusivePolicy.WARN)], ids="bl"
)
def test_a_score_that_may_lie_on_either_side_of_its_threshold_is_no_pass(
    lost: str, threshold: float, expected: Said, policy: Policy
) -> None:
    """So many lost trials are no reason by themselves."""
    results = make_results(
        f"a-eval f {TEN}{lost}", threshold=threshold, policy=policy, deterministic=False
    )
    assert said(results) == expected


@pytest.mark.parametrize("status", list(LabelStatus))
def test_a_lower_bar_binds_until_somebody_accepts_it(status: LabelStatus) -> None:
    lost = Lowered(place=SourceLocation(file="evals/a.yaml", line=3), what="Eval b-eval removed")
    results = edit_plan(make_results("a-eval f base:pass head:pass"), lost=(lost,))
    use = LabelUse(name=GateLabel.ACCEPT_BAR, by=AuditPerson(login="ada", role="admin"))
    label_decision = LabelDecision(label=GateLabel.ACCEPT_BAR, status=status, use=use)
    report = make_report(results, LabelDecisions(found=(label_decision,)))
    accepted = status is LabelStatus.GRANTED
    (reason,) = report.decision.reasons
    assert reason.code is ReasonCode.LOWERED_BAR
    assert reason.verdict is report.decision.verdict is (PASS if accepted else FAIL)
    by = f"ada (admin) with the label {GateLabel.ACCEPT_BAR}"
    assert report.results.plan.bar_accepted == (by if accepted else "")
    assert reason.text.endswith(f"; accepted by {by}") is accepted


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        (
            {"lacking": (Lacking(path="lib", commit="1" * 40, of="Agent a", where="head"),)},
            ReasonCode.LACKING_CONTENT,
        ),
        ({"rules_unread": "The rules cannot be read."}, ReasonCode.RULES_UNREADABLE),
        ({"budget_spent": "The budget is spent."}, ReasonCode.BUDGET),
        ({"findings_lost": "What was found is lost."}, ReasonCode.FINDINGS_LOST),
        ({"locked": ("evals/a.yaml.age",)}, ReasonCode.SEALED),
        ({"unclaimed": ("src/new.py",)}, ReasonCode.UNCLAIMED_FILE),
        (
            {"left_out": (SkippedEval(name="b-eval", fixtures=2),)},
            ReasonCode.LEFT_OUT,
        ),
        ({"fresh": "Asked for by ada."}, ReasonCode.FRESH),
    ],
)
@pytest.mark.parametrize("accepted", ["", "ada"])
def test_what_keeps_a_run_from_being_whole(
    fields: dict[str, Any], code: ReasonCode, accepted: str
) -> None:
    """Nobody can accept that: it is no lower bar."""
    results = edit_plan(
        make_results("a-eval f base:pass head:pass"), bar_accepted=accepted, **fields
    )
    verdict = PASS if code is ReasonCode.FRESH else INCOMPLETE
    assert said(results) == [(verdict, code)]
    assert make_report(results).decision.verdict is verdict


def test_a_run_that_its_budget_ended_is_incomplete() -> None:
    results = make_results("a-eval f base:pass head:pass")
    info = results.info.model_copy(update={"over_budget": "1,000 calls are made."})
    found = results.model_copy(update={"info": info})
    assert said(found) == [(INCOMPLETE, ReasonCode.BUDGET)]


@pytest.mark.parametrize(
    ("apart", "expected"),
    [
        ((), [(INCONCLUSIVE, ReasonCode.UNANSWERED)]),
        (("f",), [(INCONCLUSIVE, ReasonCode.UNANSWERED)]),
        (("f", "g"), []),
    ],
)
def test_silence_of_what_is_in_quarantine_alone_is_none(
    apart: tuple[str, ...], expected: Said
) -> None:
    rows = "a-eval f base:candidate head:candidate\na-eval g base:candidate head:candidate"
    quarantined = tuple(Quarantined(fixture=f, owner="ada", until="2026-12-01") for f in apart)
    results = edit_evals(make_results(rows, threshold=None), quarantined=quarantined)
    codes = {ReasonCode.UNANSWERED}
    assert [one for one in said(results) if one[1] in codes] == expected


@pytest.mark.parametrize(
    ("rows", "threshold", "expected"),
    [
        ("base:pass head:fail", None, [(FAIL, ReasonCode.LOWERED_BAR)]),
        ("base:pass head:fail", 0.0, [(FAIL, ReasonCode.REGRESSION)]),
        ("base:pass head:provider", None, [(INCONCLUSIVE, ReasonCode.PROVIDER_ERROR)]),
        ("base:pass head:candidate", None, [(FAIL, ReasonCode.NO_ANSWER)]),
        ("base:new head:fail", 1.0, [(FAIL, ReasonCode.LOWERED_BAR)]),
    ],
)
def test_what_misses_the_base_tips_bar(rows: str, threshold: float | None, expected: Said) -> None:
    mark = Bar(eval="a-eval", lowered=(Lowered(place=SourceLocation(file="a.yaml"), what="it"),))
    results = edit_evals(make_results(f"a-eval.base-tip f {rows}", threshold=threshold), bar=mark)
    assert said(results) == expected
    accepted = edit_plan(results, bar_accepted="ada")
    assert said(accepted) == [(PASS, code) for _, code in expected]


@pytest.mark.parametrize(
    ("regressions", "blocked"),
    [(RegressionPolicy.BLOCK, True), (RegressionPolicy.WARN, False), (RegressionPolicy.OFF, False)],
)
@pytest.mark.parametrize("regressed", [False, True])
def test_what_the_budget_left_unsettled_is_incomplete(
    regressions: RegressionPolicy, *, blocked: bool, regressed: bool
) -> None:
    rows = (
        f"a-eval f base:pass head:{'fail' if regressed else 'pass'}\na-eval g base:pass head:pass"
    )
    policy = Policy(regressions=regressions)
    results = make_results(rows, threshold=None, policy=policy)
    (compared,) = make_report(results).comparison.evals
    cut = compared.model_copy(update={"cut": True})
    (planned,) = results.plan.evals
    found = [one.code for one in budget_reasons(planned, cut, policy)]
    assert found == [ReasonCode.BUDGET] * (blocked and not regressed)
    one_cut = compared.fixtures[1].model_copy(update={"cut": True})
    cut = compared.model_copy(update={"fixtures": (compared.fixtures[0], one_cut)})
    reasons = list(budget_reasons(planned, cut, policy))
    assert [one.fixture for one in reasons] == ["g"] * blocked
    assert all(one.verdict is INCOMPLETE for one in reasons)
