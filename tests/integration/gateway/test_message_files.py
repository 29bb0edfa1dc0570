"""Files and images in messages, in the words of each provider and, where they are at hand, its official client."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import TypeAdapter

from gateval.domain.trials.model_call import Message, MessageFile, ModelRequest
from gateval.wire.registry import WIRE_FORMATS

PICTURE = MessageFile(name="cup.png", media_type="image/png", is_image=True, data="iVBORw==")
REPORT = MessageFile(
    name="report.pdf", media_type="application/pdf", is_image=False, data="JVBERi0="
)
SAID = Message(role="user", text="Look [..]", parts=("Look at this.", PICTURE, REPORT))
REQUEST = ModelRequest(model="m", messages=(SAID,))


def written(name: str, key: str) -> Any:
    """The message as a request of this format holds it."""
    body = json.loads(WIRE_FORMATS[name].encode_request(REQUEST))
    (message,) = body[key]
    return message


def test_openai_chat() -> None:
    from openai.types.chat import ChatCompletionUserMessageParam

    message = written("openai-chat", "messages")
    TypeAdapter(ChatCompletionUserMessageParam).validate_python(message)
    assert message["content"] == [
        {"type": "text", "text": "Look at this."},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
        {
            "type": "file",
            "file": {
                "filename": "report.pdf",
                "file_data": "data:application/pdf;base64,JVBERi0=",
            },
        },
    ]


def test_openai_responses() -> None:
    from openai.types.responses.response_input_item_param import Message as ResponsesMessage

    message = written("openai-responses", "input")
    TypeAdapter(ResponsesMessage).validate_python(message)
    assert message["content"] == [
        {"type": "input_text", "text": "Look at this."},
        {"type": "input_image", "image_url": "data:image/png;base64,iVBORw==", "detail": "auto"},
        {
            "type": "input_file",
            "filename": "report.pdf",
            "file_data": "data:application/pdf;base64,JVBERi0=",
        },
    ]


def test_anthropic() -> None:
    from anthropic.types import MessageParam

    message = written("anthropic-messages", "messages")
    TypeAdapter(MessageParam).validate_python(message)
    picture = {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}
    report = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
    assert message["content"] == [
        {"type": "text", "text": "Look at this."},
        {"type": "image", "source": picture},
        {"type": "document", "source": report, "title": "report.pdf"},
    ]


def test_gemini() -> None:
    """As Google documents `Part`: https://ai.google.dev/api/caching#Part."""
    message = written("gemini-content", "contents")
    assert message["parts"] == [
        {"text": "Look at this."},
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}},
        {"inlineData": {"mimeType": "application/pdf", "data": "JVBERi0="}},
    ]


@pytest.mark.parametrize("name", WIRE_FORMATS)
def test_the_gateway_reads_it_as_placeholders(name: str) -> None:
    body = WIRE_FORMATS[name].encode_request(REQUEST)
    fields = json.loads(body) | {"model": "m"}  # Gemini's stands in the address
    (message,) = WIRE_FORMATS[name].decode_request(json.dumps(fields).encode()).messages
    assert message.text.splitlines()[:2] == ["Look at this.", "[image]"]
    assert message.text.splitlines()[2] in {"[file]", "[document]"}
