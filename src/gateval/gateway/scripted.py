"""Scripted models: the first rule that fits answers, and texts measure alike on every machine.

A vector counts the words of a text, each at a place and with a sign that its hash gives (the
"hashing trick": Weinberger et al., Feature Hashing for Large Scale Multitask Learning, 2009), and
has the length 1. So texts that share words are near each other, as programs that search expect.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable
from typing import NamedTuple

from pydantic import JsonValue

from gateval.domain.base import canonical_json, digest
from gateval.domain.manifests.evaluation import ScriptedModel, ScriptedRule, ScriptedToolCall, When
from gateval.domain.trials.model_call import (
    InputKind,
    InputReply,
    InputRequest,
    Message,
    ModelReply,
    ModelRequest,
    StopReason,
    ToolCall,
    Usage,
)
from gateval.wire.inputs import CATEGORIES

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
    conversation: list[JsonValue] = [
        [one.role, one.text, [[call.name, call.arguments] for call in one.tool_calls]]
        for one in request.messages
    ]
    said = digest(conversation)
    for index, rule in enumerate(script.spec.rules):
        if _applies(rule.when, model_id, request.messages):
            seed = f"{script.spec.seed}:{index}:{said}:{request.draw}".encode()
            if int.from_bytes(hashlib.sha256(seed).digest()[:6]) / 2**48 < rule.probability:
                return ScriptedAnswer(_reply(rule, model_id, request, said), rule.latency_seconds)
    return None


def _applies(when: When, model_id: str, messages: tuple[Message, ...]) -> bool:
    users = [message.text for message in messages if message.role == "user"]
    results = [message.text for message in messages[-1:] if message.role == "tool"]
    system = "\n".join(message.text for message in messages if message.role == "system")
    turn = 1 + sum(message.role == "assistant" for message in messages)
    told = ((when.user, users[-1:]), (when.tool, results), (when.system, [system]))
    said = all(part is None or any(part in text for text in texts) for part, texts in told)
    return said and when.turn in (None, turn) and when.model in (None, model_id)


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
    given = sum(_length(message.text, message.tool_calls) for message in request.messages)
    given += sum(
        len(tool.name) + len(tool.description) + len(canonical_json(tool.input_schema))
        for tool in request.tools
    )
    taken = _length(rule.reply, rule.tool_calls)
    tokens = [max(1, -(-count // CHARACTERS_PER_TOKEN)) for count in (given, taken)]
    return Usage(input_tokens=tokens[0], output_tokens=tokens[1])


def _length(text: str, calls: Iterable[ToolCall | ScriptedToolCall]) -> int:
    return len(text) + sum(len(one.name) + len(canonical_json(one.arguments)) for one in calls)


DIMENSIONS = 256
"""Numbers in a vector, if neither the script nor the request says how many."""

MOST_DIMENSIONS = 4_096
MOST_NUMBERS = 500_000
"""Numbers in one answer: about 5 MB of JSON."""

_WORD = re.compile(r"\w+")
_DIGITS = 7


def is_too_much(script: ScriptedModel, request: InputRequest) -> bool:
    """Whether a request asks for more numbers than one answer may hold."""
    size = _dimensions(script, request)
    return size > MOST_DIMENSIONS or size * len(request.texts) > MOST_NUMBERS


def measure(script: ScriptedModel, kind: InputKind, request: InputRequest) -> InputReply:
    """Return what the script makes of the texts. Tokens are estimated as for conversations.

    A text offends by those categories of OpenAI's that the answer of the first rule names which
    applies to it as a user's message.
    """
    if kind is InputKind.MODERATION:
        flags = [_flags(script, request.model, text) for text in request.texts]
        return InputReply(flags=flags, usage=None, model=request.model)
    size = _dimensions(script, request)
    used = sum(-(-len(text) // CHARACTERS_PER_TOKEN) for text in request.texts)
    return InputReply(
        vectors=[vector(text, size) for text in request.texts],
        usage=Usage(input_tokens=used, output_tokens=0),
        model=request.model,
    )


def vector(text: str, size: int) -> list[float]:
    """Return the `size` numbers of a text; a text without words points along the first axis."""
    numbers = [0.0] * size
    for word in _WORD.findall(text.casefold()):
        drawn = int.from_bytes(hashlib.sha256(word.encode("utf-8", "replace")).digest()[:8])
        numbers[(drawn >> 1) % size] += 1 if drawn & 1 else -1
    length = math.sqrt(math.fsum(number * number for number in numbers))
    if not length:
        return [1.0, *numbers[1:]]
    return [round(number / length, _DIGITS) for number in numbers]


def _dimensions(script: ScriptedModel, request: InputRequest) -> int:
    return request.dimensions or script.spec.dimensions or DIMENSIONS


def _flags(script: ScriptedModel, model: str, text: str) -> frozenset[str]:
    asked = ModelRequest(model=model, messages=(Message(role="user", text=text),))
    found = answer(script, model, asked)
    said = set(re.findall(r"[\w/-]+", found.reply.text)) if found else set()
    return frozenset(said.intersection(CATEGORIES))
