"""How each Eval, Agent and fixture stands: its newest run, held against the manifests as they
are now.

The names of the fields are those of the document behind `pai.io/v1`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from pydantic import JsonValue
from pydantic.alias_generators import to_camel

from gateval.domain.base import Value
from gateval.domain.history.run_record import FixtureMark, RunEval, RunRecord, newest_of
from gateval.domain.manifests.agent import MODEL_RUNTIME, RuntimeSpec
from gateval.domain.manifests.catalogue import Catalogue, select_fixtures
from gateval.domain.results.results import RunStatus
from gateval.domain.text import show_score, show_score_in_full
from gateval.domain.verdicts import GateVerdict, score_of

PULL_REQUESTS = {"pull_request", "issue_comment", "merge_group", "workflow_run"}
"""Events of runs that measure what somebody proposes, not what is."""


class EvalPhase(StrEnum):
    """Where an Eval stands: never run, running, what its newest run says, or outdated."""

    PENDING = "Pending"
    RUNNING = "Running"
    PASSED = "Passed"
    FAILED = "Failed"
    STALE = "Stale"


class FixtureResult(Value):
    """One fixture of the newest run. `score` is what the run called its score, to two digits (of an
    older record, its rate); `trials` are its marks.

    Of a benchmark's task it is its score, and `status` says how it ended.
    """

    name: str
    score: str
    result: FixtureMark
    severity: str
    message: str = ""
    trials: str = ""
    regressed: bool = False
    status: str = ""


class AxisResult(Value):
    """One axis of the newest run's scores, to two digits."""

    name: str
    score: str


class EvalStatus(Value):
    """One Eval.

    `revision` is the commit that was measured (empty: a working tree), `agent_revision` the first
    digits of the Agent's closure there, `agent_now` those of now. `judge_agreement` is Cohen's
    kappa, to two digits; empty where no calibration was replayed. `kind` is that of its manifest;
    `version`, `status`, `verdict` and the scores by axis are those of a benchmark.
    """

    name: str
    kind: str = ""
    version: str = ""
    target_agent: str
    phase: EvalPhase
    status: str = ""
    verdict: str = ""
    axes: tuple[AxisResult, ...] = ()
    last_result: FixtureMark | None = None
    last_score: str = ""
    pass_threshold: float | None = None
    last_run_at: str = ""
    revision: str = ""
    run: str = ""
    url: str = ""
    event: str = ""
    passing_fixtures: int | None = 0
    failing_fixtures: int | None = 0
    total_fixtures: int = 0
    judge_agreement: str = ""
    agent_revision: str = ""
    agent_now: str = ""
    schedule: str = ""
    time_zone: str = ""
    fixture_results: tuple[FixtureResult, ...] = ()


class Present(Value):
    """An Eval as the manifests have it now; `closure` is that of its Agent, empty without one.

    `tasks` says that its fixtures are tasks, and that its runs have a status.
    """

    name: str
    agent: str
    closure: str
    fixtures: int
    schedule: str = ""
    time_zone: str = "UTC"
    agreement: str = ""
    kind: str = "Eval"
    tasks: bool = False
    version: str = ""


def newest_runs(
    records: Iterable[RunRecord], present: Iterable[Present]
) -> Mapping[str, tuple[RunRecord, RunEval]]:
    """Return for each Eval the newest record that counts, the newest records coming first.

    A run of a pull request counts where the Agent it measured is the one that is here.
    """
    wanted = {one.name: one.closure for one in present}

    def _counts(record: RunRecord, run: RunEval) -> bool:
        return record.event not in PULL_REQUESTS or run.closure == wanted[run.eval]

    return newest_of(records, wanted, _counts)


def status_of(
    present: Present, newest: tuple[RunRecord, RunEval] | None, *, running: bool
) -> EvalStatus:
    """Return how an Eval stands."""
    status = EvalStatus(
        name=present.name,
        kind=present.kind,
        version=present.version,
        status=RunStatus.ACTIVE.value if running and present.tasks else "",
        target_agent=present.agent,
        phase=EvalPhase.RUNNING if running else EvalPhase.PENDING,
        total_fixtures=present.fixtures,
        judge_agreement=present.agreement,
        agent_now=present.closure[:12],
        schedule=present.schedule,
        time_zone=present.time_zone if present.schedule else "",
    )
    if newest is None:
        return status
    record, run = newest
    ended = EvalPhase.PASSED if run.verdict is GateVerdict.PASS else EvalPhase.FAILED
    phase = ended if run.closure == present.closure else EvalPhase.STALE
    return status.replace(
        phase=EvalPhase.RUNNING if running else phase,
        last_result=_RESULTS[run.verdict],
        status=status.status or run.status,
        verdict=run.called,
        axes=tuple(
            AxisResult(name=one.name, score=show_score(score_of(one.score, one.score)))
            for one in run.shown_axes
        ),
        last_score=show_score_in_full(run.score, run.threshold),
        pass_threshold=run.threshold,
        last_run_at=record.at,
        revision=record.commit,
        run=record.id,
        url=record.url,
        event=record.event,
        passing_fixtures=run.counted[0],
        failing_fixtures=run.counted[1],
        total_fixtures=run.total,
        agent_revision=run.closure[:12],
        fixture_results=tuple(
            FixtureResult(
                name=one.fixture,
                score=show_score(one.whole_score) if one.trials or one.own else "",
                result=one.result,
                severity=one.severity,
                message=one.says,
                trials=one.trials,
                regressed=one.regressed,
                status=one.status,
            )
            for one in run.worst_first
        ),
    )


_RESULTS = {
    GateVerdict.PASS: FixtureMark.PASS,
    GateVerdict.FAIL: FixtureMark.FAIL,
    GateVerdict.INCOMPLETE: FixtureMark.ERROR,
    GateVerdict.INCONCLUSIVE: FixtureMark.ERROR,
}


StatusRow = dict[str, JsonValue]


def shown(value: Value) -> StatusRow:
    """Return a value with the keys of the document, without what is not known."""
    return _camel(value.model_dump(mode="json"))


def _camel(content: dict[str, JsonValue]) -> StatusRow:
    return {to_camel(key): _inner(one) for key, one in content.items() if one not in ("", None)}


def _inner(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return _camel(value)
    return [_inner(one) for one in value] if isinstance(value, list) else value


_WORST_FIRST = (
    EvalPhase.FAILED,
    EvalPhase.RUNNING,
    EvalPhase.STALE,
    EvalPhase.PENDING,
    EvalPhase.PASSED,
)


def agent_rows(catalogue: Catalogue, statuses: Sequence[EvalStatus]) -> list[StatusRow]:
    """Return each Agent with its Evals; its phase is the worst of theirs."""
    rows: list[StatusRow] = []
    for agent in sorted(catalogue.agents, key=lambda one: one.name):
        mine = [one for one in statuses if one.target_agent == agent.name]
        phases = [one.phase for one in mine]
        runtime = agent.spec.runtime
        row: StatusRow = {
            "name": agent.name,
            "phase": min(phases, key=_WORST_FIRST.index).value if phases else "No Eval",
            "runtime": runtime.type if runtime else MODEL_RUNTIME,
            "models": list(agent.spec.models),
            "evals": [one.name for one in mine],
            "lastRunAt": max((one.last_run_at for one in mine), default=""),
            "revision": mine[0].agent_now if mine else "",
            "place": f"{agent.place.file}:{agent.place.line}",
        }
        rows.append({key: one for key, one in row.items() if one not in ("", [])})
    return rows


UNSTARTABLE = "Cannot Start"
"""The phase of a definition that the gate cannot start; `why` says why."""


def definition_rows(catalogue: Catalogue) -> list[StatusRow]:
    """Return each Agent in files of other tools that no Eval targets, with its file and what starts
    it, or why nothing does.
    """
    why = {one.name: one.problem for one in reversed(catalogue.unusable)}
    rows: list[StatusRow] = []
    for agent in catalogue.untargeted:
        problem, place = why.pop(agent.name, None), agent.place
        runtime = agent.spec.runtime
        row: StatusRow = {
            "name": agent.name,
            "phase": UNSTARTABLE if problem else "No Eval",
            "runtime": "" if problem else runtime.type if runtime else MODEL_RUNTIME,
            "startedBy": "" if problem else _started_by(runtime),
            "why": problem.message if problem else "",
            "models": list(agent.spec.models),
            "file": place.file,
            "place": f"{place.file}:{place.line}",
        }
        rows.append({key: one for key, one in row.items() if one not in ("", [])})
    targets = {one.target_agent for one in catalogue.evals}
    for name, problem in sorted(why.items()):
        if catalogue.agent(name) is None and name not in targets:
            place, file = problem.place, problem.place.file
            rows.append(
                {
                    "name": name,
                    "phase": UNSTARTABLE,
                    "why": problem.message,
                    "file": file,
                    "place": f"{file}:{place.line}",
                }
            )
    return rows


def _started_by(runtime: RuntimeSpec | None) -> str:
    """Return what starts an agent, in a word or two: a program, the bridge, a server, the loop."""
    if runtime is None or runtime.type == MODEL_RUNTIME:
        return "the gate's own loop"
    if runtime.bridge:
        return f"the bridge, {runtime.options.get('target', '')}"
    words = runtime.command
    told = _EXEC.findall(words[2]) if words[1:2] == ("-c",) else []
    return str(told[-1]) if told else next(iter(words), runtime.type)


_EXEC = re.compile(r"\bexec ([A-Za-z/][\w./-]*)")
"""The program that a line of a shell becomes."""


def fixture_rows(catalogue: Catalogue, statuses: Sequence[EvalStatus]) -> list[StatusRow]:
    """Return each fixture with the Evals that run it and how it ended in their newest runs, in each
    and in all: it passes if it does so everywhere.
    """
    results = {one.name: {r.name: r for r in one.fixture_results} for one in statuses}
    stale = {one.name for one in statuses if one.phase is EvalPhase.STALE}
    evals: dict[str, list[str]] = {}
    for evaluation in catalogue.evals:
        for fixture in select_fixtures(evaluation, catalogue):
            evals.setdefault(fixture.name, []).append(evaluation.name)
    rows: list[StatusRow] = []
    for fixture in sorted(catalogue.fixtures, key=lambda one: one.name):
        found = _results(fixture.name, evals.get(fixture.name, ()), results, stale)
        ended = {str(one["result"]) for one in found}
        rows.append(
            {
                "name": fixture.name,
                "agent": fixture.target_agent or "",
                "kind": fixture.fixture_kind.value,
                "severity": fixture.severity.value,
                "result": next((one for one in _ENDED if one in ended), "no Eval"),
                "evals": [*evals.get(fixture.name, ())],
                "results": [*found],
                "place": f"{fixture.place.file}:{fixture.place.line}",
            }
        )
    return rows


_ENDED = ("Fail", "Error", "Skip", "Pending", "Pass")
"""What counts of a fixture that several Evals run."""


def _results(
    name: str,
    evals: Sequence[str],
    results: Mapping[str, Mapping[str, FixtureResult]],
    stale: set[str],
) -> list[StatusRow]:
    found: list[StatusRow] = []
    for one in evals:
        result = results.get(one, {}).get(name)
        row: StatusRow = {"eval": one, "result": result.result.value if result else "Pending"}
        if result is not None:
            row |= {"score": result.score, "stale": one in stale}
            row |= {"message": result.message} if result.message else {}
        found.append(row)
    return found
