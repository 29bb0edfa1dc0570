"""The account of a run: calls wait for what others hold back, and only what was taken ends it."""

from __future__ import annotations

import asyncio

import pytest

from gateval.domain.manifests.gate_config import ModelPrice
from gateval.domain.trials.model_call import InputReply, Usage
from gateval.domain.trials.trial import Cause
from gateval.gateway.ledger import CallEntry, Ledger, Pricing, SpendingLimits
from gateval.ports.model_calls import ModelCallError, ModelCallFault

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
