"""Rate limits: the primary one by token and hour, the secondary one on what creates content.

https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

from tests.servers.github.faults import SECONDARY
from tests.servers.github.http import ApiError, Reply, Request
from tests.servers.github.state.tokens import Token


class Limits:
    """Set `hourly`, `content_per_minute` and `resets_in` (seconds) to make a client meet them.

    `now` is the server's clock (Unix time) for the primary limit.
    """

    def __init__(self, *, enabled: bool) -> None:
        self.enabled = enabled
        self.hourly: int | None = None
        self.content_per_minute = 80
        self.retry_after: int | None = 60
        self.resets_in = 3600.0
        self.now: Callable[[], float] = time.time
        self._used: dict[str, int] = {}
        self._reset: dict[str, int] = {}
        self._created: deque[float] = deque()

    def take(self, token: Token | None, request: Request) -> None:
        """Count a request; raise the refusal if it is one too many."""
        if not self.enabled or request.path == "/rate_limit":
            return
        self._secondary(request)
        name = token.value if token else ""
        now = self.now()
        if now >= self._reset.get(name, 0):
            self._reset[name], self._used[name] = int(now + self.resets_in), 0
        if self._used[name] >= self._limit(token):
            who = f"user ID {token.user.id}" if token else "your IP"
            raise ApiError(403, f"API rate limit exceeded for {who}.")
        self._used[name] += 1

    def give_back(self, token: Token | None) -> None:
        """Do not count a request that was answered 304."""
        name = token.value if token else ""
        self._used[name] = max(self._used.get(name, 0) - 1, 0)

    def headers(self, token: Token | None) -> dict[str, str]:
        """Return the headers that tell a client where it stands; none on GitHub Enterprise."""
        state = self._state(token)
        return (
            {f"X-RateLimit-{key.title()}": str(value) for key, value in state.items()}
            if self.enabled
            else {}
        )

    def overview(self, token: Token | None) -> Reply:
        """Answer `GET /rate_limit`."""
        if not self.enabled:
            raise ApiError(404, "Rate limiting is not enabled.")
        state = {key: value for key, value in self._state(token).items() if key != "resource"}
        return Reply(200, {"resources": {"core": state, "search": state}, "rate": state})

    def _state(self, token: Token | None) -> dict[str, Any]:
        name = token.value if token else ""
        used, limit = self._used.get(name, 0), self._limit(token)
        reset = self._reset.get(name) or int(self.now() + self.resets_in)
        return {
            "limit": limit,
            "remaining": max(limit - used, 0),
            "reset": reset,
            "used": used,
            "resource": "core",
        }

    def _limit(self, token: Token | None) -> int:
        if self.hourly is not None:
            return self.hourly
        if token is None:
            return 60
        return 1000 if token.app else 5000

    def _secondary(self, request: Request) -> None:
        if request.method == "GET":
            return
        now = time.monotonic()
        while self._created and now - self._created[0] > 60:
            self._created.popleft()
        if len(self._created) >= self.content_per_minute:
            wait = {} if self.retry_after is None else {"Retry_After": str(self.retry_after)}
            raise ApiError(403, SECONDARY, **wait)
        self._created.append(now)
