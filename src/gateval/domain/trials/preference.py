"""What a judge said of two answers to the same input: one of base, one of head."""

from __future__ import annotations

from enum import StrEnum

from gateval.domain.base import Value


class Choice(StrEnum):
    """Which of two answers a judge prefers, by the place where it was shown."""

    FIRST = "first"
    SECOND = "second"
    TIE = "tie"


class Preference(Value):
    """What a judge said of base's answer and head's, each of which it was shown first once.

    The two are one observation. Answers that are alike letter by letter are a tie without being
    shown, `alike`.
    """

    base_first: Choice
    head_first: Choice
    alike: bool = False

    @property
    def won(self) -> int:
        """1 where head is preferred, -1 where base is; 0 for a tie, as where orders disagree."""
        said = (self.base_first, self.head_first)
        return int(said == (Choice.SECOND, Choice.FIRST)) - int(
            said == (Choice.FIRST, Choice.SECOND)
        )

    @property
    def place(self) -> int:
        """1 where the first answer is preferred whichever it is, -1 where the second is; else 0."""
        if self.base_first is not self.head_first:
            return 0
        return int(self.base_first is Choice.FIRST) - int(self.base_first is Choice.SECOND)
