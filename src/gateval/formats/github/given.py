"""What every reader of an event gets, and what several of them do with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gateval.domain.base import is_sha
from gateval.domain.forge.trigger import EventName, Subject, Trust
from gateval.domain.text.quoting import quote
from gateval.errors import UsageError

ELSEWHERE = "Outside GitHub Actions, use `gateval check --base REV`."
"""What to do where an event is missing or says nothing."""

Read = tuple[str, Trust, Subject]
"""The action of an event, whose word the result is, and the subject."""


class Given(NamedTuple):
    """What the readers read. `asked` is the input pull-request, `head` the input head-sha."""

    environ: Mapping[str, str]
    payload: bytes
    asked: int | None = None
    head: str = ""


def refuse_inputs(given: Given, event: EventName) -> None:
    """Raise `UsageError` if an input is given that only a manual run may have."""
    for name, value in (("pull-request", given.asked), ("head-sha", given.head)):
        if value:
            raise UsageError(
                f"The input {name} has no meaning on {event}.",
                hint="Leave it out; it is for workflow_dispatch.",
            )


def sha_of(given: Given) -> str:
    """Return the commit that the workflow runs for. Raises `UsageError`."""
    sha = given.environ.get("GITHUB_SHA", "")
    if not is_sha(sha):
        raise UsageError(f"GITHUB_SHA is {quote(sha)}, which is no commit.", hint=ELSEWHERE)
    return sha
