"""From the event of a GitHub Actions workflow to a `Trigger`, or to a sentence that says why not.

Pure: environment and bytes in, value out. Payloads hold text of the pull request's author, so
what is used is checked and everything else is ignored.
https://docs.github.com/en/webhooks/webhook-events-and-payloads,
https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gateval.domain.forge.trigger import REPOSITORY_PATTERN, CommitSubject, EventName, Trigger
from gateval.domain.text.quoting import quote
from gateval.errors import UsageError
from gateval.formats.github.given import ELSEWHERE, Given
from gateval.formats.github.payloads import AnyPayload
from gateval.formats.github.reading import check_ref, parse_payload
from gateval.formats.github.subjects import READERS


def read_trigger(
    environ: Mapping[str, str],
    payload: bytes,
    *,
    pull_request: int | None = None,
    head_sha: str = "",
) -> Trigger:
    """Return what the workflow was started for.

    `environ` is the runner's, `payload` the content of the file at GITHUB_EVENT_PATH;
    `pull_request` and `head_sha` are the action's inputs. Raises `UsageError` for an event that the
    gate does not follow, and for one that does not say what the gate has to know.
    """
    event = _event(environ.get("GITHUB_EVENT_NAME", ""))
    repository = environ.get("GITHUB_REPOSITORY", "")
    if not re.fullmatch(REPOSITORY_PATTERN, repository):
        raise UsageError(
            f"GITHUB_REPOSITORY is {quote(repository)}, which is not owner/name.",
            hint=ELSEWHERE,
        )
    action, trust, subject = READERS[event](Given(environ, payload, pull_request, head_sha))
    if event is EventName.SCHEDULE and isinstance(subject, CommitSubject):
        default = subject.base_ref
    else:
        default = parse_payload(AnyPayload, payload).repository.default_branch
    return Trigger(
        event=event,
        action=action,
        repository=repository,
        default_branch=check_ref(default),
        trust=trust,
        subject=subject,
    )


def _event(name: str) -> EventName:
    if name == "pull_request_target":
        raise UsageError(
            "Gateval does not run on pull_request_target: it would start the pull request's code "
            "with the repository's secrets and a token that can write.",
            hint="Use `on: pull_request`; for forks, see docs/guides/forks.md.",
        )
    try:
        return EventName(name)
    except ValueError:
        known = ", ".join(EventName)
        raise UsageError(
            f"Gateval does not run on the event {quote(name)}."
            if name
            else "GITHUB_EVENT_NAME is not set, so there is no event to follow.",
            hint=f"It follows {known}." if name else ELSEWHERE,
        ) from None
