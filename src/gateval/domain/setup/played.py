"""Plays one pull request through the workflows and the rules of its branch. Pure.

The same model as `unmeasured.py`, asked with the pull request's own facts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from gateval.domain.setup.diagnosis import (
    CHECK_NAME,
    Health,
    HealthCheck,
    RequiredCheck,
    about_permissions,
    about_required_check,
)
from gateval.domain.setup.gate_job import GateJob
from gateval.domain.setup.reaching import PULL, Answer, Occasion, answer, pull_facts
from gateval.domain.setup.unmeasured import Known, about_reach

FORKS = "docs/guides/forks.md"
DEPENDABOT = "dependabot[bot]"
_OF_A_RUN = ("failure", "checkout", "concurrency")
"""The rules that matter to a job that runs, whatever started it."""


class PlayedPull(NamedTuple):
    """A pull request as GitHub tells of it now. Whatever is text is theirs.

    `conflicts` is None while GitHub has not found out. `checks` are conclusions of the newest check
    runs on head by name, empty for one that is under way.
    """

    number: int
    open: bool
    draft: bool
    author: str
    head: str
    branch: str
    base: str
    fork: bool
    labels: tuple[str, ...]
    files: tuple[str, ...]
    conflicts: bool | None = None
    checks: tuple[tuple[str, str], ...] = ()


class Branch(NamedTuple):
    """What guards the target branch: required checks, and whether there is a merge queue.

    `check` is the gate's name there.
    """

    required: Collection[RequiredCheck] = ()
    queue: bool = False
    check: str = CHECK_NAME


class Played(NamedTuple):
    """The lines of the way, and what comes of it; None where that cannot be told from here."""

    findings: tuple[HealthCheck, ...]
    through: bool | None
    why: str


def play(pull: PlayedPull, jobs: Sequence[GateJob], branch: Branch, repository: str) -> Played:
    """Say what would happen to this pull request at a push, and why."""
    told = _occasion(pull, repository)
    asked = [(job, answer(job, told)) for job in jobs if job.publishes and PULL in job.events]
    running = [job for job, found in asked if found.runs]
    known = Known(repository, pull.base, branch.queue)
    findings = [
        *_of_the_pull(pull, jobs),
        *(_of_the_job(job, found) for job, found in asked),
        *map(about_permissions, running),
        *(one for one in about_reach(running, known) if one.topic in _OF_A_RUN),
        about_required_check(pull.base, branch.required, running or jobs, branch.check),
        *(one for one in about_reach(jobs, known) if one.topic == "queue"),
        *_state(pull, branch),
    ]
    if not any(found.runs is not False for _, found in asked):
        findings.append(_nothing_runs(asked))
    return Played(tuple(findings), *_end(pull, findings, running, branch))


def _occasion(pull: PlayedPull, repository: str) -> Occasion:
    facts = pull_facts(repository, pull.base, own=not pull.fork)
    labels = tuple(pull.labels)
    facts |= {
        "github.event.action": "synchronize",
        "github.event.label": None,
        "github.event.number": float(pull.number),
        "github.event.pull_request.number": float(pull.number),
        "github.event.pull_request.draft": pull.draft,
        "github.event.pull_request.labels": labels,
        "github.event.pull_request.labels.*.name": labels,
        "github.event.pull_request.user.login": pull.author,
        "github.event.sender.login": pull.author,
        "github.actor": pull.author,
        "github.head_ref": pull.branch,
        "github.event.pull_request.head.ref": pull.branch,
    }
    if pull.fork:
        facts["github.event.pull_request.head.repo.fork"] = True
        facts["github.event.pull_request.head.repo.full_name"] = "(another repository)"
    return Occasion(PULL, "synchronize", pull.base, pull.files, facts)


def _of_the_pull(pull: PlayedPull, jobs: Sequence[GateJob]) -> Iterator[HealthCheck]:
    if not pull.open:
        yield HealthCheck(Health.PROBLEM, "pull request", "It is closed.", "Reopen it.")
    if pull.conflicts:
        seen = "Its branches conflict, and then GitHub starts no run on pull_request."
        yield HealthCheck(Health.PROBLEM, "pull request", seen, "Merge the target branch into it.")
    if pull.draft:
        seen = "It is a draft: with `policy.drafts: wait` it is measured when it is ready."
        yield HealthCheck(Health.WARNING, "pull request", seen)
    bot = pull.author == DEPENDABOT
    if pull.fork or bot:
        whose = "of Dependabot's" if bot else "from a fork"
        seen = f"It is {whose}, whose run has no keys and may write nothing: it ends unverified."
        by_hand = [job.path for job in jobs if job.publishes and "workflow_dispatch" in job.events]
        todo = (
            f"A maintainer starts {by_hand[0]} by hand, with the number {pull.number}."
            if by_hand
            else f"Add a workflow that maintainers start by hand: see {FORKS}."
        )
        yield HealthCheck(Health.PROBLEM, "pull request", seen, todo)


def _of_the_job(job: GateJob, found: Answer) -> HealthCheck:
    if found.runs:
        return HealthCheck(Health.OK, "event", f"{job.place}: runs when the head is pushed.")
    where = f"{job.path}:{found.line}, job {job.check}"
    if found.runs is None:
        return HealthCheck(Health.UNKNOWN, "event", f"{where}: {found.why}.")
    return HealthCheck(Health.OK, "event", f"{where}: does not run: {found.why}.")


def _nothing_runs(asked: Sequence[tuple[GateJob, Answer]]) -> HealthCheck:
    whys = "; ".join(f"{job.path}: {found.why}" for job, found in asked)
    seen = "No job that writes the gate's check runs when the head is pushed"
    todo = "What would start it: gateval doctor."
    return HealthCheck(Health.PROBLEM, "event", f"{seen} ({whys})." if whys else f"{seen}.", todo)


def _state(pull: PlayedPull, branch: Branch) -> Iterator[HealthCheck]:
    found = dict(pull.checks).get(branch.check)
    if found is None:
        seen = f"There is no check {branch.check} on its head {pull.head[:7]} yet."
    else:
        seen = f"The check {branch.check} on its head {pull.head[:7]}: {found or 'under way'}."
    yield HealthCheck(Health.OK, "check", seen)


def _end(
    pull: PlayedPull, findings: Sequence[HealthCheck], running: Sequence[GateJob], branch: Branch
) -> tuple[bool | None, str]:
    problems = [one.seen.rstrip(".") for one in findings if one.health is Health.PROBLEM]
    if problems:
        why = "; ".join(problems)
        return False, f"Pull request #{pull.number} would hang or go unmeasured, because: {why}."
    unseen = [one.seen.rstrip(".") for one in findings if one.health is Health.UNKNOWN]
    if unseen:
        why = "; ".join(unseen)
        return None, f"What becomes of pull request #{pull.number} cannot be told: {why}."
    through = " and on merge_group, for the queue" if branch.queue else ""
    return True, (
        f"Pull request #{pull.number} would be measured and could be merged, because "
        f"{running[0].path} runs at each push{through}, its token may write the check "
        f"{branch.check}, and {pull.base} waits for that: whether it passes, the Evals say."
    )
