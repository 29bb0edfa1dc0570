"""Joins what shards measured, round by round, and asks the rule of the run what is next.

Every trial counts once. Of two tries at the same share the first counts, red or green, so that
running a job again draws no lot again; only what was lost then is taken from the later one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import fsum
from typing import NamedTuple

from gateval.domain.base import known_of_last
from gateval.domain.calibration import CalibrationReplay
from gateval.domain.plan.plan import Plan
from gateval.domain.results.doubts import replay_of
from gateval.domain.results.offers import OfferCollector, SharedOffer
from gateval.domain.results.progress import next_trials
from gateval.domain.results.results import (
    ResultsPart,
    RunInfo,
    assemble,
    digest_of,
    refuse_other,
)
from gateval.domain.results.shards import (
    MOST_SHARDS,
    Seconds,
    Shard,
    Share,
    divide,
    seconds_of,
    shards_for,
)
from gateval.domain.text import listing
from gateval.domain.trials.trial import Trial, TrialKey
from gateval.errors import StageFileError

_HINT = "Run all jobs again, so that each of them plans and measures the same."


class JoinedLook(NamedTuple):
    """The trials that were asked for and measured, in that order, and those that are `missing` of
    the last that were asked for; none where nothing is asked for any more.
    """

    made: tuple[Trial, ...]
    missing: tuple[TrialKey, ...]


def look_at(plan: Plan, trials: Iterable[Trial]) -> JoinedLook:
    """Ask for trials at the same borders as a run on one machine does, and say which are there.

    What no border asks for is not among those made.
    """
    known = {one.key: one for one in trials}
    made: dict[TrialKey, Trial] = {}
    keys = _asked_first(plan)
    while keys:
        made |= {key: known[key] for key in keys if key in known}
        if missing := tuple(key for key in keys if key not in known):
            return JoinedLook(tuple(made.values()), missing)
        keys = next_trials(plan, made.values())
    return JoinedLook(tuple(made.values()), ())


@known_of_last
def _asked_first(plan: Plan) -> tuple[TrialKey, ...]:
    """Return what is asked for before anything is measured: every round begins there."""
    return next_trials(plan, ())


class Joined(NamedTuple):
    """What the jobs of a run measured up to the end of `round`.

    `left` is what is to be measured next, in `shards` or, where these are 0, by the job that ends
    the run; `unfinished` says in sentences why nobody may go on yet. `kept` is what runs before
    this one tell of how long trials of an Eval take, `attempt` the try at which it was planned.
    `usd` is what the jobs say that their calls took.
    """

    trials: tuple[Trial, ...]
    left: tuple[TrialKey, ...]
    calibrations: tuple[CalibrationReplay, ...]
    round: int
    shards: int
    unfinished: str
    kept: Mapping[str, float]
    offers: tuple[SharedOffer, ...] = ()
    attempt: int = 1
    usd: float = 0.0

    def seconds(self, plan: Plan) -> Seconds:
        """Return what says how long trials take."""
        return seconds_of(plan, self.trials, self.kept)

    def shards_next(self, plan: Plan, asked: int | None) -> int:
        """Return in how many shards what is left is measured."""
        undivided = _undivided(plan, self.calibrations)
        return shards_for(plan, self.left, self.seconds(plan), undivided, asked=asked)

    def shares(self, plan: Plan, shards: int) -> tuple[Share, ...]:
        """Divide what is left among so many shards."""
        undivided = _undivided(plan, self.calibrations)
        return divide(plan, self.left, shards, self.seconds(plan), undivided)


def join(plan: Plan, parts: Sequence[ResultsPart], *, before: int | None = None) -> Joined:
    """Return what `parts` hold together; with `before` what was measured before that round.

    Raises `StageFileError` for a part of another plan, one that was altered, and two of one try.
    """
    parts = _of_this_plan(plan, parts)
    joined = _joined(plan, parts, 0)
    last = _last_round(parts) if before is None else before - 1
    for number in range(1, last + 1):
        measured = [one for one in parts if one.shard and one.shard.round == number]
        many = joined.shards or max((_shard(one).of for one in measured), default=0)
        if not many:
            lost = f"Nothing came back from round {number}; run its jobs again."
            return joined._replace(unfinished=lost)
        shares = joined.shares(plan, many)
        _refuse_altered(plan, measured, shares, joined.left)
        after = _joined(plan, parts, number)
        unfinished = _unfinished(number, measured, shares, {one.key for one in after.trials})
        joined = after._replace(unfinished=unfinished)
        if unfinished:
            break
    return joined


def tried_before(
    plan: Plan, parts: Sequence[ResultsPart], shard: Shard, share: Share
) -> tuple[Trial, ...]:
    """Return what earlier tries of a shard measured of its share."""
    asked = set(share.keys)
    same = {"round": shard.round, "number": shard.number, "of": shard.of}
    mine = [
        one
        for one in _of_this_plan(plan, parts)
        if one.shard and same.items() <= one.shard.model_dump().items()
    ]
    return tuple(one for one in _merged(mine) if one.key in asked and one.passed is not None)


def tries(parts: Iterable[ResultsPart], in_round: int, number: int) -> tuple[int, ...]:
    """Return which tries of a shard left a part."""
    mine = (one.shard for one in parts if one.shard)
    return tuple(one.attempt for one in mine if (one.round, one.number) == (in_round, number))


def spent_in_all(joined: Joined, parts: Iterable[ResultsPart], attempt: int) -> float | None:
    """Return what the jobs of a run took that are before the one that ends it, in all their tries;
    None where that is not known for certain: a job or a try may have left nothing.
    """
    first, jobs = joined.attempt, defaultdict[tuple[int, int], list[ResultsPart]](list)
    for one in parts:
        if first <= _attempt(one) <= attempt:
            jobs[_job(one)].append(one)
    shards = [one.shard for tried in jobs.values() for one in tried if one.shard]
    rounds = {*range(1, joined.round + 1)}
    wanted = {(at, _JOIN) for at in (0, *rounds)}
    wanted |= {(one.round, number) for one in shards for number in range(1, one.of + 1)}
    wanted |= {_ENDING} if attempt > first else set()
    every = [one for tried in jobs.values() for one in tried]
    is_whole = (
        not joined.unfinished
        and rounds == {one.round for one in shards}
        and wanted <= jobs.keys()
        and all(_are_all(tried, joined, jobs, attempt) for tried in jobs.values())
    )
    usds = [one.usd for one in every if one.usd is not None]
    return fsum(usds) if is_whole and len(usds) == len(every) else None


_JOIN, _ENDING = 0, (-1, 0)


def _job(part: ResultsPart) -> tuple[int, int]:
    """Return round and number of a shard; of the job that joins a round, and of the last."""
    if part.shard:
        return part.shard.round, part.shard.number
    return _ENDING if part.border and part.border.whole else (_round(part), _JOIN)


def _are_all(
    tried: Iterable[ResultsPart],
    joined: Joined,
    jobs: Mapping[tuple[int, int], Sequence[ResultsPart]],
    attempt: int,
) -> bool:
    """Whether these are all the tries of a job that spent anything before the run's last job at its
    try `attempt`. One that is made when all is measured asks for nothing, so it may be lost.
    """
    *_, newest = in_order = sorted(tried, key=_attempt)
    known, job = [_attempt(one) for one in in_order], _job(newest)
    if known != [*range(joined.attempt, known[-1] + 1)]:
        return False
    if job == _ENDING:
        return known[-1] == attempt - 1
    done = not (newest.ended or newest.unanswered or newest.over_budget)
    if newest.shard:
        done &= all(trial.passed is not None for trial in newest.trials)
    else:
        shards = (one for each in jobs.values() for one in each if one.shard)
        done &= all(_attempt(one) <= known[-1] for one in shards if _round(one) <= job[0])
    return known[-1] == attempt or done


def one_part(plan: Plan, parts: Sequence[ResultsPart]) -> ResultsPart:
    """Return what the jobs of a run left as one part: that of the job that ended it, or where this
    left none, what the others measured, which then lacks something.
    """
    parts = _of_this_plan(plan, parts)
    whole = [one for one in parts if one.border and one.border.whole]
    if whole:
        return max(whole, key=_attempt)
    joined = join(plan, parts)
    lost = "The job that ends the run left nothing." if joined.left else ""
    return ResultsPart(
        plan=digest_of(plan),
        trials=joined.trials,
        calibrations=joined.calibrations,
        ended=joined.unfinished or lost,
        unanswered=said_by(parts, "unanswered"),
        over_budget=said_by(parts, "over_budget"),
        offers=joined.offers,
    )


def said_by(parts: Iterable[ResultsPart], name: str) -> str:
    """Return what the first of the parts says that tells why trials did not run."""
    return next((why for one in parts if (why := getattr(one, name))), "")


def _joined(plan: Plan, parts: Sequence[ResultsPart], last: int) -> Joined:
    """Join the parts of all rounds up to the `last`."""
    held = [one for one in parts if _round(one) <= last]
    trials = _merged(held)
    look = look_at(plan, trials)
    whole = ResultsPart(plan=digest_of(plan), trials=look.made)
    assemble(plan, [whole], RunInfo())  # refuses what no trial of this plan can say
    calibrations: dict[str, CalibrationReplay] = {}
    offers = OfferCollector({})
    for one in sorted(held, key=_order):
        for replay in one.calibrations:
            known = calibrations.setdefault(replay.binding.digest, replay)
            if _says_of_its_judge(replay) > _says_of_its_judge(known):
                calibrations[replay.binding.digest] = replay
        offers.add(() if one.border and one.border.whole else one.offers)
    borders = [one.border for one in parts if one.border and not one.border.whole]
    newest = sorted(borders, key=lambda one: (one.round, one.attempt))
    return Joined(
        trials=look.made,
        left=look.missing,
        calibrations=tuple(calibrations.values()),
        round=last,
        shards=next((one.shards for one in reversed(newest) if one.round == last), 0),
        unfinished="",
        kept=next((one.seconds for one in reversed(newest) if one.round == 0), {}),
        offers=offers.found(),
        attempt=next((one.attempt for one in reversed(newest) if one.round == 0), 1),
        usd=fsum(one.usd or 0.0 for one in held),
    )


def _says_of_its_judge(replay: CalibrationReplay) -> tuple[bool, bool, int]:
    """Return what lets one job's word of a judge stand for all: that it fell, before all else."""
    watch = replay.watch
    return bool(watch and watch.fallen), bool(replay.examples), watch.asked if watch else 0


def _of_this_plan(plan: Plan, parts: Sequence[ResultsPart]) -> Sequence[ResultsPart]:
    """Return the parts of this plan. Those that were left before all was run again may be of
    another one; any other is refused.
    """
    ours = digest_of(plan)
    since = max((_attempt(one) for one in parts if one.border and not one.border.round), default=1)
    found = []
    for one in parts:
        try:
            refuse_other(ours, one.plan)
        except StageFileError:
            if _attempt(one) >= since:
                raise
        else:
            found.append(one)
    return found


def _merged(parts: Iterable[ResultsPart]) -> Iterable[Trial]:
    """Return every trial once: as the first try has it that measured it, and as the last judged it
    again.
    """
    found: dict[TrialKey, Trial] = {}
    for part in sorted(parts, key=_attempt):
        for trial in part.trials:
            known = found.get(trial.key)
            lost = known is None or (known.passed is None and trial.passed is not None)
            if lost or (known and _as_judged_once(trial) == _as_judged_once(known) != trial):
                found[trial.key] = trial
    return found.values()


def _as_judged_once(trial: Trial) -> Trial:
    """Return the trial as it was before its judge was asked again."""
    if not any(one.again for one in trial.assessments):
        return trial.replace(judge_usage=None)
    assessments = tuple(one.replace(again=None) for one in trial.assessments)
    return trial.replace(assessments=assessments, judge_usage=None)


def _refuse_altered(
    plan: Plan, parts: Sequence[ResultsPart], shares: Sequence[Share], asked: Iterable[TrialKey]
) -> None:
    """Raise `StageFileError` where a part is not the share that it says, or comes twice."""
    seen, in_round = set(), set(asked)
    for one in parts:
        shard = _shard(one)
        tried = (shard.number, shard.of, shard.attempt)
        where = f"shard {shard.name} of round {shard.round}"
        if tried in seen:
            raise StageFileError(f"Two of the results are {where}.", hint=_HINT)
        seen.add(tried)
        if shard.of == len(shares):
            share = shares[shard.number - 1]
            wrong = share.asked(plan) != shard.asked
            may = set(share.keys)
        else:  # of a try that was divided otherwise
            wrong, may = False, in_round
        if wrong or any(trial.key not in may for trial in one.trials):
            raise StageFileError(
                f"The results of {where} hold other runs than it has to measure.", hint=_HINT
            )


def _unfinished(
    number: int,
    parts: Sequence[ResultsPart],
    shares: Sequence[Share],
    measured: set[TrialKey],
) -> str:
    """Say which shards of a round left nothing, and which less than they had to measure for another
    reason than the budget: that is measured with what others left of it.
    """
    there = {_shard(one).number for one in parts if _shard(one).of == len(shares)}
    spent = any(one.over_budget for one in parts)
    lost, cut = list[str](), list[str]()
    for at, share in enumerate(shares, start=1):
        missing = sum(key not in measured for key in share.keys)
        if missing and at not in there:
            lost.append(str(at))
        elif missing and not spent:
            cut.append(str(at))
    of = f"of {len(shares)} in round {number}"
    told = [
        f"Nothing came back from shard {listing(names)} {of}; run that job again."
        if names is lost
        else f"Shard {listing(names)} {of} was cut short; run that job again."
        for names in (lost, cut)
        if names
    ]
    return " ".join(told)


def _undivided(plan: Plan, known: Iterable[CalibrationReplay]) -> frozenset[str]:
    """Return the Evals whose judge is still to be measured: each shard would do so on its own."""
    replays = tuple(known)
    return frozenset(
        one.name
        for one in plan.evals
        if one.wants_calibration and one.calibration and replay_of(one, replays) is None
    )


def _last_round(parts: Sequence[ResultsPart]) -> int:
    return max(_rounds(parts), default=0)


def _rounds(parts: Sequence[ResultsPart]) -> Iterator[int]:
    for one in parts:
        if one.shard:
            yield one.shard.round
        if one.border and one.border.shards:
            yield one.border.round + 1


def _shard(part: ResultsPart) -> Shard:
    assert part.shard is not None  # noqa: S101 - those of a round alone are asked
    return part.shard


def _round(part: ResultsPart) -> int:
    if part.shard:
        return part.shard.round
    return part.border.round if part.border else 0


def _order(part: ResultsPart) -> tuple[int, int, int]:
    return _round(part), part.shard.number if part.shard else MOST_SHARDS + 1, _attempt(part)


def _attempt(part: ResultsPart) -> int:
    told = part.shard or part.border
    return told.attempt if told else 1
