"""`cost`: the candidate kept within a number of tokens, or of dollars."""

from __future__ import annotations

from typing import ClassVar, Self

from pydantic import Field, model_validator

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import Basis, Evidence, NotMeasured
from gateval.domain.text.figures import show_usd
from gateval.domain.trials.trial import Assessment, Cause


class Cost(Assertion):
    """The candidate's model calls took at most this many tokens, input and output together, and
    cost at most so many US dollars.

    What the gate counted itself is believed before what the candidate reports. If nobody counted,
    it is an error, not zero; so is a model without a known price. Money is the provider's list
    price of the calls that the gate saw; where it saw none, what a command line of AgentV reports.
    The judge's tokens do not count.
    """

    type: ClassVar[str] = "cost"
    basis: ClassVar[Basis] = Basis.USAGE

    max_tokens: int | None = Field(
        default=None, ge=0, description="The greatest number of tokens that passes."
    )
    max_usd: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        alias="maxUSD",
        description="The most US dollars that pass, at list prices.",
    )

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if self.max_tokens is None and self.max_usd is None:
            raise ValueError("Write `maxTokens`, `maxUSD` or both.")
        return self

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the trial as a whole.

        A limit that is passed fails, whatever cannot be said of the other one.
        """
        found = [self._tokens(evidence)] if self.max_tokens is not None else []
        if not found or found[0][0]:
            found += [self._money(evidence)] if self.max_usd is not None else []
        met = all(within for within, _, _ in found)
        told = [one for one in found if one[0] is met]
        return self.result(
            met=met,
            expected=" and ".join(expected for _, expected, _ in told),
            saw=" and ".join(saw for _, _, saw in told),
        )

    def _tokens(self, evidence: Evidence) -> tuple[bool, str, str]:
        most, (total, is_counted) = self.max_tokens or 0, evidence.tokens
        if total is None:
            raise NotMeasured(
                Cause.GATE,
                "the tokens of this trial are unknown; let the candidate call models through the "
                "gateway or print `usage`",
            )
        saw = f"{total:,}{'' if is_counted else ' as the candidate reports'}"
        return total <= most, f"at most {most:,} tokens", saw

    def _money(self, evidence: Evidence) -> tuple[bool, str, str]:
        most, (spent, unpriced) = self.max_usd or 0.0, evidence.money
        if spent is None:
            why = "the money that this trial cost is unknown; let the candidate call models "
            why += "through the gateway"
            if unpriced:
                why = f"nobody knows a price of {', '.join(unpriced)}; limit it by `maxTokens`"
            raise NotMeasured(Cause.GATE, why)
        who = " as the candidate reports" if evidence.is_money_claimed else ""
        return spent <= most, f"at most ${most:g}", f"{show_usd(spent, most)}{who}"
