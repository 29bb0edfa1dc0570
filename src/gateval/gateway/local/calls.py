"""Requests of candidates to models: conversations, texts to measure, streams on their way back.

Once something was passed on nothing is tried again: what breaks then ends the candidate's stream
with an error in its own format.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from typing import NamedTuple

from gateval.domain.base import JsonObject
from gateval.domain.manifests.evaluation import SCRIPTED_PROVIDER
from gateval.domain.trials.model_call import InputReply, InputRequest, ModelReply, ModelRequest
from gateval.gateway.door import Gateway, measure
from gateval.gateway.local.session import Endpoint, Session, route
from gateval.gateway.local.trial_calls import CallTimer, TrialCalls
from gateval.gateway.upstream.endpoints import Upstream
from gateval.gateway.upstream.http_client import OpenStream, ReceivedResponse
from gateval.gateway.upstream.retry import (
    AttemptFailed,
    call_error,
    http_status,
    sentence,
    status_error,
    unreadable,
)
from gateval.gateway.upstream.sender import KeyEchoed, KeyGuard, Scrubber
from gateval.ports.model_calls import ModelCallError, ModelCallFault
from gateval.wire import account
from gateval.wire.base import (
    Format,
    InputFormat,
    SseEvent,
    SseReader,
    WireError,
    WireFormat,
    read_object,
    write_event,
    write_json,
)
from gateval.wire.registry import FORMATS, INPUT_FORMATS, WIRE_FORMATS


class Reply(NamedTuple):
    """The reply to a candidate: an HTTP status and a JSON body in its wire format."""

    status: int
    body: bytes


Stream = AsyncGenerator[bytes, None]
"""The reply to a candidate that asked for a stream: pieces of server-sent events. The caller goes
through the pieces or closes them: that ends the call."""


def error_reply(wire: Format, status: int, message: str) -> Reply:
    """Return an error of our own in the shape of the wire format."""
    return Reply(status, wire.encode_error(status, message))


class Call(ABC):
    """A request that came to `place`, in a trial of a session. `timer` is told when a model is
    waited for.
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
        """Answer the request and record it in the trial. Never raises for anything that a candidate
        or a provider does.
        """
        model, limits = "", self._session.limits
        try:
            model = self._asked(body)
            refused = (
                account.refusal(
                    body, self._fields, allow=limits.allow, max_tokens=limits.max_tokens
                )
                or self._session.refusal(model)
                or self._gateway.ledger.unpriced(model)
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


class InputCall(Call):
    """A request without a conversation: its tokens count, and it is no step of the trace."""

    _request: InputRequest | None = None

    def _read(self, body: bytes) -> str:
        self._request = self._wire.decode_request(body)
        return self._request.model

    @property
    def _wire(self) -> InputFormat:
        return INPUT_FORMATS[self._name]

    async def _pass_on(self, model: str) -> Reply:
        """Ask `model` with the candidate's own body if it speaks this format, else through the
        neutral form.
        """
        if self._request is None:
            raise WireError("nothing was asked")
        if (rehearsal := self._gateway.rehearsal) is not None and rehearsal.scripted:
            found = rehearsal.measured(self._wire.kind, self._request)
            return Reply(200, self._wire.encode_reply(found, self._request, self._fields))
        provider, _, model_id = model.partition("/")
        upstream = None if provider == SCRIPTED_PROVIDER else self._gateway.upstream(model)
        sender, side, kind = self._gateway.for_candidates, self._session.side, self._wire.kind
        asked = self._request
        self._tries.most = 0
        try:
            if upstream is None or not upstream.speaks(self._name):
                found = await measure(
                    self._gateway, model, kind, asked, side=side, sender=sender, tries=self._tries
                )
                self._measured(model, found)
                return Reply(200, self._wire.encode_reply(found, self._request, self._fields))
            body = write_json(self._wire.for_model(self._fields, model_id))
            got = await sender.exchange(upstream, self._name, model_id, body, self._tries)
        except ModelCallError as error:
            error.cost = self._tries.cost
            raise
        if got.measured is None:
            return self._rejected(model, got)
        self._measured(model, got.measured)
        return Reply(got.status, got.body)

    def _measured(self, model: str, found: InputReply) -> None:
        usage = found.usage and self._gateway.pricing.usage(
            model, found.usage, answered=found.model
        )
        self._trial.measured(model, usage)


class _Passage:
    """One stream until now, and the part of it that may go on. Does no I/O.

    `is_over` says that no more needs to be read, `failure` why the stream is no reply. `fields` is
    the candidate's request.
    """

    def __init__(
        self, provider: str, stream: WireFormat, fields: JsonObject, scrubber: Scrubber
    ) -> None:
        self.is_over = False
        self.failure: ModelCallError | None = None
        self._provider = provider
        self._format = stream
        self._scrubber = scrubber
        self._events = SseReader()
        self._reader = stream.stream_reader(fields)
        self._guard = KeyGuard(scrubber)
        self._told = False

    def take(self, piece: bytes) -> bytes:
        """Return what may go on after this piece."""
        ready = bytearray()
        for event in self._events.feed(piece):
            try:
                self._hear(event, ready)
            except WireError as unread:
                self.fail(unreadable(self._provider, f"a stream that cannot be read: {unread}"))
            except KeyEchoed:
                self.fail(unreadable(self._provider, "a key of the gate, so its stream was cut"))
            if self.is_over:
                break
        return bytes(ready)

    def _hear(self, event: SseEvent, ready: bytearray) -> None:
        if event.data is not None:
            event = SseEvent(event.name, self._scrubber.text(event.data))
        heard = self._reader.read(event)
        if not heard.hidden:
            for passed in self._guard.let_through(event):
                ready += write_event(passed)
        if heard.error:
            self.fail(_broken(self._provider, f"ended its stream with an error: {heard.error}"))
            # The candidate gets the provider's own words, if they went through.
            self._told = not self._guard.is_holding
        self.is_over = self.is_over or heard.ends

    def fail(self, error: ModelCallError) -> None:
        """End the stream by an error."""
        self.failure = error
        self.is_over = True

    def finish(self) -> bytes:
        """Return the end of the stream for the candidate, and decide whether it failed."""
        if self.failure is None:
            try:
                self._reader.reply()
            except WireError as broken:
                self.fail(_broken(self._provider, f"answered with {broken}"))
        if self.failure is None:
            return b"".join(write_event(event) for event in self._guard.rest())
        if self._told:
            return b""
        return write_event(self._format.encode_stream_error(self.failure.message))

    def reply(self) -> ModelReply:
        """Return the whole reply of a stream that did not fail."""
        return self._reader.reply()

    def so_far(self) -> ModelReply:
        """Return what was said, for a candidate that went away; nothing if a key may be in it."""
        said = self._reader.so_far()
        return said.model_copy(update={"text": ""}) if self._guard.is_holding else said


def _broken(provider: str, what: str) -> ModelCallError:
    return ModelCallError(ModelCallFault.OUTAGE, sentence(f"{provider} {what}"))


class CandidateCall(Call):
    """A turn of a conversation, streamed or not."""

    _request: ModelRequest | None = None

    def _read(self, body: bytes) -> str:
        self._request = self._wire.decode_request(body)
        self._whole = self._trial.stored.whole(self._request)
        return self._request.model

    @property
    def _wire(self) -> WireFormat:
        return WIRE_FORMATS[self._name]

    async def _pass_on(self, model: str) -> Reply | Stream:
        """Ask `model` with the candidate's own body if it speaks this format, else through the
        neutral form.
        """
        whole = self._conversation
        if (rehearsal := self._gateway.rehearsal) is not None:
            rehearsal.saw(whole)
            if rehearsal.scripted:
                return self._own_reply(model, rehearsal.reply(whole, self._fields))
        provider, _, model_id = model.partition("/")
        upstream = None if provider == SCRIPTED_PROVIDER else self._gateway.upstream(model)
        if upstream is None or not upstream.speaks(self._name):
            drawn = whole.model_copy(update={"draw": self._trial.draw})
            side, sender = self._session.side, self._gateway.for_candidates
            said = await self._gateway.ask(
                model, drawn, side=side, sender=sender, tries=self._tries
            )
            return self._own_reply(model, said)
        # Only the name of the model is rewritten: what the neutral form does not know must survive.
        fields = self._wire.for_model(self._fields, model_id)
        try:
            if self._fields.get("stream"):
                return await self._open(model, upstream, fields)
            got = await self._gateway.for_candidates.exchange(
                upstream, self._name, model_id, write_json(fields), self._tries
            )
            return self._passed_back(model, got)
        except ModelCallError as error:
            error.cost = self._tries.cost
            raise

    @property
    def _conversation(self) -> ModelRequest:
        if self._whole is None:
            raise WireError("nothing was asked")
        return self._whole

    async def _open(self, model: str, upstream: Upstream, fields: JsonObject) -> Reply | Stream:
        body = write_json(self._wire.stream_body(fields))
        got = await self._gateway.for_candidates.open(
            upstream, self._name, model.partition("/")[2], body, self._tries
        )
        if isinstance(got, OpenStream):
            return self._relayed(model, got)
        if got.reply is None:
            return self._passed_back(model, got)
        return self._own_reply(model, got.reply)  # a server may answer in one piece all the same

    async def _relayed(self, model: str, source: OpenStream) -> Stream:
        """Give the pieces for the candidate, close `source` in the end, and record what came of it:
        of a candidate that goes away, the reply so far. The timer runs while the provider is waited
        for, and not while the candidate is.
        """
        provider = model.partition("/")[0]
        passage = _Passage(provider, self._wire, self._fields, self._gateway.scrubber)
        try:
            self._timer.begin()
            async for piece in source.pieces():
                self._timer.end()
                if ready := passage.take(piece):
                    yield ready
                if passage.is_over:
                    break
                self._timer.begin()
            self._timer.end()
        except AttemptFailed as failure:
            passage.fail(call_error(provider, failure))
        except (GeneratorExit, asyncio.CancelledError):
            self._replied(model, passage.so_far(), cut=True)
            raise
        finally:
            source.close()
        last = passage.finish()
        if passage.failure is None:
            self._replied(model, passage.reply())
        else:
            passage.failure.cost = self._tries.cost
            self._trial.failed(self._whole, passage.failure)
        if last:
            yield last

    def _own_reply(self, model: str, said: ModelReply) -> Reply | Stream:
        """Write a reply that came through the neutral form, and record it."""
        named = said.model_copy(update={"id": said.id or self._trial.next_id()})
        self._replied(model, named)
        asked = self._request or self._conversation
        if self._fields.get("stream"):
            events = self._wire.encode_stream(named, asked, self._fields)
            return _pieces(b"".join(write_event(event) for event in events))
        return Reply(200, self._wire.encode_reply(named, asked))

    def _passed_back(self, model: str, got: ReceivedResponse) -> Reply:
        """Return an answer as it came, and record it."""
        if got.reply is None:
            return self._rejected(model, got)
        self._replied(model, got.reply)
        return Reply(got.status, got.body)

    def _replied(self, model: str, reply: ModelReply, *, cut: bool = False) -> None:
        if self._tries.entry is not None and not cut:
            self._tries.entry.answered(reply)
        if reply.seconds is None:
            reply = reply.model_copy(update=self._tries.cost._asdict())
        reply = self._gateway.pricing.reply(model, reply)
        self._trial.replied(
            model, self._conversation, reply, heard=not cut or bool(reply.text or reply.tool_calls)
        )
        if self._request is not None and self._fields.get("store") is not False:
            self._trial.stored.remember(self._request, reply)


async def _pieces(whole: bytes) -> Stream:
    yield whole
