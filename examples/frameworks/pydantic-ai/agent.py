"""An agent built with Pydantic AI, which streams its answer. It has never heard of Gateval."""

import asyncio
import json
import sys

from pydantic_ai import Agent

ORDERS = {7: "in transit", 8: "delivered"}

agent = Agent(
    "openai:desk",
    instructions="You answer questions about orders. Look them up first.",
)


@agent.tool_plain
def order_status(order: int) -> str:
    """Look up the status of an order."""
    return ORDERS.get(order, "unknown")


async def main() -> None:
    prompt = json.load(sys.stdin)["prompt"]
    async with agent.run_stream(prompt) as answer:
        print(await answer.get_output())


if __name__ == "__main__":
    asyncio.run(main())
