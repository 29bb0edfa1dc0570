"""What an Eval asks, on the base tip and on head: everything that head lowers, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gateval.domain.bar.fixtures import lowered_in_fixture, same_test
from gateval.domain.catalogue import select_fixtures
from gateval.domain.manifests.evaluation import Eval
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.manifests.severity import Severity
from gateval.domain.plan import Lowered
from gateval.domain.selection import script_name
from gateval.domain.snapshot import Snapshot

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


def lowered(before: Eval, tip: Snapshot, head: Snapshot) -> tuple[Lowered, ...]:
    """Return what head asks less than this Eval of the base tip, or differently, in order."""
    after = head.catalogue.eval(before.name)
    if after is None:
        return (Lowered(place=before.place, what=f"Eval {before.name} removed"),)
    return (
        *_scoring(before, after),
        *_judge(before, after, tip, head),
        *_fixtures(before, after, tip, head),
    )


def _scoring(before: Eval, after: Eval) -> Iterator[Lowered]:
    place = after.places.get("spec.scoring", after.place)
    if before.target_agent != after.target_agent:
        where = after.places.get("spec.targetAgent", after.place)
        yield Lowered(
            place=where, what="targetAgent", before=before.target_agent, after=after.target_agent
        )
    was, now = before.scoring, after.scoring
    if now.pass_threshold < was.pass_threshold:
        yield Lowered(
            place=after.places.get("spec.scoring.passThreshold", place),
            what="passThreshold",
            before=f"{was.pass_threshold:.2f}",
            after=f"{now.pass_threshold:.2f}",
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
            yield Lowered(place=old.place, what=f"{old.severity} fixture {old.name} removed")
        else:
            unselected.append(old)
    if unselected:
        names = [fixture.name for fixture in unselected[:NAMES_SHOWN]]
        more = f" and {len(unselected) - NAMES_SHOWN} more" if len(unselected) > NAMES_SHOWN else ""
        noun = "fixture" if len(unselected) == 1 else "fixtures"
        yield Lowered(
            place=after.places.get("spec.fixtureSelector", after.place),
            what=f"no longer selects {len(unselected)} {noun}: {', '.join(names)}{more}",
        )
