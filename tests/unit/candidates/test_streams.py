"""What is a stream, and what is a text that only looks a little like one."""

from __future__ import annotations

import json

import pytest

from gateval.candidates.contract import ADVICE, ClaimError, refuse_stream

ONE = '{"type": "start", "question": "Refund order 1042"}'


@pytest.mark.parametrize(
    ("body", "kind", "called"),
    [
        (f"data: {ONE}\n\n", "", "server-sent events"),
        (f"data: {ONE}", "", "server-sent events"),
        (f": ping\n\nid: 1\nretry: 100\ndata: {ONE}\n\nError: cut", "", "server-sent events"),
        ("event: word\r\ndata: Hello\r\n\r\n", "", "server-sent events"),
        ("data: Hello\rdata: there\r\r", "", "server-sent events"),
        ("data: [DONE]", "", "server-sent events"),
        ("Hello", "text/event-stream", "server-sent events"),
        ("", "text/event-stream", "server-sent events"),
        ('0:"Hello"\n', "", "AI SDK"),
        ('f:{"messageId":"m"}\n0:"Hel"\n0:"lo"\nd:{"finishRea', "", "AI SDK"),
        ('2:[{"a":1}]\n3:"It failed."', "text/plain", "AI SDK"),
        (f"{ONE}\n\n{ONE}\ncut", "", "one JSON value per line"),
        (f"\ufeff{ONE}\r\n{ONE}", "application/json", "one JSON value per line"),
        (f"\x1e{ONE}\n\x1e{ONE}\n", "", "one JSON value per line"),
        ("1\n2\n", "application/x-ndjson", "one JSON value per line"),
        ("\0\0", "application/vnd.amazon.eventstream", "an event stream of AWS"),
    ],
)
def test_a_stream_is_told_by_what_is_declared_and_by_what_it_holds(
    body: str, kind: str, called: str
) -> None:
    for of, advice in ADVICE.items():
        with pytest.raises(ClaimError) as caught:
            refuse_stream(body.encode(), of, kind)
        assert called in str(caught.value)
        assert advice in str(caught.value)


@pytest.mark.parametrize(
    "body",
    [
        "",
        " \n",
        "Hello",
        ONE,
        f"{ONE}\n",
        json.dumps(json.loads(ONE), indent=2),
        f"Here it is:\n{ONE}\n{ONE}\n",
        f"{ONE}\nThat is all.",
        "[1]\n[2]\n",
        "1\n2\n",
        "data: 1042\n",
        "data: 5\nunit: kg\n",
        "id: 1042\nevent: refund\nnote: none\n",
        "id: 7\nevent: refund\n",
        "5:30\n6:45\n",
        "0: nothing\n1: something",
        "a:\nb:\n",
        'f:{"messageId":"m"}\nThat is all.',
    ],
)
def test_what_is_no_stream_is_left_alone(body: str) -> None:
    refuse_stream(body.encode(), "program")


@pytest.mark.parametrize(
    "body", [b"\xff\xfe\n\xff", b"data: " + b"[" * 100_000, b"0:" + b"[" * 100_000]
)
def test_nothing_is_too_odd(body: bytes) -> None:
    refuse_stream(body, "program")


def test_one_document_may_be_declared_as_lines() -> None:
    refuse_stream(f"{ONE}\n".encode(), "server", "application/x-ndjson")
