"""What is published about what, by whom, and how that went: publishing changes no verdict."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from gateval.domain.base import SHA_PATTERN, Sha, Value, digest
from gateval.domain.forge.check_run import Announcement, CommentMode, Conclusion, RunFindings, Stamp
from gateval.errors import ForgeError

CHECK_NAME = "gateval"

MOST = 80
"""Characters of a branch's name in the name of a check."""


class PublishTarget(Value):
    """A commit, the pull request it is head of (None for a push), and this run's stamp.

    `before` is the head that a push replaced, if one did. `details_url` leads to the run's log.
    `into` is the target branch; empty for the default one.
    """

    head: Sha
    before: str | None = Field(default=None, pattern=SHA_PATTERN)
    pull_request: int | None = None
    stamp: Stamp
    details_url: str = ""
    comment: CommentMode = CommentMode.ALWAYS
    into: str = ""

    @property
    def check_name(self) -> str:
        """`gateval`, with the gate's own name and the branch it is measured for in brackets.

        GitHub knows a check by commit and name alone. One commit can be head of several pull
        requests, and what passes for one target branch says nothing about another.
        """
        gate = self.stamp.gate
        own = [gate] if gate != CHECK_NAME else []
        into = [f"into {shown_branch(self.into)}"] if self.into else []
        return f"{CHECK_NAME} ({', '.join(own + into)})" if own or into else CHECK_NAME


def shown_branch(name: str) -> str:
    """Return a branch's name as it stands in a check's; a long or odd one by a digest of it."""
    if len(name) <= MOST and name.isascii() and name.isprintable():
        return name
    return f"{name[:20].encode('ascii', 'replace').decode()} {digest(name)[:12]}"


class Sink(StrEnum):
    """Where something is written."""

    CHECK_RUN = "check run"
    ANNOTATIONS = "annotations"
    COMMENT = "comment"


class WriteStatus(StrEnum):
    """The outcome at one place: `left` was not to be written, `failed` could not be."""

    WRITTEN = "written"
    LEFT = "left"
    FAILED = "failed"


class Note(Value):
    """What happened in one sink.

    `why` is a sentence, empty when written as planned; it may hold GitHub's words, unsanitised.
    `permission` is the one to add, as a workflow writes it.
    """

    sink: Sink
    status: WriteStatus
    url: str = ""
    why: str = ""
    permission: str = ""


class Ending(Value):
    """How a check run ends, its title, and what it remembers; None for nothing decided."""

    conclusion: Conclusion
    title: str
    findings: RunFindings | None = None


class Unfinished(Value):
    """A check run that GitHub did not take in the end: what it has to say, for a later try.

    `without_labels` counts if head has moved, or one of `labels` is no longer on the pull request;
    None where no label counted. `forbidden` says that GitHub named a permission that is missing.
    The step after the job gets it as text in its environment, so it is short.
    """

    target: PublishTarget
    said: Ending
    without_labels: Ending | None = None
    labels: tuple[str, ...] = ()
    forbidden: bool = False


class Publication(Value):
    """What publishing did, in order; `without_labels` says that it wrote what holds without any.

    `unfinished` is a check run that GitHub did not take, and may take later.
    """

    notes: tuple[Note, ...] = ()
    without_labels: bool = False
    unfinished: Unfinished | None = None

    def url(self, sink: Sink) -> str:
        """Where a sink's last text can be seen; empty when there is none."""
        return next((note.url for note in reversed(self.notes) if note.sink is sink), "")

    @property
    def failed(self) -> tuple[Note, ...]:
        """What could not be written."""
        return tuple(note for note in self.notes if note.status is WriteStatus.FAILED)

    @property
    def warnings(self) -> tuple[str, ...]:
        """One sentence for everything that could not be written."""
        return tuple(f"The {note.sink} could not be written. {note.why}" for note in self.failed)


def written(sink: Sink, url: str) -> Note:
    """Return the note of something that stands there now."""
    return Note(sink=sink, status=WriteStatus.WRITTEN, url=url)


def left(sink: Sink, why: str, url: str = "") -> Note:
    """Return the note of something that was not to be written."""
    return Note(sink=sink, status=WriteStatus.LEFT, url=url, why=why)


def failed(sink: Sink, error: ForgeError) -> Note:
    """Return the note of something that GitHub did not take."""
    permission = getattr(error, "permission", "")
    return Note(sink=sink, status=WriteStatus.FAILED, why=error.sentence, permission=permission)


def ending_of(announcement: Announcement) -> Ending:
    """Return the part of an announcement that is kept."""
    return Ending(
        conclusion=announcement.conclusion,
        title=announcement.title,
        findings=announcement.findings,
    )
