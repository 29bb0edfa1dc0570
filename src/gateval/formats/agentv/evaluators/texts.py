"""Evaluators of the final message's text."""

from __future__ import annotations

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.formats.agentv.evaluators.entry import Becomes, Entry, Reading

_FLAGS = frozenset("ims")


def one(type_: str, *, ignore_case: bool = False) -> Reading:
    """Return how an evaluator is read that looks for one text."""

    def read(entry: Entry) -> Becomes | None:
        if entry.value("value") is None:
            entry.tell(entry.node, "This evaluator needs `value`: what it looks for.")
            return None
        options: JsonObject = {"value": entry.value("value")}
        return Becomes(type_, _with_case(options, ignore_case=ignore_case), {"value": "value"})

    return read


def several(type_: str, *, ignore_case: bool = False) -> Reading:
    """Return how an evaluator is read that looks for all of several texts, or any."""

    def read(entry: Entry) -> Becomes | None:
        values = entry.node.at("value")
        if not isinstance(values.value, list) or not values.value:
            entry.context.found.problems.append(values.wrong("a list of texts"))
            return None
        parts = [
            Becomes("contains", _with_case({"value": text}, ignore_case=ignore_case), {})
            for text in values.value
        ]
        return Becomes(type_, made=parts)

    return read


def regex(entry: Entry) -> Becomes | None:
    """Read a pattern, with JavaScript's flags as far as RE2 has them."""
    flags = entry.value("flags") or ""
    value = entry.node.first(("value", "pattern"))
    if not isinstance(flags, str) or not set(flags.replace("g", "").replace("u", "")) <= _FLAGS:
        entry.tell(entry.node.at("flags"), "The flags of a pattern are i, m and s.")
        return None
    kept = "".join(sorted(set(flags) & _FLAGS))
    pattern: JsonValue = value.value if value else None
    if isinstance(pattern, str) and kept:
        pattern = f"(?{kept}){pattern}"
    options: JsonObject = {"pattern": pattern, "trim": True}
    return Becomes("regex", options, {"pattern": "value"})


def is_json(entry: Entry) -> Becomes:
    """Read that the message is JSON."""
    del entry
    return Becomes("isJson")


def _with_case(options: JsonObject, *, ignore_case: bool) -> JsonObject:
    return {**options, "ignoreCase": True} if ignore_case else options
