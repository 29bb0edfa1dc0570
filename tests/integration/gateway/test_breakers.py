"""Outages are felt model by model, hangs included; what can never work is found by the first call."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest

from gateval.domain.trials.trial import Side
from gateval.gateway.door import Gateway
from gateval.gateway.local.server import GatewayServer
from gateval.gateway.upstream.endpoints import read_upstreams
from gateval.gateway.upstream.http_client import Timeouts
from gateval.gateway.upstream.retry import RetryPolicy
from gateval.ports.model_calls import ModelCallError, ModelCallFault
from tests.helpers.gateway import CANARY, CHAT, HELLO, MESSAGES, QUICK, begun, hello, send, serve
from tests.servers.model_server import Answer, Call, ModelServer, Responder, failure, in_turn, reply

PATIENT = RetryPolicy(attempts=9, first_wait=0.05, longest_wait=0.1, outage_seconds=0.6)
Use = Callable[[Gateway, ModelServer], Awaitable[None]]


def door(use: Use, respond: Responder, policy: RetryPolicy = QUICK, answer: float = 300) -> None:
    """Let `use` call through a gateway to a provider that answers by `respond`."""

    async def run() -> None:
        async with ModelServer(respond) as server:
            environ = {"OPENAI_BASE_URL": server.openai_url, "OPENAI_API_KEY": CANARY}
            upstreams, timeouts = read_upstreams(environ), Timeouts(answer=answer)
            async with Gateway(upstreams, {}, policy=policy, timeouts=timeouts) as gateway:
                await use(gateway, server)

    asyncio.run(run())


async def fails(gateway: Gateway, model: str) -> ModelCallError:
    with pytest.raises(ModelCallError) as caught:
        await gateway.call(model, HELLO, side=Side.HEAD)
    return caught.value


def asked(server: ModelServer, model: str) -> int:
    return sum(call.body["model"] == model for call in server.calls)


@pytest.mark.parametrize("how", ["refuses", "hangs"])
def test_a_judge_that_is_down_is_given_up_while_other_models_answer(how: str) -> None:
    def respond(call: Call) -> Answer:
        if call.body["model"] != "judge":
            return hello(call)
        return failure(call, 503, "down") if how == "refuses" else reply(call, "late", delay=9)

    async def use(gateway: Gateway, server: ModelServer) -> None:
        while not gateway.gave_up("openai/judge"):
            error = await fails(gateway, "openai/judge")
            await gateway.call("openai/agent", HELLO, side=Side.HEAD)
        before = asked(server, "judge")
        error = await fails(gateway, "openai/judge")
        assert error.fault is ModelCallFault.GIVEN_UP
        assert error.lasting
        assert "answered no call of this model for 0.6 s; at last it" in error.message
        assert asked(server, "judge") == before, "it is not asked again"
        assert not gateway.gave_up("openai/agent")

    door(use, respond, PATIENT, answer=0.2)


def test_an_outage_that_passes_costs_nothing() -> None:
    policy = RetryPolicy(attempts=9, first_wait=0.01, longest_wait=0.05, outage_seconds=60)
    began = time.monotonic()

    async def use(gateway: Gateway, server: ModelServer) -> None:
        calls = (gateway.call("openai/judge", HELLO, side=Side.HEAD) for _ in range(20))
        assert len(await asyncio.gather(*calls)) == 20

    def respond(call: Call) -> Answer:
        return failure(call, 503, "down") if time.monotonic() - began < 0.1 else hello(call)

    door(use, respond, policy)


def test_too_many_requests_slow_calls_down_to_what_the_provider_takes() -> None:
    begun: list[float] = []
    refused: list[float] = []

    def respond(call: Call) -> Answer:
        """Refuse what is more than eight at once, each of which takes 20 ms."""
        now = time.monotonic()
        if sum(now - one < 0.02 for one in begun) >= 8:
            refused.append(now)
            return failure(call, 429, "slow down", Retry_After="0.02")
        begun.append(now)
        return reply(call, "hi", delay=0.02)

    async def use(gateway: Gateway, server: ModelServer) -> None:
        calls = (gateway.call("openai/m", HELLO, side=Side.HEAD) for _ in range(300))
        assert len(await asyncio.gather(*calls)) == 300
        assert len(refused) < 600, "300 at once were refused 17 times each, were nothing learnt"

    door(use, respond, RetryPolicy(attempts=99, first_wait=0.02, longest_wait=0.1))


@pytest.mark.parametrize(
    ("answer", "fault", "other", "meaning"),
    [
        (lambda call: failure(call, 401, "bad key"), ModelCallFault.DENIED, 1, "key is refused"),
        (lambda call: failure(call, 404, "gone"), ModelCallFault.REJECTED, 2, "spec.models"),
        (
            lambda call: Answer(
                429, b'{"error": {"message": "No.", "code": "insufficient_quota"}}'
            ),
            ModelCallFault.DENIED,
            1,
            "(the account has no quota left",
        ),
        (
            lambda call: failure(call, 400, "Your credit balance is too low to access the API."),
            ModelCallFault.DENIED,
            1,
            "(the account has no quota left",
        ),
    ],
    ids=["key", "model", "quota", "credit"],
)
def test_what_can_never_work_is_found_by_the_first_call(
    answer: Responder, fault: ModelCallFault, other: int, meaning: str
) -> None:
    async def use(gateway: Gateway, server: ModelServer) -> None:
        said = [(await fails(gateway, "openai/judge")).message for _ in range(5)]
        assert len(server.calls) == 1
        assert len(set(said)) == 1
        assert meaning in said[0]
        assert (await fails(gateway, "openai/other")).fault is fault
        assert len(server.calls) == other

    door(use, answer)


def test_a_success_that_is_no_reply_is_tried_again() -> None:
    broken = Answer(body=b'{"choices": [{"message": {"content": "He')

    async def use(gateway: Gateway, server: ModelServer) -> None:
        assert (await gateway.call("openai/m", HELLO, side=Side.HEAD)).text == "hi"
        assert len(server.calls) == 2

    door(use, in_turn(lambda call: broken, hello))


@pytest.mark.parametrize("path", [CHAT, MESSAGES])
def test_a_candidate_does_not_see_a_success_that_is_no_reply(path: str) -> None:
    broken = Answer(body=b'{"id": "x')

    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
        status, _, _ = await send(session, path, json=body)
        assert status == 200
        trace = session.end()
        assert trace is not None
        assert trace.waited > 0

    serve(use, in_turn(lambda call: broken, hello))
