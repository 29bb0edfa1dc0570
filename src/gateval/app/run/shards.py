"""One piece of a run that is measured on several machines: where the run is planned, one shard of a
round, where a round is joined, and where the run ends.

Each plans from git itself and reads what the others left, so that nothing but trials is taken from
them; it leaves a part, which others join.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import fsum
from pathlib import Path
from typing import Any, NamedTuple

from gateval.adapters.parts import opened_parts
from gateval.app.run.context import taken_by
from gateval.app.run.parts import read_part
from gateval.app.run.sealing import MeasuredRun, opened_part, sealed_part, with_sealed
from gateval.app.run.trial_lines import TrialLines
from gateval.app.run.views import PART_FILE
from gateval.domain.calibration import CalibrationReplay
from gateval.domain.manifests.gate_config import ProviderRate
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.spending import Allowance
from gateval.domain.results.offers import OfferCollector, SharedOffer
from gateval.domain.results.results import Results, ResultsPart, part_of, refuse_replayed
from gateval.domain.results.resume import NOTHING_KEPT, KeptTrials, Resumed
from gateval.domain.results.rounds import Joined, look_at, tried_before, tries
from gateval.domain.results.shards import (
    Border,
    Shard,
    ShardName,
    Share,
    seconds_of,
    shards_for,
    shared_plan,
)
from gateval.domain.trials.trial import Trial, TrialKey
from gateval.engine.stage import Stage, whole_run
from gateval.errors import UsageError
from gateval.gateway.ledger import SpendingLimits
from gateval.render.stage import part_pieces

CLAIM_LIMIT = 64 * 1024 * 1024
"""Bytes of results that jobs may have written, whatever the plan: we need not trust them."""

TRIAL_BYTES = 32 * 1024
"""Bytes more for each trial that the plan made here asks for: four times what is usual."""

MOST_BYTES = 2 * 1024 * 1024 * 1024
"""Bytes of results, however much is planned."""


class Piece(NamedTuple):
    """What one machine measures: `plan` says of what, `stage` which trials; without one, nothing is
    left to be measured. `resumed` is what was measured before; what of that other parts hold is
    `elsewhere`. `offers` is what models were offered in the rest of it. At most `at_once` trials
    run side by side. `paid` is what a killed try took, in US dollars.
    """

    plan: Plan
    stage: Stage | None
    resumed: Resumed
    elsewhere: frozenset[TrialKey] = frozenset()
    at_once: int | None = None
    offers: tuple[SharedOffer, ...] = ()
    paid: float = 0.0

    def with_offers(self, found: Iterable[SharedOffer]) -> tuple[SharedOffer, ...]:
        """Return what models were offered here and in the rest of the run."""
        offers = OfferCollector({})
        offers.add((*self.offers, *found))
        return offers.found()

    def asked_of(self, trials: Iterable[Trial]) -> tuple[TrialKey, ...]:
        """Return what is still asked for after these trials."""
        return self.stage.asks(trials) if self.stage else ()


class KilledTry(NamedTuple):
    """What a job left that was killed before it wrote its part, or cut short: what counts of it,
    and the trials that were `lost`, which run again, and are paid. Its calls may have taken `usd`.
    `left` is the shard that its part is of, if it wrote one.
    """

    resumed: Resumed = NOTHING_KEPT
    lost: tuple[Trial, ...] = ()
    usd: float = 0.0
    left: Shard | None = None


NOT_KILLED = KilledTry()


def claim_limit(plan: Plan) -> int:
    """Return how many bytes the results of this plan may have, in all parts together."""
    return min(CLAIM_LIMIT + plan.trial_count * TRIAL_BYTES, MOST_BYTES)


_OF_SHARD = re.compile(
    rb'"shard":\{"round":(\d{1,6}),"number":(\d{1,6}),"of":\d+,"attempt":\d+,'
    rb'"asked":"[0-9a-f]{64}"\}(?:,"replayed":true)?\}\s*\Z'
)
"""How a shard's part ends, as `part_of_piece` writes it."""


def parts_in(
    folder: Path,
    plan: Plan,
    environ: Mapping[str, str],
    *,
    replays: bool = False,
    none: bool = False,
    own: tuple[int, int] | None = None,
) -> list[ResultsPart]:
    """Read the parts in a folder, each with its trials of sealed Evals where these can be opened
    here; with `none`, there may be none yet, with `replays`, they may be of a replay. `own` is the
    round and number of a shard, for which what others measured in its round says nothing.

    Raises `StageFileError` for what is no part.
    """

    def skips(end: bytes) -> bool:
        told = _OF_SHARD.search(end)
        where = (int(told[1]), int(told[2])) if told and own else None
        return own is not None and where is not None and where[0] == own[0] and where != own

    how: dict[str, Any] = {"limit": claim_limit(plan), "none": none, "skips": skips}
    known = TrialLines()
    parts = [read_part(one, known) for one in opened_parts(folder, PART_FILE, **how)]
    if not replays:
        refuse_replayed(parts)
    return [
        with_sealed(one, opened_part(one, plan, environ) if one.sealed else None) for one in parts
    ]


def first_border(plan: Plan, kept: Mapping[str, float], asked: int | None, attempt: int) -> Border:
    """Return where the first round begins: in how many shards, by what `kept` runs tell of how long
    trials of an Eval take.
    """
    left = look_at(plan, ()).missing
    many = shards_for(plan, left, seconds_of(plan, (), kept), asked=asked)
    return Border(round=0, shards=many, attempt=attempt, seconds=kept)


def with_allowance(plan: Plan, parts: Iterable[ResultsPart]) -> Plan:
    """Return the plan with what pull request and day leave the run, as the job that planned it
    found; nothing, where none of its jobs entered what it may take.
    """
    budget = plan.policy.budget
    if budget.per_pull_request.usd is None and budget.per_day.usd is None:
        return plan
    first = [
        (one.border.attempt, one.allowance)
        for one in parts
        if one.border and not one.border.round and not one.border.whole
    ]
    newest = max(first, key=lambda one: one[0], default=(0, None))[1]
    return plan.replace(allowance=newest or _NOT_ENTERED)


_NOT_ENTERED = Allowance(
    usd=0,
    told="The job that plans the run has not entered what it may spend (policy.budget), so that is "
    "nothing: give it the input `shards`.",
)


def refuse_lost_try(plan: Plan, joined: Joined, attempt: int, known: Iterable[int]) -> None:
    """Raise `UsageError` in a job that is run again where one of its tries is not `known`, and pull
    request or day have a limit: one that is killed each time would spend its share each time.
    """
    if plan.allowance and not {*range(joined.attempt, attempt)} <= {*known}:
        raise UsageError(
            "What the try before this one spent is lost with it, and counts as all that the run "
            "was given (policy.budget).",
            hint="Run all jobs again: what others measured is kept.",
        )


def next_border(plan: Plan, joined: Joined, asked: int | None, attempt: int) -> Border:
    """Return where the next round begins: nowhere, where what is left takes under ten minutes, or
    where nobody may go on.
    """
    long = not joined.unfinished and joined.shards_next(plan, None)
    many = joined.shards_next(plan, asked) if long else 0
    return Border(round=joined.round, shards=many, attempt=attempt)


def calibrating(plan: Plan) -> Piece:
    """Measure the judges of a plan, which every shard would do else, and nothing else."""
    evals = tuple(one for one in plan.evals if one.wants_calibration)
    stage = whole_run(plan)._replace(asks=lambda _: (), ends=False, calibrates=True)
    return Piece(plan.replace(evals=evals), stage if evals else None, Resumed())


def shard_piece(
    plan: Plan,
    parts: Sequence[ResultsPart],
    name: ShardName,
    number: int,
    attempt: int,
    at_once: int | None,
    killed: KilledTry,
    before: Joined,
) -> tuple[Piece, Shard]:
    """Return what a shard of the round `number` measures after what was joined `before`, and what
    its part says of it.

    It goes on from a try that was `killed`. Raises `UsageError` where that measured another share,
    where this is not the round that is next, or has another number of shards, and where an earlier
    try is lost with what it spent of what its pull request or day allows.
    """
    refuse_lost_try(plan, before, attempt, tries(parts, number, name.number))
    if before.unfinished:
        raise UsageError(f"Round {number} cannot begin. {before.unfinished}")
    if before.shards and before.shards != name.of:
        raise UsageError(
            f"Round {number} has {before.shards} shards, and this is one of {name.of}.",
            hint="Take the matrix from the output `shards` of the job before.",
        )
    shares = before.shares(plan, name.of)
    share = shares[name.number - 1]
    shard = Shard(
        round=number, number=name.number, of=name.of, attempt=attempt, asked=share.asked(plan)
    )
    keys = share.keys
    kept = _with_killed(tried_before(plan, parts, shard, share), killed, keys)
    mine = [one for one in parts if one.shard and one.shard.is_try_of(shard)]
    paid = 0.0 if any(one.shard == killed.left for one in mine) else killed.usd
    took = fsum(one.usd or 0.0 for one in mine) + paid
    there = (*kept.kept.measured, *kept.kept.to_judge)
    limits = _limits(plan, before, share, took, there, killed.lost)
    stage = Stage(lambda done: _missing(keys, done), limits, _rates(plan, name.of))
    of_plan = shared_plan(plan, share) if keys else plan
    known = of_plan.replace(agreements=(*plan.agreements, *before.calibrations))
    parallel = at_once and max(1, at_once // name.of + (name.number <= at_once % name.of))
    left = _missing(keys, kept.kept.measured)
    return Piece(known, stage if left else None, kept, at_once=parallel, paid=paid), shard


def _with_killed(
    tried: tuple[Trial, ...], killed: KilledTry, asked: Collection[TrialKey]
) -> Resumed:
    """Return what a shard keeps of tries that left a part, and then of one that was killed."""
    there, (measured, to_judge) = {one.key for one in tried}, killed.resumed.kept
    if any(one.key not in asked for one in (*measured, *to_judge, *killed.lost)):
        raise UsageError(
            "What is in the folder for results was measured by another shard, or in another round.",
            hint="Name a new or empty folder.",
        )
    new = tuple(one for one in measured if one.key not in there)
    again = tuple(one for one in to_judge if one.key not in there)
    return killed.resumed._replace(kept=KeptTrials((*tried, *new), again))


def short_piece(plan: Plan, joined: Joined, at_once: int | None) -> Piece:
    """Measure what is left as long as a look takes under ten minutes."""

    def asks(done: Iterable[Trial]) -> tuple[TrialKey, ...]:
        trials = tuple(done)
        left = _left_after(plan, joined, trials)
        return () if shards_for(plan, left, seconds_of(plan, trials, joined.kept)) else left

    return _after(plan, joined, at_once, asks)


def _left_after(plan: Plan, joined: Joined, trials: Collection[Trial]) -> tuple[TrialKey, ...]:
    """Return what is asked for after all that was joined and perhaps more, which is known where
    there is no more.
    """
    more = len(trials) > len(joined.trials)
    return look_at(plan, trials).missing if more else joined.left


def last_piece(plan: Plan, joined: Joined, at_once: int | None) -> Piece:
    """Measure whatever is left, and have judges look again at what they waver on."""

    def asks(done: Iterable[Trial]) -> tuple[TrialKey, ...]:
        return _left_after(plan, joined, tuple(done))

    piece = _after(plan, joined, at_once, asks, ends=True)
    return piece._replace(elsewhere=frozenset(), offers=joined.offers)


def _after(
    plan: Plan,
    joined: Joined,
    at_once: int | None,
    asks: Callable[[Iterable[Trial]], tuple[TrialKey, ...]],
    *,
    ends: bool = False,
) -> Piece:
    """Return a piece that goes on from all that was joined; where it is unfinished, nobody may."""
    known = plan.replace(agreements=(*plan.agreements, *joined.calibrations))
    stage = whole_run(plan)._replace(asks=asks, ends=ends)
    stage = stage._replace(limits=_left(stage.limits, joined.calibrations, _in_no_trial(joined)))
    may = not joined.unfinished and (ends or asks(joined.trials))
    there = frozenset(one.key for one in joined.trials)
    return Piece(known, stage if may else None, _kept(joined.trials), there, at_once)


def part_of_piece(
    measured: MeasuredRun,
    piece: Piece,
    environ: Mapping[str, str],
    place: Shard | Border,
    unfinished: str = "",
    *,
    replayed: bool = False,
    all_usd: float | None = None,
) -> Iterator[bytes]:
    """Yield what a machine leaves for others: its trials, and where they belong in the run.

    Those of sealed Evals are encrypted for the gate's own key. `all_usd` is what the jobs before
    took, where that is known.
    """

    def own(results: Results) -> Results:
        trials = tuple(one for one in results.trials if one.key not in piece.elsewhere)
        usd = results.info.usd
        info = results.info.replace(usd=None if usd is None else usd + piece.paid)
        return results.replace(trials=trials, info=info)

    public, whole = own(measured.results), own(measured.whole)
    part = part_of(public).replace(sealed=sealed_part(whole, environ))
    where = {"shard": place} if isinstance(place, Shard) else {"border": place}
    facts = {
        "ended": " ".join(filter(None, (unfinished, part.ended))),
        "offers": piece.with_offers(part.offers),
        "replayed": replayed,
        "all_usd": None if None in (all_usd, part.usd) else (all_usd or 0.0) + (part.usd or 0.0),
    }
    return part_pieces(part.replace(**where, **facts))


def _missing(keys: Iterable[TrialKey], done: Iterable[Trial]) -> tuple[TrialKey, ...]:
    over = {one.key for one in done}
    return tuple(key for key in keys if key not in over)


def _kept(trials: tuple[Trial, ...]) -> Resumed:
    return Resumed(KeptTrials(trials))


def _limits(
    plan: Plan,
    before: Joined,
    share: Share,
    took: float,
    kept: Iterable[Trial],
    lost: Iterable[Trial],
) -> SpendingLimits:
    """Return what a shard's calls may take: of what earlier rounds left, a part like its share,
    without what trials took that it `lost`, and what else of the dollars its tries `took` is in
    none that it `kept`.
    """
    limits = SpendingLimits.under(plan.policy, plan.allowance)
    whole = _left(limits, before.calibrations, _in_no_trial(before))
    calls, taken = taken_by(before.trials)
    part = Fraction(len(share.keys), max(1, len(before.left)))
    lost_calls, paid = taken_by(lost)
    gone = max(paid.usd, took - taken_by(kept)[1].usd)
    usd = None if whole.usd is None else max(0.0, (whole.usd - taken.usd) * float(part) - gone)
    return SpendingLimits(
        calls=max(0, int((whole.calls - calls) * part) - lost_calls),
        tokens=max(0, int((whole.tokens - taken.tokens) * part) - paid.tokens),
        usd=usd,
        told=whole.told,
    )


def _in_no_trial(joined: Joined) -> float:
    """Return the dollars of calls whose end no trial and no calibration tells."""
    known = [taken_by(joined.trials)[1].usd, *(one.usage.usd or 0.0 for one in joined.calibrations)]
    return max(0.0, joined.usd - fsum(known))


def _left(
    limits: SpendingLimits, calibrations: Iterable[CalibrationReplay], gone: float
) -> SpendingLimits:
    """Return what is left of limits where judges were measured, whose calls are in no trial, and
    so many dollars are gone besides.
    """
    usages = [one.usage for one in calibrations]
    usd = limits.usd and max(0.0, limits.usd - gone - fsum(one.usd or 0.0 for one in usages))
    tokens = max(0, limits.tokens - sum(one.total or 0 for one in usages))
    return limits.replace(usd=usd, tokens=tokens)


def _rates(plan: Plan, shards: int) -> dict[str, ProviderRate]:
    """Return what each of so many shards may ask of providers in a minute: the same part of it."""
    return {
        name: ProviderRate(
            rpm=one.rpm and max(1, one.rpm // shards), tpm=one.tpm and max(1, one.tpm // shards)
        )
        for name, one in plan.policy.rates.items()
    }
