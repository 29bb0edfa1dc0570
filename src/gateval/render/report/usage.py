"""Tokens, money, time and certainty of a run, in sentences. What nobody counted stays unknown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf
from statistics import fmean
from typing import NamedTuple

from gateval.domain.base import known_of_last
from gateval.domain.calibration import CalibrationReplay, show_agreement
from gateval.domain.decision.decision import Report
from gateval.domain.decision.reasons import SPENDING_CODES, show_preferences
from gateval.domain.injection import show_injections
from gateval.domain.manifests.catalogue import embedded
from gateval.domain.manifests.evaluation import SCRIPTED_PROVIDER
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.comparison import EvalComparison, FixtureChange, Rise, Unit
from gateval.domain.results.doubts import judge_doubt, replay_of
from gateval.domain.results.outlook import unseen_drop
from gateval.domain.results.progress import left_after_planned
from gateval.domain.statistics.walk import Ratio
from gateval.domain.text import listing, show_ratio, show_score, show_usd
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import add_usage
from gateval.domain.trials.trial import Side, Trial
from gateval.domain.verdicts import ReasonCode
from gateval.render.report.plan_wording import budget_lines, models_needed
from gateval.render.report.wording import KindLabels, count, words_of

_UNPRICED_SHOWN = 3


class Tokens(NamedTuple):
    """Tokens of several trials: the sums of what is known, and of how many trials it is not."""

    inputs: int
    outputs: int
    known: int
    unknown: int

    def __str__(self) -> str:
        if not self.known:
            return "unknown" if self.unknown else "none"
        sums = f"{self.inputs:,} in, {self.outputs:,} out"
        return f"{sums}, unknown for {count(self.unknown, 'trial')}" if self.unknown else sums


class Money(NamedTuple):
    """US dollars of several trials: the sum of what is known, and of how many trials it is not.

    `unpriced` are models without a known price.
    """

    usd: float
    known: int
    unknown: int
    unpriced: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.known + self.unknown:
            return "none"
        why = f" (no price of {listing(self.unpriced, _UNPRICED_SHOWN)})" if self.unpriced else ""
        if not self.known:
            return f"unknown{why}"
        rest = f", unknown for {count(self.unknown, 'trial')}{why}" if self.unknown else ""
        return f"{show_usd(self.usd)}{rest}"


class Spent(NamedTuple):
    """What several trials took; `seconds` is the mean time of an answer, None if there is none."""

    tokens: Tokens
    money: Money
    seconds: float | None = None

    @property
    def time(self) -> str:
        """The seconds per answer, as text."""
        return "none" if self.seconds is None else f"{self.seconds:.1f} s"


def count_tokens(usages: Iterable[Usage]) -> Tokens:
    """Sum what is known on both counts."""
    inputs = outputs = known = unknown = 0
    for usage in usages:
        if usage.input_tokens is None or usage.output_tokens is None:
            unknown += 1
        else:
            known += 1
            inputs += usage.input_tokens
            outputs += usage.output_tokens
    return Tokens(inputs, outputs, known, unknown)


def count_money(usages: Sequence[Usage]) -> Money:
    """Sum what has a price."""
    known = [usage.usd for usage in usages if usage.usd is not None]
    return Money(sum(known), len(known), len(usages) - len(known), add_usage(usages).unpriced)


class AgentUsage(NamedTuple):
    """The usage of one Agent's trials: on head, on base, and by what measures both: judges, and
    models for embeddings.
    """

    agent: str
    head: Spent
    base: Spent
    judge: Spent

    @property
    def sides(self) -> tuple[tuple[str, Spent], ...]:
        """Head, base and judge by name, without those that did nothing."""
        every = (("head", self.head), ("base", self.base), ("judge", self.judge))
        return tuple(one for one in every if one[1].money.known or one[1].money.unknown)


@known_of_last
def usage_by_agent(report: Report) -> tuple[AgentUsage, ...]:
    """Return the usage per Agent, in the order of the plan's Evals."""
    plan = report.results.plan
    agents = {planned.name: planned.agent for planned in plan.evals}
    judged = {
        (planned.name, fixture.name, side)
        for planned in plan.evals
        for fixture in planned.fixtures
        for side in Side
        if fixture.is_judged
        or any(embedded(fixture))
        or (side is Side.HEAD and fixture.name in planned.preferring)
    }
    replays = _replays_by_agent(report)
    trials: dict[str, list[Trial]] = {agent: [] for agent in agents.values()}
    for trial in report.results.trials:
        trials[agents[trial.key.eval]].append(trial)
    return tuple(
        AgentUsage(
            agent,
            _spent([t for t in mine if t.key.side is Side.HEAD]),
            _spent([t for t in mine if t.key.side is Side.BASE]),
            _counted(
                [
                    one.judge_usage
                    for one in mine  # one without assessments never got as far as the judge
                    if one.assessments and (one.key.eval, one.key.fixture, one.key.side) in judged
                ]
                + replays.get(agent, [])
            ),
        )
        for agent, mine in trials.items()
    )


def _replays_by_agent(report: Report) -> dict[str, list[Usage]]:
    """What judges took for calibrations that this run replayed, by the first Agent of each."""
    found: dict[str, list[Usage]] = {}
    for one in report.results.calibrations:
        asked = (p for p in report.results.plan.evals if replay_of(p, (one,)) is one)
        planned = next(asked, None)
        if (one.examples or one.watch) and planned is not None:
            found.setdefault(planned.agent, []).append(one.usage)
    return found


def mean_seconds(trials: Iterable[Trial]) -> float | None:
    """Return the mean time of an answer, without waits for providers; None without one."""
    seconds = [trial.own_seconds for trial in trials if trial.output is not None]
    return fmean(seconds) if seconds else None


def _spent(trials: Sequence[Trial]) -> Spent:
    return _counted([trial.spent for trial in trials])._replace(seconds=mean_seconds(trials))


def _counted(usages: Sequence[Usage]) -> Spent:
    return Spent(count_tokens(usages), count_money(usages))


def models_used(report: Report) -> tuple[str, ...]:
    """Return the models needed and those that answered, e.g. fallbacks, sorted."""
    answered = {
        name for trial in report.results.trials if trial.trace for name in trial.trace.models
    }
    return tuple(sorted(answered.union(models_needed(report.results.plan))))


def scripted_models(report: Report) -> tuple[str, ...]:
    """Return the scripted models among those used."""
    return tuple(n for n in models_used(report) if n.startswith(f"{SCRIPTED_PROVIDER}/"))


def only_judges_scripted(report: Report) -> bool:
    """Whether there are scripted models that judged, and none of them answered for an agent."""
    plan, trials = report.results.plan, report.results.trials
    asked = {name for one in trials if one.trace is not None for name in one.trace.models}
    asked |= {name for one in plan.agents for name in one.models[:1]}
    scripted = scripted_models(report)
    return bool(scripted) and asked.isdisjoint(scripted)


_WHAT = {
    Unit.USD: "an answer costs {} what it did on base",
    Unit.TOKENS: "an answer takes {} the tokens of base",
}


def overview(report: Report) -> str:
    """Return what the agents cost and how long an answer took, on both sides; empty for no run."""
    said = []
    for side in (Side.HEAD, Side.BASE):
        mine = [trial for trial in report.results.trials if trial.key.side is side]
        seconds = mean_seconds(mine)
        time = "" if seconds is None else f" and {seconds:.1f} s an answer"
        if mine:
            said.append(f"{side} {_cost(count_money([one.spent for one in mine]))}{time}")
    return ", ".join(said)


def told_of_spending(report: Report) -> tuple[str, ...]:
    """Return what the policy has to say on money and time."""
    return tuple(one.text for one in report.decision.reasons if one.code in SPENDING_CODES)


def rise_lines(report: Report) -> tuple[str, ...]:
    """Return, for each Eval of which it is known, how much more or less head costs than base.

    Time is not told so: that of a few fixtures is noise, unless the policy has a limit for it.
    """
    return tuple(
        f"{rise.eval}: {_compared(rise, rise.ratio)}."
        for rise in report.comparison.rises
        if rise.ratio is not None and rise.unit is not Unit.SECONDS
    )


def _cost(money: Money) -> str:
    if not money.known:
        return "at unknown cost"
    return f"{'at least ' if money.unknown else ''}{show_usd(money.usd)}"


def _compared(rise: Rise, ratio: Ratio) -> str:
    said = f"{_WHAT[rise.unit].format(f'{show_ratio(ratio.mean)} times')}{_sure(ratio)}"
    if rise.zeros:
        said += f"; {count(rise.zeros, 'fixture')} took nothing on one side, so no ratio"
    return said


def _sure(ratio: Ratio) -> str:
    pairs = count(ratio.pairs, "fixture")
    if ratio.low is None or ratio.high is None:
        return f" ({pairs}, too few for an interval)"
    interval = f"{show_ratio(ratio.low)} to {show_ratio(ratio.high)}"
    return f" ({100 * ratio.level:.4g} % interval {interval}, {pairs} in pairs)"


def certainty(report: Report) -> tuple[str, ...]:
    """Return what the numbers can tell and what they cannot."""
    return (
        *_baseline(report),
        *_power(report),
        *_intervals(report),
        *_judges(report),
        *_unsure(report),
        *_preferences(report),
        *(
            reason.text
            for reason in report.decision.reasons
            if reason.code is ReasonCode.FAILS_AS_BEFORE
        ),
    )


def _baseline(report: Report) -> Iterator[str]:
    """What of base was measured before, and by which runs."""
    used = report.results.plan.baseline
    if used is None:
        return
    stored = sum(len(one.marks) for e in report.results.plan.evals for one in e.stored)
    days = sorted({one.at[:10] for one in used.runs})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    yield (
        f"Base: {count(stored, 'trial')} that {count(len(used.runs), 'run')} of the default branch "
        f"made before ({when}), as GitHub confirmed; baseline {used.digest[:12]}."
    )


def _power(report: Report) -> Iterator[str]:
    """What could have been missed, and what the budget of the run has to do with that."""
    plan = report.results.plan
    spare = left_after_planned(plan, report.results.trials)
    drop, free = (unseen_drop(plan, report.comparison, left) for left in (spare, inf))
    words = words_of(one.kind for one in plan.evals)
    if _compared_words(report):
        yield from _unseen(drop, words)
    yield from (f"{line[:1].upper()}{line[1:]}." for line in budget_lines(plan))
    if plan.policy.budget.counts_costs and plan.evals and not report.results.info.over_budget:
        yield f"The planned trials {_left_of_budget(spare)}."
        if drop is not None and free is not None and drop > free:
            yield (
                f"Without it, a drop of {100 * free:.0f} points in one {words.case} would be found "
                "in 4 of 5 cases; that is its price."
            )


def _compared_words(report: Report) -> bool:
    """Whether a drop could have been missed: where something was measured on both sides, and not
    found worse.
    """
    return any(
        one.head_all.trials
        and one.base_all
        and one.base_all.trials
        and not (one.no_answer or one.change is FixtureChange.REGRESSED)
        for compared in report.comparison.evals
        if not compared.unanswered
        for one in compared.fixtures
    )


def _left_of_budget(spare: float) -> str:
    if spare == inf:
        return "took nothing of it that anybody counted"
    return (
        f"left room for {count(int(spare), 'more trial')}" if spare >= 1 else "left nothing of it"
    )


def _unseen(drop: float | None, words: KindLabels) -> Iterator[str]:
    if drop is None:
        return
    if drop >= 1:
        yield f"A drop in one {words.case} could have been missed, however large it is."
    else:
        points = f"{100 * drop:.0f} points"
        yield f"A drop under {points} in one {words.case}'s {words.falls} could have been missed."


def _intervals(report: Report) -> Iterator[str]:
    for compared in report.comparison.evals:
        planned = report.results.plan.eval(compared.eval)
        written = planned.scoring.pass_threshold is not None
        if written and compared.head.measured and not planned.deterministic:
            yield _interval(compared)


def _preferences(report: Report) -> Iterator[str]:
    """What judges prefer, and how often they kept to a place instead of an answer."""
    for compared in report.comparison.evals:
        found = compared.preference
        if found is None or not found.said.pairs:
            continue
        said = found.said
        kept = (
            f" In {said.first + said.second} of the ties the judge kept to a place "
            f"({said.first} times the first, {said.second} the second)."
        )
        yield (
            f"{report.results.plan.eval(compared.eval).shown_name}, head's answers beside base's: "
            f"{show_preferences(said)}, p {said.p_value:.2g}."
            f"{kept if said.first or said.second else ''}"
        )


def _judges(report: Report) -> Iterator[str]:
    """How far judges agree with people whose word counts for that."""
    results = report.results
    for one in results.calibrations:
        asked = [p for p in results.plan.evals if replay_of(p, (one,)) is one]
        policy = results.plan.policy.judge
        if asked and not any(judge_doubt(planned, (one,), policy) for planned in asked):
            earlier = f", measured by run {one.run}" if one.run else ""
            yield from _jury(one)
            yield (
                f"The judge {one.binding.model} agrees with people, by {one.calibration}: "
                f"{show_agreement(one.agreement)}{earlier}.{_other_rubrics(asked)}"
            )
            if one.injections is not None:
                yield f"To talk it round, {show_injections(one.injections)}."


def _jury(replay: CalibrationReplay) -> Sequence[str]:
    """What labels say of several judges."""
    if replay.binding.panel is None:
        return ()
    from gateval.domain.results.jury_figures import jury_figures, jury_lines

    figures = jury_figures(replay)
    return jury_lines(figures) if figures else ()


def _unsure(report: Report) -> Iterator[str]:
    """How often judges could not tell, and juries were of two minds."""
    heard = [
        one.verdict
        for trial in report.results.trials
        for whole in trial.assessments
        for one in (whole, *whole.parts)
        if one.verdict is not None
    ]
    split = sum(one.split for one in heard if one.jurors)
    of = sum(bool(one.jurors) for one in heard)
    unclear = sum(one.undetermined for one in heard)
    if unclear:
        every = count(len(heard), "judgement")
        yield f"The judge could not determine {unclear} of {every}, which count as errors."
    if split:
        yield f"The jury was split in {split} of {count(of, 'judgement')}."


def _other_rubrics(judged: Sequence[PlannedEval]) -> str:
    """Say how many assertions ask the judge something else than it was measured by, if any."""
    asks = [
        (spec.options.get("rubric"), planned.calibration.rubric)
        for planned in judged
        if planned.calibration and planned.bar is None
        for fixture in planned.fixtures
        for whole in fixture.assertions
        for spec in whole.within()
        if spec.needs_judge and "rubric" in spec.options
    ]
    others = sum(str(asked).strip() != measured.strip() for asked, measured in asks)
    if not others:
        return ""
    verb = "has" if others == 1 else "have"
    return f" It was measured by one rubric; {others} of {len(asks)} assertions {verb} another."


def _interval(compared: EvalComparison) -> str:
    low, high = compared.head.interval or (0.0, 1.0)
    score = show_score(compared.head.score)
    trials = sum(fixture.planned for fixture in compared.head.fixtures)
    base = compared.base
    beside = f"; base scores {show_score(base.score)}" if base else ""
    threshold = compared.head.asks
    return (
        f"{compared.eval} scores {score} in {count(trials, 'trial')}; with others it might score "
        f"between {low:.2f} and {high:.2f}. Its threshold is {threshold}{beside}."
    )
