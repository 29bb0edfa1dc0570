"""Builds the real world for one run of the action, from the runner's environment."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SecretStr, ValidationError

from gateval.adapters.clock import SystemClock
from gateval.adapters.git import GitRepository, Remote, open_repository
from gateval.adapters.git.records.once import RecordsOnce
from gateval.adapters.github import WRITES, GitHubAccess, GitHubForge, Needs
from gateval.app.action.job_facts import (
    event_file,
    run_of,
    server_url,
    stamp_of,
    workflow_path,
    workflow_repository,
)
from gateval.app.action.runner_output import audit_sinks
from gateval.app.shared_rules import ForgeRules
from gateval.domain.audit.entry import AuditRun
from gateval.domain.base import plain_message
from gateval.domain.decision.trust import UNVERIFIED_GATE
from gateval.domain.forge.stamp import Stamp
from gateval.domain.forge.trigger import (
    ClaimSubject,
    CommentSubject,
    EventName,
    PullRequestSubject,
    Trigger,
)
from gateval.domain.planning.narrowing import Narrowing
from gateval.domain.setup.authorities import CA_VARIABLE
from gateval.errors import NoRepository, RepositoryError, UsageError
from gateval.formats.github.action_inputs import ActionInputs, ActionStep, read_inputs
from gateval.formats.github.event import read_trigger
from gateval.pipeline.labels import OpenRecords
from gateval.publish.audit import AuditSink
from gateval.publish.target import CommentMode, PublishTarget
from gateval.settings import Settings, read_settings

if TYPE_CHECKING:
    from gateval.ports.clock import Clock
    from gateval.ports.forge import Forge
    from gateval.ports.server import ServerRepository

PUBLIC_API = "https://api.github.com"
_EXTENDS_TOKEN = "Give the action the input extends-token: one that may read that repository."  # noqa: S105 - a sentence


@dataclass(frozen=True)
class ActionRequest:
    """One run of the action: what it was asked for, and where it reports. Needs no checkout.

    `workflow` is the path of the workflow's file, and `own_workflow` says that it is of the same
    repository; `job` is the key of the job in it. Empty outside of a run.
    """

    inputs: ActionInputs
    settings: Settings
    trigger: Trigger
    forge: Forge
    narrowing: Narrowing
    stamp: Stamp
    run: AuditRun
    sinks: Sequence[AuditSink]
    clock: Clock
    shared: ForgeRules
    workflow: str
    own_workflow: bool
    job: str

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must be in nothing that this run writes."""
        return (*self.settings.secrets, self.inputs.token, self.inputs.extends_token)

    @property
    def run_url(self) -> str:
        """Where the run's log is; empty outside of a run."""
        return self.run.url

    def tree_url(self, commit: str) -> str:
        """Where people see a commit's files; empty outside of a run, or without a commit."""
        repository = self.run_url.partition("/actions/")[0]
        return f"{repository}/blob/{commit}" if repository and commit else ""

    def target(
        self, head: str, pull_request: int | None, *, claimed: bool, branch: str = ""
    ) -> PublishTarget:
        """What is reported on; `branch` is the one to merge into, if known.

        A claim is reported under a gate of its own.
        """
        gate = UNVERIFIED_GATE if claimed else self.narrowing.gate
        own = branch in {"", self.trigger.default_branch}
        return PublishTarget(
            head=head,
            before=getattr(self.trigger.subject, "before", None),
            pull_request=pull_request,
            stamp=self.stamp.model_copy(update={"gate": gate}),
            details_url=self.run_url,
            comment=CommentMode(self.inputs.comment.value),
            into="" if own or claimed else branch,
        )


@dataclass(frozen=True)
class ActionContext(ActionRequest):
    """The same with the repository that it works in."""

    repository: GitRepository
    server: ServerRepository
    open_records: OpenRecords


def build_request(environ: Mapping[str, str]) -> ActionRequest:
    """Read everything that the runner says. Raises `UsageError` that names what is wrong."""
    clock = SystemClock()
    inputs = read_inputs(environ)
    settings = read_settings(environ)
    trigger = read_trigger(
        environ,
        event_file(environ),
        pull_request=inputs.pull_request,
        head_sha=inputs.head_sha,
    )
    by_clock = trigger.event is EventName.SCHEDULE
    return ActionRequest(
        inputs=inputs,
        settings=settings,
        trigger=trigger,
        forge=build_forge(environ, inputs.token, trigger.repository, _needs(inputs, trigger)),
        narrowing=Narrowing(agents=inputs.agents, evals=inputs.evals, scheduled=by_clock),
        stamp=stamp_of(environ, clock),
        run=run_of(environ, trigger),
        sinks=audit_sinks(environ),
        clock=clock,
        shared=ForgeRules(environ, inputs.extends_token or inputs.token, _EXTENDS_TOKEN),
        workflow=workflow_path(environ),
        own_workflow=workflow_repository(environ) == trigger.repository,
        job=environ.get("GITHUB_JOB", ""),
    )


@contextlib.contextmanager
def open_context(environ: Mapping[str, str], request: ActionRequest) -> Iterator[ActionContext]:
    """Open the repository that was checked out, and its records when they are first asked for.

    Raises `RepositoryError`, `UsageError`.
    """
    workspace = Path(environ.get("GITHUB_WORKSPACE") or Path.cwd())
    try:
        repository = open_repository(workspace, environ, trusted=True)
    except NoRepository as error:
        raise RepositoryError(
            "The workspace holds no repository: nothing was checked out before the gate.",
            hint="Put `uses: actions/checkout` with `fetch-depth: 0` before the gate's step.",
        ) from error
    remote = _remote(environ, request.inputs, request.trigger)
    with RecordsOnce(
        lambda: repository.records(environ, remote=remote.url, token=remote.token)
    ) as open_records:
        yield ActionContext(
            **{field.name: getattr(request, field.name) for field in fields(request)},
            repository=repository,
            server=repository.fetcher(remote),
            open_records=open_records,
        )


def secrets_of(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return what must never be seen: the token, and provider keys by the names of theirs."""
    from gateval.gateway.upstream.providers import PROVIDERS

    names = (
        "INPUT_TOKEN",
        "INPUT_EXTENDS-TOKEN",
        *(provider.key_variable for provider in PROVIDERS.values()),
    )
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
        access = GitHubAccess(
            repository=repository,
            token=SecretStr(token),
            api_url=url,
            ca_file=environ.get(CA_VARIABLE, ""),
        )
    except ValidationError as error:
        first = plain_message(error.errors(include_url=False, include_input=False)[0]["msg"])
        raise UsageError(
            f"GitHub cannot be reached with this environment: {first}.",
            hint="GITHUB_API_URL, GITHUB_REPOSITORY and the input token say where and as whom.",
        ) from None
    return GitHubForge(access, needs=needs)


def _needs(inputs: ActionInputs, trigger: Trigger) -> Needs:
    """Return what the job's token needs: a run without a comment only reads pull requests."""
    commented = isinstance(trigger.subject, PullRequestSubject | ClaimSubject | CommentSubject)
    publishes = inputs.step in {ActionStep.ALL, ActionStep.PUBLISH}
    if publishes and commented and CommentMode(inputs.comment.value) is not CommentMode.OFF:
        return WRITES
    return Needs(pulls="pull-requests: read")


def _remote(environ: Mapping[str, str], inputs: ActionInputs, trigger: Trigger) -> Remote:
    server = server_url(environ)
    return Remote(f"{server}/{trigger.repository}", inputs.token, environ)
