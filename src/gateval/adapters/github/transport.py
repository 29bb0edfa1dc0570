"""Sends requests through PyGithub's requester, and again where that can help."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from gateval.adapters.github.access import GitHubAccess
from gateval.adapters.github.faults import is_certificate, outage, refusal, untrusted
from gateval.adapters.github.response import ApiResponse
from gateval.adapters.github.waiting import RetryLimits, Trouble, pause_after
from gateval.errors import ForgeRejected

if TYPE_CHECKING:
    from github.Requester import Requester

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
            if answer is not None and _is_wanted(answer, request):
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
            if is_certificate(error):
                raise untrusted(request.what) from error
            return None, None, _broken(error)
        if not answer.ok:
            return answer, None, f"it answered {answer.status}"
        try:
            return answer, answer.json(), ""
        except ValueError:
            return None, None, "its answer was garbled"

    def _pace(self, request: ApiRequest) -> None:
        """Pause before a write when there were some already."""
        if request.verb == "GET" or request.path == "/graphql":
            return
        self._writes += 1
        if self._writes > self._limits.quick_writes and self._limits.between_writes:
            self._sleep(self._limits.between_writes)

    def _send(self, request: ApiRequest) -> ApiResponse:
        self._pace(request)
        url = f"/repos/{request.repository or self._access.repository}{request.path}"
        requester = self._requester()
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

    def _requester(self) -> Requester:
        """Make the requester at its first use: importing PyGithub takes more than 100 ms."""
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
        return self._made


def _is_wanted(answer: ApiResponse, request: ApiRequest) -> bool:
    if request.moves:
        return answer.status == _FOUND and bool(answer.headers.get("location"))
    return answer.ok or (request.missing_ok and answer.status == 404)


def _broken(error: Exception) -> str:
    """Say how a connection broke, without addresses or whatever else the library's text holds."""
    name = type(error).__name__
    return "it did not answer in time" if "Timeout" in name else f"the connection broke ({name})"
