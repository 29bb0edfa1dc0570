"""How sure a report is, in sentences for people who know no statistics (not sanitised)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

from gateval.domain.calibration.belief import show_agreement
from gateval.domain.decision.report import Report
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.comparison import EvalComparison
from gateval.domain.results.doubts.judges import judge_doubt, replay_of
from gateval.domain.results.looks.purse import left_after_planned
from gateval.domain.results.outlook import unseen_drop
from gateval.domain.text.figures import show_score
from gateval.domain.verdicts import ReasonCode
from gateval.render.report.words.counts import count
from gateval.render.report.words.kinds import Words, words_of
from gateval.render.report.words.plan_wording import budget_lines


def certainty(report: Report) -> tuple[str, ...]:
    """Return what the numbers can tell and what they cannot."""
    return (
        *_baseline(report),
        *_power(report),
        *_intervals(report),
        *_judges(report),
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
    if _compared(report):
        yield from _unseen(drop, words)
    yield from (f"{line[:1].upper()}{line[1:]}." for line in budget_lines(plan))
    if plan.policy.budget.counts_costs and plan.evals and not report.results.info.over_budget:
        yield f"The planned trials {_left_of_budget(spare)}."
        if drop is not None and free is not None and drop > free:
            yield (
                f"Without it, a drop of {100 * free:.0f} points in one {words.case} would be found "
                "in 4 of 5 cases; that is its price."
            )


def _compared(report: Report) -> bool:
    """Whether anything was measured on both sides: else nothing could have been seen at all."""
    return any(
        one.head_all.trials and one.base_all and one.base_all.trials
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


def _unseen(drop: float | None, words: Words) -> Iterator[str]:
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


def _judges(report: Report) -> Iterator[str]:
    """How far judges agree with people whose word counts for that."""
    results = report.results
    for one in results.calibrations:
        asked = [p for p in results.plan.evals if replay_of(p, (one,)) is one]
        policy = results.plan.policy.judge
        if asked and not any(judge_doubt(planned, (one,), policy) for planned in asked):
            earlier = f", measured by run {one.run}" if one.run else ""
            yield (
                f"The judge {one.binding.model} agrees with people, by {one.calibration}: "
                f"{show_agreement(one.agreement)}{earlier}.{_other_rubrics(asked)}"
            )


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
