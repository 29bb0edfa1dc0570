"""Which jobs GitHub starts for what happens to a pull request: events, filters, conditions. Pure.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax. A check that is
required and that no job reports is waited for without end, and a green that nobody measured is
worse.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from gateval.domain.setup.gate_job import (
    EventFilter,
    Facts,
    GateJob,
    Line,
    UnknownValue,
    holds,
    names_in,
)

if TYPE_CHECKING:
    import re2

PULL, QUEUE = "pull_request", "merge_group"

USUAL_TYPES = frozenset({"opened", "synchronize", "reopened"})
"""The types of `pull_request` that start a run where none are written."""

MOST_FILES = 300
"""Changed files that GitHub's filter of paths looks at."""

_VARYING = (
    "github.ref",
    "github.head_ref",
    "github.ref_name",
    "github.sha",
    "github.run_id",
    "github.run_number",
    "github.event.number",
    "github.event.after",
    "github.event.pull_request.number",
    "github.event.pull_request.id",
    "github.event.pull_request.node_id",
    "github.event.pull_request.url",
    "github.event.pull_request.html_url",
    "github.event.pull_request.head",
    "github.event.merge_group.head",
    "github.event.client_payload",
    "inputs",
    "matrix",
)
"""The beginnings of names that differ between two pull requests."""


class Occasion(NamedTuple):
    """What happens on GitHub: the event and its action, and what can be asked about it.

    `base` is the target branch, None where it is any; `files` are the paths that the change
    touches, None where they are any.
    """

    event: str
    action: str
    base: str | None = None
    files: tuple[str, ...] | None = None
    facts: Facts = {}


class JobReach(NamedTuple):
    """Whether a job runs, None where that cannot be told; and why not, as half a sentence."""

    runs: bool | None
    why: str = ""
    line: int = 1


YES = JobReach(runs=True)


def a_push(repository: str, base: str | None, **known: object) -> Occasion:
    """Return somebody's push to a pull request of the repository's own branches."""
    facts: dict[str, object] = {
        **pull_facts(repository, base, own=True),
        "github.event.action": "synchronize",
        "github.event.label": None,
        **known,
    }
    return Occasion(PULL, "synchronize", base, None, facts)


def pull_facts(repository: str, base: str | None, *, own: bool) -> dict[str, object]:
    """Return what is known of each event about a pull request; `own` of no fork, by no bot."""
    here: object = repository or UnknownValue("github.repository")
    facts: dict[str, object] = {
        "github.event_name": PULL,
        "github.repository": here,
        "github.event.repository.full_name": here,
        "github.event.pull_request.base.repo.full_name": here,
        "github.event.pull_request.draft": False,
        "github.event.pull_request.state": "open",
        "github.event.pull_request.labels": (),
        "github.event.pull_request.labels.*.name": (),
        "github.event.issue": None,
        "github.event.merge_group": None,
        "github.event.workflow_run": None,
        "github.actor": "a-person",
        "github.triggering_actor": "a-person",
        "github.event.pull_request.user.login": "a-person",
        "github.event.pull_request.user.type": "User",
        "github.event.sender.login": "a-person",
        "github.event.sender.type": "User",
    }
    if own:
        facts["github.event.pull_request.head.repo.full_name"] = here
        facts["github.event.pull_request.head.repo.fork"] = False
    if base is not None:
        facts["github.base_ref"] = facts["github.event.pull_request.base.ref"] = base
    return facts


def answer(job: GateJob, told: Occasion) -> JobReach:
    """Return whether GitHub runs a job for what happens."""
    if told.event not in job.events:
        return JobReach(runs=False, why=f"it is not started by {told.event}", line=job.line)
    filters = job.filters.get(told.event, EventFilter(line=job.line, types=job.types))
    types = filters.types or (USUAL_TYPES if told.event == PULL else frozenset({told.action}))
    if told.action not in types:
        why = f"no run starts on {told.action}"
        return JobReach(runs=False, why=why, line=filters.line)
    for found in (_on_branch(filters, told.base), _on_paths(filters, told.files)):
        if found.runs is not True:
            return found
    return _conditioned(job.conditions, told.facts)


def _conditioned(conditions: Iterable[Line], facts: Facts) -> JobReach:
    said = [(line, holds(line.text, facts)) for line in conditions]
    for line, result in said:
        if result is False:
            return JobReach(runs=False, why=f"its `if` does not hold: {line.text}", line=line.line)
    for line, result in said:
        if result is None:
            why = f"whether its `if` holds is not seen from here: {line.text}"
            return JobReach(runs=None, why=why, line=line.line)
    return YES


def _on_branch(filters: EventFilter, base: str | None) -> JobReach:
    if base is None or not (filters.branches or filters.branches_ignore):
        return YES
    listed = not filters.branches or chosen(filters.branches, base)
    if listed and not any(_matches(one, base) for one in filters.branches_ignore):
        return YES
    why = f"its filter of branches leaves out {base}"
    return JobReach(runs=False, why=why, line=filters.line)


def _on_paths(filters: EventFilter, files: tuple[str, ...] | None) -> JobReach:
    if not (filters.paths or filters.paths_ignore):
        return YES
    if files is None:
        why = "its filter of paths leaves out changes that touch nothing of it"
        return JobReach(runs=False, why=why, line=filters.line)
    seen = files[:MOST_FILES]
    hit = any(
        chosen(filters.paths, path)
        if filters.paths
        else not any(_matches(one, path) for one in filters.paths_ignore)
        for path in seen
    )
    if hit:
        return YES
    why = "its filter of paths leaves out all that this change touches"
    if len(files) > MOST_FILES:
        why = f"GitHub's filter of paths looks at {MOST_FILES} changed files only"
        return JobReach(runs=None, why=why, line=filters.line)
    return JobReach(runs=False, why=why, line=filters.line)


def chosen(patterns: Sequence[str], text: str) -> bool:
    """Whether a list of GitHub's filter patterns chooses a name: the last that matches counts."""
    found = False
    for pattern in patterns:
        if _matches(pattern.removeprefix("!"), text):
            found = not pattern.startswith("!")
    return found


def _matches(pattern: str, text: str) -> bool:
    compiled = _compiled(pattern)
    return compiled is not None and compiled.fullmatch(text) is not None


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re2.Pattern[str] | None:
    """Return GitHub's pattern in linear time; None for one that is none."""
    import re2

    source, at = "", 0
    while at < len(pattern):
        one = pattern[at]
        end = pattern.find("]", at) if one == "[" else -1
        if pattern.startswith("**/", at):
            source, at = source + "(?:(?s:.*)/)?", at + 3
        elif pattern.startswith("**", at):
            source, at = source + "(?s:.*)", at + 2
        elif end > 0:
            source, at = source + pattern[at : end + 1], end + 1
        elif one == "\\" and at + 1 < len(pattern):
            source, at = source + re2.escape(pattern[at + 1]), at + 2
        else:
            source += {"*": "[^/]*", "?": "?", "+": "+"}.get(one, re2.escape(one))
            at += 1
    try:
        return re2.compile(source)
    except re2.error:
        return None


def shared_group(job: GateJob) -> Line | None:
    """Return the concurrency group that all pull requests share; None if each has its own."""
    for group in job.groups:
        names = names_in(group.text)
        if not any(
            name == start or name.startswith(f"{start}.") for name in names for start in _VARYING
        ):
            return group
    return None
