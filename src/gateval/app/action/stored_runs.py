"""What earlier runs measured, for a new one, as far as the forge confirms it.

Trials and agreements decide something, so they count as far as the forge confirms that the default
branch measured them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from gateval.app.action.context import ActionEvent
from gateval.app.run.views import RUN_FILE
from gateval.domain.history.baseline import (
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
from gateval.domain.plan.plan import Plan
from gateval.domain.results.averages import EarlierSet
from gateval.errors import GatevalError, MissingPermission, RepositoryError
from gateval.formats.github.action_inputs import ActionStep
from gateval.ports.forge import WorkflowRuns
from gateval.ports.repository import Repository
from gateval.safe.sanitize import plain_line

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
    from gateval.judging.judge import prompt_digest

    asked = wanted_agreements(plan, prompt_digest())
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
