"""Sends as `Sender` does, and records what came of it; or replays that, and sends nothing.

A stream is recorded as the provider's events, and replayed as a stream. What failed after all
retries, and what nobody waited for any longer, is recorded too: a replay goes the same way.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gateval.domain.trials.model_call import Caller
from gateval.gateway.recordings.folder import RecordingReader, RecordingWriter
from gateval.gateway.recordings.recorded_call import (
    Answered,
    AskedCall,
    BadRecording,
    Failed,
    Outcome,
    Placeholders,
    RecordedCall,
    Streamed,
    Unheard,
    asked_call,
    filled,
)
from gateval.gateway.upstream.endpoints import Upstream
from gateval.gateway.upstream.http_client import OpenStream, ReceivedResponse
from gateval.gateway.upstream.retry import AttemptFailed, Transient, Tries
from gateval.gateway.upstream.sender import KeyEchoed, KeyGuard, Scrubber, Sender
from gateval.ports.model_calls import ModelCallError, ModelCallFault
from gateval.safe.redaction import Redactor
from gateval.wire.base import SseEvent, SseReader, WireError, read_json, write_event

_NOT_MADE = "The run is offline, so the call is not made."


class Tape:
    """What a run records, what it replays, or both: then what is not there is asked for live.

    `offline` asks nobody. `secrets` and values that are drawn reach no file. `folders` are those of
    this run that candidates may see.
    """

    def __init__(
        self,
        secrets: Sequence[str] = (),
        *,
        record: Path | None = None,
        replay: Path | None = None,
        offline: bool = False,
        folders: Sequence[str] = (),
    ) -> None:
        self.offline = offline
        self.secrets = tuple(secrets)
        self.folders = tuple(folders)
        self.redactor = Redactor(secrets)
        self.writer = RecordingWriter(record, self.redactor) if record else None
        self.reader = RecordingReader(replay) if replay else None
        self._made: Counter[tuple[str, ...]] = Counter()
        self._began = 0

    @property
    def fault(self) -> str:
        """Why the recording is not complete; empty if it is, or there is none."""
        return self.writer.fault if self.writer else ""

    def call(self, caller: Caller, wire: str, model: str, body: bytes) -> TapedCall:
        """Begin a call of `model` (`provider/model-id`)."""
        names = Placeholders(caller.drawn, self.folders)
        asked = asked_call(wire, model, body, names, self.redactor)
        key = (*caller.place, caller.asks, caller.address, *asked.key)
        self._made[key] += 1
        self._began += 1
        return TapedCall(self, caller, asked, self._made[key], self._began)


class TapedCall(NamedTuple):
    """One call under way: the how many-th equal one of its caller, and of all that `began`."""

    tape: Tape
    caller: Caller
    asked: AskedCall
    ordinal: int
    began: int

    def recorded(self) -> Outcome | None:
        """Return what came of it when it was recorded; None where it is to be made. Raises
        `ModelCallError` where it is neither recorded nor to be made.
        """
        reader = self.tape.reader
        if reader is None:
            return None
        try:
            found = reader.take(self.caller, self.asked)
        except BadRecording as bad:
            raise _unrecorded(f"{bad}.")
        if found is None and self.tape.offline:
            raise _unrecorded(reader.missing(self.caller, self.asked))
        return found

    def record(self, outcome: Outcome) -> None:
        """Write down what came of it, if anything is written."""
        if self.tape.writer is not None:
            of = (self.caller.asks, self.caller.address, self.ordinal)
            call = RecordedCall(*of, self.asked, outcome)
            self.tape.writer.write(self.caller, call, self.began)


def _unrecorded(why: str) -> ModelCallError:
    return ModelCallError(ModelCallFault.UNRECORDED, f"{_NOT_MADE} {why}")


class RecordingSender(Sender):
    """A sender that has a tape. Calls that nobody names, those of sealed Evals above all, are
    neither recorded nor replayed.
    """

    def __init__(self, *told: Any, tape: Tape, **more: Any) -> None:
        super().__init__(*told, **more)
        self._tape = tape

    async def exchange(
        self, upstream: Upstream, wire: str, model: str, body: bytes, tries: Tries
    ) -> ReceivedResponse:
        """See `Sender.exchange`."""
        call = self._taped(upstream, wire, model, body, tries)
        if call is None:
            return await super().exchange(upstream, wire, model, body, tries)
        outcome = call.recorded()
        if outcome is not None:
            got = await self._replayed(upstream, wire, model, len(body), call, outcome, tries)
            if isinstance(got, ReceivedResponse):
                return got
            raise _unrecorded("A stream is recorded for this request, which asks for none.")
        try:
            got = await super().exchange(upstream, wire, model, body, tries)
        except BaseException as error:
            _record_failure(call, error)
            raise
        call.record(Answered(got.status, _body(got.body)))
        return got

    async def open(
        self, upstream: Upstream, wire: str, model: str, body: bytes, tries: Tries
    ) -> ReceivedResponse | OpenStream:
        """See `Sender.open`."""
        call = self._taped(upstream, wire, model, body, tries)
        if call is None:
            return await super().open(upstream, wire, model, body, tries)
        outcome = call.recorded()
        if outcome is not None:
            return await self._replayed(upstream, wire, model, len(body), call, outcome, tries)
        try:
            got = await super().open(upstream, wire, model, body, tries)
        except BaseException as error:
            _record_failure(call, error)
            raise
        if isinstance(got, OpenStream):
            return _ListenedStream(got, call)
        call.record(Answered(got.status, _body(got.body)))
        return got

    def _taped(
        self, upstream: Upstream, wire: str, model: str, body: bytes, tries: Tries
    ) -> TapedCall | None:
        if tries.caller is not None:
            return self._tape.call(tries.caller, wire, f"{upstream.provider}/{model}", body)
        if self._tape.offline:
            raise _unrecorded("Nothing of sealed Evals is recorded.")
        return None

    async def _replayed(
        self,
        upstream: Upstream,
        wire: str,
        model: str,
        size: int,
        call: TapedCall,
        outcome: Outcome,
        tries: Tries,
    ) -> ReceivedResponse | OpenStream:
        """Give what was recorded. It counts in the account of the run as it did then, so that a
        budget ends it at the same call.
        """
        call.record(outcome)
        named = f"{upstream.provider}/{model}"
        entry = tries.entry = await self._ledger.enter(named, size, tries.most)
        if isinstance(outcome, Unheard):
            await asyncio.Event().wait()
        if isinstance(outcome, Failed):
            entry.refused()
            raise ModelCallError(outcome.fault, outcome.message, status=outcome.status)
        if isinstance(outcome, Streamed):
            return _ReplayedStream(outcome, call)
        assert isinstance(outcome, Answered)  # noqa: S101 - nothing else is left
        body = filled(outcome.body, call.asked.names)
        got = ReceivedResponse(outcome.status, body, {"x-should-retry": "false"})
        try:
            got = self._checked(wire, got)
        except AttemptFailed as failure:
            raise _unrecorded(f"What is recorded is no answer: it {failure}.")
        entry.answered(got.reply, got.measured)
        return got


def _record_failure(call: TapedCall, error: BaseException) -> None:
    """Record why there is no answer; what the gate itself refused was no call."""
    if isinstance(error, asyncio.CancelledError):
        call.record(Unheard())
    elif isinstance(error, ModelCallError) and error.fault not in _OWN:
        call.record(Failed(error.fault, error.message, error.status))


_OWN = frozenset({ModelCallFault.BUDGET, ModelCallFault.HELD})


def _body(body: bytes) -> Any:
    try:
        return read_json(body)
    except WireError:
        return body.decode("utf-8", "replace")


class _ListenedStream(OpenStream):
    """A stream that is recorded while it is passed on."""

    def __init__(self, source: OpenStream, call: TapedCall) -> None:
        self._source = source
        self._call = call
        self._reader = SseReader()
        self._events: list[SseEvent] = []
        self._broken = ""
        self._end: Callable[[], None] | None = self._write

    async def pieces(self) -> AsyncIterator[bytes]:
        """Give the pieces as they come."""
        try:
            async for piece in self._source.pieces():
                self._events += self._reader.feed(piece)
                yield piece
        except AttemptFailed as failure:
            self._broken = str(failure)
            raise

    def close(self) -> None:
        """End it, and write down what came."""
        self._source.close()
        end, self._end = self._end, None
        if end is not None:
            end()

    def _write(self) -> None:
        """Record the events, unless their pieces together make up a secret."""
        tape = self._call.tape
        scrubber = Scrubber((*tape.secrets, *self._call.caller.drawn))
        guard = KeyGuard(scrubber)
        told = []
        try:
            for event in self._events:
                if event.data is not None:
                    guard.let_through(SseEvent(event.name, scrubber.text(event.data)))
                    told.append((event.name, _data(event.data)))
        except KeyEchoed:
            why = "was not recorded, as a secret stood across the pieces of its stream"
            self._call.record(Failed(ModelCallFault.UNRECORDED, f"The answer {why}."))
            return
        self._call.record(Streamed(tuple(told), self._broken))


def _data(data: str) -> Any:
    """Return the data of an event: an object, or the text as it is."""
    try:
        value = read_json(data)
    except WireError:
        return data
    return value if isinstance(value, dict | list) else data


class _ReplayedStream(OpenStream):
    """A stream that was recorded; each event is a piece."""

    def __init__(self, recorded: Streamed, call: TapedCall) -> None:
        self._recorded = recorded
        self._call = call

    async def pieces(self) -> AsyncIterator[bytes]:
        """Give the events as they came."""
        for name, data in self._recorded.events:
            yield write_event(SseEvent(name, filled(data, self._call.asked.names).decode()))
        if self._recorded.broken:
            raise Transient(self._recorded.broken)

    def close(self) -> None:
        """Nothing is open."""
