"""Model calls, their prices and HTTP to local servers, as the inner rooms ask for them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import NamedTuple, Protocol

from gateval.domain.trials.model_call import Caller, InputReply, ModelReply, ModelRequest, Usage
from gateval.domain.trials.trace import NO_CALL
from gateval.domain.trials.trial import Cause, Side


class ModelCallFault(StrEnum):
    """Why a model call gave no reply."""

    OUTAGE = "outage"
    """Rate limit, 5xx, dropped connection or time-out, after all retries."""
    DENIED = "denied"
    """The provider refused the key or the account (401, 402, 403)."""
    REJECTED = "rejected"
    """The request itself is wrong: unknown model, bad parameter, too long (other 4xx)."""
    UNREADABLE = "unreadable"
    """The provider answered something that is no reply in its wire format."""
    UNCONFIGURED = "unconfigured"
    """No such provider, no key, a certificate that nobody we trust has signed, or a scripted model
    without a rule for this conversation."""
    BUDGET = "budget"
    """The calls of the run have taken what the policy gives them."""
    HELD = "held"
    """Calls that did not come to an end hold back what the run has left; it goes on."""
    UNRECORDED = "unrecorded"
    """The run replays a recording, offline, and the recording has no such call."""
    GIVEN_UP = "given_up"
    """Nothing of the model got through for so long that the run does not ask it any more."""


class ModelCallError(Exception):
    """A model call failed for good. `message` is a sentence without secrets; `status` is HTTP's.

    `cost` is what the attempts took together.

    Not part of the tree in `errors.py`: it ends one trial, never the run.
    """

    def __init__(self, fault: ModelCallFault, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.fault = fault
        self.message = message
        self.status = status
        self.cost = NO_CALL

    @property
    def cause(self) -> Cause:
        """Whom a candidate's trial blames: the candidate for a rejected request, else others."""
        if self.fault is ModelCallFault.REJECTED:
            return Cause.CANDIDATE
        if self.fault in {
            ModelCallFault.UNCONFIGURED,
            ModelCallFault.BUDGET,
            ModelCallFault.HELD,
            ModelCallFault.UNRECORDED,
        }:
            return Cause.GATE
        return Cause.PROVIDER

    @property
    def lasting(self) -> bool:
        """Whether the same would come of it again in this run: until a person mends the key or the
        account, or gives the run more, or the model is there again.
        """
        return self.fault in {
            ModelCallFault.DENIED,
            ModelCallFault.BUDGET,
            ModelCallFault.GIVEN_UP,
        }


REFUSED = "The gateway refused a call."
"""How the reason begins where a trial has no answer after a refusal of ours."""

LATE = "A model did not answer in time."
"""How the reason begins where a model was waited for until the trial's time was over."""


def waited_sentence(seconds: float) -> str:
    """Return why a trial whose time was over did not have all of it."""
    return (
        f"{seconds:.1f} s of the time went by waiting for a provider that refused or dropped calls."
    )


class ModelTrouble(NamedTuple):
    """Why a trial may say nothing of the candidate, as a sentence: its models were out of reach.

    With the candidate as cause: the gateway or the provider refused what it asked. `lasting` says
    that the provider refuses the key or the account, as it will the next time. `in_silence`: it is
    no trouble where the candidate gave an answer that a model had a say in.
    """

    cause: Cause
    reason: str
    lasting: bool = False
    in_silence: bool = False


_FEW_SECONDS = 1.0
"""A call that waited less says nothing of the provider."""

_MANY_SECONDS = 10.0
"""The same where nobody knows how long the model takes, and the candidate gave up by itself."""


def hangs(waited: float, slowest: float | None, *, late: bool) -> bool:
    """Whether a call that nobody answered was the provider's trouble: it waited more than twice as
    long as any of its model that was answered in this run, `slowest`. `late`: until the time of the
    trial was over.
    """
    least = _FEW_SECONDS if late or slowest is not None else _MANY_SECONDS
    return waited >= max(least, 2 * (slowest or 0.0))


Embed = Callable[[str, tuple[str, ...]], Awaitable[InputReply]]
"""Has a model (`provider/model-id`) give a vector for each text. Raises `ModelCallError`."""


class Callers(NamedTuple):
    """Who makes the calls of one trial, where calls are recorded or replayed: its agent, its judge,
    and what measures texts for it.
    """

    agent: Caller | None = None
    judge: Caller | None = None
    embed: Embed | None = None


NO_CALLERS = Callers()


class ModelCalls(Protocol):
    """The one door for model calls, as the model loop and the judge use it."""

    async def call(self, model: str, request: ModelRequest, *, side: Side) -> ModelReply:
        """Ask `model` (`provider/model-id`) and return its reply; `request.model` is ignored.

        `side` says whose scripted models answer. Retries are made inside. Raises `ModelCallError`.
        """


class Prices(Protocol):
    """The list prices of providers."""

    def load(self) -> None:
        """Load the list, so that the first price is as quick as all others."""

    def price(
        self, model: str, usage: Usage, *, answered: str = "", tier: str = ""
    ) -> float | None:
        """Return what a call costs in US dollars; None where the list lacks the model.

        `model` is `provider/model-id` as it was asked, `answered` the id that the provider says
        answered, `tier` its class of service. Tokens that nobody counted have no price.
        """


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


class NoPortLeft(LocalHttpError):
    """No port of this machine is left to listen on or to ask from: no fault of the server."""

    def __init__(self) -> None:
        super().__init__(
            "cannot be started or asked: programs, agents among them, hold all ports of this "
            "machine from which the system chooses. End them, or widen "
            "net.ipv4.ip_local_port_range."
        )


class Owner(NamedTuple):
    """Whose a server is: a user's own, or what `guard` has started where it runs as the gate's."""

    user: int | None
    guard: int


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
