"""A call of a model in neutral form, of texts measured too, and what became of the calls of a
trial.

A program may catch the error of every call it makes and print something all the same. Such an
answer no model gave, and whose fault that is, the other side of the same run tells.

What models are offered: the system prompt, the tools, the parameters, as they stand on the wire.

Whatever framework writes the requests.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from pydantic import Field

from gateval.domain.base import Count, JsonObject, Value, Word


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


class Caller(Value):
    """Who makes a call, where calls are recorded or replayed.

    `address` is that of the trial's answer or judgement, `place` the names of the folders and of
    the file that its calls are in, and `asks` a word for who asks. `drawn` are the values that were
    drawn at random for it (keys, ports, nonces), which no recording holds.
    """

    address: str
    place: tuple[str, ...]
    asks: str
    drawn: tuple[str, ...] = ()


class SentBatch(Value):
    """A batch: the model, the names of its requests, and its id; empty while it is being made."""

    model: str
    asked: tuple[str, ...]
    id: str = Field(default="", pattern=r"^[A-Za-z0-9_-]{0,200}$")


class BatchBook(Value):
    """All batches of a command, in the order in which they were sent; `draw` is what it drew at
    random for them, empty where it drew nothing.
    """

    version: str = "batches.v1"
    batches: tuple[SentBatch, ...] = ()
    draw: str = Field(default="", pattern=r"^[0-9a-f]{0,64}$", exclude_if=operator.not_)


NO_BATCHES = BatchBook()


class ModelRequest(Value):
    """One generation request. `model` is the bare model id, without the provider's name.

    `continues` is the id of a stored reply whose conversation goes on with these messages. `draw`
    names the trial for scripted models, which draw anew for each, and `caller` who asks, where
    calls are recorded; neither leaves the gate. `answer_schema` is the JSON Schema of the reply,
    for models whose provider holds them to one. `settings` are the other parameters that a program
    sets, as text, each with its name on the wire. With system messages and so many characters of
    the first user message (`shared_start`) other requests begin, too: worth a place in a cache.
    """

    model: str
    draw: str = ""
    caller: Caller | None = None
    continues: str = ""
    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...] = ()
    temperature: float | None = None
    max_tokens: int | None = None
    answer_schema: JsonObject | None = None
    settings: tuple[str, ...] = ()
    shared_start: Count = 0


class Usage(Value):
    """Tokens as the provider counted them; None is unknown, never zero.

    Of the input, `cached_tokens` were read from the provider's cache and `cache_write_tokens`
    written to it. Reasoning is part of the output. `usd` is what the tokens cost by the provider's
    list, in US dollars; None where nobody knows. `unpriced` names the models, as
    `provider/model-id`, that the list lacks.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: Count = 0
    cache_write_tokens: Count = 0
    usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    unpriced: tuple[str, ...] = ()

    @property
    def total(self) -> int | None:
        """Input plus output, or None when either is unknown."""
        if self.input_tokens is None or self.output_tokens is None:
            return None
        return self.input_tokens + self.output_tokens


class StopReason(Word):
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
    names one: prices may depend on it. `fingerprint` is what it calls the machinery that answered.
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
    fingerprint: str = ""


class InputKind(Word):
    """What is wanted of the texts: a vector for each, or whether it offends, and by what."""

    EMBEDDING = "embedding"
    MODERATION = "moderation"


class InputRequest(Value):
    """One request. `model` is the bare model id, without the provider's name.

    `dimensions` is how many numbers a vector shall have; None leaves it to the model. `is_tokens`
    says that the texts are numbers of tokens, which only one family of models understands.
    """

    model: str
    texts: tuple[str, ...]
    dimensions: int | None = None
    is_tokens: bool = False


class InputReply(NamedTuple):
    """What came of the texts, in their order.

    `vectors` holds one for each, `flags` the categories by which each offends; the other of the two
    is empty. `usage` is None where a call costs no tokens.
    """

    vectors: Sequence[Sequence[float]] = ()
    flags: Sequence[frozenset[str]] = ()
    usage: Usage | None = Usage()
    model: str = ""


SAID_LIMIT = 300
"""Characters kept of why calls were refused."""


class RefusedBy(Word):
    """Who refused the calls of a trial of which none succeeded, in the end.

    `provider`: it refuses what was asked (no such model, a wrong parameter); `gateway`: the gate's
    own rules do (a model that the Agent does not name, a limit); `outage`: the provider was down,
    refused the key, or is not set up, which is no fault of who asked.
    """

    PROVIDER = "provider"
    GATEWAY = "gateway"
    OUTAGE = "outage"


class CallsMade(Value):
    """How many model calls a trial made, and how many of them a model answered.

    `inputs` of them had texts measured (embeddings, moderation), of which `inputs_answered` were.
    `refused_by` says who refused the others, None where nobody did: the caller gave up. `status` is
    the HTTP status of a provider's refusal, and `said` are its words, or the gate's, cut at
    `SAID_LIMIT`.
    """

    made: Count = 0
    answered: Count = 0
    inputs: Count = 0
    inputs_answered: Count = 0
    refused_by: RefusedBy | None = None
    status: int | None = None
    said: str = ""

    @property
    def talks(self) -> int:
        """The calls that asked a model for words."""
        return self.made - self.inputs

    @property
    def unanswered(self) -> bool:
        """Whether calls were made and no model answered one.

        Where a model was asked for words, texts that were measured beside that are no answer.
        """
        if self.talks:
            return self.answered == self.inputs_answered
        return self.made > 0 and self.answered == 0

    @property
    def is_refused(self) -> bool:
        """Whether all calls failed because of what was asked, as they will the next time."""
        wanted = {RefusedBy.PROVIDER, RefusedBy.GATEWAY}
        return self.unanswered and self.refused_by in wanted

    @property
    def why(self) -> str:
        """Why no call succeeded, as a sentence."""
        many = "its only model call" if self.made == 1 else f"all {self.made} model calls"
        if self.refused_by is None:
            return f"The agent gave up {many} before a model answered."
        who = "The gateway refused" if self.refused_by is RefusedBy.GATEWAY else "No model answered"
        return f"{who} {many}: {self.said}" if self.said else f"{who} {many}."

    @property
    def shut(self) -> CallsMade:
        """The same without anybody's words and without how often: what decides."""
        made, answered = min(self.made, 1), 0 if self.unanswered else min(self.answered, 1)
        measured = 0 if self.talks else made
        return CallsMade(
            made=made,
            answered=answered,
            inputs=measured,
            inputs_answered=measured and answered,
            refused_by=self.refused_by,
        )


def add_calls(parts: Iterable[CallsMade | None]) -> CallsMade | None:
    """Return the calls of several turns together; None where nobody counted those of one."""
    every = [one for one in parts if one is not None]
    if not every:
        return None
    failed = next((one for one in reversed(every) if one.refused_by), every[-1])
    return failed.model_copy(
        update={
            key: sum(getattr(one, key) for one in every)
            for key in ("made", "answered", "inputs", "inputs_answered")
        }
    )


LINES_LIMIT = 2_000
"""Lines kept of the system prompts of one trial."""

TOOLS_LIMIT = 200
"""Tools kept of one trial."""

_REQUESTS = 100
"""Different requests of one trial that are looked at."""

_SETTINGS = 100
"""Parameters of one request that are kept."""

_LINE = 2_000


class ModelOffer(Value):
    """What models are offered in one trial, or in each of several.

    `system` are the lines of all system prompts, each once, in order. Parameters are those of
    every request, as text; one that is not set is not there.
    """

    models: tuple[str, ...] = ()
    system: tuple[str, ...] = ()
    tools: tuple[ToolDefinition, ...] = ()
    parameters: tuple[str, ...] = ()


class OffersOfTrial:
    """Collects what the requests of one trial offer, together."""

    def __init__(self) -> None:
        self._seen: set[object] = set()
        self._models: dict[str, None] = {}
        self._system: dict[str, None] = {}
        self._tools: dict[str, ToolDefinition] = {}
        self._last: tuple[ToolDefinition, ...] = ()
        self._parameters: dict[str, None] = {}

    def add(self, model: str, request: ModelRequest) -> None:
        """Take a request to `model` (`provider/model-id`)."""
        said = tuple(one.text for one in request.messages if one.role == "system")
        set_to = (("temperature", request.temperature), ("max_tokens", request.max_tokens))
        if request.tools != self._last:
            self._last = request.tools
            self._tools |= {tool.name: tool for tool in request.tools[:TOOLS_LIMIT]}
        seen = (model, said, set_to, request.settings)
        if seen in self._seen or len(self._seen) >= _REQUESTS:
            return
        self._seen.add(seen)
        self._models[model] = None
        self._system |= {line[:_LINE]: None for text in said for line in text.splitlines()}
        given = (f"{name} {value:g}" for name, value in set_to if value is not None)
        self._parameters |= dict.fromkeys((*given, *request.settings[:_SETTINGS]))

    def found(self) -> ModelOffer | None:
        """Return what was offered; None where no model was asked."""
        if not self._models:
            return None
        return ModelOffer.of_known(
            models=tuple(self._models),
            system=tuple(self._system)[:LINES_LIMIT],
            tools=tuple(self._tools.values())[:TOOLS_LIMIT],
            parameters=tuple(self._parameters),
        )


def in_one_trial(offers: Iterable[ModelOffer | None]) -> ModelOffer | None:
    """Return what the turns of a trial offer together; None where no model was asked."""
    every = [one for one in offers if one is not None]
    if len(every) < 2:
        return every[0] if every else None
    tools = {tool.name: tool for one in every for tool in one.tools}
    lines = dict.fromkeys(line for one in every for line in one.system)
    return ModelOffer(
        models=tuple(dict.fromkeys(name for one in every for name in one.models)),
        system=tuple(lines)[:LINES_LIMIT],
        tools=tuple(tools.values())[:TOOLS_LIMIT],
        parameters=tuple(dict.fromkeys(each for one in every for each in one.parameters)),
    )
