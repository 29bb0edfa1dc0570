"""Google's formats, from bodies as its documentation has them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateval.domain.trials.model_call import (
    InputReply,
    InputRequest,
    ModelRequest,
    StopReason,
    Usage,
)
from gateval.wire.base import SseEvent, WireError
from gateval.wire.gemini import gemini as content
from gateval.wire.inputs import gemini_embedding as embedding
from gateval.wire.inputs import gemini_embeddings as embeddings


def request(*contents: dict[str, Any], **more: Any) -> ModelRequest:
    return content.decode_request(json.dumps({"model": "g", "contents": contents, **more}).encode())


def reply(*parts: dict[str, Any], finish: str = "STOP", **more: Any) -> bytes:
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": finish}
    return json.dumps({"candidates": [candidate], **more}).encode()


def call(name: str, **args: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": args}}


def result(name: str, response: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": response}}


def test_calls_without_ids_are_known_by_what_they_are() -> None:
    said = content.decode_reply(reply(call("look", order=7), call("look", order=8)))
    first, second = (one.id for one in said.tool_calls)
    assert first != second
    asked = request(
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [call("look", order=7), call("look", order=8)]},
        {"role": "user", "parts": [result("look", {"result": "a"}), result("look", {"x": 1})]},
    )
    assert [one.id for one in asked.messages[1].tool_calls] == [first, second]
    results = [(one.tool_call_id, one.text) for one in asked.messages[2:]]
    assert results == [(first, "a"), (second, '{"x":1}')]


def test_a_result_without_an_id_belongs_to_the_call_that_waits() -> None:
    asked = request(
        {"role": "model", "parts": [{"functionCall": {"id": "1", "name": "f", "args": {}}}]},
        {"role": "function", "parts": [result("f", {"error": "broken"})]},
        {"parts": [result("g", None)]},
    )
    assert [(one.tool_call_id, one.text, one.is_error) for one in asked.messages[1:]] == [
        ("1", "broken", True),
        ("g", "", False),
    ]


def test_what_is_no_text_has_a_placeholder_and_thoughts_are_not_said() -> None:
    parts = [
        {"text": "See"},
        {"inlineData": {"mimeType": "image/png", "data": "eA=="}},
        {"file_data": {"mime_type": "application/pdf"}},
        {"videoMetadata": {}},
    ]
    asked = request({"parts": parts}, {"role": "model", "parts": [{"text": "x", "thought": True}]})
    assert [one.text for one in asked.messages] == ["See\n[image]\n[file]\n[videoMetadata]", ""]


def test_both_spellings_of_keys_are_read() -> None:
    asked = request(
        {"parts": [{"text": "hi"}]},
        system_instruction={"parts": [{"text": "Be nice"}, {"text": "and short"}]},
        generation_config={"max_output_tokens": 5, "temperature": 1},
        tools=[
            {"function_declarations": [{"name": "f", "parameters_json_schema": {"type": "object"}}]},
            {"functionDeclarations": [{"name": "g", "parameters": {
                "type": "OBJECT", "properties": {"x": {"type": "STRING"}}}}]},
            {"googleSearch": {}},
            {"codeExecution": {}},
        ],
    )  # fmt: skip
    assert [one.text for one in asked.messages] == ["Be nice", "and short", "hi"]
    assert (asked.max_tokens, asked.temperature) == (5, 1)
    assert [tool.name for tool in asked.tools] == ["f", "g", "googleSearch", "code_execution"]
    assert asked.tools[1].input_schema == {
        "type": "object",
        "properties": {"x": {"type": "string"}},
    }


@pytest.mark.parametrize(
    ("body", "stop", "usage"),
    [
        (reply({"text": "x"}), StopReason.END, Usage()),
        (reply(call("f")), StopReason.TOOL_CALLS, Usage()),
        (reply({"text": "x"}, finish="MAX_TOKENS"), StopReason.LENGTH, Usage()),
        (reply(finish="SAFETY"), StopReason.REFUSAL, Usage()),
        (reply(finish="MALFORMED_FUNCTION_CALL"), StopReason.OTHER, Usage()),
        (b'{"promptFeedback": {"blockReason": "SAFETY"}}', StopReason.REFUSAL, Usage()),
        (
            reply({"text": "x"}, usageMetadata={
                "promptTokenCount": 3, "toolUsePromptTokenCount": 2,
                "candidatesTokenCount": 5, "thoughtsTokenCount": 7}),
            StopReason.END,
            Usage(input_tokens=5, output_tokens=12),
        ),
    ],
)  # fmt: skip
def test_replies(body: bytes, stop: StopReason, usage: Usage) -> None:
    found = content.decode_reply(body)
    assert (found.stop, found.usage) == (stop, usage)


def test_code_that_google_runs_is_its_own_tool() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1+1"}}
    (made,) = content.decode_reply(reply(code, {"codeExecutionResult": {}})).tool_calls
    assert (made.name, made.by_provider) == ("code_execution", True)
    assert made.arguments == {"language": "PYTHON", "code": "1+1"}


@pytest.mark.parametrize("body", [b"{}", b'{"error": {"message": "no"}}', b'{"candidates": []}'])
def test_what_is_no_reply(body: bytes) -> None:
    with pytest.raises(WireError):
        content.decode_reply(body)


def test_more_than_one_answer_is_refused() -> None:
    with pytest.raises(WireError, match="only one can be traced"):
        request({"parts": []}, generationConfig={"candidateCount": 2})


@pytest.mark.parametrize("model", ["tunedModels/x", "", "..", "a/b", "x:y", "a?b", "x" * 200])
def test_a_name_that_is_no_models_goes_into_no_address(model: str) -> None:
    asked = ModelRequest(model=model, messages=())
    for write in (
        lambda: content.encode_request(asked),
        lambda: content.for_model({}, model),
        lambda: embedding.for_model({}, model),
        lambda: embeddings.for_model({"requests": []}, model),
        lambda: embeddings.encode_request(InputRequest(model=model, texts=("x",))),
        lambda: embedding.encode_request(InputRequest(model=model, texts=("x",))),
    ):
        with pytest.raises(WireError, match="no name of a model"):
            write()


def test_a_stream_in_which_google_stops_is_a_refusal() -> None:
    reader = content.stream_reader({})
    reader.read(SseEvent("", '{"promptFeedback": {"blockReason": "SAFETY"}}'))
    assert reader.reply().stop is StopReason.REFUSAL


def test_embeddings_there_and_back() -> None:
    asked = InputRequest(model="e", texts=("a", "b"), dimensions=2)
    body = json.loads(embeddings.encode_request(asked))
    assert embeddings.decode_request(json.dumps({**body, "model": "e"}).encode()) == asked
    found = InputReply(vectors=[[0.5, 1.0], [1.0, 0.0]])
    assert embeddings.decode_reply(embeddings.encode_reply(found, asked, {})) == found
    alone = InputRequest(model="e", texts=("a",))
    body = json.loads(embedding.encode_request(alone))
    assert embedding.decode_request(json.dumps({**body, "model": "e"}).encode()) == alone
    one = InputReply(vectors=[[0.5]])
    assert embedding.decode_reply(embedding.encode_reply(one, alone, {})) == one


@pytest.mark.parametrize(
    "body",
    [b"{}", b'{"embeddings": []}', b'{"embeddings": [{"values": ["x"]}]}', b'{"embeddings": [1]}'],
)
def test_what_are_no_embeddings(body: bytes) -> None:
    with pytest.raises(WireError):
        embeddings.decode_reply(body)
    with pytest.raises(WireError):
        embedding.decode_reply(body)
