from llama_index.core.agent.workflow import AgentWorkflow

from app.orders import order_status
from app.settings import model


def create_workflow() -> AgentWorkflow:
    return AgentWorkflow.from_tools_or_functions(
        tools_or_functions=[order_status],
        llm=model(),
        system_prompt="You answer questions about orders. Look the order up first.",
    )
