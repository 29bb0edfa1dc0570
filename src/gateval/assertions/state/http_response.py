"""`httpResponse`: what a service of the playground answers when the agent is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, JsonValue, model_validator

from gateval.assertions.matching.final_message import NoText, quoted
from gateval.assertions.matching.json_match import matches
from gateval.assertions.state.base import JsonPath, StateAssertion
from gateval.assertions.state.contents import json_of, shown
from gateval.domain.manifests.fixtures.services import plain_path
from gateval.domain.trials.trial import Assessment

if TYPE_CHECKING:
    from gateval.candidates.playground.state import EndState
    from gateval.ports.local_http import LocalReply


class HttpResponse(StateAssertion):
    """A service of the playground answers this when the agent is done.

    The gate asks it, after the candidate has ended and before the service does. Redirects are not
    followed. A service that does not answer is an error.
    """

    type: ClassVar[str] = "httpResponse"
    asks_service: ClassVar[bool] = True

    service: str = Field(description="The name of the service in `playground.services`.")
    path: Annotated[str, Field(max_length=2000), AfterValidator(plain_path)] = Field(
        default="/", description="Path and query of the request."
    )
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"] = Field(
        default="GET", description="The method of the request."
    )
    body: JsonValue = Field(default=None, description="What is sent, as JSON; nothing if absent.")
    status: int | None = Field(
        default=200, ge=100, le=599, description="The status expected; `null` for any."
    )
    contains: str | None = Field(default=None, description="A text in the answer.")
    at: JsonPath | None = Field(
        default=None, description="The JSONPath of a value in the answer, which is then JSON."
    )
    value: JsonValue = Field(default=None, description="The value expected there.")
    timeout_seconds: float = Field(
        default=10.0, gt=0, le=120, description="How long the answer may take."
    )

    @model_validator(mode="after")
    def _names_a_value(self) -> Self:
        if self.at is None and "value" in self.model_fields_set:
            raise ValueError("`value` needs `at`, the JSONPath of what it is compared with")
        return self

    async def look(self, state: EndState) -> Assessment:
        """See the class."""
        from gateval.ports.local_http import LocalRequest
        from gateval.wire.json_text import write_json

        body = None if self.body is None else write_json(self.body)
        headers = (("Content-Type", "application/json"),) if body is not None else ()
        request = LocalRequest(self.method, self.path, headers, body)
        reply = await state.ask(self.service, request, self.timeout_seconds)
        text = reply.body.decode("utf-8", "replace")
        expected = f"`{self.service}` to answer {self.method} {self.path} with {self._asked()}"
        saw = f"status {reply.status} and {quoted(text)}"
        try:
            met = self._met(reply, text)
        except NoText as absent:
            return self.absent(expected=expected, saw=f"status {reply.status} and {absent}")
        return self.result(met=met, expected=expected, saw=saw)

    def _met(self, reply: LocalReply, text: str) -> bool:
        if self.status is not None and reply.status != self.status:
            return False
        if self.contains is not None and self.contains not in text:
            return False
        if self.at is None:
            return True
        return matches(self.value, json_of(text, self.at, "an answer"), subset=False)

    def _asked(self) -> str:
        asked = ["any status"] if self.status is None else [f"status {self.status}"]
        asked += [] if self.contains is None else [quoted(self.contains)]
        asked += [] if self.at is None else [f"{shown(self.value)} at `{self.at}`"]
        return " and ".join(asked)
