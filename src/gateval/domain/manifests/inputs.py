"""An input as people write it in a row or an example, as that of a fixture."""

from __future__ import annotations

from pydantic import JsonValue

from gateval.domain.base import canonical_json
from gateval.domain.manifests.fixture import FixtureInput, InputType


def input_of(written: JsonValue) -> FixtureInput:
    """Return an input as that of a fixture: text is a prompt, anything else a payload."""
    if isinstance(written, dict):
        return FixtureInput(type=InputType.WEBHOOK, payload=written)
    text = written if isinstance(written, str) else canonical_json(written)
    return FixtureInput(type=InputType.PROMPT, payload={"prompt": text})
