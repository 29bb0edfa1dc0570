"""The page of the reasons of a decision, made from what their enum says."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from itertools import pairwise

from gateval.domain import verdicts

_INTRODUCTION = """\
# Reasons

The field `code` of a reason in `decision.v1.json`, worst first. The [glossary](../glossary.md)
explains the words.

| code | meaning |
|---|---|
"""


def page() -> str:
    """Return `docs/reference/reasons.md`."""
    return _INTRODUCTION + "".join(f"| `{code}` | {said} |\n" for code, said in _told())


def _told() -> Iterator[tuple[str, str]]:
    """Yield each code with the text that stands below it in the source."""
    tree = ast.parse(inspect.getsource(verdicts.ReasonCode))
    (found,) = [one for one in tree.body if isinstance(one, ast.ClassDef)]
    for name, text in pairwise(found.body):
        if isinstance(name, ast.Assign) and isinstance(text, ast.Expr):
            yield (
                ast.literal_eval(name.value),
                inspect.cleandoc(ast.literal_eval(text.value)).replace("\n", " "),
            )
