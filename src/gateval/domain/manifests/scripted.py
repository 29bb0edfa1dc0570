"""A scripted model: a file of rules that answers like a model, for demos, examples and tests."""

from __future__ import annotations

from pydantic import Field

from gateval.domain.base import JsonObject, Spec, Value

SCRIPTED_FOLDER = ".gateval/scripted"
SCRIPTED_PROVIDER = "scripted"


class When(Spec):
    """Conditions of a rule; all that are given must hold. Texts match as substrings.

    `user`: the last user message; `tool`: the last message, which must be a tool result;
    `system`: the system prompt; `turn`: how many assistant messages came before, plus 1;
    `model`: the model id asked for.
    """

    user: str | None = None
    tool: str | None = None
    system: str | None = None
    turn: int | None = Field(default=None, ge=1)
    model: str | None = None


class ScriptedToolCall(Spec):
    """A tool call that the scripted model makes."""

    name: str = Field(min_length=1)
    arguments: JsonObject = {}


class ScriptedRule(Spec):
    """When it applies, and what the model then says.

    `probability` in (0, 1]: the rule applies only in that share of cases, drawn from the script's
    seed and the conversation, so a rerun draws the same.
    """

    when: When = When()
    reply: str = ""
    tool_calls: tuple[ScriptedToolCall, ...] = ()
    probability: float = Field(default=1.0, gt=0, le=1)
    latency_seconds: float = Field(default=0.0, ge=0, le=600)


class ScriptedSpec(Spec):
    """The whole file. The first rule that applies answers."""

    description: str = ""
    seed: int = 0
    rules: tuple[ScriptedRule, ...] = Field(min_length=1)


class ScriptedModel(Value):
    """A scripted model as read from one revision; asked for as `scripted/NAME`."""

    name: str
    spec: ScriptedSpec
    path: str
    digest: str
