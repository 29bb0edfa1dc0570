from __future__ import annotations

import json

import pytest

from gateval.candidates.contract import ClaimError, read_answer, write_question
from gateval.domain.manifests.fixture import FixtureInput, InputType
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import STEPS_LIMIT, StepKind, Trace


def _trace(printed: bytes) -> Trace:
    trace = read_answer(printed).trace
    assert trace is not None
    return trace


def answer(**document: object) -> bytes:
    return json.dumps(document).encode()


def test_the_question_holds_the_input_and_nothing_else() -> None:
    asked = FixtureInput(type=InputType.SLACK, payload={"text": "où?", "channel": "#a"})
    written = write_question(asked)
    assert written.endswith(b"\n")
    assert written.count(b"\n") == 1
    assert json.loads(written) == {
        "version": 1,
        "input": {"type": "slack", "payload": {"text": "où?", "channel": "#a"}},
        "prompt": "où?",
    }


def test_a_payload_that_no_utf8_can_hold_can_still_be_asked() -> None:
    asked = FixtureInput(type=InputType.PROMPT, payload={"prompt": "half \ud800 pair"})
    assert json.loads(write_question(asked))["prompt"].startswith("half ")


@pytest.mark.parametrize(
    ("printed", "output"),
    [
        (b"hello", "hello"),
        (b"\n  hello\nworld \n", "hello\nworld"),
        (b"\xef\xbb\xbfhello", "hello"),
        (b"caf\xe9", "caf\ufffd"),
        (b'{"answer": 42}', '{"answer": 42}'),
        (b'["output"]', '["output"]'),
        (b'"output"', '"output"'),
        (b'log line\n{"output": "x"}', 'log line\n{"output": "x"}'),
        (b'{"output": "x"} trailing', '{"output": "x"} trailing'),
        (b'{"output": "x",}', '{"output": "x",}'),
        (b"::set-output name=x::y", "::set-output name=x::y"),
        (b'{"output": "hi"}', "hi"),
        (b' {"output": "  hi "}\n', "  hi "),
        (b'{"output": {"b": 1, "a": [true, null]}}', '{"a":[true,null],"b":1}'),
        (b'{"output": 0}', "0"),
        (b'{"output": "x", "version": 1, "trace": null, "usage": null}', "x"),
        (b'{"output":' + b"[" * 100_000, '{"output":' + "[" * 100_000),
    ],
)
def test_what_counts_as_the_output(printed: bytes, output: str) -> None:
    assert read_answer(printed).output == output


@pytest.mark.parametrize(
    ("printed", "part"),
    [
        (b"", "empty"),
        (b" \n\t", "empty"),
        (b'{"output": ""}', "`output` is empty"),
        (b'{"output": " \\n"}', "`output` is empty"),
        (b'{"output": null}', "`output` is empty"),
        (
            b'{"output": "x", "traces": []}',
            "it has the unknown key `traces`; known are output, trace, usage, version",
        ),
        (b'{"output": "x", "score": 1}', "unknown key `score`"),
        (b'{"output": "x", "version": 2}', "`version` is not 1"),
        (b'{"output": "good", "output": "bad"}', "stands there twice"),
        (b'{"output": "\\ud800"}', "surrogate"),
        (b'{"output": NaN}', "NaN"),
        (b'{"output": ' + b"[" * 200 + b"]" * 200 + b"}", "nested"),
        (answer(output="x", trace={"steps": []}), "no list"),
        (answer(output="x", trace=[{}]), "`trace[0].type`"),
        (answer(output="x", trace=["user said hi"]), "`trace[0]`"),
        (answer(output="x", trace=[{"type": "thought", "text": "t"}]), "`trace[0].type`"),
        (answer(output="x", trace=[{"type": "tool_call"}]), "without `tool`"),
        (
            answer(output="x", trace=[{"type": "tool_call", "tool": "t", "arguments": "{}"}]),
            "`trace[0].arguments",
        ),
        (answer(output="x", trace=[{"type": "user"}] * (STEPS_LIMIT + 1)), "more than 2000"),
        (answer(output="x", usage=7), "`usage`"),
        (answer(output="x", usage={"input_tokens": -1}), "`usage.input_tokens`"),
        (answer(output="x", usage={"input_tokens": "many"}), "`usage.input_tokens`"),
        (answer(output="x", usage={"input_tokens": True}), "`usage.input_tokens`"),
    ],
)
def test_an_answer_that_cannot_be_used_says_why(printed: bytes, part: str) -> None:
    with pytest.raises(ClaimError) as caught:
        read_answer(printed)
    assert part in str(caught.value)


def test_claimed_steps_are_numbered_and_kept_in_order() -> None:
    trace = _trace(
        answer(
            output="done",
            trace=[
                {"type": "user", "text": "refund me"},
                {"kind": "assistant", "content": "let me see", "seconds": 0.2},
                {"type": "tool_call", "tool": "find", "arguments": {"id": 7}, "call_id": "a"},
                {"type": "tool_call", "name": "refund", "input": {"cents": 1}, "id": 12},
                {"type": "tool_result", "tool": "find", "result": {"found": True}, "id": "a"},
                {"type": "error", "text": "refund failed"},
                {"type": "tool_call", "tool": "close"},
            ],
        )
    )
    assert trace.source == "candidate"
    assert [step.number for step in trace.steps] == [1, 2, 3, 4, 5, 6, 7]
    assert [step.kind for step in trace.steps][2:5] == [
        StepKind.TOOL_CALL, StepKind.TOOL_CALL, StepKind.TOOL_RESULT,
    ]  # fmt: skip
    assert [step.tool for step in trace.tool_calls()] == ["find", "refund", "close"]
    assert [step.arguments for step in trace.tool_calls()] == [{"id": 7}, {"cents": 1}, {}]
    assert [step.call_id for step in trace.tool_calls()] == ["a", "12", None]
    assert trace.steps[1].text == "let me see"
    assert trace.steps[4].text == '{"found":true}'
    assert trace.steps[4].arguments is None


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        ({"input_tokens": 3, "output_tokens": 4}, Usage(input_tokens=3, output_tokens=4)),
        ({"inputTokens": 3}, Usage(input_tokens=3)),
        (
            {"prompt_tokens": 0, "completion_tokens": 2, "total_tokens": 2},
            Usage(input_tokens=0, output_tokens=2),
        ),
        ({}, Usage()),
    ],
)
def test_claimed_usage(usage: dict[str, int], read: Usage) -> None:
    assert read_answer(answer(output="x", usage=usage)).usage == read
    assert _trace(answer(output="x", usage=usage, trace=[])).usage == read


def test_without_a_claim_nothing_is_known() -> None:
    said = read_answer(b"just text")
    assert said.trace is None
    assert said.usage == Usage()
