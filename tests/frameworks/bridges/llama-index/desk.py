from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai import OpenAI
from workflows import Workflow, step
from workflows.events import StartEvent, StopEvent


def order_status(order: int) -> str:
    """The status of an order."""
    return "in transit"


agent = FunctionAgent(
    tools=[order_status],
    llm=OpenAI(model="gpt-4.1-mini"),
    system_prompt="You answer questions about orders. Look the order up first.",
)


class Asked(StartEvent):
    question: str


class Desk(Workflow):
    @step
    async def answer(self, asked: Asked) -> StopEvent:
        return StopEvent(result=str(await agent.run(user_msg=asked.question)))
