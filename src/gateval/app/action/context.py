"""The real world for one run of the action: the job, its event, and what the runner's
environment says.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from gateval.adapters.git.records import RecordsOnce
from gateval.adapters.git.repository import GitRepository, open_repository
from gateval.adapters.git.server import Remote
from gateval.adapters.github.forge import GitHubForge
from gateval.adapters.github.runner import RunnerFiles
from gateval.adapters.github.transport import WRITES, JobPermissions, access_in
from gateval.adapters.machine import SystemClock
from gateval.app.readers import ForgeRules
from gateval.domain.audit import AuditEvent, AuditRun
from gateval.domain.decision.decision import UNVERIFIED_GATE
from gateval.domain.forge.check_run import CommentMode, Stamp
from gateval.domain.forge.trigger import (
    ClaimSubject,
    CommentSubject,
    EventName,
    PullRequestSubject,
    Trigger,
    of_default_branch,
)
from gateval.domain.history.run_record import RunRecord, newest_first
from gateval.domain.history.verdicts import Occurrence
from gateval.domain.label_decision import GateLabel
from gateval.domain.manifests.gate_config import AuditSinkName
from gateval.domain.paths import show_path
from gateval.domain.planning.selection import Narrowing
from gateval.errors import GatevalError, NoRepository, RecordsError, RepositoryError, UsageError
from gateval.formats.github.action_inputs import ActionInputs, ActionStep, read_inputs
from gateval.formats.github.event import PAYLOAD_LIMIT, read_trigger
from gateval.formats.github.workflow import GateRun, gate_jobs, uploads
from gateval.pipeline.resolved_event import OpenRecords, ResolvedEvent, labels_of
from gateval.ports.storage import RUNS, Stored
from gateval.publish.audit import AuditSink
from gateval.publish.check import PublishTarget
from gateval.render.audit_log import log_line, summary_section
from gateval.settings import Settings, read_settings, webhooks

if TYPE_CHECKING:
    from gateval.ports.forge import Forge
    from gateval.ports.repository import ServerRepository
    from gateval.ports.storage import Clock


PUBLIC_SERVER = "https://github.com"


def event_file(environ: Mapping[str, str]) -> bytes:
    """Return the event's payload. Raises `UsageError`."""
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


def server_url(environ: Mapping[str, str]) -> str:
    """Return where people and git find GitHub. Raises `UsageError`."""
    server = (environ.get("GITHUB_SERVER_URL") or PUBLIC_SERVER).rstrip("/")
    loopback = re.match(r"http://(?:127\.0\.0\.1|localhost)(?::\d+)?$", server)
    if not loopback and not re.fullmatch(r"https://[A-Za-z0-9.:-]+", server):
        raise UsageError(
            f"GITHUB_SERVER_URL is {show_path(server)}, which is no https URL of a server."
        )
    return server


def _digits(text: str) -> int:
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else 0


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
            stamp=self.stamp.replace(gate=gate),
            details_url=self.run_url,
            comment=self.inputs.comment,
            into="" if own or claimed else branch,
        )


@dataclass(frozen=True)
class ActionContext(ActionRequest):
    """The same with the repository that it works in."""

    repository: GitRepository
    server: ServerRepository
    open_records: OpenRecords


def audit_sinks(environ: Mapping[str, str]) -> tuple[AuditSink, ...]:
    """Return where audit entries go besides git: the job's log, and its summary."""
    files = RunnerFiles(environ)

    def summary(event: AuditEvent) -> None:
        if not environ.get("GITHUB_STEP_SUMMARY"):
            raise RecordsError("This job has no summary to record in.")
        if not files.summary(summary_section(event)):
            raise RecordsError("The job summary has no room for an entry of the audit log.")

    return (AuditSink(AuditSinkName.STDOUT, _say), AuditSink(AuditSinkName.SUMMARY, summary))


def _say(event: AuditEvent) -> None:
    sys.stdout.write(f"{log_line(event)}\n")
    sys.stdout.flush()


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
    flow = environ.get("GITHUB_WORKFLOW_REF", "")
    found = re.fullmatch(r"[^/]+/[^/]+/(.+\.ya?ml)@.+", flow)
    run, attempt = (_digits(environ.get(f"GITHUB_RUN_{name}", "")) for name in ("ID", "ATTEMPT"))
    url = f"{server_url(environ)}/{trigger.repository}/actions/runs/{run}" if run else ""
    return ActionRequest(
        inputs=inputs,
        settings=settings,
        trigger=trigger,
        forge=build_forge(environ, inputs.token, trigger.repository, _needs(inputs, trigger)),
        narrowing=Narrowing(agents=inputs.agents, evals=inputs.evals, scheduled=by_clock),
        stamp=Stamp(started=clock.utc_now(), run=run, attempt=attempt),
        run=AuditRun(
            id=environ.get("GITHUB_RUN_ID", ""),
            attempt=attempt or 1,
            url=url,
            event=trigger.event.value,
            actor=environ.get("GITHUB_ACTOR", ""),
            triggering_actor=environ.get("GITHUB_TRIGGERING_ACTOR", ""),
        ),
        sinks=audit_sinks(environ),
        clock=clock,
        shared=ForgeRules(environ, inputs.extends_token or inputs.token, _EXTENDS_TOKEN),
        workflow=found[1] if found else "",
        own_workflow="/".join(flow.split("/")[:2]) == trigger.repository,
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
    url = f"{server_url(environ)}/{request.trigger.repository}"
    remote = Remote(url, request.inputs.token, environ)
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
    """Return what must never be seen: the token, provider keys by the names of theirs, addresses
    of webhooks.
    """
    from gateval.gateway.upstream.endpoints import PROVIDERS

    names = (
        "INPUT_TOKEN",
        "INPUT_EXTENDS-TOKEN",
        *(provider.key_variable for provider in PROVIDERS.values()),
    )
    keys = (value for name in names if (value := environ.get(name, "").strip()))
    return (*keys, *webhooks(environ))


def build_forge(
    environ: Mapping[str, str], token: str, repository: str, needs: JobPermissions = WRITES
) -> GitHubForge:
    """Return GitHub as this token may use it. Raises `UsageError`."""
    if not token:
        raise UsageError(
            "The input token is empty.",
            hint="Leave it out; then it is the job's own token, ${{ github.token }}.",
        )
    try:
        access = access_in(environ, repository, token)
    except ValueError as error:
        raise UsageError(
            f"GitHub cannot be reached with this environment: {error}.",
            hint="GITHUB_API_URL, GITHUB_REPOSITORY and the input token say where and as whom.",
        ) from None
    return GitHubForge(access, needs=needs)


def _needs(inputs: ActionInputs, trigger: Trigger) -> JobPermissions:
    """Return what the job's token needs: a run without a comment only reads pull requests."""
    commented = isinstance(trigger.subject, PullRequestSubject | ClaimSubject | CommentSubject)
    publishes = inputs.step in {ActionStep.ALL, ActionStep.PUBLISH}
    if publishes and commented and inputs.comment is not CommentMode.OFF:
        return WRITES
    return JobPermissions(pulls="pull-requests: read")


@dataclass(frozen=True)
class ActionEvent:
    """A trigger, the revisions it led to, and what is reported on.

    `audit` is the audit log if it was read already.
    """

    context: ActionContext
    trigger: Trigger
    resolved: ResolvedEvent
    target: PublishTarget
    audit: Stored | None = None

    @property
    def publishes(self) -> bool:
        """Whether this run says on GitHub what it found."""
        return self.context.inputs.step in {ActionStep.ALL, ActionStep.PUBLISH}

    @property
    def binds(self) -> bool:
        """Whether labels count in this run, and what it finds is recorded."""
        return self.publishes and self.trigger.trust.verified

    @property
    def labels(self) -> tuple[GateLabel, ...]:
        """The gate's labels that were on the pull request when the run began."""
        seen = self.resolved.pull_request
        return labels_of(seen) if seen is not None else ()

    @property
    def closed(self) -> bool:
        """Whether a label started it on a closed pull request, whose head another one may have."""
        seen = self.resolved.pull_request
        return self.trigger.label is not None and seen is not None and not seen.open

    def stored_runs(self, naming: Collection[str] = ()) -> Iterator[RunRecord]:
        """Return the runs that are kept in git, newest first; with `naming`, those that name one.

        Raises `GatevalError` and `OSError` where they cannot be read.
        """
        with self.context.open_records() as records:
            stored = records.read(RUNS)
        return newest_first((stored and stored.content) or b"", naming)

    def occurrence(self, at: str) -> Occurrence:
        """Return where and when this run gives its verdict; `at` is UTC to the second."""
        return Occurrence(
            repository=self.trigger.repository,
            pull_request=self.target.pull_request,
            run=self.context.run,
            at=at,
        )


FOLDER = ".gateval/results"
"""Where results go that no input sends elsewhere."""

WORKFLOW_LIMIT = 1_000_000
"""Bytes of a workflow that is looked at."""


def _own_workflow(context: ActionContext, revision: str) -> bytes | None:
    """Return the file of the run's own workflow at a revision; None where it cannot be seen.

    That of another repository, which a ruleset may require, is not.
    """
    path, repository = context.workflow, context.repository
    if not path or not context.own_workflow:
        return None
    try:
        entry = repository.tree(repository.resolve(revision)).get(path)
        found = repository.blobs([entry.oid], limit=WORKFLOW_LIMIT) if entry else {}
    except GatevalError:
        return None
    return next(iter(found.values()), None)


def uploads_results(context: ActionContext, status: int) -> bool:
    """Whether the run's own workflow, as it is checked out, uploads the folder of the results once
    the gate has ended with an exit status.
    """
    data = _own_workflow(context, "HEAD") if context.run_url else None
    if data is None:
        return False
    run = GateRun(status, context.run.event, context.trigger.repository, context.job)
    return uploads(context.workflow, data, context.inputs.results or FOLDER, run)


def reads_unsigned(event: ActionEvent) -> bool:
    """Whether what a cache put back can only be what trusted runs of the default branch have made.

    That takes a machine of GitHub's that is thrown away after the job, a run on the default branch
    itself, whose cache no pull request writes, and a job in which nothing ran the change's code
    before the gate. The workflow is read as it is at the commit of which this run took it.
    """
    context = event.context
    environ = context.settings.environ
    hosted = environ.get("RUNNER_ENVIRONMENT", "") == "github-hosted"
    at = environ.get("GITHUB_WORKFLOW_SHA", "")
    if not (hosted and at and of_default_branch(event.trigger, environ.get("GITHUB_REF", ""))):
        return False
    data = _own_workflow(context, at)
    found = gate_jobs(context.workflow, data) if data else ()
    jobs = [job for job in found if job.key == context.job]
    return bool(jobs) and not any(job.ran_before or job.called for job in jobs)
