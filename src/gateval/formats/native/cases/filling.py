"""Puts the values of a case into a template's document, at the places of its texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.formats.native.cases.written import NAMES, Template
from gateval.formats.templates.parts import Part, TemplateError, parsed
from gateval.formats.templates.render import Budget, fill_parts
from gateval.formats.yaml.document import DocumentPath

Tree: TypeAlias = "dict[str | int, Tree | int]"
"""The way to each text that is filled in, and there its number."""


class LackingValue(TemplateError):
    """A text cannot be filled in; `path` is where it stands in the document."""

    def __init__(self, message: str, path: DocumentPath) -> None:
        super().__init__(message)
        self.path = path


class Filling:
    """The texts of a template, each read once."""

    def __init__(self, template: Template) -> None:
        self._texts: list[tuple[DocumentPath, tuple[Part, ...]]] = [
            (path, parsed(text, NAMES)) for path, text in template.texts.items()
        ]
        self.tree = _tree([path for path, _ in self._texts])

    def values(self, given: JsonObject) -> list[JsonValue]:
        """Return what each text becomes with `case` and `vars`. Raises `LackingValue`."""
        budget = Budget(what="the fixture")
        filled: list[JsonValue] = []
        for path, parts in self._texts:
            try:
                filled.append(fill_parts(parts, NAMES, given, budget))
            except TemplateError as error:
                raise LackingValue(str(error), path) from None
        return filled


def replaced(data: JsonValue, tree: Tree | int, values: Sequence[JsonValue]) -> JsonValue:
    """Return `data` with the values in it; parts without any are shared, nothing is changed."""
    if isinstance(tree, int):
        return values[tree]
    if isinstance(data, list):
        items = list(data)
        for index, inner in tree.items():
            items[int(index)] = replaced(items[int(index)], inner, values)
        return items
    if isinstance(data, dict):
        keys = {str(key): replaced(data[str(key)], inner, values) for key, inner in tree.items()}
        return {**data, **keys}
    return data


def inside(tree: Tree | int | None, *steps: str | int) -> Tree | int | None:
    """Return the part of a tree below these steps; None where nothing is filled in."""
    for step in steps:
        if not isinstance(tree, dict):
            return None
        tree = tree.get(step)
    return tree


def _tree(paths: Sequence[DocumentPath]) -> Tree:
    root: Tree = {}
    for number, path in enumerate(paths):
        at = root
        for step in path[:-1]:
            deeper = at.setdefault(step, {})
            assert isinstance(deeper, dict)  # noqa: S101 - a text holds no other text
            at = deeper
        at[path[-1]] = number
    return root
