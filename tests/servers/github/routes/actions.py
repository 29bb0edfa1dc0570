"""Workflow runs and their artifacts. https://docs.github.com/rest/actions"""

from __future__ import annotations

from tests.servers.github.access import Needs
from tests.servers.github.http import ApiError, Call, Reply, not_found
from tests.servers.github.routing import route
from tests.servers.github.state.actions import Artifact, WorkflowRun
from tests.servers.github.views.actions import artifact, workflow_run

READ = Needs("actions=read")


@route("GET", "R/actions/runs/{run_id}", READ)
def get_run(call: Call) -> Reply:
    """One run."""
    return Reply(200, workflow_run(_run(call), call.repo, call.links))


@route("GET", "R/actions/runs/{run_id}/artifacts", READ)
def list_artifacts(call: Call) -> Reply:
    """What a run uploaded."""
    name = call.query.get("name")
    found = [one for one in _run(call).artifacts if name in {None, one.name}]
    shown = [artifact(one, _run(call), call.repo, call.links) for one in found]
    return Reply(200, {"total_count": len(shown), "artifacts": shown})


@route("GET", "R/actions/artifacts/{artifact_id}/{archive_format}", READ)
def download(call: Call) -> Reply:
    """The address of an artifact in the store, which takes no token."""
    found = _artifact(call)
    if found.expired:
        raise ApiError(410, "Artifact has expired")
    return Reply(302, None, {"Location": found.place})


def _run(call: Call) -> WorkflowRun:
    number = call.params["run_id"]
    run = call.repo.workflow_runs.get(int(number)) if number.isdigit() else None
    if run is None:
        raise not_found()
    return run


def _artifact(call: Call) -> Artifact:
    runs = call.repo.workflow_runs.values()
    number = call.params["artifact_id"]
    for one in (one for run in runs for one in run.artifacts):
        if str(one.id) == number and call.params["archive_format"] == "zip":
            return one
    raise not_found()
