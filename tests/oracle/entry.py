"""This tree's entry points: the one module of the oracle that knows how the product is called.

Each side of a comparison brings its own. `SECTIONS` names what is compared of a generated world,
`COMMANDS` of a stored run. Whoever moves a function changes its call here, and never what is told.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from pydantic import TypeAdapter

from gateval.app.run.views import all_views
from gateval.domain.audit import AuditRun
from gateval.domain.base import digest
from gateval.domain.calibration import CalibrationReplay
from gateval.domain.decision.decision import Report, make_report, publishable, with_labels
from gateval.domain.history import baseline, standing
from gateval.domain.history import standing as local_findings
from gateval.domain.history.compared import ComparedRecord, compare_runs, table_of
from gateval.domain.history.forecast import forecast
from gateval.domain.history.recorded import earlier_sets, run_record
from gateval.domain.history.run_record import (
    RunFacts,
    RunRecord,
    add_run,
    newest_first,
    record_line,
)
from gateval.domain.history.status import Present, newest_runs, status_of
from gateval.domain.history.trend import Moments, due_eval, last_runs, trend, turns, wavering
from gateval.domain.history.verdicts import (
    HistoryRecord,
    Occurrence,
    about_report,
    inputs_digest,
    record_of,
)
from gateval.domain.label_decision import (
    AuditPerson,
    GateLabel,
    LabelDecision,
    LabelDecisions,
    LabelStatus,
    LabelUse,
)
from gateval.domain.manifests import gate_config
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.planning.selection import Narrowing
from gateval.domain.results import averages
from gateval.domain.results import trial_verdict as parts
from gateval.domain.results.averages import group_trials
from gateval.domain.results.comparison import Comparison, EvalComparison
from gateval.domain.results.doubts import cut_off_warnings
from gateval.domain.results.outlook import found_drop, outlook, seen_drops, unseen_drop
from gateval.domain.results.progress import left_after_planned, next_trials, waited_seconds
from gateval.domain.results.results import Results, RunInfo, assemble, part_of, run_of
from gateval.domain.results.scoring import EvalScore
from gateval.domain.results.self_check import self_check
from gateval.domain.results.trial_verdict import conclude_answer, conclude_no_answer, unanswered
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trial import Answer, Assessment, NoAnswer, Side, Trial, TrialKey
from gateval.render.stage import dump_whole, load_results
from tests.oracle.plans import policy_digest_of

NOW = "2026-11-23T12:00:00Z"
_EVENTS = ("push", "schedule", "pull_request")
_WAVES = 60
_TRIALS = 4_000
_ASSESSMENT = TypeAdapter[Assessment](Assessment)


def run_world(world: Any, salt: int = 0) -> Told:
    """Run a world's plan to its end, as the engine would, and return what may be told of it."""
    plan = Plan.model_validate(world.plan)
    finished: list[Trial] = []
    waves: list[list[str]] = []
    most, absent, started = world.ending["most"], set[TrialKey](), list[TrialKey]()
    for _ in range(_WAVES):
        keys = [one for one in next_trials(plan, finished) if one not in absent]
        waves.append([str(one) for one in keys])
        if not keys or len(finished) > _TRIALS:
            break
        for key in keys:
            over = most is not None and len(finished) >= most
            trial = None if over else _trial(plan, key, world, salt)
            if trial is None:
                absent.add(key)
                started.append(key)
            else:
                finished.append(trial)
    info = RunInfo(**world.ending["info"])
    if world.ending.get("started"):
        info = info.model_copy(update={"started": tuple(started[:2])})
    calibrations = [CalibrationReplay.model_validate(one) for one in world.calibrations]
    return Told(world, plan, waves, finished, info, calibrations)


def _trial(plan: Plan, key: TrialKey, world: Any, salt: int) -> Trial | None:
    act = world.answer(key.eval, key.fixture, key.side.value, key.repetition, salt)
    if act is None or world.dropped(str(key)):
        return None
    planned = plan.eval(key.eval)
    fixture, scoring = planned.fixture(key.fixture), planned.scoring
    if "silence" in act:
        return conclude_no_answer(key, NoAnswer.model_validate(act["silence"]), scoring)
    answer = Answer.model_validate(act["answer"])
    silence = unanswered(answer)
    if silence is not None:
        return conclude_no_answer(key, silence, scoring)
    found = [_ASSESSMENT.validate_python(one) for one in act["assessments"]]
    usage = Usage.model_validate(act["judge_usage"])
    trial = conclude_answer(key, fixture, answer, found, usage, scoring)
    lost = Usage.model_validate(act.get("lost_usage", {}))
    return trial.model_copy(update={"lost_usage": lost})


@dataclass
class Told:
    """A run of a world, with everything that is made of it, each made once."""

    world: Any
    plan: Plan
    waves: list[list[str]]
    finished: list[Trial]
    info: RunInfo
    calibrations: list[CalibrationReplay]

    @cached_property
    def results(self) -> Results:
        """The results as they are stored."""
        found = Results(
            plan=self.plan,
            trials=tuple(sorted(self.finished, key=lambda one: one.key.order)),
            calibrations=tuple(sorted(self.calibrations, key=lambda one: one.binding.digest)),
            info=self.info,
        )
        return Results.model_validate({**dict(found), "earlier": self.world.earlier})

    @cached_property
    def label_decisions(self) -> LabelDecisions:
        """The labels on the change."""
        by = AuditPerson(login="ada", id=1, role="admin")
        found = [
            LabelDecision(
                label=GateLabel(name), status=LabelStatus.GRANTED, use=LabelUse(name=name, by=by)
            )
            for name in self.world.labels
        ]
        return LabelDecisions(found=tuple(found))

    @cached_property
    def report(self) -> Report:
        """What all views and records are made of."""
        return make_report(self.results, self.label_decisions)

    @cached_property
    def record(self) -> RunRecord | None:
        """The record of the run."""
        return self.recorded(1)

    @cached_property
    def records(self) -> list[RunRecord] | None:
        """The records of three runs, the newest first; of each fourth world."""
        if self.world.seed % 4:
            return None
        runs = [self, run_world(self.world, 1), run_world(self.world, 2)]
        content = b""
        for number, (one, event) in enumerate(zip(runs, _EVENTS, strict=True), 1):
            record = one.recorded(number, event)
            content = content if record is None else add_run(content, record)
        return list(newest_first(content))

    def recorded(self, number: int, event: str = "push") -> RunRecord | None:
        """Return its record as that of one run of several."""
        at = f"2026-11-{10 + number:02}T12:00:00Z"
        flow = ".github/workflows/evals.yml"
        name = f"{number}-1"
        facts = RunFacts(id=name, event=event, at=at, run=number, branch="main", workflow=flow)
        return run_record(self.report, facts)


def _asked(told: Told) -> Any:
    return {"waves": told.waves, "most": sorted(map(str, told.plan.most_repetitions().items()))}


def _trials(told: Told) -> Any:
    names = ("outcome", "cause", "reason", "score", "repeats", "endless", "detail")
    return [
        [str(one.key), one.passed, one.answered, *(getattr(one, name) for name in names)]
        for one in told.results.trials
    ]


def _compare(told: Told) -> Any:
    return _comparison(told.report.comparison)


def _comparison(found: Comparison) -> Any:
    return [
        found.model_dump(mode="json", exclude={"evals"}),
        *map(_eval_comparison, found.evals),
        [[rise.over(limit) for limit in (1.0, 1.5, 3.0)] for rise in found.rises],
    ]


def _eval_comparison(one: EvalComparison) -> Any:
    dumped = one.model_dump(mode="json")
    for side in ("head", "base", "head_first"):
        score = getattr(one, side)
        if score is not None:
            del dumped[side]["score"]
            dumped[side]["low"], dumped[side]["high"] = score.ends or (None, None)
    return {
        **dumped,
        "is": [one.delta, one.regressed, one.slipped, one.dead, len(one.together)],
        "scores": [_score(each) for each in (one.head, one.base, one.head_first) if each],
        "hides": [[f.may_hide_break, f.silent, f.head_all.unclear] for f in one.fixtures],
    }


def _score(one: EvalScore) -> Any:
    ends = [[f.low, f.high, f.measured, f.all_passed, f.missing] for f in one.fixtures]
    return [one.meets, one.interval, one.close, one.measured, one.asks, one.in_quarantine, ends]


def _decision(told: Told) -> Any:
    report = told.report
    bare = make_report(report.results).decision
    labelled = with_labels(bare, told.label_decisions)
    return [_dump(report.decision), _dump(bare), _dump(labelled)]


def _record(told: Told) -> Any:
    report = told.report
    found = tuple(standing.regressions_of(report))
    history = _history_record(report, found)
    occurrence = Occurrence("acme/shop", 5, AuditRun(id="7"), NOW)
    return {
        "run": told.record and _line(told.record),
        "history": history and _verdict(history, told.plan),
        "keys": _keys(told.plan),
        "findings": [
            _without(_dump(one), _NEW["finding"])
            for one in local_findings.new_findings(report, NOW)
        ],
        "check": [_without(_dump(standing.findings_of(report)), _NEW["check"])] * 2,
        "audit": _dump(about_report(report, occurrence)),
    }


def _history_record(report: Report, found: Any) -> HistoryRecord | None:
    plan = report.results.plan
    revisions = {"head": plan.head, "base": plan.base or plan.head, "base_tip": plan.head}
    read = inputs_digest(**revisions, config="", narrowing=Narrowing())
    run = AuditRun(id="7", actor="ada")
    return record_of(
        report, run=run, recorded_at=NOW, check="gateval", read_from=read, regressed=found
    )


_NEW = {
    "record": {"base", "base_score", "own"},
    "plan": {"after_merge", "sealed_bits", "notify", "says", "rates", "max_outage"},
    "finding": {"says", "scores", "means"},
    "check": {"kept"},
}
"""What is held now and was not before: by a record of Evals and fixtures (`compare` knows what was
measured as base, and what a run called a fixture's score), by a plan (what a change adds to sealed
Evals runs after the merge; `policy.sealedBits`, `notify`, `rates` and `maxOutage`; what failed of a finding that stands), by a
finding (what it says and scores), and by a check run (findings on sealed Evals)."""


def _without(value: Any, new: set[str]) -> Any:
    """Return JSON without keys that are new in it."""
    if isinstance(value, dict):
        return {key: _without(one, new) for key, one in value.items() if key not in new}
    return [_without(one, new) for one in value] if isinstance(value, list) else value


def _verdict(record: HistoryRecord, plan: Plan) -> Any:
    """Return the record of a verdict and its digest, as if nothing in it or its policy was new."""
    told = _without(_dump(record), _NEW["finding"])
    if told["policy"] == gate_config.policy_digest(plan.policy):
        told["policy"] = policy_digest_of(_without(_dump(plan.policy), _NEW["plan"]))
    return [told, digest(told)]


def _line(record: RunRecord) -> Any:
    told = json.loads(record_line(record))
    return {**told, "evals": _without(told["evals"], _NEW["record"])}


def _file(results: Results) -> Any:
    told = json.loads(dump_whole(results))
    return {**told, "plan": _without(told["plan"], _NEW["plan"])}


def _keys(plan: Plan) -> Any:
    return [
        [one.name, name, standing.comparison_key(plan, one, name)]
        for one in plan.evals
        for name in one.compared
    ]


def _scores(told: Told) -> Any:
    trials = group_trials(told.results.trials)
    return {
        planned.name: [
            _lifecycle(told, planned),
            _averages(planned, trials),
            [_dump(averages.people(planned, side, trials)) for side in planned.sides],
            [
                {name: _dump(one) for name, one in parts.axis_scores(fixture, trial).items()}
                for fixture in planned.fixtures
                for trial in trials.get((planned.name, fixture.name, Side.HEAD), ())
            ],
        ]
        for planned in told.plan.evals
    }


def _averages(planned: PlannedEval, trials: Any) -> Any:
    if planned.kind != "Experiment":
        return None
    moved = averages.differences(planned, trials) if Side.BASE in planned.sides else None
    return [moved, *(_dump(one) for one in averages.averages(planned, Side.HEAD, trials))]


def _lifecycle(told: Told, planned: PlannedEval) -> Any:
    return _dump(run_of(told.results, planned)) if planned.kind == "Benchmark" else None


def _outlook(told: Told) -> Any:
    plan = told.plan
    spare = left_after_planned(plan, told.results.trials)
    return [
        _dump(outlook(plan)),
        [_dump(one) for one in seen_drops(plan)],
        [found_drop(one, spare) for one in plan.evals if one.compared],
        unseen_drop(plan, told.report.comparison, spare),
        [spare, waited_seconds(plan, told.results.trials), *plan.coverage],
        list(cut_off_warnings(plan, told.results.trials)),
    ]


def _stored(told: Told) -> Any:
    """What is stored, read back, and put together of the parts of two jobs; of each third world."""
    if told.world.seed % 3:
        return None
    text = dump_whole(told.results)
    again = load_results(text.encode())
    part = part_of(told.results)
    whole = assemble(told.plan, [part], told.info)
    parted = _dump(part)
    parted["plan"]["evals"] = [
        digest(_without(_dump(one), _NEW["plan"])) if given == digest(_dump(one)) else given
        for one, given in zip(told.plan.evals, parted["plan"]["evals"], strict=True)
    ]
    return [_file(told.results), again == told.results, parted, len(whole.trials)]


def _sealed(told: Told) -> Any:
    """What everybody may see of a run with sealed Evals; nothing of others."""
    if not any(one.sealed for one in told.plan.evals):
        return None
    shut = publishable(make_report(told.results))
    report = make_report(shut, told.label_decisions)
    return [_file(shut), _comparison(report.comparison), _dump(report.decision)]


def _baseline(told: Told) -> Any:
    """What a run of the default branch leaves for others to be compared with."""
    if told.record is None or told.plan.head.commit is None:
        return None
    bare = told.plan.model_copy(
        update={
            "evals": tuple(one.measured_anew for one in told.plan.evals),
            "baseline": None,
        }
    )
    asked = baseline.wanted(bare)
    home = baseline.Home("acme/shop", "main", (".github/workflows/evals.yml",))
    given = baseline.donors(asked, [told.record], home, since="2026-11-01T00:00:00Z", most=10)
    plan = baseline.with_stored(bare, asked, given, most=10)
    waves = [str(one) for one in next_trials(plan, ())]
    return [str(asked), len(given), [_dump(s) for one in plan.evals for s in one.stored], waves]


def _standing(told: Told) -> Any:
    """What a run's findings ask of the next run of the same."""
    found = local_findings.new_findings(told.report, NOW)
    kept = local_findings.read_findings(local_findings.write_findings(found)).remembered
    plan = standing.with_standing(told.plan, kept)
    anew = local_findings.measured_anew(told.plan, kept)
    history = _history_record(told.report, tuple(standing.regressions_of(told.report)))
    spent = standing.with_spent_budget(told.plan, [history] if history else [])
    names = [[one.fixture for one in planned.standing] for planned in plan.evals]
    waves = [str(one) for one in next_trials(plan, ())]
    return [names, waves, anew.fresh, spent.budget_spent]


def _history(told: Told) -> Any:
    """What three runs of a world are as a history; of each fourth world."""
    records = told.records
    if records is None:
        return None
    names = [one.name for one in told.plan.evals]
    return [
        [_line(one) for one in records],
        {name: [_dump(one) for one in trend(records, name, limit=5)] for name in names},
        [_dump(one) for one in wavering(records)],
        [str(one) for record in records[:1] for one in turns(record, records[1:])],
        _dump(forecast(told.plan, records)),
        [_dump(one) for one in earlier_sets(told.plan, records)],
        list(_statuses(told.plan, records)),
        dict(last_runs(records, NOW)),
    ]


def _compared(told: Told) -> Any:
    """What two of the runs are beside each other."""
    records = told.records
    if records is None:
        return None
    before, after = records[:1], records[1:2]
    return [
        [
            [_dump(one), one.delta]
            for one in compare_runs([*map(ComparedRecord, before)], [*map(ComparedRecord, after)])
        ],
        table_of([before, after]).as_json(),
    ]


def _statuses(plan: Plan, records: list[RunRecord]) -> Iterator[Any]:
    present = [
        Present(name=one.name, agent=one.agent, closure="0" * 64, fixtures=len(one.fixtures))
        for one in plan.evals
    ]
    older = [RunRecord.model_validate(_line(one)) for one in records]  # they say no score
    newest = newest_runs(older, present)
    moments = Moments(last=datetime(2026, 11, 20, tzinfo=UTC), following=None)
    for one in present:
        yield _dump(status_of(one, newest.get(one.name), running=False))
        yield _dump(due_eval(one.name, "@daily", "UTC", moments, ""))


def _self_check(told: Told) -> Any:
    """What `gateval aa` makes of it; simulations are slow, so of a few plain worlds only."""
    plan = told.plan
    plain = plan.evals and all(one.baseline.value == "merge-base" for one in plan.evals)
    small = sum(len(one.fixtures) for one in plan.evals) < 4
    if told.world.seed % 40 or not plain or not small:
        return None
    return _dump(self_check(plan, [told.results]))


def _views(told: Told) -> Any:
    """The views of a run that everybody may see, but for its page, which holds what is packed; of
    each tenth world.
    """
    if told.world.seed % 10:
        return None
    report = make_report(publishable(make_report(told.results)), told.label_decisions)
    asked = ("markdown", "junit", "sarif")
    return {name: "".join(pieces) for name, pieces in all_views(report, asked)}


def _dump(value: Any) -> Any:
    return None if value is None else value.model_dump(mode="json")


SECTIONS: Mapping[str, Callable[[Told], Any]] = {
    "asked": _asked,
    "trials": _trials,
    "compare": _compare,
    "decision": _decision,
    "record": _record,
    "scores": _scores,
    "outlook": _outlook,
    "stored": _stored,
    "sealed": _sealed,
    "baseline": _baseline,
    "standing": _standing,
    "history": _history,
    "compared": _compared,
    "self-check": _self_check,
    "views": _views,
}
"""What is compared of a generated world, by the name under which it may be left out."""
