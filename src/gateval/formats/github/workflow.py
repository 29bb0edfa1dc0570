"""Finds the jobs of a workflow that use the gate. A file that is no workflow has none."""

from __future__ import annotations

import re

from pydantic import JsonValue

from gateval.domain.repository.place import Problem
from gateval.domain.setup.gate_job import JOB_MINUTES, RUN_MINUTES, GateJob, Minutes
from gateval.formats.yaml.reader import read_documents

FOLDER = ".github/workflows/"

_OURS = re.compile(
    r"(?:docker://ghcr\.io/)?gateval/gateval(?:/runner)?(?:[@:].*)?"
    r"|\./\.github/actions/(?:from-source|gateval)"
)

_CALLED = re.compile(r"(?:\./|[\w.-]+/[\w.-]+/)\.github/workflows/gateval\.ya?ml(?:@.+)?")
"""A reusable workflow that is taken for the gate's, by its file's name."""

_JOBS = re.compile(r"\b(?:github\.token|secrets\.GITHUB_TOKEN)\b", re.IGNORECASE)
"""How a workflow names the token that GitHub gives each job."""


def is_workflow(path: str) -> bool:
    """Whether GitHub takes this tracked file for a workflow."""
    inside = path.startswith(FOLDER) and "/" not in path.removeprefix(FOLDER)
    return inside and path.endswith((".yml", ".yaml"))


def gate_jobs(path: str, data: bytes) -> tuple[GateJob, ...]:
    """Return the jobs that have a step which uses the action or its image, or call one of those."""
    documents, _ = read_documents(path, data)
    workflow = _mapping(documents[0].data) if documents else {}
    jobs = _mapping(workflow.get("jobs"))
    return tuple(
        _job(path, workflow, name, _mapping(job), step)
        for name, job in jobs.items()
        for step in (_gate_steps(_mapping(job)) or _call(_mapping(job)))
    )


def unreadable(path: str, data: bytes) -> Problem | None:
    """Return why a workflow cannot be read at all, or None if it can."""
    documents, problems = read_documents(path, data)
    return problems[0] if problems and not documents else None


def _gate_steps(job: dict[str, JsonValue]) -> list[dict[str, JsonValue]]:
    steps = job.get("steps")
    found = map(_mapping, steps if isinstance(steps, list) else ())
    return [step for step in found if _OURS.fullmatch(str(step.get("uses", "")))]


def _call(job: dict[str, JsonValue]) -> list[dict[str, JsonValue]]:
    """Return a job that calls the gate's workflow as a step without inputs of the action."""
    return [{}] if _CALLED.fullmatch(str(job.get("uses", ""))) else []


def _job(
    path: str,
    workflow: dict[str, JsonValue],
    name: str,
    job: dict[str, JsonValue],
    step: dict[str, JsonValue],
) -> GateJob:
    given = job["permissions"] if "permissions" in job else workflow.get("permissions")
    given_inputs = _mapping(step.get("with"))
    environments = (workflow.get("env"), job.get("env"), step.get("env"))
    return GateJob(
        path=path,
        check=str(job.get("name", name)),
        events=_events(workflow.get("on")),
        permissions=given
        if isinstance(given, str) or given is None
        else {key: str(value) for key, value in _mapping(given).items()},
        variables=frozenset(key for env in environments for key in _mapping(env)),
        step=str(given_inputs.get("step", "all")),
        inputs=tuple(given_inputs),
        types=_types(workflow.get("on")),
        called=str(job.get("uses", "")),
        own_token="token" in given_inputs and not _JOBS.search(str(given_inputs["token"])),
        minutes=Minutes(
            job=_number(job.get("timeout-minutes"), JOB_MINUTES),
            run=_number(given_inputs.get("max-minutes"), RUN_MINUTES),
        ),
    )


def _number(value: JsonValue, default: float) -> float | None:
    """A number, written as text too; None for an expression."""
    if value in {None, ""}:
        return default
    try:
        return float(str(value))
    except ValueError:
        return None


def _events(on: JsonValue) -> frozenset[str]:
    if isinstance(on, str):
        return frozenset({on})
    if isinstance(on, dict | list):
        return frozenset(str(event) for event in on)
    return frozenset()


def _types(on: JsonValue) -> frozenset[str]:
    """Return the types of `pull_request`: a name or a list of names."""
    types = _mapping(_mapping(on).get("pull_request")).get("types")
    return _events(types)


def _mapping(value: JsonValue) -> dict[str, JsonValue]:
    return value if isinstance(value, dict) else {}
