"""The tool calls of one trial: answered, counted, recorded, and cut off at its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import Any

from gateval.domain.base import JsonObject
from gateval.domain.trials.tools import Replay, ToolAnswer

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
