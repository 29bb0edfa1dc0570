from dataclasses import dataclass

from pydantic_ai import Agent, RunContext


@dataclass
class Shop:
    status: str = "in transit"


agent = Agent(
    "openai:gpt-5-mini",
    deps_type=Shop,
    instructions="You answer questions about orders. Look the order up first.",
)


@agent.tool
def order_status(context: RunContext[Shop], order: int) -> str:
    """The status of an order."""
    return context.deps.status
