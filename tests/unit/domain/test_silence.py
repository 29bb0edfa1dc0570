"""A head that gives no answer: asked until it is sure, and never blocked for the odd crash."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gateval.domain.results.fixture_progress import Silence, certain_silence, silence
from gateval.domain.statistics.design import Look, design, looks
from gateval.domain.trials.trial import Side, Trial, TrialKey
from tests.helpers.reports import make_trial

TWENTY = design(looks(1), 0.03 / 20)
"""The rule of a fixture where twenty are compared."""


def trials(side: Side, said: str) -> Sequence[Trial]:
    """One trial for each word."""
    return [
        make_trial(TrialKey(eval="a-eval", fixture="f", side=side, repetition=number), word)
        for number, word in enumerate(said.split(), 1)
    ]


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [
        ("pass", "fail", None),
        ("pass", "candidate pass", None),
        ("pass", "provider", None),
        ("pass", "candidate", (3, False)),
        ("fail", "candidate", (3, False)),
        ("pass " * 3, "candidate " * 3, (6, False)),
        ("fail " * 6, "candidate " * 6, (10, False)),
        ("fail " * 10, "candidate " * 10, (10, True)),
        ("candidate " + "pass " * 14, "candidate " * 15, (10, True)),
        ("candidate " * 12 + "pass " * 3, "candidate " * 15, (15, False)),
        ("pass " * 3, "candidate candidate provider", (3, False)),
        ("pass pass provider", "candidate " * 3, (3, False)),
        ("candidate", "candidate", (3, False)),
        ("candidate " * 3, "candidate " * 3, (3, False)),
    ],
)
def test_a_compared_fixture(base: str, head: str, expected: tuple[int, bool] | None) -> None:
    found = silence(TWENTY, trials(Side.BASE, base), trials(Side.HEAD, head))

    assert found == (expected and Silence(Look(base=expected[0], head=expected[0]), expected[1]))


@pytest.mark.parametrize(
    ("base", "head", "proven"),
    [
        ("", "candidate " * 3, False),
        ("pass " * 3, "candidate " * 3, True),
        ("pass", "candidate", False),
    ],
)
def test_one_that_is_not_compared(base: str, head: str, *, proven: bool) -> None:
    found = silence(None, trials(Side.BASE, base), trials(Side.HEAD, head))

    assert found == Silence(Look(base=3, head=3), proven)


def certain(trial: Trial) -> Trial:
    """The same with a failure that another trial repeats."""
    return trial.model_copy(update={"repeats": not trial.answered})


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [
        ("pass", "candidate", (1, True)),
        ("fail", "candidate candidate", (1, True)),
        ("provider pass", "candidate", (1, True)),
        ("pass", "provider candidate", (1, True)),
        ("", "candidate", (1, False)),
        ("candidate", "candidate", (1, False)),
        ("provider", "candidate", (1, False)),
        ("pass", "pass candidate", None),
        ("pass", "provider", None),
    ],
)
def test_a_failure_that_repeats_takes_one_answer_of_base(
    base: str, head: str, expected: tuple[int, bool] | None
) -> None:
    old = [certain(one) for one in trials(Side.BASE, base)]
    new = [certain(one) for one in trials(Side.HEAD, head)]
    found = certain_silence(old, new)
    assert found == (expected and Silence(Look(base=expected[0], head=1), expected[1]))


def test_a_base_that_crashes_otherwise_may_answer_the_next_time() -> None:
    head = [certain(one) for one in trials(Side.HEAD, "candidate")]
    once = trials(Side.BASE, "candidate")
    assert certain_silence(once, head) == Silence(Look(base=3, head=1), proven=False)
    assert certain_silence(trials(Side.BASE, "candidate"), once) is None
