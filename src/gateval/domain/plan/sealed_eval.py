"""What everybody may know of a sealed Eval that ran: what it is called and how large it is."""

from __future__ import annotations

from pydantic import Field

from gateval.domain.base import Name, Value
from gateval.domain.manifests.evaluation import EvalKind
from gateval.domain.plan.bar import Lowered
from gateval.domain.plan.planned_eval import LeftFixture, PlannedEval
from gateval.domain.repository.place import Place


class SealedEval(Value):
    """A planned Eval without what it asks, and without what was found of its fixtures before.

    `trials` is how many are planned at first, whatever earlier runs found. `bar` says that it is
    the target branch's version, `lowered` what the change asks less than that.
    """

    kind: EvalKind = "Eval"
    name: Name
    own_name: Name
    shown_name: str
    agent: Name
    place: Place
    bar: bool = False
    lowered: tuple[Lowered, ...] = ()
    fixtures: tuple[Name, ...] = Field(min_length=1)
    left_out: tuple[LeftFixture, ...] = ()
    trials: int = Field(ge=0)


def sealed_eval(planned: PlannedEval) -> SealedEval:
    """Return what everybody may know of a planned Eval."""
    return SealedEval(
        kind=planned.kind,
        name=planned.name,
        own_name=planned.own_name,
        shown_name=planned.shown_name,
        agent=planned.agent,
        place=Place(file=planned.place.file),
        bar=planned.bar is not None,
        lowered=planned.bar.lowered if planned.bar else (),
        fixtures=tuple(one.name for one in planned.fixtures),
        left_out=planned.left_out,
        trials=planned_trials(planned),
    )


def planned_trials(planned: PlannedEval) -> int:
    """Return how many trials are planned at first, whatever earlier runs found."""
    reps = planned.execution.reps_per_fixture
    return reps * len(planned.sides) * len(planned.own_fixtures)
