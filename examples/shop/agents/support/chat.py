"""One call of a chat model: OpenAI Chat Completions with tools, over the standard library."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from typing import Any

from desk import TOOLS

SECONDS = 60


class ModelUnavailable(Exception):
    """The model did not answer; the text says why."""


def ask_model(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Send the conversation and return the assistant's message. Raises `ModelUnavailable`."""
    body = {"model": os.environ["SUPPORT_MODEL"], "messages": messages, "tools": _definitions()}
    request = urllib.request.Request(  # noqa: S310 - the address is set by whoever runs the agent
        os.environ["OPENAI_BASE_URL"].rstrip("/") + "/chat/completions",
        data=json.dumps(body).encode(),
        headers={
            "Content-Type": "application/json",
            "Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}",
        },
    )
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as response:  # noqa: S310 - as above
            answer = json.load(response)
    except urllib.error.HTTPError as error:
        said = error.read().decode("utf-8", "replace")[:500]
        raise ModelUnavailable(f"the model answered {error.code}: {said}") from error
    except OSError as error:
        raise ModelUnavailable(f"the model cannot be reached: {error}") from error
    message: dict[str, Any] = answer["choices"][0]["message"]
    return message


def _definitions() -> list[dict[str, Any]]:
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
