"""The one command that does the same again on a reader's own machine."""

from __future__ import annotations

import shlex

from gateval.domain.base import is_sha
from gateval.domain.plan.plan import Plan

_DIGITS = 12
"""Digits shown of a commit's id: they fit a line, and no two commits of a repository share them."""


def reproduce_command(plan: Plan) -> str:
    """Return the command line; names are quoted for a POSIX shell, not sanitised."""
    if plan.base is not None:
        head = "WORKTREE" if plan.head.worktree else _name(plan.head.commit)
        words = ["gateval", "check", "--base", _name(plan.base.commit), "--head", head]
    elif plan.evals:
        words = ["gateval", "run", *(planned.name for planned in plan.evals)]
        words += [word for name in plan.only for word in ("--fixture", name)]
        words += [] if plan.head.worktree else ["--rev", _name(plan.head.commit)]
    else:
        words = ["gateval", "plan"]
    return shlex.join(words)


def _name(commit: str | None) -> str:
    if commit is None:
        return "HEAD"
    return commit[:_DIGITS] if is_sha(commit) else commit
