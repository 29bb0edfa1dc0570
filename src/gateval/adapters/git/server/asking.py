"""Asks the server through git, and again while it is out of reach; says why it got nothing."""

from __future__ import annotations

import re
import time
from typing import NamedTuple

from gateval.adapters.git.explain import FULL_HISTORY, summary
from gateval.adapters.git.run import Git
from gateval.adapters.git.server.remote import Remote, is_certificate, is_outage
from gateval.domain.setup.authorities import CERTIFICATE_HINT
from gateval.errors import RepositoryError

GONE = "It was probably replaced by a force push; the run on the new head counts."

_DENIED = re.compile(
    r"could not read (?:Username|Password)|Authentication failed|returned error: 40[13]"
    r"|[Rr]epository not found|repository '.*' not found"
)
_ABSENT = re.compile(r"not our ref|couldn't find remote ref|remote error: upload-pack: not our")
_BY_ID = re.compile(r"does not allow request for unadvertised|filtering not recognized")
_FINAL = re.compile(f"{_DENIED.pattern}|{_ABSENT.pattern}|{_BY_ID.pattern}")


class FetchRetries(NamedTuple):
    """How long to go on when the server is out of reach; the API's waits (`RetryLimits`).

    `attempts` counts the first one; `first_wait`, in seconds, doubles with each. A try ends when
    the server said nothing for `silence` seconds, and all tries of one command end after `seconds`.
    """

    attempts: int = 5
    first_wait: float = 1
    silence: int = 30
    seconds: float = 300

    @property
    def pauses(self) -> tuple[float, ...]:
        """The waits between the tries."""
        return tuple(self.first_wait * 2**number for number in range(self.attempts - 1))


PATIENCE = FetchRetries()

_NO_REFS = "Empty reply: the server names no branch at all"


class ServerAway(RepositoryError):
    """The server was out of reach, also after all tries."""


class RemoteServer:
    """The server of one remote, asked by the git of one clone. Raises `RepositoryError`."""

    def __init__(self, git: Git, remote: Remote, retries: FetchRetries = PATIENCE) -> None:
        self.url = remote.url
        self._git = git
        self._remote = remote
        self._retries = retries

    def ask(self, command: str, *arguments: str, answers: bool = False) -> bytes:
        """Run a git that speaks to the server; again after an outage, as `FetchRetries` say.

        With `answers`, an answer without a word counts as none.
        """
        limits, started = self._retries, time.monotonic()
        for pause in (*limits.pauses, None):
            out, said = self._attempt(command, *arguments, within=started + limits.seconds)
            if not said and (out or not answers):
                return out
            said = said or _NO_REFS
            away = not _FINAL.search(said) and is_outage(said)
            waited = time.monotonic() - started
            if pause is None or not away or waited + pause > limits.seconds:
                break
            time.sleep(pause)  # git is asked before and after the trials: nothing waits
        raise _away(said, waited=waited) if away else _refused(said)

    def _attempt(self, command: str, *arguments: str, within: float) -> tuple[bytes, str]:
        """Return what git gave, and what it said if it failed; end it when the time is over."""
        silence = self._retries.silence
        git = self._git.within(max(1.0, within - time.monotonic()))
        try:
            answer = git.run(
                command,
                *arguments,
                env=self._remote.variables(),
                config=("http.lowSpeedLimit=1", f"http.lowSpeedTime={silence}"),
                accept=tuple(range(256)),
            )
        except RepositoryError as error:
            if not is_outage(error.message):
                raise
            return b"", error.message
        said = answer.err.decode("utf-8", "surrogateescape") or f"exit status {answer.code}"
        return answer.out, said if answer.code else ""


def _away(text: str, *, waited: float) -> RepositoryError:
    return ServerAway(
        f"git did not reach the server: {summary(text)}. The gate waited {waited:.0f} s.",
        hint="Look at the server's state and at the network, and run the job again later.",
    )


def _refused(text: str) -> RepositoryError:
    """Return the error for a git to which the server, or this machine, said no."""
    if is_certificate(text):
        return RepositoryError(
            f"git does not trust the server: {summary(text)}.", hint=CERTIFICATE_HINT
        )
    if _DENIED.search(text):
        return RepositoryError(
            "The server lets this token read no history.",
            hint="Give the job `permissions: {contents: read}`, and the action its token.",
        )
    if _ABSENT.search(text):
        return RepositoryError(
            f"The server does not have what was asked for: {summary(text)}.", hint=GONE
        )
    hint = FULL_HISTORY if _BY_ID.search(text) else ""
    return RepositoryError(f"git cannot fetch: {summary(text)}.", hint=hint)
