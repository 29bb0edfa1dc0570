"""Agents, workflows and apps of Google's ADK, in a session of its runner in memory."""

from __future__ import annotations

from typing import Any

USER = "user"


class Bridge:
    """Runs the agent as `adk run` does, with everything in memory."""

    def __init__(self, target: Any) -> None:
        self._target = target
        self._runner: Any = None
        self._session: Any = None

    async def ask(self, question: Any) -> str:
        """Return the last final response."""
        from google.genai import types

        if self._runner is None:
            await self._begin(question)
        said = types.Content(role="user", parts=[types.Part(text=question.asked)])
        answered, error = "", ""
        async for event in self._runner.run_async(
            user_id=USER, session_id=self._session.id, new_message=said
        ):
            error = getattr(event, "error_message", None) or error
            if event.is_final_response():
                answered = _text(event) or answered
        if not answered and error:
            raise question.refusal(f"the agent ended with an error: {error}")
        return answered

    async def _begin(self, question: Any) -> None:
        from google.adk.events import Event
        from google.adk.runners import InMemoryRunner
        from google.genai import types

        kinds = {one.__name__ for one in type(self._target).__mro__}
        if "App" in kinds:
            self._runner = InMemoryRunner(app=self._target)
        elif "BaseAgent" in kinds:
            self._runner = InMemoryRunner(agent=self._target, app_name="gateval")
        else:
            self._runner = InMemoryRunner(node=self._target, app_name="gateval")
        sessions = self._runner.session_service
        self._session = await sessions.create_session(app_name=self._runner.app_name, user_id=USER)
        name = getattr(self._target, "name", "agent")
        for role, text in question.spoken():
            own = role == "assistant"
            content = types.Content(role="model" if own else "user", parts=[types.Part(text=text)])
            event = Event(author=name if own else USER, content=content)
            await sessions.append_event(self._session, event)


def described(file: str) -> Any:
    """Return the agent that a file describes (`root_agent.yaml`)."""
    from google.adk.agents.config_agent_utils import from_config

    return from_config(file)


def _text(event: Any) -> str:
    parts = (event.content.parts if event.content else None) or []
    return "".join(one.text for one in parts if one.text and not one.thought)
