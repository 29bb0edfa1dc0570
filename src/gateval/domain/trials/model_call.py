"""A model call in neutral form: what every wire format is read into and written from."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from gateval.domain.base import JsonObject, Value


class ToolDefinition(Value):
    """A tool offered to the model. `input_schema` is a JSON Schema of an object."""

    name: str
    description: str = ""
    input_schema: JsonObject = Field(default_factory=lambda: JsonObject(type="object"))


class ToolCall(Value):
    """The model's wish to call a tool.

    `arguments` is the parsed object. If the model sent text that is no JSON object, `arguments`
    is empty and `raw` holds that text. `by_provider` says that the tool is one of the provider's
    own, or of a server that it asks: the request need not define it by that name.
    """

    id: str
    name: str
    arguments: JsonObject = {}
    raw: str | None = None
    by_provider: bool = False


class MessageFile(Value):
    """A file or an image in a message: its content is `data`, in base64."""

    name: str
    media_type: str
    is_image: bool
    data: str

    @property
    def url(self) -> str:
        """The content as a `data:` URL (RFC 2397)."""
        return f"data:{self.media_type};base64,{self.data}"


class Message(Value):
    """One message of a conversation.

    Roles: `system` and `user` have `text`; `assistant` has `text` and/or `tool_calls`; `tool` has
    `text` (the result) and `tool_call_id`, and may say `is_error`. What a user says with files has
    `parts`, in order, and `text` then only names them.
    """

    role: Literal["system", "user", "assistant", "tool"]
    text: str = ""
    parts: tuple[str | MessageFile, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    is_error: bool = False


class ModelRequest(Value):
    """One generation request. `model` is the bare model id, without the provider's name.

    `continues` is the id of a stored reply whose conversation goes on with these messages. `draw`
    names the trial for scripted models, which draw anew for each; it never leaves the gate.
    """

    model: str
    draw: str = ""
    continues: str = ""
    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...] = ()
    temperature: float | None = None
    max_tokens: int | None = None


class Usage(Value):
    """Tokens as the provider counted them; None is unknown, never zero.

    Of the input, `cached_tokens` were read from the provider's cache and `cache_write_tokens`
    written to it. Reasoning is part of the output. `usd` is what the tokens cost by the provider's
    list, in US dollars; None where nobody knows. `unpriced` names the models, as
    `provider/model-id`, that the list lacks.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int = Field(default=0, ge=0)
    cache_write_tokens: int = Field(default=0, ge=0)
    usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    unpriced: tuple[str, ...] = ()

    @property
    def total(self) -> int | None:
        """Input plus output, or None when either is unknown."""
        if self.input_tokens is None or self.output_tokens is None:
            return None
        return self.input_tokens + self.output_tokens


class StopReason(StrEnum):
    """Why the model stopped, in neutral words."""

    END = "end"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    REFUSAL = "refusal"
    OTHER = "other"


class ModelReply(Value):
    """The model's answer. `model` is what the provider says answered, or the requested id.

    `id` is set where a later request can name the reply. `seconds` is how long the call took, its
    waits and its `retries` included, of which `waited` went by before the attempt that was
    answered; None and 0 before anybody measured. `tier` is the provider's class of service, if it
    names one: prices may depend on it.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    stop: StopReason = StopReason.END
    usage: Usage = Field(default_factory=Usage)
    model: str = ""
    id: str = ""
    seconds: float | None = None
    retries: int = 0
    waited: float = 0
    tier: str = ""
