"""What the tests of compatibility share."""

from __future__ import annotations

import pytest

from tests.compat.rows import rows_of


@pytest.fixture
def refusal(request: pytest.FixtureRequest) -> str:
    """The message that the row of this test promises, so that page and check are one text."""
    return next(row.refused for row in rows_of(request.function) if row.refused)
