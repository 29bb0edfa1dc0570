"""Divides what a run asks for next among machines: always in the same way, so that each of them
finds its own share without being told.

A round is measured side by side by its shards. What is asked for in it follows from the plan and
from what earlier rounds measured; how it is divided, from that and from how long trials took. No
verdict is a shard's: looks, budgets and comparisons are made where all of a round is joined.
"""

from __future__ import annotations

import operator
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from math import ceil
from typing import NamedTuple, Self, TypeAlias

from pydantic import Field, model_validator

from gateval.domain.base import Count, Digest, Positive, Value, digest
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.sealing import kept_apart
from gateval.domain.trials.trial import Trial, TrialKey

MOST_SHARDS = 256
"""Jobs that GitHub gives a matrix."""

SHORT_MINUTES = 10
"""What takes less than this is not worth other machines; a shard takes about so long."""


class Shard(Value):
    """Which share of which round a part is: `number` of `of`, at the `attempt`-th try.

    `asked` is the digest of the trials that it had to measure, those of sealed Evals left out.
    """

    round: Positive
    number: Positive
    of: Positive
    attempt: Positive = 1
    asked: Digest

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if self.number > self.of:
            raise ValueError("the shard's number is larger than the number of shards")
        return self

    def is_try_of(self, other: Shard) -> bool:
        """Whether both are tries of the same share."""
        return (self.round, self.number) == (other.round, other.number)

    @property
    def name(self) -> str:
        """The shard for people and for names of files: `2-of-7`."""
        return f"{self.number}-of-{self.of}"


class Border(Value):
    """Where a round ends and the next begins: `round` is the one that was joined, 0 before any.

    `shards` is how many the next round has; with none, what is left is measured where the run ends.
    `seconds` is what a trial of an Eval took in kept runs, when these are known. `whole` says that
    the part beside this has all trials of the run.
    """

    round: Count
    shards: Count = 0
    attempt: Positive = 1
    seconds: Mapping[str, float] = Field(default={}, exclude_if=operator.not_)
    whole: bool = Field(default=False, exclude_if=operator.not_)


class ShardName(NamedTuple):
    """Number `number` of `of` shards."""

    number: int
    of: int


def shard_name(text: str) -> ShardName | None:
    """Read `2/7` or `2-of-7`; None for anything else."""
    found = re.fullmatch(r"([1-9][0-9]{0,2})(?:/|-of-)([1-9][0-9]{0,2})", text)
    name = ShardName(int(found[1]), int(found[2])) if found else ShardName(1, 0)
    return name if name.number <= name.of <= MOST_SHARDS else None


Seconds: TypeAlias = Callable[[TrialKey], float]
"""How long a trial is likely to keep a run busy."""


def seconds_of(plan: Plan, trials: Iterable[Trial], kept: Mapping[str, float]) -> Seconds:
    """Return what says how long trials take: what `kept` runs tell of the Eval, by its own name,
    else the mean of those that were measured, of the fixture or of the Eval; 0 if none was.

    A trial that others run beside keeps a run busy for a part of its time only.
    """
    own = {one.name: one.own_name for one in plan.evals}
    parallel = {one.name: one.execution.parallel for one in plan.evals}
    turns = {
        (one.name, each.name): max(1, len(each.turns))
        for one in plan.evals
        for each in one.fixtures
    }
    took: dict[tuple[str, str], list[float]] = defaultdict(list)
    apart = kept_apart(plan)  # how a run is divided would tell how long their trials took
    for trial in (one for one in trials if one.key.eval not in apart):
        key, seconds = trial.key, trial.seconds / parallel[trial.key.eval]
        took[key.eval, key.fixture].append(seconds)
        took[key.eval, ""].append(seconds)

    @cache
    def takes(evaluation: str, fixture: str) -> float:
        known = kept.get(own[evaluation])
        if known is not None:
            return known * turns[evaluation, fixture]
        found = took.get((evaluation, fixture)) or took.get((evaluation, ""), [0.0])
        return sum(found) / len(found)

    return lambda key: takes(key.eval, key.fixture)


def busy_seconds(plan: Plan, trials: Iterable[Trial]) -> float:
    """Return how long trials would have kept one machine busy, side by side as their Evals let."""
    parallel = {one.name: one.execution.parallel for one in plan.evals}
    return round(sum(one.seconds / parallel[one.key.eval] for one in trials), 3)


class Share(NamedTuple):
    """What one shard measures, in the order of the plan, and of each Eval, by its own name, how
    many trials run side by side.
    """

    keys: tuple[TrialKey, ...] = ()
    parallel: Mapping[str, int] = {}

    def asked(self, plan: Plan) -> str:
        """Return the digest of what it measures and everybody may see."""
        apart = kept_apart(plan)
        return digest([str(one) for one in self.keys if one.eval not in apart])


def divide(
    plan: Plan,
    keys: Sequence[TrialKey],
    shards: int,
    seconds: Seconds,
    undivided: Collection[str] = (),
) -> tuple[Share, ...]:
    """Divide trials among so many shards, the longest first, each to whom has least.

    All trials of a fixture stay together, and so does a sealed Eval, with the versions of it, and
    one that is named in `undivided`. No more shards take part in an Eval than it lets trials run
    side by side, and these are shared out among them. Some shards may get nothing.
    """
    alone = kept_apart(plan) | set(undivided)
    group = {one.name: one.own_name for one in plan.evals}
    parallel: dict[str, int] = {}
    for one in plan.evals:
        most = one.execution.parallel
        parallel[one.own_name] = min(most, parallel.get(one.own_name, most))
    whole = {group[name] for name in alone}
    blocks: dict[tuple[str, str, str], list[TrialKey]] = {}
    places = []
    for key in keys:
        name = group[key.eval]
        where = (name, "", "") if name in whole else (name, key.eval, key.fixture)
        blocks.setdefault(where, []).append(key)
        places.append(where)
    takes = {where: sum(map(seconds, block)) or len(block) for where, block in blocks.items()}
    loads, holders = [0.0] * shards, defaultdict[str, set[int]](set)
    owner: dict[tuple[str, str, str], int] = {}
    for where in sorted(blocks, key=lambda one: -takes[one]):
        held = holders[where[0]]
        free = range(shards) if len(held) < parallel[where[0]] else sorted(held)
        chosen = min(free, key=loads.__getitem__)
        held.add(chosen)
        loads[chosen] += takes[where]
        owner[where] = chosen
    mine: list[list[TrialKey]] = [[] for _ in range(shards)]
    for key, where in zip(keys, places, strict=True):
        mine[owner[where]].append(key)
    return tuple(
        Share(
            tuple(some),
            {
                name: _part_of(parallel[name], sorted(held), number)
                for name, held in holders.items()
                if number in held
            },
        )
        for number, some in enumerate(mine)
    )


def shards_for(
    plan: Plan,
    keys: Sequence[TrialKey],
    seconds: Seconds,
    undivided: Collection[str] = (),
    *,
    asked: int | None = None,
) -> int:
    """Return in how many shards trials are measured: at most as many as were `asked` for, else one
    for each ten minutes, and no more than a provider answers calls in a minute. 0 says that they
    are not worth a round of their own.
    """
    minutes = sum(map(seconds, keys)) / 60
    if not keys or (asked is None and minutes < SHORT_MINUTES):
        return 0
    rates = [each for one in plan.policy.rates.values() for each in (one.rpm, one.tpm) if each]
    most = min(len(keys), MOST_SHARDS, asked or ceil(minutes / SHORT_MINUTES), *rates)
    return sum(bool(one.keys) for one in divide(plan, keys, most, seconds, undivided))


def _part_of(whole: int, holders: Sequence[int], number: int) -> int:
    """Return what one of the holders has of `whole`, which is at least as many as they are."""
    each, rest = divmod(whole, len(holders))
    return each + (holders.index(number) < rest)


def shared_plan(plan: Plan, share: Share) -> Plan:
    """Return the plan of one shard: the Evals that it measures trials of, with their part of what
    may run side by side. The share has trials.
    """
    names = {one.eval for one in share.keys}
    evals = tuple(
        one.replace(execution=one.execution.replace(parallel=share.parallel[one.own_name]))
        for one in plan.evals
        if one.name in names
    )
    agents = {one.agent for one in evals}
    kept = tuple(one for one in plan.agents if one.name in agents)
    return plan.replace(evals=evals, agents=kept)
