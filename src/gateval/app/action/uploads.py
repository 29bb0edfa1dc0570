"""Whether the workflow of a run uploads the results: a comment links only to what can be had."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateval.errors import GatevalError
from gateval.formats.github.workflow import GateRun, uploads

if TYPE_CHECKING:
    from gateval.app.action.context import ActionContext

FOLDER = ".gateval/results"
"""Where results go that no input sends elsewhere."""

WORKFLOW_LIMIT = 1_000_000
"""Bytes of a workflow that is looked at."""


def uploads_results(context: ActionContext, status: int) -> bool:
    """Whether the run's own workflow, as it is checked out, uploads the folder of the results once
    the gate has ended with an exit status.

    That of another repository, which a ruleset may require, is not seen; so no link is made.
    """
    path, repository = context.workflow, context.repository
    if not path or not context.own_workflow or not context.run_url:
        return False
    try:
        entry = repository.tree(repository.resolve("HEAD")).get(path)
        found = repository.blobs([entry.oid], limit=WORKFLOW_LIMIT) if entry else {}
    except GatevalError:
        return False
    data = found.get(entry.oid) if entry else None
    if data is None:
        return False
    run = GateRun(status, context.run.event, context.trigger.repository, context.job)
    return uploads(path, data, context.inputs.results or FOLDER, run)
