"""Why a remote did not do what records need, and when to go on with it all the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple, TypeVar

from tenacity import RetryCallState, Retrying
from tenacity.retry import retry_if_exception
from tenacity.stop import stop_after_attempt, stop_any, stop_before_delay
from tenacity.wait import wait_random_exponential

from gateval.adapters.git.run import summary
from gateval.adapters.git.server import CERTIFICATE, OUTAGE
from gateval.errors import CERTIFICATE_HINT, RecordsError, RepositoryError

WRITE_PERMISSION = "contents: write"
READ_PERMISSION = "contents: read"


class RefusalKind(StrEnum):
    """What can be done about it."""

    RACE = "race"
    """Somebody else wrote first: read again, and write again."""
    OUTAGE = "outage"
    """It may pass."""
    FINAL = "final"
    """Repeating it would not help."""


class RemoteRefused(Exception):
    """One attempt that the remote refused, as an error for a person."""

    def __init__(self, kind: RefusalKind, error: RecordsError) -> None:
        super().__init__(error.message)
        self.kind = kind
        self.error = error


class _Rule(NamedTuple):
    pattern: str
    what: str
    """Goes on after "Gateval cannot write REF at REMOTE: "."""
    hint: str
    kind: RefusalKind = RefusalKind.FINAL
    needs_permission: bool = False


_TOKEN = "Give the job the permission `{permission}` (`permissions:` in the workflow)."  # noqa: S105 - a sentence
_RULES = (
    _Rule(
        r"^!\t\S+\t\[rejected\]|cannot lock ref|failed to update ref|failed to lock"
        r"|incorrect old value|reference already exists|fetch first|stale info",
        "others kept writing at the same time",
        "Run it again when less is going on.",
        RefusalKind.RACE,
    ),
    _Rule(
        r"GH006|GH013|[Pp]rotected branch|rule violations|protected branch hook",
        "a rule protects it from this push",
        "Forbid force pushes and deletions only, or let this token pass the rule; the guide on the "
        "audit log shows such a ruleset.",
    ),
    _Rule(
        r"No space left on device|[Qq]uota exceeded|out of disk",
        "a disk is full, here or there",
        "Make room, then run it again.",
    ),
    _Rule(
        r"shallow update not allowed|hook declined|aborted by hook",
        "a hook of the remote refused it",
        "Ask who runs the remote what its hook wants.",
    ),
    _Rule(
        r"returned error: 403|[Pp]ermission to \S+ denied|[Ww]rite access to repository not granted"
        r"|not allowed to (?:push|upload)|marked as read only|not accessible by integration"
        r"|insufficient permission|[Pp]ermission denied(?! \()|unable to create temporary object"
        r"|Read-only file system|service not enabled",
        "the permission is missing",
        _TOKEN,
        needs_permission=True,
    ),
    _Rule(
        r"Authentication failed|could not read (?:Username|Password)|returned error: 401"
        r"|Permission denied \(|Host key verification failed|terminal prompts disabled",
        "the remote wants to know who asks, and there is no valid token or key",
        "Give the gate a token for it, or set up git so that `git push` works without questions.",
        needs_permission=True,
    ),
    _Rule(
        r"detected dubious ownership|owned by (?:someone|another)",
        "git does not trust the remote's folder, because it belongs to another user",
        "If you trust it, add it to safe.directory in your git configuration.",
    ),
    _Rule(
        r"[Rr]epository (?:'.*' )?not found|returned error: 404|not appear to be a git repository"
        r"|not a git repository|No such file or directory|does not exist",
        "there is no such repository, or the token may not know of it",
        "Check the remote's URL and what the token may see.",
    ),
    _Rule(
        r"transport '.*' not allowed|protocol '.*' is not supported|remote-\w+' is not a git",
        "its protocol is not one that Gateval uses",
        "Use an https or ssh URL, or a path.",
    ),
    _Rule(
        CERTIFICATE,
        "git does not trust its certificate",
        CERTIFICATE_HINT,
    ),
    _Rule(
        r"redirect",
        "it has moved, and tokens follow no redirect",
        "Use the URL where it is now.",
    ),
    _Rule(
        OUTAGE,
        "the remote was not reached, or broke off",
        "Check the network and the remote's state, then run it again.",
        RefusalKind.OUTAGE,
    ),
)


def refusal(action: str, ref: str, remote: str, said: str) -> RemoteRefused:
    """Return what `said` means: git's output with secrets taken out already."""
    for rule in _RULES:
        if re.search(rule.pattern, said, re.MULTILINE):
            permission = WRITE_PERMISSION if action == "write" else READ_PERMISSION
            what = rule.what.replace("the permission", f"the permission `{permission}`")
            error = RecordsError(
                f"Gateval cannot {action} {ref} at {remote}: {what} ({_told(said)}).",
                hint=rule.hint.format(permission=permission),
                permission=permission if rule.needs_permission else "",
            )
            return RemoteRefused(rule.kind, error)
    message = f"Gateval cannot {action} {ref} at {remote}: {_told(said)}."
    return RemoteRefused(RefusalKind.FINAL, RecordsError(message))


def _told(said: str) -> str:
    """Return the line that tells most: the remote's own words before git's summary of them."""
    remote = [
        line.removeprefix("remote: ").removeprefix("error: ").strip()
        for line in said.splitlines()
        if line.startswith("remote: ")
    ]
    refused = re.findall(r"^!\t\S+\t\[[a-z ]+\] (\(.*\))$", said, re.MULTILINE)
    words = [line for line in remote if line.strip("- ")]
    if words:
        return summary(words[0])
    if refused:
        return summary(refused[0].strip("()"))
    return summary(said)


T = TypeVar("T")


class PushRetries(NamedTuple):
    """How long to go on when others write at the same time, or the remote is out of reach.

    No attempt starts later than `seconds` after the first, and none after the outage of that
    number. Waits are random; they begin at about `race_wait` or `outage_wait` seconds and grow to
    20 times that. One git process may take `process_seconds`. What was preloaded is read within
    `fresh_seconds`, and asked for anew after that.
    """

    attempts: int = 60
    seconds: float = 120
    outages: int = 3
    race_wait: float = 0.05
    outage_wait: float = 2
    process_seconds: float = 60
    fresh_seconds: float = 60


PATIENCE = PushRetries()


def persistently(
    retries: PushRetries, attempt: Callable[[], T], *, action: str, ref: str, where: str
) -> T:
    """Make an attempt again while others are quicker, and some times after outages.

    `action` (`read` or `write`), `ref` and `where` are for the sentence of the `RecordsError` that
    says why it was given up.
    """
    outages = 0

    def again(error: BaseException) -> bool:
        nonlocal outages
        kind = error.kind if isinstance(error, RemoteRefused) else RefusalKind.FINAL
        outages += kind is RefusalKind.OUTAGE
        return kind is RefusalKind.RACE or (
            kind is RefusalKind.OUTAGE and outages < retries.outages
        )

    def pause(state: RetryCallState) -> float:
        error = state.outcome and state.outcome.exception()
        outage = isinstance(error, RemoteRefused) and error.kind is RefusalKind.OUTAGE
        first = retries.outage_wait if outage else retries.race_wait
        return wait_random_exponential(multiplier=first, max=20 * first)(state)

    retrying = Retrying(
        retry=retry_if_exception(again),
        stop=stop_any(stop_after_attempt(retries.attempts), stop_before_delay(retries.seconds)),
        wait=pause,
        reraise=True,
    )
    try:
        return retrying(attempt)
    except RemoteRefused as refused:
        raise refused.error from None
    except RepositoryError as error:
        raise refusal(action, ref, where, error.message).error
    except OSError as error:
        raise RecordsError(
            f"Gateval cannot {action} {ref} at {where}: {error.strerror}."
        ) from error
