"""What a run is about that people or a clock start, not a change."""

from __future__ import annotations

from gateval.domain.forge.trigger import CommitSubject, EventName, PullRequestSubject, Trust
from gateval.domain.text.quoting import quote
from gateval.errors import UsageError
from gateval.formats.github.given import ELSEWHERE, Given, Read, refuse_inputs, sha_of
from gateval.formats.github.payloads import DispatchPayload, SchedulePayload
from gateval.formats.github.reading import check_ref, parse_payload

_BRANCH = "refs/heads/"


def read_dispatch(given: Given) -> Read:
    """A manual run: for a pull request's live head, or for the branch it was started on.

    With the input head-sha, another head than that one is not run.
    """
    event = parse_payload(DispatchPayload, given.payload)
    if given.asked is not None:
        return "", Trust.TRUSTED, PullRequestSubject(number=given.asked, only=given.head or None)
    default = check_ref(event.repository.default_branch)
    ref = given.environ.get("GITHUB_REF", "")
    if ref == f"{_BRANCH}{default}":
        raise UsageError(
            f"This manual run on {quote(default)} names no pull request, so there is nothing to "
            "measure.",
            hint="Give the action `with: {pull-request: NUMBER}`, or start the run on a branch.",
        )
    head = sha_of(given)
    if given.head not in {"", head}:
        raise UsageError(
            f"The branch is at {head[:12]}, not at {given.head[:12]} as the input head-sha says. "
            "Nothing was run.",
            hint="Read what was pushed since; then start a run with the commit you have read.",
        )
    return "", Trust.TRUSTED, CommitSubject(head_sha=head, base_ref=default)


def read_schedule(given: Given) -> Read:
    """A run by the clock, always of the default branch. Older servers tell no repository."""
    refuse_inputs(given, EventName.SCHEDULE)
    told = parse_payload(SchedulePayload, given.payload).repository
    ref = given.environ.get("GITHUB_REF", "")
    if told is None and not ref.startswith(_BRANCH):
        raise UsageError(f"GITHUB_REF is {quote(ref)}, which is no branch.", hint=ELSEWHERE)
    default = check_ref(told.default_branch if told else ref.removeprefix(_BRANCH))
    head = sha_of(given)
    return "", Trust.TRUSTED, CommitSubject(head_sha=head, before=head, base_ref=default)
