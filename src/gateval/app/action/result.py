"""How a run of the action ended: exit status, outputs, summary, what has to be said in the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gateval.errors import GatevalError
from gateval.publish.outcome import Publication, Sink
from gateval.publish.unfinished import Unfinished


@dataclass(frozen=True)
class ActionResult:
    """What the runner gets. `summary` is markdown for the job, `text` plain for the log.

    `error` is what stood in the way of a report, if anything did. `unfinished` is a check run that
    the step after the job has to complete.
    """

    exit_code: int
    outputs: Mapping[str, str] = field(default_factory=dict)
    summary: str = ""
    text: str = ""
    warnings: tuple[str, ...] = ()
    error: GatevalError | None = None
    unfinished: Unfinished | None = None

    def with_text(self, text: str) -> ActionResult:
        """Return the same with another text for the log."""
        return replace(self, text=text)


def publication_outputs(publication: Publication) -> dict[str, str]:
    """Return the addresses of what was written."""
    return {
        "comment-url": publication.url(Sink.COMMENT),
        "check-url": publication.url(Sink.CHECK_RUN),
    }
