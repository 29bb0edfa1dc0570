"""A candidate's conversation with a model: which way a turn goes, and what is recorded."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from gateval.domain.base import JsonObject
from gateval.domain.manifests.scripted import SCRIPTED_PROVIDER
from gateval.domain.trials.model_call import ModelReply, ModelRequest
from gateval.gateway.local.call import Call, Reply, Stream
from gateval.gateway.local.relay import Relayed, relay
from gateval.gateway.upstream.endpoints import Upstream
from gateval.gateway.upstream.http_client import OpenStream, ReceivedResponse
from gateval.ports.model_calls import ModelCallError
from gateval.wire.base import WireError, WireFormat
from gateval.wire.json_text import write_json
from gateval.wire.registry import WIRE_FORMATS
from gateval.wire.sse import write_event
from gateval.wire.streams import STREAM_FORMATS


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
        provider, _, model_id = model.partition("/")
        upstream = None if provider == SCRIPTED_PROVIDER else self._gateway.upstream(model)
        if upstream is None or not upstream.speaks(self._name):
            drawn = whole.model_copy(update={"draw": self._trial.draw})
            said = await self._gateway.ask(
                model,
                drawn,
                side=self._session.side,
                sender=self._gateway.for_candidates,
                tries=self._tries,
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
        stream = STREAM_FORMATS[self._name]
        body = write_json(stream.stream_body(fields))
        got = await self._gateway.for_candidates.open(
            upstream, self._name, model.partition("/")[2], body, self._tries
        )
        if not isinstance(got, OpenStream):
            # A server may answer in one piece all the same.
            if got.reply is None:
                return self._passed_back(model, got)
            return self._own_reply(model, got.reply)
        wanted = Relayed(
            provider=upstream.provider,
            stream=stream,
            fields=self._fields,
            on_reply=lambda reply: self._replied(model, reply),
            on_failure=self._failed_midway,
            on_cut=lambda reply: self._replied(model, reply, cut=True),
        )
        return Stream(relay(got, wanted, self._gateway.scrubber, self._timer))

    def _own_reply(self, model: str, said: ModelReply) -> Reply | Stream:
        """Write a reply that came through the neutral form, and record it."""
        named = said.model_copy(update={"id": said.id or self._trial.next_id()})
        self._replied(model, named)
        asked = self._request or self._conversation
        if self._fields.get("stream"):
            events = STREAM_FORMATS[self._name].encode_stream(named, asked, self._fields)
            return Stream(_pieces(b"".join(write_event(event) for event in events)))
        return Reply(200, self._wire.encode_reply(named, asked))

    def _passed_back(self, model: str, got: ReceivedResponse) -> Reply:
        """Return an answer as it came, and record it."""
        if got.reply is None:
            return self._rejected(model, got)
        self._replied(model, got.reply)
        return Reply(got.status, got.body)

    def _replied(self, model: str, reply: ModelReply, *, cut: bool = False) -> None:
        if self._tries.entry is not None and not cut:
            self._tries.entry.replied(reply)
        if reply.seconds is None:
            reply = reply.model_copy(update=self._tries.cost._asdict())
        reply = self._gateway.pricing.reply(model, reply)
        self._trial.replied(
            model, self._conversation, reply, heard=not cut or bool(reply.text or reply.tool_calls)
        )
        if self._request is not None and self._fields.get("store") is not False:
            self._trial.stored.remember(self._request, reply)

    def _failed_midway(self, error: ModelCallError) -> None:
        error.cost = self._tries.cost
        self._trial.failed(self._whole, error)


async def _pieces(whole: bytes) -> AsyncGenerator[bytes, None]:
    yield whole
