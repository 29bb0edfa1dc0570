"""Graphs of LangGraph, and what else LangChain can invoke, in a thread of their own."""

from __future__ import annotations

import inspect
import sys
from typing import Any


class Bridge:
    """Invokes the graph. One without a checkpointer gets one in memory where there are turns, or
    where it may wait for an answer, as LangGraph's own server gives it. A step costs 0.6 ms more.
    """

    def __init__(self, target: Any) -> None:
        self._target = target
        self._graph: Any = None
        self._config: dict[str, Any] = {"configurable": {"thread_id": "gateval"}}
        self._waits = ""
        self._pauses = False

    async def ask(self, question: Any) -> Any:
        """Return the text of the last message, or what else the graph ends with."""
        if self._graph is None:
            self._graph = await _graph_of(self._target)
            _store(self._graph)
        if question.first and hasattr(self._graph, "checkpointer"):
            self._pauses = _pauses(self._graph)
            if self._pauses or not question.alone:
                self._remember()
        state = await self._invoked(self._given(question))
        asked, to_come = _asked(state), ()
        if self._pauses and not asked:
            asked, to_come = await self._paused()
        self._waits = "answer" if asked else "go" if to_come else ""
        if asked:
            return getattr(asked[0], "value", asked[0])
        return _output(state) or ({"next": list(to_come)} if to_come else "")

    def _given(self, question: Any) -> Any:
        """Return what the graph is given: to one that waits, the answer, or that it may go on."""
        if self._waits == "answer":
            from langgraph.types import Command

            return Command(resume=question.asked)
        return None if self._waits == "go" else self._input(question)

    async def _paused(self) -> tuple[Any, Any]:
        """Return what the graph asks, which LangGraph before 0.4 tells in its state alone, and the
        nodes before which it stopped.
        """
        if _only_sync(self._graph.checkpointer):
            state = self._graph.get_state(self._config)
        else:
            state = await self._graph.aget_state(self._config)
        return [one for task in state.tasks for one in task.interrupts], state.next

    def _remember(self) -> None:
        if self._graph.checkpointer in (None, False, True):
            from langgraph.checkpoint.memory import InMemorySaver

            self._graph.checkpointer = InMemorySaver()

    async def _invoked(self, given: Any) -> Any:
        saver = getattr(self._graph, "checkpointer", None)
        context = _context(self._graph)
        if saver and not isinstance(saver, bool) and _only_sync(saver):
            return self._graph.invoke(given, self._config, **context)
        return await self._graph.ainvoke(given, self._config, **context)

    def _input(self, question: Any) -> Any:
        """Return what the graph takes: messages if its state has some, with the keys of the state
        in which the program beside it would put the question; else what its keys ask.
        """
        schema = _schema(self._graph)
        keys = schema.get("properties")
        if keys is None:
            return question.asked
        if "messages" in keys:
            before = question.spoken() if question.first else []
            given = {key: question.payload[key] for key in keys if key in question.payload}
            texts = [key for key in _QUESTIONS if _takes_text(keys.get(key, {}))]
            asked = dict.fromkeys(texts, question.asked)
            return {**asked, **given, "messages": [*before, ("user", question.asked)]}
        needed = [key for key in schema.get("required") or keys if key in keys]
        given = {key: question.payload[key] for key in keys if key in question.payload}
        left = [key for key in needed if key not in given]
        if given and not left:
            return given
        if not schema.get("required"):
            left = _texts(keys, left)
        return {**given, **question.filled(left, "the graph's input")}


def _takes_text(schema: dict[str, Any]) -> bool:
    """Whether a key may be a text, perhaps among others (`str | None`)."""
    return any(one.get("type") == "string" for one in (schema, *schema.get("anyOf", ())))


_QUESTIONS = ("question", "query", "user_input", "user_query", "user_question")


def _texts(keys: dict[str, Any], names: list[str]) -> list[str]:
    """Return, of keys that need not be given, the one that is most like a question."""
    usual = (
        "question", "query", "input", "prompt", "user_input", "message", "topic", "task", "text",
    )  # fmt: skip
    found = [name for name in usual if name in names]
    return found[:1] or [name for name in names if _takes_text(keys[name])][:1] or names[:1]


async def _graph_of(found: Any) -> Any:
    """Return the graph that this is, or makes: a builder, or a function, async or a context, which
    may take a configuration, as LangGraph's server has them.
    """
    if not hasattr(found, "ainvoke") and not hasattr(found, "compile") and callable(found):
        takes = inspect.signature(found).parameters
        found = found({"configurable": {}}) if takes else found()
    if inspect.isawaitable(found):
        found = await found
    if hasattr(found, "__aenter__"):
        found = await found.__aenter__()
    elif hasattr(found, "__enter__"):
        found = found.__enter__()
    return found if hasattr(found, "ainvoke") else found.compile()


def _schema(graph: Any) -> dict[str, Any]:
    try:
        found = graph.get_input_jsonschema()
    except Exception:  # a type that JSON Schema cannot tell: `typing.TypedDict` before Python 3.12
        return {"properties": {name: {} for name in _keys(graph)}}
    at = found.get("$ref", "")
    if at.startswith("#/$defs/"):
        found = found["$defs"][at[len("#/$defs/") :]]
    return dict(found)


def _keys(graph: Any) -> list[str]:
    """Return the keys of a graph's input, as its state is written."""
    builder = getattr(graph, "builder", None)
    written = getattr(builder, "input_schema", None) or getattr(builder, "input", None)
    names = getattr(written, "__annotations__", None) or getattr(graph, "channels", {})
    return [name for name in names if not name.startswith("__") and ":" not in name]


def _store(graph: Any) -> None:
    """Give a graph without a store one in memory, as LangGraph's server does."""
    if hasattr(graph, "checkpointer") and getattr(graph, "store", True) is None:
        from langgraph.store.memory import InMemoryStore

        graph.store = InMemoryStore()


def _context(graph: Any) -> dict[str, Any]:
    """Return the context with its defaults, as LangGraph's server makes it; none where it has to be
    given, or the graph takes none.
    """
    schema = getattr(graph, "context_schema", None)
    try:
        return {} if schema is None else {"context": schema()}
    except Exception:
        return {}


_NONE: dict[str, Any] = {}


def _pauses(graph: Any) -> bool:
    """Whether a graph may wait for an answer: it has breakpoints, or the program has `interrupt`.

    A middleware of LangChain has it, too, which every agent imports and few use.
    """
    if getattr(graph, "interrupt_before_nodes", ()) or getattr(graph, "interrupt_after_nodes", ()):
        return True
    interrupt = getattr(sys.modules.get("langgraph.types"), "interrupt", None)
    return interrupt is not None and any(
        not name.startswith(("langgraph.", "langchain."))
        for name, module in list(sys.modules.items())
        if getattr(module, "__dict__", _NONE).get("interrupt") is interrupt
    )


def _asked(state: Any) -> Any:
    return state.get("__interrupt__") if isinstance(state, dict) else None


def _only_sync(saver: Any) -> bool:
    from langgraph.checkpoint.base import BaseCheckpointSaver

    return type(saver).aget_tuple is BaseCheckpointSaver.aget_tuple


def _output(state: Any) -> Any:
    if not isinstance(state, dict):
        return _text(state)
    if state.get("structured_response") is not None:
        return state["structured_response"]
    if state.get("messages"):
        return _text(state["messages"][-1])
    for key in ("output", "answer", "response", "result", "final_answer", "generation"):
        if state.get(key) is not None:
            return _text(state[key])
    return state


def _text(said: Any) -> Any:
    """Return the text of a message; anything else as it is."""
    content = getattr(said, "content", None)
    if content is None:
        return said
    if isinstance(content, str):
        return content
    texts = [one if isinstance(one, str) else one.get("text", "") for one in content]
    return "".join(texts)
