"""HTTP to the servers that candidates run."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class LocalRequest(NamedTuple):
    """A request to a server of this machine. `target` is path and query, percent-encoded."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None


class LocalReply(NamedTuple):
    """The server's answer: any status; `content_type` and `location` as sent, "" for none.

    `session` is what an MCP server calls the session (`Mcp-Session-Id`).
    """

    status: int
    content_type: str
    body: bytes
    location: str = ""
    session: str = ""


class LocalHttpError(Exception):
    """No whole answer came. `message` is a clause to be put after `The server`.

    `late` says that time was up, `refused` that nothing listens there.
    """

    def __init__(self, message: str, *, late: bool = False, refused: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.late = late
        self.refused = refused


class Owner(NamedTuple):
    """Whose a server is: a user's own, or what `warden` has started where it runs as the gate's."""

    user: int | None
    warden: int


class LocalHttp(Protocol):
    """HTTP to servers that candidates run: loopback only, nothing followed, nothing remembered."""

    async def ask(
        self,
        host: str,
        port: int,
        request: LocalRequest,
        *,
        seconds: float,
        limit: int,
        owner: Owner | None = None,
    ) -> LocalReply:
        """Send one request over a connection of its own and return the whole answer.

        `host` is `127.0.0.1` or `::1`; an answer has at most `limit` bytes and is waited for at
        most `seconds`. Nothing is said to anybody but `owner`, where it is known. Raises
        `LocalHttpError`.
        """
