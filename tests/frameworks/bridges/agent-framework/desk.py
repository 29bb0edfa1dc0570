from agent_framework import Agent
from agent_framework.openai import OpenAIChatCompletionClient


def order_status(order: int) -> str:
    """The status of an order."""
    return "in transit"


agent = Agent(
    OpenAIChatCompletionClient(model="gpt-5-mini"),
    "You answer questions about orders. Look the order up first.",
    tools=[order_status],
)
