"""What a pull request and a day may spend, by what the gate wrote down of each run.

A run is entered with all that it may take before it asks a model, and says what it took at its end.
One that never said so counts as what it was given, so that nobody spends less by killing a job.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import ceil, fsum
from operator import not_
from typing import NamedTuple, Self

from pydantic import Field

from gateval.domain.base import Value
from gateval.domain.manifests.gate_config import BudgetPolicy
from gateval.domain.text import show_usd

MOST_ENTRIES = 900
"""Runs of one pull request or day that can be counted: of a thousand GitHub deletes the oldest."""

MOST_USD = 999_999_999.0
"""The most that an entry can say."""

_SHOWN = 5
_ENTRY = re.compile(
    r"<!-- gateval:spending v1 run=(?P<run>[\w.-]{1,60}) usd=(?P<usd>\d{1,9}\.\d{6})"
    r" (?P<ended>open|over) -->",
    re.ASCII,
)


class RunSpending(Value):
    """What one run took, or was given, as long as it has not `ended`."""

    run: str = Field(pattern=r"^[\w.-]{1,60}$")
    usd: float = Field(ge=0, lt=1e9, allow_inf_nan=False)
    ended: bool = False

    @classmethod
    def of(cls, run: str, usd: float, *, ended: bool = False) -> Self:
        """Return an entry; more than can be written counts as the most that can."""
        return cls(run=run, usd=min(usd, MOST_USD), ended=ended)

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read what `str` gives; None for anything else."""
        found = _ENTRY.fullmatch(text.strip())
        if found is None:
            return None
        return cls(run=found["run"], usd=float(found["usd"]), ended=found["ended"] == "over")

    def __str__(self) -> str:
        ended = "over" if self.ended else "open"
        usd = ceil(self.usd * 1e6) / 1e6
        return f"<!-- gateval:spending v1 run={self.run} usd={usd:.6f} {ended} -->"


class Allowance(Value):
    """The US dollars that a run may take beside what it kept of others. `told` says why these are
    less than `policy.budget.usd`; empty where they are not. `entered` is day and name of its entry
    where another job than the one that entered it says what it took.
    """

    usd: float = Field(ge=0, allow_inf_nan=False)
    told: str = ""
    entered: str = Field(default="", pattern=r"^(\d{4}-\d\d-\d\d [\w.-]{1,60})?$", exclude_if=not_)

    def ended(self, over_budget: str) -> bool:
        """Whether a run that asked no model any more, as it says, did so for this."""
        return bool(self.told) and over_budget.startswith(self.told)

    def beside(self, kept: float) -> Self:
        """Return what a run may take with the dollars of trials that it kept of others."""
        return self.replace(usd=self.usd + kept)


class Account(NamedTuple):
    """What several runs may take together: `name` says whose they are, `key` where it is written,
    `until` what gives a run more.
    """

    name: str
    key: str
    usd: float
    until: str

    def left(self, entries: Sequence[RunSpending]) -> float:
        """Return what these runs leave."""
        if len(entries) >= MOST_ENTRIES:
            return 0.0
        return max(0.0, self.usd - fsum(one.usd for one in entries))

    def says(self, entries: Sequence[RunSpending]) -> str:
        """Say what these runs left, and which of them took it."""
        dear = sorted((one for one in entries if one.usd), key=lambda one: (-one.usd, one.run))
        runs = [
            f"{one.run} {show_usd(one.usd)}{'' if one.ended else ', held: it has not ended'}"
            for one in dear[:_SHOWN]
        ]
        runs += [f"{len(dear) - _SHOWN} more"] if len(dear) > _SHOWN else []
        by = f" ({'; '.join(runs)})" if runs else ""
        taken = show_usd(fsum(one.usd for one in entries))
        return f"{self.name} has {taken} of its {show_usd(self.usd)} ({self.key}) taken{by}"


def accounts(budget: BudgetPolicy, day: str, pull_request: int | None) -> tuple[Account, ...]:
    """Return the accounts that a run of this day (`2026-12-01`) is entered in."""
    more = "raise it in the gate config of the target branch"
    found = []
    if budget.per_pull_request.usd is not None and pull_request is not None:
        name, key = f"pull request {pull_request}", "policy.budget.perPullRequest.usd"
        found.append(Account(name, key, budget.per_pull_request.usd, more))
    if budget.per_day.usd is not None:
        until = f"run it again after 00:00 UTC, or {more}"
        found.append(Account(day, "policy.budget.perDay.usd", budget.per_day.usd, until))
    return tuple(found)


def allowed(
    most: float | None, known: Iterable[tuple[Account, Sequence[RunSpending]]]
) -> Allowance:
    """Return what a run may take that policy gives so much at `most`, by the runs that each account
    has; there is one at least.
    """
    usd, told = most, []
    for account, entries in known:
        left = account.left(entries)
        if most is None or left < most:
            usd = left if usd is None else min(usd, left)
            said = account.says(entries)
            told.append(f"{said[:1].upper()}{said[1:]}: {account.until}.")
    return Allowance(usd=usd or 0.0, told=" ".join(told))
