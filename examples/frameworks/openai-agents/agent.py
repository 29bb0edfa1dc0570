"""An agent built with the OpenAI Agents SDK. It has never heard of Gateval.

The SDK speaks the Responses API, streamed or not, to whatever OPENAI_BASE_URL names.
"""

import json
import sys

from agents import Agent, Runner, function_tool

ORDERS = {7: "in transit", 8: "delivered"}


@function_tool
def order_status(order: int) -> str:
    """Look up the status of an order."""
    return ORDERS.get(order, "unknown")


def main() -> None:
    prompt = json.load(sys.stdin)["prompt"]
    agent = Agent(
        name="orders",
        instructions="You answer questions about orders. Look them up first.",
        model="desk",
        tools=[order_status],
    )
    print(Runner.run_sync(agent, prompt).final_output)


if __name__ == "__main__":
    main()
