from smolagents import OpenAIServerModel, ToolCallingAgent, tool


@tool
def order_status(order: int) -> str:
    """The status of an order.

    Args:
        order: The number of the order.
    """
    return "in transit"


agent = ToolCallingAgent(
    tools=[order_status],
    model=OpenAIServerModel(model_id="gpt-5-mini"),
    instructions="You answer questions about orders. Look the order up first.",
)
