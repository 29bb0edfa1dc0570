"""What earlier runs said, kept in git: verdicts, findings, and what was told of sealed files.

What earlier runs measured, for a new one, as far as the forge confirms it.

Trials and agreements decide something, so they count as far as the forge confirms that the default
branch measured them.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import NamedTuple

from gateval.adapters.age import identities, own_key
from gateval.app.action.context import ActionContext, ActionEvent
from gateval.app.action.result import ActionProgress
from gateval.app.run.views import RUN_FILE
from gateval.domain.decision.decision import Report
from gateval.domain.forge.check_run import (
    TITLE_LIMIT,
    CheckReport,
    CheckRun,
    Conclusion,
    GivenBits,
    HeadOnSeal,
    Room,
    given_in,
    head_on_seal,
    most_bits,
    room,
    seals_of,
    told,
)
from gateval.domain.forge.trigger import EventName, Trigger
from gateval.domain.history.baseline import (
    EVENTS,
    Home,
    agreement_donors,
    donors,
    doubt,
    wanted,
    wanted_agreements,
    with_agreements,
    with_stored,
)
from gateval.domain.history.recorded import earlier_sets, experiments
from gateval.domain.history.run_record import LINE_LIMIT, RunRecord, record_line
from gateval.domain.history.standing import (
    UNREADABLE,
    kept_findings,
    regressions_of,
    remembered,
    with_spent_budget,
    with_standing,
)
from gateval.domain.history.verdicts import (
    HistoryRecord,
    all_records,
    inputs_digest,
    outdated,
    overtaken,
    plan_digest,
    record_of,
)
from gateval.domain.label_decision import GateLabel
from gateval.domain.manifests.gate_config import Policy, policy_digest
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.averages import EarlierSet
from gateval.domain.results.results import Results
from gateval.domain.text import markdown
from gateval.errors import (
    ForgeError,
    GatevalError,
    MissingPermission,
    RecordsError,
    RepositoryError,
)
from gateval.formats.github.action_inputs import ActionStep
from gateval.pipeline.read import read_rules
from gateval.pipeline.resolved_event import read_stored_records, verdict_in
from gateval.ports.forge import WorkflowRuns
from gateval.ports.repository import Repository
from gateval.ports.storage import HISTORY, RUNS, Stored
from gateval.publish.audit import store_verdict
from gateval.publish.check import PublishTarget, is_ours, newest_check
from gateval.safe.sanitize import label, plain_line


class StoredVerdict(NamedTuple):
    """A verdict that may be restated with the check run that shows it now, or why there is none."""

    record: HistoryRecord | None
    check: CheckRun | None = None
    why_not: str = ""


def verdict_record(event: ActionEvent, report: Report, whole: Report) -> HistoryRecord | None:
    """Return what is to be stored of the verdict on a pull request's head; None if nothing is.

    `whole` has what is sealed in it.
    """
    if not event.binds or event.resolved.number is None or report.results.plan.nothing:
        return None
    from gateval.render.report.headline import headline

    return record_of(
        report,
        run=event.context.run,
        recorded_at=event.context.clock.utc_now(),
        started_at=event.target.stamp.started,
        check=event.target.check_name,
        read_from=_inputs(event),
        regressed=tuple(regressions_of(report)),
        headline=headline(report),
        kept=kept_findings(whole, own_key(event.context.settings.environ)),
        plan=whole.results.plan,
    )


def keep_verdict(event: ActionEvent, record: HistoryRecord | None) -> str:
    """Store a verdict; return a sentence if that failed."""
    if record is None:
        return ""
    try:
        with event.context.open_records() as records:
            store_verdict(records, record)
    except (GatevalError, OSError) as error:
        return f"{NOT_KEPT} {said_by(error)}"
    return ""


NOT_KEPT = (
    "The verdict could not be kept in git (refs/gateval/history), so what regressed stands on this "
    "commit alone, by the check run, and not at all where that cannot be written either; another "
    "commit is measured anew, and a label runs the evals again. The job needs "
    "`contents: write`; its log says what stood in the way."
)


class StoredVerdicts:
    """Looks for a verdict to restate while the run finds out what it is about.

    A stored verdict is a cache that anybody who may push can write, so the gate's own check run has
    to confirm it. It never becomes a pass: one that says so only leaves a check run alone that
    passed on this commit already. The label that
    accepts a lower bar can turn a fail into a pass, so while it is there the evals run; and so they
    do when somebody runs the job again, for that is how one asks for them.
    """

    def __init__(self, context: ActionContext, trigger: Trigger) -> None:
        self._label = trigger.label
        whole = context.inputs.step is ActionStep.ALL and trigger.trust.verified
        self._reading: Future[tuple[Stored | None, Stored | None]] | None = None
        if self._label is not None and whole:
            aside = ThreadPoolExecutor(1)
            self._reading = aside.submit(read_stored_records, context.open_records)
            aside.shutdown(wait=False)

    def audit(self) -> Stored | None:
        """Return the audit log as it was read, None when it is to be read later."""
        reading = self._reading
        if reading is None or reading.exception() is not None:
            return None
        return reading.result()[1]

    def find(self, event: ActionEvent) -> StoredVerdict | None:
        """Return what there is to restate, whatever would run now; None if it is not asked for."""
        if self._reading is None or self._label is None:
            return None
        why: str | None = None
        record, check = None, None
        if event.context.run.attempt > 1:
            why = "somebody asked for another attempt"
        elif GateLabel.ACCEPT_BAR in {GateLabel.named(self._label.name), *event.labels}:
            why = "what the label accept-bar-change accepts has to be measured"
        else:
            try:
                history, _ = self._reading.result()
                record = verdict_in(history, event.target.head, event.target.check_name)
                if record is not None:
                    check = newest_check(event.context.forge, event.target)
                    why = overtaken(record, check)
                else:
                    why = "no verdict on this revision is stored"
            except (GatevalError, OSError) as error:
                why = f"the stored verdict cannot be read: {said_by(error)}"
        return StoredVerdict(None, why_not=why) if why else StoredVerdict(record, check)


def unchanged_rules(stored: StoredVerdict | None, event: ActionEvent) -> Policy | None:
    """Return the policy if a plan made now is sure to be the record's; None if it has to be made.

    A draft may have to wait, which the plan decides.
    """
    if stored is None or stored.record is None or event.resolved.draft:
        return None
    if stored.record.read_from != _inputs(event) or stored.record.head != event.target.head:
        return None
    context, tip = event.context, event.resolved.revisions.base_tip
    rules = read_rules(context.repository, tip, context.shared, context.inputs.config).rules
    same = not rules.unread and policy_digest(rules.policy) == stored.record.policy
    return rules.policy if same else None


def _inputs(event: ActionEvent) -> str:
    revisions, context = event.resolved.revisions, event.context
    return inputs_digest(
        head=revisions.head,
        base=revisions.base,
        base_tip=revisions.base_tip,
        config=context.inputs.config,
        narrowing=context.narrowing,
    )


def same_plan(stored: StoredVerdict | None, plan: Plan) -> StoredVerdict | None:
    """Return what was found if a plan made now is the record's, else why it is not."""
    if stored is None or stored.record is None:
        return stored
    head, policy = plan.head.commit or "", policy_digest(plan.policy)
    why = outdated(stored.record, head=head, policy=policy, plan=plan_digest(plan))
    return StoredVerdict(None, why_not=why) if why else stored


def said_by(error: Exception) -> str:
    """Return an error for the log: it may quote what somebody pushed."""
    return plain_line(str(error), 1_000)


def with_earlier_findings(
    event: ActionEvent, plan: Plan, progress: ActionProgress
) -> tuple[Plan, str]:
    """Return the plan with what earlier runs found regressed, and lines for the log, if any.

    A comment goes on with what was found and never starts over: where the records cannot be read,
    it raises `RecordsError`. Other events go by the check runs then, and where neither can be read
    there is no pass.
    """
    if not event.binds or not plan.evals:
        return plan, ""
    records, unread = _records(event)
    checks, unlisted, doubtful = _checks(progress, event.target, records)
    if doubtful or (unread and unlisted):
        plan = plan.replace(findings_lost=UNREADABLE)
    environ = event.context.settings.environ
    secrets, own = identities(environ), own_key(environ)
    found = remembered(records, checks, secrets, own, event.target.head)
    plan = with_spent_budget(with_standing(plan, found, secrets), records, found.spent)
    return plan, unread + unlisted


def _records(event: ActionEvent) -> tuple[Sequence[HistoryRecord], str]:
    """Return the records in git, and a line if they cannot be read."""
    try:
        with event.context.open_records() as records:
            records.preload(HISTORY, RUNS)
            stored = records.read(HISTORY)
    except (GatevalError, OSError) as error:
        why = said_by(error)
        if event.trigger.event is EventName.COMMENT:
            raise RecordsError(
                f"Earlier findings on this head cannot be read, so nothing is run. {why}",
                hint="Ask again when they can be, or push.",
            ) from error
        return (), f"Records in git cannot be read, so check runs tell what was found. {why}\n"
    return all_records(stored.content) if stored and stored.content else (), ""


def _checks(
    progress: ActionProgress, target: PublishTarget, records: Sequence[HistoryRecord]
) -> tuple[Sequence[CheckRun], str, bool]:
    """Return our check runs on head; a line if they cannot be listed; and whether they may know
    more than the records: not if one of those is of this head, nor where the job may write none.
    """
    try:
        return progress.earlier_checks(target), "", False
    except ForgeError as error:
        note = f"Check runs on this commit cannot be listed. {said_by(error)}\n"
        there = any((one.head, one.check) == (target.head, target.check_name) for one in records)
        return (), note, not there and not isinstance(error, MissingPermission)


CHECK_NAME = "gateval (sealed)"
"""The check run that a run leaves on the commit that sealed a file."""


class SealEntry(NamedTuple):
    """What a run of a head left on a seal before it told anything: check run `number`."""

    number: int
    given: GivenBits
    before: HeadOnSeal
    evals: tuple[PlannedEval, ...]


def counted(event: ActionEvent, plan: Plan) -> tuple[Plan, Room, Sequence[SealEntry]]:
    """Count what this run gives away of sealed files, each on the commit that sealed it. Return the
    plan with what has to be said, what may be told of what is sealed, and what was counted for it.

    It is counted as if it told something new; `settled` takes that back. What cannot be counted is
    not told.
    """
    if not seals_of(plan) or not event.binds:
        return plan, Room.FREE, ()
    limit, left, said, entries = plan.policy.sealed_bits, Room.FREE, list[str](), list[SealEntry]()
    try:
        for commit, paths in _seals(event, plan).items():
            known, month = _entries_on(event, commit), event.context.clock.utc_now()[:7]
            given = given_in(month, known)
            mine = room(given, limit)
            if mine is not Room.NONE:
                before = head_on_seal(event.target.head, known)
                evals = {one.name: one for some in paths.values() for one in some}.values()
                bits = round(before.price(most_bits(evals, rates=mine is not Room.VERDICTS)), 2)
                mark = GivenBits(
                    month=month, head=event.target.head, bits=bits, before=round(given, 2)
                )
                made = event.context.forge.create_check_run(commit, _bits_report(event, mark))
                entries.append(SealEntry(made.number, mark, before, tuple(evals)))
            if mine is not Room.FREE:
                said.append(_sentence(", ".join(paths), given, limit, mine))
            left = max(left, mine)
    except GatevalError as error:
        left = Room.NONE
        said.append(
            "What runs give away of sealed files cannot be counted, so what is sealed did not run. "
            f"{said_by(error)}"
        )
    warned = plan.replace(warnings=(*plan.warnings, *said))
    return warned, left, entries


def _seals(event: ActionEvent, plan: Plan) -> dict[str, dict[str, tuple[PlannedEval, ...]]]:
    """Return the commits of the target branch that wrote sealed files last, each with its files and
    the Evals that tell of them. Files that one commit wrote share their entries.
    """
    found = dict[str, dict[str, tuple[PlannedEval, ...]]]()
    tip = (plan.base_tip or plan.head).commit or event.target.head
    for path, evals in sorted(seals_of(plan).items()):
        commit = event.context.forge.last_commit(path, tip) or tip
        found.setdefault(commit, {})[path] = evals
    return found


def settled(event: ActionEvent, entries: Sequence[SealEntry], results: Results) -> str:
    """Note what is about to be told, and take the bits back where the last run of this head told
    the same. Return a line for the log if that failed: then the bits stay counted.
    """
    for one in entries:
        now = told(one.evals, results.sealed)
        same = bool(one.before.told) and one.before.told == now
        given = one.given.replace(told=now, **{"bits": 0.0} if same else {})
        try:
            event.context.forge.update_check_run(one.number, _bits_report(event, given))
        except GatevalError as error:
            return f"What was told of sealed Evals stays counted in full. {said_by(error)}\n"
    return ""


def _entries_on(event: ActionEvent, commit: str) -> tuple[GivenBits, ...]:
    """Return what our runs left on the commit that sealed a file, newest first."""
    forge = event.context.forge
    listed = forge.check_runs(commit, CHECK_NAME)
    ours = [one for one in listed if is_ours(forge, one)]
    return tuple(given for one in ours if (given := GivenBits.parse(one.text)) is not None)


def _bits_report(event: ActionEvent, given: GivenBits) -> CheckReport:
    return CheckReport(
        name=CHECK_NAME,
        external_id=str(event.target.stamp),
        details_url=event.target.details_url,
        started_at=event.target.stamp.started,
        conclusion=Conclusion.NEUTRAL,
        title=label(f"{given.bits:.2f} bits of what is sealed here were told", TITLE_LIMIT),
        summary=markdown(
            "A run told a verdict on what this commit seals. The gate counts these by month "
            "(`policy.sealedBits`)."
        ),
        text=str(given),
    )


def _sentence(path: str, given: float, limit: int, left: Room) -> str:
    """Say how much was given away, and what follows."""
    said = f"{given:,.0f} of {limit:,} bits a month of {path} were told (policy.sealedBits)"
    if left is Room.WARNED:
        return f"{said}. Beyond that, verdicts alone are told. Seal other fixtures."
    if left is Room.VERDICTS:
        return f"{said}, so verdicts alone are told. Seal other fixtures in their place."
    return (
        f"{said}, more than twice as many as may be. What is sealed there did not run: a holder of "
        "the key seals other fixtures in their place."
    )


ARTIFACT = "gateval-baseline"
"""The name of the artifact that holds a run's record and nothing else."""

_MOMENT = "%Y-%m-%dT%H:%M:%SZ"


def home_of(event: ActionEvent, plan: Plan) -> tuple[Home, str]:
    """Return where runs that count come from, and the oldest moment (ISO 8601) that counts."""
    policy, context = plan.policy.baseline, event.context
    own = [context.workflow] if context.workflow else []
    home = Home(event.trigger.repository, event.trigger.default_branch, (*own, *policy.workflows))
    now = datetime.strptime(context.clock.utc_now(), _MOMENT)  # noqa: DTZ007 - Z stands there
    return home, (now - timedelta(days=policy.max_age_days)).strftime(_MOMENT)


def proven(
    event: ActionEvent, offered: Sequence[RunRecord], home: Home
) -> tuple[list[RunRecord], str]:
    """Return the runs that the forge confirms, and lines for the log on the others.

    Raises `MissingPermission` where it may not be asked, and what the server says.
    """
    if not offered:
        return [], ""
    context = event.context
    tip = context.server.tip(home.branch)
    context.server.bring([tip])
    confirmed, notes = [], ""
    for record in offered:
        try:
            why = _off(context.repository, record.commit, tip, home.branch)
            why = why or _doubt(context.forge, record, home)
        except MissingPermission:
            raise
        except GatevalError as error:
            why = said(error)
        if why:
            notes += f"The stored run {record.id} does not count: {why}.\n"
        else:
            confirmed.append(record)
    return confirmed, notes


def _off(repository: Repository, commit: str, tip: str, branch: str) -> str:
    """Return why a commit is not known to be on a branch; empty if it is.

    The forge tells a tag from a branch of the same name by nothing, and whoever may push can make
    one, with a workflow of their own.
    """
    try:
        return "" if commit in repository.merge_bases(commit, tip) else f"it is not on {branch}"
    except RepositoryError:
        return (
            f"whether its commit is on {branch} cannot be seen in this clone (check out with "
            "`fetch-depth: 0`)"
        )


def _doubt(runs: WorkflowRuns, record: RunRecord, home: Home) -> str:
    """Return why a record is not believed; empty if its run is of the default branch and has it."""
    why = doubt(record, runs.workflow_run(record.run), home)
    if why:
        return why
    line = record_line(record)
    found = runs.artifacts(record.run, ARTIFACT)
    if any(runs.artifact_file(one, RUN_FILE, limit=LINE_LIMIT) == line for one in found):
        return ""
    if not found:
        return f"the run has no artifact {ARTIFACT}"
    return f"what the run uploaded as {ARTIFACT} is another record"


def said(error: Exception) -> str:
    """Return an error as a line of the log."""
    said = error.sentence if isinstance(error, GatevalError) else str(error)
    return plain_line(said, 1_000)


def with_baseline(event: ActionEvent, plan: Plan) -> tuple[Plan, str]:
    """Return the plan with the stored base trials that are proven, and lines for the log.

    Without any, base is measured beside head, as ever. Runs in parts plan twice, and one that is
    not trusted proves nothing: neither uses what is stored.
    """
    policy = plan.policy.baseline
    if not event.binds or event.context.inputs.step is not ActionStep.ALL or not policy.trials:
        return plan, ""
    asked = wanted(plan)
    if not asked or not event.trigger.default_branch:
        return plan, ""
    try:
        stored = event.stored_runs()
        home, since = home_of(event, plan)
        offered = donors(asked, stored, home, since=since, most=policy.trials)
        confirmed, notes = proven(event, offered, home)
    except (GatevalError, OSError) as error:
        return plan, f"Base is measured beside head: {said(error)}\n"
    filled = with_stored(plan, asked, confirmed, most=policy.trials)
    if filled.baseline is not None:
        runs = len(filled.baseline.runs)
        notes += (
            f"Stored trials of {runs} {'run' if runs == 1 else 'runs'} on the default branch stand "
            f"for base (baseline {filled.baseline.digest[:12]}).\n"
        )
    return filled, notes


def with_stored_agreements(event: ActionEvent, plan: Plan) -> tuple[Plan, str]:
    """Return the plan with the agreements that are proven, and lines for the log.

    Calibrations without one are replayed in this run: where the change touches judge, rubric or
    examples, and where nothing is stored, too old, or not confirmed.
    """
    if not any(one.wants_calibration for one in plan.evals):
        return plan, ""
    whole = event.binds and event.context.inputs.step is ActionStep.ALL
    if not whole or not event.trigger.default_branch:
        return plan, ""
    from gateval.judging.calibrating import judge_digests

    plan = plan.replace(retests=event.trigger.event.value in EVENTS)
    asked = wanted_agreements(plan, judge_digests())
    try:
        stored = event.stored_runs()
        home, since = home_of(event, plan)
        offered = agreement_donors(asked, stored, home, since=since)
        confirmed, notes = proven(event, offered, home)
    except (GatevalError, OSError) as error:
        return plan, f"Calibrations are replayed in this run: {said(error)}\n"
    filled = with_agreements(plan, asked, confirmed)
    for one in filled.agreements:
        notes += (
            f"The judge {one.binding.model} was calibrated by {one.calibration} in {one.run}.\n"
        )
    return filled, notes


def sets_stored(event: ActionEvent, plan: Plan) -> tuple[EarlierSet, ...]:
    """Return the newest set of each experiment of a plan; none where the file cannot be read.

    They are shown and decide nothing, so that no proof is asked for.
    """
    names = [one.own_name for one in experiments(plan)]
    if not names or not event.binds:
        return ()
    try:
        return earlier_sets(plan, event.stored_runs(names))
    except (GatevalError, OSError):
        return ()
