"""Which stored trials stand for base, and when they are believed.

Whoever may push can write the file of runs. A record counts if the forge says that its run was a
push to the default branch or a schedule there, of a workflow that the rules name, and if that run
uploaded the very same record. What a pull request's job measured is never looked at.

What earlier runs measured of judges: how calibrations stand, and which need not be measured
again.

They are believed on the terms of stored base trials: a run of the default branch,
by the forge's word, that uploaded the same record.

The keys are those of the document behind `pai.io/v1`. What is shown here may be a stranger's word:
it decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from gateval import __version__
from gateval.domain.base import digest
from gateval.domain.calibration import (
    LEAST_AGREEMENT,
    Agreement,
    Binding,
    CalibrationPhase,
    CalibrationReplay,
    StoredAgreement,
    StoredWatch,
    labels_wanted,
    phase_of,
    show_kappa,
    with_fingerprints,
)
from gateval.domain.forge.trigger import WorkflowRun
from gateval.domain.history.run_record import RunEval, RunFixture, RunRecord
from gateval.domain.history.status import StatusRow
from gateval.domain.injection import why_injectable
from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.manifests.evaluation import Calibration, Eval
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import (
    Baseline,
    BaselineRun,
    PlannedEval,
    StoredTrials,
    UsedBaseline,
)
from gateval.domain.results.doubts import JudgeDigests, binding_now, judge_doubt
from gateval.domain.results.results import Results
from gateval.domain.trials.trial import Side

DIGITS = 20
"""Of a fixture's digest. 80 bits: nobody finds another fixture with the same ones."""


def setting_digest(plan: Plan, planned: PlannedEval, side: Side) -> str:
    """Return the digest of all that trials of an Eval on a side depend on, but for the fixture.

    The Agent's closure and models, the judge as it is configured, the rules of a scripted one, the
    time for an answer, and Gateval's version.
    """
    agent = plan.agent(planned.agent, side)
    models: list[JsonValue] = [*agent.models, *agent.uses] if agent else []
    judge = planned.judge
    rules: list[JsonValue] = [
        model.digest
        for one in plan.scripts
        if one.side is Side.HEAD
        for model in one.models
        if model.name in judge.scripts
    ]
    closure = agent.closure if agent else ""
    asked = judge.model_dump(mode="json")
    seconds = planned.execution.timeout_seconds
    about: list[JsonValue] = [closure, models, asked, rules, seconds, __version__]
    if planned.wants_calibration and planned.calibration:
        about.append(planned.calibration.digest)
    passes = planned.scoring.trials_pass  # what a pass is, where not all assertions have to
    return digest(about if passes is None else [*about, passes])


def fixture_digest(fixture: Fixture) -> str:
    """Return the first `DIGITS` of what a fixture means."""
    return fixture.digest[:DIGITS]


EVENTS = ("push", "schedule")
MOST_RUNS = 20
"""Runs that the forge is asked about for one plan."""

_LOST = "x"


class Home(NamedTuple):
    """Where records that count come from: repository, its default branch, paths of workflows."""

    repository: str
    branch: str
    workflows: tuple[str, ...]


class WantedTrials(NamedTuple):
    """The stored trials that a plan could use: by Eval, the setting and the fixtures' digests."""

    setting: str
    fixtures: Mapping[str, str]


def wanted(plan: Plan) -> dict[str, WantedTrials]:
    """Return what a plan could use, by Eval; nothing where base need not be measured.

    An agent that does the same each time is compared by its steps, which are not stored; so are the
    scores of the weighted model not, of which a record knows only what passed; and a judge that is
    shown both answers has to have base's.
    """
    return {
        planned.name: WantedTrials(
            setting_digest(plan, planned, Side.BASE),
            {name: fixture_digest(planned.fixture(name)) for name in _compared(planned)},
        )
        for planned in plan.evals
        if planned.baseline is Baseline.MERGE_BASE
        and planned.bar is None
        and planned.compared
        and not planned.deterministic
        and not planned.scoring.graded
        and not planned.preferring
    }


def _compared(planned: PlannedEval) -> Iterator[str]:
    known = {one.fixture for one in planned.standing}
    return (name for name in planned.compared if name not in known)


def donors(
    asked: Mapping[str, WantedTrials],
    records: Iterable[RunRecord],
    home: Home,
    *,
    since: str,
    most: int,
) -> tuple[RunRecord, ...]:
    """Return the runs, newest first, that hold trials a plan wants, until it has `most` of each.

    Only what says that it is of the default branch is looked at; whether it is, `doubt` tells.
    `since` is the oldest moment (ISO 8601) that counts. Raises nothing for what does not fit.
    """
    missing = {(name, fixture): most for name, one in asked.items() for fixture in one.fixtures}
    found: list[RunRecord] = []
    for record in of_home(records, home, since=since):
        if len(found) == MOST_RUNS or not missing:
            break
        given = {
            (name, one.fixture): len(marks)
            for name, want in asked.items()
            for one, marks in _marks(want, record)
            if (name, one.fixture) in missing
        }
        if given:
            found.append(record)
        for where, many in given.items():
            missing[where] -= many
        missing = {where: many for where, many in missing.items() if many > 0}
    return tuple(found)


def of_home(records: Iterable[RunRecord], home: Home, *, since: str) -> Iterator[RunRecord]:
    """Yield the records that say that they are of the default branch and not before `since`.

    Each run comes once, however often somebody wrote its line, and by its first attempt: a person
    may have asked for the others because of what that one found.
    """
    known: set[int] = set()
    for record in records:
        if record.event not in EVENTS or record.at < since or record.run in known:
            continue
        if record.branch != home.branch or record.workflow not in home.workflows:
            continue
        if record.run and record.id == f"{record.run}-1":
            known.add(record.run)
            yield record


def doubt(record: RunRecord, run: WorkflowRun, home: Home) -> str:
    """Return why a record is not what a run of the default branch measured; empty if it may be.

    Besides, its commit has to be on that branch (a tag may have the branch's name), and the run has
    to have uploaded the record.
    """
    if run.number != record.run:
        return "it is another run"
    if run.event not in EVENTS:
        return f"it ran for {run.event}, not for a push or a schedule"
    if {run.repository.lower(), run.head_repository.lower()} != {home.repository.lower()}:
        return "it ran for another repository"
    if run.branch != home.branch:
        return f"it ran on another branch than {home.branch}"
    if run.path not in home.workflows or run.path != record.workflow:
        return f"it is a run of {run.path}"
    if run.head != record.commit:
        return "it ran on another commit"
    return ""


def with_stored(
    plan: Plan, asked: Mapping[str, WantedTrials], records: Sequence[RunRecord], *, most: int
) -> Plan:
    """Return the plan with the first `most` stored trials of each fixture, the newest run's first.

    The records have to be confirmed. The same ones always give the same plan.
    """
    stored = {name: _stored(want, records, most) for name, want in asked.items()}
    if not any(stored.values()):
        return plan
    seen = {
        name: any(run.seen for record in records for run in _fitting(want, record))
        for name, want in asked.items()
    }
    evals = tuple(
        one.replace(stored=stored[one.name], base_seen=seen[one.name])
        if stored.get(one.name)
        else one
        for one in plan.evals
    )
    filled = plan.replace(evals=evals)
    used = UsedBaseline(
        digest=filled.stored_digest(),
        runs=tuple(
            BaselineRun(run=one.run, commit=one.commit, at=one.at, url=one.url) for one in records
        ),
    )
    return filled.replace(baseline=used)


def _stored(
    want: WantedTrials, records: Sequence[RunRecord], most: int
) -> tuple[StoredTrials, ...]:
    marks: dict[str, str] = {}
    claimed: set[str] = set()
    for record in records:
        for one, given in _marks(want, record):
            if len(marks.get(one.fixture, "")) < most:
                marks[one.fixture] = (marks.get(one.fixture, "") + given)[:most]
                claimed |= {one.fixture} if one.claimed else set()
    return tuple(
        StoredTrials(fixture=name, marks=found, claimed=name in claimed)
        for name, found in marks.items()
    )


def _marks(want: WantedTrials, record: RunRecord) -> Iterator[tuple[RunFixture, str]]:
    """Yield the fixtures of a record that a plan wants, with what was measured of them."""
    for run in _fitting(want, record):
        for one in run.fixtures:
            given = one.trials.replace(_LOST, "")
            if given and want.fixtures.get(one.fixture) == one.digest:
                yield one, given


def _fitting(want: WantedTrials, record: RunRecord) -> list[RunEval]:
    """The first Eval of a record that measured the same; none where stand-ins answered."""
    return [one for one in record.evals if one.setting == want.setting and not one.stood_in][:1]


def stored_agreements(results: Results) -> tuple[StoredAgreement, ...]:
    """Return what a run keeps of the calibrations that it replayed itself."""
    return tuple(
        StoredAgreement(
            calibration=one.calibration,
            binding=one.binding,
            counts=one.agreement,
            versions=one.versions,
            retest=one.retest,
            injections=one.injections,
        )
        for one in results.calibrations
        if one.examples
    )


def stored_watches(results: Results) -> tuple[StoredWatch, ...]:
    """Return what a run keeps of the canaries of judges on whose stored agreement it relied."""
    return tuple(
        StoredWatch(
            binding=one.binding.digest,
            total=one.watch.total,
            fallen=one.watch.fallen,
            versions=one.versions,
        )
        for one in results.calibrations
        if one.watch is not None
    )


def believed_setting(results: Results, planned: PlannedEval, setting: str) -> str:
    """Return the setting's digest; another one where the judge's word did not count.

    Trials in which it counts are no trials of the same thing.
    """
    doubt = judge_doubt(planned, results.calibrations, results.plan.policy.judge)
    return digest([setting, "uncalibrated"]) if doubt else setting


def wanted_agreements(plan: Plan, ours: JudgeDigests) -> dict[str, Binding]:
    """Return what a plan would replay, by digest."""
    bound = (binding_now(plan, one, ours) for one in plan.evals if one.wants_calibration)
    return {one.digest: one for one in bound if one is not None}


def agreement_donors(
    wanted: Iterable[str], records: Iterable[RunRecord], home: Home, *, since: str
) -> tuple[RunRecord, ...]:
    """Return the newest run that holds each agreement that is wanted, by what it says of itself,
    and the newest since then that watched its judge.

    `since` is the oldest moment (ISO 8601) that counts.
    """
    missing, found = set(wanted), list[RunRecord]()
    unwatched = set(missing)
    for record in of_home(records, home, since=since):
        if not missing or len(found) == MOST_RUNS:
            break
        held = {one.binding.digest for one in record.agreements} & missing
        seen = {one.binding for one in record.watches} & missing & unwatched
        if held or seen:
            found.append(record)
            missing -= held
            unwatched -= seen
    return tuple(found)


def with_agreements(plan: Plan, wanted: Mapping[str, Binding], proven: Sequence[RunRecord]) -> Plan:
    """Return the plan with the agreements of these records, which have to be confirmed; the newest
    come first. A judge that fell since it was measured is measured anew.
    """
    known: dict[str, CalibrationReplay] = {}
    for record in reversed(proven):
        for one in record.agreements:
            known[one.binding.digest] = CalibrationReplay(
                calibration=one.calibration,
                binding=one.binding,
                counts=one.counts,
                run=record.id,
                versions=one.versions,
                retest=one.retest,
                injections=one.injections,
            )
        for watch in record.watches:
            if (held := known.pop(watch.binding, None)) is not None and not watch.fallen:
                met = with_fingerprints(held.versions, watch.versions)
                known[watch.binding] = held.replace(before=watch.total, versions=met)
    found = tuple(known[name] for name in sorted(wanted) if name in known)
    return plan.replace(agreements=found) if found else plan


_BEST_FIRST = (CalibrationPhase.CALIBRATED, CalibrationPhase.STALE, CalibrationPhase.FAILED)

Bind = Callable[[Calibration, Binding], Binding]
"""Returns what a replay of a calibration by the judge of an earlier one would be bound to now."""


class DatedAgreement(NamedTuple):
    """An agreement, and when it was measured (ISO 8601 in UTC)."""

    at: str
    agreement: StoredAgreement


def calibration_rows(
    catalogue: Catalogue, measured: Sequence[DatedAgreement], bind: Bind
) -> list[StatusRow]:
    """Return each calibration with the newest agreement of each judge; newest ones come first."""
    rows = []
    for one in sorted(catalogue.calibrations, key=lambda one: one.name):
        evals = [e for e in catalogue.evals if e.judge.calibration == one.name]
        row: StatusRow = {
            "name": one.name,
            "phase": "Pending",
            "judgeModels": list(one.judge_models),
            "examples": len(one.examples),
            "evals": [e.name for e in evals],
            "place": f"{one.place.file}:{one.place.line}",
        }
        rows.append(row | _standing(one, evals, _newest(one.name, measured), bind))
    return rows


def judge_agreement(evaluation: Eval, measured: Iterable[DatedAgreement]) -> str:
    """Return the newest kappa of an Eval's judge to two digits; empty where none is known."""
    for one in measured:
        bound = one.agreement.binding
        named = one.agreement.calibration == evaluation.judge.calibration
        if named and bound.model == evaluation.judge.named:
            return show_kappa(one.agreement.counts)
    return ""


def _newest(name: str, measured: Iterable[DatedAgreement]) -> list[DatedAgreement]:
    """The newest agreement of each judge."""
    found: dict[tuple[str, float], DatedAgreement] = {}
    for one in measured:
        bound = one.agreement.binding
        if one.agreement.calibration == name:
            found.setdefault((bound.model, bound.temperature), one)
    return list(found.values())


def _is_injectable(found: StoredAgreement, evals: Sequence[Eval]) -> bool:
    """Whether attacks say that its judge's word does not count in one of these Evals."""
    mine = [one.judge for one in evals if one.judge.terms == found.binding.judge.terms]
    asked = [one.max_injected for one in mine if one.max_injected is not None]
    return bool(asked) and bool(why_injectable(found.injections, min(asked)))


def _standing(
    calibration: Calibration, evals: Sequence[Eval], newest: Sequence[DatedAgreement], bind: Bind
) -> StatusRow:
    if not newest:
        return {}
    asked = [e.judge.min_agreement for e in evals if e.judge.min_agreement is not None]
    least = max(asked, default=LEAST_AGREEMENT)
    phases: list[CalibrationPhase] = []
    scored: list[Agreement] = []
    by_model: dict[str, JsonValue] = {}
    for one in newest:
        bound, counts = one.agreement.binding, one.agreement.counts
        changed = bound != bind(calibration, bound) or _is_injectable(one.agreement, evals)
        phases.append(phase_of(counts, least, changed=changed, labels=labels_wanted(bound.judge)))
        by_model[bound.model] = show_kappa(counts)
        if counts.scored:
            scored.append(counts)
    return {
        "phase": min(phases, key=_BEST_FIRST.index).value,
        "agreement": show_kappa(max(scored, key=lambda one: one.kappa, default=Agreement())),
        "agreementByModel": by_model,
        "judgesEvaluated": [*by_model],
        "lastReplayAt": max(one.at for one in newest),
    }
