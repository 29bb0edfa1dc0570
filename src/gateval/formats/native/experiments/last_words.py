"""Of what one person says of one thing, the last word: people change their minds."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple


class Word(NamedTuple):
    """What somebody said: who (empty for nobody knows), of what, and when, as it was written."""

    who: str
    of: Hashable
    when: str


def last_words(words: Sequence[Word]) -> list[int]:
    """Return where the words stand that nobody took back by another one, in order.

    The later `when` (ISO 8601) counts; where one of two has none, what was written later. Two words
    of people who are not named are those of two.
    """
    latest: dict[Hashable, int] = {}
    for at, word in enumerate(words):
        who = word.who.strip().casefold()
        key = (who, word.of) if who else at
        before = latest.get(key)
        if before is None or not _is_earlier(word, words[before]):
            latest[key] = at
    return sorted(latest.values())


def _is_earlier(one: Word, other: Word) -> bool:
    first, second = _time(one.when), _time(other.when)
    return first is not None and second is not None and first < second


def _time(written: str) -> datetime | None:
    """Return a time, one without a zone as UTC; None for what is none."""
    try:
        found = datetime.fromisoformat(written.strip())
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
