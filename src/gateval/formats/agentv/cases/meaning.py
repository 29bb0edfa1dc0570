"""What a case means, wherever it stands, as a digest."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue

from gateval.domain.base import digest
from gateval.domain.manifests.fixture import AssertionSpec, FixtureInput
from gateval.domain.manifests.fixtures.messages import Content
from gateval.domain.manifests.fixtures.reference import Reference


def fixture_digest(
    name: str,
    asked: FixtureInput,
    turns: Sequence[Content],
    reference: Reference,
    assertions: Sequence[AssertionSpec],
) -> str:
    """Return the SHA-256 of a fixture's meaning: its name, what it asks and what it expects."""
    said: list[JsonValue] = [
        turn if isinstance(turn, str) else [part.model_dump(mode="json") for part in turn]
        for turn in turns
    ]
    return digest(
        {
            "kind": "EvalFixture",
            "name": name,
            "input": asked.model_dump(mode="json"),
            "turns": said,
            "reference": reference.model_dump(mode="json"),
            "assertions": [one.meaning for one in assertions],
        }
    )
