"""The official clients as agents behind the local server, with nothing but the environment."""

from __future__ import annotations

import asyncio

import pytest

from gateval.domain.manifests.evaluation import ScriptedModel, ScriptedSpec
from gateval.domain.trials.trace import StepKind, Trace
from gateval.domain.trials.trial import Side
from gateval.gateway.door import Gateway
from gateval.gateway.local.server import GatewayServer
from gateval.gateway.upstream.endpoints import read_upstreams
from tests.helpers.clients import run_program
from tests.servers.model_server import Answer, Call, ModelServer, reply

CANARY = "sk-canary-0123456789abcdef"

OPENAI_AGENT = """
import json, openai, sys
client = openai.OpenAI()
tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
messages = [
    {"role": "system", "content": "You help."},
    {"role": "user", "content": [{"type": "text", "text": "My order?"}]},
]
while True:
    got = client.chat.completions.create(model=sys.argv[1], messages=messages, tools=[tool])
    message = got.choices[0].message
    messages.append(message)
    for call in message.tool_calls or ():
        order = json.loads(call.function.arguments)["order"]
        result = {"role": "tool", "tool_call_id": call.id, "content": f"order {order}: open"}
        messages.append(result)
    if not message.tool_calls:
        print(message.content, got.usage.total_tokens, got.model)
        break
"""

ANTHROPIC_AGENT = """
import anthropic, sys
client = anthropic.Anthropic()
tool = {"name": "look", "description": "", "input_schema": {"type": "object"}}
messages = [{"role": "user", "content": "My order?"}]
while True:
    got = client.messages.create(
        model=sys.argv[1], max_tokens=100, system="You help.", messages=messages, tools=[tool]
    )
    messages.append({"role": "assistant", "content": got.content})
    results = [
        {"type": "tool_result", "tool_use_id": block.id,
         "content": [{"type": "text", "text": f"order {block.input['order']}: open"}]}
        for block in got.content if block.type == "tool_use"
    ]
    messages.append({"role": "user", "content": results})
    if got.stop_reason != "tool_use":
        total = got.usage.input_tokens + got.usage.output_tokens
        print(got.content[0].text, total, got.model)
        break
"""

OPENAI_STREAMING_AGENT = """
import json, openai, sys
client = openai.OpenAI()
tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
messages = [
    {"role": "system", "content": "You help."},
    {"role": "user", "content": [{"type": "text", "text": "My order?"}]},
]
while True:
    asked = {"model": sys.argv[1], "messages": messages, "tools": [tool]}
    with client.chat.completions.stream(**asked) as stream:
        got = stream.until_done().get_final_completion()
    message = got.choices[0].message
    messages.append(message.model_dump(include={"role", "content", "tool_calls"}))
    for call in message.tool_calls or ():
        order = json.loads(call.function.arguments)["order"]
        result = {"role": "tool", "tool_call_id": call.id, "content": f"order {order}: open"}
        messages.append(result)
    if not message.tool_calls:
        print(message.content, got.model)
        break
"""

RESPONSES_AGENT = """
import json, openai, sys
client = openai.OpenAI()
tool = {"type": "function", "name": "look", "parameters": {"type": "object"}, "strict": False}
items = [{"role": "user", "content": [{"type": "input_text", "text": "My order?"}]}]
while True:
    asked = {"model": sys.argv[1], "input": items, "instructions": "You help.", "tools": [tool]}
    with client.responses.stream(**asked) as stream:
        got = stream.until_done().get_final_response()
    calls = [item for item in got.output if item.type == "function_call"]
    said = [item for item in got.output if item.type == "message"]
    items += [{"role": "assistant", "content": got.output_text} for _ in said]
    for call in calls:
        known = {"type": "function_call", "call_id": call.call_id, "name": call.name}
        items.append({**known, "arguments": call.arguments})
    for call in calls:
        text = f"order {json.loads(call.arguments)['order']}: open"
        items.append({"type": "function_call_output", "call_id": call.call_id, "output": text})
    if not calls:
        print(got.output_text, got.model)
        break
"""

ANTHROPIC_STREAMING_AGENT = ANTHROPIC_AGENT.replace(
    "    got = client.messages.create(", "    with client.messages.stream("
).replace(
    "messages=messages, tools=[tool]\n    )\n",
    "messages=messages, tools=[tool]\n    ) as stream:\n        got = stream.get_final_message()\n",
)

SCRIPT = ScriptedModel(
    name="support",
    path=".gateval/scripted/support.yaml",
    digest="0",
    spec=ScriptedSpec.model_validate(
        {
            "rules": [
                {"when": {"tool": "order 8: open"}, "reply": "Both are open."},
                {
                    "when": {"user": "My order?", "system": "You help."},
                    "reply": "One moment.",
                    "toolCalls": [
                        {"name": "look", "arguments": {"order": 7}},
                        {"name": "look", "arguments": {"order": 8}},
                    ],
                },
            ]
        }
    ),
)


def serve(call: Call) -> Answer:
    """The same conversation from a real provider, in whichever format it is asked."""
    if b"order 8: open" in call.raw:
        return reply(call, "Both are open.")
    tools = [("a", "look", {"order": 7}), ("b", "look", {"order": 8})]
    return reply(call, "One moment.", tools=tools)


async def run_agent(program: str, model: str, environment: dict[str, str]) -> str:
    output, errors = await run_program(program, environment, model)
    assert "Traceback" not in errors, errors
    return output.strip()


def shown(trace: Trace | None) -> list[str]:
    assert trace is not None
    return [
        " ".join(
            str(part) for part in (f"{step.kind}:", step.tool, step.arguments, step.text) if part
        )
        for step in trace.steps
    ]


@pytest.mark.parametrize(
    ("program", "model", "answered_by"),
    [
        (OPENAI_AGENT, "support", "scripted/support"),
        (ANTHROPIC_AGENT, "scripted/support", "scripted/support"),
        (ANTHROPIC_AGENT, "claude", "anthropic/claude"),
        (OPENAI_AGENT, "anthropic/claude", "anthropic/claude"),
        (OPENAI_STREAMING_AGENT, "gpt", "openai/gpt"),
        (RESPONSES_AGENT, "gpt", "openai/gpt"),
        (ANTHROPIC_STREAMING_AGENT, "claude", "anthropic/claude"),
    ],
    ids=[
        "chat, scripted",
        "messages, scripted",
        "messages",
        "chat, of Anthropic",
        "chat streamed",
        "responses streamed",
        "messages streamed",
    ],
)
def test_a_tool_round_trip(program: str, model: str, answered_by: str) -> None:
    streams = "with client" in program

    async def run() -> tuple[str, Trace | None, list[Call], dict[str, str]]:
        async with ModelServer(serve) as provider:
            environ = {
                "OPENAI_BASE_URL": provider.openai_url,
                "OPENAI_API_KEY": CANARY,
                "ANTHROPIC_BASE_URL": provider.url,
                "ANTHROPIC_API_KEY": CANARY,
            }
            scripts = {Side.HEAD: {"support": SCRIPT}}
            async with (
                Gateway(read_upstreams(environ), scripts) as gateway,
                GatewayServer(gateway) as server,
            ):
                session = server.open(Side.HEAD, ("scripted/support",), (answered_by,))
                session.begin()
                environment = session.environment()
                output = await run_agent(program, model, environment)
                return output, session.end(), provider.calls, environment

    output, trace, calls, environment = asyncio.run(run())
    assert output.startswith("Both are open. ")
    assert shown(trace) == [
        "user: My order?",
        "assistant: One moment.",
        "tool_call: look {'order': 7}",
        "tool_call: look {'order': 8}",
        "tool_result: look order 7: open",
        "tool_result: look order 8: open",
        "assistant: Both are open.",
    ]
    assert trace is not None
    assert (trace.models, trace.model_calls) == ((answered_by,), 2)
    results = [step.call_id for step in trace.steps if step.kind is StepKind.TOOL_RESULT]
    assert results == [step.call_id for step in trace.tool_calls()]
    assert (trace.usage.total == 30) == (not answered_by.startswith("scripted"))
    assert len(calls) == (0 if answered_by.startswith("scripted") else 2)
    assert all(call.body["model"] == answered_by.partition("/")[2] for call in calls)
    assert all(call.streams == streams for call in calls)
    assert CANARY not in f"{output} {trace!r} {environment}"
