"""A job of a GitHub workflow that uses the gate, as far as `doctor` looks at it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

NEEDED = {"contents": "write", "pull-requests": "write", "checks": "write"}
"""What the token of a job needs that evaluates pull requests and publishes the result.

Where it may not write `contents`, nothing that was found is recorded, and no label counts.
"""

_RECORDED = frozenset({"pull_request", "workflow_dispatch", "issue_comment"})
"""Events about a pull request whose verdict is recorded."""

COMMENTED = frozenset({"pull_request", "workflow_dispatch", "workflow_run", "issue_comment"})
"""Events that are about a pull request, which gets a comment."""

RUN_MINUTES = 50.0
"""Minutes after which a run ends, unless `max-minutes` says otherwise."""

JOB_MINUTES = 360.0
"""Minutes after which GitHub ends a job, unless its `timeout-minutes` says otherwise."""

_LEVELS = ("none", "read", "write")
_ALL = {"read-all": "read", "write-all": "write"}


class Minutes(NamedTuple):
    """After how many minutes GitHub ends a job, and the gate its run; None for what is written as
    an expression.
    """

    job: float | None = JOB_MINUTES
    run: float | None = RUN_MINUTES


class Line(NamedTuple):
    """A text of a workflow, and the line where it stands."""

    text: str
    line: int


class EventFilter(NamedTuple):
    """The filters of one event in `on`; `types` are empty where GitHub's default counts."""

    line: int = 1
    types: frozenset[str] = frozenset()
    branches: tuple[str, ...] = ()
    branches_ignore: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    paths_ignore: tuple[str, ...] = ()


class Checkout(NamedTuple):
    """What brings the repository before the gate's step. `seen` is None where that is unknown.

    `folder` is empty for the workspace itself, where the gate looks.
    """

    seen: bool | None = True
    folder: str = ""


class GateJob(NamedTuple):
    """`check` is the name under which GitHub shows the job itself, `key` its name in the file.

    `permissions` is None where neither job nor workflow says any: the repository's default counts.
    `step` is the input of this name, `inputs` the names of all that the gate's step gets in `with`,
    `variables` the names that it gets from `env`. `types` are those of `pull_request`, empty where
    GitHub's default counts, which knows no labels. `own_token` says that the step has another token
    than the job's, an App's for instance; what that may do no workflow says. `called` is the
    workflow that the job calls, empty if it has steps itself; what that does is not seen from here.
    `filters` are those of each event. `conditions` are what has to hold for the gate to run,
    `tolerated` what lets the job pass where the gate fails, `groups` its concurrency. `ran_before`
    are the steps before the gate's that can run a change's code, `ran_beside` all such in the job,
    and `shared` the names of variables that they get, too. `guarded` says that the job names
    an environment, which may keep its secrets from a workflow edited on a branch.
    """

    path: str
    check: str
    events: frozenset[str]
    permissions: Mapping[str, str] | str | None
    variables: frozenset[str]
    step: str = "all"
    inputs: tuple[str, ...] = ()
    types: frozenset[str] = frozenset()
    own_token: bool = False
    called: str = ""
    minutes: Minutes = Minutes()
    line: int = 1
    filters: Mapping[str, EventFilter] = MappingProxyType({})
    conditions: tuple[Line, ...] = ()
    tolerated: tuple[Line, ...] = ()
    groups: tuple[Line, ...] = ()
    checkout: Checkout = Checkout()
    ran_before: tuple[Line, ...] = ()
    ran_beside: tuple[Line, ...] = ()
    shared: frozenset[str] = frozenset()
    guarded: bool = False
    key: str = ""

    @property
    def publishes(self) -> bool:
        """Whether the job is to write comment and check run."""
        return self.step in {"all", "publish"}

    @property
    def place(self) -> str:
        """Where the job stands, for a sentence about it."""
        return f"{self.path}:{self.line}, job {self.check}"


LABELING = ("labeled", "unlabeled")
"""The types of `pull_request` that labels start."""


def records(job: GateJob) -> bool | None:
    """Say whether a job's token may write audit log and verdicts; None where nobody says."""
    return (
        None
        if job.permissions is None or job.own_token
        else _level(job.permissions, "contents") == "write"
    )


def needed(job: GateJob) -> Mapping[str, str]:
    """Return what a job's token needs, by what it does and for which events.

    A merge queue's pull requests and their labels are only read; a push has none.
    """
    if not job.publishes:
        return {"contents": "read"}
    contents = "write" if job.events & _RECORDED else "read"
    if job.events & COMMENTED:
        return {**NEEDED, "contents": contents}
    return {
        **NEEDED,
        "contents": contents,
        "pull-requests": "read" if "merge_group" in job.events else "none",
    }


def lacking(job: GateJob) -> tuple[str, ...]:
    """Return the permissions that a job lacks, as a workflow writes them."""
    given = job.permissions
    if given is None:
        return ()
    return tuple(
        f"{name}: {level}"
        for name, level in needed(job).items()
        if _LEVELS.index(level) > _LEVELS.index(_level(given, name))
    )


def _level(given: Mapping[str, str] | str, name: str) -> str:
    level = _ALL.get(given, "none") if isinstance(given, str) else given.get(name, "none")
    return level if level in _LEVELS else "none"
