"""Verdicts of earlier runs, one line per head commit, so that a label need not run evals again.

It is a cache that anybody who may push can write. A record is believed only if the gate's own check
run on that commit names its digest: that is written with a token of the repository's workflows, as
the verdict itself is. It can support what is no pass, or a bypass of that, never a pass.

Anybody who may push can write it, so a line is read as a stranger's.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, JsonValue, ValidationError

from gateval import __version__
from gateval.domain.audit import (
    EVALS_LISTED,
    AuditEvent,
    AuditKind,
    AuditRun,
    FailingEval,
    failing_evals,
)
from gateval.domain.base import (
    SHA_PATTERN,
    TIME_PATTERN,
    Count,
    Digest,
    MaybeDigest,
    MaybeSha,
    Sha,
    Share,
    UtcTime,
    Value,
    ascii_json,
    digest,
)
from gateval.domain.decision.decision import Report
from gateval.domain.forge.check_run import CheckRun, Conclusion, Stamp
from gateval.domain.manifests.gate_config import policy_digest
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import SideScores
from gateval.domain.plan.sealing import shut_plan
from gateval.domain.planning.selection import Narrowing
from gateval.domain.results.comparison import EvalComparison, FixtureChange
from gateval.domain.strict_json import NotStrictJson, read_json, string_of, value_at
from gateval.domain.text import LongText, ShortText, first_of
from gateval.domain.tree import Revision
from gateval.domain.verdicts import (
    DecisionReason,
    EvalsVerdict,
    GateVerdict,
    ReasonCode,
    Score,
    score_of,
)
from gateval.errors import RecordsError

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
    low: Share | None
    high: Share | None
    threshold: Share | None = None
    passed: Count
    failed: Count
    unmeasured: Count

    @property
    def score(self) -> Score:
        """The score of this Eval."""
        return score_of(self.low, self.high)


class StoredRegression(Value):
    """A fixture that regressed; `key` is the digest of what was compared.

    `says` is what failed, `excerpt` the steps that say most of it. `scores` are what its views call
    the score of the fixture, on base and head, `means` those of all trials that were compared; None
    where a side was not measured in full, or has no scores. An earlier run `found_at` a
    moment, `found_on` a commit; both are empty for what the record's own run found.
    """

    key: Digest
    eval: ShortText
    fixture: ShortText
    base_passes: int = Field(ge=0, le=1000)
    base_trials: int = Field(ge=1, le=1000)
    head_passes: int = Field(ge=0, le=1000)
    head_trials: int = Field(ge=1, le=1000)
    scores: SideScores = Field(default=None, exclude_if=operator.not_)
    means: SideScores = Field(default=None, exclude_if=operator.not_)
    says: ShortText = ""
    found_at: str = Field(default="", pattern=rf"{TIME_PATTERN}|^$", exclude_if=operator.not_)
    found_on: str = Field(default="", pattern=rf"{SHA_PATTERN}|^$", exclude_if=operator.not_)
    excerpt: LongText = Field(default="", exclude_if=operator.not_)


class HistoryRecord(Value):
    """A run's decision about a head commit, without traces.

    `base` is the merge-base; `policy`, `plan` and `read_from` (`inputs_digest`) are digests.
    `check` is the name of the check run that shows the verdict; `verdict` is that of the evals,
    whatever was bypassed, and `headline` why, in one sentence. `accepted` says who accepted a
    lowered bar, empty if nobody did. `regressed` is what stands for later runs, `kept` that of
    sealed Evals, encrypted for the gate. `started_at` is when the run began. Lists hold the
    first `LISTED`; `regressions` are named by Eval, and their total counts each fixture once.
    """

    version: Literal["history.v2"] = "history.v2"
    head: Sha
    base: MaybeSha = ""
    policy: Digest
    plan: Digest
    read_from: MaybeDigest = ""
    check: ShortText = ""
    accepted: ShortText = ""
    started_at: str = Field(default="", pattern=rf"{TIME_PATTERN}|^$")
    recorded_at: UtcTime
    run: AuditRun = AuditRun()
    verdict: EvalsVerdict
    headline: ShortText = Field(default="", exclude_if=operator.not_)
    reasons: Annotated[tuple[StoredReason, ...], first_of(LISTED)] = ()
    reasons_total: Count = 0
    regressions: Annotated[tuple[ShortText, ...], first_of(LISTED)] = ()
    regressions_total: Count = 0
    regressed: Annotated[tuple[StoredRegression, ...], first_of(LISTED)] = ()
    kept: str = Field(
        default="",
        pattern=r"^[A-Za-z0-9+/=]*$",
        max_length=48_000,
        exclude_if=operator.not_,
    )
    evals: Annotated[tuple[StoredEval, ...], first_of(LISTED)] = ()
    evals_total: Count = 0
    trials: Count = 0


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
    headline: str = "",
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
    record = HistoryRecord(
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
        headline=headline,
        reasons=tuple(StoredReason.model_validate(dict(one)) for one in decision.reasons[:LISTED]),
        reasons_total=len(decision.reasons),
        regressions=regressions,
        regressions_total=len(report.comparison.regressed),
        regressed=tuple(regressed),
        kept=kept,
        evals=tuple(_stored_eval(one) for one in compared[:LISTED]),
        evals_total=len(compared),
        trials=len(report.results.trials),
    )
    if len(_line(record)) <= RECORD_LIMIT:
        return record
    bare = tuple(one.replace(excerpt="") for one in record.regressed)
    return record.replace(regressed=bare)


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
        "allowance": True,
        "fresh": True,
        "baseline": True,
        "agreements": True,
        "retests": True,
        "sees": True,
    }
    plan = shut_plan(plan)  # as it stands in the results
    bare = plan.replace(evals=tuple(one.measured_anew for one in plan.evals))
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


RECORDS_KEPT = 500
BYTES_KEPT = 1024 * 1024

RECORD_LIMIT = 128 * 1024
"""Bytes of one record."""


def add_record(content: bytes, record: HistoryRecord) -> bytes:
    """Return the file with `record` as its newest line, in place of any for the same check on head.

    A run that began before the one whose record is there changes nothing. Lines that are no records
    go; those of other versions stay, for the version that wrote them.
    """
    if any(_newer(_parse(old), record) for old in content.split(b"\n")):
        return content
    line = _line(record)
    if len(line) > RECORD_LIMIT:
        raise RecordsError(f"The verdict takes {len(line):,} bytes; {RECORD_LIMIT:,} are allowed.")
    mine = {(None, ""), (record.head, record.check)}
    kept = [old + b"\n" for old in content.split(b"\n") if _key(old) not in mine]
    lines = [*kept, line][-RECORDS_KEPT:]
    size = sum(map(len, lines))
    while size > BYTES_KEPT:
        size -= len(lines.pop(0))
    return b"".join(lines)


def _line(record: HistoryRecord) -> bytes:
    return ascii_json(record.model_dump(mode="json")).encode() + b"\n"


def find_record(content: bytes, head: str, check: str = "") -> HistoryRecord | None:
    """Return the newest record for a check on a head commit, or None if there is none.

    Raises `RecordsError` when it is of another version or not as Gateval writes it.
    """
    for line in reversed(content.split(b"\n")):
        if _key(line) == (head, check):
            return _record(line)
    return None


def all_records(content: bytes) -> tuple[HistoryRecord, ...]:
    """Return every record that is as this Gateval writes it, the oldest first."""
    found = []
    for line in content.split(b"\n"):
        try:
            found.append(_record(line))
        except RecordsError:
            continue
    return tuple(found)


def _record(line: bytes) -> HistoryRecord:
    content = _parse(line)
    version = value_at(content, "version")
    if version != "history.v2":
        raise RecordsError(
            f"The stored verdict has the version {ascii_json(version)[:40]}; "
            "this Gateval reads history.v2."
        )
    try:
        return HistoryRecord.model_validate(content)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors(include_url=False)[0]["loc"])
        raise RecordsError(f"The stored verdict is not as Gateval writes it: {where}.") from None


def _key(line: bytes) -> tuple[str | None, str]:
    """Return head commit and check that a line is about; (None, "") if it is no record."""
    content = _parse(line)
    if not isinstance(content, dict):
        return None, ""
    head, check = content.get("head"), content.get("check", "")
    known = isinstance(head, str) and head
    return (str(head), string_of(check)) if known else (None, "")


def _newer(content: JsonValue, record: HistoryRecord) -> bool:
    """Whether a line is about the same, and of a run that began later."""
    if not isinstance(content, dict):
        return False
    same = (content.get("head"), content.get("check", "")) == (record.head, record.check)
    started = content.get("started_at", "")
    return same and isinstance(started, str) and started > record.started_at


def _parse(line: bytes) -> JsonValue:
    if not line or len(line) > RECORD_LIMIT:
        return None
    try:
        return read_json(line.decode("ascii"))
    except (UnicodeDecodeError, NotStrictJson):
        return None


_BARS = {ReasonCode.LOWERED_BAR, ReasonCode.BAR_UNMEASURED, ReasonCode.NO_MODEL_CALLS}


class Occurrence(NamedTuple):
    """Where and when a verdict is given, and by which run. `at` is UTC to the second."""

    repository: str
    pull_request: int | None
    run: AuditRun
    at: str


def about_report(report: Report, occurrence: Occurrence) -> AuditEvent:
    """Return the event of a report's verdict, from which others are made."""
    plan, decision = report.results.plan, report.decision
    failing = list(failing_evals(report.comparison))
    for planned, told in zip(plan.sealed, report.results.sealed, strict=True):
        if told.verdict is not GateVerdict.PASS:  # nothing is said of its fixtures
            many = len(planned.fixtures)
            failing.append(FailingEval(eval=planned.name, failed=0, unmeasured=0, fixtures=many))
    return _event(
        occurrence,
        decision.evals,
        failing,
        decision.reasons,
        head=plan.head.commit or "0" * 40,
        base=(plan.base and plan.base.commit) or "",
        policy=plan.policy_digest,
    )


def about_record(record: HistoryRecord, occurrence: Occurrence) -> AuditEvent:
    """Return the same of a verdict that an earlier run has stored."""
    failing = [
        FailingEval(
            eval=one.eval,
            failed=one.failed,
            unmeasured=one.unmeasured,
            fixtures=one.passed + one.failed + one.unmeasured,
        )
        for one in record.evals
        if one.failed or one.unmeasured
    ]
    return _event(
        occurrence,
        record.verdict,
        failing,
        record.reasons,
        head=record.head,
        base=record.base,
        policy=record.policy,
        stored_by=record.run,
    )


def _event(
    occurrence: Occurrence,
    verdict: GateVerdict,
    failing: Sequence[FailingEval],
    reasons: Sequence[DecisionReason | StoredReason],
    *,
    head: str,
    base: str,
    policy: str,
    stored_by: AuditRun | None = None,
) -> AuditEvent:
    bars = [reason.text for reason in reasons if reason.code in _BARS]
    return AuditEvent(
        kind=AuditKind.VERDICT,
        at=occurrence.at,
        repository=occurrence.repository,
        pull_request=occurrence.pull_request,
        head=head,
        base=base,
        policy=policy,
        stored_by=stored_by,
        verdict=verdict,
        failing=tuple(failing[:EVALS_LISTED]),
        failing_total=len(failing),
        bars=tuple(bars[:EVALS_LISTED]),
        bars_total=len(bars),
        run=occurrence.run,
    )
