"""Has the forge confirm that stored runs are what the default branch measured."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from gateval.app.action.event import ActionEvent
from gateval.app.names import RUN_FILE
from gateval.domain.history.baseline import Home, doubt
from gateval.domain.history.runs.file import LINE_LIMIT
from gateval.domain.history.runs.record import RunRecord, record_line
from gateval.domain.plan.plan import Plan
from gateval.errors import GatevalError, MissingPermission, RepositoryError
from gateval.ports.forge import WorkflowRuns
from gateval.ports.repository import Repository

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
            why = why or _doubt(context.forge.runs, record, home)
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
    from gateval.safe.sanitize import plain_line

    said = error.sentence if isinstance(error, GatevalError) else str(error)
    return plain_line(said, 1_000)
