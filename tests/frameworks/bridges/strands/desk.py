from strands import Agent, tool
from strands.models.openai import OpenAIModel
from strands.multiagent import Swarm


@tool
def order_status(order: int) -> str:
    """The status of an order.

    Args:
        order: The number of the order.
    """
    return "in transit"


def desk() -> Agent:
    return Agent(
        name="desk",
        model=OpenAIModel(model_id="gpt-5-mini"),
        tools=[order_status],
        system_prompt="You answer questions about orders. Look the order up first.",
    )


agent = desk()
swarm = Swarm([desk()])
