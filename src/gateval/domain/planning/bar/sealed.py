"""What is sealed runs as the target branch has it, whatever the policy says of the bar.

Whoever may push writes Evals, and needs no key for that: more repetitions, a judge or an embedding
model of their own, fixtures chosen one at a time would each tell something of what is sealed. So
head's version of a sealed Eval runs only if it is the very test that stands on the base tip. What
the change adds or edits has been validated, and first runs after the merge.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gateval.domain.manifests.catalogue import select_fixtures
from gateval.domain.manifests.evaluation import Eval
from gateval.domain.plan.planned_eval import AfterMerge, PlannedEval
from gateval.domain.planning.bar.evals import as_calibrated, same_judge
from gateval.domain.planning.snapshot import Snapshot


class Held(NamedTuple):
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


NOTHING_HELD = Held()


def held_back(
    planned: Iterable[PlannedEval], head: Snapshot, base: Snapshot, tip: Snapshot
) -> Held:
    """Return which of head's Evals that would run are sealed, and not those of the base tip."""
    held = [one for one in planned if one.sealed and not _is_same_test(one.name, tip, head)]
    edited = [one for one in held if not _is_same_test(one.name, base, head)]
    return Held(
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
