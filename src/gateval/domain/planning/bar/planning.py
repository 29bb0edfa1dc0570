"""Which Evals of the base tip a change has to meet beside its own, and what must run for that.

Only what differs runs again: a fixture that asks the same on head is measured there, once, and
counts for both.

Nothing of it counts before it is merged: the base tip's rules decide. But who merges it should
have seen it, and a laxer rule is a lower bar for everything that comes after.

Whoever may push writes Evals, and needs no key for that: more repetitions, a judge or an embedding
model of their own, fixtures chosen one at a time would each tell something of what is sealed. So
head's version of a sealed Eval runs only if it is the very test that stands on the base tip. What
the change adds or edits has been validated, and first runs after the merge.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple

from pydantic import JsonValue

from gateval.domain.base import digest
from gateval.domain.manifests.catalogue import embedding_scripts, select_fixtures, with_script_names
from gateval.domain.manifests.evaluation import (
    EVAL_KINDS,
    Eval,
    ScriptedModel,
)
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.manifests.gate_config import GateConfig
from gateval.domain.manifests.strictness import direction_of, leaves, written
from gateval.domain.plan.plan import AgentChange
from gateval.domain.plan.planned_eval import (
    AfterMerge,
    Bar,
    Lowered,
    PlannedEval,
    Reason,
    Unreadable,
)
from gateval.domain.plan.sealing import is_sealed_eval
from gateval.domain.planning.bar.doubts import (
    about_eval,
    as_calibrated,
    asks_less,
    lowered,
    lowered_parts,
    same_judge,
    tip_doubts,
)
from gateval.domain.planning.bar.fixtures import same_test
from gateval.domain.planning.selection import baseline_of, lowered_cases
from gateval.domain.planning.snapshot import RulesEdit, Snapshot
from gateval.domain.problems import SourceLocation

SUFFIX = ".base-tip"
"""Added to the name of an Eval or a scripted judge as the base tip has it."""

LONGEST = 253
"""Characters of a name of Kubernetes."""

_MARK = 12


def free_name(name: str, taken: Container[str]) -> str:
    """Return `name` with the suffix, as often as it takes to be none of `taken`.

    What would be too long is cut, and marked with digits that stand for the whole of it.
    """
    free = f"{name}{SUFFIX}"
    while free in taken and len(free) <= LONGEST:
        free += SUFFIX
    if len(free) <= LONGEST:
        return free
    stem = name[: LONGEST - len(SUFFIX) - _MARK - 1].rstrip("-.")
    marked = (f"{stem}-{digest([name, attempt])[:_MARK]}{SUFFIX}" for attempt in count())
    return next(one for one in marked if one not in taken)


class BarPlan(NamedTuple):
    """The base tip's Evals to run, the scripted judges that only they need, and what is lost:
    Evals whose Agent the change removes, so that nothing can run. `doubts` is what may ask more,
    and cannot be read.
    """

    evals: tuple[PlannedEval, ...] = ()
    scripts: tuple[ScriptedModel, ...] = ()
    lost: tuple[Lowered, ...] = ()
    doubts: tuple[Unreadable, ...] = ()


class _Sides(NamedTuple):
    """The three revisions, which Agents changed, what head's own Evals run, and instead of which
    of them the base tip's run in any case.
    """

    head: Snapshot
    base: Snapshot
    tip: Snapshot
    changes: Mapping[str, AgentChange]
    planned: Mapping[str, PlannedEval]
    instead: Collection[str] = ()


def plan_bar(
    head: Snapshot,
    base: Snapshot,
    tip: Snapshot,
    changes: Mapping[str, AgentChange],
    planned: Sequence[PlannedEval],
    instead: Collection[str] = (),
    *,
    whole: bool = True,
) -> BarPlan:
    """Return what the base tip asks of this change beyond what head's own Evals ask.

    `changes` are the changed Agents by name, `planned` head's own Evals that run, `instead` the
    names of those that do not, and that the base tip's stand for. Without `whole`, only these.
    """
    sides = _Sides(head, base, tip, changes, {one.name: one for one in planned}, instead)
    touched = [
        asked
        for asked in tip.catalogue.evals
        if asked.name in instead or (whole and _concerns(asked, sides))
    ]
    renamed = _script_names(sides)
    taken = {one.name for one in head.catalogue.evals}
    evals: list[PlannedEval] = []
    scripts: dict[str, ScriptedModel] = {}
    lost: list[Lowered] = []
    for asked in touched:
        if head.catalogue.agent(asked.target_agent) is None:
            lost += _lost(asked, sides)
            continue
        found = None if about_eval(asked, tip) else _bar_eval(asked, sides, renamed, taken)
        if found is not None:
            taken.add(found.name)
            evals.append(found)
            scripts |= _scripts(asked, renamed, tip)
    touches = bool(changes or planned or touched)
    doubts = tip_doubts(head, base, tip, changes, touched, touches=touches)
    return BarPlan(tuple(evals), tuple(scripts.values()), lowered_cases(lost), doubts)


def _concerns(asked: Eval, sides: _Sides) -> bool:
    """Whether the change touches what an Eval of the base tip is about.

    That is: its Agent; head's version of it, which runs; what it asked at the merge-base; or a
    part that it uses now and that was there at the merge-base, though the Eval may not have been.
    """
    if asked.target_agent in sides.changes or asked.name in sides.planned:
        return True
    before = sides.base.catalogue.eval(asked.name)
    if before is not None:
        asks_less = bool(lowered(before, sides.base, sides.head))
    else:
        asks_less = _unread(asked, sides) and bool(lowered(asked, sides.tip, sides.head))
    return asks_less or any(lowered_parts(asked, sides.tip, sides.base, sides.head))


def _unread(asked: Eval, sides: _Sides) -> bool:
    """Whether the Eval may have been at the merge-base, where something cannot be read."""
    return any(
        not one.kind or (one.kind in EVAL_KINDS and one.name in {"", asked.name})
        for one in sides.base.catalogue.broken
    )


def _lost(asked: Eval, sides: _Sides) -> Iterator[Lowered]:
    """What is lowered of an Eval whose Agent head lacks: all of it if the change removed that, else
    the parts that it lowers. No trial can show that these do no harm before the branch is updated.
    """
    base, name = sides.base.catalogue, asked.target_agent
    if base.agent(name) is not None or base.is_broken("Agent", name):
        yield Lowered.at(
            asked.place, f"Agent {asked.target_agent} removed: Eval {asked.name} has nothing to run"
        )
    else:
        yield from lowered_parts(asked, sides.tip, sides.base, sides.head)


def _bar_eval(
    asked: Eval, sides: _Sides, renamed: Mapping[str, str], taken: Container[str]
) -> PlannedEval | None:
    """The Eval as the base tip has it, or None when head's own asks all of it."""
    fixtures = select_fixtures(asked, sides.tip.catalogue)
    if not fixtures:
        return None
    ours = sides.head.catalogue.eval(asked.name)
    running = sides.planned.get(asked.name)
    reused = _reusable(asked, fixtures, ours, running, sides)
    said = _said(asked, sides)
    all_reused = len(reused) == len(fixtures)
    if not said and ours and all_reused and _asks_as_much(ours, asked, running, fixtures):
        return None
    change = sides.changes.get(asked.target_agent)
    reps = asked.execution.reps_per_fixture
    if reused and ours is not None:
        reps = ours.execution.reps_per_fixture
    return PlannedEval(
        kind=asked.kind,
        name=free_name(asked.name, taken),
        version=asked.version,
        place=asked.place,
        agent=asked.target_agent,
        judge=asked.judge.renamed(renamed),
        calibration=sides.tip.catalogue.calibration(asked.judge.calibration or ""),
        scoring=asked.scoring,
        execution=asked.execution.replace(reps_per_fixture=reps),
        baseline=baseline_of(change),
        why=(Reason(where=f"{asked.place.file}:{asked.place.line}", what="asked by the base tip"),),
        fixtures=tuple(with_script_names(one, renamed) for one in fixtures),
        bar=Bar(
            eval=asked.name,
            lowered=lowered_cases(said),
            reused=tuple(fixture.name for fixture in reused),
        ),
        sealed=is_sealed_eval(asked, fixtures),
    )


def _said(asked: Eval, sides: _Sides) -> tuple[Lowered, ...]:
    """What head asks less, and of it what only the target branch has brought since."""
    before, ours = sides.base.catalogue.eval(asked.name), sides.head.catalogue.eval(asked.name)
    if before is asked:  # nothing came to the target branch since
        return lowered(asked, sides.tip, sides.head)
    own = tuple(lowered(before, sides.base, sides.head)) if before else ()
    own += tuple(lowered_parts(asked, sides.tip, sides.base, sides.head))
    if ours is None and before is None and not _unread(asked, sides):
        since = Lowered(place=asked.place, what=f"Eval {asked.name} added", moved=True)
        return (since, *own)
    words = {one.what for one in own}
    now = lowered(asked, sides.tip, sides.head)
    return tuple(one.replace(moved=one.what not in words) for one in now)


def _reusable(
    asked: Eval,
    fixtures: Sequence[Fixture],
    ours: Eval | None,
    running: PlannedEval | None,
    sides: _Sides,
) -> list[Fixture]:
    """The fixtures that head's own run measures as the base tip would."""
    if ours is None or running is None or running.agent != asked.target_agent:
        return []
    if ours.execution.reps_per_fixture < asked.execution.reps_per_fixture:
        return []
    if ours.scoring.trials_pass != asked.scoring.trials_pass:
        return []
    alike = same_judge(asked, ours, sides.tip, sides.head)
    alike = alike and as_calibrated(asked, ours, sides.tip, sides.head)
    mine = {fixture.name: fixture for fixture in running.fixtures}
    return [
        one
        for one in fixtures
        if one.name in mine
        and same_test(one, mine[one.name])
        and (alike or not any(assertion.needs_judge for assertion in one.assertions))
    ]


def _asks_as_much(
    ours: Eval, asked: Eval, running: PlannedEval | None, fixtures: Sequence[Fixture]
) -> bool:
    """Whether head's Eval, with these fixtures and no others, is at least as strict.

    Others could outweigh a failure among these.
    """
    return (
        running is not None
        and {one.name for one in running.fixtures} == {one.name for one in fixtures}
        and ours.scoring.severity_weights == asked.scoring.severity_weights
        and ours.scoring.trials_pass == asked.scoring.trials_pass
        and not asks_less(ours.scoring.pass_threshold, asked.scoring.pass_threshold)
    )


def _script_names(sides: _Sides) -> Mapping[str, str]:
    """Give a new name to each script of the base tip that head changes or removes."""
    taken = {*sides.head.scripts, *sides.tip.scripts}
    names: dict[str, str] = {}
    for name, script in sorted(sides.tip.scripts.items()):
        new = sides.head.scripts.get(name)
        if new is None or new.digest != script.digest:
            names[name] = free_name(name, taken)
            taken.add(names[name])
    return names


def _scripts(asked: Eval, renamed: Mapping[str, str], tip: Snapshot) -> Mapping[str, ScriptedModel]:
    measured = embedding_scripts(select_fixtures(asked, tip.catalogue))
    return {
        renamed[script]: tip.scripts[script].replace(name=renamed[script])
        for script in (*asked.judge.scripts, *measured)
        if script in renamed
    }


def laxer_rules(edit: RulesEdit) -> tuple[Lowered, ...]:
    """Return every rule that the change itself makes laxer than the base tip has it."""
    found = tuple(_laxer(edit.tip, edit))
    if edit.before is None:
        return found
    own = {one.what for one in _laxer(edit.before, edit)}
    return tuple(one for one in found if one.what in own)


def other_edits(edit: RulesEdit) -> tuple[str, ...]:
    """Return the other edits in words, such as `policy.drafts evaluate -> wait`."""
    before = edit.before or edit.tip
    laxer = {one.what for one in laxer_rules(edit)}
    old, new = leaves(before), leaves(edit.after)
    return tuple(
        f"{written(path)} {_show(old.get(path))} \N{RIGHTWARDS ARROW} {_show(new.get(path))}"
        for path in sorted(old.keys() | new.keys())
        if old.get(path) != new.get(path) and written(path) not in laxer
    )


def _laxer(before: GateConfig, edit: RulesEdit) -> Iterator[Lowered]:
    old, new = leaves(before), leaves(edit.after)
    for path in sorted(old.keys() & new.keys()):
        if direction_of(path).laxer(old[path], new[path]):
            key = written(path)
            was, now = _show(old[path], key), _show(new[path], key)
            yield Lowered.at(_place(key, edit), key, was, now)


def _place(key: str, edit: RulesEdit) -> SourceLocation:
    """Where the key stands on head, or what is around it; a rule that is gone stands nowhere."""
    while key:
        if key in edit.places:
            return edit.places[key]
        key = key.rpartition(".")[0]
    return SourceLocation(file=edit.file)


def _show(value: JsonValue, key: str = "") -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        shown = (one["match"] if isinstance(one, dict) and "match" in one else one for one in value)
        return ", ".join(map(str, shown)) or ("every YAML file" if key == "manifests" else "none")
    return str(value) or "none"


class WithheldEvals(NamedTuple):
    """Head's sealed Evals that do not run as they are.

    Of those in `instead` the base tip's version runs. `gone` are those that the base tip has no
    more.
    """

    evals: tuple[PlannedEval, ...] = ()
    instead: frozenset[str] = frozenset()
    after_merge: tuple[AfterMerge, ...] = ()
    gone: tuple[str, ...] = ()

    def left(self, planned: Iterable[PlannedEval]) -> list[PlannedEval]:
        """Return the others."""
        names = {one.name for one in self.evals}
        return [one for one in planned if one.name not in names]

    @property
    def idle(self) -> tuple[PlannedEval, ...]:
        """Those of which nothing runs."""
        return tuple(one for one in self.evals if one.name not in self.instead)


NOTHING_HELD = WithheldEvals()


def held_back(
    planned: Iterable[PlannedEval], head: Snapshot, base: Snapshot, tip: Snapshot
) -> WithheldEvals:
    """Return which of head's Evals that would run are sealed, and not those of the base tip.

    One that the base tip marks as sealed is, whatever a change says of it.
    """
    marked = {one.name for one in tip.catalogue.evals if one.sealed}
    sealed = (one for one in planned if one.sealed or one.name in marked)
    held = [one for one in sealed if not _is_same_test(one.name, tip, head)]
    edited = [one for one in held if not _is_same_test(one.name, base, head)]
    return WithheldEvals(
        evals=tuple(held),
        instead=frozenset(one.name for one in held if tip.catalogue.eval(one.name) is not None),
        after_merge=tuple(_after_merge(one, head, base, tip) for one in edited),
        gone=tuple(
            one.name for one in held if one not in edited and tip.catalogue.eval(one.name) is None
        ),
    )


def _is_same_test(name: str, before: Snapshot, head: Snapshot) -> bool:
    """Whether an Eval asks the same of the same fixtures, as often, and is judged alike.

    The digests of sealed manifests are salted, so nobody without the key makes two that are equal.
    """
    asked, ours = before.catalogue.eval(name), head.catalogue.eval(name)
    return (
        asked is not None
        and ours is not None
        and _meaning(asked) == _meaning(ours)
        and _tests(name, before) == _tests(name, head)
        and same_judge(asked, ours, before, head)
        and as_calibrated(asked, ours, before, head)
    )


def _meaning(evaluation: Eval) -> dict[str, object]:
    return evaluation.model_dump(exclude={"place", "places", "path"})


def _tests(name: str, snapshot: Snapshot) -> Mapping[str, str]:
    """The digest of each fixture of an Eval, which covers the files that it uses, too."""
    found = snapshot.catalogue.eval(name)
    fixtures = select_fixtures(found, snapshot.catalogue) if found is not None else ()
    return {one.name: one.digest for one in fixtures}


def _after_merge(planned: PlannedEval, head: Snapshot, base: Snapshot, tip: Snapshot) -> AfterMerge:
    """Return what of an Eval of head first runs after the merge: all of it, or some fixtures."""
    name, instead = planned.name, tip.catalogue.eval(planned.name) is not None
    now, was = _tests(name, tip), _tests(name, base)
    names = [
        fixture
        for fixture, digest in _tests(name, head).items()
        if digest not in {now.get(fixture), was.get(fixture)}
    ]
    return AfterMerge(
        kind=planned.kind,
        eval=planned.shown_name,
        fixtures=len(names) if instead else len(planned.fixtures),
        named=tuple(names) if instead else (),
        instead=instead,
    )
