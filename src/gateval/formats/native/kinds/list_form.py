"""How a command line that was written as one text is written as a list."""

from __future__ import annotations

import json
import re
import shlex

from gateval.domain.base import JsonObject
from gateval.domain.repository.place import Problem

_PLAIN = re.compile(r"[A-Za-z./][A-Za-z0-9_./+-]*")


def with_list_form(problem: Problem, raw: JsonObject) -> Problem:
    """Add how a command line that stands there as one text is written as a list."""
    for key in ("command", "setup", "before", "after"):
        line = raw.get(key)
        if isinstance(line, str) and problem.path == f"spec.runtime.{key}":
            words = ", ".join(map(_word, _split(line)))
            return problem.model_copy(
                update={"message": f"{problem.message} Write [{words}]; no shell reads it."}
            )
    return problem


def _word(text: str) -> str:
    """Return a word as it stands in a YAML list."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # a quotation mark without its partner
        return line.split()
