"""A request in, an answer out: credentials, limits, faults, route, contract. No sockets here."""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass

from tests.servers.github import routes
from tests.servers.github.access import check
from tests.servers.github.contract import Contract
from tests.servers.github.faults import Fault, Faults
from tests.servers.github.graphql import PATHS as GRAPHQL
from tests.servers.github.graphql import answer_graphql
from tests.servers.github.http import ApiError, Call, Reply, Request
from tests.servers.github.limits import Limits
from tests.servers.github.log import Log
from tests.servers.github.routing import Route, find
from tests.servers.github.state.tokens import Token
from tests.servers.github.state.world import World
from tests.servers.github.views.links import Links

assert routes.__all__, "importing the package registers the routes"


@dataclass(frozen=True)
class Answer:
    """What the socket does: waits, then closes without a byte (`reply` None) or sends."""

    reply: Reply | None
    delay: float = 0


class Api:
    """The REST API of one GitHub."""

    def __init__(self, world: World, *, limited: bool) -> None:
        self.world = world
        self.links = Links("", "")
        self.contract = Contract()
        self.faults = Faults()
        self.limits = Limits(enabled=limited)
        self.log = Log()

    def answer(self, request: Request) -> Answer:
        """Do what a request asks, unless a fault or a rule stands against it."""
        fault = self.faults.hit(request) or Fault(request.method, request.path)
        if fault.then is not None:
            fault.then()
        reply: Reply | None = fault.reply
        token = bearer(self.world, request)
        if fault.done or not (fault.drop or fault.reply):
            true = self._answer(request, token)
            reply = reply or true
        if fault.drop:
            reply = None
        self.log.add(request, reply.status if reply else 0, token.value if token else None)
        return Answer(reply, fault.delay)

    def _answer(self, request: Request, token: Token | None) -> Reply:
        if request.path in GRAPHQL:
            return self._graphql(request, token)
        found = find(request.method, request.path)
        try:
            reply = self._serve(request, token, found)
        except ApiError as refused:
            reply = refused.reply
        if found is not None:
            self.contract.check_reply(found[0].template, request, reply)
            reply = self._unless_known(request, token, reply)
        reply.headers |= self.limits.headers(token)
        return reply

    def _graphql(self, request: Request, token: Token | None) -> Reply:
        try:
            return answer_graphql(request, token)
        except AssertionError as unknown:
            self.contract.violations.append(str(unknown))
            return ApiError(400, str(unknown)).reply

    def _serve(
        self, request: Request, token: Token | None, found: tuple[Route, dict[str, str]] | None
    ) -> Reply:
        if found is None:
            self.contract.unserved(request)
            raise ApiError(404, "Not Found")
        route, params = found
        self.contract.check_request(route.template, request)
        if not request.headers.get("user-agent"):
            raise ApiError(403, "Request forbidden by administrative rules: no User-Agent header.")
        if token is None and "authorization" in request.headers and route.template != "/app":
            raise ApiError(401, "Bad credentials")
        self.limits.take(token, request)
        try:
            body = request.json()
        except ValueError:
            raise ApiError(400, "Problems parsing JSON") from None
        call = Call(
            request, route.template, params, self.world, self.links, self.limits, token, body
        )
        check(call, route.needs)
        return route.handler(call)

    def _unless_known(self, request: Request, token: Token | None, reply: Reply) -> Reply:
        """Answer 304 if the client holds this very answer already; that costs it nothing."""
        if request.method != "GET" or reply.status != 200:
            return reply
        etag = f'W/"{hashlib.sha256(reply.encoded()).hexdigest()}"'
        reply.headers["ETag"] = etag
        if request.headers.get("if-none-match") != etag:
            return reply
        self.limits.give_back(token)
        return Reply(304, None, {"ETag": etag})


def bearer(world: World, request: Request) -> Token | None:
    """Return the token a request carries: as Bearer, as token, or as git's password."""
    kind, _, value = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "basic":
        try:
            _, _, value = base64.b64decode(value).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return None
    return world.tokens.get(value.strip())
