"""Graphs of LangGraph, and what else LangChain can invoke, in a thread of their own."""

from __future__ import annotations

from typing import Any


class Bridge:
    """Invokes the graph. One without a checkpointer gets one in memory where there are turns, as
    LangGraph's own server gives it.
    """

    def __init__(self, target: Any) -> None:
        if hasattr(target, "compile") and not hasattr(target, "ainvoke"):
            target = target.compile()
        elif not hasattr(target, "ainvoke") and callable(target):
            target = _made(target)
        self._graph = target
        self._config: dict[str, Any] = {"configurable": {"thread_id": "gateval"}}
        self._interrupted = False

    async def ask(self, question: Any) -> Any:
        """Return the text of the last message, or what else the graph ends with."""
        if hasattr(self._graph, "__await__"):
            self._graph = await self._graph
        if question.first and not question.alone and hasattr(self._graph, "checkpointer"):
            self._remember()
        if self._interrupted:
            from langgraph.types import Command

            given: Any = Command(resume=question.asked)
        else:
            given = self._input(question)
        state = await self._invoked(given)
        self._interrupted = isinstance(state, dict) and bool(state.get("__interrupt__"))
        return _output(state)

    def _remember(self) -> None:
        if self._graph.checkpointer in (None, False, True):
            from langgraph.checkpoint.memory import InMemorySaver

            self._graph.checkpointer = InMemorySaver()

    async def _invoked(self, given: Any) -> Any:
        saver = getattr(self._graph, "checkpointer", None)
        if saver and not isinstance(saver, bool) and _only_sync(saver):
            return self._graph.invoke(given, self._config)
        return await self._graph.ainvoke(given, self._config)

    def _input(self, question: Any) -> Any:
        """Return what the graph takes: messages if its state has some, else what its keys ask."""
        schema = _schema(self._graph)
        keys = schema.get("properties")
        if keys is None:
            return question.asked
        if "messages" in keys:
            before = question.spoken() if question.first else []
            given = {key: question.payload[key] for key in keys if key in question.payload}
            return {**given, "messages": [*before, ("user", question.asked)]}
        needed = [key for key in schema.get("required") or keys if key in keys]
        given = {key: question.payload[key] for key in keys if key in question.payload}
        left = [key for key in needed if key not in given]
        if given and not left:
            return given
        if not schema.get("required"):
            left = _texts(keys, left)
        return {**given, **question.filled(left, "the graph's input")}


def _texts(keys: dict[str, Any], names: list[str]) -> list[str]:
    """Return, of keys that need not be given, the one that is most like a question."""
    usual = (
        "question", "query", "input", "prompt", "user_input", "message", "topic", "task", "text",
    )  # fmt: skip
    found = [name for name in usual if name in names]
    return (
        found[:1] or [name for name in names if keys[name].get("type") == "string"][:1] or names[:1]
    )


def _made(target: Any) -> Any:
    """Return the graph that a function makes, which may take a configuration."""
    import inspect

    if not inspect.signature(target).parameters:
        return target()
    return target({"configurable": {}})


def _schema(graph: Any) -> dict[str, Any]:
    try:
        found = graph.get_input_jsonschema()
    except Exception:  # a state of a type that JSON Schema cannot tell
        channels = getattr(graph, "input_channels", None)
        if isinstance(channels, (list, tuple)):
            return {"properties": {name: {} for name in channels}}
        return {"properties": {"messages": {}}}
    at = found.get("$ref", "")
    if at.startswith("#/$defs/"):
        found = found["$defs"][at[len("#/$defs/") :]]
    return dict(found)


def _only_sync(saver: Any) -> bool:
    from langgraph.checkpoint.base import BaseCheckpointSaver

    return type(saver).aget_tuple is BaseCheckpointSaver.aget_tuple


def _output(state: Any) -> Any:
    if not isinstance(state, dict):
        return _text(state)
    asked = state.get("__interrupt__")
    if asked:
        return getattr(asked[0], "value", asked[0])
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
