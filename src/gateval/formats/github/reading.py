"""Reads one event payload: its size, its shape, and the branch names in it."""

from __future__ import annotations

import re
from typing import TypeVar

from pydantic import ValidationError

from gateval.domain.text.quoting import quote
from gateval.errors import UsageError
from gateval.formats.github.payloads import Payload

PAYLOAD_LIMIT = 25 * 1024 * 1024
"""Bytes of an event file. GitHub caps payloads at 25 MB."""

_WRONG_IN_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|\.lock(?:/|$)|^[-/.]|[/.]$")
"""What `git check-ref-format` refuses, and a little more."""

P = TypeVar("P", bound=Payload)


def parse_payload(kind: type[P], payload: bytes) -> P:
    """Return the payload as `kind`. Raises `UsageError` when it is too large or something else."""
    if len(payload) > PAYLOAD_LIMIT:
        raise UsageError(
            f"The event file has {len(payload):,} bytes; GitHub sends at most {PAYLOAD_LIMIT:,}."
        )
    try:
        return kind.model_validate_json(payload)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(
            f"The event file is not what GitHub sends: {where or 'as a whole'}: {first['msg']}.",
            hint="It is the file that GITHUB_EVENT_PATH names, and belongs to GITHUB_EVENT_NAME.",
        ) from None


def check_ref(name: str) -> str:
    """Return a branch's name as it is. Raises `UsageError` where it could be taken for more."""
    if not name or len(name) > 244 or name == "@" or _WRONG_IN_REF.search(name):
        raise UsageError(
            f"{quote(name)} cannot be the name of a branch.",
            hint="The event file says so; was it changed?",
        )
    return name
