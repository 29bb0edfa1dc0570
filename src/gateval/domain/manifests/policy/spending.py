"""What a policy says of money and time: what an answer may take more, what a run may take."""

from __future__ import annotations

from pydantic import Field

from gateval.domain.base import Spec
from gateval.domain.manifests.policy.words import RiseEffect


class RisePolicy(Spec):
    """How much more answers may take on head than on base."""

    max_ratio: float | None = Field(
        default=None,
        ge=1,
        le=1000,
        description="The most that head may take, as a multiple of base, on the mean of the "
        "fixtures; the interval of that multiple has to lie above it to count. No limit if absent.",
    )
    over: RiseEffect = Field(
        default=RiseEffect.WARN, description="What it does to be over that: warn, or block."
    )


class ModelPrice(Spec):
    """What a model costs, where the list of prices lacks it or you pay another price."""

    input: float = Field(
        ge=0, le=1_000_000, allow_inf_nan=False, description="US dollars for a million tokens read."
    )
    output: float = Field(
        ge=0,
        le=1_000_000,
        allow_inf_nan=False,
        description="US dollars for a million tokens answered.",
    )

    def usd(self, input_tokens: int, output_tokens: int) -> float:
        """Return the price of so many tokens in US dollars."""
        return (self.input * input_tokens + self.output * output_tokens) / 1_000_000


class BudgetPolicy(Spec):
    """What one run may take. Every fixture runs; what is left out are repetitions."""

    repetitions: int | None = Field(
        default=None,
        ge=1,
        le=10_000_000,
        description="Trials of a run, both sides together. Evals that plan more repetitions than "
        "that leaves are cut, the most repeated first.",
    )
    tokens: int | None = Field(
        default=None,
        ge=1,
        description="Tokens after which nothing is run again; the judge's count, too.",
    )
    usd: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="US dollars at list prices that the calls of a run may take together, the "
        "judge's too. A call is made only if it fits in, with what its answer may have; with it "
        "used up the run ends.",
    )
    minutes: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="Minutes of waiting for agents, side by side as their Evals say, after which "
        "nothing is run again.",
    )

    @property
    def is_set(self) -> bool:
        """Whether there is any limit."""
        return any(one is not None for one in self.model_dump().values())

    @property
    def counts_costs(self) -> bool:
        """Whether it limits what only finished trials tell: tokens, money, time."""
        return any(one is not None for one in (self.tokens, self.usd, self.minutes))
