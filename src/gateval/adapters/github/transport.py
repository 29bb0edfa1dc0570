"""Requests to GitHub through PyGithub's requester: where it is, who we are, what is tried again.

GitHub's rules (https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api):
on 403 or 429 obey `retry-after`; else, when `x-ratelimit-remaining` is 0, wait until
`x-ratelimit-reset`; else wait at least one minute, longer each time. Secondary limits come as 403
too, at times without any header, and are told from a missing permission by their words.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, model_validator

from gateval.adapters.github.shapes import understood
from gateval.domain.base import Value, plain_message
from gateval.domain.forge.trigger import REPOSITORY_NAME
from gateval.errors import (
    CA_VARIABLE,
    CERTIFICATE_HINT,
    ForgeError,
    ForgeRejected,
    ForgeUnavailable,
    MissingPermission,
    NotOnForge,
    RateLimited,
)

if TYPE_CHECKING:
    from github.Requester import Requester


T = TypeVar("T")

PUBLIC_API = "https://api.github.com"

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class JobPermissions(NamedTuple):
    """The permissions that the gate's job needs, as a workflow writes them.

    A missing one is told as what the whole of the gate's work asks for, not this request alone.
    """

    pulls: str = "pull-requests: write"
    checks: str = "checks: write"


WRITES = JobPermissions()
"""What a job needs that publishes on a pull request."""


class GitHubAccess(Value):
    """A repository (`owner/name`) and the token for it.

    `api_url` is GITHUB_API_URL: `https://api.github.com`, `https://HOST/api/v3` on GitHub
    Enterprise Server, `https://api.SUBDOMAIN.ghe.com`. Only https, so that nobody on the way reads
    the token; http is allowed to this machine. `ca_file` holds the authorities to trust, in PEM;
    empty for those that the HTTP library knows.
    """

    repository: str = Field(pattern=f"^{REPOSITORY_NAME}$")
    token: SecretStr = Field(min_length=1)
    api_url: str = PUBLIC_API
    ca_file: str = ""

    @model_validator(mode="after")
    def _a_url_that_can_be_used(self) -> Self:
        if {".", ".."} & set(self.repository.split("/")):
            raise ValueError("repository is not OWNER/NAME")
        parts = urlsplit(self.api_url)
        if not parts.hostname or parts.query or parts.fragment or "@" in parts.netloc:
            raise ValueError("api_url is not the base URL of an API")
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
            raise ValueError("api_url must begin with https://")
        if not re.fullmatch(r"[\x21-\x7e]+", self.token.get_secret_value()):
            raise ValueError("the token holds characters that no HTTP header can carry")
        return self


def access_in(environ: Mapping[str, str], repository: str, token: str) -> GitHubAccess:
    """Return where and as whom to ask. Raises `ValueError` that says why that cannot be."""
    try:
        return GitHubAccess(
            repository=repository,
            token=SecretStr(token),
            api_url=environ.get("GITHUB_API_URL") or PUBLIC_API,
            ca_file=environ.get(CA_VARIABLE, ""),
        )
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ValueError(plain_message(first["msg"])) from None


_SAID_LIMIT = 300


class ApiResponse(NamedTuple):
    """Status, headers with lower-case names, and the body's text."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def ok(self) -> bool:
        """Whether the request was carried out. A redirect was not."""
        return 200 <= self.status < 300

    def json(self) -> Any:
        """The body; raises ValueError when it is no JSON. An empty body is None."""
        return json.loads(self.text) if self.text.strip() else None

    @property
    def said(self) -> str:
        """GitHub's own words on an error: its message and the first of its details."""
        try:
            content = self.json()
        except ValueError:
            return ""
        if not isinstance(content, dict):
            return ""
        words = [str(content.get("message") or "")]
        errors = content.get("errors")
        words.extend(
            str(error.get("message") or error) if isinstance(error, dict) else str(error)
            for error in (errors[:3] if isinstance(errors, list) else ())
        )
        return "; ".join(word.strip(" .") for word in words if word)[:_SAID_LIMIT]


_LIMIT_WORDS = re.compile(r"rate limit|abuse detection|retry your request again later", re.I)


class RetryLimits(Value):
    """How long the gate waits for GitHub, in seconds.

    `total_seconds` bounds all waits of one forge together, tries that came to nothing included.
    `attempts` counts the first one. `first_wait` doubles with each attempt that GitHub failed;
    `limit_wait` does with each that met a rate limit of unknown length. `timeout_seconds` is for
    one answer. `between_writes` keeps below the limits for content, after the first `quick_writes`.
    """

    total_seconds: float = Field(default=600, ge=0)
    attempts: int = Field(default=5, ge=1)
    first_wait: float = Field(default=1, ge=0)
    limit_wait: float = Field(default=60, ge=0)
    timeout_seconds: int = Field(default=20, ge=1)
    between_writes: float = Field(default=0.25, ge=0)
    quick_writes: int = Field(default=4, ge=0)


class Trouble(StrEnum):
    """Why a request may be worth another attempt."""

    LIMIT = "rate limit"
    OUTAGE = "outage"


class Pause(NamedTuple):
    """What went wrong, and the wait in seconds before the next attempt."""

    trouble: Trouble
    seconds: float


def is_limited(answer: ApiResponse) -> bool:
    """Whether this answer means that there were too many requests."""
    if answer.status == 429:
        return True
    if answer.status != 403:
        return False
    headers = answer.headers
    exhausted = headers.get("x-ratelimit-remaining") == "0"
    return exhausted or "retry-after" in headers or bool(_LIMIT_WORDS.search(answer.said))


def pause_after(
    answer: ApiResponse | None, attempt: int, limits: RetryLimits, *, now: float
) -> Pause | None:
    """Return the pause before the next attempt, or None when none would help.

    `answer` is None when the connection broke or timed out. `attempt` counts from 1. `now` is Unix
    time.
    """
    if answer is None or answer.status >= 500 or answer.status == 408:
        return Pause(Trouble.OUTAGE, limits.first_wait * 2 ** (attempt - 1))
    if not is_limited(answer):
        return None
    asked = _number(answer, "retry-after")
    if asked is None and answer.headers.get("x-ratelimit-remaining") == "0":
        reset = _number(answer, "x-ratelimit-reset")
        asked = None if reset is None else max(reset - now, 0) + 1
    if asked is None:
        asked = limits.limit_wait * 2 ** (attempt - 1)
    return Pause(Trouble.LIMIT, asked)


def _number(answer: ApiResponse, header: str) -> float | None:
    try:
        number = float(answer.headers.get(header, ""))
    except ValueError:
        return None
    return number if 0 <= number < 1e11 else None


_CERTIFICATE = re.compile(r"CERTIFICATE_VERIFY_FAILED|CA certificate bundle")
_NOT_ALLOWED = re.compile(r"not accessible by|must have (?:admin|write|push)|permission", re.I)


def refusal(answer: ApiResponse, what: str, permission: str) -> ForgeError:
    """Return the error for an answer that no retry mends.

    `what` completes "GitHub did not ..."; `permission` is what the request needs, as a workflow
    writes it.
    """
    said = f": {answer.said}" if answer.said else ""
    if is_limited(answer):
        return RateLimited(f"GitHub's rate limit kept the gate from its work: it did not {what}.")
    if answer.status == 401:
        return ForgeRejected(
            f"GitHub does not accept the token: it did not {what}{said}.",
            status=401,
            hint="Give the action a token that is valid, such as github.token.",
        )
    if answer.status == 403 and _NOT_ALLOWED.search(answer.said):
        wanted = _wanted(answer, permission)
        return MissingPermission(
            f"The token may not {what} ({answer.said}): the gate needs the permission `{wanted}`.",
            permission=wanted,
            hint=f"Add `{wanted}` to the job's `permissions`.",
        )
    if answer.status == 404:
        return NotOnForge(
            f"GitHub knows nothing of it, or hides it from this token: it did not {what}{said}.",
            hint=f"If it is there, the token may lack the permission `{permission}`.",
        )
    if 300 <= answer.status < 400:
        return ForgeRejected(
            f"GitHub sent the gate elsewhere ({answer.status}) and did not {what}.",
            status=answer.status,
            hint="Was the repository renamed? The gate follows no redirect to another place.",
        )
    return ForgeRejected(f"GitHub did not {what} ({answer.status}{said}).", status=answer.status)


def outage(trouble: Trouble, what: str, *, detail: str, waited: float) -> ForgeError:
    """Return the error for a request that was repeated in vain."""
    waiting = f" The gate waited {waited:.0f} s." if waited >= 1 else ""
    if trouble is Trouble.LIMIT:
        return RateLimited(
            f"GitHub asks for {detail} before it will {what}, because there were too many "
            f"requests.{waiting}",
            hint="Run the job again later.",
        )
    return ForgeUnavailable(
        f"GitHub did not {what}: {detail}.{waiting}",
        hint="See https://www.githubstatus.com, and run the job again later.",
    )


def _wanted(answer: ApiResponse, usual: str) -> str:
    """Return the permission to name: the usual one, unless GitHub's own header has none like it.

    The usual one is what the gate's whole work asks for; the header tells of this request. It lists
    sets that would do, separated by semicolons: `issues=write; a=read,b=write`.
    """
    header = answer.headers.get("x-accepted-github-permissions", "")
    sets = [
        ", ".join(part.strip().replace("_", "-").replace("=", ": ") for part in one.split(","))
        for one in header.split(";")
        if re.fullmatch(r"\s*[a-z_]+=[a-z]+(?:\s*,\s*[a-z_]+=[a-z]+)*\s*", one)
    ]
    scope = usual.partition(":")[0]
    alike = any(part.partition(":")[0] == scope for one in sets for part in one.split(", "))
    return usual if alike or not sets else sets[0]


PER_PAGE = 100
_FOUND = 302

_PAGES_LIMIT = 100
"""GitHub takes at most 2,500 comments on an issue and 1,000 check runs of a name. What has more
pages is refused as a whole: a flood of entries could hide the newest."""


class ApiRequest(NamedTuple):
    """One request. `what` completes "GitHub did not ..."; `permission` is what it needs.

    `path` is relative to the API, below `/repos/OWNER/NAME`; `/graphql` stands for that endpoint.
    With `missing_ok`, a 404 is an answer like any other. `repository` names another one than ours,
    a fork for instance. With `moves`, an answer that names another address is what was asked for.
    """

    verb: str
    path: str
    what: str
    permission: str
    body: Mapping[str, Any] | None = None
    query: Mapping[str, str] | None = None
    missing_ok: bool = False
    repository: str = ""
    moves: bool = False


class GitHubTransport:
    """Requests to one repository's API. `sleep` and `now` (Unix time) are parameters for tests."""

    def __init__(
        self,
        access: GitHubAccess,
        limits: RetryLimits,
        *,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._access = access
        self._limits = limits
        self._sleep = sleep
        self._now = now
        self._waited = 0.0  # seconds of pauses, and of the tries that came to nothing
        self._writes = 0
        self._made: Requester | None = None

    def ask(self, request: ApiRequest) -> Any:
        """Send a request and return the JSON of its answer. Raises `ForgeError`."""
        return self._ask(request)[1]

    def told(self, request: ApiRequest, shape: Callable[[Any], T]) -> T:
        """Send a request and return what `shape` makes of its answer. Raises `ForgeError`."""
        content = self.ask(request)
        with understood(request.what):
            return shape(content)

    def listed(self, request: ApiRequest, shape: Callable[[Any], T], key: str = "") -> list[T]:
        """Return what `shape` makes of each entry on all pages of a list, below `key` if any."""
        with understood(request.what):
            pages = self.pages(request)
            return [shape(one) for page in pages for one in (page[key] if key else page)]

    @property
    def authorities(self) -> str:
        """The file of the certificates that count; empty for those that the HTTP library knows."""
        return self._access.ca_file

    def redirect(self, request: ApiRequest) -> str:
        """Send a request that is answered with another address; return that. Raises `ForgeError`.

        It is not followed here: the token goes to no other host.
        """
        answer, _ = self._ask(request._replace(moves=True))
        return answer.headers.get("location", "")

    def pages(self, request: ApiRequest) -> Iterator[Any]:
        """Send a request for every page of a list. Addresses in the answers are never followed."""
        query = {**(request.query or {}), "per_page": str(PER_PAGE)}
        for page in range(1, _PAGES_LIMIT + 1):
            paged = query if page == 1 else {**query, "page": str(page)}
            answer, content = self._ask(request._replace(query=paged))
            yield content
            if 'rel="next"' not in answer.headers.get("link", ""):
                return
        raise ForgeRejected(
            f"GitHub has more than {_PAGES_LIMIT * PER_PAGE:,} entries to tell; the gate, asked to "
            f"{request.what}, would have to leave some out.",
        )

    def _ask(self, request: ApiRequest) -> tuple[ApiResponse, Any]:
        attempt, before = 0, self._waited
        while True:
            attempt += 1
            started = self._now()
            answer, content, detail = self._attempt(request)
            if answer is not None and (
                answer.status == _FOUND and bool(answer.headers.get("location"))
                if request.moves
                else answer.ok or (request.missing_ok and answer.status == 404)
            ):
                return answer, content
            pause = pause_after(answer, attempt, self._limits, now=self._now())
            if pause is None and answer is not None:
                raise refusal(answer, request.what, request.permission)
            assert pause is not None  # noqa: S101 - without an answer there is always one
            self._waited += max(0.0, self._now() - started)
            left = self._limits.total_seconds - self._waited
            if attempt >= self._limits.attempts or pause.seconds > left:
                if pause.trouble is Trouble.LIMIT:
                    detail = f"a pause of {pause.seconds:,.0f} s"
                waited = self._waited - before
                raise outage(pause.trouble, request.what, detail=detail, waited=waited)
            self._waited += pause.seconds
            self._sleep(pause.seconds)

    def _attempt(self, request: ApiRequest) -> tuple[ApiResponse | None, Any, str]:
        """Send once. Return the answer, None if there is none; its content; what went wrong."""
        try:
            answer = self._send(request)
        except OSError as error:  # every error of the HTTP library is one
            if _CERTIFICATE.search(str(error)):
                raise ForgeRejected(
                    f"GitHub did not {request.what}: its certificate is not one that this machine "
                    "trusts.",
                    hint=CERTIFICATE_HINT,
                ) from error
            name = type(error).__name__  # no addresses, or whatever else the library's text holds
            late = "Timeout" in name
            said = "it did not answer in time" if late else f"the connection broke ({name})"
            return None, None, said
        if not answer.ok:
            return answer, None, f"it answered {answer.status}"
        try:
            return answer, answer.json(), ""
        except ValueError:
            return None, None, "its answer was garbled"

    def _send(self, request: ApiRequest) -> ApiResponse:
        if request.verb != "GET" and request.path != "/graphql":  # the first few need no pause
            self._writes += 1
            if self._writes > self._limits.quick_writes and self._limits.between_writes:
                self._sleep(self._limits.between_writes)
        url = f"/repos/{request.repository or self._access.repository}{request.path}"
        if self._made is None:
            import github

            limits = self._limits
            made = github.Github(
                auth=github.Auth.Token(self._access.token.get_secret_value()),
                base_url=self._access.api_url.rstrip("/"),
                timeout=limits.timeout_seconds,
                user_agent="gateval",
                verify=self._access.ca_file or True,
                per_page=PER_PAGE,
                retry=None,  # retries are ours: PyGithub's know no total and sleep on their own
                seconds_between_requests=0,
                seconds_between_writes=0,  # ours: the first few writes need no pause
            )
            self._made = made.requester
        requester = self._made
        if request.path == "/graphql":
            url = requester.graphql_url
        try:
            status, headers, text = requester.requestJson(
                request.verb, url, dict(request.query or {}), input=request.body
            )
        except RuntimeError as error:  # PyGithub's word for a redirect to another host
            raise ForgeRejected(
                f"GitHub sent the gate to another host and did not {request.what}.",
                hint="Check GITHUB_API_URL; the token is sent to no other host.",
            ) from error
        return ApiResponse(status, {str(k): str(v) for k, v in headers.items()}, str(text))
