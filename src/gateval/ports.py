"""The outside world as the inner rooms see it. Adapters fulfil these; `app.py` hands them in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, Protocol

from gateval.domain.check_run import CheckReport, CheckRun
from gateval.domain.forge import Comment, PullRequest
from gateval.domain.model_call import ModelReply, ModelRequest
from gateval.domain.plan import Revision
from gateval.domain.rulings.facts import LabelEvent, Push
from gateval.domain.trace import NO_CALL
from gateval.domain.tree import Entry
from gateval.domain.trial import Cause, Side, Trial
from gateval.domain.trigger import Landed


class Repository(Protocol):
    """A git repository, read only. Paths are `os.fsdecode`d, relative to the repository root.

    Every method raises `RepositoryError` when git cannot answer.
    """

    def resolve(self, name: str) -> Revision:
        """The revision called `name`: branch, tag, commit, `HEAD~2` and the like."""

    def worktree(self) -> Revision:
        """A snapshot of the working tree, untracked files included, the real index untouched."""

    def has_changes(self) -> bool:
        """Whether the working tree differs from HEAD (untracked files count)."""

    def default_branch(self) -> str | None:
        """The name to resolve for the default branch's tip, or None when there is no telling."""

    def merge_base(self, one: str, other: str) -> str | None:
        """The best common ancestor of two commits, or None when they share no history."""

    def landed(self, old: str, new: str) -> tuple[Landed, ...]:
        """The commits that `new` adds to `old` along first parents, oldest last.

        At most a hundred. Whoever made the commits wrote them.
        """

    def tree(self, revision: Revision) -> Mapping[str, Entry]:
        """All entries of a revision, recursively."""

    def blobs(self, oids: Iterable[str], *, limit: int) -> Mapping[str, bytes | None]:
        """The contents of these blobs; None for one larger than `limit` bytes."""

    def export(self, revision: Revision, folder: Path, hidden: Collection[str] = ()) -> None:
        """Write the files of a revision into an empty folder, byte for byte, without `.git`.

        Of the files at the paths in `hidden`, only the folders come out.
        Symbolic links that lead out of the folder are refused with `RepositoryError`.
        """

    def lfs_pointers(self, revision: Revision, paths: Iterable[str]) -> tuple[str, ...]:
        """Those of `paths` that hold a Git LFS pointer where the file's content is expected."""


class RecordFile(NamedTuple):
    """A file of records on a ref of its own: `ref` in full, `path` in its tree.

    `limit` counts bytes. `keeps_history`: each change is a commit on top of the one before, and
    other files of the tree stay; otherwise a change replaces the ref, so that it never grows.
    """

    ref: str
    path: str
    limit: int
    keeps_history: bool


class Stored(NamedTuple):
    """What a file of records holds (None: the ref is there, the file is not) at which commit."""

    content: bytes | None
    commit: str


class Edit(NamedTuple):
    """New content of a file of records, and the message of the commit that brings it."""

    content: bytes
    message: str


class Records(Protocol):
    """Files of records on refs of a remote repository. Every method raises `RecordsError`."""

    def read(self, file: RecordFile) -> Stored | None:
        """What the remote has now, or None when it has no such ref."""

    def change(self, file: RecordFile, edit: Callable[[bytes], Edit | None]) -> str | None:
        """Write what `edit` makes of the content (empty when there is none) and return the commit.

        When somebody else writes at the same time, `edit` is called again with what they wrote, so
        it has to be repeatable. When it answers None nothing is written, and None returned. What it
        raises is raised here.
        """


class History(Protocol):
    """The repository on the server, to complete a clone from. Adds objects, no refs.

    Every method raises `RepositoryError` when the server or git does not give what is asked for.
    """

    def tip(self, branch: str) -> str:
        """The commit that a branch is at now, on the server."""

    def bring(self, commits: Sequence[str], *, instead: str = "") -> None:
        """Fetch those of these commits that are not here; `instead` is a ref that leads to them."""

    def join(self, one: str, other: str) -> None:
        """Fetch history until the merge-base of two commits is known for certain."""


class Clock(Protocol):
    """Time. `monotonic` in seconds for durations; `utc_now` as ISO 8601 with `Z`."""

    def monotonic(self) -> float:
        """Seconds that only grow."""

    def utc_now(self) -> str:
        """The present, e.g. `2026-11-20T09:30:00Z`."""


class TrialLog(Protocol):
    """Where each finished trial goes at once, so that a crash loses only what was under way."""

    def append(self, trial: Trial) -> None:
        """Store one trial; on return it is with the operating system."""


class ModelCallFault(StrEnum):
    """Why a model call gave no reply."""

    OUTAGE = "outage"
    """Rate limit, 5xx, dropped connection or time-out, after all retries."""
    DENIED = "denied"
    """The provider refused the key or the account (401, 402, 403)."""
    REJECTED = "rejected"
    """The request itself is wrong: unknown model, bad parameter, too long (other 4xx)."""
    UNREADABLE = "unreadable"
    """The provider answered something that is no reply in its wire format."""
    UNCONFIGURED = "unconfigured"
    """No such provider, no key, or a scripted model without a rule for this conversation."""


class ModelCallError(Exception):
    """A model call failed for good. `message` is a sentence without secrets; `status` is HTTP's.

    `cost` is what the attempts took together.

    Not part of the tree in `errors.py`: it ends one trial, never the run.
    """

    def __init__(self, fault: ModelCallFault, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.fault = fault
        self.message = message
        self.status = status
        self.cost = NO_CALL

    @property
    def cause(self) -> Cause:
        """Whom a candidate's trial blames: the candidate for a rejected request, else others."""
        if self.fault is ModelCallFault.REJECTED:
            return Cause.CANDIDATE
        if self.fault is ModelCallFault.UNCONFIGURED:
            return Cause.GATE
        return Cause.PROVIDER


class ModelTrouble(NamedTuple):
    """Why a trial says nothing of the candidate: its models were out of reach, as a sentence."""

    cause: Cause
    reason: str


class ModelCalls(Protocol):
    """The one door for model calls, as the model loop and the judge use it."""

    async def call(self, model: str, request: ModelRequest, *, side: Side) -> ModelReply:
        """Ask `model` (`provider/model-id`) and return its reply; `request.model` is ignored.

        `side` says whose scripted models answer. Retries are made inside. Raises `ModelCallError`.
        """


class PullRequests(Protocol):
    """The pull requests of one repository. Every method of a forge raises `ForgeError`."""

    def pull_request(self, number: int) -> PullRequest:
        """The pull request as it is now. Raises `NotOnForge` when there is none."""


class Viewer(Protocol):
    """Who we are on the forge."""

    def viewer(self) -> str:
        """The login under which we write, e.g. `github-actions[bot]`. Asked for once."""


class Comments(Viewer, Protocol):
    """The comments on the pull requests of one repository. Comments are named by their number."""

    def comments(self, pull_request: int) -> tuple[Comment, ...]:
        """All comments of a pull request, oldest first."""

    def create_comment(self, pull_request: int, body: str) -> Comment:
        """Write a new comment."""

    def update_comment(self, comment: int, body: str) -> Comment:
        """Replace the body of a comment."""

    def delete_comment(self, comment: int) -> None:
        """Delete a comment; nothing happens when it is gone."""


class Labels(Protocol):
    """The labels on pull requests, and what tells whose they are and for which head."""

    def label_events(self, pull_request: int) -> tuple[LabelEvent, ...]:
        """Every time a label was put on a pull request or taken off, oldest first."""

    def role(self, login: str) -> str:
        """The person's role in the repository, custom ones included; empty for none."""

    def newest_push(self, repository: str, branch: str) -> Push | None:
        """The newest push to a branch of `owner/name`; None if none is known."""

    def remove_label(self, pull_request: int, label: str) -> None:
        """Take a label off; nothing happens when it is gone."""


class CheckRuns(Viewer, Protocol):
    """The check runs of one repository. They are named by their number."""

    def check_runs(self, sha: str, name: str) -> tuple[CheckRun, ...]:
        """All check runs of this name on a commit, of whatever App, newest first."""

    def create_check_run(self, sha: str, report: CheckReport) -> CheckRun:
        """Make a check run on a commit."""

    def update_check_run(self, check_run: int, report: CheckReport) -> CheckRun:
        """Replace what a check run says; annotations are added. A completed one stays completed.

        Raises `ForgeError` for a check run of another App.
        """


class BranchGuards(Protocol):
    """What guards the branches of one repository, for who asks before a run. Only reads.

    Every method raises `ForgeError`; `MissingPermission` names what the token lacks.
    """

    def default_branch(self) -> str:
        """The name of the default branch."""

    def required_checks(self, branch: str) -> frozenset[str]:
        """The names of the checks that have to pass before anything is merged into a branch."""

    def rules(self, branch: str) -> frozenset[str]:
        """The types of the rules that rulesets set for a branch, such as `non_fast_forward`."""

    def read_pull_requests(self) -> None:
        """See whether pull requests may be read."""

    def read_check_runs(self, ref: str) -> None:
        """See whether the check runs of a commit, a branch's tip for instance, may be read."""


class Forge(PullRequests, Comments, Labels, CheckRuns, Protocol):
    """A repository on GitHub, read and written through its API.

    Waits and retries happen inside: rate limits and outages are errors only after all retries.
    """


class LocalRequest(NamedTuple):
    """A request to a server of this machine. `target` is path and query, percent-encoded."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None


class LocalReply(NamedTuple):
    """What it answered: any status; `content_type` and `location` as sent, "" for none."""

    status: int
    content_type: str
    body: bytes
    location: str = ""


class LocalHttpError(Exception):
    """No whole answer came. `message` is a clause to be put after `The server`.

    `late` says that time was up, `refused` that nothing listens there.
    """

    def __init__(self, message: str, *, late: bool = False, refused: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.late = late
        self.refused = refused


class LocalHttp(Protocol):
    """HTTP to servers that candidates run: loopback only, nothing followed, nothing remembered."""

    async def ask(
        self, host: str, port: int, request: LocalRequest, *, seconds: float, limit: int
    ) -> LocalReply:
        """Send one request over a connection of its own and return the whole answer.

        `host` is `127.0.0.1` or `::1`; an answer has at most `limit` bytes and is waited for at
        most `seconds`. Raises `LocalHttpError`.
        """
