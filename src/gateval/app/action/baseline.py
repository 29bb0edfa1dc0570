"""Takes what the default branch measured in place of base, as far as the forge confirms it."""

from __future__ import annotations

from datetime import datetime, timedelta

from gateval.app.action.event import ActionEvent
from gateval.app.names import RUN_FILE
from gateval.domain.history.baseline import Home, Wanted, donors, doubt, wanted, with_stored
from gateval.domain.history.run_file import LINE_LIMIT, newest_first
from gateval.domain.history.run_record import RunRecord, record_line
from gateval.domain.plan.plan import Plan
from gateval.errors import GatevalError, MissingPermission, RepositoryError
from gateval.formats.github.action_inputs import ActionStep
from gateval.ports.forge.workflow_runs import WorkflowRuns
from gateval.ports.repository import Repository
from gateval.ports.run_file import RUNS

ARTIFACT = "gateval-baseline"
"""The name of the artifact that holds a run's record and nothing else."""

_MOMENT = "%Y-%m-%dT%H:%M:%SZ"


def with_baseline(event: ActionEvent, plan: Plan) -> tuple[Plan, str]:
    """Return the plan with the stored base trials that are proven, and lines for the log.

    Without any, base is measured beside head, as ever. Runs in parts plan twice, and one that is
    not trusted proves nothing: neither uses what is stored.
    """
    policy, context = plan.policy.baseline, event.context
    if not event.binds or context.inputs.step is not ActionStep.ALL or not policy.trials:
        return plan, ""
    asked = wanted(plan)
    if not asked or not event.trigger.default_branch:
        return plan, ""
    try:
        with context.open_records() as records:
            stored = records.read(RUNS)
        if not stored or not stored.content:
            return plan, ""
        proven, notes = _proven(event, asked, stored.content, plan)
    except (GatevalError, OSError) as error:
        return plan, f"Base is measured beside head: {_said(error)}\n"
    filled = with_stored(plan, asked, proven, most=policy.trials)
    if filled.baseline is not None:
        runs = len(filled.baseline.runs)
        notes += (
            f"Stored trials of {runs} {'run' if runs == 1 else 'runs'} on the default branch stand "
            f"for base (baseline {filled.baseline.digest[:12]}).\n"
        )
    return filled, notes


def _proven(
    event: ActionEvent, asked: dict[str, Wanted], content: bytes, plan: Plan
) -> tuple[list[RunRecord], str]:
    policy, context = plan.policy.baseline, event.context
    own = [context.workflow] if context.workflow else []
    home = Home(event.trigger.repository, event.trigger.default_branch, (*own, *policy.workflows))
    now = datetime.strptime(context.clock.utc_now(), _MOMENT)  # noqa: DTZ007 - Z stands there
    since = (now - timedelta(days=policy.max_age_days)).strftime(_MOMENT)
    offered = donors(asked, newest_first(content), home, since=since, most=policy.trials)
    if not offered:
        return [], ""
    tip = context.server.tip(home.branch)
    context.server.bring([tip])
    proven, notes = [], ""
    for record in offered:
        try:
            why = _off(context.repository, record.commit, tip, home.branch)
            why = why or _doubt(context.forge.runs, record, home)
        except MissingPermission as error:
            return [], f"Base is measured beside head: {_said(error)}\n"
        except GatevalError as error:
            why = _said(error)
        if why:
            notes += f"The stored run {record.id} does not count: {why}.\n"
        else:
            proven.append(record)
    return proven, notes


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


def _said(error: Exception) -> str:
    from gateval.safe.sanitize import plain_line

    said = error.sentence if isinstance(error, GatevalError) else str(error)
    return plain_line(said, 1_000)
