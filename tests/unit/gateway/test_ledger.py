"""The account of a run: calls wait for what others hold back, and only what was taken ends it."""

from __future__ import annotations

import asyncio
import json

import pytest

from gateval.adapters.list_prices import ListPrices
from gateval.domain.manifests.gate_config import ModelPrice
from gateval.domain.trials.model_call import InputReply, Usage
from gateval.domain.trials.trial import Cause
from gateval.gateway.ledger import CallEntry, Ledger, Pricing, SpendingLimits
from gateval.ports.model_calls import ModelCallError, ModelCallFault
from gateval.wire.account import most_tokens
from gateval.wire.base import WireError
from gateval.wire.registry import WIRE_FORMATS

PRICES = {"openai/m": ModelPrice(input=1, output=10)}
LITTLE = Usage(input_tokens=25, output_tokens=10)


def account(limits: SpendingLimits, seconds: float) -> Ledger:
    return Ledger(limits, Pricing(None, PRICES), longest_wait=seconds)


def settle(entry: CallEntry) -> None:
    entry.answered(None, InputReply(usage=LITTLE, model="m"))


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (
            SpendingLimits(usd=0.2),
            "of the $0.20 that policy.budget.usd gives it, calls that are not over hold back $0.15",
        ),
        (
            SpendingLimits(tokens=20_000),
            "has taken 35 of the 20,000 tokens that policy.gateway.tokensPerRun gives it, calls",
        ),
    ],
)
def test_what_is_held_back_does_not_end_the_run(limits: SpendingLimits, words: str) -> None:
    async def go() -> None:
        ledger = account(limits, 0.05)
        settle(await ledger.enter("openai/m", 0, 15_000))
        slow = await ledger.enter("openai/m", 0, 15_000)
        with pytest.raises(ModelCallError, match="not over") as caught:
            await ledger.enter("openai/m", 0, 15_000)
        assert words in caught.value.message
        assert caught.value.fault is ModelCallFault.HELD
        assert caught.value.cause is Cause.GATE
        assert not caught.value.lasting
        assert ledger.ended == "", "the run goes on"
        settle(slow)
        settle(await ledger.enter("openai/m", 0, 15_000))
        assert ledger.calls == 3

    asyncio.run(go())


def test_a_call_waits_as_long_as_others_come_to_an_end() -> None:
    async def go() -> None:
        ledger = account(SpendingLimits(tokens=20_000), 1)
        held = [await ledger.enter("openai/m", 0, 4_500) for _ in range(4)]
        waiting = asyncio.create_task(ledger.enter("openai/m", 0, 19_000))
        for entry in held:
            await asyncio.sleep(0.3)
            settle(entry)
        settle(await waiting)
        assert ledger.ended == ""

    asyncio.run(go())


def test_what_was_taken_ends_the_run_at_once() -> None:
    async def go() -> None:
        ledger = account(SpendingLimits(usd=0.2), 60)
        settle(await ledger.enter("openai/m", 0, 15_000))
        with pytest.raises(ModelCallError) as caught:
            await ledger.enter("openai/m", 0, 20_000)
        assert caught.value.fault is ModelCallFault.BUDGET
        assert "has taken $0.000125 of the $0.20 that" in ledger.ended
        assert "hold" not in ledger.ended

    asyncio.run(go())


USAGES = [
    "NaN",
    "1e400",
    "-5",
    "1.5",
    "true",
    '"7"',
    "1" + "0" * 400,
    "1" + "0" * 4_000,
]


@pytest.mark.parametrize("claimed", USAGES, ids=lambda text: text[:12])
@pytest.mark.parametrize(
    ("model", "wire", "usage"),
    [
        (
            "openai/gpt-4o",
            "openai-chat",
            {"usage": {"prompt_tokens": "CLAIM", "completion_tokens": "CLAIM"}},
        ),
        (
            "anthropic/claude-sonnet-4-5",
            "anthropic-messages",
            {"usage": {"input_tokens": "CLAIM", "output_tokens": "CLAIM"}},
        ),
        (
            "openai/m",
            "openai-chat",
            {
                "usage": {
                    "prompt_tokens": 1,
                    "completion_tokens": "CLAIM",
                    "prompt_tokens_details": {"cached_tokens": "CLAIM"},
                }
            },
        ),
    ],
)
def test_what_an_answer_claims_that_is_no_number_of_tokens_counts_as_what_was_held(
    model: str, wire: str, usage: dict[str, object], claimed: str
) -> None:
    said = {
        "model": "m",
        "choices": [{"message": {"role": "assistant", "content": "hi"}}],
        "role": "assistant",
        "content": [{"type": "text", "text": "hi"}],
        **usage,
    }
    body = json.dumps(said).replace('"CLAIM"', claimed).encode()

    async def go() -> None:
        ledger = Ledger(SpendingLimits(usd=5), Pricing(ListPrices(), PRICES))
        entry = await ledger.enter(model, 400, 1_000)
        try:
            entry.answered(WIRE_FORMATS[wire].decode_reply(body))
        except WireError:
            entry.lost()
        assert ledger.spent == entry.held
        assert ledger.held.usd == 0

    asyncio.run(go())


def test_a_request_for_many_answers_holds_back_as_many() -> None:
    """Without a word of how long they may be."""
    one = most_tokens({"n": 1})
    many = most_tokens({"n": 50})
    assert one is None
    assert many is not None
    assert many >= 50 * 4_096
