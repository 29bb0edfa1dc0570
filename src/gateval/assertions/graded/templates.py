"""Templates of judges' prompts: `{{ name }}` is filled in, what nobody knows stays as it stands.

A dotted name goes into what it names: `{{ metadata.language }}`.
"""

from __future__ import annotations

import re

from pydantic import JsonValue

from gateval.domain.base import JsonObject, canonical_json

_PLACE = re.compile(r"\{\{\s*([A-Za-z_][\w.-]{0,199})\s*\}\}")


def filled(template: str, words: JsonObject) -> str:
    """Return the template with every known name replaced, once: what is put in is not read again.

    A value that is no text becomes JSON, null becomes empty.
    """
    return _PLACE.sub(lambda found: _text(found[1], words, found[0]), template)


def _text(name: str, words: JsonObject, as_written: str) -> str:
    value: JsonValue = words
    for key in name.split("."):
        if not isinstance(value, dict) or key not in value:
            return as_written
        value = value[key]
    if value is None:
        return ""
    return value if isinstance(value, str) else canonical_json(value)
