"""How much sealed files have given away: bits, counted by the gate's own check runs.

Each run that tells a verdict on a sealed Eval leaves one on the commit that sealed the file: a new
seal begins anew. It holds the month, the head and the bits, and counts over all authors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import IntEnum
from math import fsum
from typing import Self

from pydantic import Field

from gateval.domain.base import SHA_PATTERN, Value
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.sealing import is_open, kept_apart
from gateval.domain.results.results import bits_of

_WARNED = 0.8
_OVER = 2.0

_ONE = re.compile(
    r"<!-- gateval:bits v1 month=(?P<month>\d{4}-\d\d) head=(?P<head>[0-9a-f]{40,64}) "
    r"bits=(?P<bits>\d{1,9}(?:\.\d{1,2})?) -->"
)


class Room(IntEnum):
    """How much may still be told: all, all and a warning, verdicts alone, nothing."""

    FREE = 0
    WARNED = 1
    VERDICTS = 2
    NONE = 3


class GivenBits(Value):
    """What one run gave away: `month` as in 2026-11."""

    month: str = Field(pattern=r"^\d{4}-\d\d$")
    head: str = Field(pattern=SHA_PATTERN)
    bits: float = Field(ge=0, allow_inf_nan=False)

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read what `str` gives; None for anything else."""
        found = _ONE.fullmatch(text.strip())
        return (
            None
            if found is None
            else cls.model_validate({**found.groupdict(), "bits": float(found["bits"])})
        )

    def __str__(self) -> str:
        return f"<!-- gateval:bits v1 month={self.month} head={self.head} bits={self.bits:.2f} -->"


def given_in(month: str, entries: Iterable[GivenBits]) -> float:
    """Return the bits that were given away in a month; each head counts once, by the most."""
    heads: dict[str, float] = {}
    for one in entries:
        if one.month == month:
            heads[one.head] = max(one.bits, heads.get(one.head, 0.0))
    return fsum(heads.values())


def room(given: float, limit: int) -> Room:
    """Return what may still be told, where so many bits of so many a month are given away."""
    if given >= limit * _OVER:
        return Room.NONE
    if given >= limit:
        return Room.VERDICTS
    return Room.WARNED if given >= limit * _WARNED else Room.FREE


def seals_of(plan: Plan, *, rates: bool = True) -> dict[str, float]:
    """Return the files that what runs sealed comes from, and how much a run may give away of each.

    A sealed Eval of several files gives the same away of each of them.
    """
    apart, found = kept_apart(plan), dict[str, float]()
    for one in plan.evals:
        if one.name not in apart or not is_open(one):
            continue
        bits = bits_of(fixtures=len(one.fixtures), rates=rates)
        for path in {one.place.file, *(fixture.path for fixture in one.fixtures)} - {""}:
            found[path] = found.get(path, 0.0) + bits
    return found
