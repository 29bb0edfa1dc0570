"""What nobody can read, on any side of a change, and may hide a failure.

Head is free of problems but for those of single suites, or nothing is planned. So whatever else is
wrong at the merge-base is mended or removed by the change itself. What is wrong on the target
branch alone, or with a suite of head, counts only where it may concern the change; where that
cannot be told, it counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from gateval.domain.calibration import LEAST_AGREEMENT
from gateval.domain.manifests.agent import Agent
from gateval.domain.manifests.catalogue import Broken, Catalogue, Contained, select_fixtures
from gateval.domain.manifests.evaluation import (
    EVAL_KINDS,
    SCRIPTED_FOLDER,
    Eval,
    ScoringSpec,
    is_sealed,
)
from gateval.domain.manifests.fixture import Fixture, Severity
from gateval.domain.paths import show_path
from gateval.domain.plan.plan import AgentChange
from gateval.domain.plan.planned_eval import Lowered, PlannedEval, Unreadable, Where
from gateval.domain.planning.bar.fixtures import lowered_in_fixture, same_test
from gateval.domain.planning.change import detect_changes
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.problems import Problem, SourceLocation, sort_problems
from gateval.domain.text import show_threshold
from gateval.domain.tree import changed_paths, under

NAMES_SHOWN = 5


def same_judge(before: Eval, after: Eval, tip: Snapshot, head: Snapshot) -> bool:
    """Whether both Evals are judged alike: same models and settings and, if scripted, scripts."""
    if after.judge.terms != before.judge.terms:
        return False
    return not any(_is_changed(script, tip, head) for script in before.judge.scripts)


def _is_changed(script: str, tip: Snapshot, head: Snapshot) -> bool:
    old, new = tip.scripts.get(script), head.scripts.get(script)
    return (old.digest if old else None) != (new.digest if new else None)


def as_calibrated(before: Eval, after: Eval, tip: Snapshot, head: Snapshot) -> bool:
    """Whether the word of both judges counts on the same terms."""
    if before.judge.min_agreement != after.judge.min_agreement:
        return False
    if before.judge.max_injected != after.judge.max_injected:
        return False
    old, new = (
        snapshot.catalogue.calibration(one.judge.calibration or "")
        for one, snapshot in ((before, tip), (after, head))
    )
    named = before.judge.calibration is None, after.judge.calibration is None
    return named[0] is named[1] and (old and old.digest) == (new and new.digest)


def lowered(before: Eval, tip: Snapshot, head: Snapshot) -> tuple[Lowered, ...]:
    """Return what head asks less than this Eval of the base tip, or differently, in order."""
    after = head.catalogue.eval(before.name)
    if after is None:
        broken = any(show_path(path) == before.place.file for path in head.catalogue.broken_files)
        what = "cannot be read any more" if broken else "removed"
        return (Lowered.at(before.place, f"Eval {before.name} {what}"),)
    return (
        *_of_whom(before, after),
        *_scoring(before, after),
        *_judge(before, after, tip, head),
        *_fixtures(before, after, tip, head),
    )


def lowered_parts(asked: Eval, tip: Snapshot, base: Snapshot, head: Snapshot) -> Iterator[Lowered]:
    """Yield what head lowers of what an Eval of the base tip uses, as it was at the merge-base.

    That is: its fixtures, the script of its judge, and its calibration. The Eval itself may have
    come later.
    """
    used = {
        one.name
        for one in (*select_fixtures(asked, tip.catalogue), *select_fixtures(asked, base.catalogue))
    }
    unselected: list[Fixture] = []
    for name in sorted(used):
        old = base.catalogue.fixture_of(asked.name, name)
        new = head.catalogue.fixture_of(asked.name, name)
        if old is None or old is new:
            continue
        if new is None:
            yield _removed(old)
        elif _selects(asked, old) and not _selects(asked, new):
            unselected.append(old)
        elif not same_test(old, new):
            yield from lowered_in_fixture(old, new)
    yield from _no_longer(unselected, asked.place)
    yield from _script(asked, base, head)
    name = asked.judge.calibration or ""
    was, now = base.catalogue.calibration(name), head.catalogue.calibration(name)
    if was is not None and (now is None or now.digest != was.digest):
        word = "removed" if now is None else "changed"
        yield Lowered.at((now or was).place, f"calibration {name} {word}")


def _selects(asked: Eval, fixture: Fixture) -> bool:
    selector = asked.fixture_selector
    by_label = selector is not None and selector.match_labels.items() <= fixture.labels.items()
    return by_label or not {fixture.name, fixture.family}.isdisjoint(asked.fixtures)


def _script(asked: Eval, base: Snapshot, head: Snapshot) -> Iterator[Lowered]:
    """A judge's script that was there and is another now. Scripts nobody names are not read."""
    for name in asked.judge.scripts:
        path = f"{SCRIPTED_FOLDER}/{name}.yaml"
        if path not in base.tree or base.tree[path] == head.tree.get(path):
            continue
        was, now = base.scripts.get(name), head.scripts.get(name)
        if was is None or now is None or was.digest != now.digest:
            yield Lowered.at(SourceLocation(file=show_path(path)), f"scripted judge {name} changed")


def _of_whom(before: Eval, after: Eval) -> Iterator[Lowered]:
    """Tell another Agent, and a seal that is gone."""
    if before.target_agent != after.target_agent:
        where = after.places.get("spec.targetAgent", after.place)
        yield Lowered.at(where, "targetAgent", before.target_agent, after.target_agent)
    if before.sealed and not after.sealed and not is_sealed(after.path):
        where = after.places.get("spec.sealed", after.place)
        yield Lowered.at(where, "sealed", "true", "false")


def _scoring(before: Eval, after: Eval) -> Iterator[Lowered]:
    was, now, ran, runs = before.scoring, after.scoring, before.execution, after.execution
    place = after.places.get("spec.scoring", after.place)
    for what, key, else_at, less, old, new in (
        (
            "passThreshold",
            "scoring.passThreshold",
            place,
            asks_less(now.pass_threshold, was.pass_threshold),
            show_threshold(was.pass_threshold),
            show_threshold(now.pass_threshold),
        ),
        (
            "scoring",
            "scoring.passScore",
            place,
            was.model != now.model or (now.graded and now.pass_score < was.pass_score),
            _model(was),
            _model(now),
        ),
        (
            "deterministic",
            "execution.deterministic",
            after.place,
            ran.deterministic != runs.deterministic,
            str(ran.deterministic).lower(),
            str(runs.deterministic).lower(),
        ),
        (
            "severityWeights",
            "scoring",
            place,
            was.severity_weights != now.severity_weights,
            _weights(was.severity_weights),
            _weights(now.severity_weights),
        ),
        (
            "repsPerFixture",
            "execution.repsPerFixture",
            after.place,
            runs.reps_per_fixture < ran.reps_per_fixture,
            str(ran.reps_per_fixture),
            str(runs.reps_per_fixture),
        ),
    ):
        if less:
            at = after.places.get(f"spec.{key}", else_at)
            yield Lowered.at(at, what, old, new)


def asks_less(now: float | None, was: float | None) -> bool:
    """Whether a threshold may ask less than another; None is none at all, which is neither less nor
    more than a written one: an Eval without a threshold asks that nothing regresses, and 1 where
    there is no baseline.
    """
    if now is None or was is None:
        return now is not was and now != 1
    return now < was


def _model(scoring: ScoringSpec) -> str:
    if not scoring.graded:
        return scoring.model.name
    return f"{scoring.model.name}, passing from {scoring.pass_score:g}"


def _weights(weights: Mapping[Severity, float]) -> str:
    return ", ".join(f"{name} {weight:g}" for name, weight in sorted(weights.items())) or "defaults"


def _judge(before: Eval, after: Eval, tip: Snapshot, head: Snapshot) -> Iterator[Lowered]:
    was, now = before.judge, after.judge
    place = after.places.get("spec.judge", after.place)
    if was.named != now.named:
        replaced = bool(now.scripts) and not was.scripts
        what = "real judge replaced by a scripted one" if replaced else "judge"
        yield Lowered.at(place, what, was.named or "none", now.named or "none")
    else:
        for script in was.scripts:
            if _is_changed(script, tip, head):
                yield Lowered.at(place, f"scripted judge {script} changed")
    if was.models and now.models and was.split != now.split:
        spread, spreads = f"{was.split:g}", f"{now.split:g}"
        yield Lowered.at(place, "split of the jury", spread, spreads)
    if now.allow_self and not was.allow_self:
        yield Lowered.at(place, "allowSelf of the judge", "false", "true")
    heat, heats = f"{was.temperature:g}", f"{now.temperature:g}"
    if was.temperature != now.temperature:
        yield Lowered.at(place, "temperature of the judge", heat, heats)
    own, unsaid = now.min_agreement, LEAST_AGREEMENT if was.calibration else None
    asked = unsaid if was.min_agreement is None else was.min_agreement
    if asked is not None and own != was.min_agreement and (own is None or own < asked):
        least = "none" if own is None else f"{own:g}"
        yield Lowered.at(place, "minAgreement", f"{asked:g}", least)
    if was.max_injected is not None and (
        now.max_injected is None or now.max_injected > was.max_injected
    ):
        most = "none" if now.max_injected is None else f"{now.max_injected:g}"
        yield Lowered.at(place, "maxInjected", f"{was.max_injected:g}", most)
    yield from _calibration(before, after, tip, head)


def _calibration(before: Eval, after: Eval, tip: Snapshot, head: Snapshot) -> Iterator[Lowered]:
    was, now = before.judge.calibration, after.judge.calibration
    if was is None:
        return
    place = after.places.get("spec.judge", after.place)
    if now != was:
        yield Lowered.at(place, "calibration", was, now or "none")
        return
    old, new = tip.catalogue.calibration(was), head.catalogue.calibration(was)
    if old and new and old.digest != new.digest:
        yield Lowered.at(new.place, f"calibration {was} changed")


def _fixtures(before: Eval, after: Eval, tip: Snapshot, head: Snapshot) -> Iterator[Lowered]:
    selected = {fixture.name: fixture for fixture in select_fixtures(after, head.catalogue)}
    unselected: list[Fixture] = []
    for old in select_fixtures(before, tip.catalogue):
        new = selected.get(old.name)
        if new is not None:
            if not same_test(old, new):
                yield from lowered_in_fixture(old, new)
        elif head.catalogue.fixture(old.name) is None:
            yield _removed(old)
        else:
            unselected.append(old)
    yield from _no_longer(unselected, after.places.get("spec.fixtureSelector", after.place))


def _removed(old: Fixture) -> Lowered:
    return Lowered(
        place=old.place,
        what=f"{old.severity} fixture {old.name} removed",
        fixture=old.name if old.family else "",
        family=old.family,
    )


def _no_longer(unselected: Sequence[Fixture], place: SourceLocation) -> Iterator[Lowered]:
    if not unselected:
        return
    names = [fixture.name for fixture in unselected[:NAMES_SHOWN]]
    more = f" and {len(unselected) - NAMES_SHOWN} more" if len(unselected) > NAMES_SHOWN else ""
    noun = "fixture" if len(unselected) == 1 else "fixtures"
    what = f"no longer selects {len(unselected)} {noun}: {', '.join(names)}{more}"
    yield Lowered.at(place, what)


SHOWN = 20
"""Doubts that a plan holds of one revision; one is enough to keep it from passing."""


def about_eval(asked: Eval, tip: Snapshot) -> tuple[Problem, ...]:
    """Return what is wrong with a readable Eval of the base tip, or with what it uses."""
    if not tip.problems:
        return ()
    places = {*_places(asked)}
    chosen = {fixture.name for fixture in select_fixtures(asked, tip.catalogue)}
    for fixture in tip.catalogue.fixtures:
        if fixture.name in chosen or fixture.name in asked.fixtures:
            places |= {*_places(fixture)}
    calibration = asked.judge.calibration
    places |= {one.place for one in tip.catalogue.calibrations if one.name == calibration}
    found = [problem for problem in tip.problems if problem.place in places]
    found += [one.problem for one in tip.catalogue.broken if _may_use(asked, one)]
    for script in asked.judge.scripts:
        if script in tip.scripts:
            continue
        file = show_path(f"{SCRIPTED_FOLDER}/{script}.yaml")
        found += [problem for problem in tip.problems if problem.place.file == file]
        found.append(
            Problem(
                place=asked.places.get("spec.judge", asked.place),
                path="spec.judge.model",
                message=f"The script of this judge, {file}, cannot be read.",
            )
        )
    return sort_problems(found)


def _may_use(asked: Eval, one: Broken) -> bool:
    """Whether the Eval may use a manifest that cannot be read."""
    if one.kind == "JudgeCalibration":
        return asked.judge.calibration is not None and one.name in {"", asked.judge.calibration}
    if one.kind != "EvalFixture":
        return False
    if one.name in {"", *asked.fixtures} or one.may_hold(asked.fixtures):
        return True
    selector = asked.fixture_selector
    return selector is not None and (
        one.labels is None or selector.match_labels.items() <= one.labels.items()
    )


def tip_doubts(
    head: Snapshot,
    base: Snapshot,
    tip: Snapshot,
    changes: Mapping[str, AgentChange],
    touched: Sequence[Eval],
    *,
    touches: bool,
) -> tuple[Unreadable, ...]:
    """Return what is wrong on the target branch and may concern the change.

    `touched` are the readable Evals of the base tip that do; `touches` says whether the change
    touches any Agent or Eval at all.
    """
    if not tip.problems:
        return ()
    still = _told(head.problems)
    mended = _told(base.problems) - still
    found = [p for p in tip.problems if (p.place.file, p.message) in mended]
    aims = {problem: one for one in tip.catalogue.contained for problem in one.problems}
    for asked in touched:
        found += about_eval(asked, tip)
    for one in tip.catalogue.broken:
        if (one.problem.place.file, one.problem.message) in still:
            concerns = False  # head has it, too, and says whether it matters
        elif one.kind in EVAL_KINDS:
            concerns = _eval_concerns(one, aims.get(one.problem), head, base, changes)
        elif one.kind in {"EvalFixture", "JudgeCalibration"}:
            concerns = _part_lowered(one, head.catalogue, base.catalogue)
        else:
            concerns = not one.kind
        if concerns and (touches or one.name):
            found.append(one.problem)
    return _doubts("target branch", found)


def head_doubts(
    head: Snapshot, base: Snapshot, planned: Iterable[PlannedEval]
) -> tuple[Unreadable, ...]:
    """Return what is wrong with suites of head that the change makes or concerns.

    That is: what was not wrong before, what is in a suite that runs or of which a file changed, and
    what may be for a changed Agent. The rest was there before, and goes with `old_problems`.
    """
    changed = changed_paths(head.tree, base.tree)
    if not (changed and head.catalogue.contained) or head.catalogue is base.catalogue:
        return ()
    before, running = _told(base.problems), _paths((one.own_name for one in planned), head)
    sides = (replace(one, catalogue=one.catalogue.with_agents()) for one in (head, base))
    agents = {change.agent for change in detect_changes(*sides)}
    found: list[Problem] = []
    for one in head.catalogue.contained:
        concerned = (
            not one.files.isdisjoint(changed | running)
            or any(agent.name in agents for agent in one.agents)
            or (one.folder is not None and any(under(path, {one.folder}) for path in changed))
        )
        found += [p for p in one.problems if concerned or (p.place.file, p.message) not in before]
    return _doubts("head", found)


def suite_doubts(head: Snapshot, names: Iterable[str] | None) -> tuple[Unreadable, ...]:
    """Return what is wrong with the suites of these Evals; of all, without names."""
    running = None if names is None else _paths(names, head)
    return _doubts(
        "head",
        (
            problem
            for one in head.catalogue.contained
            if running is None or not one.files.isdisjoint(running)
            for problem in one.problems
        ),
    )


def _paths(names: Iterable[str], head: Snapshot) -> frozenset[str]:
    """Return the files of the suites of these Evals."""
    evals = map(head.catalogue.eval, names)
    return frozenset(one.path for one in evals if one is not None)


def old_problems(head: Snapshot, told: Iterable[Unreadable]) -> Iterator[str]:
    """Tell what is wrong with suites of head and concerns nothing here, one problem of each."""
    known = {doubt.problem for doubt in told}
    left = [one.problems[0] for one in head.catalogue.contained if known.isdisjoint(one.problems)]
    for problem in sort_problems(left)[:SHOWN]:
        yield f"{problem} The cases of this suite were not measured."
    if len(left) > SHOWN:
        yield f"{len(left) - SHOWN} more suites cannot be read. `gateval validate` lists them."


def _told(problems: Iterable[Problem]) -> frozenset[tuple[str, str]]:
    """Return problems as they stay the same where only lines move."""
    return frozenset((problem.place.file, problem.message) for problem in problems)


def _eval_concerns(
    one: Broken,
    suite: Contained | None,
    head: Snapshot,
    base: Snapshot,
    changes: Mapping[str, AgentChange],
) -> bool:
    """Whether an Eval that cannot be read may be for a changed Agent, or is lowered."""
    if suite is not None and suite.folder is None:
        if any(agent.name in changes for agent in suite.agents):
            return True
    elif (not one.agent and changes) or one.agent in changes or not one.name:
        return True
    before = base.catalogue.eval(one.name)
    if before is None:
        return head.catalogue.eval(one.name) is not None
    return before.target_agent in changes or bool(lowered(before, base, head))


def _part_lowered(one: Broken, head: Catalogue, base: Catalogue) -> bool:
    """Whether the change lowers a fixture or calibration that cannot be read on the base tip."""
    if one.kind == "JudgeCalibration":
        old, new = base.calibration(one.name), head.calibration(one.name)
        return old is not None and (new is None or new.digest != old.digest)
    before, after = base.fixture(one.name), head.fixture(one.name)
    if before is None:
        cases = ((old, head.fixture(old.name)) for old in base.family(one.name))
        return any(new is None or any(lowered_in_fixture(old, new)) for old, new in cases)
    return after is None or any(lowered_in_fixture(before, after))


def base_doubts(
    base: Snapshot, planned: Iterable[PlannedEval], told: Iterable[Unreadable]
) -> tuple[Unreadable, ...]:
    """Return what is wrong with the Agents that are measured, as they were at the merge-base.

    An Agent that cannot be read looks new, and a new one has nothing to regress from. What is in
    `told` is not told again.
    """
    if not base.problems:
        return ()
    found: list[Problem] = []
    apart = base.catalogue.contained_problems
    for name in sorted({one.agent for one in planned}):
        agents = [agent for agent in base.catalogue.agents if agent.name == name]
        places = {place for agent in agents for place in _places(agent)}
        found += [problem for problem in base.problems if problem.place in places]
        found += [
            one.problem
            for one in base.catalogue.broken
            if (
                one.kind == "Agent"
                and one.name in {"", name}
                and not (agents and one.problem in apart)
            )
            or (not one.kind and not agents)
        ]
    known = {doubt.problem for doubt in told}
    return _doubts("merge-base", [problem for problem in found if problem not in known])


def _places(manifest: Agent | Eval | Fixture) -> tuple[SourceLocation, ...]:
    return (manifest.place, *manifest.places.values())


def _doubts(where: Where, problems: Iterable[Problem]) -> tuple[Unreadable, ...]:
    return tuple(Unreadable(where=where, problem=one) for one in sort_problems(problems)[:SHOWN])
