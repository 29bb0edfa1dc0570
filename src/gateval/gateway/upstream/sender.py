"""Bytes to a provider and back: keys put in and taken out, failures that may pass tried again."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TypeVar

from pydantic import JsonValue

from gateval.gateway.ledger import Ledger
from gateval.gateway.upstream.endpoints import Upstream
from gateval.gateway.upstream.http_client import (
    HttpClient,
    OpenStream,
    ReceivedResponse,
)
from gateval.gateway.upstream.retry import (
    AttemptFailed,
    Denied,
    Garbled,
    Retrier,
    Transient,
    Tries,
    asked_wait,
    call_error,
    cannot_pay,
    is_transient,
    sentence,
    status_error,
    status_text,
)
from gateval.safe.redaction import secret_forms
from gateval.wire.base import SseEvent, WireError, read_json
from gateval.wire.registry import FORMATS, INPUT_FORMATS, WIRE_FORMATS

MARK = "[key removed]"

HEAD = 4
"""So many characters of a key may get out before a stream is held back: no more than its prefix."""


class Scrubber:
    """Replaces every occurrence of the given secrets, also percent-encoded, in base64, or escaped
    as JSON may have it.

    Tried against mirrors and debugging servers, not against a provider that disguises a key on
    purpose: it has the key anyway.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        self._forms = secret_forms(secrets)
        self._byte_forms = [form.encode() for form in self._forms]
        heads = sorted({re.escape(form[:HEAD]) for form in self._forms})
        self._heads = re.compile("|".join(heads)) if heads else None
        self.longest = max(map(len, self._forms), default=0)

    def text(self, text: str) -> str:
        """Return `text` without secrets."""
        for form in self._forms:
            text = text.replace(form, MARK)
        return text

    def holds(self, text: str) -> bool:
        """Whether a whole secret stands in `text`."""
        return any(form in text for form in self._forms)

    def may_grow(self, text: str) -> bool:
        """Whether `text` ends in the beginning of a secret, which what follows may complete."""
        if self._heads is None or self._heads.search(text) is None:
            return False
        return any(
            text.endswith(form[:length])
            for form in self._forms
            for length in range(HEAD, min(len(form), len(text) + 1))
        )

    def body(self, body: bytes) -> bytes:
        """Return `body` without secrets."""
        for form in self._byte_forms:
            body = body.replace(form, MARK.encode())
        return body


def scrubber_for(upstreams: Mapping[str, Upstream]) -> Scrubber:
    """Return a scrubber for all keys and proxy passwords of these upstreams."""
    values = (value for each in upstreams.values() for value in (each.key, each.proxy))
    return Scrubber(value.get_secret_value() for value in values if value is not None)


class KeyEchoed(Exception):
    """The pieces of a stream make up a key."""


class KeyGuard:
    """Lets the events of one stream through, as long as no key can come of their pieces.

    A reader joins what stands at the same place of successive events; so does this. What may be
    the beginning of a key waits until the next event tells.
    """

    def __init__(self, scrubber: Scrubber) -> None:
        self._scrubber = scrubber
        self._tails: dict[str, str] = {}
        self._held: list[SseEvent] = []

    def let_through(self, event: SseEvent) -> list[SseEvent]:
        """Return the events that may go on now. Raises `KeyEchoed`."""
        self._held.append(event)
        if self._scrubber.longest and event.data is not None:
            for place, text in _texts(event.data):
                tail = self._tails.get(place, "") + text
                if self._scrubber.holds(tail):
                    raise KeyEchoed
                self._tails[place] = tail[-self._scrubber.longest :]
            if any(self._scrubber.may_grow(tail) for tail in self._tails.values()):
                return []
        return self.rest()

    def rest(self) -> list[SseEvent]:
        """Return what is held back, at the end of the stream."""
        held, self._held = self._held, []
        return held

    @property
    def is_holding(self) -> bool:
        """Whether something is held back."""
        return bool(self._held)


def _texts(data: str) -> Iterator[tuple[str, str]]:
    """Give every text in an event with its place; what is no JSON is one text."""
    try:
        value = read_json(data)
    except WireError:
        value = data
    yield from _texts_in("", value)


def _texts_in(place: str, value: JsonValue) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        # Parts that grow side by side, such as parallel tool calls, are told apart by an index.
        own = f"{place}[{value['index']}]" if isinstance(value.get("index"), int) else place
        for key, inner in value.items():
            yield from _texts_in(f"{own}.{key}", inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts_in(place, inner)


Got = TypeVar("Got")


class Sender:
    """Sends over the connections of `client`, which the caller opens and closes, as far as the
    `ledger` of the run has room for it.

    `persist` makes the attempts at each provider, by its name.
    `wall_clock` gives Unix time, for `Retry-After` as a date.
    """

    def __init__(
        self,
        scrubber: Scrubber,
        persist: Mapping[str, Retrier],
        client: HttpClient,
        ledger: Ledger,
        *,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._scrubber = scrubber
        self._persistence = persist
        self._client = client
        self._ledger = ledger
        self._wall_clock = wall_clock

    async def exchange(
        self, upstream: Upstream, wire: str, model: str, body: bytes, tries: Tries
    ) -> ReceivedResponse:
        """Send bytes in the format `wire` and return the answer, without any key in it. They ask
        for `model`, by its bare id; a success comes with the reply that was read from it.

        Its status is 2xx, 4xx, or a 5xx that the provider does not want tried again; of its
        headers none is to be passed on. Retries are made inside, and counted in `tries`. Raises
        `ModelCallError` for an outage, a redirect, what is no HTTP, or a success that is no reply.
        """
        url = upstream.address(wire, FORMATS[wire].path, model)
        headers, proxy = _options(upstream, wire)

        async def attempt() -> ReceivedResponse:
            got = await self._client.post(url, headers=headers, body=body, proxy=proxy)
            return self._checked(wire, got)

        return await self._persist(upstream, model, len(body), attempt, tries)

    async def open(
        self, upstream: Upstream, wire: str, model: str, body: bytes, tries: Tries
    ) -> ReceivedResponse | OpenStream:
        """Like `exchange`, for a request that asks for a stream; a stream that has begun, which
        the caller closes, still holds what the provider sent, keys included.
        """
        url = upstream.address(wire, WIRE_FORMATS[wire].stream_path, model)
        headers, proxy = _options(upstream, wire)
        headers["Accept"] = "text/event-stream"

        async def attempt() -> ReceivedResponse | OpenStream:
            got = await self._client.open(url, headers=headers, body=body, proxy=proxy)
            return got if isinstance(got, OpenStream) else self._checked(wire, got)

        return await self._persist(upstream, model, len(body), attempt, tries)

    def _checked(self, wire: str, got: ReceivedResponse) -> ReceivedResponse:
        """Return an answer without keys. Raises `Transient` if another attempt is worth it, and
        `Denied` if the account cannot pay.
        """
        got = got._replace(body=self._scrubber.body(got.body))
        no_quota = cannot_pay(got.status, got.body)
        if no_quota or is_transient(got.status, got.headers):
            said = FORMATS[wire].decode_error(got.body)
            text = status_text(got.status, said, no_quota=no_quota)
            if no_quota:
                raise Denied(text, status=got.status)
            asked = asked_wait(got.headers, now=self._wall_clock())
            raise Transient(text, asked=asked, status=got.status)
        if not 200 <= got.status < 300:
            return got
        try:
            if wire in INPUT_FORMATS:
                return got._replace(measured=INPUT_FORMATS[wire].decode_reply(got.body))
            return got._replace(reply=WIRE_FORMATS[wire].decode_reply(got.body))
        except WireError as unread:
            raise Garbled(f"answered with {unread}")

    async def _persist(
        self,
        upstream: Upstream,
        model: str,
        size: int,
        attempt: Callable[[], Awaitable[Got]],
        tries: Tries,
    ) -> Got:
        persist = self._persistence[upstream.provider]
        named = f"{upstream.provider}/{model}"
        declared = persist.pace.counts_tokens
        tokens = self._ledger.estimated(named, size, tries.most) if declared else 0
        told = partial(persist.pace.took, tokens) if declared else None

        async def noted() -> Got:
            entry = tries.entry = await self._ledger.enter(named, size, tries.most, told)
            try:
                got = await attempt()
            except AttemptFailed as failure:
                if isinstance(failure, Transient):
                    tries.failure = sentence(f"{upstream.provider} {failure}")
                billed = failure.status is None and failure.sent
                entry.lost() if billed else entry.refused()
                raise
            except BaseException:
                entry.lost()
                raise
            if isinstance(got, ReceivedResponse):
                entry.answered(got.reply, got.measured)
            return got

        try:
            got = await persist(model, noted, tries, tokens=tokens)
        except asyncio.CancelledError as gone:
            if tries.failure:
                gone.add_note(tries.failure)
            raise
        except AttemptFailed as failure:
            raise call_error(upstream.provider, failure)
        if isinstance(got, ReceivedResponse) and 300 <= got.status < 400:
            raise status_error(upstream.provider, got.status, "")
        return got


def _options(upstream: Upstream, wire: str) -> tuple[dict[str, str], str | None]:
    """Return the headers for a provider, and the proxy to it if there is one."""
    key = upstream.key.get_secret_value() if upstream.key else None
    proxy = upstream.proxy.get_secret_value() if upstream.proxy else None
    return FORMATS[wire].headers(key), proxy
