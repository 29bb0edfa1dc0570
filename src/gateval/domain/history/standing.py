"""Regressions of earlier runs stand: running again until it is green does not pay.

A finding belongs to what was compared, not to a run: head's and base's Agent, the fixture, the Eval
and its judge. Until one of these changes it holds. Two places remember it: the records in git, of
every head, and the gate's own check runs, of their own head alone. Anybody who may push can write a
record; so it can keep a head red, and never makes one green.

A broken line is left out and counted. The file belongs to who runs the gate; it only adds reds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from pydantic import ValidationError

from gateval.domain.base import UtcTime, ascii_json, digest
from gateval.domain.decision.decision import Report
from gateval.domain.forge.check_run import (
    MOST_FINDINGS,
    CheckRun,
    Conclusion,
    RegressionFinding,
    RunFindings,
    Stamp,
    earlier_marks,
    marks,
    unknown_keys,
)
from gateval.domain.history.verdicts import HistoryRecord, StoredRegression, record_digest
from gateval.domain.manifests.gate_config import RegressionPolicy
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import KnownRegression, PlannedEval
from gateval.domain.plan.sealing import NO_KEY, OwnKey, kept_apart
from gateval.domain.results.averages import Grouped, group_trials
from gateval.domain.results.comparison import FixtureChange, FixtureComparison
from gateval.domain.strict_json import NotStrictJson, read_json
from gateval.domain.text import listing
from gateval.domain.trials.trial import Side, trial_excerpt
from gateval.domain.verdicts import GateVerdict, ReasonCode

_SAID = 300
"""Characters kept of what failed."""


def regressions_of(report: Report) -> Iterator[StoredRegression]:
    """Yield the fixtures that regressed, as a record keeps them; silence and broad slippage do not.

    Why an agent gave no answer may have been the machine.
    """
    plan, trials = report.results.plan, group_trials(report.results.trials)
    apart = kept_apart(plan)
    for compared in report.comparison.evals:
        planned = plan.eval(compared.eval)
        for fixture in compared.fixtures:
            base, stands = fixture.base_all, planned.stands(fixture.fixture)
            if fixture.change is FixtureChange.REGRESSED and not fixture.no_answer and base:
                yield StoredRegression(
                    key=comparison_key(plan, planned, fixture.fixture),
                    eval=compared.eval,
                    fixture=fixture.fixture,
                    base_passes=base.passes,
                    base_trials=base.trials,
                    head_passes=fixture.head_all.passes,
                    head_trials=fixture.head_all.trials,
                    found_at=stands.found_at if stands else "",
                    found_on=stands.found_on if stands else "",
                    **({} if planned.name in apart else _evidence(planned, fixture, trials)),
                )


def _evidence(
    planned: PlannedEval, compared: FixtureComparison, trials: Grouped
) -> Mapping[str, Any]:
    """Return what both sides scored, and what failed in the worst trial of head, with its steps:
    measured now or earlier.
    """
    name = compared.fixture
    if (stands := planned.stands(name)) is not None:
        return {key: getattr(stands, key) for key in ("scores", "means", "says", "excerpt")}
    owns = [of.own for of in (compared.base, compared.head) if of and of.measured and of.own]
    means = compared.base_all and compared.base_all.mean, compared.head_all.mean
    found: dict[str, Any] = {
        "scores": tuple(low for low, _ in owns) if len(owns) == len(means) else None,
        "means": None if None in means else means,
    }
    mine = trials.get((planned.measured_by(name), name, Side.HEAD), ())
    said = [one for one in mine if one.passed is not None]
    if not said:
        return found
    worst = min(said, key=lambda one: (one.passed, one.score or 0.0))
    broken = [one for one in worst.assessments if not one.passed]
    told = [f"{one.type}: {one.reason}" for one in broken] or [worst.reason]
    return {**found, "says": " ".join(told)[:_SAID], "excerpt": trial_excerpt(worst, broken)}


def kept_findings(whole: Report, own: OwnKey) -> str:
    """Return what a report found of sealed Evals, encrypted; empty where it has none, or no key.

    Its size follows from the plan alone.
    """
    plan = whole.results.plan
    apart = kept_apart(plan)
    if not apart:
        return ""
    found = [one for one in regressions_of(whole) if one.eval in apart]
    listed = [
        RegressionFinding(mark=mark, **_counts(one)) for one in found for mark in marks(one.key)
    ]
    text = str(RunFindings(total=len(found), listed=tuple(listed[:MOST_FINDINGS])))
    most = min(MOST_FINDINGS, sum(len(one.compared) for one in plan.evals if one.name in apart))
    return own.keep(text.ljust(_ROOM * (most + 2)), about_head(plan.head.commit or ""))


_ROOM = 64
"""Characters for one finding, and about half of those for what stands around all."""


def about_head(head: str) -> str:
    """Return what findings are about that are kept for a head commit."""
    return f"findings on {head}"


Finding = Mapping[str, Any]
"""What a plan holds of a comparison that an earlier run made: the fields of `KnownRegression`."""


class Remembered(NamedTuple):
    """What earlier runs found, by the key or the mark of what was compared.

    `lost` says that one of them found more than can be known any more; `spent` are the digests of
    policies whose budget our check runs on this head used up.
    """

    known: Mapping[str, Finding]
    lost: bool = False
    spent: frozenset[str] = frozenset()


def known_of(
    found: Iterable[StoredRegression | RegressionFinding], found_at: str, found_on: str
) -> Iterator[tuple[str, Finding]]:
    """Yield findings of one run by key or mark; one that only stood there is an earlier run's."""
    for one in found:
        known = {name: told for name, told in one if name in KnownRegression.model_fields}
        known |= {side: min(known[side], known[of]) for side, of in _PASSES_OF}
        if not known.get("found_at"):
            known |= {"found_at": found_at, "found_on": found_on}
        yield one.mark if isinstance(one, RegressionFinding) else one.key, known


_PASSES_OF = (("base_passes", "base_trials"), ("head_passes", "head_trials"))


def remembered(
    records: Sequence[HistoryRecord],
    checks: Sequence[CheckRun],
    secrets: Sequence[str] = (),
    own: OwnKey = NO_KEY,
    head: str = "",
) -> Remembered:
    """Return what records say and our check runs on this head, `checks`, newest first.

    Lost is what a check run counts and does not list, what was marked with a key that is not among
    `secrets`, what is kept about this head and `own` does not open, and what one stood
    for that keeps no findings, if its record is gone and no newer one does. One that is completed
    without a verdict stands for nothing.
    """
    known = dict[str, Finding]()
    told = [(one, Stamp.parse(one.external_id), RunFindings.parse(one.text)) for one in checks]
    there = {record_digest(record) for record in records}
    there |= {stamp.record for _, stamp, found in told if stamp and found}
    lost = newer = False
    for check, stamp, found in told:
        if found is not None and stamp is not None:
            newer = True
            known |= known_of(found.listed, stamp.started, head)
            lost |= not found.whole or unknown_keys(found.listed, secrets)
            opened = _opened(found.kept, own, head)
            lost |= not opened.whole
            known |= known_of(opened.listed, stamp.started, head)
        elif stamp is not None and stamp.record in there:
            newer = True
        elif stamp is not None and stamp.record and not newer:
            lost |= check.conclusion in _FOUND
    for record in records:
        known |= known_of(record.regressed, record.recorded_at, record.head)
        opened = _opened(record.kept, own, record.head)
        lost |= not opened.whole and record.head == head
        known |= known_of(opened.listed, record.recorded_at, record.head)
    spent = frozenset(found.spent for _, stamp, found in told if stamp and found and found.spent)
    return Remembered(known, lost, spent)


def _opened(kept: str, own: OwnKey, head: str) -> RunFindings:
    """Return the findings that are kept about a head; one that is lost, if they cannot be read."""
    if not kept:
        return RunFindings()
    text = own.kept(kept, about_head(head))
    return (RunFindings.parse(text) if text is not None else None) or RunFindings(total=1)


_FOUND = {Conclusion.FAILURE, Conclusion.NEUTRAL}
"""How a check run may have ended that stands for a regression."""

LOST = "an earlier finding has no record: a run failed, and what it found cannot be read any more"
UNREADABLE = (
    "an earlier finding has no record that can be read now: neither those in git nor the check runs"
)


def findings_of(report: Report, own: OwnKey = NO_KEY) -> RunFindings | None:
    """Return what a check run remembers of a report; `own` keeps what was found of sealed Evals.

    What is lost stays so, and so is what nobody could keep. A run that could not look and
    found nothing has nothing to say.
    """
    plan = report.results.plan
    apart = kept_apart(plan)
    every = tuple(regressions_of(report))
    found = tuple(one for one in every if one.eval not in apart)
    kept = kept_findings(report, own)
    unkept = bool(not kept and len(found) < len(every))
    reasons = report.decision.reasons
    spent = any(ended_by_budget(one.verdict, one.code) for one in reasons)
    if plan.findings_lost == UNREADABLE and not (every or spent):
        return None
    marked = [
        RegressionFinding(mark=mark, **_counts(one)) for one in found for mark in marks(one.key)
    ]
    total = len(found) + (plan.findings_lost == LOST or unkept)
    policy = plan.policy_digest if spent else ""
    return RunFindings(total=total, spent=policy, listed=tuple(marked[:MOST_FINDINGS]), kept=kept)


def _counts(one: StoredRegression) -> dict[str, int]:
    names = ("base_passes", "base_trials", "head_passes", "head_trials")
    return {name: getattr(one, name) for name in names}


def with_standing(plan: Plan, found: Remembered, secrets: Sequence[str] = ()) -> Plan:
    """Return the plan with what earlier runs found regressed: it is not measured again.

    Nothing stands where the policy does not block regressions: what is not measured must not pass.
    """
    if plan.policy.regressions is not RegressionPolicy.BLOCK:
        return plan
    if found.lost:
        plan = plan.replace(findings_lost=LOST)
    if not found.known:
        return plan
    return plan.replace(
        evals=tuple(_with_standing(plan, one, found.known, secrets) for one in plan.evals)
    )


BUDGET_SPENT = (
    "an earlier run of this head used up what the same policy gives a run, and to draw anew what "
    "it saw decides nothing: push a change, or give a run more (policy.budget, policy.gateway)"
)


def ended_by_budget(verdict: str, code: str) -> bool:
    """Whether a reason of a decision says that a run had no more calls, money or repetitions."""
    return (verdict, code) == (GateVerdict.INCOMPLETE, ReasonCode.BUDGET)


def with_spent_budget(
    plan: Plan, records: Iterable[HistoryRecord], told: Collection[str] = ()
) -> Plan:
    """Return the plan, which stays incomplete if a run of its head used up the same budget.

    Records say so, and the gate's check runs on this head: `told` are the policies that they name.
    """
    spent = plan.policy_digest in told or any(
        one.head == plan.head.commit
        and one.policy == plan.policy_digest
        and any(ended_by_budget(reason.verdict, reason.code) for reason in one.reasons)
        for one in records
    )
    return plan.replace(budget_spent=BUDGET_SPENT) if spent else plan


def comparison_key(plan: Plan, planned: PlannedEval, fixture: str) -> str:
    """Return the digest of what a comparison of one fixture is about."""
    closures = [
        agent.closure if (agent := plan.agent(planned.agent, side)) else ""
        for side in (Side.HEAD, Side.BASE)
    ]
    judge = planned.judge.model_dump(mode="json")
    about = [planned.own_name, fixture, planned.fixture(fixture).digest]
    scoring = [planned.scoring.pass_score] if planned.scoring.graded else []
    measured = planned.calibration.digest if planned.calibration else ""
    believed = [measured] if planned.wants_calibration else []
    return digest([*closures, *about, judge, *scoring, *believed])


def _with_standing(
    plan: Plan, planned: PlannedEval, known: Mapping[str, Finding], secrets: Sequence[str]
) -> PlannedEval:
    standing = []
    for name in planned.compared:
        key = comparison_key(plan, planned, name)
        names = (key, *marks(key), *earlier_marks(key, secrets))
        found = next((known[one] for one in names if one in known), None)
        if found is not None:
            standing.append(KnownRegression.model_validate({**found, "fixture": name}))
    return planned.replace(standing=tuple(standing))


KEPT = 1_000
"""Findings that are kept; the oldest go first."""

BYTES_READ = 2 * 1024 * 1024
"""Of a larger file, its end is read; what we write is smaller."""

_NAMED = 10


class LocalFinding(StoredRegression):
    """A comparison that regressed, and when that was found."""

    version: Literal["finding.v1"] = "finding.v1"
    found_at: UtcTime


class LocalFindings(NamedTuple):
    """What a file holds; `broken` counts lines that are none of ours."""

    found: Sequence[LocalFinding]
    broken: int = 0

    @property
    def remembered(self) -> Remembered:
        """Return it by what was compared."""
        return Remembered(dict(known_of(self.found, "", "")))


def read_findings(content: bytes) -> LocalFindings:
    """Read the content of a file, the newest finding of a comparison last and alone."""
    lines = [line for line in content.split(b"\n") if line]
    read = [one for line in lines if (one := _finding(line)) is not None]
    return LocalFindings(_newest(read), len(lines) - len(read))


def write_findings(found: Iterable[LocalFinding]) -> bytes:
    """Return the content of a file with the newest `KEPT` findings."""
    lines = [ascii_json(one.model_dump(mode="json")) for one in _newest(found)[-KEPT:]]
    return "".join(f"{line}\n" for line in lines).encode()


def new_findings(report: Report, found_at: str) -> tuple[LocalFinding, ...]:
    """Return what a report found regressed by itself, not by what stood before.

    Of sealed Evals nothing is kept here: the file is not encrypted.
    """
    plan = report.results.plan
    apart, when = kept_apart(plan), {"found_at": found_at, "found_on": plan.head.commit or ""}
    return tuple(
        LocalFinding.model_validate({**dict(one), **when})
        for one in regressions_of(report)
        if one.eval not in apart and plan.eval(one.eval).stands(one.fixture) is None
    )


def measured_anew(plan: Plan, found: Remembered) -> Plan:
    """Return the plan with a sentence on what would stand and does not count this time."""
    standing = [
        one.fixture for planned in with_standing(plan, found).evals for one in planned.standing
    ]
    names = list(dict.fromkeys(standing))
    if not names:
        said = "measured anew (--fresh); no earlier finding was known"
    else:
        listed = listing(names, _NAMED)
        said = f"measured anew (--fresh), though an earlier run found regressed: {listed}"
    return plan.replace(fresh=said)


def _newest(found: Iterable[LocalFinding]) -> list[LocalFinding]:
    by_key = dict[str, LocalFinding]()
    for one in found:
        by_key.pop(one.key, None)
        by_key[one.key] = one
    return list(by_key.values())


def _finding(line: bytes) -> LocalFinding | None:
    try:
        return LocalFinding.model_validate(read_json(line.decode("ascii")))
    except (UnicodeDecodeError, NotStrictJson, ValidationError):
        return None
