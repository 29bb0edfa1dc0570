"""Trials that are answered, and wait for what assesses them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

from gateval.assertions.assess import NOTHING
from gateval.assertions.base import Early, Heard, error_of
from gateval.domain.manifests.catalogue import embedding_model
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.trial_verdict import conclude_answer
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import add_usage
from gateval.domain.trials.trial import (
    Answer,
    Assessment,
    Cause,
    NotAssessed,
    Trial,
    TrialKey,
)

if TYPE_CHECKING:
    from gateval.candidates.playground_state import EndState


class Task(NamedTuple):
    """A trial to run, with everything the plan says about it."""

    key: TrialKey
    agent: AgentDefinition | None
    planned: PlannedEval
    fixture: Fixture


class Waiting(NamedTuple):
    """A trial that is answered, and of which these assertions are to be assessed, by their
    positions. `found` are the others, `spent` what was taken for those and `lost` what was taken in
    vain; `early` is known of parts of those that are left, and `heard` was said of them. One
    `aside` starts no program, and is assessed while others answer.
    """

    task: Task
    answer: Answer
    state: EndState | None
    left: Collection[int]
    found: Mapping[int, Assessment]
    spent: tuple[Usage, ...] = ()
    lost: tuple[Usage, ...] = ()
    early: Early = NOTHING
    heard: Heard | None = None
    aside: bool = False


def lost_by_models(fixture: Fixture, trial: Trial) -> Collection[int]:
    """The assertions without which a trial says nothing, and whose model could not be asked."""
    return () if trial.passed is not None else _unheard(fixture, trial)


def _unheard(fixture: Fixture, trial: Trial) -> Collection[int]:
    return [
        one.index
        for spec, one in zip(fixture.assertions, trial.assessments, strict=True)
        if isinstance(one, NotAssessed)
        and one.cause in {Cause.JUDGE, Cause.PROVIDER}
        and one.counts
        and (spec.needs_judge or any(map(embedding_model, spec.within())))
    ]


def kept_answer(task: Task, trial: Trial) -> Waiting:
    """Return a trial that lacks its judge alone as one of which the judge is to be asked."""
    answer = Answer(
        output=trial.output or "",
        trace=trial.trace,
        usage=trial.usage,
        seconds=trial.seconds,
        calls=trial.calls,
    )
    left, found = _unheard(task.fixture, trial), dict(enumerate(trial.assessments))
    return Waiting(task, answer, None, left, found, spent=(trial.judge_usage,))


def judged_later(fixture: Fixture) -> frozenset[int]:
    """Return what waits for a judge that is asked in batches."""
    every = enumerate(fixture.assertions)
    return frozenset(at for at, one in every if one.needs_judge and at != fixture.preference)


def unjudged(waiting: Waiting) -> Trial:
    """Return a trial whose judge is asked in a batch as one that this has not answered."""
    task = waiting.task
    found = dict(waiting.found)
    for at in waiting.left:
        kind = task.fixture.assertions[at].type
        found.setdefault(at, error_of(kind, Cause.JUDGE, _UNANSWERED).replace(index=at))
    every = [found[index] for index in sorted(found)]
    usage, scoring = add_usage(waiting.spent), task.planned.scoring
    return conclude_answer(task.key, task.fixture, waiting.answer, every, usage, scoring)


_UNANSWERED = (
    "The judge is asked in a batch, and had not answered when the run ended. A run that goes on "
    "from this one takes the answer."
)
