"""The repository on the server: how git gets there, what it is asked, and what a clone lacks
fetched.

The token travels in the environment of the git process (`GIT_CONFIG_COUNT`, git-config(1)), never
on a command line and never in a file; so `persist-credentials: false` is fine. Nothing that the
clone's own configuration says can lead it elsewhere: it is bound to the repository's URL.

What keeps git from a server is told by what it printed in the C locale. Both ways need it: the one
that fetches a clone's history, and that of the records.

Objects are all that is added; no ref and no FETCH_HEAD is written, and a clone that is not shallow
never becomes it.
"""

from __future__ import annotations

import base64
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from gateval.adapters.git.run import FULL_HISTORY, Git, looked_up, summary
from gateval.domain.base import is_sha
from gateval.domain.paths import show_path
from gateval.errors import CA_VARIABLE, CERTIFICATE_HINT, RepositoryError

PASSED_ON = (
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
)
"""Variables that say how the network is reached; only a git that fetches gets them."""

_SETTINGS = (
    ("credential.helper", ""),  # neither a helper nor a prompt: this token or none
    ("core.alternateRefsCommand", ":"),  # the clone's configuration could name a program
    ("fetch.recurseSubmodules", "false"),
    ("fetch.unpackLimit", "1"),  # one pack, so that no folder of another owner appears in .git
    ("transfer.bundleURI", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("http.followRedirects", "initial"),
)

FETCH = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules")
"""Options of every fetch: objects are all that is added."""

CERTIFICATE = r"certificate|SSL CA cert|CAfile"
"""The server's certificate, or the file of CAs: no second try mends either."""

OUTAGE = (
    r"[Cc]ould not resolve|[Cc]onnection (?:was )?(?:refused|reset|timed out|closed)|early EOF"
    r"|SSL|TLS|[Ff]ailed to connect|unable to connect|[Tt]imed? ?out|[Tt]imeout"
    r"|Network is unreachable|No route to host|hung up|returned error: (?:5\d\d|429|408)"
    r"|RPC failed|[Ee]mpty reply|did not end within|too slow|transfer closed|HTTP/2 stream"
    r"|unexpected disconnect|bad line length|invalid server response|protocol error"
    r"|expected (?:flush|packfile|'\w+')|Could not read from remote repository|index-pack"
)
"""What may pass: no answer, a broken one, or one that says so."""


@dataclass(frozen=True)
class Remote:
    """A repository's URL (http or https) and the token for it, "" for none.

    `environ` is the environment of the gate, of which the way through the network is used;
    `settings` and `variables` win over those that every remote gets.
    """

    url: str
    token: str = field(default="", repr=False)
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    settings: tuple[tuple[str, str], ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        """Return the environment for a git process that speaks to this remote."""
        settings = [*_SETTINGS]
        if self.token:
            plain = f"x-access-token:{self.token}".encode()
            header = f"Authorization: Basic {base64.b64encode(plain).decode()}"
            key = f"http.{self.url}.extraHeader"
            settings += [(key, ""), (key, header)]  # the empty one drops what checkout left there
        return network_variables(self.environ) | {
            **as_variables([*settings, *self.settings]),
            "GIT_ALLOW_PROTOCOL": "http:https",
            "GIT_ASKPASS": "false",
            "SSH_ASKPASS": "false",
            **self.variables,
        }


def network_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what of the gate's environment says how git reaches the network, and whom it trusts.

    The gate's own file of authorities, if there is one, takes the place of all others.
    """
    passed_on = {name: environ[name] for name in PASSED_ON if name in environ}
    own = environ.get(CA_VARIABLE)
    return passed_on | {"GIT_SSL_CAINFO": own} if own else passed_on


def as_variables(settings: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the variables that give git these settings; they win over configuration files."""
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings):
        variables[f"GIT_CONFIG_KEY_{number}"] = key
        variables[f"GIT_CONFIG_VALUE_{number}"] = value
    return variables


def is_outage(said: str) -> bool:
    """Whether another try may help."""
    return not re.search(CERTIFICATE, said) and bool(re.search(OUTAGE, said))


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
        if not away:
            raise _refused(said)
        raise ServerAway(
            f"git did not reach the server: {summary(said)}. The gate waited {waited:.0f} s.",
            hint="Look at the server's state and at the network, and run the job again later.",
        )

    def _attempt(self, command: str, *arguments: str, within: float) -> tuple[bytes, str]:
        """Return what git gave, and what it said if it failed; end it when the time is over."""
        silence = self._retries.silence
        git = self._git.other(timeout=max(1.0, within - time.monotonic()))
        try:
            answer = git.run(
                command,
                *arguments,
                env=self._remote.environment(),
                config=("http.lowSpeedLimit=1", f"http.lowSpeedTime={silence}"),
                accept=tuple(range(256)),
            )
        except RepositoryError as error:
            if not is_outage(error.message):
                raise
            return b"", error.message
        said = answer.err.decode("utf-8", "surrogateescape") or f"exit status {answer.code}"
        return answer.out, said if answer.code else ""


def _refused(text: str) -> RepositoryError:
    """Return the error for a git to which the server, or this machine, said no."""
    if re.search(CERTIFICATE, text):
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


FIRST_DEPTH = 50
"""Commits of history that a shallow clone gets with a missing commit."""

STEPS = (200, 1_000, 5_000)
"""Commits by which history is deepened, step by step, before all of it is fetched."""


class Fetcher:
    """Brings commits of one remote into one clone. Raises `RepositoryError`.

    `depth` and `steps` count commits, as `FIRST_DEPTH` and `STEPS` say.
    """

    def __init__(
        self,
        git: Git,
        remote: Remote,
        *,
        depth: int = FIRST_DEPTH,
        steps: Sequence[int] = STEPS,
        retries: FetchRetries = PATIENCE,
    ) -> None:
        self._git = git
        self._server = RemoteServer(git, remote, retries)
        self._depth = depth
        self._steps = steps

    def tip(self, branch: str) -> str:
        """Ask the remote for the commit that a branch is at now.

        It is asked for HEAD as well, which every server names: an answer without any ref is none.
        """
        ref = f"refs/heads/{branch}"
        told = self._server.ask("ls-remote", "--", self._server.url, "HEAD", ref, answers=True)
        for line in os.fsdecode(told).splitlines():
            oid, _, name = line.partition("\t")
            if name == ref and is_sha(oid):
                return oid
        raise RepositoryError(
            f"The branch {show_path(branch)} is not on the server any more.",
            hint="Was it renamed or deleted? The gate reads its rules from there.",
        )

    def bring(self, commits: Sequence[str], *, instead: str = "") -> None:
        """See that these commits are here, fetching those that are not.

        `instead` is a ref that leads to the missing ones where a server gives out no commit by its
        id.
        """
        missing = self._missing(commits)
        if not missing:
            return
        depth = (f"--depth={self._depth}",) if self._cuts() else ()
        try:
            self._fetch(*depth, wanted=missing)
        except RepositoryError as error:
            if not instead or isinstance(error, ServerAway):
                raise
            self._fetch(*depth, wanted=[instead])
        if lost := self._missing(missing):
            raise RepositoryError(f"The commit {lost[0]} is not on the server any more.", hint=GONE)

    def join(self, one: str, other: str) -> None:
        """Deepen a shallow clone until the merge-base of two commits is known for certain.

        Ends, too, when all history is here and there is none.
        """
        for step in self._steps:
            if self._is_joined(one, other):
                return
            self._fetch(f"--deepen={step}", wanted=[one, other])
        if not self._is_joined(one, other):
            self._fetch("--unshallow", wanted=[one, other])

    def _is_joined(self, one: str, other: str) -> bool:
        """Whether a merge-base is here and no cut in history could hide a better one."""
        cuts = self._cuts()
        if not cuts:
            return True
        found = self._git.run("merge-base", "--end-of-options", one, other, accept=(0, 1))
        if found.code:
            return False
        base = found.out.decode().strip()
        between = self._git.run("rev-list", one, other, f"^{base}", "--")
        return not cuts & set(between.out.decode().split())

    def _cuts(self) -> set[str]:
        """The commits whose parents are missing because the clone is shallow; none if it is not."""
        try:
            return set(self._shallow_file.read_text().split())
        except FileNotFoundError:
            return set()

    @cached_property
    def _shallow_file(self) -> Path:
        where = os.fsdecode(self._git.run("rev-parse", "--git-path", "shallow").out)
        return self._git.folder / where.removesuffix("\n")

    def _missing(self, commits: Sequence[str]) -> list[str]:
        wanted = list(dict.fromkeys(commits))
        asked = "".join(f"{commit}^{{tree}}\n" for commit in wanted).encode()
        lines = looked_up(self._git, asked)
        return [
            commit
            for commit, line in zip(wanted, lines, strict=True)
            if line.split()[1:2] != [b"tree"]
        ]

    def _fetch(self, *options: str, wanted: Sequence[str]) -> None:
        self._server.ask("fetch", *FETCH, *options, "--", self._server.url, *wanted)
