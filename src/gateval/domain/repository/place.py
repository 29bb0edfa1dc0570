"""Where something stands in the repository, and what is wrong there."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from gateval.domain.base import Value


class Place(Value):
    """A position in a tracked file. `file` is as `show_path` gives it; lines and columns from 1."""

    file: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Problem(Value):
    """One thing that is wrong in a manifest: a sentence, its place, and the path in the document.

    `path` reads like `spec.assertions[2].tool`; it is empty when the file as a whole is meant.
    """

    place: Place
    path: str = ""
    message: str

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        return f"{self.place}: {where}{self.message}"


def sort_problems(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return the problems ordered by file, line and column, without duplicates."""
    unique = dict.fromkeys(problems)
    return tuple(sorted(unique, key=lambda p: (p.place.file, p.place.line, p.place.column, p.path)))


def nearest(word: str, known: Iterable[str], *, likeness: float = 0.6) -> str:
    """Return ` Did you mean "x"?` for the known word most like `word`, or the empty string.

    `likeness` is the least ratio of difflib (0 to 1) that counts as like.
    """
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=likeness)
    return f' Did you mean "{close[0]}"?' if close else ""
