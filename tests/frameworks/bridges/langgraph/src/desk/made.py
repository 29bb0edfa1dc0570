from contextlib import asynccontextmanager
from typing import TypedDict

from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from desk.graph import builder


@asynccontextmanager
async def make_graph(config):
    yield builder


class Asked(TypedDict):
    question: str
    answer: str


def confirm(state: Asked) -> Asked:
    return {"answer": "You said " + interrupt(f"Sure about {state['question']}")}


asking = StateGraph(Asked)
asking.add_node("confirm", confirm)
asking.add_edge(START, "confirm")
asks_back = asking.compile()
