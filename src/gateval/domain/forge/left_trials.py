"""What a run of the action leaves for one that goes on from it, as its check run confirms it.

A run that was cut short has uploaded trials; whoever may upload artifacts could have made them up.
So the details of its check run, which nobody but the gate's own App can have written, hold the
digest of each upload, and what was planned. Nothing that they do not name is gone on from.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, Self

from pydantic import Field

from gateval.domain.base import Count, Digest, Positive, Value, digest
from gateval.domain.forge.check_run import CheckRun, Stamp
from gateval.domain.plan.plan import Plan
from gateval.domain.results.results import digest_of

MOST_UPLOADS = 100
"""Uploads that one check run confirms: what its details have room for."""

_ONE = re.compile(r"(\d{1,3}):([0-9a-f]{64})")
_ALL = re.compile(
    r"<!-- gateval:trials v1 plan=(?P<plan>[0-9a-f]{64}) run=(?P<run>\d{1,18})"
    r" name=(?P<name>[\w.-]{1,120})(?P<uploads>(?: \d{1,3}:[0-9a-f]{64}){0,100}) -->"
)


class TrialUpload(Value):
    """An artifact with trials: its number, and the SHA-256 of the file in it."""

    number: Positive
    sha256: Digest

    def __str__(self) -> str:
        return f"{self.number}:{self.sha256}"


class LeftTrials(Value):
    """What a run has uploaded so far: `name` begins the names of its artifacts, and `plan` is the
    digest of all that it measures (`plan_digest`).
    """

    plan: Digest
    run: Count
    name: str = Field(pattern=r"^[\w.-]{1,120}$")
    uploads: tuple[TrialUpload, ...] = Field(default=(), max_length=MOST_UPLOADS)

    def artifact(self, number: int) -> str:
        """The name of one of its artifacts."""
        return f"{self.name}-{number}"

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read the line that `str` gives out of a check run's details; None where there is none."""
        found = next(filter(None, map(_ALL.fullmatch, text.splitlines())), None)
        if found is None:
            return None
        uploads = [
            TrialUpload(number=int(n), sha256=sha) for n, sha in _ONE.findall(found["uploads"])
        ]
        name, run = found["name"], int(found["run"])
        return cls(plan=found["plan"], run=run, name=name, uploads=tuple(uploads))

    def __str__(self) -> str:
        listed = "".join(f" {one}" for one in self.uploads)
        return (
            f"<!-- gateval:trials v1 plan={self.plan} run={self.run} name={self.name}{listed} -->"
        )


def plan_digest(plan: Plan) -> str:
    """Return the digest of all that a run of `plan` measures and by which rules and code: head,
    merge-base, Agents, Evals, scripted models, policy, version.
    """
    told = digest_of(plan).model_dump(mode="json")
    return digest({"plan": told, "policy": plan.policy.model_dump(mode="json")})


class CutShort(NamedTuple):
    """An earlier run of the same plan that gave no verdict, and what its check run confirms."""

    stamp: Stamp
    left: LeftTrials


def cut_short(checks: Sequence[CheckRun], plan: str, now: Stamp) -> CutShort | None:
    """Return the newest run of this plan among our check runs on a commit, if it gave no verdict.

    One of another workflow run that is still in progress may be alive, and is left alone.
    """
    for check in checks:
        stamp, left = Stamp.parse(check.external_id), LeftTrials.parse(check.text)
        if stamp is None or stamp.same_run(now):
            continue
        is_over = check.completed or stamp.run == now.run
        if left is None or left.plan != plan or not is_over:
            return None
        return CutShort(stamp, left)
    return None
