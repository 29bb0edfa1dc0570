"""Server-sent events: pieces and line ends of every kind."""

from __future__ import annotations

import itertools

import pytest

from gateval.wire.base import KEEP_ALIVE, SseEvent, SseReader, write_event

TEXT = "\ufeffevent: greeting\ndata: gr\u00fc\u00df\ndata:dich \U0001f600\nid: 7\n\n: alive\n\nretry: 5\n\ndata\n\n"
EVENTS = [
    SseEvent("greeting", "gr\u00fc\u00df\ndich \U0001f600"),
    SseEvent("", None),
    SseEvent("", ""),
]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
def test_pieces_of_any_size(line_end: str, size: int) -> None:
    data = TEXT.replace("\n", line_end).encode()
    reader = SseReader()
    got = [
        event
        for start in range(0, len(data), size)
        for event in reader.feed(data[start : start + size])
    ]
    assert got == EVENTS
    assert reader.pending == 0


def test_an_event_is_there_as_soon_as_its_last_line_ends() -> None:
    """Also with a bare carriage return, after which a line feed could still come."""
    reader = SseReader()
    assert reader.feed(b"data: a\r\r") == [SseEvent("", "a")]
    assert reader.feed(b"\ndata: b\r") == []
    assert reader.feed(b"\n\r") == [SseEvent("", "b")]


def test_what_is_no_utf8_is_replaced() -> None:
    assert SseReader().feed(b"data: a\xffb\n\n") == [SseEvent("", "a\ufffdb")]


def test_an_event_that_never_ends_is_none() -> None:
    reader = SseReader()
    assert reader.feed(b"data: a\ndata: b\n") == []
    assert reader.pending > 0


@pytest.mark.parametrize("data", ["", "a", "a\nb", "a\rb", "a\r\n\nb", "\n", "event: x"])
def test_what_is_written_reads_back_as_one_event(data: str) -> None:
    event = SseEvent("na\nme", data)
    (got,) = SseReader().feed(write_event(event))
    assert got == SseEvent("na me", data.replace("\r\n", "\n").replace("\r", "\n"))


def test_comments_lose_their_words() -> None:
    (event,) = SseReader().feed(b": sk-secret\n\n")
    assert write_event(event) == KEEP_ALIVE


def test_a_long_line_in_small_pieces_takes_linear_time() -> None:
    reader = SseReader()
    for piece in itertools.repeat(b"x" * 100, 50_000):
        assert reader.feed(piece) == []
    assert reader.pending == 5_000_000
