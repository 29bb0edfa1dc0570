"""What manifests of each kind and their cases are called, in the words of their documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple


class KindLabels(NamedTuple):
    """What a manifest of a kind is called, one of its cases, and what of one falls."""

    manifest: str
    case: str
    falls: str

    @property
    def cases(self) -> str:
        """The cases, as a heading."""
        return f"{self.case.capitalize()}s"


_WORDS: Final[Mapping[str, KindLabels]] = {
    "Eval": KindLabels("Eval", "fixture", "pass rate"),
    "Benchmark": KindLabels("Benchmark", "task", "score"),
    "Experiment": KindLabels("Experiment", "row", "score"),
}


def words_of(kinds: Iterable[str]) -> KindLabels:
    """Return the words for these kinds together: their own if they are one, else those of Evals."""
    found = set(kinds)
    return _WORDS.get(found.pop() if len(found) == 1 else "", _WORDS["Eval"])


def count(number: int, noun: str) -> str:
    """Return `1 trial` or `2 trials`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
