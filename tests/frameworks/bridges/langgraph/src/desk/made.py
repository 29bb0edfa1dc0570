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


class Moved(TypedDict):
    question: str
    told: str
    answer: str


moving = StateGraph(Moved)
moving.add_node("look", lambda state: {"told": f"Told {state['question']}"})
moving.add_node("move", lambda state: {"answer": f"{state['told']}, moved"})
moving.add_edge(START, "look")
moving.add_edge("look", "move")
stops = moving.compile(interrupt_before=["move"])


class Turned(TypedDict):
    question: str
    answer: str


def remember(state: Turned) -> Turned:
    seen = remembers.get_state({"configurable": {"thread_id": "gateval"}})
    return {"answer": f"Asked {seen.values['question']}"}


turning = StateGraph(Turned)
turning.add_node("remember", remember)
turning.add_edge(START, "remember")
remembers = turning.compile()
