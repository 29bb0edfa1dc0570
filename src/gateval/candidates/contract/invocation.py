"""How a trial reaches a program that reads no JSON from its input: as people write it. Pure.

The words of `command` and `stdin` are the templates that requests of servers are made of too.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, Field

from gateval.candidates.bounded import template
from gateval.candidates.contract.question import template_values, write_question
from gateval.candidates.contract.response import Response
from gateval.domain.base import Spec
from gateval.domain.manifests.fixture import FixtureInput


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
    response: CommandResponse = Field(
        default=CommandResponse(), description="Where the answer stands; by default it is printed."
    )


def write_words(
    words: tuple[str, ...], asked: FixtureInput, home: str, fill: Callable[[str], str] = str
) -> tuple[str, ...]:
    """Return the program and its arguments for one trial.

    `{home}`, and what `fill` replaces, count only where the manifest says them. Raises
    `TemplateError` when the fixture lacks what a template names.
    """
    if not any("{" in word for word in words):
        return words
    values, budget = template_values(asked), template.Budget()
    return tuple(
        "".join(
            fill(text.replace("{home}", home)) if literal else text
            for text, literal in template.render_text(word, values, budget)
        )
        for word in words
    )


def write_stdin(source: str | None, asked: FixtureInput) -> bytes:
    """Return what the program reads. Raises `TemplateError`."""
    if source is None:
        return write_question(asked)
    pieces = template.render_text(source, template_values(asked), template.Budget())
    return "".join(text for text, _ in pieces).encode("utf-8", "replace")
