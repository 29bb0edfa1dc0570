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
from gateval.formats.agentv.node import Node
from gateval.formats.agentv.surroundings import Findings

VARIABLE = re.compile(r"\$\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
_TEMPLATE = re.compile(r"(?<!\$)\{\{\s*([A-Za-z_][A-Za-z0-9_.]*)\s*\}\}")
FILLED_LIMIT = 128 * 1024 * 1024
"""Characters of all values and files that are filled in, in the suites of a revision."""

_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?")


def lacking(name: str) -> str:
    """Return what to do about a variable that is not there."""
    return (
        f"The variable {name} is not filled in: name it in policy.candidateEnv of "
        ".github/gateval.yml, and set it in the environment of the gate."
    )


def with_variables(node: Node, variables: Mapping[str, str], found: Findings) -> Node:
    """Return the value with all `${{ NAME }}` filled in; what cannot be is told.

    A text that is nothing but one variable becomes a number or truth value if it reads like one.
    """

    def fill(one: Node, text: str) -> JsonValue:
        for name in VARIABLE.findall(text):
            if name not in variables:
                found.problems.append(one.problem(lacking(name)))
                return text
        whole = VARIABLE.fullmatch(text.strip())
        if whole:
            return _plain(variables[whole[1]])
        return _replaced(one, text, VARIABLE, lambda name, _: variables[name], found)

    return _each(node, fill) if "${{" in json.dumps(node.value) else node


def with_vars(node: Node, values: JsonObject, found: Findings) -> Node:
    """Return the value with each `{{ name }}` that `values` has filled in; others stay."""
    if not values or "{{" not in json.dumps(node.value):
        return node

    def fill(one: Node, text: str) -> JsonValue:
        whole = _TEMPLATE.fullmatch(text.strip())
        if whole and not isinstance(value := _found(values, whole[1]), str | None):
            return value
        return _replaced(
            one, text, _TEMPLATE, lambda name, hole: _shown(_found(values, name), hole), found
        )

    return _each(node, fill)


def _replaced(
    one: Node,
    text: str,
    holes: re.Pattern[str],
    value: Callable[[str, str], str],
    found: Findings,
) -> str:
    """Return a text with its holes filled, as long as all such texts stay within the limit."""
    parts: list[str] = []
    end = 0
    for hole in holes.finditer(text):
        parts += (text[end : hole.start()], value(hole[1], hole[0]))
        end = hole.end()
        if not counted(one, len(parts[-1]), found):
            return text
    return "".join((*parts, text[end:]))


def counted(node: Node, characters: int, found: Findings) -> bool:
    """Count what is put in the place of something short; whether it stays within the limit."""
    found.filled += characters
    if found.filled <= FILLED_LIMIT:
        return True
    said = f"All that is filled in has more than {FILLED_LIMIT:,} characters. Write less."
    found.problems.append(node.problem(said))
    return False


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
