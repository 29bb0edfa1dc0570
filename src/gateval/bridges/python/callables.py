"""Plain functions and objects that can be called: sync, async, generators; text or messages in,
text or an object out.

What a function takes is told by its parameters' names; the first that has none of those is told the
question as text.
"""

from __future__ import annotations

import inspect
from typing import Any

PAYLOADS = frozenset({"payload", "data", "body", "event", "inputs", "input_data", "kwargs"})
LISTS = ("list", "List", "Sequence", "Iterable")


class Bridge:
    """Calls the function anew for each question; what it remembers is its own."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def ask(self, question: Any) -> Any:
        """Return what the function gives; the parts of a generator that yields texts are joined. It
        is called while no event loop runs, so that it may run one of its own.
        """
        given = self._called(question)
        if inspect.isawaitable(given) or hasattr(given, "__aiter__"):
            return _waited(given)
        return _whole(list(given)) if hasattr(given, "__next__") else given

    def _called(self, question: Any) -> Any:
        try:
            parameters = list(inspect.signature(self._target).parameters.values())
        except (TypeError, ValueError):
            return self._target(question.asked)
        places = [one for one in parameters if one.kind is not one.VAR_KEYWORD]
        needed = [
            one for one in places if one.default is one.empty and one.kind is not one.VAR_POSITIONAL
        ]
        taken = needed or places[:1]
        if len(taken) == 1:
            return self._with(taken[0], _value(taken[0], question))
        values = question.filled([one.name for one in taken], "the function")
        first = [values[one.name] for one in taken if one.kind is one.POSITIONAL_ONLY]
        rest = {one.name: values[one.name] for one in taken if one.kind is not one.POSITIONAL_ONLY}
        return self._target(*first, **rest)

    def _with(self, one: inspect.Parameter, value: Any) -> Any:
        if one.kind is one.KEYWORD_ONLY:
            return self._target(**{one.name: value})
        return self._target(value)


def _value(one: inspect.Parameter, question: Any) -> Any:
    """Return what a function is told that takes one thing."""
    name, written = one.name.lower(), _annotation(one)
    if name in {"messages", "conversation", "history", "chat_history"} or written.startswith(LISTS):
        return question.messages
    if name in PAYLOADS or written.startswith(("dict", "Dict", "Mapping")):
        return question.payload
    return question.asked


def _annotation(one: inspect.Parameter) -> str:
    written = one.annotation
    if written is one.empty:
        return ""
    text = written if isinstance(written, str) else getattr(written, "__name__", str(written))
    return str(text).rpartition("typing.")[2]


async def _waited(given: Any) -> Any:
    if inspect.isawaitable(given):
        given = await given
    if hasattr(given, "__aiter__"):
        return _whole([part async for part in given])
    return given


def _whole(parts: list[Any]) -> Any:
    """Return what was yielded as one answer: texts joined, of anything else the last."""
    if all(isinstance(part, str) for part in parts):
        return "".join(parts)
    return parts[-1] if parts else None
