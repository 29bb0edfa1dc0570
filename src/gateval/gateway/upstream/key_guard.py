"""Keys out of streams: a key that comes in pieces is held back before it can be put together."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from gateval.gateway.upstream.scrub import Scrubber
from gateval.wire.base import WireError
from gateval.wire.json_text import read_json
from gateval.wire.sse import SseEvent


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
