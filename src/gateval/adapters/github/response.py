"""One answer of the API, before anyone has judged it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

_SAID_LIMIT = 300


class ApiResponse(NamedTuple):
    """Status, headers with lower-case names, and the body's text."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def ok(self) -> bool:
        """Whether the request was carried out. A redirect was not."""
        return 200 <= self.status < 300

    def json(self) -> Any:
        """The body; raises ValueError when it is no JSON. An empty body is None."""
        return json.loads(self.text) if self.text.strip() else None

    @property
    def said(self) -> str:
        """GitHub's own words on an error: its message and the first of its details."""
        try:
            content = self.json()
        except ValueError:
            return ""
        if not isinstance(content, dict):
            return ""
        words = [str(content.get("message") or "")]
        errors = content.get("errors")
        words.extend(
            str(error.get("message") or error) if isinstance(error, dict) else str(error)
            for error in (errors[:3] if isinstance(errors, list) else ())
        )
        return "; ".join(word.strip(" .") for word in words if word)[:_SAID_LIMIT]
