"""A program whose agents work side by side: each one's steps can be told from the others'."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gateval.domain.trials.trace import Step, Trace
from gateval.gateway.local.server import GatewayServer
from tests.helpers import official
from tests.helpers.gateway import begun, serve
from tests.servers.model_server import Answer, Call, ModelServer, reply

TOOL: Any = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
AGENTS = 5


def respond(call: Call) -> Answer:
    """Answer the later, the earlier an agent begins, so that their turns mix."""
    asked = call.body["messages"][1]["content"]
    number = int(asked.rpartition(" ")[2])
    results = sum(message["role"] == "tool" for message in call.body["messages"])
    delay = 0.02 * ((AGENTS - number) if results == 0 else number)
    if results < 2:
        made = [(f"c{number}_{results}", "look", {"agent": number, "turn": results})]
        return reply(call, tools=made, delay=delay)
    return reply(call, f"Done {number}", delay=delay)


async def work(client: official.openai.AsyncOpenAI, number: int) -> None:
    messages: list[Any] = [
        {"role": "system", "content": f"You are {number}"},
        {"role": "user", "content": f"Task {number}"},
    ]
    while True:
        got = await client.chat.completions.create(model="m", messages=messages, tools=[TOOL])
        said = got.choices[0].message
        messages.append(said)
        if not said.tool_calls:
            return
        for made in said.tool_calls:
            result = f"result {number}"
            messages.append({"role": "tool", "tool_call_id": made.id, "content": result})


def what(step: Step) -> tuple[str, str]:
    return step.kind.value, step.text or str(step.arguments)


@pytest.mark.parametrize("side_by_side", [True, False])
def test_each_agents_steps_are_a_whole_conversation(side_by_side: bool) -> None:
    found: list[Trace] = []

    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        environment = session.environment()
        async with official.openai.AsyncOpenAI(
            base_url=environment["OPENAI_BASE_URL"], api_key=session.key
        ) as client:
            if side_by_side:
                await asyncio.gather(*(work(client, number) for number in range(AGENTS)))
            else:
                for number in range(AGENTS):
                    await work(client, number)
        trace = session.end()
        assert trace is not None
        found.append(trace)

    serve(use, respond)
    (trace,) = found
    assert trace.is_parallel
    conversations: dict[int, list[tuple[str, str]]] = {}
    for step in trace.steps:
        conversations.setdefault(step.conversation, []).append(what(step))
    assert sorted(conversations) == [1, 2, 3, 4, 5]
    numbers = {int(steps[0][1].rpartition(" ")[2]): steps for steps in conversations.values()}
    for number in range(AGENTS):
        assert numbers[number] == [
            ("user", f"Task {number}"),
            ("tool_call", str({"agent": number, "turn": 0})),
            ("tool_result", f"result {number}"),
            ("tool_call", str({"agent": number, "turn": 1})),
            ("tool_result", f"result {number}"),
            ("assistant", f"Done {number}"),
        ]
    mixed = [step.conversation for step in trace.steps]
    assert (mixed != sorted(mixed)) == side_by_side
