from google.adk.agents import Agent


def order_status(order: int) -> str:
    """The status of an order."""
    return "in transit"


root_agent = Agent(
    name="desk",
    model="gemini-2.5-flash",
    instruction="You answer questions about orders. Look the order up first.",
    tools=[order_status],
)
