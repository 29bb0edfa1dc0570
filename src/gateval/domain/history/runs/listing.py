"""Agents and fixtures as rows, with what the newest runs say of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from gateval.domain.history.runs.rows import Row
from gateval.domain.history.runs.status import EvalPhase, EvalStatus, FixtureResult
from gateval.domain.manifests.agent import MODEL_RUNTIME
from gateval.domain.manifests.catalogue import Catalogue, select_fixtures

_WORST_FIRST = (
    EvalPhase.FAILED,
    EvalPhase.RUNNING,
    EvalPhase.STALE,
    EvalPhase.PENDING,
    EvalPhase.PASSED,
)


def agent_rows(catalogue: Catalogue, statuses: Sequence[EvalStatus]) -> list[Row]:
    """Return each Agent with its Evals; its phase is the worst of theirs."""
    rows: list[Row] = []
    for agent in sorted(catalogue.agents, key=lambda one: one.name):
        mine = [one for one in statuses if one.target_agent == agent.name]
        phases = [one.phase for one in mine]
        runtime = agent.spec.runtime
        row: Row = {
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


def fixture_rows(catalogue: Catalogue, statuses: Sequence[EvalStatus]) -> list[Row]:
    """Return each fixture with the Evals that run it and how it ended in their newest runs."""
    results = {one.name: {r.name: r for r in one.fixture_results} for one in statuses}
    stale = {one.name for one in statuses if one.phase is EvalPhase.STALE}
    evals: dict[str, list[str]] = {}
    for evaluation in catalogue.evals:
        for fixture in select_fixtures(evaluation, catalogue):
            evals.setdefault(fixture.name, []).append(evaluation.name)
    return [
        {
            "name": fixture.name,
            "agent": fixture.target_agent or "",
            "kind": fixture.fixture_kind.value,
            "severity": fixture.severity.value,
            "evals": [*evals.get(fixture.name, ())],
            "results": _results(fixture.name, evals.get(fixture.name, ()), results, stale),
            "place": f"{fixture.place.file}:{fixture.place.line}",
        }
        for fixture in sorted(catalogue.fixtures, key=lambda one: one.name)
    ]


def _results(
    name: str,
    evals: Sequence[str],
    results: Mapping[str, Mapping[str, FixtureResult]],
    stale: set[str],
) -> list[JsonValue]:
    found: list[JsonValue] = []
    for one in evals:
        result = results.get(one, {}).get(name)
        row: Row = {"eval": one, "result": result.result.value if result else "Pending"}
        if result is not None:
            row |= {"score": result.score, "stale": one in stale}
            row |= {"message": result.message} if result.message else {}
        found.append(row)
    return found
