"""What happened in a trial: numbered steps from any recorder."""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeVar

from pydantic import Field, field_serializer
from pydantic.json_schema import SkipJsonSchema

from gateval.domain.base import (
    JsonObject,
    Positive,
    Value,
    Word,
    canonical_json,
    json_text,
    plain_numbers,
    plentiful,
)
from gateval.domain.manifests.agent import AgentTool
from gateval.domain.manifests.fixture import ToolReplay
from gateval.domain.trials.model_call import ModelOffer, ToolDefinition, Usage

STEP_LIMIT = 32 * 1024
"""Characters kept of one step's text."""

STEPS_LIMIT = 2_000
"""Steps kept of one trace."""

USD_DIGITS = 9
"""Decimal places of dollars: a token may cost a hundred-millionth."""

Number = TypeVar("Number", int, float)

TraceSource = Literal["gate", "gateway", "candidate", "answer"]


class StepKind(Word):
    """The kind of a step."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    ERROR = "error"


class Step(Value):
    """One step. `number` counts from 1 without gaps.

    `text` is what was said, or the tool's result, or the error; empty for a tool call. `tool` and
    `arguments` are set for a tool call, `tool` also for its result. `call_id` ties the two.
    `truncated` says that `text` was cut at `STEP_LIMIT`. What a model call gave or how it failed
    carries the `seconds` that the call took and its `retries`; steps of one reply share them.
    `refused` marks a call of a tool that the model was not offered. `conversation` counts from 1
    the conversations that a program had with its models, so that agents which work side by side
    are told apart; `agent` is what the agent is called, as the wire tells it, empty where nothing
    does. `took` are the seconds that a tool took for a call, where the candidate says so. `claimed`
    marks a user's words that the input does not have: the program told them to its model.
    """

    number: Positive
    kind: StepKind
    text: str = ""
    tool: str | None = None
    arguments: JsonObject | None = None
    call_id: str | None = None
    truncated: bool = False
    refused: bool = False
    conversation: Positive = 1
    agent: str = Field(default="", exclude_if=operator.not_)
    seconds: float | None = Field(default=None, ge=0, json_schema_extra={"volatile": True})
    retries: int = Field(default=0, ge=0, json_schema_extra={"volatile": True})
    took: float | None = Field(default=None, ge=0, json_schema_extra={"volatile": True})
    claimed: bool = Field(default=False, exclude_if=operator.not_)


class CallCost(NamedTuple):
    """What a model call took: seconds, how often it was made again, and how many of the seconds
    went by before the attempt that was answered.
    """

    seconds: float | None = None
    retries: int = 0
    waited: float = 0.0


NO_CALL = CallCost()
"""What a step took that no model call gave."""


@plentiful
class Trace(Value):
    """The ordered steps of a trial.

    `source` says who recorded them; `answer` means that nobody did, and that there are only the
    input and the final message (`domain/trials/trial.py`).
    """

    steps: tuple[Step, ...] = ()
    source: TraceSource = "gate"
    usage: Usage = Field(default_factory=Usage)
    model_calls: int = 0
    models: tuple[str, ...] = ()
    """Models that answered, as `provider/model-id`, in order of first use."""
    waited: float = Field(default=0, ge=0, json_schema_extra={"volatile": True})
    """Seconds in which providers were waited for that had refused or dropped a call."""
    redirected: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    """The providers' hosts that its calls were meant for, where the gate led them to itself."""
    offered: SkipJsonSchema[ModelOffer | None] = Field(default=None, exclude=True)
    """What its models were offered, None where nobody saw that; not stored with the trial."""

    @field_serializer("steps")
    def _read_steps(self, steps: Sequence[Step]) -> tuple[Step, ...]:
        """Steps that lie in a store (`kept.py`) are read to be written."""
        return tuple(steps)

    @property
    def is_seen(self) -> bool:
        """Whether the gate saw the model calls itself: in its own loop, or on the wire."""
        return self.source in {"gate", "gateway"}

    @property
    def is_parallel(self) -> bool:
        """Whether its steps belong to several agents, so that a view has to tell which."""
        return any(step.conversation > 1 or step.agent for step in self.steps)

    @property
    def is_partly_seen(self) -> bool:
        """Whether the gate saw calls of its own tools only, and no model that could ask others."""
        return self.source == "gateway" and not self.model_calls and bool(self.tool_calls())

    def tool_calls(self) -> tuple[Step, ...]:
        """The tool-call steps, in order, refused ones too."""
        return tuple(step for step in self.steps if step.kind is StepKind.TOOL_CALL)

    def step(self, number: int) -> Step | None:
        """The step with this number (from 1), or None."""
        return self.steps[number - 1] if 1 <= number <= len(self.steps) else None


def who_said(trace: Trace, text: str) -> Step | None:
    """Return the latest step that said a text: alone, else at its end, as frameworks that cut off
    what stands before an answer (`Final Answer: …`) have it, else as what a tool gave.
    """

    def fits(step: Step, rank: int) -> bool:
        kind = StepKind.TOOL_RESULT if rank == _AS_RESULT else StepKind.ASSISTANT
        told = step.text.strip()
        if step.kind is not kind or not text or not told.endswith(text):
            return False
        before = told[: -len(text)][-1:]
        return not before or (rank == _AT_THE_END and not before.isalnum())

    ranks = range(_AS_RESULT + 1)
    return next(
        (step for rank in ranks for step in reversed(trace.steps) if fits(step, rank)), None
    )


_AT_THE_END, _AS_RESULT = 1, 2


class TraceBuilder:
    """Collects steps in order, numbers them, and cuts texts that are too long."""

    def __init__(self) -> None:
        self._steps: list[Step] = []

    def add(
        self,
        kind: StepKind,
        text: str = "",
        *,
        tool: str | None = None,
        arguments: JsonObject | None = None,
        call_id: str | None = None,
        cost: CallCost = NO_CALL,
        refused: bool = False,
        conversation: int = 1,
        took: float | None = None,
    ) -> int:
        """Append a step and return its number; past `STEPS_LIMIT` steps are dropped (returns 0)."""
        if len(self._steps) >= STEPS_LIMIT:
            return 0
        number = len(self._steps) + 1
        self._steps.append(
            Step(
                number=number,
                kind=kind,
                text=text[:STEP_LIMIT],
                tool=tool,
                arguments=arguments,
                call_id=call_id,
                truncated=len(text) > STEP_LIMIT,
                refused=refused,
                conversation=conversation,
                seconds=None if cost.seconds is None else round(cost.seconds, 3),
                retries=cost.retries,
                took=took,
            )
        )
        return number

    def amend(self, number: int, *, tool: str, arguments: JsonObject, refused: bool) -> None:
        """Correct the tool call that is step `number`: it turned out to be another."""
        step = self._steps[number - 1]
        correct = {"tool": tool, "arguments": arguments, "text": "", "refused": refused}
        self._steps[number - 1] = step.replace(**correct)

    def steps(self) -> tuple[Step, ...]:
        """The steps so far."""
        return tuple(self._steps)


def add_usage(parts: Iterable[Usage]) -> Usage:
    """Return the sum; a part that is unknown makes that side of the sum unknown."""
    every = tuple(parts)
    if len(every) == 1 and every[0].usd is None:
        return every[0]
    money = whole_sum([part.usd for part in every])
    return Usage.of_known(
        input_tokens=whole_sum([part.input_tokens for part in every]),
        output_tokens=whole_sum([part.output_tokens for part in every]),
        cached_tokens=sum(part.cached_tokens for part in every),
        cache_write_tokens=sum(part.cache_write_tokens for part in every),
        usd=None if money is None else round(money, USD_DIGITS),
        unpriced=tuple(dict.fromkeys(name for part in every for name in part.unpriced)),
    )


def whole_sum(values: list[Number | None]) -> Number | None:
    """Return the sum; None where one of the values is unknown, or there is none."""
    known = [value for value in values if value is not None]
    return sum(known[1:], known[0]) if known and len(known) == len(values) else None


SHADOW = '{"shadow": true}'
"""The result of a tool that nobody answers for: no tool of an agent is ever live here."""


class ToolAnswer(NamedTuple):
    """The tool's answer, as text; `is_error` says that it failed with that text.

    It comes after `delay` seconds. `status` is the HTTP status of a tool that is out of reach.
    """

    text: str
    is_error: bool = False
    delay: float = 0
    status: int | None = None


class Replay:
    """Counts calls, so that the nth call gets the nth recorded answer (see `ToolReplay`).

    Entries with arguments win over entries without. Calls count for the group of entries that
    answers them: those of one tool with the same arguments, or those of one tool without any.
    """

    def __init__(self, entries: tuple[ToolReplay, ...], shadow_tools: tuple[str, ...]) -> None:
        self._shadow_tools = frozenset(shadow_tools)
        self._groups: dict[tuple[str, str | None], list[ToolReplay]] = defaultdict(list)
        self._calls: dict[tuple[str, str | None], int] = defaultdict(int)
        for entry in entries:
            self._groups[_group(entry.tool, entry.arguments)].append(entry)

    def knows(self, tool: str) -> bool:
        """Whether the fixture says what this tool answers, or that it is shadowed."""
        return tool in self._shadow_tools or any(name == tool for name, _ in self._groups)

    def answer(self, tool: str, arguments: JsonObject) -> ToolAnswer:
        """Return the answer to the next call of `tool` with these arguments."""
        if tool in self._shadow_tools:
            return ToolAnswer(SHADOW)
        for group in (_group(tool, arguments), _group(tool, None)):
            entries = self._groups.get(group)
            if entries:
                entry = entries[min(self._calls[group], len(entries) - 1)]
                self._calls[group] += 1
                return _answer(entry)
        return ToolAnswer(SHADOW)


def _group(tool: str, arguments: JsonObject | None) -> tuple[str, str | None]:
    return tool, None if arguments is None else canonical_json(plain_numbers(arguments))


def _answer(entry: ToolReplay) -> ToolAnswer:
    if entry.error is not None or entry.status is not None:
        text = entry.error if entry.error is not None else f"The tool answers {entry.status}."
        return ToolAnswer(text, is_error=True, delay=entry.delay, status=entry.status)
    result = entry.result
    text = json_text(result)
    return ToolAnswer(text, delay=entry.delay)


def offered_tools(tools: tuple[AgentTool, ...]) -> tuple[ToolDefinition, ...]:
    """Return the agent's enabled tools as a model is offered them, each name once."""
    definitions: dict[str, ToolDefinition] = {}
    for tool in tools:
        if not tool.enabled or not tool.tool_name or tool.is_server:
            continue
        if tool.tool_name not in definitions:
            schema = {} if tool.input_schema is None else {"input_schema": tool.input_schema}
            definitions[tool.tool_name] = ToolDefinition(
                name=tool.tool_name, description=tool.description, **schema
            )
    return tuple(definitions.values())
