"""A scripted model: a file of rules that answers like a model, for demos, examples and tests."""

from __future__ import annotations

from pydantic import Field

from gateval.domain.base import JsonObject, Spec, Value

SCRIPTED_FOLDER = ".gateval/scripted"
SCRIPTED_PROVIDER = "scripted"


class When(Spec):
    """Conditions of a rule; all that are given must hold. Texts match as substrings."""

    user: str | None = Field(default=None, description="Part of the last user message.")
    tool: str | None = Field(
        default=None, description="Part of the last message, which must be a tool result."
    )
    system: str | None = Field(default=None, description="Part of the system prompt.")
    turn: int | None = Field(
        default=None, ge=1, description="How many assistant messages came before, plus 1."
    )
    model: str | None = Field(default=None, description="The whole model id asked for.")


class ScriptedToolCall(Spec):
    """A tool call that the scripted model makes."""

    name: str = Field(min_length=1, description="The tool.")
    arguments: JsonObject = Field(default={}, description="Its arguments.")


class ScriptedRule(Spec):
    """When it applies, and what the model then says."""

    when: When = Field(default=When(), description="When the rule applies; always, if absent.")
    reply: str = Field(default="", description="What the model says.")
    tool_calls: tuple[ScriptedToolCall, ...] = Field(
        default=(), description="The tools that the model calls."
    )
    probability: float = Field(
        default=1.0,
        gt=0,
        le=1,
        description="The share of cases in which the rule applies, drawn from the seed, the "
        "conversation, the side and the repetition, so that a rerun draws the same.",
    )
    latency_seconds: float = Field(
        default=0.0, ge=0, le=600, description="Seconds that the answer takes."
    )


class ScriptedSpec(Spec):
    """A scripted model: rules that answer like a model. The first rule that applies answers."""

    description: str = Field(default="", description="What the script is for.")
    seed: int = Field(default=0, description="Where `probability` begins to draw.")
    rules: tuple[ScriptedRule, ...] = Field(
        min_length=1,
        description="The rules, in the order in which they are tried. A moderation flags the "
        "categories that the reply names.",
    )
    dimensions: int | None = Field(
        default=None,
        ge=1,
        le=4096,
        description="Numbers in an embedding, if the request does not say; 256, if absent.",
    )


class ScriptedModel(Value):
    """A scripted model as read from one revision; asked for as `scripted/NAME`."""

    name: str
    spec: ScriptedSpec
    path: str
    digest: str


def script_name(model: str | None) -> str | None:
    """Return NAME of `scripted/NAME`, else None."""
    prefix = f"{SCRIPTED_PROVIDER}/"
    return model.removeprefix(prefix) if model and model.startswith(prefix) else None
