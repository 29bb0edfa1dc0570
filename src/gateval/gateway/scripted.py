"""Scripted models: the first rule that fits the conversation answers, the same on every run."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from pydantic import JsonValue

from gateval.domain.base import canonical_json, digest
from gateval.domain.manifests.scripted import ScriptedModel, ScriptedRule, When
from gateval.domain.trials.model_call import (
    Message,
    ModelReply,
    ModelRequest,
    StopReason,
    ToolCall,
    Usage,
)

CHARACTERS_PER_TOKEN = 4
"""The estimate of tokens: enough for budgets and cost assertions, and the same everywhere."""


class ScriptedAnswer(NamedTuple):
    """A reply, and the seconds that the model takes for it."""

    reply: ModelReply
    seconds: float


def answer(script: ScriptedModel, model_id: str, request: ModelRequest) -> ScriptedAnswer | None:
    """Return what the script says to this conversation, or None when no rule applies.

    A rule's share of cases is drawn from the script's seed, the rule's position, the trial and what
    was said so far; ids of tool calls do not matter for it.
    """
    said = digest(_conversation(request.messages))
    for index, rule in enumerate(script.spec.rules):
        if not _applies(rule.when, model_id, request.messages):
            continue
        if _draw(f"{script.spec.seed}:{index}:{said}:{request.draw}") < rule.probability:
            return ScriptedAnswer(_reply(rule, model_id, request, said), rule.latency_seconds)
    return None


def _conversation(messages: tuple[Message, ...]) -> JsonValue:
    return [
        [message.role, message.text, [[call.name, call.arguments] for call in message.tool_calls]]
        for message in messages
    ]


def _draw(seed: str) -> float:
    """Return a number in [0, 1) that is as good as random, and always the same for a seed."""
    return int.from_bytes(hashlib.sha256(seed.encode()).digest()[:6]) / 2**48


def _applies(when: When, model_id: str, messages: tuple[Message, ...]) -> bool:
    users = [message.text for message in messages if message.role == "user"]
    last = messages[-1] if messages else None
    results = [last.text] if last is not None and last.role == "tool" else []
    system = "\n".join(message.text for message in messages if message.role == "system")
    turn = 1 + sum(message.role == "assistant" for message in messages)
    return (
        _is_in(when.user, users[-1:])
        and _is_in(when.tool, results)
        and _is_in(when.system, [system])
        and when.turn in (None, turn)
        and when.model in (None, model_id)
    )


def _is_in(wanted: str | None, texts: list[str]) -> bool:
    return wanted is None or any(wanted in text for text in texts)


def _reply(rule: ScriptedRule, model_id: str, request: ModelRequest, said: str) -> ModelReply:
    calls = tuple(
        ToolCall(id=f"call_{said[:16]}_{number}", name=call.name, arguments=call.arguments)
        for number, call in enumerate(rule.tool_calls, start=1)
    )
    return ModelReply(
        text=rule.reply,
        tool_calls=calls,
        stop=StopReason.TOOL_CALLS if calls else StopReason.END,
        usage=_estimate(rule, request),
        model=model_id,
    )


def _estimate(rule: ScriptedRule, request: ModelRequest) -> Usage:
    given = sum(len(message.text) + _calls_length(message) for message in request.messages)
    given += sum(
        len(tool.name) + len(tool.description) + len(canonical_json(tool.input_schema))
        for tool in request.tools
    )
    taken = len(rule.reply) + sum(
        len(call.name) + len(canonical_json(call.arguments)) for call in rule.tool_calls
    )
    return Usage(input_tokens=_tokens(given), output_tokens=_tokens(taken))


def _calls_length(message: Message) -> int:
    return sum(len(call.name) + len(canonical_json(call.arguments)) for call in message.tool_calls)


def _tokens(characters: int) -> int:
    return max(1, -(-characters // CHARACTERS_PER_TOKEN))
