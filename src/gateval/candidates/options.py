"""The keys of the runtimes that start programs, as manifests have them.

They stand apart from what uses them: `plan` reads manifests and runs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, JsonValue, field_validator, model_validator

from gateval.candidates import bounded
from gateval.candidates.presets import PRESETS
from gateval.domain.base import Spec
from gateval.domain.manifests.playground import Ready, plain_path
from gateval.domain.paths import nearest
from gateval.domain.text import quote
from gateval.formats.templates import TemplateError


def _checked_by(check: Callable[[Any], None]) -> AfterValidator:
    def checked(value: Any) -> Any:
        check(value)
        return value

    return AfterValidator(checked)


JsonPath = Annotated[str, _checked_by(bounded.check_path)]
Template = Annotated[str, _checked_by(bounded.check_template)]


class Response(Spec):
    """Where the answer stands in what an agent gives back. Without `output`, all of it is the
    answer, as text or as `{"output", "trace"?, "usage"?}`.
    """

    output: JsonPath | None = Field(
        default=None, description="JSONPath (RFC 9535) of the final message: `$.reply`."
    )
    trace: JsonPath | None = Field(
        default=None, description="JSONPath of the steps, if the agent tells them."
    )
    usage: JsonPath | None = Field(
        default=None, description="JSONPath of the token counts, if the agent tells them."
    )

    @model_validator(mode="after")
    def _output_first(self) -> Self:
        if self.output is None and (self.trace or self.usage):
            raise ValueError("`trace` and `usage` need `output`: where the final message stands")
        return self


class HttpResponseOptions(Response):
    """Where the answer stands in a response, which may be a stream."""

    stream: (
        Literal[
            "sse", "ndjson", "aisdk", "openai", "anthropic", "ag-ui", "chatkit", "langserve", "a2a"
        ]
        | None
    ) = Field(
        default=None,
        description="What kind of stream the response is. `sse` and `ndjson` take `output`, which "
        "finds a text in each event or line; the others know their final message.",
    )
    join: bool = Field(
        default=True,
        description="Whether the texts of a stream are one message; else the last one is it.",
    )

    @model_validator(mode="after")
    def _texts_of_streams(self) -> Self:
        if self.stream in {"sse", "ndjson"} and self.output is None:
            raise ValueError(f"`stream: {self.stream}` needs `output`: where a text of it stands")
        if self.stream not in {None, "sse", "ndjson"} and self.output is not None:
            raise ValueError(f"`stream: {self.stream}` knows its final message; remove `output`")
        if self.stream is not None and (self.trace or self.usage):
            raise ValueError("nothing is read of a stream but its final message: remove `trace`")
        return self


def _check_file(path: str) -> None:
    parts = PurePosixPath(path).parts
    if not parts or parts[0] == "/" or ".." in parts:
        raise ValueError("the file is named relative to the program's HOME, without `..`")


class CommandResponse(Response):
    """Where the answer stands in what the program printed, or in a file that it wrote."""

    file: Annotated[str, Field(max_length=500), _checked_by(_check_file)] | None = Field(
        default=None,
        description="A file below the program's HOME that holds the answer, in place of what it "
        "prints: `answer.json`. `{home}/answer.json` names it in `command`.",
    )


class CommandOptions(Spec):
    """The keys of `command` beyond the shared ones. Each word of `command` is a template; `{home}`
    in it is the program's HOME.
    """

    stdin: Template | None = Field(
        default=None,
        description="What the program reads on its standard input, a template: `{{ prompt }}`. "
        'Default: `{"version": 1, "input": {"type", "payload"}, "prompt"}` on one line.',
    )
    greeting: int = Field(
        default=0,
        ge=0,
        le=100,
        description="Lines that a program prints before it is asked, with `conversation: process`: "
        "they are waited for, and are no answer.",
    )
    response: CommandResponse = Field(
        default=CommandResponse(), description="Where the answer stands; by default it is printed."
    )


class AgentvOptions(Spec):
    """The keys of `agentv` beyond the shared ones; `command` is none of them."""

    line: str = Field(
        min_length=1,
        max_length=4_000,
        description="The command line, for a shell: `{PROMPT}` stands for the question, "
        "`{PROMPT_FILE}` for a file that holds it, `{FILES}` for the files of the case, "
        "`{OUTPUT_FILE}` for the file that takes the answer; without it, the answer is printed.",
    )
    files_format: str | None = Field(
        default=None,
        max_length=500,
        description="How each file stands in `{FILES}`: `--file {path}`, with `{basename}` for its "
        "name. Default: its path.",
    )


PYTHON_FRAMEWORKS = (
    "openai-agents", "langgraph", "google-adk", "crewai", "pydantic-ai", "smolagents",
    "llama-index", "claude-agent-sdk", "agent-framework", "agno", "strands", "autogen",
    "callable",
)  # fmt: skip
NODE_FRAMEWORKS = (
    "agentkit", "ai-sdk", "beeai", "google-adk", "langgraph", "llama-index", "mastra",
    "openai-agents", "strands", "route", "callable",
)  # fmt: skip

_INTERPRETER = "The command that starts the interpreter that has what the agent imports. Default: "
_FRAMEWORK = (
    "What the object is of, where that is not to be seen from it; or the file of a bridge of one's "
    "own, relative to `cwd`. Known: "
)


def _check_words(words: tuple[str, ...]) -> None:
    if any("{" in word or "\0" in word for word in words):
        raise ValueError("nothing is filled in here: write words without braces")


Interpreter = Annotated[tuple[str, ...], _checked_by(_check_words)]


def _framework(known: tuple[str, ...], *endings: str) -> AfterValidator:
    def check(name: str) -> None:
        own_file = name.endswith(endings) and not name.startswith("/") and "\0" not in name
        if name not in known and not own_file:
            raise ValueError(
                f"{quote(name)} is no framework that is known here.{nearest(name, known)} Known "
                f"are {', '.join(known)}, or the file of a bridge of your own "
                f"({' or '.join(endings)})"
            )

    return _checked_by(check)


PythonFramework = Annotated[str, _framework(PYTHON_FRAMEWORKS, ".py")]
NodeFramework = Annotated[str, _framework(NODE_FRAMEWORKS, ".mjs", ".js")]


class PythonOptions(Spec):
    """The keys of `python` beyond the shared ones; `command` is none of them."""

    target: str = Field(
        max_length=500,
        pattern=r"^[\w.][\w./-]*(:[\w.-]+(\(\))?)?$",
        description="What answers: `module:object`, `path/to/file.py:object` or `langgraph.json`, "
        "relative to `cwd`. With `()` behind it, what it makes when it is called.",
    )
    framework: PythonFramework = Field(
        default="", description=_FRAMEWORK + ", ".join(PYTHON_FRAMEWORKS) + "."
    )
    interpreter: Interpreter = Field(
        default=(), description=f"{_INTERPRETER}`.venv/bin/python` if it is there, else `python3`."
    )


class NodeOptions(Spec):
    """The keys of `node` beyond the shared ones; `command` is none of them."""

    target: str = Field(
        max_length=500,
        pattern=r"^[\w.@\[(+][\w./@()\[\]+-]*(:[\w$.-]+(\(\))?)?$",
        description="What answers: `path/to/file.mjs:export`, relative to `cwd`; without an "
        "export, `POST` of a route, or the only one that can be asked. With `()` behind it, what "
        "it makes.",
    )
    framework: NodeFramework = Field(
        default="", description=_FRAMEWORK + ", ".join(NODE_FRAMEWORKS) + "."
    )
    interpreter: Interpreter = Field(default=(), description=f"{_INTERPRETER}`node`, 20 or newer.")


BODY_PARTS_LIMIT = 500
"""Values in the body of a request."""

_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_OURS = frozenset({
    "accept-encoding", "connection", "content-encoding", "content-length", "expect", "host",
    "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
})  # fmt: skip
"""Headers that belong to the connection, which is the gate's."""


Path = Annotated[str, Field(max_length=2000)]


class PlainRequest(Spec):
    """A request to the server. `path`, `headers`, `body` and `form` are templates."""

    path: Path = Field(
        default="",
        description="Path and query, a template: `/orders/{{ input.payload.id }}`. Required "
        "without `preset`.",
    )
    method: Literal["POST", "PUT", "PATCH", "GET", "DELETE"] = Field(
        default="POST", description="The HTTP method."
    )
    headers: dict[str, str] = Field(
        default={}, max_length=50, description="Further headers; their values are templates."
    )
    body: JsonValue = Field(
        default=None,
        description="The body, sent as JSON; every text in it is a template. Default: "
        '`{"version": 1, "input": {"type", "payload"}, "prompt"}`; none for GET and DELETE.',
    )
    form: dict[str, str] | None = Field(
        default=None,
        max_length=100,
        description="In place of `body`: the fields of a form as a page sends it "
        "(`application/x-www-form-urlencoded`); their values are templates.",
    )

    @field_validator("path")
    @classmethod
    def _usable_path(cls, path: str) -> str:
        if path:
            bounded.check_template(path, sent=True)
            plain_path(re.sub(r"\{\{.*?\}\}", "x", path))
        return path

    @field_validator("headers")
    @classmethod
    def _usable_headers(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            if not _HEADER.fullmatch(name):
                raise ValueError(f"`{name[:60]}` cannot name a header")
            if name.lower() in _OURS:
                raise ValueError(f"`{name}` belongs to the connection; remove it")
            _checked(name, value)
        return headers

    @field_validator("body")
    @classmethod
    def _usable_body(cls, body: JsonValue) -> JsonValue:
        for number, (where, text) in enumerate(_texts(body), 1):
            if number > BODY_PARTS_LIMIT:
                raise ValueError(f"a body may hold {BODY_PARTS_LIMIT} values")
            if isinstance(text, str):
                _checked(where, text)
        return body

    @field_validator("form")
    @classmethod
    def _usable_form(cls, form: dict[str, str] | None) -> dict[str, str] | None:
        for name, value in (form or {}).items():
            _checked(f"form.{name}", value)
        return form

    def texts(self) -> Iterator[str]:
        """Yield all templates of the request."""
        yield from (self.path, *self.headers.values(), *(self.form or {}).values())
        yield from (text for _, text in _texts(self.body) if isinstance(text, str))

    @model_validator(mode="after")
    def _no_body_where_none_is_sent(self) -> Self:
        sent = self.body is not None or self.form is not None
        if sent and self.method in {"GET", "DELETE"}:
            raise ValueError(f"a {self.method} request has no body; use `path` or `headers`")
        if self.form is not None and self.body is not None:
            raise ValueError("a `form` is all of a body: remove `body`, or `form`")
        return self


class BeginRequest(PlainRequest):
    """A request that begins a trial: a login, a conversation."""

    body: JsonValue = Field(
        default=None,
        description="The body, sent as JSON; every text in it is a template. Default: `{}`; none "
        "for GET and DELETE.",
    )

    @model_validator(mode="after")
    def _says_where(self) -> Self:
        if not self.path:
            raise ValueError("say where the server is asked: `path`")
        return self


class Request(PlainRequest):
    """The request of a trial. `path`, `headers`, `body` and `form` are templates."""

    preset: (
        Literal[
            "aisdk", "openai", "openai-responses", "anthropic", "ag-ui", "chatkit", "langserve",
            "a2a",
        ]
        | None
    ) = Field(
        default=None,
        description="The protocol that the server speaks. It says path, body and what kind of "
        "stream the response is; `path` and `response` stand in for its own, keys of `body` beside "
        "its own. Where an `a2a` agent is asked, and how, its card says.",
    )  # fmt: skip
    begin: dict[Annotated[str, Field(pattern=r"^[A-Za-z]\w{0,39}$")], BeginRequest] = Field(
        default={},
        max_length=5,
        description="Requests by name that begin each trial, in this order: a login, a "
        "conversation. What they answer is `{{ begun.NAME.KEY }}` in later ones.",
    )

    @model_validator(mode="after")
    def _names_what_begins(self) -> Self:
        known: list[str] = []
        sent: dict[str, PlainRequest] = {**self.begin, "": self}
        for name, one in sent.items():
            named = [word for text in one.texts() for word in bounded.begun_in(text)]
            if strange := [word for word in named if (word or not known) and word not in known]:
                before = ", ".join(f"`{word}`" for word in known) or "none"
                what = f"begun.{strange[0]}".rstrip(".")
                raise ValueError(
                    f"{f'`begin.{name}`' if name else 'a template'} names `{what}`, which "
                    f"no request before it gives (before it: {before}); write it under `begin`"
                )
            known.append(name)
        return self

    @model_validator(mode="after")
    def _fits_its_protocol(self) -> Self:
        if self.form is not None and self.preset is not None:
            raise ValueError("a `form` is all of a body: remove `preset`, or `form`")
        if self.preset is None and not self.path:
            raise ValueError("say where the server is asked: `path`, or `preset` of its protocol")
        if self.preset is not None and not (
            self.method == "POST" and isinstance(self.body, dict | None)
        ):
            raise ValueError(
                "a `preset` is sent by POST, and `body` beside it holds keys of an object"
            )
        return self


class HttpOptions(Spec):
    """The keys of `http` beyond the shared ones. `{port}` in `command` and `env` is its port."""

    ready: Ready = Field(default=Ready(), description="When the server can be asked.")
    request: Request = Field(description="What is sent in each trial.")
    response: HttpResponseOptions = Field(
        default=HttpResponseOptions(),
        description="Where the answer stands in the response. With `request.preset`, by default "
        "its protocol says.",
    )
    instances: int = Field(
        default=4, ge=1, le=256, description="Servers side by side; one trial at a time each."
    )
    restart: Literal["never", "perTrial"] = Field(
        default="never", description="Whether each trial gets a server of its own."
    )

    @property
    def answer(self) -> HttpResponseOptions:
        """How the response is read: as written, else as the protocol says."""
        if self.request.preset is None or "response" in self.model_fields_set:
            return self.response
        return HttpResponseOptions.model_validate({"stream": PRESETS[self.request.preset].stream})


def _checked(where: str, text: str) -> None:
    try:
        bounded.check_template(text, sent=True)
    except TemplateError as error:
        raise ValueError(f"`{where[:80]}`: {error}") from None


def _texts(body: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """Yield each value of a body with the way to it, without recursion."""
    todo: list[tuple[str, JsonValue]] = [("body", body)]
    while todo:
        where, value = todo.pop()
        yield where, value
        if isinstance(value, dict):
            todo += [(f"{where}.{key}", inner) for key, inner in value.items()]
        elif isinstance(value, list):
            todo += [(f"{where}[{index}]", inner) for index, inner in enumerate(value)]
