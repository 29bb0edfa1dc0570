"""Keys taken out of what a provider sends, in whole texts and in pieces of streams."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from pydantic import JsonValue

from gateval.domain.secrets import secret_forms
from gateval.gateway.upstream.endpoints import Upstream
from gateval.wire.base import WireError, read_json
from gateval.wire.sse import SseEvent

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
            self._join(event.data)
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

    def _join(self, data: str) -> None:
        for place, text in _texts(data):
            tail = self._tails.get(place, "") + text
            if self._scrubber.holds(tail):
                raise KeyEchoed
            self._tails[place] = tail[-self._scrubber.longest :]


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
