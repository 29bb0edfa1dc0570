"""What goes wrong on request: a test plants faults, each hits the requests it names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from tests.servers.github.http import DOCS, Reply, Request

SECONDARY = (
    "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
)


@dataclass
class Fault:
    """Hits the `nth` request (1 is the first) that fits method and path, and `times` in all.

    In this order: `then` is called (a test moves a head there), the server waits `delay` seconds;
    with `done` it does what was asked all the same; then `drop` closes the connection without a
    byte, or `reply` is sent. With neither, the answer is the true one.
    """

    method: str
    path: str
    nth: int = 1
    times: int = 1
    reply: Reply | None = None
    drop: bool = False
    done: bool = False
    delay: float = 0
    then: Callable[[], object] | None = None
    seen: int = field(default=0, init=False)

    def hits(self, request: Request) -> bool:
        """Count a request that fits, and say whether it is one to hit."""
        if not (fnmatchcase(request.method, self.method) and fnmatchcase(request.path, self.path)):
            return False
        self.seen += 1
        return self.nth <= self.seen < self.nth + self.times


class Faults:
    """The faults a test planted."""

    def __init__(self) -> None:
        self._planted: list[Fault] = []

    def plant(self, method: str, path: str, **how: Any) -> Fault:
        """Plant a fault; see `Fault` for the words."""
        fault = Fault(method, path, **how)
        self._planted.append(fault)
        return fault

    def status(self, method: str, path: str, status: int, **how: Any) -> Fault:
        """Answer with a status and a body as GitHub's servers send with it."""
        body = {
            "message": f"Server says {status}",
            "documentation_url": DOCS,
            "status": str(status),
        }
        return self.plant(method, path, reply=Reply(status, body), **how)

    def garbled(self, method: str, path: str, **how: Any) -> Fault:
        """Answer 200 with half a JSON text."""
        return self.plant(method, path, reply=Reply(200, b'{"id": 1, "bo'), **how)

    def secondary_limit(
        self,
        method: str,
        path: str,
        *,
        retry_after: int | None = None,
        status: int = 403,
        **how: Any,
    ) -> Fault:
        """Refuse with the secondary rate limit, which does not always say how long to wait."""
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        body = {"message": SECONDARY, "documentation_url": DOCS, "status": str(status)}
        return self.plant(method, path, reply=Reply(status, body, headers), **how)

    def hit(self, request: Request) -> Fault | None:
        """Return the fault that hits this request; every planted one counts it."""
        hits = [fault for fault in self._planted if fault.hits(request)]
        return hits[0] if hits else None

    def forget(self, fault: Fault) -> None:
        """Take a planted fault back."""
        self._planted.remove(fault)

    def unused(self) -> list[str]:
        """Return a sentence for each fault that hit nothing: its test tested nothing."""
        return [
            f"the fault planted on {fault.method} {fault.path} (request {fault.nth}) hit nothing"
            for fault in self._planted
            if fault.seen < fault.nth
        ]
