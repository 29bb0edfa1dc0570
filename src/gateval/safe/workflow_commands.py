"""Words to a GitHub Actions runner: workflow commands and the files that it reads. Pure.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands. Whatever
stands in a command's data is escaped here; whatever else is printed must be sanitised by `plain` or
`plain_line`, and stands between `stop_commands` and `resume_commands` besides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial

from gateval.domain.forge.check_run import Annotation, AnnotationLevel
from gateval.safe.redaction import secret_forms
from gateval.safe.sanitize import plain, plain_line

_LINE = 1_000
_OF_A_LEVEL = 10
"""A runner shows no more errors and no more warnings of a step."""

_NAME = re.compile(r"[a-z][a-z0-9-]*")
_TOKEN = re.compile(r"[0-9a-zA-Z_-]{16,}")


def mask_commands(secrets: Iterable[str]) -> tuple[str, ...]:
    """Return the commands that have the runner hide these secrets in every form of theirs."""
    return tuple(f"::add-mask::{_data(form)}" for form in secret_forms(secrets) if form.strip())


def stop_commands(token: str) -> str:
    """Return the command after which nothing is one until `resume_commands` of the same token."""
    _check(token)
    return f"::stop-commands::{token}"


def resume_commands(token: str) -> str:
    """Return the command that ends what `stop_commands` began."""
    _check(token)
    return f"::{token}::"


def _message_command(level: str, text: str) -> str:
    return f"::{level} title=Gateval::{_data(plain_line(text, _LINE))}"


warning_command = partial(_message_command, "warning")
notice_command = partial(_message_command, "notice")
error_command = partial(_message_command, "error")
"""Each returns the command that shows a sentence as such a message of the run."""


def annotation_commands(found: Sequence[Annotation]) -> tuple[str, ...]:
    """Return the commands that mark lines of files, as many as a runner shows of one step."""
    shown = [
        annotation
        for level in AnnotationLevel
        for annotation in [one for one in found if one.level is level][:_OF_A_LEVEL]
    ]
    return tuple(_annotation(one) for one in found if one in shown)


def _annotation(one: Annotation) -> str:
    word = "error" if one.level is AnnotationLevel.FAILURE else "warning"
    where = f"file={_property(one.path)},line={one.line},title={_property(one.title)}"
    return f"::{word} {where}::{_data(plain(one.message, _LINE))}"


def file_entry(name: str, value: str, token: str) -> str:
    """Return the entry of an output or state file: `name` with any `value`.

    `token`, random per entry, ends the value. Raises ValueError when it occurs in it, or when the
    name is none.
    """
    _check(token)
    if not _NAME.fullmatch(name) or token in value:
        raise ValueError(f"the entry {name!r} cannot be written with this token")
    body = value.replace("\r\n", "\n").replace("\r", "\n")
    return f"{name}<<{token}\n{body}\n{token}\n"


def _check(token: str) -> None:
    if not _TOKEN.fullmatch(token):
        raise ValueError("a token has at least 16 letters and digits")


def _property(text: str) -> str:
    """Escape a property of a command."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _data(text: str) -> str:
    """Escape the data of a command, as actions/toolkit does."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
