"""Puts a price on what a model answered: each call by itself, because prices have steps by size."""

from __future__ import annotations

from collections.abc import Mapping

from gateval.domain.manifests.policy.spending import ModelPrice
from gateval.domain.manifests.scripted import SCRIPTED_PROVIDER
from gateval.domain.trials.model_call import ModelReply, Usage
from gateval.domain.trials.trace import USD_DIGITS
from gateval.ports.prices import Prices


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
        return reply if usage is reply.usage else reply.model_copy(update={"usage": usage})

    def usage(self, model: str, usage: Usage, *, answered: str = "", tier: str = "") -> Usage:
        """Return the usage with its price; what has one, or no tokens, stays as it is.

        Rules in the repository bill nothing. A model that the list lacks is named.
        """
        if usage.usd is not None or usage.input_tokens is None or usage.output_tokens is None:
            return usage
        if model.startswith(f"{SCRIPTED_PROVIDER}/"):
            return usage.model_copy(update={"usd": 0.0})
        if own := self._own.get(model):
            usd = round(own.usd(usage.input_tokens, usage.output_tokens), USD_DIGITS)
            return usage.model_copy(update={"usd": usd})
        if self._prices is None:
            return usage
        found = self._prices.price(model, usage, answered=answered, tier=tier)
        return usage.model_copy(update={"unpriced": (model,)} if found is None else {"usd": found})

    def knows(self, model: str) -> bool:
        """Whether there is a price of `model`."""
        return self.usage(model, Usage(input_tokens=1, output_tokens=1)).usd is not None
