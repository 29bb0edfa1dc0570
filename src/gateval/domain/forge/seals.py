"""How much sealed files have given away: bits, counted by the gate's own check runs.

Each run that tells a verdict on a sealed Eval leaves one on the commit that sealed the file: a new
seal begins anew. It holds the month, the head, the bits and a digest of what was told, and counts
over all authors.

A head may be run again, and its agent may decide as it runs what it answers. So a run of a head
that was measured costs nothing only if it tells what the one before it told. Else it costs what a
new answer gives away, and when it came: log2 of (n + 1)(n + 2) for n earlier runs, a code for the
length of what was the same (the sum of 1 / (n + 1)(n + 2) over all n is 1).

GitHub keeps the newest thousand check runs of a name and deletes others, so each holds what was
given away before it, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import IntEnum
from math import fsum, log2
from typing import NamedTuple, Self

from pydantic import Field

from gateval.domain.base import Sha, Value, digest
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.plan.sealing import is_open, kept_apart
from gateval.domain.results.results import SealedVerdict, bits_of

_WARNED = 0.8
_OVER = 2.0

_ONE = re.compile(
    r"<!-- gateval:bits v1 month=(?P<month>\d{4}-\d\d) head=(?P<head>[0-9a-f]{40,64}) "
    r"bits=(?P<bits>\d{1,9}(?:\.\d{1,2})?)(?: before=(?P<before>\d{1,9}(?:\.\d{1,2})?))?"
    r"(?: told=(?P<told>[0-9a-f]{32}))? -->"
)


class Room(IntEnum):
    """How much may still be told: all, all and a warning, verdicts alone, nothing."""

    FREE = 0
    WARNED = 1
    VERDICTS = 2
    NONE = 3


class GivenBits(Value):
    """What one run gave away: `month` as in 2026-11. `before` is what others gave away in it until
    then. `told` is the digest of what it told (`told`), empty as long as it has told nothing.
    """

    month: str = Field(pattern=r"^\d{4}-\d\d$")
    head: Sha
    bits: float = Field(ge=0, allow_inf_nan=False)
    before: float = Field(default=0, ge=0, allow_inf_nan=False)
    told: str = Field(default="", pattern=r"^([0-9a-f]{32})?$")

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read what `str` gives; None for anything else."""
        found = _ONE.fullmatch(text.strip())
        if found is None:
            return None
        read = {name: text for name, text in found.groupdict().items() if text is not None}
        bits = {name: float(read[name]) for name in ("bits", "before") if name in read}
        return cls.model_validate({**read, **bits})

    def __str__(self) -> str:
        said = f"month={self.month} head={self.head} bits={self.bits:.2f} before={self.before:.2f}"
        return f"<!-- gateval:bits v1 {said}{f' told={self.told}' if self.told else ''} -->"


class HeadOnSeal(NamedTuple):
    """How often a head was measured before, and what was told of it last; empty for nothing."""

    runs: int = 0
    told: str = ""

    def price(self, bits: float) -> float:
        """Return what a run of this head costs that tells something else than the last one."""
        return bits + log2((self.runs + 1) * (self.runs + 2)) if self.runs else bits


def head_on_seal(head: str, entries: Iterable[GivenBits]) -> HeadOnSeal:
    """Return what is known of a head by the entries on a seal, newest first."""
    mine = [one for one in entries if one.head == head]
    return HeadOnSeal(len(mine), next((one.told for one in mine if one.told), ""))


def given_in(month: str, entries: Iterable[GivenBits]) -> float:
    """Return the bits that were given away in a month, by all entries that are left of it."""
    mine = [one for one in entries if one.month == month]
    return max([fsum(one.bits for one in mine), *(one.before + one.bits for one in mine)])


def room(given: float, limit: int) -> Room:
    """Return what may still be told, where so many bits of so many a month are given away."""
    if given >= limit * _OVER:
        return Room.NONE
    if given >= limit:
        return Room.VERDICTS
    return Room.WARNED if given >= limit * _WARNED else Room.FREE


def seals_of(plan: Plan) -> dict[str, tuple[PlannedEval, ...]]:
    """Return the files that what runs sealed comes from, each with the Evals that tell of it.

    A sealed Eval of several files gives the same away of each of them.
    """
    apart, found = kept_apart(plan), dict[str, tuple[PlannedEval, ...]]()
    for one in plan.evals:
        if one.name not in apart or not is_open(one):
            continue
        for path in {one.place.file, *(fixture.path for fixture in one.fixtures)} - {""}:
            found[path] = (*found.get(path, ()), one)
    return found


def most_bits(evals: Iterable[PlannedEval], *, rates: bool) -> float:
    """Return how much a run may give away of a file by these Evals."""
    return fsum(bits_of(fixtures=len(one.fixtures), rates=rates) for one in evals)


def told(evals: Iterable[PlannedEval], verdicts: Iterable[SealedVerdict]) -> str:
    """Return the digest of what is told of these Evals."""
    names = {one.name for one in evals}
    mine = [one for one in verdicts if one.eval in names]
    return digest([[one.eval, one.verdict, one.accepted, one.rate] for one in mine])[:_DIGITS]


_DIGITS = 32
