"""A provider's stream on its way to a candidate: read, cleaned of keys, passed on as it comes.

Once something was passed on nothing is tried again: what breaks then ends the candidate's stream
with an error in its own format.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

from gateval.domain.base import JsonObject
from gateval.domain.trials.model_call import ModelReply
from gateval.gateway.local.trial_calls import CallTimer
from gateval.gateway.upstream.faults import sentence, unreadable
from gateval.gateway.upstream.http_client import OpenStream, Unanswerable
from gateval.gateway.upstream.key_guard import KeyEchoed, KeyGuard
from gateval.gateway.upstream.retry import Transient
from gateval.gateway.upstream.scrub import Scrubber
from gateval.gateway.upstream.sender import call_error
from gateval.ports.model_calls import ModelCallError, ModelCallFault
from gateval.wire.base import StreamFormat, WireError
from gateval.wire.sse import SseEvent, SseReader, write_event


@dataclass(frozen=True)
class Relayed:
    """The fate of a stream, and whom to tell of its end: one of the three, exactly once.

    `fields` is the candidate's request. A candidate that goes away has the reply so far (`on_cut`).
    """

    provider: str
    stream: StreamFormat
    fields: JsonObject
    on_reply: Callable[[ModelReply], None]
    on_failure: Callable[[ModelCallError], None]
    on_cut: Callable[[ModelReply], None]


async def relay(
    source: OpenStream, relayed: Relayed, scrubber: Scrubber, timer: CallTimer
) -> AsyncGenerator[bytes, None]:
    """Give the pieces for the candidate, and close `source` in the end.

    `timer` runs while the provider is waited for, and not while the candidate is.
    """
    passage = _Passage(relayed, scrubber)
    try:
        timer.begin()
        async for piece in source.pieces():
            timer.end()
            ready = passage.take(piece)
            if ready:
                yield ready
            if passage.is_over:
                break
            timer.begin()
        timer.end()
    except (Transient, Unanswerable) as failure:
        passage.fail(call_error(relayed.provider, failure))
    except (GeneratorExit, asyncio.CancelledError):
        relayed.on_cut(passage.so_far())
        raise
    finally:
        source.close()
    last = passage.finish()
    if passage.failure is None:
        relayed.on_reply(passage.reply())
    else:
        relayed.on_failure(passage.failure)
    if last:
        yield last


class _Passage:
    """One stream until now, and the part of it that may go on. Does no I/O.

    `is_over` says that no more needs to be read, `failure` why the stream is no reply.
    """

    def __init__(self, relayed: Relayed, scrubber: Scrubber) -> None:
        self.is_over = False
        self.failure: ModelCallError | None = None
        self._provider = relayed.provider
        self._format = relayed.stream
        self._scrubber = scrubber
        self._events = SseReader()
        self._reader = relayed.stream.stream_reader(relayed.fields)
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
