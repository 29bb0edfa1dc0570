"""The conversations of one trial, and how much of a request is known from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from gateval.gateway.marks import Marks


class Match(NamedTuple):
    """How a history relates to what is known.

    `shared` first messages are those of a known conversation, of all of it if `continues`.
    `new` are the positions of the messages that are not known at all, in order.
    """

    shared: int
    continues: bool
    new: tuple[int, ...]


class Conversations:
    """Remembers histories by the marks of their messages."""

    def __init__(self) -> None:
        self._histories: list[list[Marks]] = []
        self._counts: Counter[str] = Counter()

    def match(self, history: Sequence[Marks]) -> Match:
        """Return what is known of `history`.

        Where it continues a conversation, all that follows is new, though it may repeat earlier
        words. Where it does not, a message is new if no conversation holds it that often.
        """
        shared, continued = self._longest(history)
        if continued is not None:
            return Match(shared, continues=True, new=tuple(range(shared, len(history))))
        seen: Counter[str] = Counter()
        new = []
        for index, marks in enumerate(history):
            seen.update(marks)
            if index >= shared and all(seen[mark] > self._counts[mark] for mark in marks):
                new.append(index)
        return Match(shared, continues=False, new=tuple(new))

    def remember(self, history: Sequence[Marks]) -> None:
        """Keep a history; it takes the place of the conversation that it continues, if any."""
        if not history:
            return
        _, continued = self._longest(history)
        if continued is not None:
            self._histories.remove(continued)
        self._histories.append(list(history))
        for mark, count in Counter(mark for marks in history for mark in marks).items():
            self._counts[mark] = max(self._counts[mark], count)

    def _longest(self, history: Sequence[Marks]) -> tuple[int, list[Marks] | None]:
        """Return how many first messages are shared at most, and the conversation continued."""
        best: tuple[int, list[Marks] | None] = (0, None)
        for known in self._histories:
            shared = _shared(known, history)
            whole = shared == len(known)
            if shared > best[0] or (whole and shared == best[0]):
                best = (shared, known if whole else None)
        return best


def _shared(known: Sequence[Marks], history: Sequence[Marks]) -> int:
    pairs = zip(known, history, strict=False)
    differing = (index for index, (one, other) in enumerate(pairs) if one.isdisjoint(other))
    return next(differing, min(len(known), len(history)))
