"""How a run of the action ended: exit status, outputs, summary, what has to be said in the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gateval.domain.decision.trust import unwritten
from gateval.domain.forge.announcement import Announcement
from gateval.domain.forge.check_run import Annotation
from gateval.domain.forge.trigger import Trust
from gateval.errors import GatevalError
from gateval.publish.outcome import Publication, Sink, Unfinished


@dataclass(frozen=True)
class ActionResult:
    """The result for the runner. `summary` is markdown for the job, `text` plain for the log.

    `notice` is a sentence that the run shows beside its green. `annotations` are shown by the job
    itself, because no check run does. `error` is what stood in the way of a report, if anything
    did. `unfinished` is a check run that the step after the job has to complete.
    """

    exit_code: int
    outputs: Mapping[str, str] = field(default_factory=dict)
    summary: str = ""
    text: str = ""
    warnings: tuple[str, ...] = ()
    notice: str = ""
    annotations: tuple[Annotation, ...] = ()
    error: GatevalError | None = None
    unfinished: Unfinished | None = None


def published(
    exit_code: int,
    said: Announcement,
    publication: Publication,
    trust: Trust,
    number: int | None,
) -> ActionResult:
    """Return the result of a run that said this on GitHub; `number` is that of a pull request."""
    urls = {
        "comment-url": publication.url(Sink.COMMENT),
        "check-url": publication.url(Sink.CHECK_RUN),
    }
    return ActionResult(
        exit_code,
        urls,
        said.job_summary,
        warnings=_warnings(publication, trust, number),
        unfinished=publication.unfinished,
    )


def _warnings(publication: Publication, trust: Trust, number: int | None) -> tuple[str, ...]:
    """Return what has to be said about what was not written.

    Nobody can give a fork's token more, so there it is said what helps instead.
    """
    lacking = any(note.permission for note in publication.failed)
    if trust is not Trust.FORK or not lacking:
        return publication.warnings
    others = tuple(note for note in publication.failed if not note.permission)
    return (unwritten(number), *Publication(notes=others).warnings)
