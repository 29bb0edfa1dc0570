"""The official clients are there before the first test: none waits for an import in the midst of a call."""

from __future__ import annotations

import pytest

from tests.helpers import official


@pytest.fixture(autouse=True, scope="session")
def _clients() -> None:
    assert official.openai.__name__ == "openai"
    assert official.anthropic.__name__ == "anthropic"
