"""A gateway server in front of a provider on loopback, and clients that speak to it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp

from gateval.domain.trials.model_call import Message, ModelRequest
from gateval.domain.trials.trace import StepKind, Trace
from gateval.domain.trials.trial import Side
from gateval.gateway.door import Gateway, Scripts
from gateval.gateway.ledger import SpendingLimits
from gateval.gateway.local.server import GatewayServer
from gateval.gateway.local.session import Session
from gateval.gateway.local.trial_calls import CallLimits
from gateval.gateway.upstream.endpoints import read_upstreams
from gateval.gateway.upstream.retry import RetryPolicy
from tests.helpers import official
from tests.servers.model_server import Answer, Call, ModelServer, Responder, reply

CANARY = "sk-canary-0123456789abcdef"
QUICK = RetryPolicy(attempts=2, first_wait=0.01, longest_wait=0.02)
CHAT = "/v1/chat/completions"
MESSAGES = "/v1/messages"
RESPONSES = "/v1/responses"
ASKED: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}

HELLO = ModelRequest(model="", messages=(Message(role="user", text="hello"),))

Use = Callable[[GatewayServer, ModelServer], Awaitable[None]]


def hello(call: Call) -> Answer:
    return reply(call, "hi")


def serve(
    use: Use,
    respond: Responder = hello,
    policy: RetryPolicy = QUICK,
    *,
    scripts: Scripts | None = None,
    limits: CallLimits | None = None,
    connections: int | None = None,
    spending: SpendingLimits | None = None,
) -> None:
    """Let `use` work with a gateway server in front of a provider that answers by `respond`."""

    async def run() -> None:
        async with ModelServer(respond) as provider:
            environ = {
                "OPENAI_BASE_URL": provider.openai_url,
                "OPENAI_API_KEY": CANARY,
                "ANTHROPIC_BASE_URL": provider.url,
                "ANTHROPIC_API_KEY": CANARY,
                "GEMINI_BASE_URL": f"{provider.url}/v1beta/openai",
                "GEMINI_API_KEY": CANARY,
                "AZURE_OPENAI_ENDPOINT": provider.url,
                "AZURE_OPENAI_API_KEY": CANARY,
                "OPENROUTER_BASE_URL": f"{provider.url}/api/v1",
                "OPENROUTER_API_KEY": CANARY,
            }
            async with (
                Gateway(
                    read_upstreams(environ), scripts or {}, policy=policy, limits=spending
                ) as gateway,
                GatewayServer(gateway, limits, connections=connections) as server,
            ):
                await use(server, provider)

    asyncio.run(run())


def begun(server: GatewayServer, *models: str, side: Side = Side.HEAD) -> Session:
    """A session with a trial under way."""
    session = server.open(side, models)
    session.begin()
    return session


def address(session: Session) -> str:
    return session.environment()["ANTHROPIC_BASE_URL"]


async def send(
    session: Session, path: str = CHAT, *, method: str = "POST", key: str | None = None, **more: Any
) -> tuple[int, bytes, dict[str, str]]:
    headers = {"Authorization": f"Bearer {session.key if key is None else key}"}
    async with aiohttp.request(
        method, address(session) + path, headers=headers, **more
    ) as response:
        return response.status, await response.read(), dict(response.headers)


async def ask_openai(session: Session, **more: Any) -> None:
    environment = session.environment()
    async with official.openai.AsyncOpenAI(
        base_url=environment["OPENAI_BASE_URL"], api_key=environment["OPENAI_API_KEY"]
    ) as client:
        await client.chat.completions.create(**{**ASKED, **more})


async def ask_anthropic(session: Session, **more: Any) -> None:
    environment = session.environment()
    async with official.anthropic.AsyncAnthropic(
        base_url=environment["ANTHROPIC_BASE_URL"], api_key=environment["ANTHROPIC_API_KEY"]
    ) as client:
        await client.messages.create(max_tokens=9, **{**ASKED, **more})


async def called(provider: ModelServer) -> None:
    """Wait until a call has reached the provider."""
    async with asyncio.timeout(30):
        while not provider.calls:  # noqa: ASYNC110 - another party's state, nothing to wait on
            await asyncio.sleep(0.01)


def errors(trace: Trace | None) -> list[str]:
    assert trace is not None
    return [step.text for step in trace.steps if step.kind is StepKind.ERROR]
