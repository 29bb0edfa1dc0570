"""Finds the jobs of a workflow that use the gate. A file that is no workflow has none."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from pydantic import JsonValue

from gateval.domain.problems import Problem
from gateval.domain.setup.gate_job import (
    JOB_MINUTES,
    RUN_MINUTES,
    Checkout,
    EventFilter,
    Facts,
    GateJob,
    Line,
    Minutes,
    asks_status,
    holds,
)
from gateval.domain.strict_json import list_of, object_of
from gateval.formats.yaml_document import Document, DocumentPath
from gateval.formats.yaml_reader import read_documents

FOLDER = ".github/workflows/"

_OURS = re.compile(
    r"(?:docker://ghcr\.io/)?gateval/gateval(?:/runner)?(?:[@:].*)?"
    r"|\./\.github/actions/(?:from-source|gateval)/?",
    re.IGNORECASE,
)

_CONTAINER = re.compile(r"(?:docker://)?ghcr\.io/gateval/gateval(?:[@:].*)?", re.IGNORECASE)
"""The gate's image as the container of a job, in which a step runs the command."""

_COMMAND = re.compile(r"(?m)(?:^|[;&|]\s*)\s*gateval\s+action\b")

_CALLED = re.compile(
    r"(?:\./|[\w.-]+/[\w.-]+/)\.github/workflows/gateval(?:-[\w-]+)?\.ya?ml(?:@.+)?"
)
"""A reusable workflow that is taken for the gate's, by its file's name."""

_JOBS = re.compile(r"\b(?:github\.token|secrets\.GITHUB_TOKEN)\b", re.IGNORECASE)
"""How a workflow names the token that GitHub gives each job."""

_CHECKOUT = re.compile(r"(?:[\w.-]+/)?[\w.-]*checkout[\w.-]*(?:@.*)?", re.IGNORECASE)
_UPLOAD = re.compile(r"(?:[\w.-]+/)?upload-artifact(?:@.*)?", re.IGNORECASE)
_WORKSPACE = re.compile(r"^\$\{\{\s*github\.workspace\s*\}\}(?:/|$)", re.IGNORECASE)
_RESULTS = re.compile(r"\$\{\{\s*steps\.(?P<step>[\w-]+)\.outputs\.results\s*\}\}", re.IGNORECASE)
_HARMLESS = re.compile(
    r"actions/(?:checkout|cache(?:/restore|/save)?|create-github-app-token|upload-artifact)@.*",
    re.IGNORECASE,
)
"""What runs nothing of a checkout and brings no files of other runs. Others of GitHub's do:
github-script may load a file, and yarn, which setup-node asks, runs what its settings name."""
_HIDDEN = re.compile(r"(?:^|/)\.[^/]")
_CLONES = re.compile(r"\bgit\s+(?:clone|fetch|init)\b|\bgh\s+repo\s+clone\b")

Mapped = dict[str, JsonValue]
Others = Callable[[str], bytes | None]
"""Gives the bytes of a workflow of this repository by its path; None if there is none."""


def is_workflow(path: str) -> bool:
    """Whether GitHub takes this tracked file for a workflow."""
    inside = path.startswith(FOLDER) and "/" not in path.removeprefix(FOLDER)
    return inside and path.endswith((".yml", ".yaml"))


def gate_jobs(path: str, data: bytes, others: Others = lambda _: None) -> tuple[GateJob, ...]:
    """Return the jobs that use the action or its image, or call one, here or elsewhere."""
    return tuple(_found(path, data, others))


def unreadable(path: str, data: bytes) -> Problem | None:
    """Return why a workflow cannot be read at all, or None if it can."""
    documents, problems = read_documents(path, data)
    return problems[0] if problems and not documents else None


class GateRun(NamedTuple):
    """A run of the gate as the steps behind it find it: how it ends, and what started it.

    `job` is the key of its job; empty where nobody told.
    """

    status: int
    event: str
    repository: str
    job: str = ""


def uploads(path: str, data: bytes, folder: str, run: GateRun) -> bool:
    """Whether all of a folder of the workspace is surely uploaded behind a run of the gate.

    The step stands behind the gate's in the same job, and its `if` holds after that exit status.
    What cannot be told is none; so is a workflow that calls others, for the job may be theirs.
    """
    sites = list(_sites(path, data))
    asked = [
        (steps, gates)
        for site in sites
        if run.job in {"", site.name}
        and (steps := _steps(site.job))
        and (gates := [at for at, step in enumerate(steps) if _uses_the_gate(site.job, step)])
    ]
    calls = any("uses" in site.job for site in sites)
    return bool(asked) and not calls and all(_behind(*one, folder, run) for one in asked)


def _behind(steps: list[Mapped], gates: list[int], folder: str, run: GateRun) -> bool:
    """Whether a step behind the last of the gate's in a job uploads the folder for sure."""
    names = [str(steps[at].get("id", "")) for at in gates]
    own = names[0] if len(names) == 1 else ""
    for at in range(gates[-1] + 1, len(steps)):
        step = steps[at]
        if _UPLOAD.fullmatch(str(step.get("uses", ""))):
            given = object_of(step, "with")
            outcome = "failure" if run.status else "success"
            about = {f"steps.{own.lower()}.outcome": outcome} if own else {}
            told: Facts = {
                "github.event_name": run.event,
                "github.repository": run.repository,
                **about,
            }
            of_gate = [steps[one] for one in gates]
            failed = _failed_before(of_gate, run, told, between=at - gates[-1] > 1)
            if _covers(given, folder, own) and _runs(_condition(step.get("if")), failed, told):
                return True
    return False


def _failed_before(
    gates: list[Mapped], run: GateRun, told: Facts, *, between: bool
) -> frozenset[bool]:
    """Return what may be true of "a step before has failed"; both where that is not known."""
    texts = [_condition(one.get("continue-on-error")) for one in gates]
    tolerated = {holds(text, told) if text else False for text in texts}
    if run.status and tolerated == {False}:
        return frozenset({True})
    alone = len(gates) == 1 and not between and not _condition(gates[0].get("if"))
    known = alone and (not run.status or tolerated == {True})
    return frozenset({False}) if known else frozenset({True, False})


def _runs(condition: str, failed: frozenset[bool], told: Facts) -> bool:
    """Whether a step runs in each case. One that asks for no status runs where nothing failed."""
    asked = asks_status(condition)
    return all(
        (asked or not one)
        and (
            not condition
            or holds(condition, {**told, "success()": not one, "failure()": one}) is True
        )
        for one in failed
    )


def _condition(value: JsonValue) -> str:
    text = str(value).lower() if isinstance(value, bool) else str("" if value is None else value)
    return text.strip()


def _covers(given: Mapped, folder: str, step: str) -> bool:
    """Whether paths to upload take in all of a folder; those that begin with `!` take out.

    Hidden files, and all below a hidden folder, are uploaded where the step says so. `step` is the
    id of the gate's, whose output is the folder; other expressions may be anything.
    """
    inside = f"{posixpath.normpath(folder).strip('/')}/"
    hidden = str(given.get("include-hidden-files", "")).lower() == "true"
    covered = False
    for line in str(given.get("path", "")).splitlines():
        bare = line.strip().lstrip("!")
        taken_out = (len(line.strip()) - len(bare)) % 2 == 1
        named = posixpath.normpath(_WORKSPACE.sub("./", bare.strip()))
        if not bare.strip() or bare.startswith("#"):
            continue
        if taken_out:
            covered = covered and _elsewhere(named, inside)
        else:
            covered = covered or _around(named, inside, step)
    return covered and (hidden or not _HIDDEN.search(inside))


def _around(named: str, inside: str, step: str) -> bool:
    plain = re.sub(r"(?:/\*\*?)*/*$", "", named)
    output = _RESULTS.fullmatch(plain)
    own = bool(step and output and output["step"].lower() == step.lower())
    return own or plain in {".", "*", "**"} or inside.startswith(f"{plain}/")


def _elsewhere(named: str, inside: str) -> bool:
    """Whether nothing that a pattern fits can lie in a folder."""
    literal = re.split(r"[*?\[\]{}$\\]", named)[0]
    stem = f"{named}/" if literal == named else literal
    odd = named.startswith(("/", "~", "..")) or "/.." in named or named == "."
    return not odd and not stem.startswith(inside) and not inside.startswith(stem)


class _Site(NamedTuple):
    """A job in its workflow; `at` is its way in the document."""

    path: str
    document: Document
    workflow: Mapped
    name: str
    job: Mapped

    def line(self, *way: str | int) -> int:
        """Return the line of a key of the job, or of the workflow if it begins with `..`."""
        whole: DocumentPath = way[1:] if way[:1] == ("..",) else ("jobs", self.name, *way)
        return self.document.key_place(whole).line


def _sites(path: str, data: bytes) -> Iterator[_Site]:
    documents, _ = read_documents(path, data)
    workflow = object_of(documents[0].data) if documents else {}
    for name, job in object_of(workflow, "jobs").items():
        yield _Site(path, documents[0], workflow, name, object_of(job))


def _found(path: str, data: bytes, others: Others) -> Iterator[GateJob]:
    for site in _sites(path, data):
        steps = _steps(site.job)
        for number, step in enumerate(steps):
            if _uses_the_gate(site.job, step):
                yield _job(site, step, number)
        called = str(site.job.get("uses", ""))
        file = called.removeprefix("./")
        called_data = others(file) if called != file and is_workflow(file) else None
        inner = [] if called_data is None else [*_found(file, called_data, lambda _: None)]
        yield from (_through(_job(site, {}), one) for one in inner)
        if not inner and _CALLED.fullmatch(called):
            yield _job(site, {})


def _uses_the_gate(job: Mapped, step: Mapped) -> bool:
    if _OURS.fullmatch(str(step.get("uses", ""))):
        return True
    container = job.get("container")
    image = str(object_of(container).get("image", "") if isinstance(container, dict) else container)
    return bool(_CONTAINER.fullmatch(image) and _COMMAND.search(str(step.get("run", ""))))


def _through(caller: GateJob, inner: GateJob) -> GateJob:
    """Return a called workflow's job as it runs for its caller."""
    return inner._replace(
        path=caller.path,
        line=caller.line,
        check=f"{caller.check} / {inner.check}",
        events=caller.events,
        types=caller.types,
        filters=caller.filters,
        permissions=_fewer(caller.permissions, inner.permissions),
        conditions=(*caller.conditions, *inner.conditions),
        tolerated=(*caller.tolerated, *inner.tolerated),
        groups=(*caller.groups, *inner.groups),
        called=caller.called,
    )


def _fewer(
    caller: Mapping[str, str] | str | None, inner: Mapping[str, str] | str | None
) -> Mapping[str, str] | str | None:
    """Return what a called job may do: what it says itself, of no more than its caller has."""
    if inner is None or not isinstance(caller, Mapping):
        return caller if inner is None else inner
    levels = ("none", "read", "write")
    if isinstance(inner, str):
        return caller
    both = {name: (caller.get(name, "none"), level) for name, level in inner.items()}
    known = {name: pair for name, pair in both.items() if set(pair) <= set(levels)}
    return {name: min(pair, key=levels.index) for name, pair in known.items()}


def _steps(job: Mapped) -> list[Mapped]:
    return [object_of(step) for step in list_of(job, "steps")]


def _job(site: _Site, step: Mapped, number: int = -1) -> GateJob:
    workflow, job = site.workflow, site.job
    given = job["permissions"] if "permissions" in job else workflow.get("permissions")
    given_inputs = object_of(step, "with")
    environments = (workflow.get("env"), job.get("env"), step.get("env"))
    at: tuple[str | int, ...] = ("steps", number) if number >= 0 else ()
    return GateJob(
        path=site.path,
        key=site.name,
        check=str(job.get("name", site.name)),
        events=_events(workflow.get("on")),
        permissions=given
        if isinstance(given, str) or given is None
        else {key: str(value) for key, value in object_of(given).items()},
        variables=frozenset(key for env in environments for key in object_of(env)),
        shared=frozenset(key for env in environments[:2] for key in object_of(env)),
        step=str(given_inputs.get("step", "all")),
        inputs=tuple(given_inputs),
        types=_events(object_of(workflow, "on", "pull_request").get("types")),
        called=str(job.get("uses", "")),
        own_token="token" in given_inputs and not _JOBS.search(str(given_inputs["token"])),
        minutes=Minutes(
            job=_number(job.get("timeout-minutes"), JOB_MINUTES),
            run=_number(given_inputs.get("max-minutes"), RUN_MINUTES),
        ),
        line=site.line(),
        filters=_filters(site),
        conditions=(
            *_lines(job, "if", site.line("if")),
            *_lines(step, "if", site.line(*at, "if")),
        ),
        tolerated=(
            *_lines(job, "continue-on-error", site.line("continue-on-error")),
            *_lines(step, "continue-on-error", site.line(*at, "continue-on-error")),
        ),
        groups=(*_group(site, workflow, ".."), *_group(site, job)),
        checkout=_checkout(_steps(job)[: max(number, 0)], step) if number >= 0 else Checkout(),
        ran_before=tuple(_ran(site, range(max(number, 0)))),
        ran_beside=tuple(_ran(site, (at for at in range(len(_steps(job))) if at != number))),
        guarded=bool(job.get("environment")),
        uploads=tuple(_uploaded_again(site)),
    )


def _uploaded_again(site: _Site) -> Iterator[Line]:
    """Find the artifacts that a second attempt of the run would upload by the name of the first."""
    for at, step in enumerate(_steps(site.job)):
        given = object_of(step, "with")
        name = str(given.get("name", "artifact"))
        told = f"{name} {step.get('if', '')}"
        again = "github.run_attempt" not in told and _condition(given.get("overwrite")) != "true"
        if again and _UPLOAD.fullmatch(str(step.get("uses", ""))):
            yield Line(name, site.line("steps", at, "uses"))


def _ran(site: _Site, numbers: Iterable[int]) -> Iterator[Line]:
    """Find the steps of these that can run a change's code, or bring files of runs that did: all
    but a few of GitHub's own actions, for whatever fetches the change may run it, too.
    """
    steps = _steps(site.job)
    for at in numbers:
        step = steps[at]
        uses, script = str(step.get("uses", "")), str(step.get("run", "")).strip()
        if script or (uses and not _HARMLESS.fullmatch(uses)):
            text = script.partition("\n")[0] or uses
            yield Line(text, site.line("steps", at, "run" if script else "uses"))


def _lines(where: Mapped, key: str, line: int) -> list[Line]:
    value = where.get(key)
    text = str(value).lower() if isinstance(value, bool) else str(value or "")
    return [Line(text, line)] if text.strip() else []


def _group(site: _Site, where: Mapped, *above: str) -> list[Line]:
    """Return the concurrency group of a workflow or job, unless all of its runs wait in line."""
    found = where.get("concurrency")
    given: Mapped = found if isinstance(found, dict) else {"group": found}
    if str(given.get("queue", "")) == "max":
        return []
    return _lines(given, "group", site.line(*above, "concurrency"))


def _filters(site: _Site) -> Mapping[str, EventFilter]:
    on, found = site.workflow.get("on"), {}
    for event in _events(on):
        given = object_of(on, event)
        listed: dict[str, tuple[str, ...]] = {}
        for key in ("branches", "branches-ignore", "paths", "paths-ignore"):
            value = given.get(key)
            texts = value if isinstance(value, list) else [value] if value else []
            listed[key.replace("-", "_")] = tuple(map(str, texts))
        types = _events(given.get("types"))
        found[event] = EventFilter(line=site.line("..", "on", event), types=types, **listed)
    return found


def _checkout(before: list[Mapped], step: Mapped) -> Checkout:
    """Return what the steps before the gate's bring; local and odd ones may bring anything."""
    for one in before:
        uses = str(one.get("uses", ""))
        if _CHECKOUT.fullmatch(uses):
            return Checkout(folder=str(object_of(one, "with").get("path", "") or "").strip("./"))
    odd = any(str(one.get("uses", "")).startswith("./") for one in (*before, step))
    cloned = any(_CLONES.search(str(one.get("run", ""))) for one in before)
    return Checkout(seen=None if odd or cloned else False)


def _number(value: JsonValue, default: float) -> float | None:
    """A number, written as text too; None for an expression."""
    if value is None or value == "":
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
