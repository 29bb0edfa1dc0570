from pathlib import Path

from langchain_core.messages import SystemMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

SYSTEM = (Path(__file__).parent / "system_prompt.txt").read_text()
ORDERS = {7: "in transit", 8: "delivered"}


@tool
def order_status(order: int) -> str:
    """The status of an order."""
    return ORDERS.get(order, "not known")


def assistant(state: MessagesState) -> MessagesState:
    model = ChatOpenAI(model="gpt-5-mini").bind_tools([order_status])
    return {"messages": [model.invoke([SystemMessage(SYSTEM), *state["messages"]])]}


builder = StateGraph(MessagesState)
builder.add_node("assistant", assistant)
builder.add_node("tools", ToolNode([order_status]))
builder.add_edge(START, "assistant")
builder.add_conditional_edges("assistant", tools_condition)
builder.add_edge("tools", "assistant")
graph = builder.compile()
