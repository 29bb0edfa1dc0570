"""Verdicts of earlier runs, one line per head commit, so that a label need not run evals again.

It is a cache that anybody who may push can write: what is read from it can support a `fail` or a
bypass of one, never a pass. It is bounded; the oldest go first.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue, ValidationError

from gateval.domain.audit import DIGEST, SHA, TIME, AuditRun
from gateval.domain.base import Value, ascii_json, digest
from gateval.domain.bounded import ShortText, first_of
from gateval.domain.check_run import CheckRun, Conclusion
from gateval.domain.comparison import Change, EvalComparison
from gateval.domain.manifests.gate_config import policy_digest
from gateval.domain.plan import Plan
from gateval.domain.report import Report
from gateval.domain.strict_json import NotStrictJson, read_json
from gateval.domain.verdicts import EvalsVerdict, GateVerdict, ReasonCode
from gateval.errors import RecordsError

HISTORY_REF = "refs/gateval/history"
HISTORY_FILE = "history.jsonl"

RECORDS_KEPT = 500
BYTES_KEPT = 1024 * 1024
LISTED = 50
"""Evals, reasons and regressions named in one record; the totals count all."""

RECORD_LIMIT = 128 * 1024
"""Bytes of one record."""


class StoredReason(Value):
    """A reason of the decision, as `DecisionReason`, with its text cut to a size."""

    verdict: EvalsVerdict
    code: ReasonCode
    text: ShortText
    eval: ShortText = ""
    fixture: ShortText = ""


class StoredEval(Value):
    """An Eval on head: its score as an interval, and how many of its fixtures did what."""

    eval: ShortText
    low: float
    high: float
    threshold: float
    passed: int = Field(ge=0)
    failed: int = Field(ge=0)
    unmeasured: int = Field(ge=0)


class HistoryRecord(Value):
    """What a run decided about a head commit, without traces.

    `base` is the merge-base; `policy` and `plan` are digests. `inputs` is the digest of all that a
    plan is made from: equal inputs, equal plans. `check` is the name of the check run that shows
    the verdict; `verdict` is that of the evals, whatever was bypassed. `accepted` says who accepted
    a lowered bar, empty if nobody did. `started_at` is when the run began. Lists hold the first
    `LISTED`.
    """

    version: Literal["history.v1"] = "history.v1"
    head: str = Field(pattern=SHA)
    base: str = Field(default="", pattern=rf"{SHA}|^$")
    policy: str = Field(pattern=DIGEST)
    plan: str = Field(pattern=DIGEST)
    inputs: str = Field(default="", pattern=rf"{DIGEST}|^$")
    check: ShortText = ""
    accepted: ShortText = ""
    started_at: str = Field(default="", pattern=rf"{TIME}|^$")
    recorded_at: str = Field(pattern=TIME)
    run: AuditRun = AuditRun()
    verdict: EvalsVerdict
    reasons: Annotated[tuple[StoredReason, ...], first_of(LISTED)] = ()
    reasons_total: int = Field(default=0, ge=0)
    regressions: Annotated[tuple[ShortText, ...], first_of(LISTED)] = ()
    regressions_total: int = Field(default=0, ge=0)
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
    inputs: str = "",
) -> HistoryRecord | None:
    """Return the record of a report, or None for a working tree, which has no commit."""
    plan, decision = report.results.plan, report.decision
    if plan.head.commit is None:
        return None
    compared = report.comparison.evals
    regressions = tuple(
        f"{one.eval}/{fixture.fixture}"
        for one in compared
        for fixture in one.fixtures
        if fixture.change is Change.REGRESSED
    )
    return HistoryRecord(
        head=plan.head.commit,
        base=(plan.base and plan.base.commit) or "",
        policy=policy_digest(plan.policy),
        plan=plan_digest(plan),
        check=check,
        inputs=inputs,
        accepted=plan.bar_accepted,
        started_at=started_at,
        recorded_at=recorded_at,
        run=run,
        verdict=decision.evals,
        reasons=tuple(
            StoredReason(
                verdict=r.verdict, code=r.code, text=r.text, eval=r.eval, fixture=r.fixture
            )
            for r in decision.reasons[:LISTED]
        ),
        reasons_total=len(decision.reasons),
        regressions=regressions,
        regressions_total=len(regressions),
        evals=tuple(_stored_eval(one) for one in compared[:LISTED]),
        evals_total=len(compared),
        trials=len(report.results.trials),
    )


def plan_digest(plan: Plan) -> str:
    """Return the digest of what would run.

    What revisions are called does not count, nor where the base tip is: the target branch moves on
    without changing what runs, and its policy has a digest of its own.
    """
    names = {"name"}
    rules = {"policy": True, "policy_digest": True, "policy_source": True, "bar_accepted": True}
    left_out = {**rules, "base_tip": True, "warnings": True}
    return digest(plan.model_dump(mode="json", exclude={**left_out, "head": names, "base": names}))


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

    It supports what is no pass. One that says pass only leaves a success alone.
    """
    if check is not None and not check.completed:
        return "another run is evaluating this revision now"
    if record.accepted:
        return "a lowered bar was accepted, and whether it still is has to be seen"
    passed = record.verdict is GateVerdict.PASS
    if passed and (check is None or check.conclusion != Conclusion.SUCCESS):
        return "a pass is given by evals that ran, never by a stored verdict"
    return None


def add_record(content: bytes, record: HistoryRecord) -> bytes:
    """Return the file with `record` as its newest line, in place of any for the same check on head.

    A run that began before the one whose record is there changes nothing. Lines that are no records
    go; those of other versions stay, for whoever wrote them.
    """
    if any(_newer(_parse(old), record) for old in content.split(b"\n")):
        return content
    line = ascii_json(record.model_dump(mode="json")).encode() + b"\n"
    if len(line) > RECORD_LIMIT:
        raise RecordsError(f"The verdict takes {len(line):,} bytes; {RECORD_LIMIT:,} are allowed.")
    mine = {(None, ""), (record.head, record.check)}
    kept = [old + b"\n" for old in content.split(b"\n") if _key(old) not in mine]
    lines = [*kept, line][-RECORDS_KEPT:]
    size = sum(map(len, lines))
    while size > BYTES_KEPT:
        size -= len(lines.pop(0))
    return b"".join(lines)


def find_record(content: bytes, head: str, check: str = "") -> HistoryRecord | None:
    """Return the newest record for a check on a head commit, or None if there is none.

    Raises `RecordsError` when it is of another version or not as Gateval writes it.
    """
    for line in reversed(content.split(b"\n")):
        if _key(line) == (head, check):
            return _record(line)
    return None


def _record(line: bytes) -> HistoryRecord:
    content = _parse(line)
    version = content.get("version") if isinstance(content, dict) else None
    if version != "history.v1":
        raise RecordsError(
            f"The stored verdict has the version {ascii_json(version)[:40]}; "
            "this Gateval reads history.v1."
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
    return (str(head), check if isinstance(check, str) else "") if known else (None, "")


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


def _stored_eval(compared: EvalComparison) -> StoredEval:
    scores = compared.head.fixtures
    return StoredEval(
        eval=compared.eval,
        low=round(compared.head.low, 4),
        high=round(compared.head.high, 4),
        threshold=compared.head.threshold,
        passed=sum(score.all_passed for score in scores),
        failed=sum(score.failed > 0 for score in scores),
        unmeasured=sum(not score.failed and not score.measured for score in scores),
    )
