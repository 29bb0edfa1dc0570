"""The score from which a graded assertion counts as passed by itself."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

MinScore = Annotated[
    float, Field(ge=0, le=1, description="The lowest score that passes, from 0 to 1.")
]

PASS_SCORE = 0.8
