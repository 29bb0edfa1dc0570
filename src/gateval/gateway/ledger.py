"""What the model calls of a run take together, at their prices, held within the limits of its
policy.

Every attempt at a call is entered before it is made: a candidate's, one of the agents that the gate
runs itself, a judge's. Until it is over it holds back what it may take, so that calls side by side
cannot spend the same money; then what it took counts. What nobody counted is taken to be what was
held back. A call that does not fit into what is left ends the spending of the run: none follows.
One that would fit once others are over waits for them: a slow provider is no used-up budget.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple, Self

from pydantic import Field

from gateval.domain.base import Value
from gateval.domain.manifests.evaluation import SCRIPTED_PROVIDER
from gateval.domain.manifests.gate_config import ModelPrice, Policy
from gateval.domain.plan.spending import Allowance
from gateval.domain.text import show_usd
from gateval.domain.trials.model_call import InputReply, ModelReply, Usage
from gateval.domain.trials.trace import USD_DIGITS
from gateval.ports.model_calls import ModelCallError, ModelCallFault, Prices
from gateval.wire.account import UNSAID_OUTPUT


class Pricing:
    """Prices usages by a list; without `prices` all money is unknown, but for scripted models.
    `own` are the prices that the policy names, by `provider/model-id`: they count before the list.
    """

    def __init__(
        self, prices: Prices | None = None, own: Mapping[str, ModelPrice] | None = None
    ) -> None:
        self._prices = prices
        self._own = own or {}

    def reply(self, model: str, reply: ModelReply) -> ModelReply:
        """Return a reply of `model` (`provider/model-id`) with the price of its tokens."""
        usage = self.usage(model, reply.usage, answered=reply.model, tier=reply.tier)
        return reply if usage is reply.usage else reply.replace(usage=usage)

    def usage(self, model: str, usage: Usage, *, answered: str = "", tier: str = "") -> Usage:
        """Return the usage with its price; what has one, or no tokens, stays as it is. Rules in the
        repository bill nothing. A model that the list lacks is named.
        """
        if usage.usd is not None or usage.input_tokens is None or usage.output_tokens is None:
            return usage
        if model.startswith(f"{SCRIPTED_PROVIDER}/"):
            return usage.replace(usd=0.0)
        if own := self._own.get(model):
            usd = round(own.usd(usage.input_tokens, usage.output_tokens), USD_DIGITS)
            return usage.replace(usd=usd)
        if self._prices is None:
            return usage
        found = self._prices.price(model, usage, answered=answered, tier=tier)
        return usage.replace(unpriced=(model,)) if found is None else usage.replace(usd=found)

    def knows(self, model: str) -> bool:
        """Whether there is a price of `model`."""
        return self.usage(model, Usage(input_tokens=1, output_tokens=1)).usd is not None


BYTES_PER_TOKEN = 4
"""The estimate of what a request will be counted as."""

LONGEST_WAIT = 310.0
"""Seconds that a call waits for any other one to be over, unless the gateway says how long one may
take. One that a candidate does not read to its end may wait for this very call."""


_NOTED_STEPS = 200
"""How often, at about most, it is noted what a run has taken: each time a bit ahead."""


class SpendingLimits(Value):
    """The most that the calls of a run may take together; `usd` is None without a limit. `told`
    says why it is less than a run has as a rule.
    """

    calls: int = Field(default=250_000, ge=0)
    tokens: int = Field(default=1_000_000_000, ge=0)
    usd: float | None = Field(default=None, ge=0)
    told: str = ""

    @classmethod
    def under(cls, policy: Policy, allowance: Allowance | None = None) -> Self:
        """The limits of a run under this policy, with what pull request and day leave it."""
        gateway, usd, told = policy.gateway, policy.budget.usd, ""
        if allowance is not None and (usd is None or allowance.usd < usd):
            usd, told = allowance.usd, allowance.told
        return cls(calls=gateway.calls_per_run, tokens=gateway.tokens_per_run, usd=usd, told=told)


class Taken(NamedTuple):
    """An amount of tokens and US dollars."""

    tokens: int = 0
    usd: float = 0.0

    def plus(self, other: Taken, sign: int = 1) -> Taken:
        """Return both together, or with `sign` -1 what is left without the other."""
        return Taken(self.tokens + sign * other.tokens, self.usd + sign * other.usd)


_NOTHING, _UNKNOWN = Usage(input_tokens=0, output_tokens=0, usd=0.0), Usage()
_NO_TOKENS = Usage(input_tokens=0, output_tokens=0)


class CallEntry:
    """An attempt at a call, from `Ledger.enter` until one of its methods says how it went. What is
    said after the first time changes nothing. `told` is given the tokens that it took.
    """

    def __init__(
        self, ledger: Ledger, model: str, held: Taken, told: Callable[[int], None] | None = None
    ) -> None:
        self.model = model
        self.held = held
        self.told = told
        self._ledger: Ledger | None = ledger
        self._begun = time.monotonic()

    def answered(self, reply: ModelReply | None, measured: InputReply | None = None) -> None:
        """It was answered, and the provider says what that took; refused where neither is given.
        Measuring without usage costs no tokens.
        """
        told = reply or measured
        if told is None:
            return self.refused()
        if self._ledger is not None:
            slowest, seconds = self._ledger.slowest, time.monotonic() - self._begun
            slowest[self.model] = max(seconds, slowest.get(self.model, 0.0))
        usage = _NO_TOKENS if told.usage is None else told.usage
        return self._close(usage, told.model, reply.tier if reply else "")

    def refused(self) -> None:
        """The provider refused it or was not reached: nobody bills that."""
        self._close(_NOTHING)

    def lost(self) -> None:
        """Nobody knows what it took: it was broken off, or what came cannot be read."""
        self._close(_UNKNOWN)

    def _close(self, usage: Usage, answered: str = "", tier: str = "") -> None:
        ledger, self._ledger = self._ledger, None
        if ledger is not None:
            ledger.close(self, usage, answered, tier)


class Ledger:
    """The account of one run; made by the gateway. For one event loop.

    Attributes: `calls` made so far, `spent` by those that are over, `held` back for those under
    way, `ended` why no call is made any more, as a sentence; empty as long as there is room;
    `slowest` the seconds of the slowest call of a model that was answered. Where dollars are
    limited, `note` is told what may have been taken, before it is, in steps of a part of the limit.
    """

    def __init__(
        self, limits: SpendingLimits, pricing: Pricing, *, longest_wait: float = LONGEST_WAIT
    ) -> None:
        self.limits = limits
        self.calls = 0
        self.spent = Taken()
        self.held = Taken()
        self.ended = ""
        self.slowest: dict[str, float] = {}
        self.note: Callable[[float], None] = lambda _: None
        self._noted = 0.0
        self._pricing = pricing
        self._longest_wait = longest_wait
        self._open = 0
        self._largest: dict[str, int] = {}
        self._room = asyncio.Event()

    @property
    def told(self) -> str:
        """What the run took until it `ended`, beside why."""
        usd = "" if self.limits.usd is None else f", {show_usd(self.spent.usd)}"
        return (
            f"{self.ended} In all it made {self.calls:,} model calls, which took "
            f"{self.spent.tokens:,} tokens{usd}."
        )

    def unpriced(self, model: str) -> str:
        """Return why a model may not be asked where dollars are limited: empty if it may."""
        if self.limits.usd is None or self._pricing.knows(model):
            return ""
        return (
            f"Nobody knows a price of {model}, and the policy limits dollars (policy.budget.usd); "
            "write one under policy.prices of the gate config"
        )

    def estimated(self, model: str, size: int, most: int | None) -> int:
        """Return how many tokens such a call may take; see `enter`."""
        return self._may_take(model, size, most).tokens

    async def enter(
        self,
        model: str,
        size: int,
        most: int | None,
        told: Callable[[int], None] | None = None,
    ) -> CallEntry:
        """Enter an attempt at a call of `model` (`provider/model-id`), once there is room for it.

        Its request has `size` bytes and lets the answer have `most` tokens; None if it does not
        say. Raises `ModelCallError` where the limits of the run leave no room.
        """
        if unpriced := self.unpriced(model):
            raise ModelCallError(ModelCallFault.REJECTED, f"{unpriced}.")
        may_take = self._may_take(model, size, most)
        while not self._fits(model, may_take):
            self._room.clear()
            try:
                await asyncio.wait_for(self._room.wait(), self._longest_wait)
            except TimeoutError:
                message = (
                    f"{self._too_much(model, may_take, self.held)}. None of them was over within "
                    f"{self._longest_wait:g} s, so this call is not made; the run goes on."
                )
                raise ModelCallError(ModelCallFault.HELD, message)
        if self.ended:
            raise ModelCallError(ModelCallFault.BUDGET, self.ended)
        self.calls += 1
        self._open += 1
        self.held = self.held.plus(may_take)
        self._note()
        return CallEntry(self, model, may_take, told)

    def close(self, entry: CallEntry, usage: Usage, answered: str, tier: str) -> None:
        """Give back what an entry holds and count what it took; `CallEntry` calls this once."""
        self._open -= 1
        self.held = self.held.plus(entry.held, -1) if self._open else Taken()
        if usage.output_tokens is not None:
            self._largest[entry.model] = max(usage.output_tokens, self._largest.get(entry.model, 0))
        priced = self._pricing.usage(entry.model, usage, answered=answered, tier=tier)
        tokens = entry.held.tokens if priced.total is None else priced.total
        if entry.told is not None:
            entry.told(tokens)
        self.spent = self.spent.plus(
            Taken(tokens, entry.held.usd if priced.usd is None else priced.usd)
        )
        self._note()
        self._room.set()

    def _note(self) -> None:
        usd, limit = self.spent.usd + self.held.usd, self.limits.usd
        if limit is not None and usd > self._noted:
            self._noted = max(usd, min(usd + limit / _NOTED_STEPS, limit))
            self.note(self._noted)

    def _may_take(self, model: str, size: int, most: int | None) -> Taken:
        read = size // BYTES_PER_TOKEN
        said = self._largest.get(model) or UNSAID_OUTPUT if most is None else most
        if self.limits.usd is None:
            return Taken(read + said)
        usage = Usage(input_tokens=read, output_tokens=said)
        return Taken(read + said, self._pricing.usage(model, usage).usd or 0.0)

    def _fits(self, model: str, more: Taken) -> bool:
        """Whether a call need not wait: there is room for it, or there will never be any."""
        if not self.ended and self.calls >= self.limits.calls:
            self._end(
                f"The run has made the {self.limits.calls:,} model calls that "
                "policy.gateway.callsPerRun gives it"
            )
        if not self.ended:
            self._end(self._too_much(model, more, Taken()))
        return bool(self.ended) or not self._too_much(model, more, self.held)

    def _too_much(self, model: str, more: Taken, held: Taken) -> str:
        """Say which limit a call would pass after what was taken and others hold back; the empty
        string if none.
        """
        usd, tokens, told = self.limits.usd, self.limits.tokens, ""
        if usd is not None and self.spent.usd + held.usd + more.usd > usd:
            source = "this leaves" if self.limits.told else "policy.budget.usd gives"
            spent, given = show_usd(self.spent.usd), f"{show_usd(usd)} that {source}"
            told = f"{self.limits.told} " if self.limits.told else ""
            held_back, next_one = show_usd(held.usd), show_usd(more.usd)
        elif self.spent.tokens + held.tokens + more.tokens > tokens:
            spent = f"{self.spent.tokens:,}"
            given = f"{tokens:,} tokens that policy.gateway.tokensPerRun gives"
            held_back, next_one = f"{held.tokens:,}", f"{more.tokens:,}"
        else:
            return ""
        held_by = f" calls that are not over hold back {held_back} of it," if held.tokens else ""
        return (
            f"{told}The run has taken {spent} of the {given} it,{held_by} and the next call of "
            f"{model} may take {next_one}"
        )

    def _end(self, why: str) -> None:
        if why and not self.ended:
            self.ended = f"{why}, so no model is asked any more."
            self._room.set()
