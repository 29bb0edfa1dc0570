"""OpenAI's formats for texts that are measured."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateval.domain.trials.model_call import InputReply, InputRequest, Usage
from gateval.wire.base import WireError
from gateval.wire.inputs import CATEGORIES, openai_embeddings, openai_moderations
from gateval.wire.registry import INPUT_FORMATS

ASKED = InputRequest(model="e", texts=("a", "b"))


def request(**fields: Any) -> InputRequest:
    return openai_embeddings.decode_request(json.dumps({"model": "e", **fields}).encode())


@pytest.mark.parametrize(
    ("given_input", "texts", "is_tokens"),
    [
        ("a", ("a",), False),
        (["a", "b"], ("a", "b"), False),
        ([1, 22], ("1 22",), True),
        ([[1, 22], [3]], ("1 22", "3"), True),
    ],
)
def test_texts_and_tokens(given_input: Any, texts: tuple[str, ...], is_tokens: bool) -> None:
    found = request(input=given_input, dimensions=8)
    assert found == InputRequest(model="e", texts=texts, dimensions=8, is_tokens=is_tokens)
    if is_tokens:
        with pytest.raises(WireError, match="tokens"):
            openai_embeddings.encode_request(found)


@pytest.mark.parametrize("packed", [False, True])
@given(st.lists(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=4), min_size=1))
def test_vectors_come_back_in_either_form(packed: bool, vectors: list[list[float]]) -> None:
    usage = Usage(input_tokens=3, output_tokens=0)
    found = InputReply(vectors=vectors, usage=usage, model="e")
    fields: dict[str, Any] = {"encoding_format": "base64"} if packed else {}
    body = openai_embeddings.encode_reply(found, ASKED, fields)
    assert openai_embeddings.decode_reply(body) == found


@given(st.lists(st.frozensets(st.sampled_from(CATEGORIES)), min_size=1))
def test_moderations_come_back(flags: list[frozenset[str]]) -> None:
    found = InputReply(flags=flags, usage=None, model="m")
    body = openai_moderations.encode_reply(found, ASKED, {})
    assert openai_moderations.decode_reply(body) == found


def test_a_moderation_may_leave_out_the_model_and_hold_parts() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "x"}}]
    body = json.dumps({"input": parts}).encode()
    assert openai_moderations.decode_request(body) == InputRequest(
        model="omni-moderation-latest", texts=("a\n[image]",)
    )


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"model": 1, "input": "a"}',
        b'{"model": "e", "input": [1, "a"]}',
        b'{"model": "e", "input": [true]}',
        b'{"model": "e"}',
        b'{"data": [{"embedding": "%%%"}]}',
        b'{"data": [{"embedding": "YQ=="}]}',
        b'{"data": [{"embedding": [null]}]}',
        b'{"results": [{"categories": 1}]}',
        b"[" * 200_000,
    ],
)
@pytest.mark.parametrize("name", INPUT_FORMATS)
def test_what_cannot_be_read_is_refused(name: str, body: bytes) -> None:
    with pytest.raises(WireError):
        INPUT_FORMATS[name].decode_request(body)
    with pytest.raises(WireError):
        INPUT_FORMATS[name].decode_reply(body)
