"""A check run: what GitHub shows beside a commit, and what branch protection asks for.

https://docs.github.com/en/rest/checks/runs
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from gateval.domain.base import SHA_PATTERN, Value
from gateval.domain.verdicts import GateVerdict

ANNOTATIONS_AT_ONCE = 50
"""GitHub takes no more annotations in one request; those of an update are added to the others."""

TITLE_LIMIT = 255
"""Characters of a title."""

SUMMARY_LIMIT = 65_535
"""Characters of a check run's summary."""

MESSAGE_LIMIT = 64 * 1024
"""Bytes of an annotation's message."""


class CheckStatus(StrEnum):
    """How far a check run is. Others exist, which only GitHub Actions sets."""

    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


class Conclusion(StrEnum):
    """How a completed check run ended. GitHub lets `success`, `neutral` and `skipped` merge."""

    SUCCESS = "success"
    FAILURE = "failure"
    NEUTRAL = "neutral"
    ACTION_REQUIRED = "action_required"
    CANCELLED = "cancelled"


class AnnotationLevel(StrEnum):
    """How an annotation looks."""

    WARNING = "warning"
    FAILURE = "failure"


class Annotation(Value):
    """A note on a line of a file. `path` is relative to the repository root, lines from 1."""

    path: str
    line: int = Field(ge=1)
    level: AnnotationLevel
    title: str
    message: str


class CheckReport(Value):
    """The content of a check run. `conclusion` is set exactly when it is completed.

    `external_id` is ours to choose. `details_url` leads to the log; empty for none. `summary` is
    markdown of at most `SUMMARY_LIMIT` characters, and so is `text`, which stands below it; at most
    `ANNOTATIONS_AT_ONCE` annotations.
    """

    name: str
    external_id: str
    details_url: str = ""
    started_at: str
    conclusion: Conclusion | None = None
    title: str
    summary: str
    text: str = ""
    annotations: tuple[Annotation, ...] = ()

    @property
    def status(self) -> CheckStatus:
        """In progress until there is a conclusion."""
        return CheckStatus.COMPLETED if self.conclusion else CheckStatus.IN_PROGRESS


class CheckRun(Value):
    """A check run as the forge has it. `app` is the slug of the App that made it.

    `completed` is false in every state before; `conclusion` is GitHub's word, empty until then.
    `text` is what stands below its summary.
    """

    number: int = Field(ge=1)
    name: str
    head_sha: str = Field(pattern=SHA_PATTERN)
    external_id: str = ""
    app: str = ""
    completed: bool
    conclusion: str = ""
    url: str = ""
    text: str = ""


CONCLUSIONS = {
    GateVerdict.PASS: Conclusion.SUCCESS,
    GateVerdict.FAIL: Conclusion.FAILURE,
    GateVerdict.INCOMPLETE: Conclusion.ACTION_REQUIRED,
    GateVerdict.INCONCLUSIVE: Conclusion.ACTION_REQUIRED,
    GateVerdict.BYPASSED: Conclusion.NEUTRAL,
}
"""Only what GitHub does not count as success may stand for a gate that could not look. `failure` is
kept for what was measured; `action_required` says that somebody has to do something before there
is a verdict: run it again, provide a key, have a maintainer start the trusted run.
"""


def conclude(verdict: GateVerdict, *, unverified: bool) -> Conclusion:
    """Return the conclusion; what nobody verified is a claim, and never a success."""
    return Conclusion.ACTION_REQUIRED if unverified else CONCLUSIONS[verdict]
