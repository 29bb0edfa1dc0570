"""OpenAI Responses through the local server: stored conversations, and whose they are."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateval.domain.manifests.evaluation import ScriptedModel, ScriptedSpec
from gateval.domain.trials.trace import Trace
from gateval.domain.trials.trial import Side
from gateval.gateway.local.server import GatewayServer
from gateval.gateway.local.session import Session
from tests.helpers import official
from tests.helpers.gateway import RESPONSES, begun, send, serve
from tests.servers.model_server import Answer, Call, ModelServer, reply

TOOL: Any = {"type": "function", "name": "look", "parameters": {"type": "object"}, "strict": False}
RULES = [
    {"when": {"tool": "open"}, "reply": "Order 7 is open."},
    {"when": {"user": "Thanks", "turn": 3}, "reply": "You are welcome."},
    {"when": {"user": "My order?"}, "toolCalls": [{"name": "look", "arguments": {"order": 7}}]},
]
SCRIPT = ScriptedModel(
    name="m", path="m.yaml", digest="0", spec=ScriptedSpec.model_validate({"rules": RULES})
)
STEPS = ["My order?", "look", "open", "Order 7 is open.", "Thanks", "You are welcome."]


def serve_order(call: Call) -> Answer:
    if b"Thanks" in call.raw:
        return reply(call, "You are welcome.")
    if b"function_call_output" in call.raw:
        return reply(call, "Order 7 is open.")
    return reply(call, tools=[("c7", "look", {"order": 7})])


def client(session: Session) -> official.openai.AsyncOpenAI:
    environment = session.environment()
    return official.openai.AsyncOpenAI(
        base_url=environment["OPENAI_BASE_URL"], api_key=environment["OPENAI_API_KEY"]
    )


def steps(trace: Trace | None) -> list[str]:
    assert trace is not None
    return [step.text or step.tool or "" for step in trace.steps]


async def converse(session: Session, *, streams: bool) -> None:
    """Say only what is new, and name the response that it follows."""
    previous: str | None = None
    said: Any = "My order?"
    async with client(session) as openai_client:
        for _ in range(3):
            asked: dict[str, Any] = {"model": "m", "input": said, "tools": [TOOL]}
            if previous:
                asked["previous_response_id"] = previous
            if streams:
                async with openai_client.responses.stream(**asked) as stream:
                    got: Any = await stream.get_final_response()
            else:
                got = await openai_client.responses.create(**asked)
            previous = got.id
            calls = [item for item in got.output if item.type == "function_call"]
            said = [
                {"type": "function_call_output", "call_id": call.call_id, "output": "open"}
                for call in calls
            ] or "Thanks"


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("models", [(), ("scripted/m",)], ids=["openai", "scripted"])
def test_a_conversation_goes_on_by_its_id(models: tuple[str, ...], streams: bool) -> None:
    """Whether the provider stores it or we do, each step is in the trace once."""

    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server, *models)
        await converse(session, streams=streams)
        assert steps(session.end()) == STEPS
        for before, call in zip(provider.calls, provider.calls[1:], strict=False):
            assert "previous_response_id" not in before.body or before is not provider.calls[0]
            assert call.body["previous_response_id"].startswith("resp_provider_")

    serve(use, serve_order, scripts={Side.HEAD: {"m": SCRIPT}})


def test_what_others_stored_is_out_of_reach() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        first, second = begun(server), begun(server)
        status, got, _ = await send(first, RESPONSES, json={"model": "m", "input": "hi"})
        assert status == 200
        theirs = json.loads(got)["id"]
        for session, stored in ((second, theirs), (second, "resp_somebody"), (first, "resp_x")):
            asked = {"model": "m", "input": "And?", "previous_response_id": stored}
            status, got, _ = await send(session, RESPONSES, json=asked)
            assert status == 400
            assert b"is no response that was stored in this trial" in got
        first.begin()
        asked = {"model": "m", "input": "And?", "previous_response_id": theirs}
        status, _, _ = await send(first, RESPONSES, json=asked)
        assert status == 400, "nor does one trial reach into another"
        assert len(provider.calls) == 1

    serve(use, lambda call: reply(call, "hi"))


def test_what_was_not_to_be_stored_is_not() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        asked = {"model": "m", "input": "hi", "store": False}
        _, got, _ = await send(session, RESPONSES, json=asked)
        asked = {"model": "m", "input": "And?", "previous_response_id": json.loads(got)["id"]}
        status, got, _ = await send(session, RESPONSES, json=asked)
        assert status == 400
        assert b"store` set to false" in got

    serve(use, lambda call: reply(call, "hi"))


def test_what_the_neutral_form_does_not_know_survives() -> None:
    extra = {"reasoning": {"effort": "low"}, "include": ["reasoning.encrypted_content"]}

    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        asked = {"model": "m", "input": "hi", **extra}
        _, got, _ = await send(session, RESPONSES, json=asked)
        assert provider.calls[0].body == asked
        assert json.loads(got)["output"][0]["type"] == "reasoning"

    serve(use, lambda call: reply(call, "hi"))
