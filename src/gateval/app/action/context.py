"""Builds the real world for one run of the action, from the runner's environment."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SecretStr, ValidationError

from gateval.adapters.clock import SystemClock
from gateval.adapters.git import GitRepository, Remote, open_repository
from gateval.adapters.github import WRITES, GitHubAccess, GitHubForge, Needs
from gateval.app.action.sinks import audit_sinks
from gateval.domain.audit.entry import AuditRun
from gateval.domain.base import plain_message
from gateval.domain.decision.trust import UNVERIFIED_GATE
from gateval.domain.forge.stamp import Stamp
from gateval.domain.forge.trigger import ClaimSubject, PullRequestSubject, Trigger
from gateval.domain.planning.narrowing import Narrowing
from gateval.domain.repository.paths import show_path
from gateval.errors import UsageError
from gateval.formats.github.action_inputs import ActionInputs, ActionStep, read_inputs
from gateval.formats.github.event import read_trigger
from gateval.formats.github.reading import PAYLOAD_LIMIT
from gateval.pipeline.labels import OpenRecords
from gateval.publish.audit import AuditSink
from gateval.publish.target import CommentMode, Target
from gateval.settings import Settings, read_settings

if TYPE_CHECKING:
    from gateval.ports.clock import Clock
    from gateval.ports.forge import Forge
    from gateval.ports.server import ServerRepository

PUBLIC_SERVER = "https://github.com"
PUBLIC_API = "https://api.github.com"


@dataclass(frozen=True)
class ActionContext:
    """One run of the action: what it was asked for, and the world it works in."""

    inputs: ActionInputs
    settings: Settings
    trigger: Trigger
    repository: GitRepository
    server: ServerRepository
    forge: Forge
    narrowing: Narrowing
    stamp: Stamp
    run: AuditRun
    open_records: OpenRecords
    sinks: Sequence[AuditSink]
    clock: Clock

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must be in nothing that this run writes."""
        return (*self.settings.secrets, self.inputs.token)

    @property
    def run_url(self) -> str:
        """Where the run's log is; empty outside of a run."""
        return self.run.url

    def target(
        self, head: str, pull_request: int | None, *, claimed: bool, branch: str = ""
    ) -> Target:
        """What is reported on; `branch` is the one to merge into, if known.

        A claim is reported under a gate of its own.
        """
        gate = UNVERIFIED_GATE if claimed else self.narrowing.gate
        own = branch in {"", self.trigger.default_branch}
        return Target(
            head=head,
            pull_request=pull_request,
            stamp=self.stamp.model_copy(update={"gate": gate}),
            details_url=self.run_url,
            comment=CommentMode(self.inputs.comment.value),
            into="" if own or claimed else branch,
        )


def build_context(environ: Mapping[str, str]) -> ActionContext:
    """Read everything that the runner says. Raises `UsageError` that names what is wrong."""
    clock = SystemClock()
    inputs = read_inputs(environ)
    settings = read_settings(environ)
    trigger = read_trigger(environ, _event_file(environ), pull_request=inputs.pull_request)
    workspace = Path(environ.get("GITHUB_WORKSPACE") or Path.cwd())
    repository = open_repository(workspace, environ, trusted=True)
    remote = _remote(environ, inputs, trigger)
    return ActionContext(
        inputs=inputs,
        settings=settings,
        trigger=trigger,
        repository=repository,
        server=repository.fetcher(remote),
        forge=build_forge(environ, inputs.token, trigger.repository, _needs(inputs, trigger)),
        narrowing=Narrowing(agents=inputs.agents, evals=inputs.evals),
        stamp=_stamp(environ, clock),
        run=_run(environ, trigger),
        open_records=lambda: repository.records(environ, remote=remote.url, token=remote.token),
        sinks=audit_sinks(environ),
        clock=clock,
    )


def secrets_of(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return what must never be seen: the token, and provider keys by the names of theirs."""
    from gateval.gateway.upstream.providers import PROVIDERS

    names = ("INPUT_TOKEN", *(provider.key_variable for provider in PROVIDERS.values()))
    return tuple(value for name in names if (value := environ.get(name, "").strip()))


def build_forge(
    environ: Mapping[str, str], token: str, repository: str, needs: Needs = WRITES
) -> GitHubForge:
    """Return GitHub as this token may use it. Raises `UsageError`."""
    if not token:
        raise UsageError(
            "The input token is empty.",
            hint="Leave it out; then it is the job's own token, ${{ github.token }}.",
        )
    url = environ.get("GITHUB_API_URL") or PUBLIC_API
    try:
        access = GitHubAccess(repository=repository, token=SecretStr(token), api_url=url)
    except ValidationError as error:
        first = plain_message(error.errors(include_url=False, include_input=False)[0]["msg"])
        raise UsageError(
            f"GitHub cannot be reached with this environment: {first}.",
            hint="GITHUB_API_URL, GITHUB_REPOSITORY and the input token say where and as whom.",
        ) from None
    return GitHubForge(access, needs=needs)


def _needs(inputs: ActionInputs, trigger: Trigger) -> Needs:
    """Return what the job's token needs: a run without a comment only reads pull requests."""
    commented = isinstance(trigger.subject, PullRequestSubject | ClaimSubject)
    publishes = inputs.step in {ActionStep.ALL, ActionStep.PUBLISH}
    if publishes and commented and CommentMode(inputs.comment.value) is not CommentMode.OFF:
        return WRITES
    return Needs(pulls="pull-requests: read")


def _event_file(environ: Mapping[str, str]) -> bytes:
    path = environ.get("GITHUB_EVENT_PATH", "")
    if not path:
        raise UsageError(
            "GITHUB_EVENT_PATH is not set, so there is no event to read.",
            hint="Outside GitHub Actions, use `gateval check --base REV`.",
        )
    try:
        with Path(path).open("rb") as file:
            return file.read(PAYLOAD_LIMIT + 1)
    except OSError as error:
        raise UsageError(
            f"The event file {show_path(path)} cannot be read: {error.strerror}."
        ) from error


def _remote(environ: Mapping[str, str], inputs: ActionInputs, trigger: Trigger) -> Remote:
    server = _server(environ)
    return Remote(f"{server}/{trigger.repository}", inputs.token, environ)


def _server(environ: Mapping[str, str]) -> str:
    server = (environ.get("GITHUB_SERVER_URL") or PUBLIC_SERVER).rstrip("/")
    loopback = re.match(r"http://(?:127\.0\.0\.1|localhost)(?::\d+)?$", server)
    if not loopback and not re.fullmatch(r"https://[A-Za-z0-9.:-]+", server):
        raise UsageError(
            f"GITHUB_SERVER_URL is {show_path(server)}, which is no https URL of a server."
        )
    return server


def _stamp(environ: Mapping[str, str], clock: Clock) -> Stamp:
    return Stamp(
        started=clock.utc_now(),
        run=_digits(environ.get("GITHUB_RUN_ID", "")),
        attempt=_digits(environ.get("GITHUB_RUN_ATTEMPT", "")),
    )


def _digits(text: str) -> int:
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else 0


def _run(environ: Mapping[str, str], trigger: Trigger) -> AuditRun:
    return AuditRun(
        id=environ.get("GITHUB_RUN_ID", ""),
        attempt=_digits(environ.get("GITHUB_RUN_ATTEMPT", "")) or 1,
        url=_run_url(environ, trigger.repository),
        event=trigger.event.value,
        actor=environ.get("GITHUB_ACTOR", ""),
        triggering_actor=environ.get("GITHUB_TRIGGERING_ACTOR", ""),
    )


def _run_url(environ: Mapping[str, str], repository: str) -> str:
    run = _digits(environ.get("GITHUB_RUN_ID", ""))
    return f"{_server(environ)}/{repository}/actions/runs/{run}" if run else ""
