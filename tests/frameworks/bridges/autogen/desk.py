from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import MaxMessageTermination
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_ext.models.openai import OpenAIChatCompletionClient


async def order_status(order: int) -> str:
    """The status of an order."""
    return "in transit"


def desk() -> AssistantAgent:
    return AssistantAgent(
        "desk",
        model_client=OpenAIChatCompletionClient(model="gpt-4.1-mini"),
        tools=[order_status],
        reflect_on_tool_use=True,
        system_message="You answer questions about orders. Look the order up first.",
    )


agent = desk()
team = RoundRobinGroupChat([desk()], termination_condition=MaxMessageTermination(2))
