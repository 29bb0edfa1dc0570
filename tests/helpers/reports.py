"""A tiny language for results: one row per fixture, outcomes per side.

    support-eval refund-must-clarify high base:pass,pass head:fail,pass
    invoice-eval reads-total              base:pass head:candidate
    tutor-eval   explains-halves    low   base:new  head:judge,-

Outcomes: `pass`, `fail`, `candidate` and `skip` (it gave no answer, which counts as failed),
`judge`, `provider`, `gate` (errors with that cause), `-` (the trial never ran). One outcome per
planned repetition; all rows of an Eval have equally many. Trials that the gate asks for after these
end as those after a `+` (`head:fail+pass,fail`), further ones as the last; none run if one of the
row never ran, or after a last `-`. Candidates are deterministic unless `deterministic=False`.
Instead of outcomes, `base:` takes `new`, `same` or `none` for the reasons why there is no baseline;
without `base:` it is `new`. The agent of `x-eval` is `x`. `added` marks a fixture of the change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateval.domain.decision.decision import Report, make_report
from gateval.domain.manifests.evaluation import ExecutionSpec, JudgeSpec, ScoringSpec
from gateval.domain.manifests.fixture import (
    AssertionSpec,
    Fixture,
    FixtureInput,
    InputType,
    Severity,
)
from gateval.domain.manifests.gate_config import Policy
from gateval.domain.plan.plan import AgentChange, AgentDefinition, ChangeKind, Plan
from gateval.domain.plan.planned_eval import Baseline, PlannedEval, Reason
from gateval.domain.problems import SourceLocation
from gateval.domain.results.progress import next_trials
from gateval.domain.results.results import Results
from gateval.domain.tree import Revision
from gateval.domain.trials.trial import (
    Assessment,
    AssessmentStatus,
    Cause,
    Outcome,
    Side,
    Trial,
    TrialKey,
)
from tests.helpers.assessments import make_assessment

HEAD = Revision(name="HEAD", commit="d4e5f6a" + "0" * 33, tree="2" * 40)
BASE = Revision(name="main", commit="a1b2c3d" + "0" * 33, tree="1" * 40)

TWELVE_OF_FIFTEEN = "fail+pass,fail,pass,pass,pass,fail,pass"
"""Beside 15 passes never so bad that it regresses, and never so good that the rule stops."""

_WITHOUT_BASE = {
    "new": Baseline.NEW_AGENT,
    "same": Baseline.SAME_AGENT,
    "none": Baseline.NONE,
}
_SEVERITIES = set(Severity)


class Row:
    """One parsed row."""

    def __init__(self, text: str) -> None:
        self.eval, self.fixture, *rest = text.split()
        fields = dict(word.split(":", 1) for word in rest if ":" in word)
        words = [word for word in rest if ":" not in word]
        self.added = "added" in words
        severities = [word for word in words if word != "added"]
        assert set(severities) <= _SEVERITIES, text
        self.severity = Severity(severities[0]) if severities else Severity.MEDIUM
        base = fields.get("base", "new")
        self.baseline = _WITHOUT_BASE.get(base, Baseline.MERGE_BASE)
        given = {Side.HEAD: fields["head"]}
        if self.baseline is Baseline.MERGE_BASE:
            given[Side.BASE] = base
        self.outcomes = {side: text.split("+")[0].split(",") for side, text in given.items()}
        self.all = {side: text.replace("+", ",").split(",") for side, text in given.items()}

    def later(self, side: Side, repetition: int) -> str:
        """How a trial ends that the gate asks for."""
        if any("-" in words for words in self.outcomes.values()):
            return "-"
        words = self.all[side]
        return words[min(repetition, len(words)) - 1]


def make_results(
    rows: str,
    *,
    threshold: float | Mapping[str, float | None] | None = 1.0,
    policy: Policy | None = None,
    weights: Mapping[Severity, float] | None = None,
    deterministic: bool = True,
    **plan: Any,
) -> Results:
    """Return the results that the rows describe; further keywords set fields of the plan."""
    parsed = [Row(line) for line in rows.splitlines() if line.strip()]
    by_eval: dict[str, list[Row]] = {}
    for row in parsed:
        by_eval.setdefault(row.eval, []).append(row)
    thresholds = threshold if isinstance(threshold, Mapping) else dict.fromkeys(by_eval, threshold)
    evals = tuple(
        _planned(name, rows_of, thresholds[name], weights or {})
        for name, rows_of in by_eval.items()
    )
    count = sum(len(one.compared) for one in evals)
    evals = tuple(_shared(one, count, deterministic=deterministic) for one in evals)
    agents = tuple(dict.fromkeys(planned.agent for planned in evals))
    fields: dict[str, Any] = {
        "head": HEAD,
        "base": BASE,
        "policy": policy or Policy(),
        "changes": tuple(_changed(agent) for agent in agents),
        "agents": tuple(_definition(agent, side) for agent in agents for side in Side),
        "evals": evals,
        "nothing": "" if evals else "No agent, Eval or fixture changed.",
    }
    trials = [trial for row in parsed for trial in _trials(row)]
    made = Plan(**{**fields, **plan})
    return Results(plan=made, trials=_with_what_is_asked_for(made, trials, parsed))


def _with_what_is_asked_for(plan: Plan, trials: list[Trial], rows: list[Row]) -> tuple[Trial, ...]:
    """Add the trials that the gate asks for, as long as there are any that run."""
    of = {(row.eval, row.fixture): row for row in rows}
    while True:
        words = {
            key: of[key.eval, key.fixture].later(key.side, key.repetition)
            for key in next_trials(plan, trials)
        }
        made = [make_trial(key, word) for key, word in words.items() if word != "-"]
        if not made:
            return tuple(trials)
        trials += made


def _shared(planned: PlannedEval, count: int, *, deterministic: bool) -> PlannedEval:
    if not planned.compared:
        return planned
    share = {"fixture_share": 0.03 / count, "broad_share": 0.02 * len(planned.compared) / count}
    return planned.model_copy(update={**share, "deterministic": deterministic})


def make(rows: str, **options: Any) -> Report:
    """Return the report of `make_results`."""
    return make_report(make_results(rows, **options))


def edit(results: Results, trial: str, **fields: Any) -> Results:
    """Replace fields of one trial, named as `eval/fixture #1 on head`."""
    found = [t for t in results.trials if str(t.key) == trial]
    assert len(found) == 1, trial
    changed = found[0].model_copy(update=fields)
    return replace(results, changed)


def replace(results: Results, trial: Trial) -> Results:
    """Put this trial in the place of the one with its key."""
    trials = tuple(trial if old.key == trial.key else old for old in results.trials)
    return results.model_copy(update={"trials": trials})


def edit_fixture(results: Results, name: str, **fields: Any) -> Results:
    """Replace fields of one fixture of the plan."""
    evals = tuple(
        planned.model_copy(
            update={
                "fixtures": tuple(
                    f.model_copy(update=fields) if f.name == name else f for f in planned.fixtures
                )
            }
        )
        for planned in results.plan.evals
    )
    return edit_plan(results, evals=evals)


def edit_plan(results: Results, **fields: Any) -> Results:
    """Replace fields of the plan."""
    return results.model_copy(update={"plan": results.plan.model_copy(update=fields)})


def make_trial(key: TrialKey, word: str) -> Trial:
    """Return a trial with this outcome, as the language names it."""
    if word == "pass":
        return Trial(key=key, outcome=Outcome.PASS, score=1.0, assessments=(_assessment(word),))
    if word == "fail":
        assessments = (_assessment(word),)
        return Trial(
            key=key, outcome=Outcome.FAIL, score=0.0, reason=assessments[0].reason,
            assessments=assessments,
        )  # fmt: skip
    cause = Cause.CANDIDATE if word == "skip" else Cause(word)
    own = Outcome.FAIL if cause is Cause.CANDIDATE else Outcome.ERROR
    outcome = Outcome.SKIP if word == "skip" else own
    return Trial(key=key, outcome=outcome, cause=cause, reason=f"The {cause} had a bad day.")


def _assessment(word: str) -> Assessment:
    passed = word == "pass"
    return make_assessment(
        type="contains",
        status=AssessmentStatus.PASSED if passed else AssessmentStatus.FAILED,
        score=1.0 if passed else 0.0,
        reason=f'Expected "yes" in the answer; {"it is there" if passed else "it says no"}.',
        steps=() if passed else (2,),
    )


def _trials(row: Row) -> list[Trial]:
    return [
        make_trial(TrialKey(eval=row.eval, fixture=row.fixture, side=side, repetition=number), word)
        for side, words in row.outcomes.items()
        for number, word in enumerate(words, start=1)
        if word != "-"
    ]


def _planned(
    name: str, rows: list[Row], threshold: float | None, weights: Mapping[Severity, float]
) -> PlannedEval:
    lengths = {len(words) for row in rows for words in row.outcomes.values()}
    assert len(lengths) == 1, f"{name}: rows differ in their repetitions"
    return PlannedEval(
        name=name,
        place=SourceLocation(file=f"evals/{name}.yaml", line=2),
        agent=name.removesuffix("-eval"),
        judge=JudgeSpec(),
        scoring=ScoringSpec(pass_threshold=threshold, severity_weights=dict(weights)),
        execution=ExecutionSpec(reps_per_fixture=lengths.pop()),
        baseline=rows[0].baseline,
        why=(Reason(where=f"agents/{name.removesuffix('-eval')}.yaml:4", what="spec.system"),),
        fixtures=tuple(_fixture(row) for row in rows),
        compared=tuple(
            row.fixture for row in rows if row.baseline is Baseline.MERGE_BASE and not row.added
        ),
        added=tuple(row.fixture for row in rows if row.added),
    )


def _fixture(row: Row) -> Fixture:
    place = SourceLocation(file=f"evals/{row.fixture}.yaml", line=8)
    return Fixture(
        name=row.fixture,
        severity=row.severity,
        description=f"What {row.fixture} is about.",
        input=FixtureInput(type=InputType.PROMPT, payload={"prompt": "Hello"}),
        assertions=(AssertionSpec(type="contains", place=place),),
        place=place,
        path=place.file,
        digest="0" * 64,
    )


def _changed(agent: str) -> AgentChange:
    return AgentChange(
        agent=agent,
        kind=ChangeKind.MODIFIED,
        reasons=(Reason(where=f"agents/{agent}.yaml:4", what="spec.system"),),
    )


def _definition(agent: str, side: Side) -> AgentDefinition:
    return AgentDefinition(
        name=agent,
        side=side,
        place=SourceLocation(file=f"agents/{agent}.yaml"),
        models=("openai/gpt-x",),
        closure="0" * 64,
    )
