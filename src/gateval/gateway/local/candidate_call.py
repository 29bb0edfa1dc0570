"""One call of a candidate through the local server: which way it goes, and what is recorded."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import NamedTuple

from gateval.domain.base import JsonObject
from gateval.domain.manifests.scripted import SCRIPTED_PROVIDER
from gateval.domain.trials.model_call import ModelReply, ModelRequest
from gateval.gateway.door import Gateway
from gateval.gateway.local.relay import Relayed, relay
from gateval.gateway.local.routing import route
from gateval.gateway.local.session import Session
from gateval.gateway.local.trial_calls import CallTimer, TrialCalls
from gateval.gateway.upstream.endpoints import Upstream
from gateval.gateway.upstream.faults import http_status, sentence, status_error
from gateval.gateway.upstream.http_client import HttpResponse, OpenStream
from gateval.ports.model_calls import ModelCallError
from gateval.wire import account
from gateval.wire.base import WireError, WireFormat
from gateval.wire.json_text import read_object, write_json
from gateval.wire.registry import WIRE_FORMATS
from gateval.wire.sse import write_event
from gateval.wire.streams import STREAM_FORMATS


class Reply(NamedTuple):
    """The reply to a candidate: an HTTP status and a JSON body in its wire format."""

    status: int
    body: bytes


class Stream(NamedTuple):
    """The reply to a candidate that asked for a stream: pieces of server-sent events.

    The caller goes through the pieces or closes them: that ends the call.
    """

    pieces: AsyncGenerator[bytes, None]


def error_reply(wire: WireFormat, status: int, message: str) -> Reply:
    """Return an error of our own in the shape of the wire format."""
    return Reply(status, wire.encode_error(status, message))


class CandidateCall:
    """A request that came in the format `wire_name`, in a trial of a session.

    `timer` is told when a model is waited for.
    """

    def __init__(
        self,
        gateway: Gateway,
        session: Session,
        trial: TrialCalls,
        wire_name: str,
        timer: CallTimer,
    ) -> None:
        self._gateway = gateway
        self._session = session
        self._trial = trial
        self._name = wire_name
        self._wire = WIRE_FORMATS[wire_name]
        self._timer = timer
        self._tries = timer.tries
        self._fields: JsonObject = {}
        self._asked: ModelRequest | None = None
        self._whole: ModelRequest | None = None

    async def answer(self, body: bytes) -> Reply | Stream:
        """Answer the request and record it in the trial.

        Never raises for anything that a candidate or a provider does.
        """
        try:
            self._fields = read_object(body)
            self._asked = self._wire.decode_request(body)
            self._whole = self._trial.stored.whole(self._asked)
            limits, named = self._session.limits, (*self._session.models, *self._session.uses)
            model = route(self._asked.model, named, self._name)
            refused = account.refusal(
                body, self._fields, allow=limits.allow, max_tokens=limits.max_tokens
            )
            if refused or (refused := self._session.refusal(model)):
                return self._refused(sentence(refused))
            with self._timer.waiting():
                return await self._pass_on(model, self._whole)
        except WireError as error:
            message = sentence(f"The request cannot be passed on: {error}")
            self._trial.failed(self._whole, message)
            return error_reply(self._wire, 400, message)
        except ModelCallError as error:
            self._trial.failed(self._whole, error)
            return error_reply(self._wire, http_status(error), error.message)

    def _refused(self, message: str) -> Reply:
        self._trial.failed(self._whole, message)
        return error_reply(self._wire, 403, message)

    async def _pass_on(self, model: str, whole: ModelRequest) -> Reply | Stream:
        """Ask `model` with the candidate's own body if it speaks this format, else through the
        neutral form.
        """
        provider, _, model_id = model.partition("/")
        upstream = None if provider == SCRIPTED_PROVIDER else self._gateway.upstream(model)
        if upstream is None or self._name not in upstream.wires:
            drawn = whole.model_copy(update={"draw": self._trial.draw})
            said = await self._gateway.ask(
                model,
                drawn,
                side=self._session.side,
                sender=self._gateway.for_candidates,
                tries=self._tries,
            )
            return self._own_reply(model, whole, said)
        # Only the name of the model is rewritten: what the neutral form does not know must survive.
        fields = {**self._fields, "model": model_id}
        try:
            if self._fields.get("stream"):
                return await self._open(model, whole, upstream, fields)
            got = await self._gateway.for_candidates.exchange(
                upstream, self._name, model_id, write_json(fields), self._tries
            )
            return self._passed_back(model, whole, got)
        except ModelCallError as error:
            error.cost = self._tries.cost
            raise

    async def _open(
        self, model: str, whole: ModelRequest, upstream: Upstream, fields: JsonObject
    ) -> Reply | Stream:
        stream = STREAM_FORMATS[self._name]
        body = write_json(stream.stream_body(fields))
        got = await self._gateway.for_candidates.open(
            upstream, self._name, model.partition("/")[2], body, self._tries
        )
        if not isinstance(got, OpenStream):
            # A server may answer in one piece all the same.
            if got.reply is None:
                return self._passed_back(model, whole, got)
            return self._own_reply(model, whole, got.reply)
        wanted = Relayed(
            provider=upstream.provider,
            stream=stream,
            fields=self._fields,
            on_reply=lambda reply: self._replied(model, whole, reply),
            on_failure=self._failed_midway,
        )
        return Stream(relay(got, wanted, self._gateway.scrubber, self._timer))

    def _own_reply(self, model: str, whole: ModelRequest, said: ModelReply) -> Reply | Stream:
        """Write a reply that came through the neutral form, and record it."""
        named = said.model_copy(update={"id": said.id or self._trial.next_id()})
        self._replied(model, whole, named)
        asked = self._asked or whole
        if self._fields.get("stream"):
            events = STREAM_FORMATS[self._name].encode_stream(named, asked, self._fields)
            return Stream(_pieces(b"".join(write_event(event) for event in events)))
        return Reply(200, self._wire.encode_reply(named, asked))

    def _passed_back(self, model: str, whole: ModelRequest, got: HttpResponse) -> Reply:
        """Return an answer as it came, and record it."""
        if got.reply is None:
            provider = model.partition("/")[0]
            error = status_error(provider, got.status, self._wire.decode_error(got.body))
            error.cost = self._tries.cost
            self._trial.failed(whole, error)
            return Reply(got.status, _error_body(self._wire, got, error.message))
        self._replied(model, whole, got.reply)
        return Reply(got.status, got.body)

    def _replied(self, model: str, whole: ModelRequest, reply: ModelReply) -> None:
        if reply.seconds is None:
            reply = reply.model_copy(update=self._tries.cost._asdict())
        self._trial.replied(model, whole, reply)
        if self._asked is not None and self._fields.get("store") is not False:
            self._trial.stored.remember(self._asked, reply)

    def _failed_midway(self, error: ModelCallError) -> None:
        error.cost = self._tries.cost
        self._trial.failed(self._whole, error)


async def _pieces(whole: bytes) -> AsyncGenerator[bytes, None]:
    yield whole


def _error_body(wire: WireFormat, got: HttpResponse, message: str) -> bytes:
    """Return the provider's own error, which agents may look into, or ours if it has no shape."""
    try:
        is_shaped = isinstance(read_object(got.body).get("error"), dict)
    except WireError:
        is_shaped = False
    return got.body if is_shaped else wire.encode_error(got.status, message)
