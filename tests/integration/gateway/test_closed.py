"""What no candidate may ask of a provider, asked by the official clients."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from gateval.domain.manifests.gate_config import CallFeature
from gateval.domain.trials.trial import Side
from gateval.gateway.local.server import GatewayServer
from gateval.gateway.local.session import Session
from gateval.gateway.local.trial_calls import CallLimits
from tests.helpers import official
from tests.helpers.gateway import ask_anthropic, ask_openai, begun, errors, serve
from tests.servers.model_server import ModelServer

USER = {"role": "user", "content": "hi"}


async def ask_responses(session: Session, **more: Any) -> None:
    environment = session.environment()
    async with official.openai.AsyncOpenAI(
        base_url=environment["OPENAI_BASE_URL"], api_key=environment["OPENAI_API_KEY"]
    ) as client:
        await client.responses.create(**{"model": "m", "input": "hi", **more})


Ask = Callable[..., Awaitable[None]]
EARLIER = {"role": "assistant", "audio": {"id": "audio_1"}}
FILE = {"type": "file", "file": {"file_id": "file-1"}}
DEEP_FILE = {
    "type": "tool_result",
    "tool_use_id": "t",
    "content": [{"type": "document", "source": {"type": "file", "file_id": "file_1"}}],
}
REFUSED: dict[str, tuple[Ask, dict[str, Any], str]] = {
    "audio of another conversation": (ask_openai, {"messages": [EARLIER, USER]}, "`audio.id`"),
    "file in a chat": (
        ask_openai, {"messages": [{"role": "user", "content": [FILE]}]}, "`file_id`"
    ),
    "kept chat": (ask_openai, {"store": True}, "`store`"),
    "long chat": (ask_openai, {"max_completion_tokens": 2_000_000}, "`max_completion_tokens`"),
    "file in a tool result": (
        ask_anthropic, {"messages": [{"role": "user", "content": [DEEP_FILE]}]}, "`file_id`"
    ),
    "container": (ask_anthropic, {"extra_body": {"container": "container_1"}}, "`container`"),
    "skills": (
        ask_anthropic,
        {"extra_body": {"container": {"skills": [{"type": "custom", "skill_id": "s"}]}}},
        "`skills`",
    ),
    "MCP of Anthropic": (
        ask_anthropic,
        {"extra_body": {"mcp_servers": [{"type": "url", "url": "https://x", "name": "x"}]}},
        "a remote MCP server",
    ),
    "MCP of OpenAI": (
        ask_responses,
        {"tools": [{"type": "mcp", "server_label": "x", "server_url": "https://x"}]},
        "a remote MCP server",
    ),
    "connector": (
        ask_responses,
        {"tools": [{"type": "mcp", "server_label": "x", "connector_id": "connector_gmail"}]},
        "`connector_id`",
    ),
    "long response": (ask_responses, {"max_output_tokens": 2_000_000}, "`max_output_tokens`"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused_and_reaches_no_provider(case: str) -> None:
    ask, more, words = REFUSED[case]

    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        with pytest.raises(
            (official.openai.PermissionDeniedError, official.anthropic.PermissionDeniedError)
        ) as got:
            await ask(session, **more)
        assert words in str(got.value)
        assert provider.calls == []
        assert len(errors(session.end())) == 1

    serve(use)


def test_what_the_policy_allows_goes_through_as_it_came() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        await ask_openai(session, store=True, max_completion_tokens=300)
        mcp = [{"type": "mcp", "server_label": "x", "server_url": "https://x"}]
        await ask_responses(session, tools=mcp, store=True)
        first, second = provider.calls
        assert (first.body["store"], first.body["max_completion_tokens"]) == (True, 300)
        assert second.body["tools"] == mcp

    serve(use, limits=CallLimits(allow=(CallFeature.STORE, CallFeature.MCP), max_tokens=300))


@pytest.mark.parametrize(
    ("asked", "models", "uses", "admitted"),
    [
        ("gpt-5", ("openai/gpt-5",), (), True),
        ("gpt-5-pro", ("openai/gpt-5",), (), False),
        ("gpt-5-pro", ("openai/gpt-5",), ("openai/gpt-5-pro",), True),
        ("openrouter/any/thing", ("openai/gpt-5",), ("openai/gpt-5-pro",), False),
        ("gpt-5", (), ("openai/gpt-5-pro",), False),
        ("gpt-5-pro", (), (), True),
    ],
)
def test_a_candidate_asks_for_the_models_of_its_manifest(
    asked: str, models: tuple[str, ...], uses: tuple[str, ...], admitted: bool
) -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = server.open(Side.HEAD, models, uses)
        session.begin()
        if admitted:
            await ask_openai(session, model=asked)
            assert provider.calls[0].body["model"] == asked
            return
        with pytest.raises(official.openai.PermissionDeniedError, match=r"add it to `spec\.uses`"):
            await ask_openai(session, model=asked)
        assert provider.calls == []

    serve(use)
