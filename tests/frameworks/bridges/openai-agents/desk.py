from agents import Agent, function_tool


@function_tool
def order_status(order: int) -> str:
    """The status of an order."""
    return "in transit"


agent = Agent(
    name="desk",
    instructions="You answer questions about orders. Look the order up first.",
    model="gpt-5-mini",
    tools=[order_status],
)
