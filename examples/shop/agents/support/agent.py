"""The customer-support agent: one question on standard input, one answer on standard output."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from chat import ModelUnavailable, ask_model
from desk import Desk, DeskError

HERE = Path(__file__).parent
TURNS = 12
"""Model calls for one question; an agent that needs more is going in circles."""


def main() -> int:
    """Answer the question, or say on standard error why there is no answer."""
    question = json.load(sys.stdin)
    desk = Desk(HERE / "orders.json", Path.home() / "support-desk.json")
    try:
        output = answer(question["prompt"], desk)
    except ModelUnavailable as error:
        print(f"support agent: {error}", file=sys.stderr)
        return 1
    print(json.dumps({"output": output}))
    return 0


def answer(prompt: str, desk: Desk) -> str:
    """Talk to the model until it has no more tools to call; return what it says last."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": (HERE / "prompts" / "support.md").read_text("utf-8")},
        {"role": "user", "content": prompt},
    ]
    for _ in range(TURNS):
        reply = ask_model(messages)
        messages.append(reply)
        calls = reply.get("tool_calls") or []
        if not calls:
            return str(reply["content"])
        messages += [carry_out(call, desk) for call in calls]
    raise ModelUnavailable(f"the model still calls tools after {TURNS} turns")


def carry_out(call: dict[str, Any], desk: Desk) -> dict[str, Any]:
    """Carry out one tool call; return the message with its result, which may be a refusal."""
    function = call["function"]
    try:
        result = desk.use(function["name"], json.loads(function["arguments"]))
    except (DeskError, ValueError, TypeError) as error:
        result = {"error": str(error)}
    return {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)}


if __name__ == "__main__":
    sys.exit(main())
