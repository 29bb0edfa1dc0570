"""How a trial reaches a program that reads no JSON from its input: as people write it. Pure.

The words of `command` and `stdin` are the templates that requests of servers are made of too.
"""

from __future__ import annotations

from collections.abc import Callable

from gateval.candidates.bounded import template
from gateval.candidates.contract.question import template_values, write_question
from gateval.domain.manifests.fixture import FixtureInput
from gateval.formats.templates.parts import TemplateError


def write_words(
    words: tuple[str, ...],
    asked: FixtureInput,
    home: str,
    fill: Callable[[str], str] = str,
    playground: str = "",
) -> tuple[str, ...]:
    """Return the program and its arguments for one trial.

    `{home}`, and what `fill` replaces, count only where the manifest says them. Raises
    `TemplateError` when the fixture lacks what a template names.
    """
    if not any("{" in word for word in words):
        return words
    values, budget = template_values(asked, playground), template.Budget()
    return tuple(
        "".join(
            fill(text.replace("{home}", home)) if literal else text
            for text, literal in template.render_text(word, values, budget)
        )
        for word in words
    )


def write_stdin(source: str | None, asked: FixtureInput, playground: str = "") -> bytes:
    """Return what the program reads. Raises `TemplateError`."""
    if source is None:
        return write_question(asked)
    values = template_values(asked, playground)
    pieces = template.render_text(source, values, template.Budget())
    return "".join(text for text, _ in pieces).encode("utf-8", "replace")


def one_line(written: bytes) -> bytes:
    """Return what a program that goes on reads in a turn. Raises `TemplateError`."""
    line = written.rstrip(b"\n")
    if b"\n" in line:
        raise TemplateError(
            "what it reads in a turn has to be one line; write `{{ prompt | tojson }}` in `stdin`"
        )
    return line + b"\n"
