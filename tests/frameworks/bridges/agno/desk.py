from agno.agent import Agent
from agno.models.openai import OpenAIChat
from agno.team import Team
from agno.workflow import Step, Workflow


def order_status(order: int) -> str:
    """The status of an order.

    Args:
        order: The number of the order.
    """
    return "in transit"


agent = Agent(
    name="desk",
    model=OpenAIChat(id="gpt-5-mini"),
    tools=[order_status],
    instructions="You answer questions about orders. Look the order up first.",
)
team = Team(
    name="shop",
    members=[agent],
    model=OpenAIChat(id="gpt-5-mini"),
    tools=[order_status],
    instructions="You answer questions about orders.",
)
steps = Workflow(name="steps", steps=[Step(name="look", agent=agent)])
