"""The agent itself: a loop of model calls and tools, on the official OpenAI client.

The client reads OPENAI_BASE_URL and OPENAI_API_KEY; under the gate these are its local door and a
key that is worth nothing elsewhere.
"""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path
from typing import Any

from desk import TOOLS, Desk, DeskError
from openai import OpenAI, OpenAIError

HERE = Path(__file__).parent
TURNS = 12
"""Model calls for one question; an agent that needs more is going in circles."""


class NoReply(Exception):
    """There is no answer for the customer; the text says why."""


@functools.cache
def client() -> OpenAI:
    """Return the client, made once: it keeps its connections."""
    return OpenAI(timeout=60)


def answer(prompt: str, desk: Desk) -> str:
    """Talk to the model until it has no more tools to call; return what it says last."""
    messages: list[Any] = [
        {"role": "system", "content": (HERE / "prompts" / "support.md").read_text("utf-8")},
        {"role": "user", "content": prompt},
    ]
    for _ in range(TURNS):
        reply = ask_model(messages)
        messages.append(reply.to_dict())
        if not reply.tool_calls:
            return reply.content or ""
        messages += [carry_out(call, desk) for call in reply.tool_calls]
    raise NoReply(f"the model still calls tools after {TURNS} turns")


def ask_model(messages: list[Any]) -> Any:
    """Send the conversation and return the assistant's message."""
    try:
        completion = client().chat.completions.create(
            model=os.environ["SUPPORT_MODEL"], messages=messages, tools=definitions()
        )
    except OpenAIError as error:
        raise NoReply(f"the model did not answer: {error}") from error
    return completion.choices[0].message


def carry_out(call: Any, desk: Desk) -> dict[str, Any]:
    """Carry out one tool call; return the message with its result, which may be a refusal."""
    try:
        result = desk.use(call.function.name, json.loads(call.function.arguments))
    except (DeskError, ValueError, TypeError) as error:
        result = {"error": str(error)}
    return {"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)}


def definitions() -> list[Any]:
    """Return the desk's tools as the model is told of them."""
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": description,
                "parameters": {
                    "type": "object",
                    "properties": {
                        argument: {"type": "string", "description": meaning}
                        for argument, meaning in arguments.items()
                    },
                    "required": list(arguments),
                },
            },
        }
        for name, (description, arguments) in TOOLS.items()
    ]
