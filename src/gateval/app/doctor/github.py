"""The part of `doctor` that asks GitHub: what the token may read, and which checks are required."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gateval.domain.base import plain_message
from gateval.domain.forge.pull_request import REPOSITORY_PATTERN
from gateval.domain.ruling import GateLabel
from gateval.domain.setup.authorities import CA_VARIABLE
from gateval.domain.setup.diagnosis import (
    Health,
    HealthCheck,
    about_audit_branch,
    about_required_check,
)
from gateval.domain.setup.gate_job import GateJob
from gateval.domain.setup.labels import LABEL_STYLES, about_missing
from gateval.domain.setup.unmeasured import Known, about_reach
from gateval.errors import (
    ForgeError,
    ForgeRejected,
    GatevalError,
    MissingPermission,
    NotOnForge,
)
from gateval.ports.records import AUDIT_BRANCH

if TYPE_CHECKING:
    from gateval.adapters.github import GitHubAccess
    from gateval.adapters.github.waiting import RetryLimits
    from gateval.ports.forge import BranchGuards, RepositoryLabels

UNAUTHORIZED = 401
TOKENS = ("GITHUB_TOKEN", "GH_TOKEN", "INPUT_TOKEN")
_NOT_SEEN = "what the token may do, and whether the check is required, cannot be seen"
_NAME_IT = "Write it as OWNER/NAME: gateval doctor --repository OWNER/NAME."


def github_findings(
    environ: Mapping[str, str],
    name: str | None,
    origin: tuple[str, str] | None,
    jobs: Sequence[GateJob],
    *,
    fix: bool,
) -> Iterator[HealthCheck]:
    """Ask GitHub about one repository; without its name or a token, say what cannot be seen.

    With `fix`, the gate's labels are made where they are missing.
    """
    from gateval.adapters.github.guards import GitHubGuards

    access = access_to(environ, name, origin)
    if isinstance(access, HealthCheck):
        yield access
        return
    guards: BranchGuards = GitHubGuards(access, limits_of_doctor())
    if refused := _refused(guards):
        yield refused
        return
    yield from _token(guards, access.repository)
    yield from _required(guards, jobs)
    yield from _queue(guards, jobs)
    yield from _labels(access, fix=fix)
    yield from _audit_branch(guards)


def missing_labels(
    environ: Mapping[str, str], origin: tuple[str, str] | None
) -> tuple[GateLabel, ...] | None:
    """Return which of the gate's labels the repository lacks; None where that cannot be seen."""
    from gateval.adapters.github.labels import GitHubLabels

    access = access_to(environ, None, origin)
    if isinstance(access, HealthCheck):
        return None
    try:
        return _missing(GitHubLabels(access, limits_of_doctor()))
    except ForgeError:
        return None


def _missing(labels: RepositoryLabels) -> tuple[GateLabel, ...]:
    return tuple(label for label in GateLabel if not labels.has_label(label))


def _labels(access: GitHubAccess, *, fix: bool) -> Iterator[HealthCheck]:
    from gateval.adapters.github.labels import GitHubLabels

    labels, made = GitHubLabels(access, limits_of_doctor()), ()
    try:
        missing = _missing(labels)
        if fix:
            for label in missing:
                labels.make_label(label, **LABEL_STYLES[label]._asdict())
            missing, made = (), missing
    except ForgeError as error:
        yield HealthCheck(Health.UNKNOWN, "labels", error.message, error.hint)
        return
    yield about_missing(missing, made, access.repository)


def access_to(
    environ: Mapping[str, str], name: str | None, origin: tuple[str, str] | None
) -> GitHubAccess | HealthCheck:
    """Return where and as whom to ask, or what keeps us from asking."""
    from pydantic import SecretStr, ValidationError

    from gateval.adapters.github import GitHubAccess
    from gateval.adapters.github.access import PUBLIC_API

    chosen = name or environ.get("GITHUB_REPOSITORY") or (origin[1] if origin else "")
    if not chosen:
        return HealthCheck(Health.UNKNOWN, "GitHub", f"No repository: {_NOT_SEEN}.", _NAME_IT)
    if not re.fullmatch(REPOSITORY_PATTERN, chosen):
        seen = f'"{chosen}" is no repository on GitHub.'
        return HealthCheck(Health.PROBLEM, "GitHub", seen, _NAME_IT)
    token = next((environ[one] for one in TOKENS if environ.get(one)), "")
    if not token:
        todo = "Set GITHUB_TOKEN or GH_TOKEN, e.g. GH_TOKEN=$(gh auth token) gateval doctor."
        return HealthCheck(Health.UNKNOWN, "GitHub", f"No token: {_NOT_SEEN}.", todo)
    url = environ.get("GITHUB_API_URL") or PUBLIC_API
    try:
        trusted = environ.get(CA_VARIABLE, "")
        return GitHubAccess(repository=chosen, token=SecretStr(token), api_url=url, ca_file=trusted)
    except ValidationError as error:
        wrong = plain_message(error.errors(include_url=False, include_input=False)[0]["msg"])
        return HealthCheck(Health.PROBLEM, "GitHub", f"{chosen} cannot be asked about: {wrong}.")


def limits_of_doctor() -> RetryLimits:
    """Return how long a person waits who only asks."""
    from gateval.adapters.github.waiting import RetryLimits

    return RetryLimits(total_seconds=20, attempts=2, limit_wait=10)


def _refused(guards: BranchGuards) -> HealthCheck | None:
    """Return why nothing more can be asked: GitHub does not know the token."""
    try:
        guards.default_branch()
    except ForgeRejected as error:
        if error.status == UNAUTHORIZED:
            todo = f"Set {' or '.join(TOKENS[:2])} to one that is valid: {_NOT_SEEN}."
            return HealthCheck(Health.PROBLEM, "token", error.message, todo)
    except ForgeError:
        return None  # each line says it for itself
    return None


def _queue(guards: BranchGuards, jobs: Sequence[GateJob]) -> Iterator[HealthCheck]:
    try:
        branch = guards.default_branch()
        known = Known(branch=branch, queue="merge_queue" in guards.rules(branch))
    except ForgeError:
        return  # the line on the required check says why
    yield from (one for one in about_reach(jobs, known) if one.topic == "queue")


def _token(guards: BranchGuards, name: str) -> Iterator[HealthCheck]:
    asked: dict[str, Callable[[], object]] = {
        "contents": guards.default_branch,
        "pull-requests": guards.read_pull_requests,
        "checks": lambda: guards.read_check_runs(guards.default_branch()),
    }
    denied = [finding for topic, ask in asked.items() if (finding := _denied(topic, ask))]
    yield from denied
    if not denied:
        seen = f"The token reads {name}, its pull requests and its check runs."
        yield HealthCheck(Health.OK, "token", seen)
    seen = "Whether the token may write comments and check runs shows only when it does."
    yield HealthCheck(
        Health.UNKNOWN, "token", seen, "The line on permissions says what the job asks for."
    )


def _denied(topic: str, ask: Callable[[], object]) -> HealthCheck | None:
    try:
        ask()
    except MissingPermission as error:
        return HealthCheck(Health.PROBLEM, "token", error.message, error.hint)
    except NotOnForge as error:
        return HealthCheck(Health.PROBLEM, "token", error.message, error.hint or _NAME_IT)
    except GatevalError as error:
        seen = f"{topic}: {error.message}"
        return HealthCheck(Health.UNKNOWN, "token", seen, error.hint)
    return None


def _required(guards: BranchGuards, jobs: Sequence[GateJob]) -> Iterator[HealthCheck]:
    try:
        branch = guards.default_branch()
        yield about_required_check(branch, guards.required_checks(branch), jobs)
    except ForgeError as error:
        seen = f"Not seen which checks are required. {error.message}"
        yield HealthCheck(Health.UNKNOWN, "required", seen, error.hint)


def _audit_branch(guards: BranchGuards) -> Iterator[HealthCheck]:
    try:
        yield about_audit_branch(AUDIT_BRANCH, guards.rules(AUDIT_BRANCH))
    except ForgeError as error:
        seen = f"Not seen what protects {AUDIT_BRANCH}. {error.message}"
        yield HealthCheck(Health.UNKNOWN, "audit log", seen, error.hint)
