"""What is found on the way through the files of AgentV."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from gateval.domain.manifests.catalogue import Broken
from gateval.domain.repository.place import Problem


@dataclass
class Findings:
    """What is wrong, and which files were read.

    `own` say what is asked, so no candidate gets them; `shown` are told to candidates, too.
    `told` are files of which it is said that nothing names them, `passed_over` those that look like
    some of AgentV and are not read. `filled` counts the characters that were filled into texts.
    `wrong` and `read` have, by the file of a suite, what of `problems` is wrong with it alone, and
    which files it was read from.
    """

    problems: list[Problem] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)
    own: set[str] = field(default_factory=set)
    shown: set[str] = field(default_factory=set)
    filled: int = 0
    told: set[str] = field(default_factory=set)
    passed_over: list[Problem] = field(default_factory=list)
    wrong: dict[str, list[Problem]] = field(default_factory=dict)
    read: dict[str, set[str]] = field(default_factory=dict)

    @contextmanager
    def of(self, path: str) -> Iterator[None]:
        """Put what is found meanwhile down to the suite in this file."""
        before, own, shown = len(self.problems), self.own, self.shown
        self.own, self.shown = set(), set()
        try:
            yield
        finally:
            self.blame(path, *self.problems[before:])
            self.read[path] |= self.own | self.shown
            self.own, self.shown = own | self.own, shown | self.shown

    def tell(self, path: str, *problems: Problem) -> None:
        """Tell what is wrong with the suite in this file."""
        self.problems += problems
        self.blame(path, *problems)

    def blame(self, path: str, *problems: Problem) -> None:
        """Put down what is told to the suite in this file."""
        self.wrong.setdefault(path, []).extend(problems)
        self.read.setdefault(path, {path})
