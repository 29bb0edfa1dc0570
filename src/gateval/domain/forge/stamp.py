"""Which run of which gate wrote something on GitHub, so that an older run overwrites no newer one.

A stamp stands in the external id of a check run and in the hidden first line of the comment. It is
ours only together with its writer's identity: anybody can write the same text.
"""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple, Self

from pydantic import Field

from gateval.domain.base import SHA_PATTERN, Value

MARKER = "<!-- gateval:comment v1 -->"
"""The first line of a rendered comment; publishing replaces it by one with a stamp."""

BORDER = "<!-- gateval:evals -->"
"""The line of a comment below which stands what the evals found, and nothing about labels."""

GATE_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$"

_ID = re.compile(
    r"gateval/(?P<gate>[\w.-]{1,60})/(?P<started>[0-9TZ:-]{20})/(?P<run>\d{1,18})\.(?P<attempt>\d{1,6})"
    r"(?:/(?P<record>[0-9a-f]{64}))?"
    r"(?:/c(?P<comment>[1-9]\d{0,17})\.(?P<evals>[0-9a-f]{16}))?"
)
_MARKED = re.compile(rf"<!-- gateval:comment v1 (?P<id>{_ID.pattern}) head=(?P<head>[0-9a-f]+) -->")


class KnownComment(NamedTuple):
    """Our comment by its number, 0 for none, and what `evals_digest` gives of it.

    A check run keeps both, for nobody but its App may change that: whoever may edit comments can
    take the marker out of ours, or put another one in.
    """

    number: int = 0
    evals: str = ""


class Stamp(Value):
    """One attempt of one workflow run, for one gate.

    `gate` tells several gates of a repository apart. `started` is when the attempt began, in UTC as
    ISO 8601 to the second: a run that began later has seen the newer state of the world, also when
    it is the second attempt of a run with a lower id. `record` is the digest of the stored verdict
    that a completed check run confirms, empty for none. `comment` and `evals` are a `KnownComment`.
    """

    gate: str = Field(default="gateval", pattern=GATE_PATTERN)
    started: str = Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
    run: int = Field(ge=0)
    attempt: int = Field(ge=0)
    record: str = Field(default="", pattern=r"^([0-9a-f]{64})?$")
    comment: int = Field(default=0, ge=0)
    evals: str = Field(default="", pattern=r"^([0-9a-f]{16})?$")

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read what `str` gives; None for anything else."""
        found = _ID.fullmatch(text)
        try:
            given = found.groupdict() if found else {}
            return cls.model_validate({k: v for k, v in given.items() if v}) if found else None
        except ValueError:
            return None

    def __str__(self) -> str:
        record = f"/{self.record}" if self.record else ""
        known = f"/c{self.comment}.{self.evals}" if self.comment else ""
        return f"gateval/{self.gate}/{self.started}/{self.run}.{self.attempt}{record}{known}"

    @property
    def known(self) -> KnownComment:
        """The comment that the check run keeps in mind."""
        return KnownComment(self.comment, self.evals)

    def knowing(self, comment: KnownComment) -> Self:
        """Return the same with a comment to keep in mind."""
        return self.model_copy(update={"comment": comment.number, "evals": comment.evals})

    def same_run(self, other: Stamp) -> bool:
        """Whether both are of the same attempt, whatever its steps took for their beginning."""
        return (self.gate, self.run, self.attempt) == (other.gate, other.run, other.attempt)

    def newer_than(self, other: Stamp) -> bool:
        """Whether this attempt began after the other one."""
        mine = (self.started, self.run, self.attempt)
        return not self.same_run(other) and mine > (other.started, other.run, other.attempt)


class MarkedComment(Value):
    """The first line of one of our comments: who wrote it, and about which commit."""

    stamp: Stamp
    head: str = Field(pattern=SHA_PATTERN)


def evals_digest(body: str) -> str:
    """Return a digest of what the evals found, as a comment says it; white space does not count."""
    _, _, evals = body.partition(BORDER)
    return hashlib.sha256(" ".join(evals.split()).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def mark(body: str, marked: MarkedComment) -> str:
    """Return a comment with its first line in the place of `MARKER`."""
    line = f"<!-- gateval:comment v1 {marked.stamp} head={marked.head} -->"
    return f"{line}\n{body.removeprefix(MARKER).lstrip(chr(10))}"


def read_mark(body: str) -> MarkedComment | None:
    """Read the first line of a comment; None when it is none of ours."""
    found = _MARKED.fullmatch(body.split("\n", 1)[0].rstrip("\r"))
    stamp = Stamp.parse(found["id"]) if found else None
    if found is None or stamp is None:
        return None
    try:
        return MarkedComment(stamp=stamp, head=found["head"])
    except ValueError:
        return None
