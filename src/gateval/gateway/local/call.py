"""One request of a candidate to a model: what all of them have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from typing import NamedTuple

from gateval.domain.base import JsonObject
from gateval.domain.trials.model_call import ModelRequest
from gateval.gateway.door import Gateway
from gateval.gateway.local.routing import Endpoint, route
from gateval.gateway.local.session import Session
from gateval.gateway.local.trial_calls import CallTimer, TrialCalls
from gateval.gateway.upstream.faults import http_status, sentence, status_error
from gateval.gateway.upstream.http_client import ReceivedResponse
from gateval.ports.model_calls import ModelCallError
from gateval.wire import account
from gateval.wire.base import Format, WireError
from gateval.wire.json_text import read_object, write_json
from gateval.wire.registry import FORMATS


class Reply(NamedTuple):
    """The reply to a candidate: an HTTP status and a JSON body in its wire format."""

    status: int
    body: bytes


class Stream(NamedTuple):
    """The reply to a candidate that asked for a stream: pieces of server-sent events.

    The caller goes through the pieces or closes them: that ends the call.
    """

    pieces: AsyncGenerator[bytes, None]


def error_reply(wire: Format, status: int, message: str) -> Reply:
    """Return an error of our own in the shape of the wire format."""
    return Reply(status, wire.encode_error(status, message))


class Call(ABC):
    """A request that came to `place`, in a trial of a session.

    `timer` is told when a model is waited for.
    """

    def __init__(
        self,
        gateway: Gateway,
        session: Session,
        trial: TrialCalls,
        place: Endpoint,
        timer: CallTimer,
    ) -> None:
        self._gateway = gateway
        self._session = session
        self._trial = trial
        self._place = place
        self._name = place.wire
        self._format = FORMATS[place.wire]
        self._timer = timer
        self._tries = timer.tries
        self._fields: JsonObject = {}
        self._whole: ModelRequest | None = None

    @abstractmethod
    def _read(self, body: bytes) -> str:
        """Read the request and return the model that it names. Raises `WireError`."""

    @abstractmethod
    async def _pass_on(self, model: str) -> Reply | Stream:
        """Ask `model` (`provider/model-id`). Raises `WireError` or `ModelCallError`."""

    async def answer(self, body: bytes) -> Reply | Stream:
        """Answer the request and record it in the trial.

        Never raises for anything that a candidate or a provider does.
        """
        model = ""
        try:
            model = self._asked(body)
            limits = self._session.limits
            refused = account.refusal(
                body, self._fields, allow=limits.allow, max_tokens=limits.max_tokens
            )
            refused = (
                refused or self._session.refusal(model) or self._gateway.ledger.unpriced(model)
            )
            if refused:
                return self._refused(403, sentence(refused))
            self._tries.most = account.most_tokens(self._fields)
            if denied := self._trial.denied(model):
                raise denied
            self._timer.model = model
            with self._timer.waiting():
                return await self._pass_on(model)
        except WireError as error:
            return self._refused(400, sentence(f"The request cannot be passed on: {error}"))
        except ModelCallError as error:
            self._trial.failed(self._whole, error, model)
            return error_reply(self._format, http_status(error), error.message)

    def _asked(self, body: bytes) -> str:
        """Read the request and return the model that it means."""
        self._fields = read_object(body)
        if self._place.model:
            # What the path says counts, whatever the body says.
            self._fields = {**self._fields, "model": self._place.model}
            if "{model}" in self._format.path:
                self._fields["stream"] = self._place.streams
            body = write_json(self._fields)
        named = (*self._session.models, *self._session.uses)
        return route(self._read(body), named, self._name, self._place.home)

    def _refused(self, status: int, message: str) -> Reply:
        self._trial.failed(self._whole, message)
        return error_reply(self._format, status, message)

    def _rejected(self, model: str, got: ReceivedResponse) -> Reply:
        """Return a provider's own error, which agents may look into, or ours if it has no shape."""
        error = status_error(
            model.partition("/")[0], got.status, self._format.decode_error(got.body)
        )
        error.cost = self._tries.cost
        self._trial.failed(self._whole, error, model)
        try:
            is_shaped = isinstance(read_object(got.body).get("error"), dict)
        except WireError:
            is_shaped = False
        body = got.body if is_shaped else self._format.encode_error(got.status, error.message)
        return Reply(got.status, body)
