"""Verdicts of earlier runs, one line per head commit, so that a label need not run evals again.

It is a cache that anybody who may push can write. A record is believed only if the gate's own check
run on that commit names its digest: that is written with a token of the repository's workflows, as
the verdict itself is. It can support what is no pass, or a bypass of that, never a pass.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from gateval import __version__
from gateval.domain.audit.entry import AuditRun
from gateval.domain.base import DIGEST_PATTERN, SHA_PATTERN, TIME_PATTERN, Value, digest
from gateval.domain.decision.report import Report
from gateval.domain.forge.check_run import CheckRun, Conclusion
from gateval.domain.forge.stamp import Stamp
from gateval.domain.manifests.policy.gate_config import policy_digest
from gateval.domain.plan.plan import Plan, Revision
from gateval.domain.plan.sealing import shut_plan
from gateval.domain.planning.narrowing import Narrowing
from gateval.domain.results.comparison import EvalComparison, FixtureChange
from gateval.domain.score import Score, score_of
from gateval.domain.text.bounded import ShortText, first_of
from gateval.domain.verdicts import EvalsVerdict, GateVerdict, ReasonCode

LISTED = 50
"""Evals, reasons and regressions named in one record; the totals count all."""


class StoredReason(Value):
    """A reason of the decision, as `DecisionReason`, with its text cut to a size."""

    verdict: EvalsVerdict
    code: ReasonCode
    text: ShortText
    eval: ShortText = ""
    fixture: ShortText = ""


class StoredEval(Value):
    """An Eval on head: its score as an interval, and how many of its fixtures did what.

    What was not measured has no score: `low` and `high` are then None.
    """

    eval: ShortText
    low: float | None = Field(ge=0, le=1)
    high: float | None = Field(ge=0, le=1)
    threshold: float | None = Field(default=None, ge=0, le=1)
    passed: int = Field(ge=0)
    failed: int = Field(ge=0)
    unmeasured: int = Field(ge=0)

    @property
    def score(self) -> Score:
        """The score of this Eval."""
        return score_of(self.low, self.high)


class StoredRegression(Value):
    """A fixture that regressed; `key` is the digest of what was compared, `says` what failed."""

    key: str = Field(pattern=DIGEST_PATTERN)
    eval: ShortText
    fixture: ShortText
    base_passes: int = Field(ge=0, le=1000)
    base_trials: int = Field(ge=1, le=1000)
    head_passes: int = Field(ge=0, le=1000)
    head_trials: int = Field(ge=1, le=1000)
    says: ShortText = ""


class HistoryRecord(Value):
    """A run's decision about a head commit, without traces.

    `base` is the merge-base; `policy`, `plan` and `read_from` (`inputs_digest`) are digests.
    `check` is the name of the check run that shows the verdict; `verdict` is that of the evals,
    whatever was bypassed. `accepted` says who accepted a lowered bar, empty if nobody did.
    `regressed` is what stands for later runs, `kept` that of sealed Evals, encrypted
    for the gate. `started_at` is when the run began. Lists hold the
    first `LISTED`.
    """

    version: Literal["history.v2"] = "history.v2"
    head: str = Field(pattern=SHA_PATTERN)
    base: str = Field(default="", pattern=rf"{SHA_PATTERN}|^$")
    policy: str = Field(pattern=DIGEST_PATTERN)
    plan: str = Field(pattern=DIGEST_PATTERN)
    read_from: str = Field(default="", pattern=rf"{DIGEST_PATTERN}|^$")
    check: ShortText = ""
    accepted: ShortText = ""
    started_at: str = Field(default="", pattern=rf"{TIME_PATTERN}|^$")
    recorded_at: str = Field(pattern=TIME_PATTERN)
    run: AuditRun = AuditRun()
    verdict: EvalsVerdict
    reasons: Annotated[tuple[StoredReason, ...], first_of(LISTED)] = ()
    reasons_total: int = Field(default=0, ge=0)
    regressions: Annotated[tuple[ShortText, ...], first_of(LISTED)] = ()
    regressions_total: int = Field(default=0, ge=0)
    regressed: Annotated[tuple[StoredRegression, ...], first_of(LISTED)] = ()
    kept: str = Field(
        default="",
        pattern=r"^[A-Za-z0-9+/=]*$",
        max_length=48_000,
        exclude_if=operator.not_,
    )
    evals: Annotated[tuple[StoredEval, ...], first_of(LISTED)] = ()
    evals_total: int = Field(default=0, ge=0)
    trials: int = Field(default=0, ge=0)


def record_of(
    report: Report,
    *,
    run: AuditRun,
    recorded_at: str,
    started_at: str = "",
    check: str = "",
    read_from: str = "",
    regressed: Sequence[StoredRegression] = (),
    kept: str = "",
    plan: Plan | None = None,
) -> HistoryRecord | None:
    """Return the record of a report, or None for a working tree, which has no commit.

    `plan` is what was run, with what is sealed in it; the report's own if it is None.
    """
    ran, plan, decision = plan or report.results.plan, report.results.plan, report.decision
    if plan.head.commit is None:
        return None
    compared = report.comparison.evals
    regressions = tuple(
        f"{one.eval}/{fixture.fixture}"
        for one in compared
        for fixture in one.fixtures
        if fixture.change is FixtureChange.REGRESSED
    )
    return HistoryRecord(
        head=plan.head.commit,
        base=(plan.base and plan.base.commit) or "",
        policy=policy_digest(plan.policy),
        plan=plan_digest(ran),
        read_from=read_from,
        check=check,
        accepted=plan.bar_accepted,
        started_at=started_at,
        recorded_at=recorded_at,
        run=run,
        verdict=decision.evals,
        reasons=tuple(StoredReason.model_validate(dict(one)) for one in decision.reasons[:LISTED]),
        reasons_total=len(decision.reasons),
        regressions=regressions,
        regressions_total=len(regressions),
        regressed=tuple(regressed),
        kept=kept,
        evals=tuple(_stored_eval(one) for one in compared[:LISTED]),
        evals_total=len(compared),
        trials=len(report.results.trials),
    )


def record_digest(record: HistoryRecord) -> str:
    """Return what a check run names to confirm a record: the digest of all that is in it."""
    return digest(record.model_dump(mode="json"))


def plan_digest(plan: Plan) -> str:
    """Return the digest of what would run.

    What revisions are called does not count, nor what is stored of base, nor where the base tip is:
    the target branch moves on without changing what runs, and its policy has a digest of its own.
    """
    names = {"name"}
    rules = {"policy": True, "policy_digest": True, "policy_source": True, "bar_accepted": True}
    left_out = {
        **rules,
        "base_tip": True,
        "after_merge": True,
        "warnings": True,
        "findings_lost": True,
        "budget_spent": True,
        "fresh": True,
        "baseline": True,
        "agreements": True,
        "sees": True,
    }
    plan = shut_plan(plan)  # as it stands in the results
    bare = plan.model_copy(update={"evals": tuple(one.measured_anew for one in plan.evals)})
    return digest(bare.model_dump(mode="json", exclude={**left_out, "head": names, "base": names}))


def inputs_digest(
    *, head: Revision, base: Revision, base_tip: Revision, config: str, narrowing: Narrowing
) -> str:
    """Return the digest of all that a plan is read from, rules that are extended apart.

    Commits name their content, so two plans of one Gateval with equal digests, made under equal
    policies, are equal: manifests that were valid still are. Empty for a working tree.
    """
    commits = [one.commit for one in (head, base, base_tip)]
    if None in commits:
        return ""
    return digest([__version__, *commits, config, narrowing.model_dump(mode="json")])


def outdated(record: HistoryRecord, *, head: str, policy: str, plan: str) -> str | None:
    """Return why a record is not about what a run would measure now; None if it is.

    `policy` and `plan` are the digests as they are now.
    """
    if record.head != head:
        return "the stored verdict is about another commit"
    if record.policy != policy:
        return "the policy has changed since the verdict was stored"
    if record.plan != plan:
        return "what would run has changed since the verdict was stored"
    return None


def overtaken(record: HistoryRecord, check: CheckRun | None) -> str | None:
    """Return why a record may not be restated beside the check run on its head; None if it may.

    `check` is the newest one that is ours. It has to confirm the record: nothing else tells one
    that a run wrote from a forged one. A record supports what is no pass; one that says pass only
    leaves a success alone.
    """
    if check is not None and not check.completed:
        return "another run is evaluating this revision now"
    if check is None or not confirmed(record, check):
        return "no check run of this gate confirms the stored verdict"
    if record.accepted:
        return "a lowered bar was accepted, and whether it still is has to be seen"
    passed = record.verdict is GateVerdict.PASS
    if passed and check.conclusion != Conclusion.SUCCESS:
        return "a pass is given by evals that ran, never by a stored verdict"
    return None


def confirmed(record: HistoryRecord, check: CheckRun | None) -> bool:
    """Whether a check run of ours names this record: else anybody who may push has written it."""
    stamp = Stamp.parse(check.external_id) if check is not None else None
    return stamp is not None and stamp.record == record_digest(record)


def _stored_eval(compared: EvalComparison) -> StoredEval:
    head, scores = compared.head, compared.head.fixtures
    silent = compared.unanswered
    lost = sum(not score.failed and not score.measured for score in scores)
    return StoredEval(
        eval=compared.eval,
        low=None if head.ends is None else round(head.ends[0], 9),
        high=None if head.ends is None else round(head.ends[1], 9),
        threshold=head.threshold,
        passed=sum(score.all_passed for score in scores),
        failed=0 if silent else sum(score.failed > 0 for score in scores),
        unmeasured=len(scores) if silent else lost,
    )
