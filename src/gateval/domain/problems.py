"""What is wrong in manifests, and where: each problem is a sentence with its place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pydantic import ConfigDict

from gateval.domain.base import Value
from gateval.errors import EXIT_USAGE, GatevalError


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A position in a tracked file. `file` is as `show_path` gives it; lines and columns from 1."""

    # no `Value`: there are more of them than of anything else, and each would take five times this

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    file: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Places(Mapping[str, SourceLocation]):
    """Places in one file by written path, kept as numbers: few of them are ever looked at.

    `packed` holds line and column as `pack` puts them together, both counted from 0.
    """

    __slots__ = ("_file", "_packed")

    def __init__(self, file: str, packed: dict[str, int]) -> None:
        self._file = file
        self._packed = packed

    @staticmethod
    def pack(line: int, column: int) -> int:
        """Put a line and a column together, both counted from 0."""
        return line << _COLUMN_BITS | column

    def __getitem__(self, path: str) -> SourceLocation:
        packed = self._packed[path]
        line, column = packed >> _COLUMN_BITS, packed & _MOST_COLUMNS
        return SourceLocation(self._file, line + 1, column + 1)

    def __contains__(self, path: object) -> bool:
        return path in self._packed

    def __iter__(self) -> Iterator[str]:
        return iter(self._packed)

    def __len__(self) -> int:
        return len(self._packed)

    def __or__(self, other: Places) -> Places:
        """Return the places of both, which are of the same file."""
        return Places(self._file, self._packed | other._packed)


_COLUMN_BITS = 32
_MOST_COLUMNS = (1 << _COLUMN_BITS) - 1


class Problem(Value):
    """One thing that is wrong in a manifest: a sentence, its place, and the path in the document.

    `path` reads like `spec.assertions[2].tool`; it is empty when the file as a whole is meant.
    """

    place: SourceLocation
    path: str = ""
    message: str

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        return f"{self.place}: {where}{self.message}"


def sort_problems(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return the problems ordered by file, line and column, without duplicates."""
    unique = dict.fromkeys(problems)
    return tuple(sorted(unique, key=lambda p: (p.place.file, p.place.line, p.place.column, p.path)))


class InvalidManifests(GatevalError):
    """One or more manifests break the rules; `problems` lists them all, ordered by place."""

    exit_code = EXIT_USAGE

    def __init__(self, problems: Sequence[Problem], *, hint: str = "") -> None:
        count = len(problems)
        noun = "problem" if count == 1 else "problems"
        super().__init__(f"{count} {noun} in the manifests.", hint=hint)
        self.problems = tuple(problems)
