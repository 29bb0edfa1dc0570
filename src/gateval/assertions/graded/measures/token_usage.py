"""`tokenUsage`: the candidate kept within numbers of tokens."""

from __future__ import annotations

from typing import ClassVar, Self

from pydantic import Field, model_validator

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import Basis, Evidence, NotMeasured
from gateval.domain.trials.trial import Assessment, Cause


class TokenUsage(Assertion):
    """The candidate's model calls kept within every limit that is given.

    Tokens are counted as for `cost`. A count that nobody made is an error, not zero.
    """

    type: ClassVar[str] = "tokenUsage"
    basis: ClassVar[Basis] = Basis.USAGE

    max_total: int | None = Field(default=None, ge=0, description="Input and output together.")
    max_input: int | None = Field(default=None, ge=0, description="Tokens that were read.")
    max_output: int | None = Field(default=None, ge=0, description="Tokens that were written.")

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        if self.max_total is None and self.max_input is None and self.max_output is None:
            raise ValueError("it limits nothing: give `maxTotal`, `maxInput` or `maxOutput`")
        return self

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the trial as a whole."""
        usage = evidence.usage
        asked = [
            (what, count, limit)
            for what, count, limit in (
                ("tokens", usage.total, self.max_total),
                ("input tokens", usage.input_tokens, self.max_input),
                ("output tokens", usage.output_tokens, self.max_output),
            )
            if limit is not None
        ]
        unknown = [what for what, count, _ in asked if count is None]
        if unknown:
            raise NotMeasured(
                Cause.GATE,
                f"the {' and '.join(unknown)} of this trial are unknown; let the candidate call "
                "models through the gateway or print `usage`",
            )
        return self.result(
            met=all(count is not None and count <= limit for _, count, limit in asked),
            expected=" and ".join(f"at most {limit:,} {what}" for what, _, limit in asked),
            saw=" and ".join(f"{count:,} {what}" for what, count, _ in asked),
        )
