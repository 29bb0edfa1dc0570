from dataclasses import dataclass

from langchain_core.messages import SystemMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.runtime import Runtime

from desk.prompts import SYSTEM


@dataclass
class Context:
    system: str = SYSTEM


class State(MessagesState):
    query: str  # as a server beside it would put the question
    user_input: str | None


@tool
def order_status(order: int) -> str:
    """The status of an order."""
    return "in transit"


async def assistant(state: State, runtime: Runtime[Context]) -> State:
    assert any(one.content == state["query"] for one in state["messages"])
    assert state["user_input"] == state["query"]
    model = ChatOpenAI(model="gpt-5-mini").bind_tools([order_status])
    system = SystemMessage(runtime.context.system)
    assert await runtime.store.aget(("memories",), "none") is None
    return {"messages": [await model.ainvoke([system, *state["messages"]])]}


builder = StateGraph(State, context_schema=Context)
builder.add_node("assistant", assistant)
builder.add_node("tools", ToolNode([order_status]))
builder.add_edge(START, "assistant")
builder.add_conditional_edges("assistant", tools_condition)
builder.add_edge("tools", "assistant")
graph = builder.compile()
