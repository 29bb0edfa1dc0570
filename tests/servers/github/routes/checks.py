"""Check runs and suites.

Only an app may write them, and only its own. https://docs.github.com/rest/checks/runs
"""

from __future__ import annotations

from typing import Any

from tests.servers.github.access import Needs
from tests.servers.github.http import ApiError, Call, Reply, is_workflow, not_found
from tests.servers.github.pages import page
from tests.servers.github.routes.check_rules import refuse_bad_check
from tests.servers.github.routing import route
from tests.servers.github.state.checks import CheckRun, CheckSuite
from tests.servers.github.views.checks import annotation, check_run, check_suite

READ = Needs("checks=read", public=True)
WRITE = Needs("checks=write", app_only=True)


@route("POST", "R/check-runs", WRITE)
def create_check_run(call: Call) -> Reply:
    """A new check run, in the app's suite on that commit."""
    repo, body = call.repo, call.body or {}
    refuse_bad_check(body)
    sha = body.get("head_sha", "")
    if repo.look(sha) is None:
        raise ApiError(422, f"No commit found for SHA: {sha}")
    assert call.app is not None
    run = repo.add_check(body["name"], sha, app=call.app, status="queued", conclusion=None)
    _apply(call, run)
    return Reply(201, check_run(run, repo, call.links))


@route("PATCH", "R/check-runs/{check_run_id}", WRITE)
def update_check_run(call: Call) -> Reply:
    """Change a check run; annotations are added to those there are."""
    run, body = _run(call), call.body or {}
    if run.app != call.app:
        raise ApiError(
            403,
            f"Invalid app_id `{run.app.id}` - check run can only be modified by the GitHub App "
            "that created it.",
        )
    if run.managed and {"status", "conclusion"} & set(body):
        raise ApiError(
            403,
            "Check run status and conclusions can only be updated internally by GitHub Actions",
        )
    refuse_bad_check(body)
    run.name = body.get("name", run.name)
    _apply(call, run)
    return Reply(200, check_run(run, call.repo, call.links))


@route("GET", "R/check-runs/{check_run_id}", READ)
def get_check_run(call: Call) -> Reply:
    """One check run."""
    return Reply(200, check_run(_run(call), call.repo, call.links))


@route("GET", "R/check-runs/{check_run_id}/annotations", READ)
def list_annotations(call: Call) -> Reply:
    """The annotations of a run, in the order they came."""
    run, repo = _run(call), call.repo
    return page(call, run.annotations, lambda each: annotation(each, run, repo, call.links))


@route("GET", "R/commits/{ref}/check-runs", READ)
def list_for_ref(call: Call) -> Reply:
    """The check runs on a commit, newest first."""
    sha = call.commit_id(call.params["ref"])
    return _list(call, [run for run in call.repo.check_runs.values() if run.head_sha == sha])


@route("GET", "R/check-suites/{check_suite_id}/check-runs", READ)
def list_for_suite(call: Call) -> Reply:
    """The check runs of a suite, newest first."""
    suite = _suite(call)
    return _list(call, [run for run in call.repo.check_runs.values() if run.suite == suite])


@route("GET", "R/check-suites/{check_suite_id}", READ)
def get_suite(call: Call) -> Reply:
    """One suite."""
    return Reply(200, check_suite(_suite(call), call.repo, call.links))


@route("GET", "R/commits/{ref}/check-suites", READ)
def list_suites(call: Call) -> Reply:
    """The suites on a commit, one for each app."""
    repo, sha = call.repo, call.commit_id(call.params["ref"])
    app, name = call.query.get("app_id"), call.query.get("check_name")
    found = [
        suite
        for suite in repo.suites
        if suite.head_sha == sha
        and app in {None, str(suite.app.id)}
        and (name is None or any(run.suite == suite for run in repo.checks(name)))
    ]
    return page(
        call, found, lambda each: check_suite(each, repo, call.links), within="check_suites"
    )


def _apply(call: Call, run: CheckRun) -> None:
    body: dict[str, Any] = call.body
    output: dict[str, Any] = body.get("output", {})
    now = call.world.clock.tick()
    run.status = "completed" if "conclusion" in body else body.get("status", run.status)
    run.conclusion = body.get("conclusion", run.conclusion) if run.status == "completed" else None
    run.started_at = body.get("started_at", run.started_at or now)
    ended = body.get("completed_at", run.completed_at or now)
    run.completed_at = ended if run.status == "completed" else None
    run.external_id = body.get("external_id", run.external_id)
    if not is_workflow(call.token):
        run.details_url = body.get("details_url", run.details_url)
    for key in ("title", "summary", "text"):
        setattr(run, key, output.get(key, getattr(run, key)))
    run.annotations += output.get("annotations", [])


def _list(call: Call, runs: list[CheckRun]) -> Reply:
    query, repo = call.query, call.repo
    fitting = [
        run
        for run in sorted(runs, key=lambda run: -run.id)
        if query.get("check_name", run.name) == run.name
        and query.get("status", run.status) == run.status
        and query.get("app_id", str(run.app.id)) == str(run.app.id)
    ]
    if query.get("filter", "latest") == "latest":
        newest = {(run.app.id, run.name): run for run in reversed(fitting)}
        fitting = [run for run in fitting if newest[run.app.id, run.name] is run]
    return page(call, fitting, lambda run: check_run(run, repo, call.links), within="check_runs")


def _run(call: Call) -> CheckRun:
    number = call.params["check_run_id"]
    run = call.repo.check_runs.get(int(number)) if number.isdigit() else None
    if run is None:
        raise not_found()
    return run


def _suite(call: Call) -> CheckSuite:
    number = call.params["check_suite_id"]
    found = next((each for each in call.repo.suites if str(each.id) == number), None)
    if found is None:
        raise not_found()
    return found
