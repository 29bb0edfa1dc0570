"""Whether a job without the key of kept layers may read them all the same."""

from __future__ import annotations

from gateval.app.action.event import ActionEvent
from gateval.domain.forge.trigger import of_default_branch
from gateval.errors import GatevalError
from gateval.formats.github.workflow import gate_jobs

WORKFLOW_LIMIT = 1_000_000
"""Bytes of a workflow that is looked at."""


def reads_unsigned(event: ActionEvent) -> bool:
    """Whether what a cache put back can only be what trusted runs of the default branch have made.

    That takes a machine of GitHub's that is thrown away after the job, a run on the default branch
    itself, whose cache no pull request writes, and a job in which nothing ran the change's code
    before the gate. The workflow is read as it is at the commit of which this run took it.
    """
    environ = event.context.settings.environ
    hosted = environ.get("RUNNER_ENVIRONMENT", "") == "github-hosted"
    if not hosted or not of_default_branch(event.trigger, environ.get("GITHUB_REF", "")):
        return False
    context, at = event.context, environ.get("GITHUB_WORKFLOW_SHA", "")
    if not at or not context.workflow or not context.own_workflow:
        return False
    try:
        entry = context.repository.tree(context.repository.resolve(at)).get(context.workflow)
        read = context.repository.blobs([entry.oid], limit=WORKFLOW_LIMIT) if entry else {}
    except GatevalError:
        return False
    data = next(iter(read.values()), None)
    found = gate_jobs(context.workflow, data) if data else ()
    jobs = [job for job in found if job.key == context.job]
    return bool(jobs) and not any(job.ran_before or job.called for job in jobs)
