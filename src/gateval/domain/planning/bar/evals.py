"""The demands of an Eval on the base tip and on head: everything that head lowers, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gateval.domain.manifests.catalogue import select_fixtures
from gateval.domain.manifests.evaluation import SCRIPTED_FOLDER, Eval, is_sealed, script_name
from gateval.domain.manifests.fixture import Fixture, Severity
from gateval.domain.manifests.scoring import ScoringSpec
from gateval.domain.paths import SourceLocation, show_path
from gateval.domain.plan.planned_eval import Lowered
from gateval.domain.planning.bar.fixtures import lowered_in_fixture, same_test
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.text import show_threshold

NAMES_SHOWN = 5


def same_judge(before: Eval, after: Eval, tip: Snapshot, head: Snapshot) -> bool:
    """Whether both Evals are judged alike: same model, temperature and, if scripted, script."""
    ours, theirs = after.judge, before.judge
    if (ours.model, ours.temperature) != (theirs.model, theirs.temperature):
        return False
    script = script_name(theirs.model)
    if script is None:
        return True
    old, new = tip.scripts.get(script), head.scripts.get(script)
    return (old.digest if old else None) == (new.digest if new else None)


def as_calibrated(before: Eval, after: Eval, tip: Snapshot, head: Snapshot) -> bool:
    """Whether the word of both judges counts on the same terms."""
    if before.judge.min_agreement != after.judge.min_agreement:
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
        return (Lowered(place=before.place, what=f"Eval {before.name} {what}"),)
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
        yield Lowered(place=(now or was).place, what=f"calibration {name} {word}")


def _selects(asked: Eval, fixture: Fixture) -> bool:
    selector = asked.fixture_selector
    by_label = selector is not None and selector.match_labels.items() <= fixture.labels.items()
    return by_label or not {fixture.name, fixture.family}.isdisjoint(asked.fixtures)


def _script(asked: Eval, base: Snapshot, head: Snapshot) -> Iterator[Lowered]:
    """A judge's script that was there and is another now. Scripts nobody names are not read."""
    name = script_name(asked.judge.model)
    path = f"{SCRIPTED_FOLDER}/{name}.yaml"
    if name is None or path not in base.tree or base.tree[path] == head.tree.get(path):
        return
    was, now = base.scripts.get(name), head.scripts.get(name)
    if was is None or now is None or was.digest != now.digest:
        yield Lowered(
            place=SourceLocation(file=show_path(path)), what=f"scripted judge {name} changed"
        )


def _of_whom(before: Eval, after: Eval) -> Iterator[Lowered]:
    """Tell another Agent, and a seal that is gone."""
    if before.target_agent != after.target_agent:
        where = after.places.get("spec.targetAgent", after.place)
        yield Lowered(
            place=where, what="targetAgent", before=before.target_agent, after=after.target_agent
        )
    if before.sealed and not after.sealed and not is_sealed(after.path):
        where = after.places.get("spec.sealed", after.place)
        yield Lowered(place=where, what="sealed", before="true", after="false")


def _scoring(before: Eval, after: Eval) -> Iterator[Lowered]:
    place = after.places.get("spec.scoring", after.place)
    was, now = before.scoring, after.scoring
    if asks_less(now.pass_threshold, was.pass_threshold):
        yield Lowered(
            place=after.places.get("spec.scoring.passThreshold", place),
            what="passThreshold",
            before=_threshold(was.pass_threshold),
            after=_threshold(now.pass_threshold),
        )
    if was.model != now.model or (now.graded and now.pass_score < was.pass_score):
        yield Lowered(
            place=after.places.get("spec.scoring.passScore", place),
            what="scoring",
            before=_model(was),
            after=_model(now),
        )
    if after.execution.deterministic != before.execution.deterministic:
        yield Lowered(
            place=after.places.get("spec.execution.deterministic", after.place),
            what="deterministic",
            before=str(before.execution.deterministic).lower(),
            after=str(after.execution.deterministic).lower(),
        )
    if was.severity_weights != now.severity_weights:
        yield Lowered(
            place=place,
            what="severityWeights",
            before=_weights(was.severity_weights),
            after=_weights(now.severity_weights),
        )
    if after.execution.reps_per_fixture < before.execution.reps_per_fixture:
        yield Lowered(
            place=after.places.get("spec.execution.repsPerFixture", after.place),
            what="repsPerFixture",
            before=str(before.execution.reps_per_fixture),
            after=str(after.execution.reps_per_fixture),
        )


def asks_less(now: float | None, was: float | None) -> bool:
    """Whether a threshold may ask less than another; None is none at all, which is neither less nor
    more than a written one: an Eval without a threshold asks that nothing regresses, and 1 where
    there is no baseline.
    """
    if now is None or was is None:
        return now is not was and now != 1
    return now < was


def _threshold(threshold: float | None) -> str:
    return "none" if threshold is None else show_threshold(threshold)


def _model(scoring: ScoringSpec) -> str:
    if not scoring.graded:
        return scoring.model.name
    return f"{scoring.model.name}, passing from {scoring.pass_score:g}"


def _weights(weights: Mapping[Severity, float]) -> str:
    return ", ".join(f"{name} {weight:g}" for name, weight in sorted(weights.items())) or "defaults"


def _judge(before: Eval, after: Eval, tip: Snapshot, head: Snapshot) -> Iterator[Lowered]:
    was, now = before.judge, after.judge
    place = after.places.get("spec.judge", after.place)
    if was.model != now.model:
        scripted = script_name(now.model) is not None and script_name(was.model) is None
        what = "real judge replaced by a scripted one" if scripted else "judge"
        yield Lowered(place=place, what=what, before=was.model or "none", after=now.model or "none")
    elif not same_judge(before, after, tip, head) and was.temperature == now.temperature:
        yield Lowered(place=place, what=f"scripted judge {script_name(was.model)} changed")
    if was.temperature != now.temperature:
        yield Lowered(
            place=place,
            what="temperature of the judge",
            before=f"{was.temperature:g}",
            after=f"{now.temperature:g}",
        )
    if was.min_agreement is not None and (now.min_agreement or -1) < was.min_agreement:
        agreement = "none" if now.min_agreement is None else f"{now.min_agreement:g}"
        yield Lowered(
            place=place, what="minAgreement", before=f"{was.min_agreement:g}", after=agreement
        )
    yield from _calibration(before, after, tip, head)


def _calibration(before: Eval, after: Eval, tip: Snapshot, head: Snapshot) -> Iterator[Lowered]:
    was, now = before.judge.calibration, after.judge.calibration
    if was is None:
        return
    place = after.places.get("spec.judge", after.place)
    if now != was:
        yield Lowered(place=place, what="calibration", before=was, after=now or "none")
        return
    old, new = tip.catalogue.calibration(was), head.catalogue.calibration(was)
    if old and new and old.digest != new.digest:
        yield Lowered(place=new.place, what=f"calibration {was} changed")


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
    yield Lowered(place=place, what=what)
