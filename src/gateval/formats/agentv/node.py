"""A value of a document and where it stands, so that whatever is found in it can be told there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue

from gateval.domain.repository.place import Place, Problem, nearest
from gateval.domain.text.quoting import quote
from gateval.formats.problems.sentences import expected_sentence
from gateval.formats.problems.validation import problem_at, validate
from gateval.formats.yaml.document import Document, DocumentPath

ALIKE = 0.8
"""How alike an unknown key and a known one are (0 to 1) where the known one was probably meant."""


class AgentvNode(BaseModel):
    """What stands in a file of AgentV. Keys that it does not know it passes over, and so do we."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)


_LONGEST_KEY = 40
_DIGIT = re.compile(r"\d")
_MOST = 10
"""Unknown keys of a mapping that are compared with the known ones, of which none has a digit."""


@lru_cache(maxsize=4096)
def _nearly(key: str, known: tuple[str, ...]) -> str:
    """Return the hint at the known key that was probably meant. Files have many keys alike."""
    near = [one for one in known if abs(len(one) - len(key)) <= len(key) // 2]
    return nearest(key, near, likeness=ALIKE) if len(key) <= _LONGEST_KEY else ""


Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class Node:
    """A value at a path of a document. `value` is what is meant: templates are filled in there."""

    document: Document
    path: DocumentPath
    value: JsonValue

    @property
    def place(self) -> Place:
        """Where the value begins."""
        return self.document.place(self.path)

    @property
    def key_place(self) -> Place:
        """Where its key stands."""
        return self.document.key_place(self.path)

    def at(self, step: str | int) -> Node:
        """Return the value at a key or index; None where there is none."""
        inner: JsonValue = None
        if isinstance(self.value, dict) and isinstance(step, str):
            inner = self.value.get(step)
        elif isinstance(self.value, list) and isinstance(step, int) and step < len(self.value):
            inner = self.value[step]
        return Node(self.document, (*self.path, step), inner)

    def first(self, keys: Iterable[str]) -> Node | None:
        """Return the value at the first of these keys that has one."""
        return next((one for key in keys if (one := self.at(key)).value is not None), None)

    def items(self) -> Iterator[Node]:
        """Yield the entries of a list; nothing for anything else."""
        if isinstance(self.value, list):
            yield from (self.at(index) for index in range(len(self.value)))

    def having(self, value: JsonValue) -> Node:
        """Return another value that stands at the same place."""
        return Node(self.document, self.path, value)

    def problem(self, message: str) -> Problem:
        """Return a problem with this value."""
        return problem_at(self.document, self.path, message)

    def wrong(self, *wanted: str) -> Problem:
        """Return that the value is of another sort than these."""
        return self.problem(expected_sentence(list(wanted), self.value))

    def read(self, model: type[Model]) -> tuple[Model | None, tuple[Problem, ...]]:
        """Return the value as `model`, and everything that is wrong with it."""
        return validate(model, self.value, self.document, self.path)

    def slips(self, known: tuple[str, ...]) -> Iterator[Problem]:
        """Yield a problem for each key that is nearly one of the known ones, and is none."""
        written = self.value if isinstance(self.value, dict) else {}
        unknown = [key for key in written if key not in known and not _DIGIT.search(key)]
        for key in unknown[:_MOST]:
            hint = _nearly(key, known)
            if hint:
                place = self.document.key_place((*self.path, key))
                wrong = self.at(key).problem(f"Unknown key {quote(key)}.{hint}")
                yield wrong.model_copy(update={"place": place})
