"""The trace and the usage that a candidate claims in its answer.

Lenient in names, because agents have their own habits (`type` or `kind`, `arguments` or `input`)
and in further keys; strict in meaning: what cannot be read is an error, never half a trace.
"""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, JsonValue, ValidationError

from gateval.domain.base import JsonObject, canonical_json
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import STEPS_LIMIT, StepKind, TraceBuilder
from gateval.domain.trials.trial import Claimed


class ClaimError(ValueError):
    """A claim that cannot be read. `str()` of it is a clause to be put after `its answer:`."""


class _Claim(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)


C = TypeVar("C", bound=_Claim)


class _Step(_Claim):
    kind: StepKind = Field(validation_alias=AliasChoices("type", "kind"))
    text: JsonValue = Field(
        default=None, validation_alias=AliasChoices("text", "content", "result", "output")
    )
    tool: str | None = Field(default=None, validation_alias=AliasChoices("tool", "name"))
    arguments: JsonObject | None = Field(
        default=None, validation_alias=AliasChoices("arguments", "input")
    )
    call_id: str | int | None = Field(
        default=None, validation_alias=AliasChoices("call_id", "callId", "id")
    )
    seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)


_Amount = Annotated[float, Field(ge=0, le=10**12, strict=True, allow_inf_nan=False)]
_Tokens = Annotated[int, Field(ge=0, le=10**12, strict=True)]


class _Usage(_Claim):
    input_tokens: _Tokens | None = Field(
        default=None, validation_alias=AliasChoices("input_tokens", "inputTokens", "prompt_tokens")
    )
    output_tokens: _Tokens | None = Field(
        default=None,
        validation_alias=AliasChoices("output_tokens", "outputTokens", "completion_tokens"),
    )


class _Reported(_Claim):
    cost_usd: _Amount | None = None
    duration_ms: _Amount | None = None
    llm_call_count: _Tokens | None = None


def read_steps(claim: JsonValue) -> TraceBuilder:
    """Read the steps of a claimed trace, a list of objects. Raises `ClaimError`.

    Each has `type` (or `kind`), one of the step kinds; `text` (or `content`, `result`, `output`;
    what is no text becomes canonical JSON); for a tool call `tool` (or `name`) and `arguments` (or
    `input`), and the `seconds` that it took; for its result `tool`; `call_id` (or `id`) if there is
    one.
    """
    if not isinstance(claim, list):
        raise ClaimError("`trace` is no list of steps")
    if len(claim) > STEPS_LIMIT:
        raise ClaimError(f"`trace` has {len(claim)} steps, more than {STEPS_LIMIT}")
    builder = TraceBuilder()
    for index, item in enumerate(claim):
        where = f"trace[{index}]"
        step = _validated(_Step, item, where)
        calls = step.kind is StepKind.TOOL_CALL
        if calls and not step.tool:
            raise ClaimError(f"`{where}` is a tool call without `tool`")
        builder.add(
            step.kind,
            _as_text(step.text),
            tool=step.tool,
            arguments=(step.arguments or {}) if calls else None,
            call_id=None if step.call_id is None else str(step.call_id),
            took=step.seconds if calls else None,
        )
    return builder


def read_usage(claim: JsonValue) -> Usage:
    """Read claimed token counts; what is not said is unknown. Raises `ClaimError`."""
    usage = _validated(_Usage, claim, "usage")
    return Usage(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)


def read_reported(claim: JsonObject) -> tuple[float | None, Claimed]:
    """Read the dollars, the time and the model calls that an answer of AgentV reports.

    Raises `ClaimError`.
    """
    told = _validated(_Reported, claim, "")
    seconds = None if told.duration_ms is None else told.duration_ms / 1000
    return told.cost_usd, Claimed(seconds=seconds, model_calls=told.llm_call_count)


def _as_text(value: JsonValue) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else canonical_json(value)


def _validated(model: type[C], claim: JsonValue, where: str) -> C:
    try:
        return model.model_validate(claim)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        path = ".".join((*filter(None, (where,)), *(str(part) for part in first["loc"])))
        raise ClaimError(f"`{path}`: {first['msg'][:1].lower()}{first['msg'][1:]}")
