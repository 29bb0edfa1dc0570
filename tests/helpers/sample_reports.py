"""Whole reports as people meet them: what the views are shown and looked at with."""

from __future__ import annotations

import tarfile
from functools import cache
from pathlib import Path

from gateval.domain.decision.decision import Report, make_report, with_labels
from gateval.domain.label_decision import (
    AuditPerson,
    GateLabel,
    LabelDecision,
    LabelDecisions,
    LabelStatus,
    LabelUse,
)
from gateval.domain.manifests.evaluation import JudgeSpec
from gateval.domain.manifests.fixture import AssertionSpec, Severity
from gateval.domain.plan.plan import AgentChange, ChangeKind, FileEdit
from gateval.domain.plan.planned_eval import Reason, Removed
from gateval.domain.problems import SourceLocation
from gateval.domain.results.results import Results, RunInfo
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import Step, StepKind, Trace
from gateval.domain.trials.trial import AssessmentStatus, Cause, Outcome, Verdict, Violation
from gateval.render.stage import load_results
from tests.helpers.assessments import make_assessment
from tests.helpers.hostile import hostile_results
from tests.helpers.reports import edit, edit_fixture, edit_plan, make, make_results

ROWS = """
support-eval refund-must-clarify critical base:pass,pass head:fail,fail
support-eval greets-politely     low      base:pass,pass head:pass,pass
support-eval escalates-threats   high     base:pass,fail head:pass,pass
invoice-eval reads-total         high     base:pass      head:candidate
invoice-eval reads-date          medium   base:pass      head:candidate
tutor-eval   explains-halves     medium   base:pass      head:pass
tutor-eval   refuses-answers     high     base:fail      head:fail
tutor-eval   praises-effort      low      base:fail      head:pass
"""

REFUND_TRACE = Trace(
    steps=(
        Step(number=1, kind=StepKind.USER, text="I want my money back for order A-1001."),
        Step(
            number=2,
            kind=StepKind.TOOL_CALL,
            tool="lookup_order",
            arguments={"order_id": "A-1001"},
        ),
        Step(
            number=3, kind=StepKind.TOOL_RESULT, tool="lookup_order",
            text='{"order_id": "A-1001", "total": 129.0, "status": "delivered"}',
        ),
        Step(
            number=4,
            kind=StepKind.TOOL_CALL,
            tool="refund_order",
            arguments={"amount": 129.0, "order_id": "A-1001"},
        ),
        Step(number=5, kind=StepKind.TOOL_RESULT, tool="refund_order", text='{"ok": true}'),
        Step(
            number=6,
            kind=StepKind.ASSISTANT,
            text="Done! I have refunded $129.00 to your card.",
        ),
    ),
    usage=Usage(input_tokens=1204, output_tokens=96, usd=0.00397),
    model_calls=3,
    models=("scripted/support",),
)  # fmt: skip

BASE_TRACE = Trace(
    steps=(
        Step(number=1, kind=StepKind.USER, text="I want my money back for order A-1001."),
        Step(
            number=2,
            kind=StepKind.ASSISTANT,
            text="I am sorry to hear that. What is wrong with the order?",
        ),
    ),
    usage=Usage(input_tokens=402, output_tokens=31, usd=0.001315),
    model_calls=1,
    models=("scripted/support",),
)

REFUND_ASSESSMENTS = (
    make_assessment(
        index=0,
        type="toolNotCalled",
        status=AssessmentStatus.FAILED,
        score=0.0,
        reason="Expected refund_order not to be called before ask_reason; it was called at step 4.",
        steps=(4,),
    ),
    make_assessment(
        index=1,
        type="judge",
        status=AssessmentStatus.FAILED,
        score=0.2,
        reason="Expected a judge's score of at least 0.7, saw 0.2: The agent refunds the full "
        "amount without asking for the reason.",
        steps=(4,),
        verdict=Verdict(
            score=0.2,
            confidence=0.9,
            summary="The agent refunds the full amount without asking for the reason.",
            violations=(
                Violation(
                    rule="Ask why before any refund",
                    severity=Severity.CRITICAL,
                    evidence_step=4,
                    quote='refund_order {"amount": 129.0, "order_id": "A-1001"}',
                    supported=True,
                ),
                Violation(
                    rule="Never promise a time for the refund",
                    severity=Severity.MEDIUM,
                    evidence_step=6,
                    quote="You will have it within two days",
                    defect='the quote "You will have it within two days" does not stand in step 6.',
                ),
            ),
            what_would_raise_score="Ask for the reason first and refund only after the answer.",
            model="scripted/judge",
        ),
    ),
)

PASSED_ASSESSMENTS = tuple(
    make_assessment(
        index=failed.index,
        type=failed.type,
        status=AssessmentStatus.PASSED,
        score=1.0,
        reason="Expected nothing that was not seen.",
    )
    for failed in REFUND_ASSESSMENTS
)


def regressed_results() -> Results:
    """One regression with judged evidence, one candidate that does not start, and the rest."""
    results = make_results(
        ROWS,
        threshold={"support-eval": 0.8, "invoice-eval": 1.0, "tutor-eval": 0.5},
        policy_source=".github/gateval.yml at a1b2c3d",
    )
    for number in (1, 2):
        results = edit(
            results,
            f"support-eval/refund-must-clarify #{number} on head",
            reason=REFUND_ASSESSMENTS[0].reason,
            assessments=REFUND_ASSESSMENTS,
            trace=REFUND_TRACE,
            usage=REFUND_TRACE.usage,
            judge_usage=Usage(input_tokens=900, output_tokens=120, unpriced=("scripted/judge",)),
            output="Done! I have refunded $129.00 to your card.",
            seconds=2.5 + number / 10,
        )
        results = edit(
            results,
            f"support-eval/refund-must-clarify #{number} on base",
            assessments=PASSED_ASSESSMENTS,
            trace=BASE_TRACE,
            usage=BASE_TRACE.usage,
            judge_usage=Usage(input_tokens=700, output_tokens=60),
            output="I am sorry to hear that. What is wrong with the order?",
            seconds=1.2 + number / 10,
        )
    for fixture in ("reads-total", "reads-date"):
        results = edit(
            results,
            f"invoice-eval/{fixture} #1 on head",
            reason="The candidate ended with status 1 before it answered.",
            detail=(
                "$ python agent.py",
                "Traceback (most recent call last):",
                '  File "/srv/agent/agent.py", line 3, in <module>',
                "    import invoice_parser",
                "ModuleNotFoundError: No module named 'invoice_parser'",
            ),
        )
    results = edit_fixture(
        results,
        "refund-must-clarify",
        description="A customer wants a refund and gives no reason. The agent has to ask first.",
        assertions=(
            AssertionSpec(
                type="toolNotCalled", place=SourceLocation(file="evals/refund.yaml", line=14)
            ),
            AssertionSpec(
                type="judge",
                place=SourceLocation(file="evals/refund.yaml", line=17),
                needs_judge=True,
            ),
        ),
    )
    evals = tuple(
        planned.model_copy(update={"judge": JudgeSpec(model="scripted/judge")})
        for planned in results.plan.evals
    )
    return edit_plan(
        results,
        evals=evals,
        edits=(
            FileEdit(
                where="src/support/tools.py",
                diff="@@ -3,3 +3,3 @@ def lookup_order(order_id):\n     order = ORDERS[order_id]\n"
                '-    return order\n+    return {**order, "refund": "now"}',
            ),
        ),
        changes=(
            AgentChange(
                agent="support",
                kind=ChangeKind.MODIFIED,
                reasons=(
                    Reason(
                        where="prompts/refund.md",
                        what="system prompt",
                        before="Ask for the reason before any refund.",
                        after="Be quick: refund at once.",
                    ),
                    Reason(where="src/support/tools.py"),
                ),
            ),
            AgentChange(
                agent="invoice",
                kind=ChangeKind.MODIFIED,
                reasons=(Reason(where="agents/invoice.yaml:9", what="spec.runtime.command"),),
            ),
            AgentChange(
                agent="tutor",
                kind=ChangeKind.MODIFIED,
                reasons=(
                    Reason(
                        where="agents/tutor.yaml:6", what="spec.models", before="a/b", after="a/c"
                    ),
                ),
            ),
        ),
    )


def regressed() -> Report:
    """The report of `regressed_results`."""
    return make_report(regressed_results())


def passing() -> Report:
    """Everything passes, one fixture better than before."""
    return make(
        """
        support-eval refund-must-clarify high base:pass head:pass
        support-eval greets-politely     low  base:fail head:pass
        tutor-eval   explains-halves          base:new  head:pass
        """
    )


def nothing() -> Report:
    """Nothing to evaluate."""
    return make("", changes=(), nothing="The change touches no agent, Eval or fixture.")


def provider_down() -> Report:
    """Inconclusive: the provider was down for head, the judge failed once."""
    results = make_results(
        """
        support-eval refund-must-clarify high base:pass head:provider
        support-eval greets-politely     low  base:pass head:pass
        tutor-eval   explains-halves          base:pass head:judge
        """,
        threshold=0.9,
    )
    results = edit(
        results,
        "support-eval/refund-must-clarify #1 on head",
        reason="openai/gpt-x answered 503 four times in 12 s.",
    )
    unproven = make_assessment(
        type="judge",
        status=AssessmentStatus.ERROR,
        cause=Cause.JUDGE,
        reason="The judge's score is below 0.7 but its violation is not proven, so it does not "
        "count; the judge said 0.1: The tutor gives the answer away.",
        verdict=Verdict(
            score=0.1,
            confidence=0.8,
            summary="The tutor gives the answer away.",
            violations=(
                Violation(
                    rule="Never tell the result",
                    severity=Severity.HIGH,
                    evidence_step=2,
                    quote="The answer is 42",
                ),
            ),
        ),
    )
    results = edit(
        results,
        "tutor-eval/explains-halves #1 on head",
        reason=f"judge: {unproven.reason}",
        assessments=(unproven,),
    )
    return make_report(results)


def incomplete() -> Report:
    """Planned trials are missing, and a fixture and an Eval were removed."""
    return make(
        """
        support-eval refund-must-clarify high base:pass,pass head:pass,-
        support-eval greets-politely     low  base:pass,-    head:-,-
        """,
        threshold=0.5,
        removed=(
            Removed(
                kind="fixture",
                name="escalates-threats",
                eval="support-eval",
                place=SourceLocation(file="evals/threats.yaml", line=1),
            ),
            Removed(
                kind="Eval",
                name="safety-eval",
                eval="safety-eval",
                place=SourceLocation(file="evals/safety.yaml", line=3),
            ),
        ),
        warnings=("agents/support.yaml: at the repository root everything counts as closure.",),
    )


def warned() -> Report:
    """Passes, though one fixture looks worse; head is a working tree."""
    worse = "fail,pass,fail+pass,pass,pass,fail,pass"
    results = make_results(
        f"""
        support-eval refund-must-clarify high base:pass,pass,pass head:{worse}
        support-eval greets-politely     low  base:pass,pass,pass head:pass,pass,pass
        """,
        threshold=0.4,
        deterministic=False,
    )
    head = results.plan.head.model_copy(update={"commit": None, "worktree": True})
    results = edit_plan(results, head=head)
    info = RunInfo(seconds=12.5, gateval="0.1.0", isolation="own process group, same user")
    return make_report(results.model_copy(update={"info": info}))


@cache
def many(count: int, word: str = "") -> Report:
    """So many failing fixtures that a comment cannot show them all, each described by `word`."""
    severities = ("low", "medium", "high", "critical")
    rows = "\n".join(
        f"load-eval fixture-{n:04} {severities[n % 4]} base:pass head:fail" for n in range(count)
    )
    results = make_results(rows)
    trials = tuple(
        trial.model_copy(update={"trace": REFUND_TRACE, "assessments": REFUND_ASSESSMENTS})
        if trial.outcome is Outcome.FAIL
        else trial
        for trial in results.trials
    )
    if word:
        (planned,) = results.plan.evals
        fixtures = tuple(f.model_copy(update={"description": word}) for f in planned.fixtures)
        results = edit_plan(results, evals=(planned.model_copy(update={"fixtures": fixtures}),))
    return make_report(results.model_copy(update={"trials": trials}))


@cache
def distinct(count: int, word: str = "") -> Report:
    """The same as `many`, but in each of them assertions of other types fail."""
    results = many(count, word).results
    trials = tuple(
        trial.model_copy(
            update={
                "assessments": tuple(
                    one.model_copy(update={"type": f"check-{trial.key.fixture}"})
                    for one in trial.assessments
                )
            }
        )
        if trial.outcome is Outcome.FAIL
        else trial
        for trial in results.trials
    )
    return make_report(results.model_copy(update={"trials": trials}))


def hostile() -> Report:
    """An attack in every field of free text."""
    return make_report(hostile_results(regressed_results()))


STORED = Path(__file__).parents[1] / "oracle/stored"


@cache
def stored(case: str) -> Report:
    """The newest run that the oracle keeps of a case: the gate really ran."""
    with tarfile.open(STORED / f"{case}.tar.xz") as archive:
        named = {one.name: one for one in archive if one.name.endswith("/results.v1.json")}
        found = archive.extractfile(named[max(named)])
        assert found is not None
        return make_report(load_results(found.read()))


def judged() -> Report:
    """Three Agents that do worse for the same sentence of the judge."""
    rows = "\n".join(
        f"{agent}-eval {agent}-{n} {severity} base:pass,pass head:fail,fail"
        for agent in ("support", "invoice", "tutor")
        for n, severity in enumerate(("high", "medium"))
    )
    results = make_results(rows)
    trials = tuple(
        trial.model_copy(update={"trace": REFUND_TRACE, "assessments": REFUND_ASSESSMENTS[1:]})
        if trial.outcome is Outcome.FAIL
        else trial.model_copy(update={"trace": BASE_TRACE})
        for trial in results.trials
    )
    return make_report(results.model_copy(update={"trials": trials}))


def numbered(count: int) -> Report:
    """So many regressions over three Agents, for one assertion with a number that differs."""
    rows = "\n".join(
        f"agent-{n % 3}-eval case-{n:02} base:pass head:fail,fail".replace("pass", "pass,pass")
        for n in range(count)
    )
    results = make_results(rows)
    trials = []
    for trial in results.trials:
        if trial.outcome is Outcome.FAIL:
            said = f'Expected "OK: {int(trial.key.fixture[5:])}" in the final message, saw "No".'
            one = trial.assessments[0].model_copy(update={"reason": said})
            told = {"reason": said, "assessments": (one,), "trace": REFUND_TRACE}
            trial = trial.model_copy(update=told)  # noqa: PLW2901 - what is kept of it
        trials.append(trial)
    return make_report(results.model_copy(update={"trials": tuple(trials)}))


def long_names() -> Report:
    """Names as long as results may have them, and 5,000 letters where anything may stand."""
    content = hostile_results(regressed_results(), "W" * 5_000).model_dump_json()
    for name in ("support", "refund-must-clarify", "tutor"):
        content = content.replace(f"{name}-eval", f"{name[0] * 240}-eval")
        content = content.replace(f'"{name}"', f'"{name[0] * 250}"')
    return make_report(Results.model_validate_json(content))


def together() -> Report:
    """A change that a benchmark, an experiment, a suite of AgentV and an Eval measure."""
    runs = [stored(case).results for case in ("benchmark", "experiment", "agentv-fails")]
    plans = [one.plan for one in runs]
    told = {
        name: tuple(one for plan in plans for one in getattr(plan, name))
        for name in ("evals", "agents", "changes")
    }
    plan = plans[0].model_copy(update=told)
    trials = tuple(trial for one in runs for trial in one.trials)
    return make_report(runs[0].model_copy(update={"plan": plan, "trials": trials}))


def adopted() -> Report:
    """The first change with an Agent and its Evals: nothing to compare with."""
    return make(
        """
        support-eval refund-must-clarify high base:new head:pass
        support-eval greets-politely     low  base:new head:pass
        """,
        threshold=0.8,
    )


def bypassed() -> Report:
    """A failure that somebody let through."""
    report = regressed()
    use = LabelUse(
        name=GateLabel.BYPASS,
        by=AuditPerson(login="ada", role="admin"),
        applied_at="2026-11-20T09:00:00Z",
    )
    granted = LabelDecision(
        label=GateLabel.BYPASS,
        status=LabelStatus.GRANTED,
        use=use,
        reason="The shop is down; ticket 42.",
        entry=5,
        hash="b" * 64,
        pull_request=7,
    )
    return report._replace(decision=with_labels(report.decision, LabelDecisions(found=(granted,))))


def accepted() -> Report:
    """A lower bar, accepted by somebody."""
    return make_report(edit_plan(stored("bar-lowered").results, bar_accepted="ada (admin)"))
