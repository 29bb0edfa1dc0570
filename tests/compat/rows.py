"""Rows of the pages on compatibility: what a foreign document states, and what holds here.

A row is a decorator on the test that proves it, so no row is without its test, and
`docs/reference/compat/` is generated from what the tests carry (`tools/compat_page.py`).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import TypeVar

ROOT = Path(__file__).parent
TestFunction = TypeVar("TestFunction", bound=Callable[..., None])


@dataclass(frozen=True, slots=True)
class Row:
    """A statement of the document, and how it holds here: one of three ways.

    `differs` says what is otherwise and why; `refused` is the message, or its telling part, that
    the test finds in the output. Both empty: supported.
    """

    statement: str
    differs: str = ""
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """The rows of one test module, under the first line of its docstring."""

    title: str
    rows: tuple[Row, ...]


def states(
    statement: str, *, differs: str = "", refused: str = ""
) -> Callable[[TestFunction], TestFunction]:
    """Mark a test as the proof of a statement. A test may carry several."""
    if differs and refused:
        raise ValueError(f"a statement is either different or refused: {statement}")

    def marked(test: TestFunction) -> TestFunction:
        rows = (Row(statement, differs, refused), *rows_of(test))
        test.__dict__["rows"] = rows
        return test

    return marked


def rows_of(test: Callable[..., None]) -> tuple[Row, ...]:
    """Return the rows that a test carries, in the order of its decorators."""
    rows: tuple[Row, ...] = getattr(test, "rows", ())
    return rows


def sections(document: str) -> Iterator[Section]:
    """Yield what the tests in the folder of a document state, by file name and in file order."""
    for path in sorted((ROOT / document).glob("test_*.py")):
        module = importlib.import_module(f"tests.compat.{document}.{path.stem}")
        tests = [t for t in vars(module).values() if isinstance(t, FunctionType)]
        rows = tuple(row for test in tests for row in rows_of(test))
        yield Section((module.__doc__ or path.stem).partition("\n")[0].rstrip("."), rows)
