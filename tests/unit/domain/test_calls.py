"""What became of a trial's model calls, and what follows from it by itself."""

from __future__ import annotations

from typing import Any

import pytest

from gateval.domain.results.trial_verdict import unanswered
from gateval.domain.trials.model_call import CallsMade, RefusedBy, add_calls
from gateval.domain.trials.trial import Answer, AnsweredTurn, Cause

GONE: dict[str, Any] = {
    "refused_by": RefusedBy.PROVIDER,
    "status": 404,
    "said": "openai answered 404: gone.",
}


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        (CallsMade(), False),
        (CallsMade(made=1, answered=1), False),
        (CallsMade(made=2, answered=1, **GONE), False),
        (CallsMade(made=2, **GONE), True),
        (CallsMade(made=1), True),
        (CallsMade(made=1, answered=1, inputs=1, inputs_answered=1), False),
        (CallsMade(made=1, inputs=1, **GONE), True),
        (CallsMade(made=2, answered=1, inputs=1, inputs_answered=1, **GONE), True),
        (CallsMade(made=2, answered=1, inputs=1, **GONE), False),
    ],
)
def test_whether_a_model_answered(calls: CallsMade, *, expected: bool) -> None:
    assert calls.unanswered is expected
    assert calls.shut.unanswered is expected, "what is sealed decides as what is not"
    assert bool(calls.shut.talks) is bool(calls.talks)
    assert not calls.shut.said
    found = unanswered(Answer(output="Sorry.", calls=calls, seconds=1))
    assert (found is not None) is expected


@pytest.mark.parametrize(
    ("by", "cause", "repeats"),
    [
        (RefusedBy.PROVIDER, Cause.CANDIDATE, True),
        (RefusedBy.GATEWAY, Cause.CANDIDATE, True),
        (RefusedBy.OUTAGE, Cause.PROVIDER, False),
        (None, Cause.CANDIDATE, False),
    ],
)
def test_whose_fault_it_is(by: RefusedBy | None, cause: Cause, *, repeats: bool) -> None:
    calls = CallsMade(made=3, refused_by=by, said="Some words.")
    found = unanswered(Answer(output="Sorry.", calls=calls, seconds=1))
    assert found is not None
    assert (found.cause, found.repeats, found.detail) == (cause, repeats, ("answered: Sorry.",))


def test_nobody_knows_of_calls_that_nobody_saw() -> None:
    assert unanswered(Answer(output="Hello.", seconds=1)) is None


def test_each_turn_needs_a_model() -> None:
    heard = CallsMade(made=1, answered=1)
    turns = tuple(
        AnsweredTurn(output=said, first=at, last=at, source="gateway", seconds=1, calls=calls)
        for at, (said, calls) in enumerate(
            [("Hi.", heard), ("Sorry.", CallsMade(made=1, **GONE))], 1
        )
    )
    both = add_calls(one.calls for one in turns)
    assert both == CallsMade(made=2, answered=1, **GONE)
    found = unanswered(Answer(output="Sorry.", turns=turns, calls=both, seconds=2))
    assert found is not None
    assert found.reason.startswith("In turn 2 of 2: No model answered its only model call: openai")
