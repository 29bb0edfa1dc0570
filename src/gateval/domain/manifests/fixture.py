"""The EvalFixture manifest: one input and the assertions on what comes of it."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field, JsonValue

from gateval.domain.base import JsonObject, Name, Spec, Value, canonical_json
from gateval.domain.manifests.severity import Severity, Weight
from gateval.domain.repository.place import Place


class FixtureKind(StrEnum):
    """The purpose of a fixture. The gate treats all three alike."""

    GOLDEN = "golden"
    BAD = "bad"
    EDGE = "edge"


class InputType(StrEnum):
    """Where the input would come from in production."""

    WEBHOOK = "webhook"
    PROMPT = "prompt"
    TELEGRAM = "telegram"
    SLACK = "slack"
    EMAIL = "email"


class FixtureInput(Spec):
    """The input of one fixture."""

    type: InputType = Field(description="Where the input would come from.")
    payload: JsonObject = Field(
        description="What comes in. The agent's prompt is `prompt` or `text` in it if that is "
        "text, else all of it as JSON."
    )

    @property
    def prompt(self) -> str:
        """`payload.prompt` or `payload.text` if it is text, else the payload as canonical JSON."""
        for key in ("prompt", "text"):
            value = self.payload.get(key)
            if isinstance(value, str):
                return value
        return canonical_json(self.payload)


class AssertionSpec(Value):
    """One assertion as written: the fields all have, and its own ones in `options`.

    `options` (camelCase keys as in YAML) was checked by the assertion's own model when the
    fixture was read. `severity` weighs the assertion inside its fixture; None is the fixture's.
    """

    type: str
    weight: Weight = 1.0
    severity: Severity | None = None
    axis: str | None = None
    options: JsonObject = {}
    needs_judge: bool = False
    place: Place


class ToolReplay(Spec):
    """A recorded answer of a tool.

    It answers calls of `tool`; with `arguments`, only calls with exactly these arguments. Among the
    entries that match a call equally, the nth answers the nth such call and the last one all
    further calls. With `error`, the tool fails with that text.
    """

    tool: str = Field(min_length=1, description="The tool whose calls are answered.")
    arguments: JsonObject | None = Field(
        default=None, description="Answer only calls with exactly these arguments."
    )
    result: JsonValue = Field(default=None, description="What the tool answers.")
    error: str | None = Field(default=None, description="The text that the tool fails with.")


class Origin(Spec):
    """Where a promoted fixture came from."""

    trace_id: str | None = Field(default=None, description="The trace it was taken from.")
    promoted_at: str | None = Field(default=None, description="When it was taken, in quotes.")
    promoted_by: str | None = Field(default=None, description="Who took it.")


class Fixture(Value):
    """An EvalFixture as read from one revision. `digest` covers its meaning, without places.

    `places` maps `spec.KEY` to the place of that key. `family` is the name of the manifest whose
    file of cases it is from, empty for a fixture of its own; `place` is the line of the case.
    """

    kind: Literal["EvalFixture"] = "EvalFixture"
    name: Name
    labels: dict[str, str] = {}
    target_agent: Name | None = None
    fixture_kind: FixtureKind = FixtureKind.GOLDEN
    severity: Severity = Severity.MEDIUM
    description: str = ""
    origin: Origin | None = None
    input: FixtureInput
    assertions: tuple[AssertionSpec, ...] = Field(min_length=1)
    tool_replay: tuple[ToolReplay, ...] = ()
    shadow_tools: tuple[str, ...] = ()
    place: Place
    places: dict[str, Place] = {}
    path: str
    digest: str
    family: str = ""
