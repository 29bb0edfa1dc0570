"""What a policy says of money and time: how much more an answer may take than before."""

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
