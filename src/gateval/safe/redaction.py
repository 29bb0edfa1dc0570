"""Takes secrets out of everything that is going to be shown or stored, before it is rendered.

It works on values, not on rendered text: escaping and invisible breaks would hide a secret from a
search, and cutting to a length could leave half of one. A secret that is disguised by invisible
characters, which the sanitiser would remove, is found all the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from enum import Enum
from typing import TypeVar, cast

from gateval.domain.base import Value
from gateval.domain.text.secrets import secret_forms
from gateval.safe.hardening import visible

MARK = "[secret removed]"

_ODD = re.compile(r"[^\n\r\t -~]")
"""Characters that can hide others. Most texts have none and need no closer look."""

_ODD_IN_JSON = ("\x7f", "\\u", "\\b", "\\f")
"""The same as ASCII that is JSON holds them, and some of what is none."""

_WITHOUT_TEXT = frozenset({int, float, bool, type(None)})

V = TypeVar("V", bound=Value)


class Redactor:
    """Replaces every known form of the given secrets by `MARK`."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._forms = secret_forms(secrets)
        self._in_json = tuple(json.dumps(form, ensure_ascii=False)[1:-1] for form in self._forms)

    def __repr__(self) -> str:
        return f"Redactor({len(self._forms)} forms)"

    def text(self, text: str) -> str:
        """Return `text` without secrets; text without any comes back as it is."""
        if not self._forms:
            return text
        if self._holds(text):
            text = self._replace(text)
        if _ODD.search(text) is None:
            return text
        shown = visible(text)
        return self._replace(shown) if self._holds(shown) else text

    def value(self, value: V) -> V:
        """Return a value with every text in it redacted, however deep; keys of mappings too."""
        if not self._forms or self._is_clean(value):
            return value
        return cast("V", self._walk(value))

    def _is_clean(self, value: Value) -> bool:
        """Whether its JSON shows already that no text in it is to be changed, as of most values."""
        try:
            text = value.model_dump_json(serialize_as_any=True, warnings=False)
        except ValueError:  # half of a surrogate pair
            return False
        if not text.isascii() or any(part in text for part in _ODD_IN_JSON):
            return False
        return not any(form in text for form in self._in_json)

    def _holds(self, text: str) -> bool:
        for form in self._forms:  # noqa: SIM110 - a loop is quicker, and all texts come here
            if form in text:
                return True
        return False

    def _replace(self, text: str) -> str:
        for form in self._forms:
            text = text.replace(form, MARK)
        return text

    def _walk(self, part: object) -> object:
        kind = type(part)
        if kind in _WITHOUT_TEXT:
            return part
        if kind is str:
            return self.text(cast("str", part))
        if isinstance(part, Value):
            return self._fields(part)
        if isinstance(part, tuple | list):
            items = [self._walk(item) for item in part]
            return type(part)(items) if _moved(part, items) else part
        if isinstance(part, dict):
            redacted = {self._walk(key): self._walk(item) for key, item in part.items()}
            return redacted if redacted != part else part
        if isinstance(part, str) and not isinstance(part, Enum):
            return self.text(part)
        return part

    def _fields(self, value: Value) -> Value:
        """Copy without validation: a mark in the place of a name may break the name's pattern."""
        held, moved = value.__dict__, {}
        for name in type(value).model_fields:
            part = held[name]
            redacted = self._walk(part)
            if redacted is not part:
                moved[name] = redacted
        return value.model_copy(update=moved) if moved else value


def _moved(before: Iterable[object], after: Iterable[object]) -> bool:
    return any(one is not other for one, other in zip(before, after, strict=True))
