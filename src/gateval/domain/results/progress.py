"""How far a run is: which trials are next, what the budget leaves, and what may be told
meanwhile.

Stopping a fixture earlier than its rule would can only take alarms away: a look is reached by going
on at all looks before it, and the chance of ever meeting the cut is bounded over all of them. So
the budget may end any fixture, whatever the trials said, and the bound on false alarms holds.

It is asked at fixed borders only: before the first trial, and whenever all that it asked for are
finished. So no verdict depends on which trial ended first, and a run that lacks trials in the end
lacks just those that are still asked for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from math import inf
from typing import NamedTuple, TypeAlias

from gateval.domain.manifests.gate_config import BudgetPolicy
from gateval.domain.plan.plan import Plan, planned_trials
from gateval.domain.plan.planned_eval import Joint, PlannedEval
from gateval.domain.plan.sealing import kept_apart, parts_of
from gateval.domain.results.averages import Grouped, with_stored
from gateval.domain.results.doubts import as_juries_count, refused_on_both
from gateval.domain.results.fixture_progress import (
    AGREEING,
    FixtureProgress,
    Stored,
    broad_slippage,
    fixture_progress_of,
    larger,
    rules_of,
)
from gateval.domain.results.results import LEAST_FIXTURES, Results, in_steps
from gateval.domain.results.scoring import threshold_repetitions
from gateval.domain.statistics.broad import CONFIRMING_TRIALS, Broad
from gateval.domain.statistics.design import Look, LookResult, fisher
from gateval.domain.trials.trial import Side, Trial, TrialKey


def result_parts(results: Results) -> Iterable[tuple[Results, int]]:
    """Yield the results of each part of the plan, with the planned trials beside it."""
    for plan, beside in parts_of(results.plan):
        names = {one.name for one in plan.evals}
        mine = tuple(one for one in results.trials if one.key.eval in names)
        trials = results.trials if len(mine) == len(results.trials) else mine
        yield results.replace(plan=plan, trials=trials), beside


def sealed_agents(plan: Plan) -> frozenset[str]:
    """Return the Agents that are asked what is sealed."""
    apart = kept_apart(plan)
    return frozenset(one.agent for one in plan.evals if one.name in apart)


def is_public_warning(warning: str, plan: Plan) -> bool:
    """Whether a warning of a run is not of a candidate that was asked what is sealed.

    A warning of theirs begins with the Agent and its side.
    """
    agents = sealed_agents(plan)
    return not warning.startswith(tuple(f"{one} ({side}): " for one in agents for side in Side))


def public_rate(planned: PlannedEval, trials: Grouped) -> float | None:
    """Return the share of head's planned trials that passed, in steps; None where it is not told.

    What an earlier run found of a fixture counts as its trials. Where one was not measured nothing
    is told: an agent that chooses which are would aim the rate at a single fixture.
    """
    if len(planned.fixtures) < LEAST_FIXTURES:
        return None
    owners, reps = planned.owners(), planned.execution.reps_per_fixture
    passed = 0.0
    for name, owner in owners.items():
        if known := planned.stands(name):
            passed += known.head_passes / known.head_trials
            continue
        mine = trials.get((owner, name, Side.HEAD), ())
        said = [one.passed for one in mine if one.key.repetition <= reps and one.passed is not None]
        if len(said) < reps:
            return None
        passed += sum(said) / len(said)
    return in_steps(passed / len(owners))


def unsealed(results: Results) -> Results:
    """Return opened results as those of Evals that were never sealed, to be looked at."""
    evals = tuple(one.replace(sealed=False) for one in results.plan.evals)
    return results.replace(plan=results.plan.replace(evals=evals))


_MINUTE = 60


class TrialBudget:
    """Counts down the further trials that a run may ask for; None is no limit. Mutable."""

    def __init__(self, trials: float | None) -> None:
        self._left = inf if trials is None else trials

    @property
    def left(self) -> float:
        """How many may still be asked for; infinite without a limit."""
        return self._left

    def take(self, trials: int) -> bool:
        """Take so many, if they are there, and say whether they were.

        What was refused is refused again when it is asked for later: what is left only falls.
        """
        if trials > self._left:
            return False
        self._left -= trials
        return True


def trial_budget_of(plan: Plan, trials: Iterable[Trial], beside: int | None = None) -> TrialBudget:
    """Return what the budget leaves after the trials of a run, each counted at their mean cost.

    Of tokens and money, what is known counts. `beside` is how many planned trials share the budget
    and are decided apart, so that what is spent on the ones tells nothing of the others; None is
    those of the sealed Evals of published results.
    """
    budget: BudgetPolicy = plan.policy.budget
    every = list(trials)
    if not budget.is_set or not every:
        return TrialBudget(None)
    others = sum(one.trials for one in plan.sealed) if beside is None else beside
    own = sum(map(planned_trials, plan.evals))
    share = own / (own + others) if others else 1
    limits: list[float] = []
    if budget.repetitions is not None:
        limits.append(budget.repetitions * share - len(every))
    if budget.tokens is not None:
        limits.append(_left(budget.tokens * share, [_tokens(trial) for trial in every]))
    if budget.usd is not None:
        limits.append(_left(budget.usd * share, [_usd(trial) for trial in every]))
    if budget.minutes is not None:
        waited = waited_seconds(plan, every)
        limits.append(_left(_MINUTE * budget.minutes * share, [waited / len(every)] * len(every)))
    return TrialBudget(max(0.0, min(limits)))


def left_after_planned(plan: Plan, trials: Iterable[Trial]) -> float:
    """Return how many trials the budget left when the planned ones were made.

    Stored trials, which cost nothing now, are not among `trials`.
    """
    evals = {one.name: (one.execution.reps_per_fixture, one.stored_counts()) for one in plan.evals}

    def _is_planned(trial: Trial) -> bool:
        reps, stored = evals[trial.key.eval]
        known = stored.get(trial.key.fixture, 0) if trial.key.side is Side.BASE else 0
        return trial.key.repetition <= max(reps, known)

    return trial_budget_of(plan, filter(_is_planned, trials)).left


def waited_seconds(plan: Plan, trials: Iterable[Trial]) -> float:
    """Return how long agents were waited for, side by side: that of the slowest Eval."""
    parallel = {planned.name: planned.execution.parallel for planned in plan.evals}
    sums: dict[str, float] = defaultdict(float)
    for trial in trials:
        sums[trial.key.eval] += trial.seconds
    return max((total / parallel.get(name, 1) for name, total in sums.items()), default=0.0)


def _left(limit: float, costs: list[float]) -> float:
    """Return how many trials of the mean cost are left; without any cost, there is no limit."""
    spent = sum(costs)
    return (limit - spent) * len(costs) / spent if spent else inf


def _tokens(trial: Trial) -> float:
    return (trial.spent.total or 0) + (trial.judge_usage.total or 0)


def _usd(trial: Trial) -> float:
    return (trial.spent.usd or 0.0) + (trial.judge_usage.usd or 0.0)


Together: TypeAlias = tuple[tuple[Joint, Broad | None], ...]
"""Each test of several fixtures of an Eval, with what it says so far."""

_Name = tuple[str, str]


class PlanProgress(NamedTuple):
    """Where every fixture and Eval of a plan stands.

    `courses` and `wanted` are by the Eval that measures a fixture, and the fixture; `wanted` is how
    many trials each side has to have by now. `broad` is by Eval. The budget left nothing to look at
    the fixtures `cut` again, nor at all of those Evals `cut_together`.
    """

    courses: Mapping[_Name, FixtureProgress]
    wanted: Mapping[_Name, Look]
    broad: Mapping[str, Together]
    cut: frozenset[_Name] = frozenset()
    cut_together: frozenset[str] = frozenset()


def progress(plan: Plan, trials: Grouped, beside: int | None = None) -> PlanProgress:
    """Return how far `trials` bring a plan; `beside` is as for `trial_budget_of`."""
    courses = {}
    for planned in plan.evals:
        rules = rules_of(planned)
        for fixture in planned.own_fixtures:
            base, head = (
                trials.get((planned.name, fixture.name, side), ())
                for side in (Side.BASE, Side.HEAD)
            )
            courses[planned.name, fixture.name] = fixture_progress_of(rules, fixture, base, head)
    wanted = {name: fixture_progress.wanted for name, fixture_progress in courses.items()}
    _level(plan, wanted)
    stored = {(e.name, one.fixture): len(one.marks) for e in plan.evals for one in e.stored}
    broad = {planned.name: _broad(planned, trials, stored, courses) for planned in plan.evals}
    trial_budget = trial_budget_of(plan, _made_now(trials, stored), beside)
    cut = _cut(plan, trials, courses, wanted, trial_budget)
    together = frozenset(
        planned.name
        for planned in plan.evals
        if not _add_wishes(planned, trials, stored, broad[planned.name], wanted, trial_budget)
    )
    _level(plan, wanted)
    return PlanProgress(courses, wanted, broad, cut, together)


def _level(plan: Plan, wanted: dict[_Name, Look]) -> None:
    """Have all fixtures of a sealed Eval asked as often as the one that wants most.

    An agent counts what it is asked, and would know of each single one whether it looks worse. What
    stands as regressed is asked like the others, and wants nothing itself.
    """
    for planned in plan.evals:
        if planned.sealed:
            looks = (wanted[planned.name, one] for one in _measured(planned))
            most = reduce(larger, looks, planned.first_look)
            wanted.update({(planned.name, one.name): most for one in planned.own_fixtures})


def _measured(planned: PlannedEval) -> list[str]:
    """Return the fixtures that run under an Eval's name, but for those that stand as regressed."""
    return [one.name for one in planned.own_fixtures if planned.stands(one.name) is None]


def _made_now(trials: Grouped, stored: Stored) -> list[Trial]:
    """The trials of this run: those that are stored come first, and cost nothing."""
    return [
        trial
        for (evaluation, fixture, side), group in trials.items()
        for trial in group[stored.get((evaluation, fixture), 0) if side is Side.BASE else 0 :]
    ]


def _broad(
    planned: PlannedEval, trials: Grouped, stored: Stored, courses: Mapping[_Name, FixtureProgress]
) -> Together:
    owners = planned.owners()
    compared = [courses[owners[name], name] for name in planned.compared]
    found = any(one.regressed or one.fell_silent for one in compared)
    return broad_slippage(planned, trials, stored, found=found)


def _cut(
    plan: Plan,
    trials: Grouped,
    courses: Mapping[_Name, FixtureProgress],
    wanted: dict[_Name, Look],
    trial_budget: TrialBudget,
) -> frozenset[_Name]:
    """Take back what fixtures want beyond the planned trials and the purse does not hold.

    Who looks worst is served first: the others' repetitions tell least.
    """
    if not plan.policy.budget.is_set:
        return frozenset()
    asking = [
        (_worst(group, trials), number, group)
        for number, group in enumerate(_groups(plan, courses))
        if any(_missing(name, wanted[name], trials) for name in group.names)
        and not any(_missing(name, group.planned.first_look, trials) for name in group.names)
    ]
    cut = set()
    for *_, group in sorted(asking, key=lambda one: one[:2]):
        if trial_budget.take(sum(_missing(name, wanted[name], trials) for name in group.names)):
            continue
        cut |= {name for name in group.ending if _missing(name, courses[name].wanted, trials)}
        free = [courses[name].wanted for name in group.names if courses[name].walk is None]
        wanted.update({name: reduce(larger, free, _done(name, trials)) for name in group.names})
    return frozenset(cut)


class _Group(NamedTuple):
    """Fixtures that the purse ends at once; `ending` are those that are compared."""

    planned: PlannedEval
    names: Sequence[_Name]
    ending: Sequence[_Name]


def _groups(plan: Plan, courses: Mapping[_Name, FixtureProgress]) -> Iterator[_Group]:
    """Yield what the purse may end: a compared fixture, or a sealed Eval with all that it has."""
    for planned in plan.evals:
        measured = [(planned.name, one) for one in _measured(planned)]
        ending = [name for name in measured if courses[name].walk is not None]
        if not planned.sealed:
            yield from (_Group(planned, [name], [name]) for name in ending)
        elif ending:
            yield _Group(planned, [(planned.name, f.name) for f in planned.own_fixtures], ending)


def _worst(group: _Group, trials: Grouped) -> tuple[float, float]:
    """Return by what a group is served: how bad the worst of it looks, and how that weighs."""
    planned = group.planned
    return min(
        (
            fisher(*_counts(name, trials)),
            -planned.scoring.weight(planned.fixture(name[1]).severity),
        )
        for name in group.ending
    )


def _add_wishes(
    planned: PlannedEval,
    trials: Grouped,
    stored: Stored,
    broad: Together,
    wanted: dict[_Name, Look],
    trial_budget: TrialBudget,
) -> bool:
    """Add what an Eval wants of all its fixtures, those that another one measures among them.

    Return whether the purse held it. That a threshold is judged fairly is never a matter of money.
    """
    owners = planned.owners()
    least = Look(base=1, head=threshold_repetitions(planned, trials))
    for name, owner in owners.items():
        wanted[owner, name] = larger(wanted[owner, name], least)
    held = True
    for test, said in broad:
        if said is not None and said.step is LookResult.GO_ON:
            asked = owners if planned.sealed else test.fixtures
            names = [(owners[name], name) for name in asked]
            looks = {
                name: larger(wanted[name], _next(test, said, stored.get(name, 0))) for name in names
            }
            more = sum(
                _missing(name, look, trials) - _missing(name, wanted[name], trials)
                for name, look in looks.items()
            )
            if trial_budget.take(more):
                wanted.update(looks)
            else:
                held = False
    return held


def _next(test: Joint, said: Broad, stored: int) -> Look:
    """Return what a test of several fixtures wants of one of them next."""
    if said.confirming:
        return Look(base=stored + CONFIRMING_TRIALS, head=1)
    if said.exact:
        return Look(base=AGREEING, head=AGREEING)
    after = test.looks[said.at + 1]
    return Look(base=max(stored, after.base), head=after.head)


def _done(name: _Name, trials: Grouped) -> Look:
    base, head = (len(trials.get((*name, side), ())) for side in (Side.BASE, Side.HEAD))
    return Look(base=max(1, base), head=max(1, head))


def _missing(name: _Name, look: Look, trials: Grouped) -> int:
    """Return how many trials of both sides are missing at a look."""
    return sum(
        max(0, many - sum(t.key.repetition <= many for t in trials.get((*name, side), ())))
        for side, many in ((Side.BASE, look.base), (Side.HEAD, look.head))
    )


def _counts(name: _Name, trials: Grouped) -> tuple[int, int, int, int]:
    """Return the passes and the measured trials of base, then those of head."""
    base, head = (
        [t.passed for t in trials.get((*name, side), ()) if t.passed is not None]
        for side in (Side.BASE, Side.HEAD)
    )
    return sum(base), len(base), sum(head), len(head)


def next_trials(plan: Plan, finished: Iterable[Trial]) -> tuple[TrialKey, ...]:
    """Return the trials to start now, in (fixture, repetition) order, base and head interleaved.

    An empty answer ends the run.
    """
    trials = with_stored(plan, as_juries_count(plan, refused_on_both(plan, finished)))
    keys: list[TrialKey] = []
    wanted: dict[_Name, Look] = {}
    for part in parts_of(plan):
        names = {one.name for one in part.plan.evals}
        mine = {where: group for where, group in trials.items() if where[0] in names}
        wanted |= progress(part.plan, mine, part.beside).wanted
    for planned in plan.evals:
        for fixture in planned.own_fixtures:
            if planned.stands(fixture.name) is not None and not planned.sealed:
                continue
            look = wanted[planned.name, fixture.name]
            keys += _keys(planned, fixture.name, look, trials)
    return tuple(keys)


def _keys(planned: PlannedEval, fixture: str, look: Look, trials: Grouped) -> Iterable[TrialKey]:
    done = {
        side: {trial.key.repetition for trial in trials.get((planned.name, fixture, side), ())}
        for side in planned.sides
    }
    for repetition in range(1, max(look.base, look.head) + 1):
        for side in planned.sides:
            most = look.base if side is Side.BASE else look.head
            if repetition <= most and repetition not in done[side]:
                yield TrialKey(planned.name, fixture, side, repetition)
