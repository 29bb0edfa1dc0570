"""`doctor --pr N`: one pull request, played through what GitHub and the workflows say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gateval.adapters.git import open_repository
from gateval.app.doctor.examine import read_workflows, show
from gateval.app.doctor.github import access_to, limits_of_doctor
from gateval.app.registries import registries
from gateval.domain.setup.diagnosis import HealthCheck, about_unreadable
from gateval.domain.setup.played import Branch, play
from gateval.errors import EXIT_FAILED, EXIT_NOT_EVALUATED, EXIT_PASS, UsageError
from gateval.pipeline.read import survey
from gateval.ports.forge import BranchGuards
from gateval.publish.target import CHECK_NAME, shown_branch
from gateval.safe.sanitize import plain


def play_pull_request(environ: Mapping[str, str], number: int, *, repository: str | None) -> int:
    """Print the way of a pull request and what comes of it; return the exit code.

    The workflows are read as they are here. Raises `GatevalError` where GitHub cannot be asked.
    """
    from gateval.adapters.github.guards import GitHubGuards

    opened = open_repository(Path.cwd(), environ)
    access = access_to(environ, repository, opened.facts().origin)
    if isinstance(access, HealthCheck):
        raise UsageError(access.seen, hint=access.todo)
    guards: BranchGuards = GitHubGuards(access, limits_of_doctor())
    pull = guards.played_pull(number)
    jobs, unread = read_workflows(opened, survey(opened, registries(), opened.worktree()))
    check = CHECK_NAME
    if pull.base != guards.default_branch():
        check = f"{CHECK_NAME} (into {shown_branch(pull.base)})"
    queue = "merge_queue" in guards.rules(pull.base)
    branch = Branch(guards.required_checks(pull.base), queue=queue, check=check)
    played = play(pull, jobs, branch, access.repository)
    show([*map(about_unreadable, unread), *played.findings], environ)
    print(plain(played.why, 4_000))
    if played.through is None:
        return EXIT_NOT_EVALUATED
    return EXIT_PASS if played.through else EXIT_FAILED
