"""What people said of answers to the rows of an experiment."""

from __future__ import annotations

import hashlib

from pydantic import Field

from gateval.domain.base import Name, Value
from gateval.domain.text.bounded import ShortText

PEOPLE = "people"
"""What the column is called that holds what people said."""


class Feedback(Value):
    """One person's word on the answer to a row: a score in [0, 1], by whom and when, as written.

    `answer` is the SHA-256 of the answer it is about, empty where that is not said.
    """

    fixture: Name
    score: float = Field(ge=0, le=1)
    answer: str = Field(default="", pattern=r"^([0-9a-f]{64})?$")
    note: ShortText = ""
    who: ShortText = ""
    when: ShortText = ""

    def is_about(self, output: str) -> bool:
        """Whether it is about this answer, or says not about which."""
        return self.answer in {"", answer_digest(output)}


def answer_digest(output: str) -> str:
    """Return what an answer is known by; white space around it does not matter."""
    return hashlib.sha256(output.strip().encode("utf-8", "replace")).hexdigest()
