"""Tools that the gate answers for in one trial: each call counted once, however it arrives.

A model asks for a tool in its reply; the program then calls the gate's MCP server. That is one
call: one step, named as the tool is and with the arguments that reached it. What nobody asked for,
or what came before the wish could be read, is a step of its own until a wish claims it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from gateval.domain.base import JsonObject, canonical_json
from gateval.domain.trials.model_call import ToolCall
from gateval.domain.trials.trace import Replay, StepKind, ToolAnswer, TraceBuilder

_SEPARATORS = ("__", "_", "-", ".", "/", ":")
"""What stands between the name that a client gave its server, and the tool's."""


@dataclass
class _Wish:
    number: int
    name: str
    arguments: JsonObject
    call_id: str


@dataclass
class _Early:
    name: str
    arguments: JsonObject
    text: str
    streaming: bool


class ServedTools:
    """Adds the steps of calls that arrived, and says which wishes were such calls already."""

    def __init__(self, builder: TraceBuilder) -> None:
        self._builder = builder
        self._wishes: list[_Wish] = []
        self._early: list[_Early] = []
        self._results: dict[str, str] = {}
        self._arrived = 0

    def wished(self, number: int, call: ToolCall) -> None:
        """A model asked for a call, which is step `number`; 0 for one that is too many."""
        if number:
            self._wishes.append(_Wish(number, call.name, call.arguments, call.id))

    def claims(self, call: ToolCall, *, said: bool) -> bool:
        """Whether this is a call that arrived before, and has its steps.

        `said` tells that a reply holds it, which can be read only after calls that it began.
        """
        for early in self._early:
            known = {early.name}
            if (
                (early.streaming or not said)
                and _is_same(call.name, early.name, known)
                and _equal(call.arguments, early.arguments)
            ):
                self._early.remove(early)
                self._results[call.id] = early.text
                return True
        return False

    def arrived(
        self,
        name: str,
        arguments: JsonObject,
        text: str,
        known: Collection[str],
        *,
        streaming: bool,
    ) -> None:
        """A call of `name` was answered with `text`. `known` are the names of all tools.

        `streaming` tells that a model is being asked, whose reply may hold the wish.
        """
        alike = [wish for wish in self._wishes if _is_same(wish.name, name, known)]
        wish = next((one for one in alike if _equal(one.arguments, arguments)), None)
        wish = wish or next(iter(alike), None)
        if wish is None:
            self._arrived += 1
            call_id = f"mcp-{self._arrived}"
            self._builder.add(
                StepKind.TOOL_CALL, tool=name, arguments=arguments, call_id=call_id,
                refused=name not in known,
            )  # fmt: skip
            self._early.append(_Early(name, arguments, text, streaming))
        else:
            self._wishes.remove(wish)
            call_id = wish.call_id
            self._builder.amend(
                wish.number, tool=name, arguments=arguments, refused=name not in known
            )
            self._results[call_id] = text
        self._builder.add(StepKind.TOOL_RESULT, text, tool=name, call_id=call_id or None)

    def is_told(self, call_id: str | None, text: str) -> bool:
        """Whether a result that a program sends to a model is what its call was answered with."""
        told = self._results.get(call_id or "")
        return told is not None and _folded(told) in _folded(text)


def _is_same(wished: str, name: str, known: Collection[str]) -> bool:
    """Whether a model means the tool `name`: by that, or behind the name of a server."""
    if wished == name:
        return True
    return wished not in known and any(wished.endswith(f"{one}{name}") for one in _SEPARATORS)


def _equal(one: JsonObject, other: JsonObject) -> bool:
    return canonical_json(one) == canonical_json(other)


def _folded(text: str) -> str:
    return " ".join(text.replace("\\n", " ").replace('\\"', '"').split())


Record = Callable[[str, JsonObject, str, Collection[str]], None]


class TrialTools:
    """Answers at most `most` calls by `replay`, each told to `record` with its answer's text."""

    def __init__(self, replay: Replay | None, most: int, record: Record) -> None:
        self._replay = replay or Replay((), ())
        self._most = most
        self._record = record
        self._count = 0
        self._slow: set[asyncio.Task[Any]] = set()

    def refusal(self) -> str:
        """Count a call, and return why it is not admitted: the empty string if it is."""
        self._count += 1
        if self._count > self._most:
            return f"A trial may make {self._most} tool calls, and this one made them."
        return ""

    async def answer(self, name: str, arguments: JsonObject, known: Collection[str]) -> ToolAnswer:
        """Answer a call, as late as the fixture says. `known` are the tools that there are."""
        if name in known:
            answer = self._replay.answer(name, arguments)
        else:
            listed = ", ".join(known) or "none"
            answer = ToolAnswer(f"There is no tool {name!r}. Tools: {listed}.", is_error=True)
        self._record(name, arguments, answer.text, known)
        task = asyncio.current_task()
        if answer.delay and task is not None:
            self._slow.add(task)
            try:
                await asyncio.sleep(answer.delay)
            finally:
                self._slow.discard(task)
        return answer

    def end(self) -> None:
        """Cancel the calls under way."""
        for task in self._slow:
            task.cancel()
