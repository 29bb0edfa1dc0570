"""After the readers nothing asks of which format, kind or scoring model an Eval is.

A reader compiles each Eval to one scoring model; what goes on from there goes by what that model
says, and never by its name. Tables of words for people may have a line for each kind.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import gateval
from gateval.domain.manifests.evaluation import EVAL_KINDS, MODELS
from gateval.formats import registry
from gateval.formats.registry import FORMATS, ManifestFormat

ROOT = Path(gateval.__file__).parent
NAMES = {*EVAL_KINDS, *MODELS, *(one.name for one in FORMATS)}
"""What kinds, scoring models and formats are called."""

ASKED = {"kind", "kinds", "format", "format_", "model", "name"}
"""The attributes and variables that hold such a name."""

MODEL = "ScoringModel"
FORMAT = {name for name, one in vars(registry).items() if isinstance(one, ManifestFormat)}
"""What the registry calls a format: `AGENTV`."""


def asked(node: ast.expr) -> str:
    """The last name of what is looked at: `kind` of `planned.kind`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def named(node: ast.AST) -> bool:
    """Whether it is one of these names, a collection with one in it, or a model or format itself."""
    if isinstance(node, ast.Set | ast.Tuple | ast.List):
        return any(map(named, node.elts))
    if isinstance(node, ast.Attribute):
        return asked(node.value) in FORMAT or (asked(node.value) == MODEL and node.attr.isupper())
    if isinstance(node, ast.Name):
        return node.id in FORMAT
    return isinstance(node, ast.Constant) and node.value in NAMES


def branches(tree: ast.AST) -> Iterator[int]:
    """The lines on which something is done for one format, kind or model alone."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(map(named, sides)) and any(asked(one) in ASKED for one in sides):
                yield node.lineno
        elif isinstance(node, ast.Match) and asked(node.subject) in ASKED:
            yield from (
                one.lineno
                for case in node.cases
                for one in ast.walk(case.pattern)
                if isinstance(one, ast.MatchValue) and named(one.value)
            )
        elif isinstance(node, ast.Call):
            called = node.func
            one_of = isinstance(called, ast.Attribute) and named(called.value)
            kind = asked(called) == "isinstance" and asked(node.args[-1]) == MODEL
            if one_of or kind:
                yield node.lineno


def test_nothing_outside_the_formats_branches_on_one() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted(ROOT.rglob("*.py"))
        if path.relative_to(ROOT).parts[0] != "formats"
        for line in branches(ast.parse(path.read_text("utf-8")))
    ]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        'x = 1 if planned.kind == "Benchmark" else 2',
        'x = kind in ("Eval", "Benchmark")',
        'x = "weighted" != scoring.model.name',
        "x = scoring.model is ScoringModel.WEIGHTED",
        "x = any(one.format == AGENTV.name for one in pending)",
        'x = format_ != "agentv"',
        "x = ScoringModel.BENCHMARK.called(1)",
        "x = isinstance(one, ScoringModel)",
        'match one.format:\n    case "agentv" | "native":\n        x = 1',
    ],
)
def test_a_branch_is_seen(line: str) -> None:
    assert list(branches(ast.parse(line)))


def test_a_table_of_words_is_none() -> None:
    words = 'WORDS = {"Eval": "fixture", "Benchmark": "task"}\nx = WORDS[planned.kind]'
    assert not list(branches(ast.parse(words)))
