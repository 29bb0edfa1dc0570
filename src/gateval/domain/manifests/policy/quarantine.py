"""Fixtures that inform and do not block, for a time, because somebody owns mending them."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from gateval.domain.base import Name, Spec


def _day(text: str) -> str:
    try:
        if date.fromisoformat(text).isoformat() == text:
            return text
    except ValueError:
        pass
    raise ValueError(f'"{text[:40]}" is no day; expected one such as "2026-12-01"')


class QuarantinedFixture(Spec):
    """One fixture of all Evals, or of one, that informs without blocking up to a day."""

    fixture: Name = Field(description="The fixture, or the template of cases.")
    eval: Name | None = Field(
        default=None, description="The Eval; every one that runs it, if not set."
    )
    owner: Annotated[str, StringConstraints(min_length=1, max_length=100)] = Field(
        description="Who mends it."
    )
    until: Annotated[str, AfterValidator(_day)] = Field(
        description="The last day, in quotes; from the next one on it blocks again."
    )

    def holds(self, today: str) -> bool:
        """Whether it holds on a day (`2026-12-01`)."""
        return today <= self.until

    def about(self, evaluation: str, fixture: str, family: str = "") -> bool:
        """Whether it is about this fixture of this Eval."""
        return self.fixture in {fixture, family} and self.eval in {None, evaluation}
