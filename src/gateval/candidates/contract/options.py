"""The keys of the runtimes `command` and `agentv`, as manifests have them: how a program is asked.

They stand apart from what uses them: `plan` reads manifests and runs nothing.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from gateval.candidates.bounded import json_path, template
from gateval.domain.base import Spec


def _json_path(expression: str) -> str:
    json_path.check(expression)
    return expression


JsonPath = Annotated[str, AfterValidator(_json_path)]


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


def _template(source: str) -> str:
    template.check(source)
    return source


def _file(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not parts or parts[0] == "/" or ".." in parts:
        raise ValueError("the file is named relative to the program's HOME, without `..`")
    return path


class CommandResponse(Response):
    """Where the answer stands in what the program printed, or in a file that it wrote."""

    file: Annotated[str, Field(max_length=500), AfterValidator(_file)] | None = Field(
        default=None,
        description="A file below the program's HOME that holds the answer, in place of what it "
        "prints: `answer.json`. `{home}/answer.json` names it in `command`.",
    )


class CommandOptions(Spec):
    """The keys of `command` beyond the shared ones. Each word of `command` is a template; `{home}`
    in it is the program's HOME.
    """

    stdin: Annotated[str, AfterValidator(_template)] | None = Field(
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
