"""Crews, flows and agents of CrewAI.

A crew has no thread: what was said before stands before the question, or where the crew asks for
it (`{history}`).
"""

from __future__ import annotations

from typing import Any


class Bridge:
    """Kicks off anew for each question; a class is instantiated first."""

    def __init__(self, target: Any) -> None:
        made = target() if isinstance(target, type) else target
        if getattr(type(made), "is_crew_class", False):
            made = made.crew()
        self._target = made
        # A kickoff fills the placeholders in, and takes them from where they were written.
        self._names = sorted(made.fetch_inputs()) if hasattr(made, "fetch_inputs") else []
        self._kinds = {one.__name__ for one in type(made).__mro__}

    def ask(self, question: Any) -> Any:
        """Return what comes out: of a crew its model, its JSON or its text."""
        if "Crew" in self._kinds:
            return _said(self._target.kickoff(inputs=self._inputs(question)))
        if "Flow" in self._kinds:
            return _said(self._target.kickoff(inputs=self._state(question)))
        before = [{"role": role, "content": text} for role, text in question.spoken()]
        now = {"role": "user", "content": question.asked}
        return _said(self._target.kickoff([*before, now] if before else question.asked))

    def _inputs(self, question: Any) -> dict[str, Any]:
        """Return a value for each placeholder of the crew's tasks and agents."""
        names = self._names
        found: dict[str, Any] = dict(question.payload)
        found.update(question.filled(names, "the crew"))
        told = {name.lower() for name in names}
        if not told & {"history", "chat_history", "message_history", "messages", "conversation"}:
            whole = question.transcript()
            for name in names:
                if found[name] == question.asked and question.history:
                    found[name] = whole
        return found

    def _state(self, question: Any) -> dict[str, Any]:
        """Return what begins the flow's state: the fields that its model asks, or any."""
        fields = getattr(type(self._target.state), "model_fields", None)
        given = dict(question.payload)
        if not fields or set(fields) <= {"id"}:
            return {"prompt": question.transcript(), **given}
        known = {name: given[name] for name in fields if name in given}
        texts = [name for name in fields if name != "id" and fields[name].annotation is str]
        left = [name for name in texts if name not in known]
        if known or not left:
            return known
        usual = ("prompt", "question", "query", "message", "user_input", "input", "topic", "task")
        chosen = next((name for name in usual if name in left), left[0])
        return {chosen: question.transcript()}


def _said(result: Any) -> Any:
    for name in ("pydantic", "json_dict", "raw"):
        value = getattr(result, name, None)
        if value is not None and value != "":
            return value
    return result
