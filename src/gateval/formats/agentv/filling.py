"""Texts with holes: `${{ NAME }}` of the environment, and `{{ name }}` of a case's `vars`.

Only variables that `policy.candidateEnv` names are filled in: everything else in the environment of
the gate is none of a pull request's business.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.repository.place import Problem
from gateval.formats.agentv.node import Node

VARIABLE = re.compile(r"\$\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
_TEMPLATE = re.compile(r"(?<!\$)\{\{\s*([A-Za-z_][A-Za-z0-9_.]*)\s*\}\}")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?")


def lacking(name: str, *, named: bool) -> str:
    """Return what to do about a variable that is not there."""
    if named:
        return (
            f"The variable {name} is not set in the environment of the gate, and a missing one is "
            "not taken for an empty text."
        )
    return (
        f"The variable {name} is not filled in: name it in policy.candidateEnv of "
        ".github/gateval.yml, and set it in the environment of the gate."
    )


def with_variables(node: Node, variables: Mapping[str, str], problems: list[Problem]) -> Node:
    """Return the value with all `${{ NAME }}` filled in; what cannot be is added to `problems`.

    A text that is nothing but one variable becomes a number or truth value if it reads like one.
    """

    def fill(one: Node, text: str) -> JsonValue:
        for name in VARIABLE.findall(text):
            if name not in variables:
                problems.append(one.problem(lacking(name, named=False)))
                return text
        whole = VARIABLE.fullmatch(text.strip())
        if whole:
            return _plain(variables[whole[1]])
        return VARIABLE.sub(lambda found: variables[found[1]], text)

    return _each(node, fill) if "${{" in json.dumps(node.value) else node


def with_vars(node: Node, values: JsonObject) -> Node:
    """Return the value with each `{{ name }}` that `values` has filled in; others stay."""
    if not values or "{{" not in json.dumps(node.value):
        return node

    def fill(_one: Node, text: str) -> JsonValue:
        whole = _TEMPLATE.fullmatch(text.strip())
        if whole and (found := _found(values, whole[1])) is not None:
            return found
        return _TEMPLATE.sub(lambda match: _shown(_found(values, match[1]), match[0]), text)

    return _each(node, fill)


def _each(node: Node, fill: Callable[[Node, str], JsonValue]) -> Node:
    """Return the value with every text in it replaced."""
    value = node.value
    if isinstance(value, str):
        return node.having(fill(node, value))
    if isinstance(value, dict):
        return node.having({key: _each(node.at(key), fill).value for key in value})
    if isinstance(value, list):
        return node.having([_each(one, fill).value for one in node.items()])
    return node


def _plain(text: str) -> JsonValue:
    if text in {"true", "false"}:
        return text == "true"
    if _NUMBER.fullmatch(text):
        number: JsonValue = json.loads(text)
        return number
    return text


def _found(values: JsonObject, dotted: str) -> JsonValue:
    found: JsonValue = values
    for step in dotted.split("."):
        found = found.get(step) if isinstance(found, dict) else None
    return found


def _shown(value: JsonValue, otherwise: str) -> str:
    if value is None:
        return otherwise
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
