"""Whether head gives no answer at all where base does.

That is no matter of scores, so the rule for regressions is asked about answers in place of passes.
Until it is sure, a silent fixture gets more trials, so that an agent that crashes now and then, as
before, has the time to answer once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gateval.domain.plan.planned_eval import CONFIRMING
from gateval.domain.results.grouping import outcomes, too_many_lost
from gateval.domain.statistics.design import Design, LookResult, step
from gateval.domain.statistics.design import design as rule_of
from gateval.domain.statistics.looks import Look
from gateval.domain.trials.trial import Trial

SILENCE_SHARE = 0.1
"""The part of a fixture's share that its answers are tested with.

Answers and passes are nearly one thing, so so little keeps both together within the fixture's share
(ADR 19 has the figures).
"""


class Silence(NamedTuple):
    """How many trials a silent fixture wants, and whether head is known to have fallen silent."""

    wanted: Look
    proven: bool


def is_silent(trials: Sequence[Trial]) -> bool:
    """Whether the candidate is why none of the measured trials has an answer."""
    measured = [trial for trial in trials if trial.passed is not None]
    return bool(measured) and not any(trial.answered for trial in measured)


def answers(trials: Sequence[Trial]) -> int:
    """Return in how many of the measured trials the candidate gave an answer."""
    return sum(trial.answered for trial in trials if trial.passed is not None)


def repeats(trials: Sequence[Trial]) -> bool:
    """Whether none of the measured trials has an answer, each for a reason that another repeats."""
    return is_silent(trials) and all(t.repeats for t in trials if t.passed is not None)


def certain_silence(base: Sequence[Trial], head: Sequence[Trial]) -> Silence | None:
    """Return what is known of a head whose silence another trial repeats; None of any other.

    `base` is what was measured now. One answer of it decides, and so does one trial of it that
    fails for such a reason, too: then nothing is proven. Only a base that may answer the next time
    is asked again.
    """
    if not repeats(head):
        return None
    if answers(base) or repeats(base):
        return Silence(Look(base=1, head=1), proven=answers(base) > 0)
    wanted = max(len(base), 1)
    if base and not too_many_lost(outcomes(base)):
        wanted = max(wanted, CONFIRMING)
    return Silence(Look(base=wanted, head=1), proven=False)


def silence(design: Design | None, base: Sequence[Trial], head: Sequence[Trial]) -> Silence | None:
    """Return what is known of a silent head; None if it answered.

    One that went on and on is asked for nothing on its own account: another trial that ends at the
    limit of its turns tells no more, and is the dearest there is.
    Without a `design` three trials of each side decide. Where too many trials were lost, nothing
    more is asked for. Where base answers too seldom to be sure, nothing is proven in the end.
    """
    if not is_silent(head):
        return None
    endless = all(trial.endless for trial in head if trial.passed is not None)
    once = Look(base=1, head=1)
    least = once if endless else Look(base=CONFIRMING, head=CONFIRMING)
    enough = len(base) >= CONFIRMING and len(head) >= CONFIRMING
    if design is None or not answers(base):
        return Silence(least, proven=enough and answers(base) > 0)
    rule = rule_of(design.looks, design.share * SILENCE_SHARE)
    for index, look in enumerate(design.looks):
        if len(base) < look.base or len(head) < look.head:
            return Silence(once if endless else look, proven=False)
        old, new = base[: look.base], head[: look.head]
        if too_many_lost(outcomes(old)) or too_many_lost(outcomes(new)):
            return Silence(look, proven=False)
        if step(rule, index, answers(old), answers(new)) is LookResult.REGRESSED:
            return Silence(look, proven=True)
    return Silence(once if endless else design.looks[-1], proven=False)
