"""The first line of an error, and of a decision, says it in words that everybody has."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import gateval
from gateval import errors
from gateval.render.report import headline
from gateval.render.report.wording import GAP_TITLES

OURS = re.compile(r"\b(candidates?|trials?|bars?|closures?|suspects?)\b", re.IGNORECASE)
"""Words of `docs/architecture.md` that mean something here that they mean nowhere else."""

RAISED = {name for name, _ in inspect.getmembers(errors, inspect.isclass)} | {
    "Problem", "NotStarted", "BadParameter", "ClickException", "fail", "told", "no_start", "failure",
}  # fmt: skip
"""What makes a first line: errors for a person, and lines on manifests."""

SPOKEN = re.compile(rf"\b({'|'.join(RAISED)})\s*\(")

FOLDER = Path(gateval.__file__).parent


def words_in(node: ast.expr) -> str:
    """The text that an expression writes out; what it inserts is left out."""
    return " ".join(
        one.value
        for one in ast.walk(node)
        if isinstance(one, ast.Constant) and isinstance(one.value, str)
    )


def first_lines(source: str) -> Iterator[tuple[int, str]]:
    """The first lines that a module can write, with the lines of code where they stand."""
    if not SPOKEN.search(source):
        return
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if name in RAISED:
            said = [one.value for one in node.keywords if one.arg == "message"]
            yield from ((one.lineno, words_in(one)) for one in [*node.args[:1], *said])


def test_the_scan_finds_what_it_looks_for() -> None:
    code = 'raise UsageError(f"The {one} of " "a candidate.", hint="A trial.")\nfail("No bar.")'
    found = [OURS.findall(text) for _, text in first_lines(code)]
    assert found == [["candidate"], ["bar"]]


def test_no_error_begins_with_a_word_of_ours() -> None:
    lines = 0
    for path in sorted(FOLDER.rglob("*.py")):
        for number, text in first_lines(path.read_text("utf-8")):
            lines += 1
            assert not OURS.search(text), f"{path.relative_to(FOLDER)}:{number}: {text}"
    assert lines > 250


def test_no_verdict_begins_with_a_word_of_ours() -> None:
    tree = ast.parse(inspect.getsource(headline))
    docs = {ast.get_docstring(node, clean=False) for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.Module)}  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert node.value in docs or not OURS.search(node.value), node.value


def test_no_reason_why_nothing_was_measured_begins_with_a_word_of_ours() -> None:
    for title in GAP_TITLES.values():
        assert not OURS.search(title), title
