"""Which Evals a change selects, and why each of them runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gateval.domain.manifests.catalogue import Catalogue, select_fixtures
from gateval.domain.manifests.evaluation import Eval
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.manifests.scripted import script_name
from gateval.domain.plan.bar import Baseline, Reason
from gateval.domain.plan.plan import AgentChange, ChangeKind
from gateval.domain.plan.planned_eval import Removed
from gateval.domain.planning.cases import reasons_for_cases, removed_cases
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.repository.paths import show_path
from gateval.domain.repository.place import Place


def why_selected(
    evaluation: Eval, changes: Mapping[str, AgentChange], head: Snapshot, base: Snapshot
) -> tuple[Reason, ...]:
    """Return the reasons to run this Eval of head's; empty when nothing about it changed."""
    return (
        *_agent_reasons(evaluation, changes),
        *_eval_reasons(evaluation, base.catalogue),
        *_fixture_reasons(evaluation, head.catalogue, base.catalogue),
        *_judge_reasons(evaluation, head, base),
    )


def _agent_reasons(evaluation: Eval, changes: Mapping[str, AgentChange]) -> Iterator[Reason]:
    change = changes.get(evaluation.target_agent)
    if change is not None and change.kind is not ChangeKind.DELETED:
        yield Reason(where=change.reasons[0].where, what=f"Agent {change.agent} {change.kind}")


def _eval_reasons(evaluation: Eval, base: Catalogue) -> Iterator[Reason]:
    before = base.eval(evaluation.name)
    if before is None or before.digest != evaluation.digest:
        what = "new Eval" if before is None else "Eval changed"
        yield Reason(where=_line(evaluation.place), what=what)


def _fixture_reasons(evaluation: Eval, head: Catalogue, base: Catalogue) -> Iterator[Reason]:
    before = base.eval(evaluation.name)
    if before is None:
        return
    old = {fixture.name: fixture for fixture in select_fixtures(before, base)}
    new = {fixture.name: fixture for fixture in select_fixtures(evaluation, head)}
    told: list[tuple[Fixture, str]] = []
    for name in sorted(new.keys() | old.keys()):
        if name not in new:
            told.append((old[name], "removed"))
        elif name not in old:
            told.append((new[name], "added"))
        elif new[name].digest != old[name].digest:
            told.append((new[name], "changed"))
    yield from reasons_for_cases(told)


def _judge_reasons(evaluation: Eval, head: Snapshot, base: Snapshot) -> Iterator[Reason]:
    name = evaluation.judge.calibration
    if name is not None:
        new, old = head.catalogue.calibration(name), base.catalogue.calibration(name)
        if new is not None and (old is None or old.digest != new.digest):
            yield Reason(where=_line(new.place), what=f"calibration {name} changed")
    script = script_name(evaluation.judge.model)
    if script is not None:
        ours, theirs = head.scripts.get(script), base.scripts.get(script)
        if ours and theirs and ours.digest != theirs.digest:
            yield Reason(where=show_path(ours.path), what=f"scripted judge {script} changed")


def removed_since(head: Catalogue, base: Catalogue) -> tuple[Removed, ...]:
    """Return the Evals, and the fixtures of Evals that stay, which base ran and head does not."""
    gone: list[Removed] = []
    for before in base.evals:
        after = head.eval(before.name)
        if after is None:
            gone.append(
                Removed(kind="Eval", name=before.name, eval=before.name, place=before.place)
            )
            continue
        kept = {fixture.name for fixture in select_fixtures(after, head)}
        lacking = [one for one in select_fixtures(before, base) if one.name not in kept]
        gone += removed_cases(lacking, before.name)
    return tuple(gone)


def _line(place: Place) -> str:
    return f"{place.file}:{place.line}"


def baseline_of(change: AgentChange | None) -> Baseline:
    """Return where the baseline of an Eval comes from, by what happened to its Agent."""
    if change is None:
        return Baseline.SAME_AGENT
    return Baseline.NEW_AGENT if change.kind is ChangeKind.NEW else Baseline.MERGE_BASE
