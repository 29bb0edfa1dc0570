"""Makes the record of a run out of its report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from gateval.domain.decision.decision import Report, make_report
from gateval.domain.history.baseline import (
    believed_setting,
    fixture_digest,
    setting_digest,
    stored_agreements,
    stored_watches,
)
from gateval.domain.history.run_record import (
    EVALS_LISTED,
    FIXTURES_LISTED,
    SCORES_LISTED,
    RunBase,
    RunEval,
    RunFacts,
    RunFixture,
    RunRecord,
    RunSpent,
    TrialStatus,
    axes_of_run,
    axes_of_task,
    criteria_of_task,
    newest_of,
    task_score,
)
from gateval.domain.history.status import PULL_REQUESTS
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.averages import EarlierSet, Grouped, averages, group_trials
from gateval.domain.results.comparison import EvalComparison, FixtureChange, FixtureComparison
from gateval.domain.results.doubts import was_seen
from gateval.domain.results.results import Results, SealedVerdict, run_of
from gateval.domain.results.scoring import mean_rate, score_fixture
from gateval.domain.trials.trace import add_usage
from gateval.domain.trials.trial import Side, Trial
from gateval.domain.verdicts import PRECEDENCE, GateVerdict, Partly, ReasonCode, ends

SAID = 160
"""Characters kept of why a fixture did not pass."""


def run_record(report: Report, facts: RunFacts) -> RunRecord | None:
    """Return the record of a report, or None where nothing was evaluated.

    The target branch's versions of Evals are a matter of the change, and not in it. Of a run that
    was cancelled only benchmarks and experiments are: their completed tasks are kept.
    """
    plan, info = report.results.plan, report.results.info
    trials = group_trials(report.results.trials)
    evals = [
        _run_eval(report, plan.eval(one.eval), one, trials)
        for one in report.comparison.evals
        if plan.eval(one.eval).bar is None and not (info.interrupted and not one.head.model.named)
    ]
    if not evals:
        return None
    return RunRecord(
        **facts.model_dump(),
        commit=plan.head.commit or "",
        base=(plan.base and plan.base.commit) or "",
        gateval=info.gateval,
        part=_part(plan),
        seconds=round(info.seconds, 1),
        verdict=report.decision.evals,
        evals=tuple(evals[:EVALS_LISTED]),
        agreements=() if info.interrupted else stored_agreements(report.results)[:EVALS_LISTED],
        watches=() if info.interrupted else stored_watches(report.results)[:EVALS_LISTED],
    )


def public_record(record: RunRecord, public: Results) -> RunRecord:
    """Return a record of the whole as everybody may see it, by the results that are published."""
    told = {one.eval: one for one in public.sealed}
    evals = tuple(
        _public_eval(one, told[one.eval]) if one.eval in told else one for one in record.evals
    )
    verdict = make_report(public).decision.evals
    return record.replace(evals=evals, verdict=verdict)


def _public_eval(whole: RunEval, told: SealedVerdict) -> RunEval:
    """What may be said of a sealed Eval: what was measured, the verdict, and the coarse rate."""
    return RunEval(
        eval=whole.eval,
        kind=whole.kind,
        model=whole.model,
        version=whole.version,
        agent=whole.agent,
        closure=whole.closure,
        setting=whole.setting,
        verdict=told.verdict,
        low=told.rate,
        high=told.rate,
        limits=None,
        threshold=whole.threshold,
        total=whole.total,
        sealed=True,
        digest=told.digest,
    )


def _part(plan: Plan) -> str:
    """Return how much of a whole was picked by a person; empty for all of it.

    What is picked is picked for how it ended: what failed last, or what somebody works on.
    """
    kept, total = plan.coverage
    if kept < total:
        return f"{kept:,} of {total:,} fixtures"
    return f"the fixtures {', '.join(plan.only)}" if plan.only else ""


def _run_eval(
    report: Report, planned: PlannedEval, compared: EvalComparison, trials: Grouped
) -> RunEval:
    plan, head = report.results.plan, compared.head
    mine = [one for one in report.decision.reasons if one.eval == compared.eval]
    verdicts = [one.verdict for one in mine]
    agent = plan.agent(planned.agent, Side.HEAD)

    def _head(one: FixtureComparison) -> Sequence[Trial]:
        return trials.get((planned.name, one.fixture, Side.HEAD), ())

    base = _base_trials(planned, trials)

    names = [(planned.name, one.name) for one in planned.own_fixtures]
    own = [one for side in Side for name in names for one in trials.get((*name, side), ())]
    run = run_of(report.results, planned) if planned.scoring.model.tasks else None
    statuses = [one.status.value for one in run.tasks] if run else [""] * len(compared.fixtures)
    scored, cut = not compared.unanswered, report.results.info.cut
    each = (
        _run_fixture(
            planned, one, (_head(one), base.get(one.fixture, ())), status, cut, scored=scored
        )
        for one, status in zip(compared.fixtures, statuses, strict=False)
    )
    fixtures = tuple(islice(each, FIXTURES_LISTED))
    return RunEval(
        eval=compared.eval,
        kind=planned.kind,
        model=planned.scoring.model,
        version=planned.version,
        status=run.status.value if run else "",
        agent=planned.agent,
        closure=agent.closure if agent else "0" * 64,
        setting=believed_setting(report.results, planned, setting_digest(plan, planned, Side.HEAD)),
        verdict=min(verdicts, key=PRECEDENCE.index, default=GateVerdict.PASS),
        low=None if head.ends is None else round(head.ends[0], 6),
        high=None if head.ends is None else round(head.ends[1], 6),
        runs=(head.score.measured, head.score.of) if isinstance(head.score, Partly) else (0, 0),
        limits=head.interval and (round(head.interval[0], 4), round(head.interval[1], 4)),
        threshold=compared.head.threshold,
        passing=sum(one.all_passed for one in head.fixtures),
        failing=0 if compared.unanswered else sum(one.failed > 0 for one in head.fixtures),
        total=len(head.fixtures),
        slipped=compared.slipped,
        spent=spent_on(own),
        seen=any(was_seen(trial) for one in compared.fixtures for trial in _head(one)),
        stood_in=any(one.code is ReasonCode.STAND_IN for one in mine),
        averages=averages(planned, Side.HEAD, trials) if planned.scoring.model.scorers else (),
        axes=axes_of_run(compared)[:SCORES_LISTED],
        fixtures=fixtures,
        beyond=() if planned.sealed else tuple(islice(_beyond(each), FIXTURES_LISTED)),
        base=_run_base(report, planned, compared, base) if base else None,
    )


def _base_trials(planned: PlannedEval, trials: Grouped) -> Mapping[str, Sequence[Trial]]:
    """Return the planned repetitions of base that this run made, of fixtures with no others."""
    stored = planned.stored_counts()
    names = [] if planned.sealed else [one.name for one in planned.own_fixtures]
    groups = {name: trials.get((planned.name, name, Side.BASE), ()) for name in names}
    return {name: made for name, made in groups.items() if made and name not in stored}


def _run_base(
    report: Report,
    planned: PlannedEval,
    compared: EvalComparison,
    trials: Mapping[str, Sequence[Trial]],
) -> RunBase:
    """Return what this run measured of base."""
    plan = report.results.plan
    agent = plan.agent(planned.agent, Side.BASE)
    reps = planned.execution.reps_per_fixture
    stands = {one.fixture: () for one in compared.fixtures if one.found_at}
    scores = [
        score_fixture(planned, planned.fixture(name), Side.BASE, made, reps)
        for name, made in {**trials, **stands}.items()
    ]
    found = None if compared.unanswered else ends(mean_rate(scores))
    setting = setting_digest(plan, planned, Side.BASE)
    return RunBase(
        closure=agent.closure if agent else "0" * 64,
        setting=believed_setting(report.results, planned, setting),
        low=None if found is None else round(found[0], 6),
        high=None if found is None else round(found[1], 6),
        passing=sum(one.all_passed for one in scores[: len(trials)]),
        total=len(scores),
        axes=axes_of_run(compared, Side.BASE)[:SCORES_LISTED],
    )


def _beyond(fixtures: Iterable[RunFixture]) -> Iterator[RunFixture]:
    """Yield in short those beyond the listed ones that did not just pass, on each side measured."""
    for one in fixtures:
        if one.regressed or not one.all_passed or (one.base and not one.of_base.all_passed):
            yield one.replace(says="", axes=(), criteria=())


def _run_fixture(
    planned: PlannedEval,
    compared: FixtureComparison,
    sides: tuple[Sequence[Trial], Sequence[Trial]],
    status: str,
    cut: str,
    *,
    scored: bool,
) -> RunFixture:
    reps = planned.execution.reps_per_fixture
    first, base = ([one for one in side if one.key.repetition <= reps] for side in sides)
    said = [
        one.reason or next((each.reason for each in one.assessments if not each.passed), "")
        for one in first
        if one.passed is not True
    ]
    stands = planned.stands(compared.fixture)
    said += [stands.says] if stands else [cut] if compared.missing else []
    again = [a.wavered for t in first for a in t.assessments if a.again is not None]
    fixture = planned.fixture(compared.fixture)
    own = compared.head.own if scored and (first or compared.found_at) else None
    stood = stands.scores if stands and planned.scoring.graded else None
    found = RunFixture(
        fixture=compared.fixture,
        digest=fixture_digest(fixture),
        trials="".join(mark_of(one) if scored else TrialStatus.LOST for one in first)[:1000],
        base="".join(mark_of(one) if scored else TrialStatus.LOST for one in base)[:1000],
        base_score=stood[0] if stood else task_score(planned, base) if scored else None,
        severity=fixture.severity.value,
        regressed=compared.change is FixtureChange.REGRESSED,
        asked_again=len(again),
        wavered=sum(again),
        claimed=_rests_on_claims(first),
        says=next(filter(None, said), "")[:SAID],
        score=task_score(planned, first) if scored else None,
        own=(round(own[0], 6), round(own[1], 6)) if own else None,
        status=status,
        axes=axes_of_task(planned, fixture, first)[:SCORES_LISTED] if scored else (),
        criteria=criteria_of_task(planned, fixture, first) if scored else (),
    )
    same = found.status_shown is compared.status
    return found if same else found.replace(shown=compared.status)


def spent_on(trials: Sequence[Trial]) -> RunSpent | None:
    """Return what these trials took; None where there are none."""
    if not trials:
        return None
    asked = [one.asked for trial in trials for one in trial.assessments if one.verdict]
    usages = [trial.spent for trial in trials]
    usages += [t.judge_usage for t in trials if any(one.verdict for one in t.assessments)]
    total = add_usage(usages)
    return RunSpent(
        trials=len(trials),
        calls=sum(one.trace.model_calls for one in trials if one.trace) + sum(asked),
        tokens=total.total,
        usd=total.usd,
    )


def _rests_on_claims(trials: Sequence[Trial]) -> bool:
    assessed = [one.assessments for one in trials if one.assessments]
    return bool(assessed) and all(any(a.claimed for a in one) for one in assessed)


def mark_of(trial: Trial) -> TrialStatus:
    """Return how a trial ended; one of which a juror was left out measured nothing for others."""
    if trial.passed is None or not trial.judged_whole:
        return TrialStatus.LOST
    if trial.passed:
        return TrialStatus.PASSED
    return TrialStatus.FAILED if trial.answered else TrialStatus.SILENT


def experiments(plan: Plan) -> tuple[PlannedEval, ...]:
    """Return the experiments of a plan, without the target branch's versions."""
    return tuple(one for one in plan.evals if one.scoring.model.scorers and one.bar is None)


def earlier_sets(plan: Plan, records: Iterable[RunRecord]) -> tuple[EarlierSet, ...]:
    """Return the newest set of each experiment of a plan; `records` come the newest first.

    Runs of pull requests are left out: they measure what somebody proposes.
    """
    wanted = {one.own_name: one for one in experiments(plan)}
    found = newest_of(
        records, wanted, lambda one, run: run.averages and one.event not in PULL_REQUESTS
    )
    return tuple(_set(*found[name], planned) for name, planned in wanted.items() if name in found)


def _set(record: RunRecord, run: RunEval, planned: PlannedEval) -> EarlierSet:
    then = {(one.fixture, one.digest) for one in run.fixtures}
    now = [(one.name, fixture_digest(one)) for one in planned.fixtures[:FIXTURES_LISTED]]
    return EarlierSet(
        eval=run.eval,
        at=record.at,
        revision=record.revision,
        run=record.id,
        averages=run.averages,
        same=then == set(now) and run.total == len(planned.fixtures),
    )
