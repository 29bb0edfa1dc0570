"""How long a judge may take and how much it may read and say."""

from __future__ import annotations

from pydantic import Field

from gateval.domain.base import Value


class JudgeLimits(Value):
    """Limits of one judgement.

    `seconds` bounds one model call; `transcript_characters` what of a candidate's texts the judge
    is shown (as it is shown, so escapes count); `answer_bytes` what of the judge's raw answer is
    read; `output_bytes` what is kept of it, `reasoning_bytes` of that summary and advice together;
    `violations` and `quote_characters` what is kept of those; `max_tokens` is asked of the
    provider.
    """

    seconds: float = Field(default=60, gt=0)
    transcript_characters: int = Field(default=120_000, ge=1_000)
    answer_bytes: int = Field(default=64 * 1024, ge=1_024)
    output_bytes: int = Field(default=8 * 1024, ge=256)
    reasoning_bytes: int = Field(default=4 * 1024, ge=64)
    violations: int = Field(default=10, ge=1)
    quote_characters: int = Field(default=500, ge=10)
    max_tokens: int = Field(default=4096, ge=64)
