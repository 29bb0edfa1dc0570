"""A job of a GitHub workflow that uses the gate, as far as `doctor` looks at it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

NEEDED = {"contents": "read", "pull-requests": "write", "checks": "write"}
"""What the token of a job needs that evaluates pull requests and publishes the result."""

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


class GateJob(NamedTuple):
    """`check` is the name under which GitHub shows the job itself.

    `permissions` is None where neither job nor workflow says any: the repository's default counts.
    `step` is the input of this name, `inputs` the names of all that the gate's step gets in `with`,
    `variables` the names that it gets from `env`. `types` are those of `pull_request`, empty where
    GitHub's default counts, which knows no labels. `own_token` says that the step has another token
    than the job's, an App's for instance; what that may do no workflow says. `called` is the
    workflow that the job calls, empty if it has steps itself; what that does is not seen from here.
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

    @property
    def publishes(self) -> bool:
        """Whether the job is to write comment and check run."""
        return self.step in {"all", "publish"}


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
    if job.events & COMMENTED:
        return NEEDED
    return {**NEEDED, "pull-requests": "read" if "merge_group" in job.events else "none"}


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
