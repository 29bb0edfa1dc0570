"""What people write for the runtime `http`, checked when the manifest is read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, field_validator, model_validator

from gateval.candidates.bounded import template
from gateval.candidates.contract.options import Response
from gateval.domain.base import Spec
from gateval.domain.manifests.fixtures.services import Ready, plain_path
from gateval.formats.templates.parts import TemplateError

BODY_PARTS_LIMIT = 500
"""Values in the body of a request."""

_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_OURS = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers that belong to the connection, which is the gate's."""


Path = Annotated[str, Field(max_length=2000)]


class Request(Spec):
    """The request of a trial. `path`, `headers` and `body` are templates."""

    path: Path = Field(description="Path and query, a template: `/orders/{{ input.payload.id }}`.")
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

    @field_validator("path")
    @classmethod
    def _usable_path(cls, path: str) -> str:
        template.check(path)
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

    @model_validator(mode="after")
    def _no_body_where_none_is_sent(self) -> Self:
        if self.body is not None and self.method in {"GET", "DELETE"}:
            raise ValueError(f"a {self.method} request has no body; use `path` or `headers`")
        return self


class HttpOptions(Spec):
    """The keys of `http` beyond the shared ones. `{port}` in `command` and `env` is its port."""

    ready: Ready = Field(default=Ready(), description="When the server can be asked.")
    request: Request = Field(description="What is sent in each trial.")
    response: Response = Field(
        default=Response(), description="Where the answer stands in the response."
    )
    instances: int = Field(
        default=4, ge=1, le=256, description="Servers side by side; one trial at a time each."
    )
    restart: Literal["never", "perTrial"] = Field(
        default="never", description="Whether each trial gets a server of its own."
    )


def _checked(where: str, text: str) -> None:
    try:
        template.check(text)
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
