"""What model calls cost, as the gateway asks for it."""

from __future__ import annotations

from typing import Protocol

from gateval.domain.trials.model_call import Usage


class Prices(Protocol):
    """The list prices of providers."""

    def load(self) -> None:
        """Load the list, so that the first price is as quick as all others."""

    def price(
        self, model: str, usage: Usage, *, answered: str = "", tier: str = ""
    ) -> float | None:
        """Return what a call costs in US dollars; None where the list lacks the model.

        `model` is `provider/model-id` as it was asked, `answered` the id that the provider says
        answered, `tier` its class of service. Tokens that nobody counted have no price.
        """
